"""Timelines: an interval divided into days, weeks or months, with the results in each."""

from __future__ import annotations

import bisect
import datetime as dt
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from family_recall.types.records import Record

DAYS_BY_DAY = 14
"""Longest interval that is divided into days."""
DAYS_BY_WEEK = 92
"""Longest interval that is divided into weeks; longer ones are divided into months."""
MAX_PERIODS = 120
"""Most periods listed; the latest ones of a longer interval."""


class Period(Record, frozen=True):
    """A day, week or month of an answer, or a series of empty ones.

    Args:
        first: Its first day.
        last: Its last day.
        n_stored: Number of visible memories in it.
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
    """Split an interval into days, weeks (from Monday) or months; join adjacent empty ones.

    Args:
        first: The first day asked about.
        last: The last one, not in the future.
        stored: The day of each visible memory in it.
        results: Day and doc_id of each result, in order.

    Returns:
        Periods in order, without overlaps or gaps.
    """
    starts = _starts(first, last)
    counts = Counter(bisect.bisect_right(starts, day) for day in stored)
    shown = defaultdict[int, list[str]](list)
    for day, doc_id in results:
        shown[bisect.bisect_right(starts, day)].append(doc_id)
    in_order = []
    for is_filled, run in itertools.groupby(range(1, len(starts) + 1), lambda at: counts[at] > 0):
        group = list(run)
        for members in [[at] for at in group] if is_filled else [group]:
            at, following = members[0], members[-1]
            end = starts[following] - dt.timedelta(days=1) if following < len(starts) else last
            in_order.append(Period(max(starts[at - 1], first), end, counts[at], tuple(shown[at])))
    return tuple(in_order)


def _starts(first: dt.date, last: dt.date) -> list[dt.date]:
    """List the first day of each period, in order; the latest ``MAX_PERIODS``."""
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
