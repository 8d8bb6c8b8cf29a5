"""Parts of times and times beside others: *early March*, *the first Monday of May*, *the eve*."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TypeAlias

from family_recall.english.lexicon import (
    DASHES,
    MONTHS,
    ORDINALS,
    OWNERS,
    PARTS,
    RANGES,
    SEASONS,
    THIRDS,
    UNITS,
    WEEKDAYS,
)
from family_recall.english.tokens import count_of, day_of, is_ordinal

from . import calendar as cal
from .calendar import DAY, HOLIDAY_WORDS, MICROSECOND, Interval
from .dates import days_of_month, repeat_of, year_at
from .readers import (
    anchor_phrase_at,
    argument_at,
    event_day_at,
    is_somebody,
    main_day_at,
    phrase_at,
    register,
)
from .sentence import Phrase, Sentence, choose, no_time, unclear

_Change: TypeAlias = Callable[[Interval], Interval | None]
_UNREAD = frozenset("last next other second few couple same following previous".split())
_SIDES = frozenset(("before", "after"))
_OF = dict.fromkeys((*PARTS, "weekend", "eve"), ("of",)) | {
    "week": ("of", "commencing", "beginning", "starting")
}
"""Words that belong to a day named behind them, and what joins them to it."""

_PERIODS = frozenset("week month quarter year decade".split())
_LONG = _PERIODS - {"week"} | {"season"}
_WHOLE = frozenset("month year decade".split())
_COUNTED_PARTS = frozenset("day week weekend month".split())
_SMALLER_GRAIN = {"year": "season", "decade": "year"}
_BANK_HOLIDAYS = {"may": {1: 1, 2: -1, -1: -1}, "august": {1: -1, -1: -1}}
"""British ones by month and number, as the first or the last Monday of that month."""


def _unit_beside(s: Sentence, i: int) -> Phrase | None:
    """Read *the day before yesterday*, *the week before last*, *the night of 5 May*."""
    word, following = s.word(i), s.word(i + 1)
    if s.word(i - 1) == "the" and word in UNITS:
        year = year_at(s, i + 1) if word == "year" else None
        if year:
            return Phrase(i, year[1], "year", cal.months_from(year[0], 1, 12))
        anchored = None if following in _SIDES else _unit_of_anchor(s, i, i + 1)
        if anchored:
            return anchored
    if following in _SIDES and not is_somebody(s, i):
        return _before_or_after(s, i)
    if following == "of" and word in {"month", "year"}:
        return _unit_of_anchor(s, i, i + 2)
    if following in _OF.get(word, ()):
        return _of(s, i)
    if word in PARTS:
        return Phrase(i, i + 1, "daily", repeat=cal.daily(PARTS[word]), bare=True)
    if word == "weekend":
        return Phrase(i, i + 1, "weekend", repeat=cal.weekends, bare=True)
    return None


def _unit_of_anchor(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read *the month we moved* and *the year of the wedding*."""
    anchor = anchor_phrase_at(s, j, reach=1)
    if anchor is None or anchor.fixed is None:
        return None
    return anchor._replace(first=i, fixed=cal.unit(anchor.fixed.start, s.word(i), 0))


def _before_or_after(s: Sentence, i: int) -> Phrase | None:
    """Read *the day before yesterday*, *the Sunday after Easter*, *the year before last*."""
    word, side = s.word(i), s.word(i + 1)
    if s.word(i + 2) == ("last" if side == "before" else "next") and phrase_at(s, i + 2) is None:
        return _before_last(s, i) if side == "before" else _after_next(s, i)
    if s.word(i + 2) == word:
        return no_time(i, i + 3)  # "night after night"
    anchor = event_day_at(s, i + 2) or main_day_at(s, i + 2)
    if anchor is None or anchor.fixed is None:
        definite = s.word(i - 1) == "the" and s.word(i - 2) != "in"
        return unclear(i, i + 2) if definite or word in UNITS or word == "weekend" else None
    start = anchor.fixed.start
    repeat = repeat_of(s, word)[0] if word in SEASONS else None
    season = cal.latest_begun(repeat, start) if repeat else None
    # A summer's day: this summer or the one beside it.
    in_season = season is not None and season.end > start
    if in_season or is_ordinal(s.word(i - 1)) or s.word(i - 1) in _UNREAD:
        return unclear(i, anchor.last)
    if start != cal.midnight(start) and word == "day":
        part = cal.shifted(anchor.fixed, -DAY if side == "before" else DAY)
        return Phrase(i, anchor.last, "part", part, None, anchor.certainty)
    beside = _beside(s, word, side, anchor.fixed)
    return Phrase(i, anchor.last, "day", beside, None, anchor.certainty) if beside else None


