"""Events that are repeated: the next one first, and what is cancelled or moved is known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from tests.conftest import HOME, Wall, move_in, open_home, recall

NOW = dt.datetime(2026, 11, 27, 12, tzinfo=dt.UTC)
"""A Friday."""

EVENTS = (
    "UID:blue\nDTSTART;VALUE=DATE:20260714\nRRULE:FREQ=WEEKLY;INTERVAL=2\nSUMMARY:Blue bin",
    "UID:green\nDTSTART;VALUE=DATE:20260721\nRRULE:FREQ=WEEKLY;INTERVAL=2\nSUMMARY:Green bin",
    "UID:s\nDTSTART:20260711T100000\nRRULE:FREQ=WEEKLY\nEXDATE:20261128T100000\nSUMMARY:Swimming",
    "UID:piano\nDTSTART:20260712T163000\nRRULE:FREQ=WEEKLY\nSUMMARY:Piano lesson",
    "UID:piano\nRECURRENCE-ID:20261129T163000\nDTSTART:20261130T150000\nSUMMARY:Piano lesson",
    "UID:yoga\nDTSTART:20260819T070000\nRRULE:FREQ=DAILY\nEXDATE:20261128T070000\nSUMMARY:Yoga",
)


@pytest.fixture
def home(path: Path, tmp_path: Path) -> Iterator[FamilyRecall]:
    """Open a household that has read a calendar."""
    body = "".join(f"BEGIN:VEVENT\n{event}\nEND:VEVENT\n" for event in EVENTS)
    (tmp_path / "family.ics").write_text(f"BEGIN:VCALENDAR\n{body}END:VCALENDAR\n", "utf-8")
    with open_home(path, wall=Wall(NOW)) as home:
        move_in(home)
        home.sources.import_file(tmp_path / "family.ics", space_id=HOME)
        yield home


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When is the blue bin next out?", "Blue bin: Tuesday 1 December 2026, all day"),
        ("When does the blue bin go out?", "Blue bin: Tuesday 1 December 2026, all day"),
        ("When is the next green bin?", "Green bin: Tuesday 8 December 2026, all day"),
        ("When was the blue bin last out?", "Blue bin: Tuesday 17 November 2026, all day"),
        ("When is swimming next?", "Swimming: Saturday 5 December 2026, 10:00"),
        ("When is the next piano lesson?", "Piano lesson: Monday 30 November 2026, 15:00, instead"),
        ("When is yoga next?", "Yoga: Wednesday 19 August 2026, 07:00, every day, except"),
        ("Is there swimming tomorrow?", "Swimming: Saturday 28 November 2026, 10:00, is cancelled"),
        ("Is there yoga tomorrow?", "Yoga: Saturday 28 November 2026, 07:00, is cancelled"),
        (
            "Is there a piano lesson on 29 November?",
            "Piano lesson: Sunday 29 November 2026, 16:30, is moved to Monday 30 November 2026",
        ),
        ("Is there swimming on 12 December?", "Swimming: Saturday 12 December 2026, 10:00"),
    ],
)
def test_of_a_repeated_event_the_one_that_is_meant_is_first(
    home: FamilyRecall, question: str, expected: str
) -> None:
    """One that is cancelled is no next one; a day that is named has its own."""
    answer = recall(home, question, "mia", now=NOW)

    assert answer.results[0].text.startswith(expected)


def test_a_conversation_begins_with_tomorrow_and_with_what_has_been(home: FamilyRecall) -> None:
    """Not with what the calendar has for next year."""
    days = [result.on_day for result in home.opening(person_id="mia", now=NOW).results]

    assert days[:2] == ["2026-11-28", "2026-11-28"]
    assert max(str(day) for day in days[2:]) <= "2026-11-27"
    assert len(days) == 10
