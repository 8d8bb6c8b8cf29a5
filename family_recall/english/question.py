"""What a question asks for: which kinds of values, of now or before, one thing or all."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from family_recall.types.understanding import Identifier

from .breadth import Asked, read_breadth
from .identifiers import find_identifiers
from .text import SELF, STOP_WORDS, lowered, runs_in, whole_words
from .tokens import MAX_SCANNED_CHARS

Intent = Literal["ownership", "dependency", "alignment"]

_MAX_CHARS = 1000


def _read_table(table: str) -> dict[str, list[tuple[list[str], frozenset[str]]]]:
    """Return, by the first word of each phrase, its other words and what it asks for."""
    phrases: dict[str, list[tuple[list[str], frozenset[str]]]] = {}
    for line in table.strip().replace("\n    ", " ").splitlines():
        asked_for, wordings = line.split(": ")
        for wording in wordings.split(", "):
            for first, *others in itertools.product(*(w.split("|") for w in wording.split(" "))):
                phrases.setdefault(first, []).append((others, frozenset(asked_for.split())))
    return phrases


_PHRASES = _read_table("""
time: when, what time|hour|hours, how early|late, shift|shifts, which slot
day date: when, what|which day|days|date|dates|night|nights|evening|evenings|weekday|weekdays,
    what|which month|months|year|years
number: code|codes|pin|passcode|password|passwords|number|combination|combo|serial|policy|account,
    reference|ref|registration|reg|plate|licence|license|postcode|zip|extension|phone|mobile,
    address|channel|age|bus|flight|gate|platform|room|seat|version|model|login|username|wifi,
    alarm|padlock|keypad, how many|old, log in, wi fi
size number amount: size|sizes|height|weight|weigh|waist|measure|measurement|measurements,
    how tall|big|heavy|long|wide|high, how much does|do
money amount number: cost|costs|price|fee|fees|rent|pay|paid|pays|salary|allowance|budget|rate,
    subscription|bill|deposit|wage|owe|owes, how much, pocket money
amount number time: dose|dosage|tablet|tablets|medicine|medication|units|limit|curfew|bedtime,
    strength, how many|often|much|long|far|fast, screen time
place: where, which room|drawer|cupboard|shelf|town|city|country
name who: who|whose|whom|whos
name: named
colour: colour|color, what|which colours|colors
put: put|puts|left|leave|keep|kept|hide|hid|store|stored|stores|lend|lent|park|parked|settle,
    decide|decided|agree|agreed
question: ask|asks|asked|asking|question|questions|questioned|wonder|wonders|wondered|wondering,
    enquired|inquired, want|wants|wanted to know
past: when did|was|were|have|has|had
more: more|else|further|rest|detail|details|next|continue|elaborate|expand, go|goes|carry on,
    keep going, and then
ownership: whose|owns, who|what own, owned by, owner|owners of, the owner|owners,
    belong|belongs to, member|members of, responsible for, charge of
dependency: dependency|dependencies|resolve|resolves, depend|depends|depended|depending on,
    blocked by, is|are|what|who block|blocks|blocked|blocking, waiting on|for
alignment: align|aligns|aligned|aligning|alignment|objective|objectives, goal|goals of,
    which|what|our|my|whose goal|goals
