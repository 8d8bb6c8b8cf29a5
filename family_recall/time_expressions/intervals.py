"""Intervals: calendar arithmetic on local wall-clock time, without a zone.

Every interval is half-open. A ``Repeat`` lists the occurrences of something that comes round
again (Mondays, Marches, Christmases) that start in ``[low, high)``, earliest first.
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Interval(NamedTuple):
    """From ``start`` up to, not including, ``end``."""

    start: dt.datetime
    end: dt.datetime


class OpenInterval(NamedTuple):
    """An interval of which either end may be open."""

    start: dt.datetime | None
    end: dt.datetime | None


Repeat: TypeAlias = Callable[[dt.datetime, dt.datetime], list[Interval]]

DAY = dt.timedelta(days=1)
MONTHS_OF = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
"""Months in the longer units."""

_SEARCHED_DAYS = (40, 400, 3700)


def midnight(moment: dt.datetime | dt.date) -> dt.datetime:
    """Give the beginning of that day."""
    return dt.datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001  (wall clock)


def day(moment: dt.datetime | dt.date) -> Interval:
    """Give the day that holds a moment."""
    start = midnight(moment)
    return Interval(start, start + DAY)


def part_of_day(moment: dt.datetime | dt.date, hours: tuple[int, int]) -> Interval:
    """Give the hours of that day, counted from its midnight."""
    start = midnight(moment)
    return Interval(start + dt.timedelta(hours=hours[0]), start + dt.timedelta(hours=hours[1]))


def add_months(moment: dt.datetime, months: int) -> dt.datetime:
    """Move by months; a day that the month lacks becomes its last one."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def month(year: int, number: int) -> Interval:
    """Give a calendar month."""
    start = midnight(dt.date(year, number, 1))
    return Interval(start, add_months(start, 1))


def years(first: int, n: int = 1) -> Interval:
    """Give n calendar years."""
    return Interval(midnight(dt.date(first, 1, 1)), midnight(dt.date(first + n, 1, 1)))


def season(year: int, number: int, *, south: bool) -> Interval:
    """Give a meteorological season by the year it begins in; spring is 0, winter 3.

    Three whole months from March, June, September or December, half a year later in the
    southern hemisphere.
    """
    start = midnight(dt.date(year, ((number + 2 * south) % 4 + 1) * 3, 1))
    return Interval(start, add_months(start, 3))


