"""Division of a time into days, weeks or months, with the results in each."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from family_recall.types.records import Record

DAYS_BY_DAY = 14
"""Days up to which a time is divided day by day."""
DAYS_BY_WEEK = 92
"""Days up to which it is divided week by week; longer ones are divided by month."""
MAX_PERIODS = 120
"""Periods that are listed; of a longer time the latest."""


class Period(Record, frozen=True):
    """A day, week or month of an answer, or a series of them that holds nothing.

    Args:
        first: Its first day.
        last: Its last day.
        n_stored: Memories in it that the person who asks may see.
        doc_ids: The results among them, in order.
    """

    first: dt.date
    last: dt.date
    n_stored: int
    doc_ids: tuple[str, ...]

    @property
    def heading(self) -> str:
        """A title: ``Tuesday 3 June 2025``, or ``nothing stored between … and …``."""
        if self.n_stored:
            days = dict.fromkeys((self.first, self.last))
            return " to ".join(f"{day:%A} {_date(day)}" for day in days)
        if self.first == self.last:
            return f"nothing stored on {_date(self.first)}"
        return f"nothing stored between {_date(self.first)} and {_date(self.last)}"

    def to_json(self) -> dict[str, Any]:
        """Return every field, days as ISO 8601, and the heading."""
        return Record.to_json(self) | {"heading": self.heading}


def periods(
    first: dt.date,
    last: dt.date,
    stored: Iterable[dt.date],
    results: Sequence[tuple[dt.date, str]],
) -> tuple[Period, ...]:
    """Split a time into days, weeks (from Monday) or months, neighbouring empty ones joined.

    Args:
        first: The first day asked about.
        last: The last one, not in the future.
        stored: The day of each memory in it that the person who asks may see.
        results: Day and doc_id of each result, in order.

    Returns:
        Periods in order; none overlap, and together they cover the time.
    """
    counts: dict[dt.date, int] = {}
    length = (last - first).days + 1
    for day in stored:
        start = _start_of(day, length)
        counts[start] = counts.get(start, 0) + 1
    shown: dict[dt.date, list[str]] = {}
    for day, doc_id in results:
        shown.setdefault(_start_of(day, length), []).append(doc_id)
    starts = [_start_of(first, length)]
    while (following := _next(starts[-1], length)) <= last:
        starts.append(following)
    starts = starts[-MAX_PERIODS:]
    periods_in_order = []
    for holds, run in itertools.groupby(starts, key=lambda start: counts.get(start, 0) > 0):
        group = list(run)
        for members in [[start] for start in group] if holds else [group]:
            end = _next(members[-1], length) - dt.timedelta(days=1)
            periods_in_order.append(
                Period(
                    max(members[0], first),
                    min(end, last),
                    counts.get(members[0], 0),
                    tuple(shown.get(members[0], ())),
                )
            )
    return tuple(periods_in_order)


def _start_of(day: dt.date, length: int) -> dt.date:
    if length <= DAYS_BY_DAY:
        return day
    if length <= DAYS_BY_WEEK:
        return day - dt.timedelta(days=day.weekday())
    return day.replace(day=1)


def _next(start: dt.date, length: int) -> dt.date:
    if length <= DAYS_BY_DAY:
        return start + dt.timedelta(days=1)
    if length <= DAYS_BY_WEEK:
        return start + dt.timedelta(days=7)
    return (start + dt.timedelta(days=32)).replace(day=1)


def _date(day: dt.date) -> str:
    return f"{day.day} {day:%B %Y}"
