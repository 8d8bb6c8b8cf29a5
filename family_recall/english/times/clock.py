"""Times of day: *between 2 and 4 pm*, *at half past six*, *after 9*, *from 9 to 5*.

A time of day narrows the day that the rest of a question names. An hour without *am* or *pm* is
the one that lies in the part of the day named with it (*at 9 last night*), or else the one that
people are awake for: 7 to 12 in the morning, 1 to 6 in the afternoon.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

from family_recall.english.lexicon import COUNTS, FOLLOWERS, RANGES
from family_recall.english.tokens import count_of

from . import calendar as cal
from .calendar import DAY, MICROSECOND, OPEN_END, Interval
from .grammar import STARTS, elements, match, table_class, word_class
from .sentence import Sentence

_HALF_DAY = 12 * 60
_AT_MARGIN = dt.timedelta(minutes=30)
_LONGEST_DAY = dt.timedelta(hours=36)
_AROUND = frozenset("around about roughly circa".split())
_SIDES = {
    **dict.fromkeys(("at", "for"), "at"),
    **dict.fromkeys(_AROUND, "around"),
    **dict.fromkeys(("after", "since", "past"), "after"),
    **dict.fromkeys(("before", "until", "till", "til", "by"), "before"),
}
_NAMED = {"noon": _HALF_DAY, "midday": _HALF_DAY, "midnight": 2 * _HALF_DAY}
_COLON = re.compile(r"([01]?[0-9]|2[0-4])[:.]([0-5][0-9])")
_BEGINNINGS = COUNTS.keys() | _NAMED.keys() | {"between", "from", "half", "quarter"}
_BESIDE = FOLLOWERS | STARTS.keys()


class ClockTime(NamedTuple):
    """A time on a clock, in minutes since midnight, and the token after it.

    ``half`` is ``am``, ``pm`` or ``24h`` where that is known. ``written`` says whether it can be
    nothing but a time: *6:30* and *six o'clock*, but not *6*.
    """

    minutes: int
    last: int
    half: str = ""
    written: bool = True

    def on(self, day: dt.datetime) -> list[dt.datetime]:
        """Return the moments of a day that may be meant, the likelier first."""
        options = [self.minutes]
        if not self.half:
            early = self.minutes % _HALF_DAY
            options = [early, early + _HALF_DAY]
            if not 7 <= early // 60 <= 11:
                options.reverse()
        return [cal.midnight(day) + dt.timedelta(minutes=option) for option in options]

    def after(self, start: dt.datetime) -> dt.datetime:
        """Return the first moment after another at which it is that time."""
        moments = self.on(start) + self.on(start + DAY)
        return min(moment for moment in moments if moment > start)


class Hours(NamedTuple):
    """A time of day, or a stretch of it, on the tokens ``[first, last)``."""

    first: int
    last: int
    side: str
    start: ClockTime
    end: ClockTime | None = None


def hours_in(s: Sentence, taken: frozenset[int]) -> Hours | None:
    """Find the first time of day that a sentence names, outside the tokens already read."""
    for i in range(len(s.words)):
        hours = None if i in taken else _hours_at(s, i)
        if hours and taken.isdisjoint(range(hours.first, hours.last)):
            return hours
    return None


def narrowed(s: Sentence, hours: Hours, day: Interval | None) -> tuple[Interval, float] | None:
    """Return the part of a day that is meant, and how surely; None if the day has no such time.

    Args:
        s: The sentence.
        hours: The time of day.
        day: The day or the part of one that the rest names; None for none.
    """
    if day is None:
        return _latest(s, hours)
    moments = _moments(hours.start, day) if day.end - day.start <= _LONGEST_DAY else []
    if not moments:
        return None
    if hours.end is not None:
        return _stretch(hours.start, hours.end, moments, day)
    start, certainty = moments[0], 0.9 if len(moments) == 1 else 0.8
    if hours.side == "after":
        return Interval(start, day.end), certainty
    if hours.side == "before":
        return Interval(day.start, start), certainty
    # What belongs to a moment is rarely stored at that very moment: it excludes nothing.
    margin = _AT_MARGIN * (2 if hours.side == "around" else 1)
    return Interval(start - margin, start + margin), 0.75


def other_half(hours: Hours, day: Interval | None) -> Interval | None:
    """Return the same moment in the other half of a day, where people may be awake for both."""
    if day is None or hours.end is not None or hours.side not in {"at", "around"}:
        return None
    moments = _moments(hours.start, day)[1:2] if day.end - day.start <= DAY else []
    if not moments or not 5 <= hours.start.minutes % _HALF_DAY // 60 <= 10:
        return None
    margin = _AT_MARGIN * (2 if hours.side == "around" else 1)
    return Interval(moments[0] - margin, moments[0] + margin)


def _latest(s: Sentence, hours: Hours) -> tuple[Interval, float]:
    """Return the most recent such hours, or the coming ones if the verb looks ahead."""
    ahead = s.tense(hours.first, hours.last) == "future"
    choices = [
        Interval(start, hours.end.after(start) if hours.end else cal.day(day).end)
        for day in (s.now, s.now + DAY if ahead else s.now - DAY)
        for start in hours.start.on(day)
    ]
    if ahead:
        return min(each for each in choices if each.end > s.now), 0.7
    latest = max(each for each in choices if each.start <= s.now)
    open_end = hours.side == "after" and latest.start >= cal.midnight(s.now)
    return Interval(latest.start, OPEN_END if open_end else latest.end), 0.7


def _moments(time: ClockTime, day: Interval) -> list[dt.datetime]:
    """Return the moments of a day or part of a day at that time, the likelier first."""
    dates = sorted({cal.midnight(day.start), cal.midnight(day.end - MICROSECOND)})
    # The likelier of two hours comes first, on whichever date it is.
    options = zip(*map(time.on, dates), strict=True)
    return [moment for same in options for moment in same if day.start <= moment <= day.end]


def _stretch(
    first: ClockTime, second: ClockTime, starts: list[dt.datetime], day: Interval
) -> tuple[Interval, float]:
    """Return both ends; *2 and 4 pm* are both in the afternoon, *9 to 5* ends in the evening."""
    start, n = starts[0], len(starts)
    end = second.after(start)
    ends = _moments(second, day) if second.half and not first.half else []
    if ends:
        before = [moment for moment in first.on(ends[0]) if moment < ends[0]]
        if before:
            start, end, n = max(before), ends[0], len(ends)
    return Interval(start, end), 0.95 if n == 1 else 0.8


def _hours_at(s: Sentence, i: int) -> Hours | None:
    """Read the preposition at a token and the times behind it."""
    word = s.words[i]
    for pattern in _RANGES if word in _BEGINNINGS or word[0].isdigit() else ():
        times = match(s, i, pattern)
        if times and _ends(s, times[0][-1]):
            (first, *_, second), last = times
            sure = word in {"between", "from"} or first.written or second.written
            return Hours(i, last, "between", first, second) if sure else None
    side = _SIDES.get(word)
    if side is None or s.word(i - 1) in _SIDES:
        return None
    around = s.word(i + 1) in _AROUND
    if around and side == "at":
        side = "around"
    j = i + 1 + (around or s.word(i + 1) in {"just", "exactly"})
    time = _clock_time_at(s, j)
    return Hours(i, time.last, side, time) if time and _ends(s, time) else None


def _ends(s: Sentence, time: ClockTime) -> bool:
    """Whether no other word makes of *9* a number of something."""
    word = s.word(time.last)
    return time.written or not word or word in _BESIDE or not word[0].isalnum()


def _clock_time_at(s: Sentence, i: int) -> ClockTime | None:
    """Read *noon*, *6*, *6:30*, *6 pm*, *six o'clock*, *half past six*, *ten to eight*."""
    if s.word(i) in _NAMED:
        return ClockTime(_NAMED[s.word(i)], i + 1, "pm")
    time = _relative_to_hour(s, i) or _hour_at(s, i)
    return _with_half(s, time) if time else None


