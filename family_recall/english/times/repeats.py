"""Repeats: times that come round again, and which occurrence of one is meant.

A ``Repeat`` lists the occurrences (Mondays, Marches, Christmases) that start in ``[low, high)``,
earliest first.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import TypeAlias

from . import intervals as iv
from .intervals import DAY, MICROSECOND, Interval, midnight

Repeat: TypeAlias = Callable[[dt.datetime, dt.datetime], list[Interval]]

_SEARCHED_DAYS = (40, 400, 3700)


def yearly(in_year: Callable[[int], list[Interval]]) -> Repeat:
    """Repeat what happens a known number of times a year."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        years = range(max(low.year - 1, 2), min(high.year + 1, 9990) + 1)
        return [each for year in years for each in in_year(year) if low <= each.start < high]

    return occurrences


def weekly(weekday: int, n_days: int = 1) -> Repeat:
    """Repeat a day of the week, or n days from it on."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        start = midnight(low)
        start += (weekday - start.weekday()) % 7 * DAY
        if start < low:
            start += 7 * DAY
        starts = _every(7 * DAY, start, high)
        return [Interval(start, start + n_days * DAY) for start in starts]

    return occurrences


def monthly(number: int) -> Repeat:
    """Repeat a day of the month in the months that have it."""

    def in_year(year: int) -> list[Interval]:
        months = [iv.month(year, month) for month in range(1, 13)]
        days = [iv.day(start + (number - 1) * DAY) for start, _ in months]
        return [day for day, month in zip(days, months, strict=True) if day.start < month.end]

    return yearly(in_year)


def daily(hours: tuple[int, int]) -> Repeat:
    """Repeat a part of the day."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        parts = [iv.part_of_day(start, hours) for start in _every(DAY, midnight(low), high)]
        return [part for part in parts if low <= part.start < high]

    return occurrences


def _every(step: dt.timedelta, start: dt.datetime, high: dt.datetime) -> Iterator[dt.datetime]:
    while start < high:
        yield start
        start += step


def mapped(repeat: Repeat, change: Callable[[Interval], Interval | None]) -> Repeat:
    """Repeat a part of each occurrence; None leaves that occurrence out."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        changed = (change(whole) for whole in repeat(low - 400 * DAY, high + 40 * DAY))
        return [part for part in changed if part is not None and low <= part.start < high]

    return occurrences


def latest_begun(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Return the most recent occurrence that has begun."""
    searches = (repeat(now - n_days * DAY, now + MICROSECOND) for n_days in _SEARCHED_DAYS)
    return next((begun[-1] for begun in searches if begun), None)


def latest_over(repeat: Repeat, now: dt.datetime, nth: int = 1) -> Interval | None:
    """Return the n-th most recent occurrence that has ended."""
    for n_days in _SEARCHED_DAYS:
        ended = [each for each in repeat(now - n_days * nth * DAY, now) if each.end <= now]
        if len(ended) >= nth:
            return ended[-nth]
    return None


def first_not_over(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Return the occurrence that is running, or else the first that comes."""
    searches = (repeat(now - 400 * DAY, now + n_days * DAY) for n_days in _SEARCHED_DAYS)
    return next((each for occurrences in searches for each in occurrences if each.end > now), None)


def first_after(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Return the first occurrence that starts after now."""
    searches = (repeat(now + MICROSECOND, now + n_days * DAY) for n_days in _SEARCHED_DAYS)
    return next((coming[0] for coming in searches if coming), None)


def nearest(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Return the occurrence that is running, or else the one with the smaller gap to now."""
    begun, coming = latest_begun(repeat, now), first_after(repeat, now)
    if begun is None or coming is None:
        return begun or coming
    return begun if begun.end > now or now - begun.end <= coming.start - now else coming
