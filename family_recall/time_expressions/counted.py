"""Counted times: *two weeks ago*, *three days from now*, *two days before Christmas*."""

from __future__ import annotations

import datetime as dt

from . import intervals as iv
from .intervals import DAY, Interval
from .meaning import is_plain
from .names import named_repeat
from .reading import (
    Phrase,
    Sentence,
    choose,
    doubt,
    event_day_at,
    main_day_at,
    phrase_at,
    register,
    register_numbers,
)
from .words import COUNTS, DASHES, PARTS, UNITS, count_of, singular_of

_NEARLY = frozenset("almost nearly about approximately roughly around".split())
_FORTNIGHTS = frozenset(("fortnight", "fortnights"))


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
    if s.word(i + 1) == "dozen":
        return 12 * count, 12 * count, i + 2
    more = count_of(s.word(i + 2)) if s.word(i + 1) in {"or", "to", *DASHES} else None
    if more is not None and more > count:
        return count, more, i + 3
    return count, count, i + 1


def _counted(s: Sentence, i: int) -> Phrase | None:
    """Read a count and a unit, followed by *ago*, *back*, *from now*, *before* or *after*."""
    halves = _halves_ago(s, i)
    if halves:
        return halves
    counted = count_at(s, i)
    if counted is None or s.word(i - 1) in {"half", "and"}:
        return None
    least, most, j = counted
    if least == 0:
        return None
    word, after = s.word(j), s.word(j + 1)
    if after in {"ago", "back"}:
        return _ago(s, i, counted)
    if word in _FORTNIGHTS:
        least, most, word = 2 * least, 2 * most, "weeks"
    if after in {"before", "after"} and singular_of(word) in PARTS:
        return _parts_beside(s, i, counted)
    if word not in UNITS or UNITS[word] in {"minute", "hour"}:
        return None
    if after == "from" and s.word(j + 2) == "now":
        return Phrase(i, j + 3, UNITS[word], _units(s.now, UNITS[word], least, most))
    if after in {"from", "on"} and least == most and (after == "from" or UNITS[word] == "week"):
        return _from_day(s, i, j + 2, UNITS[word], least)
    if UNITS[word] == "week" and least == most and s.word(i - 1) not in {"for", "in"}:
        day = _weeks_beside(s, i, j + 1, least)
        if day:
            return day
    if after in {"before", "after"}:
        if least != most:
            return doubt(i, j + 2)
        anchor = event_day_at(s, j + 2) or main_day_at(s, j + 2)
        if anchor is None or anchor.fixed is None:
            return doubt(i, j + 2)
        if s.word(i - 1) == "the":
            stretch = iv.beside(anchor.fixed, UNITS[word], -least if after == "before" else least)
            return Phrase(i, anchor.last, "days", stretch, None, min(0.9, anchor.certainty))
        shift = -least if after == "before" else least
        edge = anchor.fixed.start if after == "before" else anchor.fixed.end - DAY
        fixed = iv.unit(edge, UNITS[word], shift)
        return Phrase(i, anchor.last, UNITS[word], fixed, None, min(0.8, anchor.certainty))
    return None


def _halves_ago(s: Sentence, i: int) -> Phrase | None:
    """Read *half a year ago*, *a year and a half ago*, *two and a half years ago*."""
    if s.word(i) == "half" and s.word(i + 1) in {"a", "an"}:
        n, unit_at, last = 0, i + 2, i + 3
    else:
        count = 1 if s.word(i) in {"a", "an"} else count_of(s.word(i))
        if count is None:
            return None
        n = count
        if [s.word(i + k) for k in (1, 2, 3)] == ["and", "a", "half"]:
            unit_at, last = i + 4, i + 5
        elif [s.word(i + k) for k in (2, 3, 4)] == ["and", "a", "half"]:
            unit_at, last = i + 1, i + 5
        else:
            return None
    name, parts = {
        "hour": ("minute", 60), "year": ("month", 12), "decade": ("year", 10),
    }.get(UNITS.get(s.word(unit_at), ""), ("", 0))  # fmt: skip
    if not name or s.word(last) not in {"ago", "back"}:
        return None
    n = n * parts + parts // 2
    if name == "minute":
        return Phrase(i, last + 1, "time", _moments_ago(s, name, n), None, 0.8)
    return Phrase(i, last + 1, name, iv.unit(s.now, name, -n), None, 0.7)


