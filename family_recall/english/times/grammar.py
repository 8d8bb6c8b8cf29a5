"""The engine of the grammar: patterns of words, and the longest time that begins at a word.

A rule is a pattern and a function: ``@reads("LENGTH ago|back")``. A pattern is a row of elements: a
word, several words (``ago|back``), or a class in capitals (``MONTH``); with ``?`` it may be left
out. Classes and choices of words are arguments of the function; single and optional words are not.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from family_recall.english.lexicon import GIVEN_NAMES, MONTHS, PARTS

from . import calendar as cal
from .calendar import DAY, Interval, Repeat
from .sentence import Phrase, Sentence, anchor_phrase_at, main_day_of, within

_MAX_DEPTH = 4
_TO_WHOM = frozenset(
    "to with than did does is was will has had can could should would tell told ask asked give "
    "gave call called visit visited see saw meet met invite invited help helped".split()
)
_BEFORE_YEARS = frozenset(
    "in from since until till til before after by of during between around and or to about over "
    "throughout circa back early late mid for".split()
)

Read: TypeAlias = Callable[[Sentence, int], "tuple[Any, int] | None"]
"""What an element of a pattern reads at a token: its value and the token after it."""

_F = TypeVar("_F", bound="Callable[..., Phrase | None]")


class Match(NamedTuple):
    """The tokens ``[first, last)`` that a pattern covers."""

    s: Sentence
    first: int
    last: int

    @property
    def before(self) -> str:
        """The word in front of it."""
        return self.s.word(self.first - 1)

    def means(self, grain: str, interval: Interval, certainty: float = 0.95) -> Phrase:
        """Return a fixed time."""
        return Phrase(self.first, self.last, grain, interval, None, certainty)

    def day(self, moment: dt.datetime, certainty: float = 0.95) -> Phrase:
        """Return the day of a moment."""
        return self.means("day", cal.day(moment), certainty)

    def part(self, moment: dt.datetime, name: str, certainty: float = 0.95) -> Phrase:
        """Return the morning or night of that day."""
        return self.means("part", cal.part_of_day(moment, PARTS[name]), certainty)

    def repeats(
        self, grain: str, repeat: Repeat, certainty: float = 0.95, *, bare: bool = True
    ) -> Phrase:
        """Return a time that recurs; a bare one needs a preposition or a frame."""
        return Phrase(self.first, self.last, grain, None, repeat, certainty, bare=bare)

    def no_time(self) -> Phrase:
        """Step over words that mean no time, so that no part of them is read."""
        return Phrase(self.first, self.last, "nothing")

    def unclear(self) -> Phrase:
        """Step over a time that only the speaker knows: the whole question then means none."""
        return Phrase(self.first, self.last, "unclear")


class _Element(NamedTuple):
    read: Read
    is_value: bool = True
    optional: bool = False


_CLASSES: dict[str, tuple[Read, Iterable[str]]] = {}
_RULES: dict[str, list[tuple[list[_Element], Callable[..., Phrase | None]]]] = {}
_ELEMENTS: dict[str, _Element] = {}
STARTS: dict[str, list[str]] = {}
"""The first elements of the rules that may begin with a word; ``0`` stands for any digits."""


def word_class(name: str, read: Read, words: Iterable[str] = (), *, digits: bool = False) -> None:
    """Name a class of patterns, and the words that it may begin with."""
    _CLASSES[name] = read, [*words, "0"] if digits else words


def table_class(name: str, table: Container[str]) -> None:
    """Name a class of single words; the word is the value."""
    words = [str(word) for word in table] if isinstance(table, Iterable) else []
    word_class(name, lambda s, i: (s.words[i], i + 1) if s.word(i) in table else None, words)


def reads(*patterns: str) -> Callable[[_F], _F]:
    """Have a function read what the patterns match."""

    def add(function: _F) -> _F:
        for pattern in patterns:
            first, *others = pattern.split()
            if first not in _RULES:
                _ELEMENTS[first] = _element(first)
                words = _CLASSES[first][1] if first in _CLASSES else first.split("|")
                for word in words:
                    STARTS.setdefault(word, []).append(first)
            _RULES.setdefault(first, []).append((elements(" ".join(others)), function))
        return function

    return add


def starts_with(word: str) -> list[str]:
    """Return the first elements of the rules that may begin with a word."""
    if word in STARTS:
        return STARTS[word]
    return STARTS["0"] if word[:1].isdigit() or word[:1] in {"'", "’"} else []


def _element(text: str) -> _Element:
    optional = text.endswith("?")
    text = text.removesuffix("?")
    if text in _CLASSES:
        return _Element(_CLASSES[text][0], not optional, optional)
    words = frozenset(text.split("|"))
    read: Read = lambda s, i: (s.words[i], i + 1) if s.word(i) in words else None  # noqa: E731
    return _Element(read, len(words) > 1 and not optional, optional)


def elements(pattern: str) -> list[_Element]:
    """Return the elements of a pattern."""
    return [_element(text) for text in pattern.split()]


def match(s: Sentence, i: int, pattern: list[_Element]) -> tuple[list[Any], int] | None:
    """Return the values of the elements that begin at a token, and the token after them."""
    values = []
    for element in pattern:
        read = element.read(s, i)
        if read is None:
            if element.optional:
                continue
            return None
        if element.is_value:
            values.append(read[0])
        i = read[1]
    return values, i


def _phrases_at(s: Sentence, i: int) -> Iterator[Phrase]:
    for first in starts_with(s.word(i)):
        element = _ELEMENTS[first]
        begun = element.read(s, i)
        if begun is None:
            continue
        values = [begun[0]] if element.is_value else []
        for others, function in _RULES[first]:
            rest = match(s, begun[1], others)
            phrase = function(Match(s, i, rest[1]), *values, *rest[0]) if rest else None
            if phrase:
                yield phrase


def phrase_at(s: Sentence, i: int, *, anchored: bool = False) -> Phrase | None:
    """Find the longest time expression that begins at a token.

    ``anchored`` counts the household's anchors as well: only after *since*, *on*, *when*.
    """
    word = s.word(i)
    if s.depth >= _MAX_DEPTH or s.reads(i, "the", "the"):
        return None
    s.depth += 1
    try:
        if word == "the":
            inner = phrase_at(s, i + 1, anchored=anchored)
            return inner._replace(first=i, article=True) if inner else None
        longest = max(_phrases_at(s, i), key=lambda phrase: phrase.last, default=None)
        if longest is None and anchored and s.anchors:
            return anchor_phrase_at(s, i)
        return longest
    finally:
        s.depth -= 1


def argument_at(s: Sentence, i: int, *, anchored: bool = True) -> Phrase | None:
    """Find a phrase together with the frame beside it: *March last year*, *last week on Monday*."""
    phrase = phrase_at(s, i, anchored=anchored)
    if phrase is None or (phrase.bare and is_somebody(s, phrase.first)):
        return phrase
    j = phrase.last + (s.word(phrase.last) == ",")
    j += s.word(j) in {"of", "in", "on", "at", "during"}
    before = s.word(i - 1)
    if phrase.grain == "year" and before[-1:].isalpha() and before not in _BEFORE_YEARS:
        return phrase  # "who lent us 1984 in May"
    other = phrase_at(s, j)
    if other is None or (phrase.article and phrase.grain == "holiday" and phrase.bare):
        return phrase
    if other.grain == "daily" and (daily := other.repeat) and phrase.repeat and not phrase.fixed:
        if phrase.grain not in {"day", "weekday", "nth"}:
            return phrase
        # "Monday in the morning" is the mornings of Mondays.
        mornings = cal.mapped(phrase.repeat, lambda day: daily(day.start, day.start + DAY)[0])
        return phrase._replace(last=other.last, repeat=mornings)
    return _framed(phrase, other)


def _framed(phrase: Phrase, other: Phrase) -> Phrase:
    """Fix what repeats by the time beside it, if there is one of it in that time."""
    for inner, frame in ((phrase, other), (other, phrase)):
        if not inner.repeat or inner.fixed or not frame.fixed or frame.grain == "time":
            continue
        only = within(inner, frame.fixed)
        if only:
            return inner._replace(
                first=phrase.first,
                last=other.last,
                grain="part" if inner.grain == "daily" else inner.grain,
                fixed=only,
                bare=False,
                certainty=min(inner.certainty, frame.certainty),
            )
        if inner is phrase and phrase.grain == "holiday" and frame.grain == "year":
            return Phrase(phrase.first, other.last, "unclear")  # there were two of it, or none
    return phrase


def is_somebody(s: Sentence, i: int) -> bool:
    """Whether *May* is a person in *to May last year*."""
    if s.word(i) not in GIVEN_NAMES or s.word(i - 1) not in _TO_WHOM:
        return False
    before = s.word(i - 2)
    is_date = before in MONTHS or before == "up" or before[:1].isdigit()
    return not is_date and s.at(i).capitalised


def main_day_at(s: Sentence, i: int) -> Phrase | None:
    """Find a phrase with its frame, fixed; a period such as Christmas by its main day."""
    phrase = argument_at(s, i)
    return main_day_of(s, phrase) if phrase else None


word_class("TIME", lambda s, i: (phrase, phrase.last) if (phrase := phrase_at(s, i)) else None)
