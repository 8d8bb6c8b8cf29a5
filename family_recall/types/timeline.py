"""Division of a time into days, weeks or months, with the results in each."""

from __future__ import annotations

import bisect
import datetime as dt
import itertools
from collections import Counter, defaultdict
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
    starts = _starts(first, last)
    counts = Counter(bisect.bisect_right(starts, day) for day in stored)
    shown = defaultdict[int, list[str]](list)
    for day, doc_id in results:
        shown[bisect.bisect_right(starts, day)].append(doc_id)
    in_order = []
    for holds, run in itertools.groupby(range(1, len(starts) + 1), lambda at: counts[at] > 0):
        group = list(run)
        for members in [[at] for at in group] if holds else [group]:
            at, following = members[0], members[-1]
            end = starts[following] - dt.timedelta(days=1) if following < len(starts) else last
            in_order.append(Period(max(starts[at - 1], first), end, counts[at], tuple(shown[at])))
    return tuple(in_order)


def _starts(first: dt.date, last: dt.date) -> list[dt.date]:
    """List the first days of the periods of a time, in order, the latest if there are many."""
    length = (last - first).days + 1
    if length > DAYS_BY_WEEK:
        months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
        starts = [dt.date(month // 12, month % 12 + 1, 1) for month in months]
    elif length > DAYS_BY_DAY:
        monday = first.toordinal() - first.weekday()
        starts = [dt.date.fromordinal(day) for day in range(monday, last.toordinal() + 1, 7)]
    else:
        starts = [first + dt.timedelta(days=day) for day in range(max(length, 1))]
    return starts[-MAX_PERIODS:]


def _date(day: dt.date) -> str:
    return f"{day.day} {day:%B %Y}"
