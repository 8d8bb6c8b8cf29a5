"""Readers: the longest time expression that begins at a token, with the frame beside it.

Each reader registers the words its phrases begin with: ``dates``, ``recurring``, ``relative``,
``counted``, ``before_after`` and ``parts_of_periods``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import TypeAlias

from family_recall.english.lexicon import FOLLOWERS, GIVEN_NAMES, MONTHS, OWNERS

from . import calendar as iv
from .anchors import anchor_at
from .calendar import DAY, Interval
from .phrases import Phrase, Sentence, choose, main_day_of, unclear, within

Reader: TypeAlias = Callable[[Sentence, int], Phrase | None]
_MAX_DEPTH = 4
_TO_WHOM = frozenset(
    "to with than did does is was will has had can could should would tell told ask asked give "
    "gave call called visit visited see saw meet met invite invited help helped".split()
)
_BEFORE_YEARS = frozenset(
    "in from since until till til before after by of during between around and or to about over "
    "throughout circa back early late mid for".split()
)
READERS: dict[str, tuple[Reader, ...]] = {}
_NUMBER_READERS: list[Reader] = []


def register(reader: Reader, *words: str) -> None:
    """Have phrases that begin with one of these words read by a reader as well."""
    for word in words:
        READERS[word] = (*READERS.get(word, ()), reader)


def register_numbers(*readers: Reader) -> None:
    """Have phrases that begin with digits read by these readers as well."""
    _NUMBER_READERS.extend(readers)


def readers_of(word: str) -> Sequence[Reader]:
    """Return the readers of phrases that begin with a word."""
    if word in READERS:
        return READERS[word]
    return _NUMBER_READERS if word[:1].isdigit() or word[:1] in {"'", "’"} else ()


def phrase_at(s: Sentence, i: int, *, anchored: bool = False) -> Phrase | None:
    """Find the longest time expression that begins at a token.

    ``anchored`` counts the household's anchors as well: only after *since*, *on*, *when*.
    """
    word = s.word(i)
    readers = readers_of(word)
    may_begin = readers or word == "the" or (anchored and s.anchors)
    if not may_begin or s.depth >= _MAX_DEPTH:
        return None
    s.depth += 1
    try:
        if word == "the":
            if s.word(i + 1) == "the":
                return None
            inner = phrase_at(s, i + 1, anchored=anchored)
            return inner._replace(first=i, article=True) if inner else None
        longest: Phrase | None = None
        for read in readers:
            phrase = read(s, i)
            if phrase and (longest is None or phrase.last > longest.last):
                longest = phrase
        if longest is None and anchored and s.anchors:
            longest = anchor_phrase_at(s, i)
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
    if other.grain == "daily" and other.repeat and phrase.repeat and not phrase.fixed:
        return _part_of_days(phrase, other.repeat, other.last)
    return _framed(phrase, other)


def _part_of_days(phrase: Phrase, daily: iv.Repeat, last: int) -> Phrase:
    """Read *Monday in the morning* as the mornings of Mondays."""
    if phrase.repeat is None or phrase.grain not in {"day", "weekday", "nth"}:
        return phrase
    repeat = iv.mapped(phrase.repeat, lambda day: daily(day.start, day.start + DAY)[0])
    return phrase._replace(last=last, repeat=repeat)


def _framed(phrase: Phrase, other: Phrase) -> Phrase:
    """Fix what repeats by the time beside it, if there is one of it in that time."""
    for inner, frame in ((phrase, other), (other, phrase)):
        if not inner.repeat or inner.fixed or not frame.fixed or frame.grain == "time":
            continue
        only = within(inner, frame.fixed)
        if only:
            certainty = min(inner.certainty, frame.certainty)
            return inner._replace(
                first=phrase.first,
                last=other.last,
                grain="part" if inner.grain == "daily" else inner.grain,
                fixed=only,
                bare=False,
                certainty=certainty,
            )
        if inner is phrase and phrase.grain == "holiday" and frame.grain == "year":
            return unclear(phrase.first, other.last)  # there were two of it, or none
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


def event_day_at(s: Sentence, i: int) -> Phrase | None:
    """Read *the rehearsal last Friday*: some event by the one day named behind it."""
    if not (s.word(i) in OWNERS | {"the", "a", "an"} or s.at(i).possessive):
        return None
    for j in range(i + 1, i + 6):
        day = phrase_at(s, j)
        if day:
            day = choose(s, day) if day.grain == "weekday" else day
            if day.grain not in {"day", "weekday"} or day.fixed is None:
                return None
            single = day.fixed.end - day.fixed.start == DAY and not day.article
            return day._replace(certainty=min(day.certainty, 0.7)) if single and j > i + 1 else None
        if not s.word(j).isalpha() or (s.word(j) in FOLLOWERS and s.word(j) != "on"):
            return None
    return None


def anchor_phrase_at(s: Sentence, i: int, reach: int = 3) -> Phrase | None:
    """Read an anchor whose first content word is at most ``reach`` tokens away."""
    match = anchor_at(s.tokens, i, s.anchors, reach=reach)
    if match is None:
        return None
    known, last, certainty = match

    def repeat(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        return [interval for interval in known if low <= interval.start < high]

    fixed = known[0] if len(known) == 1 else None
    phrase = Phrase(i, last, "anchor", fixed, repeat, certainty)
    asks_for_last = any(t.word == "last" for t in s.tokens[i:last])
    return choose(s, phrase, "last") if asks_for_last else phrase
