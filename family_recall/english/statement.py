"""What a text states: read when it is written, and of the few texts that a recall compares."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .asking import asked_in, waits_for_answer
from .given_up import tells_of_self
from .lexicon import COUNTS, MONTH_NAMES, WEEKDAY_NAMES
from .text import SELF, STOP_WORDS, lowered, runs_in, whole_words
from .values import KINDS, Values, values_in

BITS_VERSION: Final = "7"
"""Of the rules behind the bits: a file whose bits were found by others finds them again."""

_MAX_CHARS = 2000
_MAX_CHARS_OF_PEOPLE = 1000


_CHANGED = whole_words(r"""
    chang(?:ed|ing|es)|moved|moving|moves|shifted|switch(?:ed|ing)|swapp(?:ed|ing)
    replac(?:ed|ing|ement)
    instead(?: of)?|rather than|no longer|not any ?more|any ?more|rescheduled|rebooked|postponed
    pushed (?:back|to|forward)|brought forward|put (?:back|off) (?:to|until|till)|delayed
    actually|scrap|correct(?:ion|ed)|i was wrong|got (?:that|it) wrong|my mistake|merged
    turns out|upgraded|downgraded|renewed|renamed|reset|rotated|updated?|went up|gone up
    go(?:es)? up|put up
    put (?:\w+ ){1,4}(?:up|down|on) (?:to|by)?|put (?:his|her|its|their|the|up) (?:\w+ ){0,2}up
    moved? up|up from
    went down|gone down|increased|reduced|raised|bumped|cut (?:\w+ ){0,2}(?:down|to)|doubled
    halved?
    gone over to|went over to|took over|taken over|takes over|taking over|handed over|passed on to
    has become|became|turned into|grown (?:out|into)|outgrown|got too (?:small|big)|transferred
    relocated
    used to be|used to|was [\w ]{1,20} but|the other way|other way round|off duty
    stepp(?:ed|ing) down
    from now on|from here on|as of|starting|from (?:next|this) (?:week|month|term|year)
    these days|nowadays
    decided (?:on|against|to|not)|went with|going with|settled on
    changed (?:my|his|her|our|their|its) mind
    forget (?:what|that|the)|ignore (?:what|that|the)|in the end|after all|said no to|i['’]d rather
    is out|are out|is off|has retired|have retired|joined|taking up|took up|started at|we['’]ll not
    scrap that|not the|gave up the|sold up|went back to|gone back to|goes back to
""")
_RENEWED = whole_words(r"""
    now|new|another|different|since (?:then|the|we|he|she)|these days|this (?:year|term|season)
    already
    finally|at last|just got|just bought|got (?:a|an|our|my|his|her)|grown|taller|bigger|longer
    latest
    as well|again|next
""")
_STOPPED = whole_words(r"""
    no longer|not any ?more|any ?more|stopp(?:ed|ing)|quit|gave up|given up|giving up|came off
    come off|off the|finished(?: with)?|done with|ended|cancel(?:led|ed)?|called off|scrapp?(?:ed)?
    sold|gave (?:\w+ ){0,3}(?:back|away)|given (?:\w+ )?(?:back|away)|returned
    brought (?:\w+ ){0,4}back
    got (?:\w+ ){1,4}back|handed (?:\w+ ){0,3}(?:back|in)|took (?:\w+ ){1,3}back|back (?:from|home)
    left|leaving|resigned|retired|moved out|split up|broke up|divorced|died|passed away|gone
    threw (?:\w+ )?(?:out|away)|thrown (?:out|away)|binned|got rid of|fixed|repaired|mended|sorted
    works? again|working again|cleared up|all clear|better now|recovered|expired|ran out|run out
    closed (?:down)?|shut down
    dropped|grown out of|grew out of|went off|gone off|can['’]?t stand|won['’]?t (?:eat|touch|wear)
    paid (?:\w+ ){0,2}off|paid back|settled|sent (?:\w+ ){0,2}back|lost|broke|packed (?:it )?in
    over
    does(?:n['’]t| not) (?:\w+ ){1,3}any ?more|isn['’]t (?:\w+ ){0,3}any ?more
    not (?:\w+ ){1,4}any ?more
""")
_FOR_NOW = whole_words(
    r"""
    just (?:this|for|today|tonight|tomorrow|once)|only (?:this|today|tonight|in|until|till)
    for (?:today|tonight)
    for (?:now|the moment|the time being|a bit|a while|one (?:day|week))|this (?:once|week only)
    (?<!from )(?:this|next) (?:week|weekend|WEEKDAY)
    temporarily
    for (?:the|a|two|three|this|next) (?:weekend|week|fortnight|day|days|weeks)|one[- ]off
    week only|day only
    while (?:he|she|they|we|i|mum|dad|the|it|his|her|our)|back to normal
    until (?:he|she|they|we) (?:get|come)s?
    tonight|tomorrow|as a one[- ]off|during|over (?:easter|christmas)
    (?:for|on|over) (?:the )?bank holidays?
    because of (?:the bank|new year|easter|christmas)|replacement|temp(?:orary)?|substitute
    borrowing|stand(?:ing)?[- ]in|covering|cover for|bank holiday|half[- ]term
""".replace("WEEKDAY", "|".join(WEEKDAY_NAMES))
)

_WORDINGS = {
    "changed": _CHANGED,
    "renewed": _RENEWED,
    "stopped": _STOPPED,
    "for_now": _FOR_NOW,
}
CUES: Final = (*_WORDINGS, "asks", "only_asks")
"""What a text says about its own statement.

``changed``: something is other than it was. ``renewed``: something is new, or holds now: a weaker
cue of the same. ``stopped``: something ended, is gone or was given back. ``for_now``: it holds for
a while only. ``asks``: it waits for an answer. ``only_asks``: it asks and states nothing.
"""

BITS: Final = {
    name: 1 << at
    for at, name in enumerate((*CUES, *(f"kind:{kind}" for kind in KINDS), "fact", "of_self"))
}
"""The bit of each cue, of each kind of value (``kind:time``), of a fact with a key, and of what
somebody tells of themselves."""

_AGREEING = r"^(?:(?:ok|okay|fine|yes|yeah|no)[,.\s]+)?"
_SOMEBODY = re.compile(
    _AGREEING + r"(?:me|i|us|we|him|her|them|he|she|they)\b"
    r"|\bi(?:['’]ll| can| will|['’]m)\b|(?-i:(?<![\w'’])[A-Z][a-zà-ÿ]+)",
    re.IGNORECASE,
)
_VOLUNTEERS = re.compile(
    _AGREEING + r"(?:me\b|us\b|i(?:['’]ll| can| will| did)\b"
    r"|we(?:['’]ll| can| will| did)\b|i['’]m (?:going|taking|doing|on it)\b)",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"^(?:(?:i )?(?:dunno|don['’]?t know|do not know|have no idea|can['’]?t remember|forget|forgot)"
    r"|no (?:idea|clue)|not (?:sure|a clue)|(?:good|great) question|search me|who knows|beats me"
    r"|ask |i['’]ll (?:check|ask|look|find out)|let me (?:check|ask|look|see)|hang on|hold on"
    r"|one (?:sec|moment)|wait|hm+|u+h+|e+r+m*|same|lol|ha(?:ha)*|thanks?|thank you|ta|cheers"
    r"|ok(?:ay)?|cool|nice|great|wow|oh|why|what|sorry)\b[\s\w'’,]{0,30}[.!?…]*$",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"^(?:(?:oh|ok|okay|ah|actually|right)[,\s]+)*(?:found|got it|never ?mind|nvm|it['’]s|it was"
    r"|they['’]re|turns out|sorted|solved)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"^(?:no|nope|nah|actually|not|wait|correction)\b|\b(?:actually|scrap that|it['’]?s not"
    r"|that (?:was|is) (?:not|wrong|changed|the)|has (?:been )?(?:changed|moved|shifted)"
    r"|they(?:['’]ve| have) (?:changed|moved|shifted))\b"
)
_IT_IS_NOW = re.compile(
    r"\b(?:it|they|that|(?:the |our |my )?new (?:one|\w+))(?:['’]?(?:s|re)|['’]?ll be| is| are"
    r"| will be)\s+(?:now\s+)?[^.!?;]{1,40}?\b(?:now|instead|from (?:now|today))\b"
    r"|\bnow (?:it|they)(?:['’]?(?:s|re)| is| are)\s"
)
_FEW = 8  # words
_OPENING = 14  # words
_STANDS_FOR = frozenset("it its it's it’s he she they them that those this one both there".split())
_NO_OTHER_MATTER = frozenset(
    {
        *STOP_WORDS, *MONTH_NAMES, *WEEKDAY_NAMES, *(f"{day}s" for day in WEEKDAY_NAMES), *COUNTS,
        *"new today tomorrow instead am pm half quarter past noon midday midnight".split(),
    }
)  # fmt: skip
"""Words that a sentence may have more than another one and still be about the same."""


@dataclass(frozen=True)
class Statement:
    """A text, read. Each part is read once, when it is first asked for."""

    text: str

    @functools.cached_property
    def cues(self) -> frozenset[str]:
        """What it says about its own statement: of :data:`CUES`.

        >>> sorted(Statement("Scrap that, swimming has moved to Thursdays").cues)
        ['changed', 'stopped']
        >>> Statement("Just this week swimming is on Friday").cues
        frozenset({'for_now'})
        """
        text = self.text[:_MAX_CHARS].strip()
        # A pattern that ignores case takes three times as long.
        lower = text.lower()
        cues = {cue for cue, wording in _WORDINGS.items() if wording.search(lower)}
        asked = asked_in(text)
        if waits_for_answer(asked, text):
            cues.add("asks")
        if asked.only:
            cues.add("only_asks")
        return frozenset(cues)

    def values(self, kinds: Iterable[str] = KINDS) -> Values:
        """Return the values of some kinds that it states, by kind."""
        return values_in(self.text, kinds)

    @functools.cached_property
    def speaks_of_self(self) -> bool:
        """Whether it is about who says it: *I*, *my*, *me*, *mine*."""
        return not SELF.isdisjoint(self.words)

    @property
    def speaks_of_own(self) -> bool:
        """Whether it tells something of what is its author's: *my*, *mine*."""
        return not {"my", "mine"}.isdisjoint(self.words)

    def values_now(self, kinds: Iterable[str]) -> Values:
        """Return the values that something it has named has now.

        >>> dict(Statement("changed the wifi on the 3rd, it's 5521 now").values_now(["number"]))
        {'number': frozenset({'5521'})}
        """
        said = _IT_IS_NOW.search(lowered(self.text[:_MAX_CHARS_OF_PEOPLE]))
        return values_in(said[0], kinds) if said else {}

    @property
    def continues(self) -> bool:
        """Whether it may leave unsaid what it is about: a few words, or *it*, *she*, *that one*."""
        words = self.words
        return len(words) <= _FEW or not _STANDS_FOR.isdisjoint(words[:_OPENING])

    @property
    def names_somebody(self) -> bool:
        """Whether it may name who was asked for: *me*, *I'll go*, or a word with a capital."""
        return _SOMEBODY.search(self.text[:_MAX_CHARS_OF_PEOPLE]) is not None

    @property
    def volunteers(self) -> bool:
        """Whether somebody says that it is them: *me, I have a free period*."""
        return _VOLUNTEERS.search(self.text[:_MAX_CHARS_OF_PEOPLE]) is not None

    @property
    def evades(self) -> bool:
        """Whether it says, in reply, that somebody does not know, or nothing."""
        return _NO_ANSWER.match(self.text.strip()) is not None

    @property
    def finds(self) -> bool:
        """Whether somebody says that they found what they asked for: *got it, it's Tuesday*."""
        return _FOUND.match(self.text) is not None

    @property
    def denies(self) -> bool:
        """Whether it contradicts what was said before it: *no, they moved it*."""
        return _DENIES.search(lowered(self.text)) is not None

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        """Its words, casefolded."""
        return tuple(runs_in(self.text.casefold()))

    def repeats(self, older: Statement, values: Values) -> bool:
        """Return whether it has no words but an older text's, its own values, figures and times.

        Names do not count as values: who else has a bicycle says nothing about the same one.

        >>> code = Statement("The code is 8302 from today")
        >>> code.repeats(Statement("The code is 4711"), {"number": frozenset({"8302"})})
        True
        """
        stated = {
            word
            for kind, own in values.items()
            if kind != "name"
            for value in own
            for word in value.split()
        }
        own_words = set(self.words) - set(older.words) - stated - _NO_OTHER_MATTER
        return not any(map(str.isalpha, own_words))


def bits_of(text: str, fact_key: str | None = None) -> int:
    """Return the bits of a text's cues and of the kinds of its values, as a memory stores them.

    >>> [name for name, bit in BITS.items() if bits_of("swimming has moved to 5 pm") & bit]
    ['changed', 'kind:number', 'kind:time']
    """
    statement = Statement(text)
    bits = mask_of(*statement.cues) | mask_of_kinds(values_in(text))
    bits |= BITS["of_self"] if not bits & BITS["only_asks"] and tells_of_self(text) else 0
    return bits | (BITS["fact"] if fact_key else 0)


def mask_of(*names: str) -> int:
    """Return the bits of some cues and kinds together."""
    return sum(BITS[name] for name in names)


def mask_of_kinds(kinds: Iterable[str]) -> int:
    """Return the bits of some kinds of values together."""
    return mask_of(*(f"kind:{kind}" for kind in kinds))
