"""The times that statements mention."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.english.times import times_mentioned

SAID_AT = dt.datetime(2025, 3, 12, 18, 30, tzinfo=ZoneInfo("Europe/London"))
"""A Wednesday; the week runs from Monday 10 to Sunday 16 March."""


def told(text: str, said_at: dt.datetime = SAID_AT) -> list[str]:
    """Return the times of a statement as ``first day`` or ``first day/last day``."""
    days = []
    for start, end, _ in times_mentioned(text, said_at=said_at, country="GB"):
        last = (end - dt.timedelta(microseconds=1)).date()
        days.append(f"{start.date()}" + (f"/{last}" if last != start.date() else ""))
    return days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        # Worked out with a calendar of March 2025.
        ("The plumber comes on Friday", ["2025-03-14"]),
        ("plumber friday, bring the dog in", ["2025-03-14"]),
        ("Orthodontist is thursday the 20th 3.40", ["2025-03-20"]),
        ("Choir practice starts sunday 6 april 9.30", ["2025-04-06"]),
        ("Booked the eye test, 2 May, 4pm", ["2025-05-02"]),
        ("Dentist on Thursday 20 March, Dr Lee, a filling on the upper left", ["2025-03-20"]),
        ("On Sunday, we went to the aquarium, all of us", ["2025-03-09"]),
        ("We went to the aquarium on Sunday", ["2025-03-09"]),
        ("On Sunday Ines fell off the wall", ["2025-03-09"]),
        ("Yesterday the boiler stopped", ["2025-03-11"]),
        ("The optician called: the twelve of May, bring your glasses", ["2025-05-12"]),
        ("On Sunday we decided: the fence goes up on 5 April", ["2025-03-09", "2025-04-05"]),
        ("Got the job, starts Monday", ["2025-03-17"]),
        ("Camp is 14 to 17 april", ["2025-04-14/2025-04-17"]),
        ("Back on the 20th. Then the vet on the 27th.", ["2025-03-20", "2025-03-27"]),
        ("Dad is getting married on 9 August", ["2025-08-09"]),
        ("We moved the parents' evening to 3 April at 6 pm", ["2025-04-03"]),
        ("The match was pushed to 6 April", ["2025-04-06"]),
        ("We moved to Bristol on 3 January", ["2025-01-03"]),
        ("We moved here in 2019", ["2019-01-01/2019-12-31"]),
        ("bins go out today", []),
        ("Pilates is every Monday", []),
        ("May called", []),
        ("the nineties were loud", []),
    ],
)
def test_a_statement_tells_times(text: str, days: list[str]) -> None:
    """Without a verb that looks back a day is the coming one; the day itself is left out."""
    assert told(text) == days


def test_hours_are_read() -> None:
    """*On Thursday at eleven* is the half hour before and after."""
    (mention,) = times_mentioned("Hearing check on Thursday at eleven", said_at=SAID_AT)

    assert (mention.start.hour, mention.start.minute) == (10, 30)
    assert (mention.end.hour, mention.end.minute) == (11, 30)


def test_hours_of_either_half_are_both_read() -> None:
    """*At half seven* is the morning's, and less surely the evening's."""
    early, late = times_mentioned("Choir is on Thursday at half seven", said_at=SAID_AT)

    assert (early.start.hour, late.start.hour) == (7, 19)
    assert early.certainty > late.certainty
    (surely,) = times_mentioned("Choir is on Thursday at 7:30 pm", said_at=SAID_AT)
    assert surely.start.hour == 19


def test_a_moment_needs_a_zone() -> None:
    """A naive moment is refused, as by ``find_timespan``."""
    with pytest.raises(ValueError, match="zone"):
        times_mentioned("tomorrow", said_at=SAID_AT.replace(tzinfo=None))


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=200), day=st.dates(dt.date(1950, 1, 1), dt.date(2100, 1, 1)))
def test_any_text_mentions_proper_times(text: str, day: dt.date) -> None:
    """Each mention begins before it ends, is at most a year long, and is told once."""
    said_at = dt.datetime.combine(day, dt.time(9), ZoneInfo("Australia/Sydney"))
    mentions = times_mentioned(text, said_at=said_at, country="AU", hemisphere="south")

    assert all(dt.timedelta() < end - start <= dt.timedelta(days=366) for start, end, _ in mentions)
    assert len({(start, end) for start, end, _ in mentions}) == len(mentions)
