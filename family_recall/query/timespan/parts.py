"""Parts and neighbours: *early March*, *the first Monday in May*, *the week before Easter*."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from family_recall.query.timespan import intervals as iv
from family_recall.query.timespan.dates import days_of_month, year_at
from family_recall.query.timespan.holidays import FIRST_WORDS
from family_recall.query.timespan.intervals import DAY, Interval
from family_recall.query.timespan.names import named_repeat
from family_recall.query.timespan.reading import (
    Phrase,
    Sentence,
    anchor_phrase_at,
    argument_at,
    doubt,
    event_day_at,
    main_day_at,
    nothing,
    phrase_at,
    register,
    register_numbers,
)
from family_recall.query.timespan.words import (
    DASHES,
    EDGES,
    MONTHS,
    ORDINALS,
    OWNERS,
    PARTS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    count_of,
    day_of,
    is_ordinal,
)

_UNREAD = frozenset("last next other second few couple same following previous".split())
_PARTS_OF_PERIODS = frozenset("day week weekend month".split())


def _unit_beside(s: Sentence, i: int) -> Phrase | None:
    """Read *the day before yesterday*, *the week before last*, *the night of 5 May*."""
    word, after = s.word(i), s.word(i + 1)
    if s.word(i - 1) == "the" and word in UNITS:
        year = year_at(s, i + 1) if word == "year" else None
        if year:
            return Phrase(i, year[1], "year", iv.years(year[0]))
        anchor = anchor_phrase_at(s, i + 1, reach=1) if s.anchors else None
        if anchor and anchor.fixed:
            return anchor._replace(first=i, fixed=iv.unit(anchor.fixed.start, word, 0))
    if after in {"before", "after"}:
        named = phrase_at(s, i + 2)
        if s.word(i + 2) == ("last" if after == "before" else "next") and named is None:
            return _before_last(s, i, 1 if after == "after" else -1)
        if s.word(i + 2) == word:
            return nothing(i, i + 3)  # "night after night"
        anchor = event_day_at(s, i + 2) or main_day_at(s, i + 2)
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
        fixed = _beside(s, word, after, start, end)
        return Phrase(i, anchor.last, "day", fixed, None, anchor.certainty) if fixed else None
    if word == "week" and after in {"commencing", "beginning", "starting"}:
        day = main_day_at(s, i + 2)
        if day is None or day.fixed is None or day.fixed.end - day.fixed.start != DAY:
            return None
        fixed = Interval(day.fixed.start, day.fixed.start + 7 * DAY)
        return Phrase(i, day.last, "week", fixed, None, day.certainty)
    if after == "of" and (word in PARTS or word in {"week", "weekend"}):
        anchor = main_day_at(s, i + 2)
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


def _beside(
    s: Sentence, word: str, side: str, start: dt.datetime, end: dt.datetime
) -> Interval | None:
    if word in PARTS:
        return iv.part_of_day(start - DAY if side == "before" else end, PARTS[word])
    if word == "weekend":
        if side == "before":
            return iv.latest_over(iv.weekly(5, 2), iv.midnight(start))
        return iv.first_after(iv.weekly(5, 2), end - DAY)
    if word not in UNITS:
        repeat, _ = named_repeat(s, word)
        if word in MONTHS:
            repeat = iv.yearly(lambda year: [iv.month(year, MONTHS[word])])
        if repeat is None:
            return None
        if side == "before":
            return iv.latest_over(repeat, iv.midnight(start))
        return iv.first_after(repeat, end - dt.timedelta(microseconds=1))
    if side == "before":
        return Interval(_back(start, word), start)
    return Interval(end, _back(end, word, -1))


def _back(moment: dt.datetime, name: str, n: int = 1) -> dt.datetime:
    if name in iv.MONTHS_OF:
        return iv.add_months(moment, -n * iv.MONTHS_OF[name])
    return moment - n * (7 if name == "week" else 1) * DAY


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
    if repeat is None or side > 0:
        return None
    return Phrase(i, i + 3, grain, iv.latest_over(repeat, s.now, 2), certainty=0.9)


def _period_at(s: Sentence, i: int) -> Phrase | None:
    """Read what has a beginning and an end: *March*, *last year*, *the month*."""
    if s.word(i) == "the" and s.word(i + 1) in {"week", "month", "quarter", "year", "decade"}:
        word = s.word(i + 1)
        return Phrase(i, i + 2, word, iv.unit(s.now, word, 0), certainty=0.9)
    return argument_at(s, i, anchored=False)


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
    if grain in {"week", "weekend"}:
        return doubt(i, period.last)
    if grain in {"day", "part", "weekday"}:
        return period._replace(first=i, certainty=min(period.certainty, 0.8))
    if grain == "holiday":
        return _part_of_period(period, i, lambda one: _third_of_feast(one, which))
    if grain not in {"month", "season", "quarter", "year", "decade"}:
        return None
    return _part_of_period(period, i, lambda one: iv.third(one, grain, which))


def _part_of_period(
    period: Phrase, i: int, change: Callable[[Interval], Interval | None]
) -> Phrase | None:
    if period.fixed is not None:
        fixed = change(period.fixed)
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
    nth = -1 if word == "last" else ORDINALS.get(word) or (day_of(word) if is_ordinal(word) else 0)
    if not nth:
        return None
    if word in ORDINALS and s.word(i + 1) == "of" and s.word(i + 2) in MONTHS:
        dated = year_at(s, i + 3)
        return days_of_month(i, i + 3, MONTHS[s.word(i + 2)], (nth, nth), dated)
    name = s.word(i + 1)
    n = count_of(name) if nth in {1, -1} else None
    if n and s.word(i + 2) in UNITS and s.word(i + 3) in {"of", "in"}:
        return _first_few(s, i, UNITS[s.word(i + 2)], n * nth)
    if s.word(i + 2) in {"before", "after"} and nth > 0:
        return _nth_beside(s, i, name, nth)
    if s.word(i + 2) not in {"of", "in"} or nth > 5:
        return None
    there = _nth_in_period(s, i, name, nth)
    owner = s.at(i - 1)
    if there and (owner.word in OWNERS or (i > 1 and owner.possessive and owner.capitalised)):
        return doubt(i, there.last)  # "our first week in June"
    if there is None and s.word(i + 2) == "of" and (name in WEEKDAYS or name in _PARTS_OF_PERIODS):
        return doubt(i, i + 3)
    return there


def _nth_in_period(s: Sentence, i: int, name: str, nth: int) -> Phrase | None:
    if not (name in WEEKDAYS or name in {"day", "night", "week", "weekend", "half", "quarter"}):
        return None
    period = _period_at(s, i + 3)
    if period is None:
        return None
    grain = period.grain
    if grain == "holiday" and name in {"day", "night"}:
        return _part_of_period(period, i, lambda one: _nth_of_feast(one, name, nth))
    if grain not in {"month", "year", "decade"} or name == "night":
        return None
    if name == "quarter":
        if grain != "year" or nth > 4:
            return None
        return _part_of_period(period, i, lambda one: _nth_quarter(one, nth))
    if name == "half":
        if nth not in {1, 2} or (grain == "decade"):
            return None
        return _part_of_period(period, i, lambda one: iv.half(one, grain, nth))
    return _part_of_period(period, i, lambda one: _nth(one, name, nth))


def _nth_beside(s: Sentence, i: int, name: str, nth: int) -> Phrase | None:
    """Read *the third day after Christmas* and *the second Sunday before Easter*."""
    anchor = main_day_at(s, i + 3)
    if anchor is None or anchor.fixed is None or name not in {"day", "weekend", *WEEKDAYS}:
        known = name in UNITS or name in WEEKDAYS or name in PARTS
        return doubt(i, i + 3) if known else None
    place, back = anchor.fixed, s.word(i + 2) == "before"
    for _ in range(min(nth, 60)):
        there = _beside(s, name, s.word(i + 2), *place)
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
        there = _back(edge, name, -n)
        few = Interval(min(edge, there), max(edge, there))
        return few if few.end - few.start <= one.end - one.start else None

    return _part_of_period(period, i, change)


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
    if name in {"day", "week"}:
        length = DAY if name == "day" else 7 * DAY
        start = one.start + (nth - 1) * length if nth > 0 else one.end - length
        return Interval(start, start + length)
    repeat = iv.weekly(5, 2) if name == "weekend" else iv.weekly(WEEKDAYS[name])
    found = repeat(one.start, one.end)
    at = nth - 1 if nth > 0 else nth
    return found[at] if at < len(found) else None


register(_ordinal, "last", *ORDINALS)
register(
    _unit_beside, "day", "week", "weekend", "month", "quarter", "year", *PARTS, *SEASONS, *WEEKDAYS
)
register(_unit_beside, *FIRST_WORDS, *MONTHS)
register(_edge, *EDGES)
register_numbers(_ordinal)
