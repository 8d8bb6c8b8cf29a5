"""What a question was understood to ask, and how surely it is answered, in a few words."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from family_recall.types import Answer
from family_recall.types.answer_text import sureness

_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Understood:
    """What stands above the results.

    Args:
        sureness: How sure the answer is: ``Probably``.
        time: The time that the question is about; empty where it names none.
        order: What the order of the results means.
    """

    sureness: str
    time: str
    order: str


def understood(answer: Answer) -> Understood:
    """Return what an answer says of how its question was read."""
    asked = answer.trace.understanding
    span = asked.timespan if asked else None
    in_order = answer.strategy == "TIMELINE"
    return Understood(
        sureness(answer),
        time_text(span.start, span.end) if span else "",
        "in order of time" if in_order else "best match first",
    )


def time_text(start: dt.datetime | None, end: dt.datetime | None) -> str:
    """Return a half-open time in words; whole days, months and years by their names.

    >>> time_text(dt.datetime(2025, 8, 1), dt.datetime(2025, 9, 1))
    'August 2025'
    >>> time_text(dt.datetime(2025, 8, 29), dt.datetime(2025, 9, 2))
    '29 August to 1 September 2025'
    >>> time_text(dt.datetime(2025, 8, 1, 18), dt.datetime(2025, 8, 1, 21, 30))
    '1 August 2025, 18:00 to 21:30'
    """
    if start is None or end is None:
        since = f"since {_moment(start)}" if start else ""
        return f"before {_moment(end)}" if end else since
    if start.time() != dt.time() or end.time() != dt.time():
        same_day = start.date() == end.date()
        return f"{_moment(start)} to {f'{end:%H:%M}' if same_day else _moment(end)}"
    return days_text(start.date(), (end - _DAY).date())


def days_text(first: dt.date, last: dt.date) -> str:
    """Return days in words, the last among them; whole months and years by their names."""
    after = last + _DAY
    if first.day == 1 and after.day == 1:
        if (first.month, after.month) == (1, 1):
            return _range(str(first.year), str(last.year))
        years = "" if first.year == last.year else f" {first.year}"
        return _range(f"{first:%B}{years}", f"{last:%B}", f" {last.year}")
    if first.year != last.year:
        return f"{_date(first)} to {_date(last)}"
    if first.month != last.month:
        return f"{first.day} {first:%B} to {_date(last)}"
    return _range(str(first.day), str(last.day), f" {last:%B %Y}")


def _range(first: str, last: str, after: str = "") -> str:
    return f"{first if first == last else f'{first} to {last}'}{after}"


def _date(day: dt.date) -> str:
    return f"{day.day} {day:%B %Y}"


def _moment(moment: dt.datetime) -> str:
    at = "" if moment.time() == dt.time() else f", {moment:%H:%M}"
    return f"{_date(moment.date())}{at}"
