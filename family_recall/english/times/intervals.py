"""Calendar arithmetic on local wall-clock time, without a zone. Every interval is half-open."""

from __future__ import annotations

import calendar
import datetime as dt
from typing import NamedTuple


class Interval(NamedTuple):
    """From ``start`` up to, not including, ``end``."""

    start: dt.datetime
    end: dt.datetime


class OpenInterval(NamedTuple):
    """An interval of which either end may be open."""

    start: dt.datetime | None
    end: dt.datetime | None


DAY = dt.timedelta(days=1)
MICROSECOND = dt.timedelta(microseconds=1)
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


def midnight(moment: dt.datetime | dt.date) -> dt.datetime:
    """Return the beginning of that day."""
    return dt.datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001  (wall clock)


def day(moment: dt.datetime | dt.date) -> Interval:
    """Return the day that contains a moment."""
    start = midnight(moment)
    return Interval(start, start + DAY)


def part_of_day(moment: dt.datetime | dt.date, hours: tuple[int, int]) -> Interval:
    """Return the hours of that day, counted from its midnight."""
    start = midnight(moment)
    return Interval(start + dt.timedelta(hours=hours[0]), start + dt.timedelta(hours=hours[1]))


def add_months(moment: dt.datetime, months: int) -> dt.datetime:
    """Move by months; a day that the month lacks becomes its last one."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def month(year: int, number: int) -> Interval:
    """Return a calendar month."""
    start = midnight(dt.date(year, number, 1))
    return Interval(start, add_months(start, 1))


def years(first: int, n: int = 1) -> Interval:
    """Return n calendar years."""
    return Interval(midnight(dt.date(first, 1, 1)), midnight(dt.date(first + n, 1, 1)))


def season(year: int, number: int, *, south: bool) -> Interval:
    """Return a meteorological season by the year it begins in; spring is 0, winter 3.

    Three whole months from March, June, September or December, half a year later in the
    southern hemisphere.
    """
    start = midnight(dt.date(year, ((number + 2 * south) % 4 + 1) * 3, 1))
    return Interval(start, add_months(start, 3))


def unit(now: dt.datetime, name: str, shift: int) -> Interval:
    """Return the day, week, weekend, month … decade that lies ``shift`` of them from this one.

    Weeks run from Monday to Sunday.
    """
    today = midnight(now)
    if name == "day":
        return day(today + shift * DAY)
    if name in {"week", "weekend"}:
        first = 5 if name == "weekend" else 0
        start = today + dt.timedelta(days=7 * shift + first - today.weekday())
        return Interval(start, start + (7 - first) * DAY)
    months, month_of_era = _MONTHS_IN[name], today.year * 12 + today.month - 1
    first_month = (month_of_era // months + shift) * months
    start = add_months(today.replace(day=1), first_month - month_of_era)
    return Interval(start, add_months(start, months))


def rolling(now: dt.datetime, name: str, n: int) -> Interval:
    """Return the last n units up to and with today, or the next -n; hours end with the moment."""
    today = midnight(now)
    other = earlier(today, name, n)
    return Interval(min(today, other), max(today, other) + DAY)


def earlier(moment: dt.datetime, name: str, n: int) -> dt.datetime:
    """Return the moment n units earlier, or -n later."""
    if name in _MONTHS_IN:
        return add_months(moment, -n * _MONTHS_IN[name])
    return moment - n * (7 if name == "week" else 1) * DAY


def adjacent(interval: Interval, name: str, n: int) -> Interval:
    """Return the n units that begin where an interval ends, or the -n that end where it begins."""
    if n < 0:
        return Interval(earlier(interval.start, name, -n), interval.start)
    return Interval(interval.end, earlier(interval.end, name, -n))


def weekend_around(day: Interval) -> Interval:
    """Join a holiday from Thursday to Tuesday with the weekend beside it."""
    weekday = day.start.weekday()
    to_saturday = 5 - weekday if weekday > 1 else -2 - weekday
    saturday = day.start + to_saturday * DAY
    return Interval(min(saturday, day.start), max(saturday + 2 * DAY, day.start + DAY))


def third(interval: Interval, grain: str, which: int) -> Interval:
    """Return the early (0), middle (1) or late (2) part.

    A month is cut before the 11th and the 21st, a year every four months, a season and a
    quarter every month, and a decade into four, three and three years.
    """
    start, end = interval
    if grain == "month":
        cuts = [start, start + 10 * DAY, start + 20 * DAY, end]
    else:
        months = _MONTHS_IN.get(grain, 3)
        cuts_at = (0, 48, 84, 120) if grain == "decade" else range(0, months + 1, months // 3)
        cuts = [add_months(start, n) for n in cuts_at]
    return Interval(cuts[which], cuts[which + 1])


def half(interval: Interval, grain: str, which: int) -> Interval:
    """Return the first (1) or second (2) half; a month is cut before the 16th."""
    if grain == "month":
        middle = interval.start + 15 * DAY
    else:
        middle = add_months(interval.start, _MONTHS_IN[grain] // 2)
    return Interval(interval.start, middle) if which == 1 else Interval(middle, interval.end)
