"""Timeline: what a stretch of time holds, told in order, and what it does not hold."""

from __future__ import annotations

import datetime as dt
import itertools

from hypothesis import given
from hypothesis import strategies as st

from family_recall.types.timeline import MAX_PERIODS, Period, periods

DAYS = st.dates(dt.date(2020, 1, 1), dt.date(2026, 12, 31))


def day(text: str) -> dt.date:
    """Read an ISO day."""
    return dt.date.fromisoformat(text)


def test_a_week_is_told_day_by_day_with_its_gap() -> None:
    """Monday and Saturday hold something; the four days between are one gap, so is Sunday."""
    told = periods(
        day("2025-06-09"),
        day("2025-06-15"),
        [day("2025-06-09"), day("2025-06-14"), day("2025-06-14")],
        [(day("2025-06-09"), "swim"), (day("2025-06-14"), "fair")],
    )

    assert told == (
        Period(day("2025-06-09"), day("2025-06-09"), 1, ("swim",)),
        Period(day("2025-06-10"), day("2025-06-13"), 0, ()),
        Period(day("2025-06-14"), day("2025-06-14"), 2, ("fair",)),
        Period(day("2025-06-15"), day("2025-06-15"), 0, ()),
    )
    assert [period.heading for period in told] == [
        "Monday 9 June 2025",
        "nothing stored between 10 June 2025 and 13 June 2025",
        "Saturday 14 June 2025",
        "nothing stored on 15 June 2025",
    ]


def test_a_month_is_told_week_by_week() -> None:
    """Weeks begin on Monday and are cut where the month ends: June 2025 begins on a Sunday."""
    told = periods(day("2025-06-01"), day("2025-06-30"), [day("2025-06-12")], [])

    assert [(p.first, p.last, p.n_stored) for p in told] == [
        (day("2025-06-01"), day("2025-06-08"), 0),
        (day("2025-06-09"), day("2025-06-15"), 1),
        (day("2025-06-16"), day("2025-06-30"), 0),
    ]


def test_a_year_is_told_month_by_month() -> None:
    """February and March 2024 hold nothing, and are one gap of sixty days."""
    held = [day(f"2024-{month:02d}-05") for month in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12)]

    told = periods(day("2024-01-01"), day("2024-12-31"), held, [])

    assert len(told) == 11
    assert told[1] == Period(day("2024-02-01"), day("2024-03-31"), 0, ())


@given(st.tuples(DAYS, DAYS).map(sorted), st.data())
def test_periods_cover_the_time_once_and_count_everything(
    ends: list[dt.date], data: st.DataObject
) -> None:
    """Each begins the day after the one before; every memory is counted in its own period."""
    first, last = ends
    inside = st.lists(st.dates(first, last), max_size=20)
    stored = data.draw(inside)
    results = [(moment, str(at)) for at, moment in enumerate(sorted(stored))]

    told = periods(first, last, stored, results)

    assert (told[0].first, told[-1].last) == (first, last)
    for before, after in itertools.pairwise(told):
        assert after.first == before.last + dt.timedelta(days=1)
        assert before.n_stored or after.n_stored
    assert sum(period.n_stored for period in told) == len(stored)
    for period in told:
        held = [doc_id for moment, doc_id in results if period.first <= moment <= period.last]
        assert period.n_stored == len(held)
        assert list(period.doc_ids) == held
        assert Period.from_json(period.to_json()) == period


def test_a_very_long_time_is_told_from_its_end() -> None:
    """Of two hundred years of months the last ones are told."""
    told = periods(day("1826-01-01"), day("2025-12-31"), [day("2025-12-24")], [])

    assert len(told) == 2
    assert (told[-1].last - told[0].first).days < 31 * MAX_PERIODS