""")
_KINDS = frozenset("time day date number size amount money place name colour".split())
_INTENTS: tuple[Intent, ...] = ("ownership", "dependency", "alignment")
_PRECISE = frozenset(("number", "time", "day", "date", "amount", "size", "money"))
_NAME = re.compile(r"\bwhat(?:['’]s| is| are) .{0,40}\b(?:name|called)\b")
_STATE = re.compile(
    r"(?:(?:so|and|but|ok|okay|hey|wait)[,\s]+)*"
    r"(?:is|are|am|does|do|has|have|can|will|did|was|were)\b"
)
_ALL = whole_words(r"all|every|everything|everyone|each|list|which of|what are (?:the|our|my) \w+s")
_EVENT = re.compile(
    r"\b(?:what|how|why|where|when|who|which)\b.{0,40}?\b(?:did|happened|went|was it like)\b"
    r"|\b(?:last time|first time|what happened|how was|how did|remember when)\b"
)
_BEFORE = whole_words(r"""
    used? to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|at first|earlier|in the past|back then
    before (?:that|this|it changed|(?:we|he|she|they) (?:changed|moved|switched|left))
    (?:the|my|our|his|her|their|your|\w+['’]s) (?:old|last|previous|former|first)
    (?:was|were|did|had) .* before|what did .* change from|changed from
    before(?:hand)?(?=\s*\?*\s*$)
""")
_LAST = re.compile(
    r"\bwhen (?:did|was|were|have|has|had)\b.{0,60}\blast\b|\blast time\b|\bmost recent(?:ly)?\b"
)
_WHEN = re.compile(
    r"(?:^|[.?!,;:]|\b(?:and|so|or|know|remember|tell\s+me))\s*"
    r"(?:(?:since|until|till|by|around)\s+)?"
    r"(?:when(?:\s+(?:exactly|again))?(?:['’]s|\s+(?:did|do|does|was|were|is|are|will|has|have"
    r"|had|would|should|can|could))\b"
    r"|(?:on\s+|in\s+)?(?:what|which)\s+(?:day|date|month|year|season|week|weekday|time)\b"
    r"|how\s+long\s+(?:ago|since)\b|what\s+(?:is|was)\s+the\s+date\b)"
)
_OPENING = "recent conversations and key facts".split()
_QUALIFYING = re.compile(
    r"\b(?:at|in|of|for|on|from|near|behind|under|by|with)\s+"
    r"(?:(?:the|my|our|his|her|their|your|an?)\s+)?([^\W\d_]+)"
)
_NO_TOPIC = STOP_WORDS - {"i", "am", "my", "our", "ours"} | frozenset(
    """
    bit carry come continue continued continues deal detail details elaborate else exactly expand
    go goes going happen happened happening happens hear keep know like little next ok okay one
    part read rest story talk talking thanks way went yeah yes
    """.split()
)
_HAPPENING = STOP_WORDS | frozenset(
    """
    discuss discussed event events everything go going happen happened happening highlights
    important interesting latest new news overview recap special summarise summarize summary talk
    talked talking timeline update updates went
    """.split()
)
"""Words that name no topic where a time is asked about."""

_PLANNING = _HAPPENING | frozenset(
    """
    agenda ahead anyone appointment appointments arranged booked busy calendar coming diary free
    got left list need next plan planned plans planner schedule scheduled today tomorrow upcoming
    whats
    """.split()
)
"""The same where that time is to come."""


@dataclass(frozen=True)
class Question:
    """A question, read by its words alone. Each part is read once, when it is first asked for."""

    text: str

    @functools.cached_property
    def _lower(self) -> str:
        return lowered(self.text[:_MAX_CHARS].strip())

    @functools.cached_property
    def _words(self) -> list[str]:
        return runs_in(self._lower)

    @functools.cached_property
    def _asked_for(self) -> frozenset[str]:
        """What the phrases in it ask for."""
        words = self._words
        asked_for: set[str] = set()
        for at, word in enumerate(words, 1):
            for others, meant in _PHRASES.get(word, ()):
                if words[at : at + len(others)] == others:
                    asked_for |= meant
        return frozenset(asked_for)

    @functools.cached_property
    def kinds(self) -> frozenset[str]:
        """Of which kinds a value answers; empty where any words may.

        >>> sorted(Question("What time does swimming start?").kinds)
        ['time']
        """
        kinds = self._asked_for & _KINDS
        return kinds | {"name"} if _NAME.search(self._lower) else kinds

    @property
    def compared(self) -> frozenset[str]:
        """Of which kinds values differ between rivals: those asked for, or any that are precise."""
        return self.kinds or _PRECISE

    @property
    def asks_state(self) -> bool:
        """Whether yes or no answers it, as in *is he still on the tablets?*."""
        return _STATE.match(self._lower) is not None

    @functools.cached_property
    def asks_event(self) -> bool:
        """Whether it asks what happened, of which a newer answer replaces no older one."""
        return "put" not in self._asked_for and _EVENT.search(self._lower) is not None

    @property
    def asks_all(self) -> bool:
        """Whether it asks for all there is."""
        return _ALL.search(self._lower) is not None

    @property
    def asks_last(self) -> bool:
        """Whether, of the times something happened, it asks for the last."""
        return _LAST.search(self._lower) is not None

    @functools.cached_property
    def moment(self) -> Literal["now", "before"]:
        """``before`` where it asks what held before the last change.

        >>> Question("What was the alarm code before?").moment
        'before'
        """
        return "before" if _BEFORE.search(self._lower) else "now"

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
        return "past" in self._asked_for

    @property
    def asks_who(self) -> bool:
        """Whether it asks for a person."""
        return "who" in self._asked_for

    @property
    def asks_about_asking(self) -> bool:
        """Whether it asks what somebody asked, so that a stored question answers it."""
        return "question" in self._asked_for

    @property
    def speaks_of_self(self) -> bool:
        """Whether it is about who asks: *I*, *my*, *me*, *mine*."""
        return not SELF.isdisjoint(self._words)

    @property
    def opens_conversation(self) -> bool:
        """Whether it is what a program asks before anybody has spoken.

        >>> Question("recent conversations and key facts").opens_conversation
        True
        """
        return [word for word in self._words if word != "the"] == _OPENING

    @functools.cached_property
    def amount(self) -> Asked:
        """How much it asks for."""
        return read_breadth(self.text)

    @property
    def qualifying(self) -> frozenset[str]:
        """The words for where, of what or for whom: *at the office*, *for the cat*."""
        return frozenset(_QUALIFYING.findall(self._lower))

    @property
    def refers_back(self) -> Literal["", "it", "more"]:
        """Whether it names no topic of its own, and so asks about what is being talked about.

        ``more`` asks for what belongs to that, ``it`` for the thing itself; empty: for something
        else, such as the person who asks.
        """
        if not self._words or not _NO_TOPIC.issuperset(self._words):
            return ""
        return "more" if "more" in self._asked_for else "it"

    @property
    def intent(self) -> Intent | None:
        """The meaning that restricts which relations between things are walked.

        >>> Question("Who owns the blue bike?").intent
        'ownership'
        >>> Question("Where is the blue bike?").intent
        """
        return next((intent for intent in _INTENTS if intent in self._asked_for), None)

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
    return not (_PLANNING if ahead else _HAPPENING).issuperset(map(str.casefold, words))
