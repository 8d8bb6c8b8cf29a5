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
    main_day_at,
    register,
    register_numbers,
)
from family_recall.query.timespan.words import (
    DASHES,
    EDGES,
    MONTHS,
    ORDINALS,
    PARTS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    day_of,
    is_ordinal,
)


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
        if s.word(i + 2) == ("last" if after == "before" else "next"):
            return _before_last(s, i, 1 if after == "after" else -1)
        anchor = main_day_at(s, i + 2)
        if anchor is None or anchor.fixed is None:
            return None
        start, end = anchor.fixed
        fixed = _beside(word, after, start, end)
        return Phrase(i, anchor.last, "day", fixed, None, anchor.certainty) if fixed else None
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


def _beside(word: str, side: str, start: dt.datetime, end: dt.datetime) -> Interval | None:
    if word in PARTS:
        return iv.part_of_day(start - DAY if side == "before" else end, PARTS[word])
    if word == "weekend":
        if side == "before":
            return iv.latest_over(iv.weekly(5, 2), iv.midnight(start))
        return iv.first_after(iv.weekly(5, 2), end - DAY)
    if side == "before":
        return Interval(_back(start, word), start)
    return Interval(end, _back(end, word, -1))


def _back(moment: dt.datetime, name: str, n: int = 1) -> dt.datetime:
    if name in {"month", "year", "decade"}:
        return iv.add_months(moment, -n * {"month": 1, "year": 12, "decade": 120}[name])
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
    if s.word(i) == "the" and s.word(i + 1) in {"week", "month", "year", "decade"}:
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
    if grain in {"day", "part", "week", "weekday", "weekend"}:
        return period._replace(first=i, certainty=min(period.certainty, 0.8))
    if grain not in {"month", "season", "year", "decade"}:
        return None
    return _part_of_period(period, i, lambda one: iv.third(one, grain, which))


def _part_of_period(
    period: Phrase, i: int, change: Callable[[Interval], Interval | None]
) -> Phrase | None:
    if period.fixed is not None:
        fixed = change(period.fixed)
        return period._replace(first=i, fixed=fixed, bare=False) if fixed else None
    if period.repeat is None:
        return None
    repeat = iv.mapped(period.repeat, change)
    return period._replace(first=i, grain="days", repeat=repeat, bare=False)


def _ordinal(s: Sentence, i: int) -> Phrase | None:
    """Read *the first Monday in March*, *the last week of May*, *the fourth of July*."""
    word = s.word(i)
    nth = -1 if word == "last" else ORDINALS.get(word) or (day_of(word) if is_ordinal(word) else 0)
    if not nth:
        return None
    if word in ORDINALS and s.word(i + 1) == "of" and s.word(i + 2) in MONTHS:
        dated = year_at(s, i + 3)
        return days_of_month(i, i + 3, MONTHS[s.word(i + 2)], (nth, nth), dated)
    name = s.word(i + 1)
    if s.word(i + 2) not in {"of", "in"} or nth > 5:
        return None
    if not (name in WEEKDAYS or name in {"day", "week", "weekend", "half"}):
        return None
    period = _period_at(s, i + 3)
    if period is None or period.grain not in {"month", "year", "decade"}:
        return None
    grain = period.grain
    if name == "half":
        if nth not in {1, 2} or (grain == "decade"):
            return None
        return _part_of_period(period, i, lambda one: iv.half(one, grain, nth))
    return _part_of_period(period, i, lambda one: _nth(one, name, nth))


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
register(_unit_beside, "day", "week", "weekend", "month", "year", *PARTS, *SEASONS, *WEEKDAYS)
register(_unit_beside, *FIRST_WORDS, *MONTHS)
register(_edge, *EDGES)
register_numbers(_ordinal)