def unit(now: dt.datetime, name: str, shift: int) -> Interval:
    """Give the day, week, month, quarter, year or decade ``shift`` of them from this one.

    Weeks run from Monday to Sunday.
    """
    today = midnight(now)
    if name == "day":
        return day(today + shift * DAY)
    if name == "week":
        start = today + dt.timedelta(days=7 * shift - today.weekday())
        return Interval(start, start + 7 * DAY)
    if name == "weekend":
        start = today + dt.timedelta(days=7 * shift + 5 - today.weekday())
        return Interval(start, start + 2 * DAY)
    if name == "month":
        start = add_months(today.replace(day=1), shift)
        return Interval(start, add_months(start, 1))
    if name == "quarter":
        start = add_months(today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1), 3 * shift)
        return Interval(start, add_months(start, 3))
    if name == "year":
        return years(now.year + shift)
    return years(now.year // 10 * 10 + 10 * shift, 10)


def rolling(now: dt.datetime, name: str, n: int) -> Interval:
    """Give the last n units up to and with today, or the next -n; hours end with the moment."""
    today = midnight(now)
    there = today - n * (7 * DAY if name == "week" else DAY)
    if name in MONTHS_OF:
        there = add_months(today, -n * MONTHS_OF[name])
    return Interval(min(today, there), max(today, there) + DAY)


def back(moment: dt.datetime, name: str, n: int = 1) -> dt.datetime:
    """Give the moment n units earlier, or -n later."""
    if name in MONTHS_OF:
        return add_months(moment, -n * MONTHS_OF[name])
    return moment - n * (7 if name == "week" else 1) * DAY


def beside(one: Interval, name: str, n: int) -> Interval:
    """Give the n units that begin where an interval ends, or the -n that end where it begins."""
    if n < 0:
        return Interval(back(one.start, name, -n), one.start)
    return Interval(one.end, back(one.end, name, -n))


def yearly(in_year: Callable[[int], list[Interval]]) -> Repeat:
    """Repeat what happens a known number of times a year."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        found: list[Interval] = []
        for year in range(max(low.year - 1, 2), min(high.year + 1, 9990) + 1):
            found += [one for one in in_year(year) if low <= one.start < high]
        return found

    return occurrences


def weekly(weekday: int, n_days: int = 1) -> Repeat:
    """Repeat a day of the week, or n days from it on."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        start = midnight(low)
        start += ((weekday - start.weekday()) % 7) * DAY
        if start < low:
            start += 7 * DAY
        found = []
        while start < high:
            found.append(Interval(start, start + n_days * DAY))
            start += 7 * DAY
        return found

    return occurrences


def monthly(number: int) -> Repeat:
    """Repeat a day of the month in the months that have it."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        found = []
        first = midnight(low).replace(day=1)
        while first < high:
            if number <= calendar.monthrange(first.year, first.month)[1]:
                start = first.replace(day=number)
                if low <= start < high:
                    found.append(Interval(start, start + DAY))
            first = add_months(first, 1)
        return found

    return occurrences


def daily(hours: tuple[int, int]) -> Repeat:
    """Repeat a part of the day."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        found = []
        start = midnight(low)
        while start < high:
            one = part_of_day(start, hours)
            if low <= one.start < high:
                found.append(one)
            start += DAY
        return found

    return occurrences


def mapped(repeat: Repeat, change: Callable[[Interval], Interval | None]) -> Repeat:
    """Repeat a part of each occurrence; None leaves that occurrence out."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        changed = (change(one) for one in repeat(low - 400 * DAY, high + 40 * DAY))
        return [one for one in changed if one is not None and low <= one.start < high]

    return occurrences


def latest_begun(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Give the most recent occurrence that has begun."""
    for n_days in _SEARCHED_DAYS:
        found = repeat(now - n_days * DAY, now + dt.timedelta(microseconds=1))
        if found:
            return found[-1]
    return None


def latest_over(repeat: Repeat, now: dt.datetime, nth: int = 1) -> Interval | None:
    """Give the n-th most recent occurrence that has ended."""
    for n_days in _SEARCHED_DAYS:
        found = [one for one in repeat(now - n_days * nth * DAY, now) if one.end <= now]
        if len(found) >= nth:
            return found[-nth]
    return None


def first_not_over(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Give the occurrence that is running, or else the first that comes."""
    for n_days in _SEARCHED_DAYS:
        found = [one for one in repeat(now - 400 * DAY, now + n_days * DAY) if one.end > now]
        if found:
            return found[0]
    return None


def first_after(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Give the first occurrence that starts after now."""
    for n_days in _SEARCHED_DAYS:
        found = repeat(now + dt.timedelta(microseconds=1), now + n_days * DAY)
        if found:
            return found[0]
    return None


def nearest(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Give the occurrence that is running, or else the one with the smaller gap to now."""
    begun, coming = latest_begun(repeat, now), first_after(repeat, now)
    if begun is None or coming is None:
        return begun or coming
    return begun if begun.end > now or now - begun.end <= coming.start - now else coming


def third(one: Interval, grain: str, which: int) -> Interval:
    """Give the early (0), middle (1) or late (2) part.

    A month is cut before the 11th and the 21st, a year every four months, a season and a
    quarter every month, and a decade into four, three and three years.
    """
    if grain == "month":
        cuts = [one.start, one.start + 10 * DAY, one.start + 20 * DAY, one.end]
    else:
        by_month = (0, 1, 2, 3)
        months = {"season": by_month, "quarter": by_month, "year": (0, 4, 8, 12)}.get(
            grain, (0, 48, 84, 120)
        )
        cuts = [add_months(one.start, n) for n in months]
    return Interval(cuts[which], cuts[which + 1])


def half(one: Interval, grain: str, which: int) -> Interval:
    """Give the first (1) or second (2) half; a month is cut before the 16th."""
    if grain == "month":
        middle = one.start + 15 * DAY
    else:
        middle = add_months(one.start, {"year": 6, "decade": 60}[grain])
    return Interval(one.start, middle) if which == 1 else Interval(middle, one.end)
