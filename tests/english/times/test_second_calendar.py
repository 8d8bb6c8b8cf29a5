"""Whole families of time expressions, against a second calendar made of dates alone."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.english.times import Timespan, find_timespan

NAMES = calendar.month_name, calendar.day_name
NTHS = ["first", "second", "third", "fourth"]
SOME = ["spring", "summer", "autumn", "winter"]
CHANGES = [
    ("Europe/London", dt.datetime(2025, 3, 30, 9)),  # noqa: DTZ001  (put into its zone below)
    ("Europe/London", dt.datetime(2026, 10, 25, 9)),  # noqa: DTZ001
    ("America/New_York", dt.datetime(2024, 3, 10, 9)),  # noqa: DTZ001
    ("America/New_York", dt.datetime(2024, 11, 3, 9)),  # noqa: DTZ001
    ("Australia/Sydney", dt.datetime(2026, 4, 5, 9)),  # noqa: DTZ001
    ("Australia/Sydney", dt.datetime(2025, 10, 6, 9)),  # noqa: DTZ001
]
asked_at = st.sampled_from(CHANGES) | st.tuples(
    st.sampled_from(["Europe/London", "America/New_York", "Asia/Kolkata", "Australia/Sydney"]),
    st.datetimes(dt.datetime(2016, 1, 1), dt.datetime(2034, 1, 1))  # noqa: DTZ001
    | st.sampled_from([dt.datetime(2024, 2, 29, 7), dt.datetime(2025, 12, 31, 23)])  # noqa: DTZ001
    | st.sampled_from([dt.datetime(2026, 1, 1, 0, 30), dt.datetime(2024, 2, 28, 20)]),  # noqa: DTZ001
)


def wall(span: Timespan | None) -> tuple[dt.datetime | None, dt.datetime | None] | None:
    """Return the ends as a clock on the wall shows them."""
    if span is None:
        return None
    start, end = span.start, span.end
    return start and start.replace(tzinfo=None), end and end.replace(tzinfo=None)


def at(day: dt.date, hour: int = 0) -> dt.datetime:
    """Return an hour of a day; from 24 on it is the next day's."""
    return dt.datetime(day.year, day.month, day.day) + dt.timedelta(hours=hour)  # noqa: DTZ001


def days(first: dt.date, n: int = 1) -> tuple[dt.datetime, dt.datetime]:
    """Return n whole days."""
    return at(first), at(first + dt.timedelta(n))


def months(year: int, month: int, n: int = 1) -> tuple[dt.datetime, dt.datetime]:
    """Return n calendar months; the month may lie outside 1 to 12."""
    first, after = divmod(month - 1, 12), divmod(month - 1 + n, 12)
    return at(dt.date(year + first[0], first[1] + 1, 1)), at(
        dt.date(year + after[0], after[1] + 1, 1)
    )