def _from_day(s: Sentence, i: int, j: int, name: str, n: int) -> Phrase | None:
    """Read *two weeks from today*, *a week from Monday*: that day, so much later."""
    day = phrase_at(s, j)
    if s.word(j - 1) == "on" and s.tense(i, j) == "past":
        return None
    if day is None or day.grain not in {"day", "weekday"}:
        return None
    day = choose(s, day, tense="future")
    if day.fixed is None:
        return None
    start = iv.rolling(day.fixed.start, name, -n).end - DAY
    return Phrase(i, day.last, "day", iv.day(start), None, day.certainty)


def _weeks_beside(s: Sentence, i: int, j: int, n: int) -> Phrase | None:
    """Read *a week tomorrow*, *two weeks last Tuesday*: so many weeks on, or back, from there."""
    day = phrase_at(s, j)
    if day is None or day.fixed is None or day.fixed.end - day.fixed.start != DAY:
        return None
    if day.grain not in {"day", "weekday"} or s.word(j) not in {
        "today", "tomorrow", "yesterday", "last", "next",
    }:  # fmt: skip
        return None
    back = s.word(j) in {"yesterday", "last"}
    start = day.fixed.start + dt.timedelta(weeks=-n if back else n)
    return Phrase(i, day.last, "day", iv.day(start), None, min(day.certainty, 0.7))


def _parts_beside(s: Sentence, i: int, counted: tuple[int, int, int]) -> Phrase | None:
    """Read *two nights before Christmas*: that part of one day."""
    least, most, j = counted
    day = main_day_at(s, j + 2)
    if least != most or s.word(i - 1) == "the" or day is None or day.fixed is None:
        return doubt(i, j + 2)
    edge = day.fixed.start - least * DAY
    if s.word(j + 1) == "after":
        edge = day.fixed.end + (least - 1) * DAY
    hours = PARTS[singular_of(s.word(j))]
    fixed = iv.part_of_day(edge, hours)
    return Phrase(i, day.last, "part", fixed, None, min(0.9, day.certainty))


def _units(now: dt.datetime, name: str, nearest: int, farthest: int) -> Interval:
    one, other = iv.unit(now, name, nearest), iv.unit(now, name, farthest)
    return Interval(min(one.start, other.start), max(one.end, other.end))


def _ago(s: Sentence, i: int, counted: tuple[int, int, int]) -> Phrase | None:
    least, most, j = counted
    word, last = s.word(j), j + 2
    if word in _FORTNIGHTS:
        least, most, word = 2 * least, 2 * most, "weeks"
    if s.word(i - 1) in {"than", "over", "under", "least", "most"}:
        return doubt(i, last)
    certainty = 0.9 if least == most else 0.7
    if s.word(i - 1) in _NEARLY and not is_plain(s, i - 1):
        certainty = 0.6
    if word in UNITS:
        name = UNITS[word]
        if name in {"minute", "hour"}:
            return Phrase(i, last, "time", _moments_ago(s, name, most), None, min(certainty, 0.8))
        to_the_day = [s.word(last + k) for k in range(3)] == ["to", "the", "day"]
        if (s.word(last) == "today" or to_the_day) and least == most:
            there = iv.rolling(s.now, name, least).start
            return Phrase(i, last + (3 if to_the_day else 1), "day", iv.day(there))
        if name == "decade":
            certainty = 0.5
        week_of = phrase_at(s, last)
        if week_of and week_of.grain == "weekday":
            return doubt(i, week_of.last)  # "a week ago last Friday"
        return Phrase(i, last, name, _units(s.now, name, -most, -least), None, certainty)
    name = singular_of(word)
    if name in PARTS:
        fixed = iv.part_of_day(s.now - least * DAY, PARTS[name])
        return Phrase(i, last, "part", fixed, None, certainty) if least == most else None
    repeat, grain = named_repeat(s, name)
    if repeat is None or least != most:
        return None
    return Phrase(i, last, grain, iv.latest_over(repeat, s.now, least), None, min(certainty, 0.9))


def _moments_ago(s: Sentence, name: str, n: int) -> Interval:
    length = dt.timedelta(**{f"{name}s": n})
    margin = dt.timedelta(minutes=30 if name == "hour" else 5)
    return Interval(s.ago(length + margin), s.ago(max(dt.timedelta(), length - margin)))


register(_counted, "a", "an", "few", "several", "couple", "half", *COUNTS)
register_numbers(_counted)
