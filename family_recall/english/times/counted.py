"""Counted times: *two weeks ago*, *three days from now*, *two days before Christmas*."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from family_recall.english.lexicon import COUNTS, DASHES, PARTS, UNITS, WEEKDAYS
from family_recall.english.tokens import count_of, singular_of

from . import calendar as iv
from .calendar import DAY, Interval
from .phrases import Phrase, Sentence, choose, unclear, within
from .readers import event_day_at, main_day_at, phrase_at, register, register_numbers
from .recurring import named_repeat
from .time_or_name import is_plain

_NEARLY = frozenset("almost nearly about approximately roughly around".split())
_FORTNIGHTS = frozenset(("fortnight", "fortnights"))
_VAGUE_COUNTS = {"few": (2, 5), "several": (3, 8), "couple": (2, 3)}
_SMALLER_UNITS = {"hour": ("minute", 60), "year": ("month", 12), "decade": ("year", 10)}
_LARGE_UNITS = frozenset("day week month quarter year decade".split())


class Count(NamedTuple):
    """How many, at least and at most, and the token after the number."""

    least: int
    most: int
    last: int

    @property
    def exact(self) -> bool:
        """Whether it is one number."""
        return self.least == self.most


def count_at(s: Sentence, i: int) -> Count | None:
    """Read *3*, *two or three*, *a few*, *a couple of*, *two dozen*."""
    if s.reads(i, {"a", "an"}, {"few", "couple"}):
        i += 1
    word = s.word(i)
    if word in {"a", "an"}:
        return Count(1, 1, i + 1)
    if word in _VAGUE_COUNTS:
        return Count(*_VAGUE_COUNTS[word], i + 1 + (s.word(i + 1) == "of"))
    count = count_of(word)
    if count is None:
        return None
    if s.word(i + 1) == "dozen":
        return Count(12 * count, 12 * count, i + 2)
    more = count_of(s.word(i + 2)) if s.word(i + 1) in {"or", "to", *DASHES} else None
    if more is not None and more > count:
        return Count(count, more, i + 3)
    return Count(count, count, i + 1)


def moments_ago(s: Sentence, name: str, n: int, *, about: bool = False) -> Interval:
    """Return the last n hours or minutes, or the moment about so long ago."""
    length, none = dt.timedelta(**{f"{name}s": n}), dt.timedelta()
    margin = dt.timedelta(minutes=30 if name == "hour" else 5) if about else length
    return Interval(s.ago(length + margin if about else length), s.ago(max(none, length - margin)))


def _counted(s: Sentence, i: int) -> Phrase | None:
    """Read a count and a unit, followed by *ago*, *back*, *from now*, *before* or *after*."""
    halves = _halves_ago(s, i)
    if halves:
        return halves
    count = count_at(s, i)
    if count is None or count.least == 0 or s.word(i - 1) in {"half", "and"}:
        return None
    word, following = s.word(count.last), s.word(count.last + 1)
    beside = following in {"before", "after"}
    if word in _FORTNIGHTS:
        count, word = Count(2 * count.least, 2 * count.most, count.last), "weeks"
    if following in {"ago", "back"}:
        return _ago(s, i, count, word)
    if beside and singular_of(word) in PARTS:
        return _parts_beside(s, i, count)
    name = UNITS.get(word)
    if name not in _LARGE_UNITS:
        return None
    if s.reads(count.last + 1, "from", "now"):
        return Phrase(i, count.last + 3, name, _units(s.now, name, count.least, count.most))
    if count.exact and (following == "from" or (following == "on" and name == "week")):
        return _from_day(s, i, count, name)
    return _weeks_from(s, i, count, name) or (_units_beside(s, i, count, name) if beside else None)


def _units_beside(s: Sentence, i: int, count: Count, name: str) -> Phrase:
    """Read *two days before Christmas* as a day, *the two days before Christmas* as both."""
    anchor = event_day_at(s, count.last + 2) or main_day_at(s, count.last + 2)
    if not count.exact or anchor is None or anchor.fixed is None:
        return unclear(i, count.last + 2)
    before = s.word(count.last + 1) == "before"
    shift = -count.least if before else count.least
    if s.word(i - 1) == "the":
        stretch = iv.adjacent(anchor.fixed, name, shift)
        return Phrase(i, anchor.last, "days", stretch, None, min(0.9, anchor.certainty))
    edge = anchor.fixed.start if before else anchor.fixed.end - DAY
    fixed = iv.unit(edge, name, shift)
    return Phrase(i, anchor.last, name, fixed, None, min(0.8, anchor.certainty))


def _halves_ago(s: Sentence, i: int) -> Phrase | None:
    """Read *half a year ago*, *a year and a half ago*, *two and a half years ago*."""
    n: int | None
    if s.reads(i, "half", {"a", "an"}):
        n, unit_at, last = 0, i + 2, i + 3
    else:
        n = 1 if s.word(i) in {"a", "an"} else count_of(s.word(i))
        unit_at, last = (i + 4 if s.reads(i + 1, "and", "a", "half") else i + 1), i + 5
        if unit_at == i + 1 and not s.reads(i + 2, "and", "a", "half"):
            return None
    name, parts = _SMALLER_UNITS.get(UNITS.get(s.word(unit_at), ""), ("", 0))
    if n is None or not name or s.word(last) not in {"ago", "back"}:
        return None
    n = n * parts + parts // 2
    if name == "minute":
        return Phrase(i, last + 1, "time", moments_ago(s, name, n, about=True), None, 0.8)
    return Phrase(i, last + 1, name, iv.unit(s.now, name, -n), None, 0.7)


def _from_day(s: Sentence, i: int, count: Count, name: str) -> Phrase | None:
    """Read *two weeks from today*, *a week from Monday*: that day, so much later."""
    j = count.last + 2
    day = phrase_at(s, j)
    if day is None or (s.word(j - 1) == "on" and s.tense(i, j) == "past"):
        return None
    day = choose(s, day, tense="future")
    if day.fixed is None or day.grain not in {"day", "weekday"}:
        return None
    start = iv.rolling(day.fixed.start, name, -count.least).end - DAY
    return Phrase(i, day.last, "day", iv.day(start), None, day.certainty)


def _weeks_from(s: Sentence, i: int, count: Count, name: str) -> Phrase | None:
    """Read *a week tomorrow*, *two weeks last Tuesday*: so many weeks on, or back, from there."""
    j = count.last + 1
    near = s.word(j) in {"today", "tomorrow", "yesterday", "last", "next"}
    if not (near and name == "week" and count.exact) or s.word(i - 1) in {"for", "in"}:
        return None
    day = phrase_at(s, j)
    if day is None or day.grain not in {"day", "weekday"} or not day.fixed:
        return None
    if day.fixed.end - day.fixed.start != DAY:
        return None
    back = s.word(j) in {"yesterday", "last"}
    start = day.fixed.start + dt.timedelta(weeks=-count.least if back else count.least)
    return Phrase(i, day.last, "day", iv.day(start), None, min(day.certainty, 0.7))


def _parts_beside(s: Sentence, i: int, count: Count) -> Phrase:
    """Read *two nights before Christmas*: that part of one day."""
    j = count.last
    day = main_day_at(s, j + 2)
    if not count.exact or s.word(i - 1) == "the" or day is None or day.fixed is None:
        return unclear(i, j + 2)
    edge = day.fixed.start - count.least * DAY
    if s.word(j + 1) == "after":
        edge = day.fixed.end + (count.least - 1) * DAY
    fixed = iv.part_of_day(edge, PARTS[singular_of(s.word(j))])
    return Phrase(i, day.last, "part", fixed, None, min(0.9, day.certainty))


def _ago(s: Sentence, i: int, count: Count, word: str) -> Phrase | None:
    """Read *two weeks ago*, *three nights ago* and *two Christmases ago*."""
    last = count.last + 2
    if s.word(i - 1) in {"than", "over", "under", "least", "most"}:
        return unclear(i, last)
    certainty = 0.9 if count.exact else 0.7
    if s.word(i - 1) in _NEARLY and not is_plain(s, i - 1):
        certainty = 0.6
    if word in UNITS:
        return _units_ago(s, i, count, UNITS[word], certainty)
    if not count.exact:
        return None
    name = singular_of(word)
    if name in PARTS:
        fixed = iv.part_of_day(s.now - count.least * DAY, PARTS[name])
        return Phrase(i, last, "part", fixed, None, certainty)
    repeat, grain = named_repeat(s, name)
    occurrence = iv.latest_over(repeat, s.now, count.least) if repeat else None
    return Phrase(i, last, grain, occurrence, None, certainty) if repeat else None


def _units_ago(s: Sentence, i: int, count: Count, name: str, certainty: float) -> Phrase:
    last = count.last + 2
    if name in {"minute", "hour"}:
        moment = moments_ago(s, name, count.most, about=True)
        return Phrase(i, last, "time", moment, None, min(certainty, 0.8))
    to_the_day = s.reads(last, "to", "the", "day")
    if count.exact and (to_the_day or s.word(last) == "today"):
        day = iv.rolling(s.now, name, count.least).start
        return Phrase(i, last + (3 if to_the_day else 1), "day", iv.day(day))
    week_of = phrase_at(s, last)
    if week_of and week_of.grain == "weekday":
        # "two weeks ago Monday" is a day of that week, and who knows "a week ago last Friday"?
        week = iv.unit(s.now, "week", -count.least)
        that_day = within(week_of, week) if name == "week" and count.exact else None
        if that_day is None or s.word(last) not in WEEKDAYS:
            return unclear(i, week_of.last)
        return Phrase(i, week_of.last, "day", that_day, None, 0.8)
    certainty = 0.5 if name == "decade" else certainty
    return Phrase(i, last, name, _units(s.now, name, -count.most, -count.least), None, certainty)


def _units(now: dt.datetime, name: str, nearest: int, farthest: int) -> Interval:
    near, far = iv.unit(now, name, nearest), iv.unit(now, name, farthest)
    return Interval(min(near.start, far.start), max(near.end, far.end))


register(_counted, "a", "an", "few", "several", "couple", "half", *COUNTS)
register_numbers(_counted)
