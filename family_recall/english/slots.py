"""What a question asks for: which kinds of values, of now or before, one thing or all."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .first_words import first_words
from .lower_case import lowered

_MAX_CHARS = 1000
_WORD = re.compile(r"\w+")


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
_BEGINNING = (*_KINDS, (("put",), _PUT), (("all",), _ALL))
_SPEAKS_OF_BEFORE = (
    "use used previous previously former formerly original originally first earlier past then"
    " before old last change changed"
)
_HOLDING = (
    (("event",), _EVENT, "did happened went was last first remember"),
    (("before",), _BEFORE, _SPEAKS_OF_BEFORE),
    (("before",), _ENDS_BEFORE, "before beforehand previously first originally"),
    (("last",), _LAST, "last recent recently"),
)
"""Patterns whose beginnings are in most questions, with words of which every match holds one."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What a question asks for.

    Attributes:
        kinds: Of which kinds a value answers; empty where any words may.
        asks_state: Whether yes or no answers it: "is he still on the tablets?"
        asks_event: Whether it asks what happened, of which a newer answer replaces no older one.
        asks_all: Whether it asks for all there is.
        asks_last: Whether, of the times something happened, it asks for the last.
        moment: ``now``, or ``before`` where it asks what held before the last change.
    """

    kinds: frozenset[str]
    asks_state: bool
    asks_event: bool
    asks_all: bool
    asks_last: bool
    moment: Literal["now", "before"]

    @property
    def compared(self) -> frozenset[str]:
        """Of which kinds values differ between rivals: those asked for, or any that are precise."""
        return self.kinds or _PRECISE


@functools.lru_cache(maxsize=16)
def slot_of(question: str) -> Slot:
    """Return what a question asks for; several stages of a recall ask that of the same one.

    >>> sorted(slot_of("What time does swimming start?").kinds)
    ['time']
    >>> slot_of("What was the alarm code before?").moment
    'before'
    """
    text = lowered(question[:_MAX_CHARS].strip())
    named: set[str] = set()
    for word in _WORD.finditer(text):
        for names, test in _TESTS.get(word[0], ()):
            if not named.issuperset(names) and test(text, word.start()):
                named.update(names)
    return Slot(
        kinds=_KIND_NAMES & named,
        asks_state=_STATE.match(text) is not None,
        asks_event="event" in named and "put" not in named,
        asks_all="all" in named,
        asks_last="last" in named,
        moment="before" if "before" in named else "now",
    )


_Test = Callable[[str, int], object]


def _tests_by_word() -> dict[str, list[tuple[tuple[str, ...], _Test]]]:
    """Map words to what a question may name at them, each with a test of the text and place."""
    tests: dict[str, list[tuple[tuple[str, ...], _Test]]] = {}
    for names, pattern in _BEGINNING:
        for word in first_words(pattern.pattern):
            tests.setdefault(word, []).append((names, pattern.match))
    for names, pattern, words in _HOLDING:
        for word in words.split():
            tests.setdefault(word, []).append((names, _anywhere(pattern)))
    return tests


def _anywhere(pattern: re.Pattern[str]) -> _Test:
    return lambda text, _: pattern.search(text)


_TESTS = _tests_by_word()
_KIND_NAMES = frozenset(name for names, _ in _KINDS for name in names)