def _of(s: Sentence, i: int) -> Phrase | None:
    """Read *the week commencing 5 May*, *the night of 5 May*; of which day an eve is unclear."""
    word, day = s.word(i), main_day_at(s, i + 2)
    if word == "eve":
        return unclear(i, i + 2)
    if day is None or day.fixed is None:
        return None
    (start, end), certainty, joint = day.fixed, day.certainty, s.word(i + 1)
    if s.word(i - 1) in {"a", "one"} and joint == "of":
        return unclear(i, day.last)  # "within a week of Christmas"
    if joint != "of":
        week = Interval(start, start + 7 * DAY) if end - start == DAY else None
        return Phrase(i, day.last, "week", week, None, certainty) if week else None
    if end - start > 4 * DAY:
        return None
    fixed = cal.part_of_day(start, PARTS[word]) if word in PARTS else cal.unit(start, word, 0)
    return Phrase(i, day.last, "day", fixed, None, certainty)


def _beside(s: Sentence, word: str, side: str, place: Interval) -> Interval | None:
    """Return the day, week, Sunday or summer next to an interval, on one side of it."""
    before = side == "before"
    start, end = place
    if word in PARTS:
        return cal.part_of_day(start - DAY if before else end, PARTS[word])
    if word in UNITS or word == "fortnight":
        n = 2 if word == "fortnight" else 1
        return cal.adjacent(place, UNITS.get(word, "week"), -n if before else n)
    repeat, _ = repeat_of(s, word)
    if repeat is None:
        return None
    if before:
        return cal.latest_over(repeat, cal.midnight(start))
    return cal.first_after(repeat, end - (DAY if word == "weekend" else MICROSECOND))


def _before_last(s: Sentence, i: int) -> Phrase | None:
    """Read *the year before last* and *the Friday before last*."""
    repeat, grain = repeat_of(s, s.word(i))
    if repeat is None:
        return _second_unit(s, i, -2)
    return Phrase(i, i + 3, grain, cal.latest_over(repeat, s.now, 2), certainty=0.9)


def _after_next(s: Sentence, i: int) -> Phrase | None:
    """Read *the week after next* and *the Friday after next*."""
    repeat, grain = repeat_of(s, s.word(i))
    if repeat is None:
        return _second_unit(s, i, 2)
    if grain not in {"weekday", "weekend"}:
        return unclear(i, i + 3)
    following = choose(s, Phrase(i, i + 3, grain, repeat=repeat), "next")
    fixed = following.fixed and cal.shifted(following.fixed, 7 * DAY)
    return following._replace(fixed=fixed) if fixed else None


def _second_unit(s: Sentence, i: int, shift: int) -> Phrase | None:
    word = s.word(i)
    if word in PARTS:
        return Phrase(i, i + 3, "part", cal.part_of_day(s.now + shift * DAY, PARTS[word]))
    return Phrase(i, i + 3, word, cal.unit(s.now, word, shift)) if word in UNITS else None


def _period_at(s: Sentence, i: int) -> Phrase | None:
    """Read what has a beginning and an end: *March*, *last year*, *the month*."""
    period = argument_at(s, i, anchored=False)
    if period is None and s.reads(i, "the", _PERIODS):
        unit = s.word(i + 1)
        return Phrase(i, i + 2, unit, cal.unit(s.now, unit, 0), certainty=0.9)
    return period


def _part_of(s: Sentence, period: Phrase, i: int, change: _Change) -> Phrase | None:
    """Return a phrase from token ``i`` on for a part of each occurrence of a period."""
    if period.fixed is None:
        if period.repeat is None:
            return None
        repeat = cal.mapped(period.repeat, change)
        return period._replace(first=i, grain="days", repeat=repeat, bare=False)
    part = change(period.fixed)
    current = s.reads(period.last - 2, "the", period.grain)
    if part and part.start > s.now and current and s.tense(i, period.last) == "past":
        # In June "the end of the year", in a question about the past, was last December.
        part = change(cal.unit(s.now, period.grain, -1))
    grain = _SMALLER_GRAIN.get(period.grain, "days")
    return period._replace(first=i, grain=grain, fixed=part, bare=False) if part else None


