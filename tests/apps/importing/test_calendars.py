"""Calendars: single, whole-day and repeated events, zones, and what was cancelled."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest

from family_recall.apps.importing.calendars import read_calendar
from family_recall.errors import DatasetError
from tests.importing_settings import SETTINGS, moments, reasons, texts


def calendar(*events: str, head: str = "") -> str:
    """Return an iCalendar text of some events, each as its lines."""
    parts = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{head}{parts}END:VCALENDAR\n"


def test_an_event_says_when_and_where_in_the_households_zone() -> None:
    """UTC becomes local time, broken lines are joined, floating times are local already."""
    text = calendar(
        "UID:a\nDTSTART:20261110T170000Z\nDTEND:20261110T183000Z\nSUMMARY:Mia has a piano\n"
        "  recital\nLOCATION:Music school\nDESCRIPTION:Bring\\nflowers\n"
        "CATEGORIES:Mia,Music",
        "UID:b\nDTSTART:20261111T090000\nDURATION:PT30M\nSUMMARY:Dentist.",
    )

    reading = read_calendar(text, "c.ics", SETTINGS)

    when = "Tuesday 10 November 2026, 18:00 to 19:30"
    assert texts(reading) == [
        f"Mia has a piano recital: {when}. At Music school.\nBring\nflowers",
        "Dentist.: Wednesday 11 November 2026, 09:00 to 09:30.",
    ]
    assert [draft.key for draft in reading.drafts] == ["a", "b"]
    assert reading.drafts[0].where == "c.ics:5"
    assert reading.drafts[0].fields["labels"] == ("Mia", "Music")
    at = moments(reading.drafts)
    assert at[0] == dt.datetime(2026, 11, 10, 17, 0, tzinfo=dt.UTC)
    assert at[1] == dt.datetime(2026, 11, 11, 9, 0)  # noqa: DTZ001 -- floating


def test_whole_days_end_before_the_day_that_is_named() -> None:
    """DTEND of a whole day is excluded (RFC 5545, 3.6.1)."""
    text = calendar(
        "UID:a\nDTSTART;VALUE=DATE:20261019\nDTEND;VALUE=DATE:20261031\nSUMMARY:Holidays",
        "UID:b\nDTSTART;VALUE=DATE:20261019\nSUMMARY:Bring cake",
        "UID:c\nDTSTART;VALUE=DATE:20261019\nDTEND:20261031T170000Z\nSUMMARY:Half",
    )

    assert texts(read_calendar(text, "c.ics", SETTINGS)) == [
        "Holidays: Monday 19 October 2026 to Friday 30 October 2026.",
        "Bring cake: Monday 19 October 2026, all day.",
        "Half: Monday 19 October 2026, all day.",
    ]


def test_a_repeated_event_is_its_occurrences_around_now() -> None:
    """It is 1 November 2026: from 2 October to 1 February, without the one that is cancelled.

    One that was moved is stored wherever it lies, and each has the rule in words.
    """
    series = "UID:a\nDTSTART;TZID=Europe/Berlin:20260901T163000\nSUMMARY:Piano\n"
    text = calendar(
        f"{series}RRULE:FREQ=WEEKLY;BYDAY=TU\nEXDATE;TZID=Europe/Berlin:20261006T163000",
        "UID:a\nRECURRENCE-ID;TZID=Europe/Berlin:20261103T163000\n"
        "DTSTART;TZID=Europe/Berlin:20261104T150000\nSUMMARY:Piano (moved)",
        "UID:a\nRECURRENCE-ID;TZID=Europe/Berlin:20261110T163000\nSTATUS:CANCELLED\n"
        "DTSTART;TZID=Europe/Berlin:20261110T163000\nSUMMARY:Piano",
    )

    reading = read_calendar(text, "c.ics", SETTINGS)

    words = texts(reading)
    assert words[:3] == [
        "Piano: Tuesday 13 October 2026, 16:30, every week on Tuesday.",
        "Piano: Tuesday 20 October 2026, 16:30, every week on Tuesday.",
        "Piano: Tuesday 27 October 2026, 16:30, every week on Tuesday.",
    ]
    assert words[3] == "Piano (moved): Wednesday 4 November 2026, 15:00."
    assert "Tuesday 17 November" in words[4]
    assert "Tuesday 26 January 2027" in words[-1]
    assert reasons(reading) == ["cancelled events"]


@pytest.mark.parametrize(
    ("rule", "first", "expected"),
    [
        ("FREQ=DAILY", "20260101T080000", ["Pills: Thursday 1 January 2026, 08:00, every day."]),
        (
            "FREQ=WEEKLY;INTERVAL=2;COUNT=3",
            "20190101T080000",
            ["Pills: Tuesday 1 January 2019, 08:00, every 2 weeks, 3 times."],
        ),
        (
            "FREQ=DAILY\nRRULE:FREQ=WEEKLY",
            "20260101T080000",
            ["Pills: Thursday 1 January 2026, 08:00, repeatedly."],
        ),
        (
            "FREQ=SECONDLY",
            "20260101T080000",
            ["Pills: Thursday 1 January 2026, 08:00, repeatedly."],
        ),
        ("FREQ=YEARLY", "20000704T080000", ["Pills: Sunday 4 July 2027, 08:00, every year."]),
        (
            "FREQ=MONTHLY;BYDAY=2FR;UNTIL=20261018T000000Z",
            "20260109T080000",
            ["Pills: Friday 9 October 2026, 08:00, every month on the second Friday until"],
        ),
    ],
)
def test_what_is_too_often_or_over_is_told_once(rule: str, first: str, expected: list[str]) -> None:
    """Every day: once, with its rule. Over: once. Once a year: the next time."""
    text = calendar(f"UID:a\nDTSTART:{first}\nRRULE:{rule}\nSUMMARY:Pills")

    read = texts(read_calendar(text, "c.ics", SETTINGS))

    assert [words[: len(start)] for words, start in zip(read, expected, strict=True)] == expected


def test_past_occurrences_stay_when_the_window_moves_on() -> None:
    """What was read in autumn is kept in spring, unless its event is gone from the calendar."""
    text = calendar("UID:a\nDTSTART:20260901T163000\nRRULE:FREQ=WEEKLY\nSUMMARY:Piano")
    autumn = read_calendar(text, "c.ics", SETTINGS)
    spring = dataclasses.replace(SETTINGS, now=SETTINGS.now + dt.timedelta(days=150))

    later = read_calendar(text, "c.ics", spring)
    without = read_calendar(calendar("UID:b\nDTSTART:20260901T163000\nSUMMARY:x"), "c.ics", spring)

    keys = {draft.key for draft in later.drafts}
    assert {draft.key for draft in autumn.drafts if not later.keeps(draft.key)} <= keys
    assert any(later.keeps(draft.key) for draft in autumn.drafts)
    assert not any(without.keeps(draft.key) for draft in autumn.drafts)


def test_a_cancelled_event_is_left_out() -> None:
    """By its status, or because the whole file cancels."""
    event = "UID:a\nDTSTART:20261110T170000Z\nSUMMARY:Party"

    assert reasons(read_calendar(calendar(f"{event}\nSTATUS:CANCELLED"), "c.ics", SETTINGS)) == [
        "cancelled events"
    ]
    cancelling = calendar(event, head="METHOD:CANCEL\n")
    assert reasons(read_calendar(cancelling, "c.ics", SETTINGS)) == ["cancelled events"]


def test_of_versions_of_an_event_the_newest_counts() -> None:
    """By SEQUENCE, whatever their order in the file."""
    event = "UID:a\nDTSTART:20261110T170000Z\n"

    reading = read_calendar(
        calendar(f"{event}SEQUENCE:2\nSUMMARY:New", f"{event}SEQUENCE:1\nSUMMARY:Old"),
        "c.ics",
        SETTINGS,
    )

    assert [text[:3] for text in texts(reading)] == ["New"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "c.ics:1: expected iCalendar"),
        ("", "c.ics:1: expected BEGIN:VCALENDAR"),
        (calendar("UID:a").replace("END:VCALENDAR\n", ""), "c.ics:6: expected BEGIN:VCALENDAR"),
        (calendar("UID:a\nDTSTART:soon\nSUMMARY:x"), "c.ics:6: expected iCalendar, got DTSTART"),
        (calendar("UID:a\nbroken line\nSUMMARY:x"), "c.ics:6: expected iCalendar"),
        (
            calendar("UID:a\nDTSTART:20261110T170000Z\nRRULE:FREQ=SOMETIMES\nSUMMARY:x"),
            "c.ics:7: expected iCalendar, got RRULE",
        ),
    ],
)
def test_a_broken_calendar_is_an_error_with_its_line(text: str, message: str) -> None:
    """Nothing of it is read."""
    with pytest.raises(DatasetError) as error:
        read_calendar(text, "c.ics", SETTINGS)

    assert message in str(error.value)


def test_what_is_no_event_is_left_out() -> None:
    """Without a title, without a date, or in the year 1."""
    text = calendar(
        "UID:a\nDTSTART:20261110T170000Z", "UID:b\nSUMMARY:x", "UID:c\nDTSTART:00010101\nSUMMARY:x"
    )

    assert reasons(read_calendar(text, "c.ics", SETTINGS)) == [
        "events without a title",
        "events without a date",
        "events without a date",
    ]