def easter_by_epact(year: int) -> dt.date:
    """Compute Easter as Clavius did (Knuth, *Art of Computer Programming* 1, 1.3.2, ex. 14)."""
    golden, century = year % 19 + 1, year // 100 + 1
    skipped, moon = 3 * century // 4 - 12, (8 * century + 5) // 25 - 5
    epact = (11 * golden + 20 + moon - skipped) % 30
    epact += epact == 24 or (epact == 25 and golden > 11)
    full = 44 - epact if epact <= 23 else 74 - epact
    sunday = full + 7 - (5 * year // 4 - skipped - 10 + full) % 7
    return dt.date(year, 3, 1) + dt.timedelta(sunday - 1)


def by_the_calendar(
    today: dt.date, n: int, *, south: bool
) -> Iterator[tuple[str, tuple[dt.datetime | None, dt.datetime | None]]]:
    """Compute with dates alone what some expressions mean; n picks names and counts."""
    one, monday = dt.timedelta(1), today - dt.timedelta(today.weekday())
    year, month, weekday = 2000 + n % 25, n % 12 + 1, n % 7
    m_name, d_name = NAMES[0][month], NAMES[1][weekday]
    begun = today - (today.weekday() - weekday) % 7 * one
    before_today = begun if begun < today else begun - 7 * one
    this = months(today.year, today.month)
    quarter = (today.month - 1) // 3 * 3 + 1
    latest = today.year if month <= today.month else today.year - 1
    over = today.year if month < today.month else today.year - 1
    in_month = [dt.date(year, month, 1) + k * one for k in range(31)]
    such = [day for day in in_month if day.month == month and day.weekday() == weekday]
    season = (3 * (n % 4) + 2 + 6 * south) % 12 + 1
    seasons = [months(y, season, 3) for y in range(today.year, today.year - 3, -1)]
    easter = easter_by_epact(year)
    whole = months(year, month)
    yield "today", days(today)
    yield "yesterday", days(today - one)
    yield "the day before yesterday", days(today - 2 * one)
    yield "last night", (at(today - one, 18), at(today - one, 29))
    yield "this morning", (at(today, 5), at(today, 12))
    yield "yesterday evening", (at(today - one, 17), at(today))
    yield "this week", days(monday, 7)
    yield "last week", days(monday - 7 * one, 7)
    yield "the week before last", days(monday - 14 * one, 7)
    yield "last weekend", days(monday - 2 * one, 2)
    yield "two weekends ago", days(monday - 9 * one, 2)
    yield "last month", months(today.year, today.month - 1)
    yield "on the last day of last month", days((this[0] - one).date())
    yield "last quarter", months(today.year, quarter - 3, 3)
    yield "last year", months(today.year - 1, 1, 12)
    yield f"{n} days ago", days(today - n * one)
    yield f"{n} weeks ago", days(monday - 7 * n * one, 7)
    yield f"{n} months ago", months(today.year, today.month - n)
    yield f"{n} years ago", months(today.year - n, 1, 12)
    yield f"in the last {n} days", (at(today - n * one), at(today + one))
    yield f"in the past {n} weeks", (at(today - 7 * n * one), at(today + one))
    yield f"on {d_name}", days(begun)
    yield f"last {d_name}", days(before_today)
    yield f"two {d_name}s ago", days(before_today - 7 * one)
    yield f"last {d_name} afternoon", (at(before_today, 12), at(before_today, 18))
    yield f"on {d_name} last week", days(monday + (weekday - 7) * one)
    yield f"in {m_name} {year}", whole
    yield f"in {m_name}", months(latest, month)
    yield f"last {m_name}", months(over, month)
    yield f"in {m_name} last year", months(today.year - 1, month)
    yield f"in the first week of {m_name} {year}", days(in_month[0], 7)
    yield f"in the last week of {m_name} {year}", (whole[1] - 7 * one, whole[1])
    yield f"in early {m_name} {year}", days(in_month[0], 10)
    yield f"in late {m_name} {year}", (at(in_month[20]), whole[1])
    yield f"on the {NTHS[n % 4]} {d_name} of {m_name} {year}", days(such[n % 4])
    yield f"on the last {d_name} in {m_name} {year}", days(such[-1])
    yield f"between 3 and 9 {m_name} {year}", days(in_month[2], 7)
    yield f"from {m_name} {year} to {m_name} {year + 1}", (whole[0], months(year + 1, month)[1])
    yield f"on {n % 28 + 1} {m_name} {year}", days(in_month[n % 28])
    yield f"on {m_name} {n % 28 + 1}, {year}", days(in_month[n % 28])
    yield f"on {in_month[n % 28].isoformat()}", days(in_month[n % 28])
    yield f"since {m_name} {year}", (whole[0], None)
    yield f"before {year}", (None, months(year, 1)[0])
    yield f"after {year}", (months(year + 1, 1)[0], None)
    yield f"until {m_name} {year}", (None, whole[1])
    yield f"in the {year // 10 * 10}s", months(year // 10 * 10, 1, 120)
    yield f"in {SOME[n % 4]} {year}", months(year, season, 3)
    yield f"last {SOME[n % 4]}", next(s for s in seasons if s[1] <= at(today))
    yield f"on Easter Monday {year}", days(easter + one)
    yield f"on Good Friday {year}", days(easter - 2 * one)
    yield f"the Sunday before Easter {year}", days(easter - 7 * one)
    yield f"the week before Christmas {year}", days(dt.date(year, 12, 18), 7)
    yield f"on New Year's Eve {year}", days(dt.date(year, 12, 31))


@settings(max_examples=60, deadline=None)
@given(asked_at, st.integers(2, 60))
def test_a_second_calendar_agrees(asked: tuple[str, dt.datetime], n: int) -> None:
    """Whole families of expressions mean what a second implementation makes of them, any day."""
    zone, moment = asked
    now, south = moment.replace(tzinfo=ZoneInfo(zone)), zone == "Australia/Sydney"
    for words, expected in by_the_calendar(now.date(), n, south=south):
        span = find_timespan(
            f"What did we do {words}?", now=now, hemisphere="south" if south else "north"
        )
        assert wall(span) == expected, words


@settings(max_examples=100)
@given(asked_at, st.integers(1, 200))
def test_hours_are_counted_as_a_clock_in_greenwich_does(
    asked: tuple[str, dt.datetime], n: int
) -> None:
    """The last n hours are n hours long, whatever the clocks on the wall did."""
    zone, moment = asked
    now = moment.replace(tzinfo=ZoneInfo(zone))
    span = find_timespan(f"What did I say in the last {n} hours?", now=now)

    assert span is not None
    assert span.start is not None
    assert span.end is not None
    assert now.timestamp() - span.start.timestamp() == 3600 * n
    assert span.end.timestamp() == now.timestamp()