def _third(s: Sentence, i: int) -> Phrase | None:
    """Read *early March*, *mid-2023*, *the end of last year*, *late last night*."""
    word, j = s.word(i), i + 1
    if word in {"early", "mid", "late"}:
        j += s.word(j) in DASHES
        j += word != "mid" and s.word(j) in {"in", "on"}
    elif s.word(j) == "of":
        j += 1
    else:
        return None
    period = _period_at(s, j)
    if period is None or period.grain == "nothing":
        return period
    which, grain = THIRDS[word], period.grain
    if grain in {"week", "weekend", "daily"}:
        return unclear(i, period.last)
    if grain in {"day", "part", "weekday"}:
        return period._replace(first=i, certainty=min(period.certainty, 0.8))

    def change(whole: Interval) -> Interval | None:
        if grain == "holiday":  # Ramadan is a month, Christmas too short
            long = whole.end - whole.start > 27 * DAY
            return cal.third(whole, "month", which) if long else None
        return cal.third(whole, grain, which)

    return _part_of(s, period, i, change) if grain == "holiday" or grain in _LONG else None


def _ordinal(s: Sentence, i: int) -> Phrase | None:
    """Read *the first Monday in March*, *the last week of May*, *the fourth of July*."""
    word, name, joint = s.word(i), s.word(i + 1), s.word(i + 2)
    nth = ORDINALS.get(word) or (day_of(word) if is_ordinal(word) else 0)
    if word in {"last", "final"}:
        nth = -1
    if not nth or (word == "last" and (s.word(i - 1) in ORDINALS or s.word(i - 1) == "to")):
        return None
    if word in ORDINALS and name in {"of", "and", "or"}:
        days = _ordinal_days(s, i, nth)
        if days:
            return days
    if name in UNITS and name.endswith("s") and joint in {"of", "in"}:
        return unclear(i, i + 3)
    if s.reads(i + 1, {"bank", "public"}, "holiday"):
        return _bank_holiday(s, i, nth)
    n = count_of(name) if nth in {1, -1} else None
    if n and s.reads(i + 2, UNITS, {"of", "in"}):
        return _first_few(s, i, UNITS[joint], n * nth)
    if joint == "before" or (joint == "after" and nth > 0):
        return _nth_beside(s, i, name, max(nth, 1))
    return _nth_of(s, i, name, nth) if joint in {"of", "in"} and nth <= 5 else None


def _ordinal_of_range(s: Sentence, i: int) -> Phrase | None:
    """Read *the fifth* in *the fifth to the ninth of October*."""
    if s.word(i) == "second" or s.word(i + 1) not in RANGES:
        return None
    repeat = cal.monthly(ORDINALS[s.word(i)])
    return Phrase(i, i + 1, "nth", repeat=repeat, bare=True, certainty=0.8)


def _ordinal_days(s: Sentence, i: int, nth: int) -> Phrase | None:
    """Read *the fourth of July*, *the first of next month*, *the first and second of May*."""
    joined = day_of(s.word(i + 2)) == nth + 1
    k = i + 3 if joined else i + 1
    if s.reads(k, "of", MONTHS):
        month = MONTHS[s.word(k + 1)]
        return days_of_month(i, k + 2, month, (nth, nth + joined), year_at(s, k + 2))
    period = _period_at(s, i + 2) if s.word(i + 1) == "of" else None
    if period is None or period.grain != "month":
        return None
    return _part_of(s, period, i, lambda month: _nth_in(month, "day", nth))


def _bank_holiday(s: Sentence, i: int, nth: int) -> Phrase | None:
    """Read *the first* and *the last bank holiday in May*, which are Mondays in Britain."""
    which = _BANK_HOLIDAYS.get(s.word(i + 4), {}).get(nth)
    known = s.word(i + 3) in {"in", "of"} and which is not None and s.country.upper() == "GB"
    period = argument_at(s, i + 4, anchored=False) if known else None
    if period is None or period.grain != "month" or which is None:
        return unclear(i, i + 3)
    return _part_of(s, period, i, lambda month: _nth_in(month, "monday", which))


