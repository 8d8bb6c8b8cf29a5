"""Parts of periods: *early March*, *the first Monday in May*, *the second half of 2023*."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from family_recall.english.lexicon import (
    DASHES,
    MONTHS,
    ORDINALS,
    OWNERS,
    PARTS,
    RANGES,
    THIRDS,
    UNITS,
    WEEKDAYS,
)
from family_recall.english.tokens import count_of, day_of, is_ordinal

from . import calendar as iv
from .before_after import place_beside
from .calendar import DAY, Interval, mapped, monthly, weekly
from .dates import days_of_month, year_at
from .phrases import Phrase, Sentence, unclear
from .readers import argument_at, main_day_at, register, register_numbers

_Change: TypeAlias = Callable[[Interval], Interval | None]
_LONG = frozenset("month season quarter year decade".split())
_PERIODS = frozenset("week month quarter year decade".split())
_COUNTED_PARTS = frozenset("day week weekend month".split())
_SMALLER_GRAIN = {"year": "season", "decade": "year"}
_BANK_HOLIDAYS = {"may": {1: 1, 2: -1, -1: -1}, "august": {1: -1, -1: -1}}
"""British ones by month and number, as the first or the last Monday of that month."""


def _period_at(s: Sentence, i: int) -> Phrase | None:
    """Read what has a beginning and an end: *March*, *last year*, *the month*."""
    period = argument_at(s, i, anchored=False)
    if period is None and s.reads(i, "the", _PERIODS):
        unit = s.word(i + 1)
        return Phrase(i, i + 2, unit, iv.unit(s.now, unit, 0), certainty=0.9)
    return period


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
    if grain == "holiday":
        return _part_of(s, period, i, lambda whole: _third_of_holiday(whole, which))
    if grain not in _LONG:
        return None
    return _part_of(s, period, i, lambda whole: iv.third(whole, grain, which))


def _part_of(s: Sentence, period: Phrase, i: int, change: _Change) -> Phrase | None:
    """Return a phrase from token ``i`` on for a part of each occurrence of a period."""
    if period.fixed is None:
        if period.repeat is None:
            return None
        repeat = mapped(period.repeat, change)
        return period._replace(first=i, grain="days", repeat=repeat, bare=False)
    part = change(period.fixed)
    current = s.reads(period.last - 2, "the", period.grain)
    if part and part.start > s.now and current and s.tense(i, period.last) == "past":
        # In June "the end of the year", in a question about the past, was last December.
        part = change(iv.unit(s.now, period.grain, -1))
    grain = _SMALLER_GRAIN.get(period.grain, "days")
    return period._replace(first=i, grain=grain, fixed=part, bare=False) if part else None


def _ordinal(s: Sentence, i: int) -> Phrase | None:
    """Read *the first Monday in March*, *the last week of May*, *the fourth of July*."""
    word, name = s.word(i), s.word(i + 1)
    nth = ORDINALS.get(word) or (day_of(word) if is_ordinal(word) else 0)
    if word in {"last", "final"}:
        nth = -1
    if not nth or (word == "last" and (s.word(i - 1) in ORDINALS or s.word(i - 1) == "to")):
        return None
    if word in ORDINALS and name in {"of", "and", "or"}:
        days = _ordinal_days(s, i, nth)
        if days:
            return days
    if name in UNITS and name.endswith("s") and s.word(i + 2) in {"of", "in"}:
        return unclear(i, i + 3)
    if s.reads(i + 1, {"bank", "public"}, "holiday"):
        return _bank_holiday(s, i, nth)
    n = count_of(name) if nth in {1, -1} else None
    if n and s.reads(i + 2, UNITS, {"of", "in"}):
        return _first_few(s, i, UNITS[s.word(i + 2)], n * nth)
    if s.word(i + 2) == "before" or (s.word(i + 2) == "after" and nth > 0):
        return _nth_beside(s, i, name, max(nth, 1))
    if s.word(i + 2) in {"of", "in"} and nth <= 5:
        return _nth_of(s, i, name, nth)
    return None


def _ordinal_of_range(s: Sentence, i: int) -> Phrase | None:
    """Read *the fifth* in *the fifth to the ninth of October*."""
    nth = ORDINALS[s.word(i)]
    if s.word(i) == "second" or s.word(i + 1) not in RANGES:
        return None
    return Phrase(i, i + 1, "nth", repeat=monthly(nth), bare=True, certainty=0.8)


def _ordinal_days(s: Sentence, i: int, nth: int) -> Phrase | None:
    """Read *the fourth of July*, *the first of next month*, *the first and second of May*."""
    if s.reads(i + 1, "of", MONTHS):
        return days_of_month(i, i + 3, MONTHS[s.word(i + 2)], (nth, nth), year_at(s, i + 3))
    if s.word(i + 1) == "of":
        period = _period_at(s, i + 2)
        if period is None or period.grain != "month":
            return None
        return _part_of(s, period, i, lambda month: _nth_in(month, "day", nth))
    if day_of(s.word(i + 2)) == nth + 1 and s.reads(i + 3, "of", MONTHS):
        month = MONTHS[s.word(i + 4)]
        return days_of_month(i, i + 5, month, (nth, nth + 1), year_at(s, i + 5))
    return None


def _bank_holiday(s: Sentence, i: int, nth: int) -> Phrase | None:
    """Read *the first* and *the last bank holiday in May*, which are Mondays in Britain."""
    which = _BANK_HOLIDAYS.get(s.word(i + 4), {}).get(nth)
    if s.word(i + 3) not in {"in", "of"} or which is None or s.country.upper() != "GB":
        return unclear(i, i + 3)
    period = argument_at(s, i + 4, anchored=False)
    if period is None or period.grain != "month":
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
        possible = grain in {"month", "year", "decade"} and nth in {1, 2}
        return (
            _part_of(s, period, i, lambda whole: iv.half(whole, grain, nth)) if possible else None
        )
    if name in {"month", "quarter"}:
        possible = grain == "year" and nth <= (4 if name == "quarter" else 12)
    else:
        possible = grain in {"month", "year", "decade"} and name != "night"
    return _part_of(s, period, i, lambda whole: _nth_in(whole, name, nth)) if possible else None


def _nth_beside(s: Sentence, i: int, name: str, nth: int) -> Phrase | None:
    """Read *the third day after Christmas* and *the second Sunday before Easter*."""
    anchor = main_day_at(s, i + 3)
    if anchor is None or anchor.fixed is None or name not in {"day", "weekend", *WEEKDAYS}:
        known = name in UNITS or name in WEEKDAYS or name in PARTS
        return unclear(i, i + 3) if known else None
    place, side = anchor.fixed, s.word(i + 2)
    for _ in range(min(nth, 60)):
        beside = place_beside(s, name, side, *place)
        if beside is None:
            return None
        place = beside
    certainty = min(anchor.certainty, 0.8 if side == "before" else 0.9)
    return Phrase(i, anchor.last, "day", place, None, certainty)


def _first_few(s: Sentence, i: int, name: str, n: int) -> Phrase | None:
    """Read *the first two weeks of May* and, n being negative, *the last three days of June*."""
    period = _period_at(s, i + 4)
    if period is None or period.grain not in _LONG:
        return None

    def change(whole: Interval) -> Interval | None:
        edge = whole.start if n > 0 else whole.end
        other = iv.earlier(edge, name, -n)
        few = Interval(min(edge, other), max(edge, other))
        return few if few.end - few.start <= whole.end - whole.start else None

    return _part_of(s, period, i, change)


def _third_of_holiday(whole: Interval, which: int) -> Interval | None:
    return iv.third(whole, "month", which) if whole.end - whole.start > 27 * DAY else None


def _nth_of_holiday(whole: Interval, name: str, nth: int) -> Interval | None:
    start = whole.start + (nth - 1) * DAY if nth > 0 else whole.end - DAY
    if start >= whole.end or whole.end - whole.start == DAY:
        return None
    return iv.part_of_day(start, PARTS["night"]) if name == "night" else iv.day(start)


def _nth_in(whole: Interval, name: str, nth: int) -> Interval | None:
    """Return the n-th day, week, weekday, month or quarter of a period; −1 is the last."""
    if name in {"month", "quarter"}:
        last = 12 if name == "month" else 4
        return iv.unit(whole.start, name, (nth if nth > 0 else last) - 1)
    if name in {"day", "week"}:
        length = DAY if name == "day" else 7 * DAY
        start = whole.start + (nth - 1) * length if nth > 0 else whole.end - length
        return Interval(start, start + length)
    repeat = iv.weekends if name == "weekend" else weekly(WEEKDAYS[name])
    such = repeat(*whole)
    at = nth - 1 if nth > 0 else nth
    return such[at] if at < len(such) else None


register(_ordinal, "last", "final", *ORDINALS)
register(_ordinal_of_range, *ORDINALS)
register(_third, *THIRDS)
register_numbers(_ordinal)
