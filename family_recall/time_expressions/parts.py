"""Parts: *early March*, *the first Monday in May*, *the second Sunday before Easter*."""

from __future__ import annotations

from collections.abc import Callable

from . import intervals as iv
from .dates import days_of_month, year_at
from .intervals import DAY, Interval
from .neighbours import place_beside
from .reading import (
    Phrase,
    Sentence,
    argument_at,
    doubt,
    main_day_at,
    register,
    register_numbers,
)
from .words import (
    DASHES,
    EDGES,
    MONTHS,
    ORDINALS,
    OWNERS,
    PARTS,
    UNITS,
    WEEKDAYS,
    count_of,
    day_of,
    is_ordinal,
)

_PARTS_OF_PERIODS = frozenset("day week weekend month".split())
_PERIODS = frozenset("week month quarter year decade".split())


def _period_at(s: Sentence, i: int) -> Phrase | None:
    """Read what has a beginning and an end: *March*, *last year*, *the month*."""
    named = argument_at(s, i, anchored=False)
    if named is None and s.word(i) == "the" and s.word(i + 1) in _PERIODS:
        word = s.word(i + 1)
        return Phrase(i, i + 2, word, iv.unit(s.now, word, 0), certainty=0.9)
    return named


def _edge(s: Sentence, i: int) -> Phrase | None:
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
    which, grain = EDGES[word], period.grain
    if grain in {"week", "weekend", "daily"}:
        return doubt(i, period.last)
    if grain in {"day", "part", "weekday"}:
        return period._replace(first=i, certainty=min(period.certainty, 0.8))
    if grain == "holiday":
        return _part_of_period(s, period, i, lambda one: _third_of_feast(one, which))
    if grain not in {"month", "season", "quarter", "year", "decade"}:
        return None
    return _part_of_period(s, period, i, lambda one: iv.third(one, grain, which))


def _part_of_period(
    s: Sentence, period: Phrase, i: int, change: Callable[[Interval], Interval | None]
) -> Phrase | None:
    if period.fixed is not None:
        fixed = change(period.fixed)
        ahead = fixed is not None and fixed.start > s.now
        plain = [s.word(period.last - 2), s.word(period.last - 1)] == ["the", period.grain]
        if ahead and plain and s.tense(i, period.last) == "past":
            # In June "the end of the year" that is told of was last December.
            fixed = change(iv.unit(s.now, period.grain, -1))
        grain = {"year": "season", "decade": "year"}.get(period.grain, "days")
        return period._replace(first=i, grain=grain, fixed=fixed, bare=False) if fixed else None
    if period.repeat is None:
        return None
    repeat = iv.mapped(period.repeat, change)
    return period._replace(first=i, grain="days", repeat=repeat, bare=False)


def _ordinal(s: Sentence, i: int) -> Phrase | None:
    """Read *the first Monday in March*, *the last week of May*, *the fourth of July*."""
    word = s.word(i)
    if word == "last" and (s.word(i - 1) in ORDINALS or s.word(i - 1) == "to"):
        return None
    nth = ORDINALS.get(word) or (day_of(word) if is_ordinal(word) else 0)
    if word in {"last", "final"}:
        nth = -1
    if not nth:
        return None
    if word in ORDINALS and s.word(i + 1) == "of" and s.word(i + 2) in MONTHS:
        dated = year_at(s, i + 3)
        return days_of_month(i, i + 3, MONTHS[s.word(i + 2)], (nth, nth), dated)
    name = s.word(i + 1)
    if word in ORDINALS and name == "of":
        period = _period_at(s, i + 2)
        if period is not None and period.grain == "month":
            return _part_of_period(s, period, i, lambda one: _nth(one, "day", nth))
    if word in ORDINALS and name in {"and", "or"} and s.word(i + 3) == "of":
        following, of_month = day_of(s.word(i + 2)), MONTHS.get(s.word(i + 4))
        if following == nth + 1 and of_month:
            return days_of_month(i, i + 5, of_month, (nth, following), year_at(s, i + 5))
    if name in UNITS and name.endswith("s") and s.word(i + 2) in {"of", "in"}:
        return doubt(i, i + 3)
    if name in {"bank", "public"} and s.word(i + 2) == "holiday":
        return _bank_holiday(s, i, nth)
    n = count_of(name) if nth in {1, -1} else None
    if n and s.word(i + 2) in UNITS and s.word(i + 3) in {"of", "in"}:
        return _first_few(s, i, UNITS[s.word(i + 2)], n * nth)
    if s.word(i + 2) in {"before", "after"} and (nth > 0 or s.word(i + 2) == "before"):
        return _nth_beside(s, i, name, max(nth, 1))
    if s.word(i + 2) not in {"of", "in"} or nth > 5:
        return None
    there = _nth_in_period(s, i, name, nth)
    owner = s.at(i - 1)
    if there and (owner.word in OWNERS or (i > 1 and owner.possessive and owner.capitalised)):
        return doubt(i, there.last)  # "our first week in June"
    if there is None and s.word(i + 2) == "of" and (name in WEEKDAYS or name in _PARTS_OF_PERIODS):
        return doubt(i, i + 3)
    return there