def _nth_of(s: Sentence, i: int, name: str, nth: int) -> Phrase | None:
    """Read *the first Monday in March*; *our first week in June* only the speaker knows."""
    part = _nth_of_period(s, i, name, nth)
    owner = s.at(i - 1)
    if part and (owner.word in OWNERS or (i > 1 and owner.possessive and owner.capitalised)):
        return unclear(i, part.last)
    known = name in WEEKDAYS or name in _COUNTED_PARTS
    return unclear(i, i + 3) if part is None and s.word(i + 2) == "of" and known else part


def _nth_of_period(s: Sentence, i: int, name: str, nth: int) -> Phrase | None:
    """Read *the second half of 2023*, *the first day of Hanukkah*."""
    if not (name in WEEKDAYS or name in _COUNTED_PARTS | {"night", "half", "quarter"}):
        return None
    period = _period_at(s, i + 3)
    if period is None:
        return None
    grain = period.grain
    if grain == "holiday" and name == "day" and period.main_day is not None:
        return unclear(i, period.last)  # the second day of Christmas is the 26th
    if grain == "holiday" and name in {"day", "night"}:
        return _part_of(s, period, i, lambda whole: _nth_of_holiday(whole, name, nth))
    if name == "half":
        if grain not in _WHOLE or nth not in {1, 2}:
            return None
        return _part_of(s, period, i, lambda whole: cal.half(whole, grain, nth))
    if name in {"month", "quarter"}:
        possible = grain == "year" and nth <= (4 if name == "quarter" else 12)
    else:
        possible = grain in _WHOLE and name != "night"
    return _part_of(s, period, i, lambda whole: _nth_in(whole, name, nth)) if possible else None


def _nth_beside(s: Sentence, i: int, name: str, nth: int) -> Phrase | None:
    """Read *the third day after Christmas* and *the second Sunday before Easter*."""
    anchor = main_day_at(s, i + 3)
    if anchor is None or anchor.fixed is None or name not in {"day", "weekend", *WEEKDAYS}:
        known = name in UNITS or name in WEEKDAYS or name in PARTS
        return unclear(i, i + 3) if known else None
    place: Interval | None = anchor.fixed
    side = s.word(i + 2)
    for _ in range(min(nth, 60)):
        place = place and _beside(s, name, side, place)
    certainty = min(anchor.certainty, 0.8 if side == "before" else 0.9)
    return Phrase(i, anchor.last, "day", place, None, certainty) if place else None


def _first_few(s: Sentence, i: int, name: str, n: int) -> Phrase | None:
    """Read *the first two weeks of May* and, n being negative, *the last three days of June*."""
    period = _period_at(s, i + 4)
    if period is None or period.grain not in _LONG:
        return None

    def change(whole: Interval) -> Interval | None:
        edge: dt.datetime = whole.start if n > 0 else whole.end
        other = cal.earlier(edge, name, -n)
        few = Interval(min(edge, other), max(edge, other))
        return few if few.end - few.start <= whole.end - whole.start else None

    return _part_of(s, period, i, change)


def _nth_of_holiday(whole: Interval, name: str, nth: int) -> Interval | None:
    start = whole.start + (nth - 1) * DAY if nth > 0 else whole.end - DAY
    if start >= whole.end or whole.end - whole.start == DAY:
        return None
    return cal.part_of_day(start, PARTS["night"]) if name == "night" else cal.day(start)


def _nth_in(whole: Interval, name: str, nth: int) -> Interval | None:
    """Return the n-th day, week, weekday, month or quarter of a period; −1 is the last."""
    if name in {"month", "quarter"}:
        last = 12 if name == "month" else 4
        return cal.unit(whole.start, name, (nth if nth > 0 else last) - 1)
    if name in {"day", "week"}:
        length = DAY if name == "day" else 7 * DAY
        start = whole.start + (nth - 1) * length if nth > 0 else whole.end - length
        return Interval(start, start + length)
    repeat = cal.weekends if name == "weekend" else cal.weekly(WEEKDAYS[name])
    such = repeat(*whole)
    at = nth - 1 if nth > 0 else nth
    return such[at] if at < len(such) else None


register(_unit_beside, "day", "eve", "week", "fortnight", "weekend", "month", "quarter", "year")
register(_unit_beside, *PARTS, *SEASONS, *WEEKDAYS, *HOLIDAY_WORDS, *MONTHS)
register(_ordinal, "last", "final", *ORDINALS, numbers=True)
register(_ordinal_of_range, *ORDINALS)
register(_third, *THIRDS)
