"""What a question asks for: which kinds of values, of now or before, one thing or all."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from family_recall.types.understanding import Identifier

from .breadth import Asked, read_breadth
from .identifiers import find_identifiers
from .kinship import CALLED
from .text import MAX_QUESTION_CHARS, STOP_WORDS, lowered, normalise, runs_in
from .tokens import MAX_SCANNED_CHARS

Intent = Literal["ownership", "dependency", "alignment"]

_MAX_CHARS = 1000


def _either(lines: str) -> re.Pattern[str]:
    alternatives = "|".join(line.strip() for line in lines.strip().splitlines())
    return re.compile(rf"(?<![\w])(?:{alternatives})(?![\w])")


_KINDS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("time",),
        _either(r"what time|when|how (?:early|late)|what hours?|shifts?|which slot|till when"),
    ),
    (
        ("day", "date"),
        _either(r"(?:what|which) (?:day|date|night|evening|weekday|month|year)s?|when"),
    ),
    (
        ("number",),
        _either(r"""
        code|codes|pin|passcode|password|passwords|number|combination|combo|serial|policy|account
        reference|ref|registration|reg|plate|licence|license|postcode|zip|extension|phone|mobile
        address|channel|how (?:many|old)|age|bus|flight|gate|platform|room|seat|version|model
        login|log ?in|username|wi-?fi|alarm|padlock|keypad
    """),
    ),
    (
        ("size", "number", "amount"),
        _either(r"""
        sizes?|how (?:tall|big|heavy|long|wide|high|much does|much do)|height|weight|weigh|waist
        measure|measurements?
    """),
    ),
    (
        ("money", "amount", "number"),
        _either(r"""
        how much|cost|costs|price|fee|fees|rent|pay|paid|pays|salary|allowance|pocket money|budget
        rate|subscription|bill|deposit|wage|owe|owes
    """),
    ),
    (
        ("amount", "number", "time"),
        _either(r"""
        how (?:many|often|much|long|far|fast)|dose|dosage|tablets?|medicine|medication|units|limit
        curfew|bedtime|screen time|strength
    """),
    ),
    (
        ("place",),
        _either(r"where|where['’]s|which (?:room|drawer|cupboard|shel[f]|town|city|country)"),
    ),
    (
        ("name",),
        _either(r"who|whose|who['’]s|whom|what(?:['’]s| is| are) .{0,40}(?:name|called)|named"),
    ),
    (("colour",), _either(r"(?:what|which) colou?rs?|colou?r")),
)
_PRECISE = frozenset(("number", "time", "day", "date", "amount", "size", "money"))
_STATE = re.compile(
    r"^(?:(?:so|and|but|ok|okay|hey|wait)[,\s]+)*(?:is|are|am|does|do|has|have|can|will|did|was|were)\b"
)
_PUT = _either(
    r"put|puts|left|leave|keep|kept|hide|hid|store[ds]?|lend|lent|park(?:ed)?|settle|decide[d]?|agree[d]?"
)
_ALL = _either(r"all|every|everything|everyone|each|list|which of|what are (?:the|our|my) \w+s")
_EVENT = re.compile(
    r"\b(?:what|how|why|where|when|who|which)\b.{0,40}?\b(?:did|happened|went|was it like)\b"
    r"|\b(?:last time|first time|what happened|how was|how did|remember when)\b"
)
_BEFORE = _either(r"""
    used? to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|at first|earlier|in the past|back then
    before (?:that|this|it changed|(?:we|he|she|they) (?:changed|moved|switched|left))
    (?:the|my|our|his|her|their|your|\w+['’]s) (?:old|last|previous|former|first)
    (?:was|were|did|had) .* before|what did .* change from|changed from
""")
_LAST = re.compile(
    r"\bwhen (?:did|was|were|have|has|had)\b.{0,60}\blast\b|\blast time\b|\bmost recent(?:ly)?\b"
)
_ENDS_BEFORE = re.compile(r"\b(?:before|beforehand|previously|at first|originally)\s*\?*\s*$")
_WHEN = re.compile(
    r"(?:^|[.?!,;:]|\band|\bso|\bor|\bknow|\bremember|\btell\s+me)\s*"
    r"(?:(?:since|until|till|by|around)\s+)?"
    r"(?:when(?:\s+(?:exactly|again))?(?:['’]s|\s+(?:did|do|does|was|were|is|are|will|has|have"
    r"|had|would|should|can|could))\b"
    r"|(?:on\s+|in\s+)?(?:what|which)\s+(?:day|date|month|year|season|week|weekday|time)\b"
    r"|how\s+long\s+(?:ago|since)\b|what\s+(?:is|was)\s+the\s+date\b)"
)
_OPENING = re.compile(
    r"\s*(?:the\s+)?recent\s+conversations?\s+and\s+(?:the\s+)?key\s+facts?\s*[.?!]?\s*"
)
_WHO = re.compile(r"(?<![\w'’])(?:who|who['’]?s|who['’]?ll|whose|whom)(?!\w)")
_WHEN_PAST = re.compile(r"\bwhen (?:did|was|were|have|has|had)\b")
_ABOUT_ASKING = re.compile(
    r"\b(?:ask(?:s|ed|ing)?|question(?:s|ed)?|wonder(?:s|ed|ing)?|want(?:s|ed)? to know"
    r"|[ei]nquired?)\b"
)
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine)\b")
_NAMED = re.compile(r"(?<!^)\b[A-Z][a-zà-ÿ]+")
_QUALIFYING = re.compile(
    r"\b(?:at|in|of|for|on|from|near|behind|under|by|with)\s+"
    r"(?:(?:the|my|our|his|her|their|your|an?)\s+)?([^\W\d_]+)",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:more|else|further|rest|details?|next|continue|elaborate|expand|go(?:es)? on|carry on"
    r"|keep going|and then)\b"
)
_OWN = re.compile(r"\b(?:i|am|my|mine|our|ours)\b")
_NO_TOPIC = STOP_WORDS | frozenset(
    """
    bit carry come continue continued continues deal detail details elaborate else exactly expand
    go goes going happen happened happening happens hear keep know like little next ok okay one
    part read rest story talk talking thanks way went yeah yes
    """.split()
)
_HAPPENING = frozenset(
    """
    discuss discussed event events everything go going happen happened happening highlights
    important interesting latest new news overview recap special summarise summarize summary talk
    talked talking timeline update updates went
    """.split()
)
"""Words that name no topic where a time is asked about."""

_PLANNING = frozenset(
    """
    agenda ahead anyone appointment appointments arranged booked busy calendar coming diary free
    got left list need next plan planned plans planner schedule scheduled today tomorrow upcoming
    whats
    """.split()
)
"""The same where that time is to come."""
_INTENTS: Mapping[Intent, re.Pattern[str]] = {
    "ownership": re.compile(
        r"\b(?:whose|(?:who|what|which \w+) owns?|owned by|owners? of|the owners?|belongs? to"
        r"|members? of|responsible for|in charge of)\b"
    ),
    "dependency": re.compile(
        r"\b(?:depend(?:s|ed|ing)? on|dependenc(?:y|ies)|blocked by|(?:is|are|what|who) block\w*"
        r"|waiting (?:on|for)|resolves?)\b"
    ),
    "alignment": re.compile(
        r"\b(?:align\w*|(?:which|what|our|my|whose) goals?|goals? of|objectives?)\b"
    ),
}


@dataclass(frozen=True)
class Question:
    """A question, read by its words alone. Each part is read once, when it is first asked for."""

    text: str

    @functools.cached_property
    def _lower(self) -> str:
        return lowered(self.text[:MAX_QUESTION_CHARS])

    @functools.cached_property
    def _beginning(self) -> str:
        return lowered(self.text[:_MAX_CHARS].strip())

    @functools.cached_property
    def kinds(self) -> frozenset[str]:
        """Of which kinds a value answers; empty where any words may.

        >>> sorted(Question("What time does swimming start?").kinds)
        ['time']
        """
        wanted = [names for names, wording in _KINDS if wording.search(self._beginning)]
        return frozenset().union(*wanted)

    @property
    def compared(self) -> frozenset[str]:
        """Of which kinds values differ between rivals: those asked for, or any that are precise."""
        return self.kinds or _PRECISE

    @property
    def asks_state(self) -> bool:
        """Whether yes or no answers it, as in *is he still on the tablets?*."""
        return _STATE.match(self._beginning) is not None

    @functools.cached_property
    def asks_event(self) -> bool:
        """Whether it asks what happened, of which a newer answer replaces no older one."""
        text = self._beginning
        return _EVENT.search(text) is not None and _PUT.search(text) is None

    @property
    def asks_all(self) -> bool:
        """Whether it asks for all there is."""
        return _ALL.search(self._beginning) is not None

    @property
    def asks_last(self) -> bool:
        """Whether, of the times something happened, it asks for the last."""
        return _LAST.search(self._beginning) is not None

    @functools.cached_property
    def moment(self) -> Literal["now", "before"]:
        """``before`` where it asks what held before the last change.

        >>> Question("What was the alarm code before?").moment
        'before'
        """
        text = self._beginning
        return "before" if _BEFORE.search(text) or _ENDS_BEFORE.search(text) else "now"

    @property
    def asks_when(self) -> bool:
        """Whether it asks for a time, so that its answer names one.

        >>> Question("When did we move?").asks_when
        True
        >>> Question("What did she say when we moved?").asks_when
        False
        """
        return _WHEN.search(self._lower) is not None

    @property
    def asks_when_it_was(self) -> bool:
        """Whether it asks when something happened."""
        return _WHEN_PAST.search(self._lower) is not None

    @functools.cached_property
    def asks_who(self) -> bool:
        """Whether it asks for a person."""
        return _WHO.search(self._beginning) is not None

    @functools.cached_property
    def asks_about_asking(self) -> bool:
        """Whether it asks what somebody asked, so that a stored question answers it."""
        return _ABOUT_ASKING.search(self._lower) is not None

    @property
    def speaks_of_self(self) -> bool:
        """Whether it is about who asks: *I*, *my*, *me*, *mine*."""
        return _FIRST_PERSON.search(self._lower) is not None

    @property
    def opens_conversation(self) -> bool:
        """Whether it is what a program asks before anybody has spoken.

        >>> Question("recent conversations and key facts").opens_conversation
        True
        """
        return _OPENING.fullmatch(self._lower) is not None

    @functools.cached_property
    def amount(self) -> Asked:
        """How much it asks for."""
        return read_breadth(self.text)

    @property
    def names(self) -> frozenset[str]:
        """Its words with a capital but for the first, normalised, and words for a parent."""
        names = {normalise(name) for name in _NAMED.findall(self.text)}
        return frozenset(names | CALLED.intersection(runs_in(self._lower)))

    @property
    def qualifying(self) -> frozenset[str]:
        """The words for where, of what or for whom: *at the office*, *for the cat*."""
        return frozenset(word.casefold() for word in _QUALIFYING.findall(self.text))

    @property
    def refers_back(self) -> Literal["", "it", "more"]:
        """Whether it names no topic of its own, and so asks about what is being talked about.

        ``more`` asks for what belongs to that, ``it`` for the thing itself; empty: for something
        else, such as the person who asks.
        """
        words = runs_in(self._lower)
        if not words or not _NO_TOPIC.issuperset(words) or _OWN.search(self._lower):
            return ""
        return "more" if _MORE.search(self._lower) else "it"

    @property
    def intent(self) -> Intent | None:
        """The meaning that restricts which relations between things are walked.

        >>> Question("Who owns the blue bike?").intent
        'ownership'
        >>> Question("Where is the blue bike?").intent
        """
        return next((name for name, words in _INTENTS.items() if words.search(self._lower)), None)

    @functools.cached_property
    def identifiers(self) -> tuple[Identifier, ...]:
        """What it quotes that stands for one thing, in order."""
        return find_identifiers(self.text[:MAX_SCANNED_CHARS])


def names_topic(words: Iterable[str], *, ahead: bool) -> bool:
    """Whether the words of a question besides its time name a topic.

    Args:
        words: The other words, as they are written.
        ahead: Whether the time is still to come.
    """
    no_topic = (STOP_WORDS, _HAPPENING, _PLANNING if ahead else frozenset[str]())
    return not all(any(word.casefold() in of for of in no_topic) for word in words)
