"""Neighbours: *the week before Easter*, *the year before last*, *the night of 5 May*."""

from __future__ import annotations

import datetime as dt

from . import intervals as iv
from .dates import year_at
from .holidays import FIRST_WORDS
from .intervals import DAY, Interval
from .names import named_repeat
from .reading import (
    Phrase,
    Sentence,
    anchor_phrase_at,
    choose,
    doubt,
    event_day_at,
    is_somebody,
    main_day_at,
    nothing,
    phrase_at,
    register,
)
from .words import MONTHS, PARTS, SEASONS, UNITS, WEEKDAYS, is_ordinal

_UNREAD = frozenset("last next other second few couple same following previous".split())


def _unit_beside(s: Sentence, i: int) -> Phrase | None:
    """Read *the day before yesterday*, *the week before last*, *the night of 5 May*."""
    word, after = s.word(i), s.word(i + 1)
    if s.word(i - 1) == "the" and word in UNITS:
        year = year_at(s, i + 1) if word == "year" else None
        if year:
            return Phrase(i, year[1], "year", iv.years(year[0]))
        beside = after in {"before", "after"}
        anchor = anchor_phrase_at(s, i + 1, reach=1) if s.anchors and not beside else None
        if anchor and anchor.fixed:
            return anchor._replace(first=i, fixed=iv.unit(anchor.fixed.start, word, 0))
    if after in {"before", "after"} and not is_somebody(s, i):
        named = phrase_at(s, i + 2)
        if s.word(i + 2) == ("last" if after == "before" else "next") and named is None:
            return _before_last(s, i, 1 if after == "after" else -1)
        if s.word(i + 2) == word:
            return nothing(i, i + 3)  # "night after night"
        anchor = event_day_at(s, i + 2) or main_day_at(s, i + 2)
        if word in SEASONS and anchor and anchor.fixed and _is_in_season(s, word, anchor.fixed):
            return doubt(i, anchor.last)  # a summer's day: this summer or the one beside it
        told = s.word(i - 1) == "the" and s.word(i - 2) != "in"
        if anchor is None or anchor.fixed is None:
            return doubt(i, i + 2) if told or word in UNITS or word == "weekend" else None
        if is_ordinal(s.word(i - 1)) or s.word(i - 1) in _UNREAD:
            return doubt(i, anchor.last)
        start, end = anchor.fixed
        if start != iv.midnight(start) and word == "day":
            shift = -DAY if after == "before" else DAY
            return Phrase(
                i, anchor.last, "part", Interval(start + shift, end + shift), None, anchor.certainty
            )
        fixed = place_beside(s, word, after, start, end)
        return Phrase(i, anchor.last, "day", fixed, None, anchor.certainty) if fixed else None
    if word == "eve" and after == "of":
        day = main_day_at(s, i + 2)
        if day is None or day.fixed is None:
            return doubt(i, i + 2)
        eve = Interval(day.fixed.start - DAY, day.fixed.start)
        return Phrase(i, day.last, "day", eve, None, min(0.9, day.certainty))
    if word in {"fortnight", "eve"}:
        return None
    if after == "of" and word in {"month", "year"} and s.anchors:
        anchor = anchor_phrase_at(s, i + 2, reach=1)
        if anchor is None or anchor.fixed is None:
            return None
        return anchor._replace(first=i, fixed=iv.unit(anchor.fixed.start, word, 0))
    if word == "week" and after in {"commencing", "beginning", "starting"}:
        day = main_day_at(s, i + 2)
        if day is None or day.fixed is None or day.fixed.end - day.fixed.start != DAY:
            return None
        fixed = Interval(day.fixed.start, day.fixed.start + 7 * DAY)
        return Phrase(i, day.last, "week", fixed, None, day.certainty)
    if after == "of" and (word in PARTS or word in {"week", "weekend"}):
        anchor = main_day_at(s, i + 2)
        if anchor and s.word(i - 1) in {"a", "one"}:
            return doubt(i, anchor.last)  # "within a week of Christmas"
        if (
            anchor is None
            or anchor.fixed is None
            or anchor.fixed.end - anchor.fixed.start > 4 * DAY
        ):
            return None
        start = anchor.fixed.start
        fixed = iv.part_of_day(start, PARTS[word]) if word in PARTS else iv.unit(start, word, 0)
        return Phrase(i, anchor.last, "day", fixed, None, anchor.certainty)
    if word in PARTS:
        return Phrase(i, i + 1, "daily", repeat=iv.daily(PARTS[word]), bare=True)
    if word == "weekend":
        return Phrase(i, i + 1, "weekend", repeat=iv.weekly(5, 2), bare=True)
    return None


def place_beside(
    s: Sentence, word: str, side: str, start: dt.datetime, end: dt.datetime
) -> Interval | None:
    """Give the day, week, Sunday or summer next to a stretch of time, on one side of it."""
    if word in PARTS:
        return iv.part_of_day(start - DAY if side == "before" else end, PARTS[word])
    if word == "weekend":
        if side == "before":
            return iv.latest_over(iv.weekly(5, 2), iv.midnight(start))
        return iv.first_after(iv.weekly(5, 2), end - DAY)
    if word not in UNITS and word != "fortnight":
        repeat, _ = named_repeat(s, word)
        if word in MONTHS:
            repeat = iv.yearly(lambda year: [iv.month(year, MONTHS[word])])
        if repeat is None:
            return None
        if side == "before":
            return iv.latest_over(repeat, iv.midnight(start))
        return iv.first_after(repeat, end - dt.timedelta(microseconds=1))
    n = 2 if word == "fortnight" else 1
    name = UNITS.get(word, "week")
    return iv.beside(Interval(start, end), name, -n if side == "before" else n)


def _is_in_season(s: Sentence, word: str, one: Interval) -> bool:
    repeat, _ = named_repeat(s, word)
    there = iv.latest_begun(repeat, one.start) if repeat else None
    return there is not None and there.end > one.start


def _before_last(s: Sentence, i: int, side: int) -> Phrase | None:
    word = s.word(i)
    if word in PARTS:
        return Phrase(i, i + 3, "part", iv.part_of_day(s.now + 2 * side * DAY, PARTS[word]))
    if word in UNITS:
        return Phrase(i, i + 3, word, iv.unit(s.now, word, 2 * side))
    repeat, grain = named_repeat(s, word)
    if word in MONTHS:
        number = MONTHS[word]
        repeat, grain = iv.yearly(lambda year: [iv.month(year, number)]), "month"
    if repeat is None:
        return None
    if side < 0:
        return Phrase(i, i + 3, grain, iv.latest_over(repeat, s.now, 2), certainty=0.9)
    if grain not in {"weekday", "weekend"}:
        return doubt(i, i + 3)
    following = choose(s, Phrase(i, i + 3, grain, repeat=repeat), "next")
    if following.fixed is None:
        return None
    start, end = following.fixed
    return following._replace(fixed=Interval(start + 7 * DAY, end + 7 * DAY))


register(_unit_beside, "day", "eve", "week", "fortnight", "weekend", "month", "quarter", "year")
register(_unit_beside, *PARTS, *SEASONS, *WEEKDAYS, *FIRST_WORDS, *MONTHS)