def _relative_to_hour(s: Sentence, i: int) -> ClockTime | None:
    """Read *half past six*, *half six*, *a quarter to eight*, *twenty past seven*."""
    i += s.word(i) == "a"
    word, j = s.word(i), i + 1
    named = {"half": 30, "quarter": 15}.get(word)
    minutes = named or count_of(word)
    if minutes is None or minutes > 30 or not (named or minutes % 5 == 0):
        return None
    j += s.word(j) in {"minutes", "minute"}
    sign = {"past": 1, "after": 1, "to": -1, "of": -1}.get(s.word(j))
    if word == "half" and sign is None:
        j, sign = j - 1, 1  # "half six" is half past it
    hour = _hour_at(s, j + 1) if sign and (named or s.word(j) in {"past", "to"}) else None
    if not sign or hour is None or hour.minutes % 60 or hour.half:
        return None
    may_be_range = not named and sign < 0 and minutes <= 12  # "5 to 8"
    minutes = (hour.minutes + sign * minutes) % 1440
    return ClockTime(minutes, hour.last, "", written=not may_be_range)


def _hour_at(s: Sentence, i: int) -> ClockTime | None:
    written = _COLON.fullmatch(s.word(i))
    if written:
        certain = int(written[1]) > 12 or written[1][0] == "0"
        minutes = int(written[1]) * 60 + int(written[2])
        return ClockTime(minutes, i + 1, "24h" if certain else "")
    hour = count_of(s.word(i))
    if hour is None or not 1 <= hour <= 24:
        return None
    if s.reads(i + 1, "o", {"'", "’"}, "clock"):
        return ClockTime(hour * 60, i + 4)
    return ClockTime(hour * 60, i + 1, "24h" if hour > 12 else "", written=False)


def _with_half(s: Sentence, time: ClockTime) -> ClockTime:
    """Read *am*, *p.m.*, *in the morning* or *at night* behind a time."""
    halves = (match(s, time.last, pattern) for pattern in _HALVES)
    half = next((half for half in halves if half), None)
    if half is None or time.half or time.minutes > _HALF_DAY + 59:
        return time
    words, last = half
    name = "am" if words[0] in {"am", "a", "morning"} else "pm"
    minutes = time.minutes % _HALF_DAY + (_HALF_DAY if name == "pm" else 0)
    return ClockTime(minutes, last, name)


word_class("CLOCK", lambda s, i: (time, time.last) if (time := _clock_time_at(s, i)) else None)
table_class("TO", RANGES)
table_class("NIGHT", {"night"})
_RANGES = [elements("between CLOCK and CLOCK"), elements("from? CLOCK TO CLOCK")]
_HALVES = [
    elements("am|pm"),
    elements("a|p . m .?"),
    elements("in the morning|afternoon|evening"),
    elements("at NIGHT"),
]