def _bank_holiday(s: Sentence, i: int, nth: int) -> Phrase | None:
    """Read *the first* and *the last bank holiday in May*, which are Mondays in Britain."""
    months = {"GB": {"may": {1, 2, -1}, "august": {1, -1}}}.get(s.country.upper(), {})
    if s.word(i + 3) not in {"in", "of"} or nth not in months.get(s.word(i + 4), ()):
        return doubt(i, i + 3)
    period = argument_at(s, i + 4, anchored=False)
    if period is None or period.grain != "month":
        return doubt(i, i + 3)
    which = 1 if s.word(i + 4) == "may" and nth == 1 else -1
    return _part_of_period(s, period, i, lambda one: _nth(one, "monday", which))


def _nth_in_period(s: Sentence, i: int, name: str, nth: int) -> Phrase | None:
    if not (name in WEEKDAYS or name in _PARTS_OF_PERIODS | {"night", "half", "quarter"}):
        return None
    period = _period_at(s, i + 3)
    if period is None:
        return None
    grain = period.grain
    if grain == "holiday" and name == "day" and period.main_day is not None:
        return doubt(i, period.last)  # the second day of Christmas is the 26th
    if grain == "holiday" and name in {"day", "night"}:
        return _part_of_period(s, period, i, lambda one: _nth_of_feast(one, name, nth))
    if grain not in {"month", "year", "decade"} or name == "night":
        return None
    if name == "month" and grain != "year":
        return None
    if name == "quarter":
        if grain != "year" or nth > 4:
            return None
        return _part_of_period(s, period, i, lambda one: _nth_quarter(one, nth))
    if name == "half":
        if nth not in {1, 2}:
            return None
        return _part_of_period(s, period, i, lambda one: iv.half(one, grain, nth))
    return _part_of_period(s, period, i, lambda one: _nth(one, name, nth))


def _nth_beside(s: Sentence, i: int, name: str, nth: int) -> Phrase | None:
    """Read *the third day after Christmas* and *the second Sunday before Easter*."""
    anchor = main_day_at(s, i + 3)
    if anchor is None or anchor.fixed is None or name not in {"day", "weekend", *WEEKDAYS}:
        known = name in UNITS or name in WEEKDAYS or name in PARTS
        return doubt(i, i + 3) if known else None
    place, back = anchor.fixed, s.word(i + 2) == "before"
    for _ in range(min(nth, 60)):
        there = place_beside(s, name, s.word(i + 2), *place)
        if there is None:
            return None
        place = there
    return Phrase(i, anchor.last, "day", place, None, min(anchor.certainty, 0.9 - 0.1 * back))


def _first_few(s: Sentence, i: int, name: str, n: int) -> Phrase | None:
    """Read *the first two weeks of May* and, n being negative, *the last three days of June*."""
    period = _period_at(s, i + 4)
    if period is None or period.grain not in {"month", "season", "quarter", "year", "decade"}:
        return None

    def change(one: Interval) -> Interval | None:
        edge = one.start if n > 0 else one.end
        there = iv.back(edge, name, -n)
        few = Interval(min(edge, there), max(edge, there))
        return few if few.end - few.start <= one.end - one.start else None

    return _part_of_period(s, period, i, change)


def _third_of_feast(one: Interval, which: int) -> Interval | None:
    return iv.third(one, "month", which) if one.end - one.start > 27 * DAY else None


def _nth_of_feast(one: Interval, name: str, nth: int) -> Interval | None:
    start = one.start + (nth - 1) * DAY if nth > 0 else one.end - DAY
    if start >= one.end or one.end - one.start == DAY:
        return None
    return iv.part_of_day(start, PARTS["night"]) if name == "night" else iv.day(start)


def _nth_quarter(one: Interval, nth: int) -> Interval:
    return iv.unit(one.start, "quarter", nth - 1 if nth > 0 else 3)


def _nth(one: Interval, name: str, nth: int) -> Interval | None:
    if name == "month":
        return iv.unit(one.start, "month", nth - 1 if nth > 0 else 11)
    if name in {"day", "week"}:
        length = DAY if name == "day" else 7 * DAY
        start = one.start + (nth - 1) * length if nth > 0 else one.end - length
        return Interval(start, start + length)
    repeat = iv.weekly(5, 2) if name == "weekend" else iv.weekly(WEEKDAYS[name])
    found = repeat(one.start, one.end)
    at = nth - 1 if nth > 0 else nth
    return found[at] if at < len(found) else None


register(_ordinal, "last", "final", *ORDINALS)
register(_edge, *EDGES)
register_numbers(_ordinal)
