"""Counted times: *two weeks ago*, *three days from now*, *two days before Christmas*."""

from __future__ import annotations

import datetime as dt

from family_recall.query.timespan import intervals as iv
from family_recall.query.timespan.intervals import DAY, Interval
from family_recall.query.timespan.names import named_repeat
from family_recall.query.timespan.reading import (
    Phrase,
    Sentence,
    main_day_at,
    register,
    register_numbers,
)
from family_recall.query.timespan.words import COUNTS, PARTS, UNITS, count_of, singular_of


def count_at(s: Sentence, i: int) -> tuple[int, int, int] | None:
    """Read *3*, *two or three*, *a few*, *a couple of*; give fewest, most, and the next token."""
    if s.word(i) in {"a", "an"} and s.word(i + 1) in {"few", "couple"}:
        i += 1
    word = s.word(i)
    if word in {"a", "an"}:
        return 1, 1, i + 1
    if word in {"few", "several", "couple"}:
        few = {"few": (2, 5), "several": (3, 8), "couple": (2, 3)}[word]
        return *few, i + 1 + (s.word(i + 1) == "of")
    count = count_of(word)
    if count is None:
        return None
    more = count_of(s.word(i + 2)) if s.word(i + 1) in {"or", "to"} else None
    if more is not None and more > count:
        return count, more, i + 3
    return count, count, i + 1


def _counted(s: Sentence, i: int) -> Phrase | None:
    """Read a count and a unit, followed by *ago*, *back*, *from now*, *before* or *after*."""
    counted = count_at(s, i)
    if counted is None:
        return None
    least, most, j = counted
    if least == 0:
        return None
    word, after = s.word(j), s.word(j + 1)
    if after in {"ago", "back"}:
        return _ago(s, i, counted)
    if word not in UNITS or UNITS[word] in {"minute", "hour"}:
        return None
    if after == "from" and s.word(j + 2) in {"now", "today"}:
        return Phrase(i, j + 3, UNITS[word], _units(s.now, UNITS[word], least, most))
    if after in {"before", "after"} and least == most:
        anchor = main_day_at(s, j + 2)
        if anchor is None or anchor.fixed is None:
            return None
        shift = -least if after == "before" else least
        edge = anchor.fixed.start if after == "before" else anchor.fixed.end - DAY
        fixed = iv.unit(edge, UNITS[word], shift)
        return Phrase(i, anchor.last, UNITS[word], fixed, None, min(0.8, anchor.certainty))
    return None


def _units(now: dt.datetime, name: str, nearest: int, farthest: int) -> Interval:
    one, other = iv.unit(now, name, nearest), iv.unit(now, name, farthest)
    return Interval(min(one.start, other.start), max(one.end, other.end))


def _ago(s: Sentence, i: int, counted: tuple[int, int, int]) -> Phrase | None:
    least, most, j = counted
    word, last = s.word(j), j + 2
    certainty = 0.9 if least == most else 0.7
    if s.word(i - 1) in {"than", "over", "almost", "nearly", "about"}:
        certainty = 0.6
    if word in UNITS:
        name = UNITS[word]
        if name in {"minute", "hour"}:
            length = dt.timedelta(**{f"{name}s": most})
            margin = dt.timedelta(minutes=30 if name == "hour" else 5)
            fixed = Interval(s.ago(length + margin), s.ago(max(dt.timedelta(), length - margin)))
            return Phrase(i, last, "time", fixed, None, min(certainty, 0.8))
        if s.word(last) == "today" and least == most:
            there = iv.rolling(s.now, name, least).start
            return Phrase(i, last + 1, "day", iv.day(there))
        if name == "decade":
            certainty = 0.5
        return Phrase(i, last, name, _units(s.now, name, -most, -least), None, certainty)
    name = singular_of(word)
    if name in PARTS:
        fixed = iv.part_of_day(s.now - least * DAY, PARTS[name])
        return Phrase(i, last, "part", fixed, None, certainty) if least == most else None
    repeat, grain = named_repeat(s, name)
    if repeat is None or least != most:
        return None
    return Phrase(i, last, grain, iv.latest_over(repeat, s.now, least), None, min(certainty, 0.9))


register(_counted, "a", "an", "few", "several", "couple", *COUNTS)
register_numbers(_counted)
