"""Moving: zone, country and hemisphere change while a household is open."""

from __future__ import annotations

import shutil
import threading
import zoneinfo
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Region
from family_recall.errors import InvalidRequestError
from tests.conftest import NOW, move_in, open_home, recall, remember, stories, written

ZONES = ("Asia/Kolkata", "America/Los_Angeles", "Pacific/Auckland", "UTC")
QUESTIONS = ("What happened yesterday?", "What is on tomorrow?", "What did we do last summer?",
             "What was at Thanksgiving?", "What happened at six in the evening?")  # fmt: skip
PLACES = st.fixed_dictionaries(
    {},
    optional={
        "timezone": st.sampled_from(ZONES),
        "country": st.sampled_from(["US", "IN", "CA"]),
        "hemisphere": st.sampled_from(["north", "south"]),
    },
)


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a household with memories around midnight, to be copied."""
    path = tmp_path_factory.mktemp("lived_in") / "family.db"
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        for day in ("2025-06-14T23:30Z", "2025-06-15T03:00Z", "2025-06-16T02:00Z",
                    "2025-01-10T12:00Z", "2024-11-28T12:00Z", "2024-10-14T12:00Z"):  # fmt: skip
            remember(home, f"A walk in the park on {day}", occurred_at=day)
    return path


def answered(home: FamilyRecall, question: str) -> str:
    """Ask, and write out the answer and the place, less what stages cost before."""
    answer = recall(home, question, "priya")
    trace = msgspec.structs.replace(answer.trace, gate=None)
    return f"{written(msgspec.structs.replace(answer, trace=trace))} {home.region} {home.zone}"


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(PLACES, min_size=1, max_size=3), st.sampled_from(QUESTIONS))
def test_a_household_that_moved_answers_as_if_opened_there(
    lived_in: Path, places: list[dict[str, str]], question: str
) -> None:
    """The next answer is, to the bit, that of the file opened again, and so is the region."""
    path = lived_in.with_name("moved.db")
    shutil.copyfile(lived_in, path)
    with open_home(path) as home:
        recall(home, question, "priya")
        for place in places:
            home.move(**place)
        moved = answered(home, question)
    with open_home(path) as home:
        assert answered(home, question) == moved


def test_every_thread_lives_there_from_then_on(path: Path) -> None:
    """A thread that asked before asks of another day after, and of another summer."""
    seen = []
    asked, moved = threading.Event(), threading.Event()
    with open_home(path) as home:

        def ask() -> None:
            for event in (asked, None):
                understood = home.understand("What happened last summer?", now=NOW)
                seen.append(understood.timespan)
                if event is not None:
                    event.set()
                    moved.wait(60)

        thread = threading.Thread(target=ask)
        thread.start()
        asked.wait(60)
        home.move(timezone="Pacific/Auckland", hemisphere="south")
        moved.set()
        thread.join()

    starts = [span.start for span in seen if span is not None and span.start is not None]
    assert [(start.year, start.month) for start in starts] == [(2024, 6), (2024, 12)]
    assert str(starts[1].tzinfo) == "Pacific/Auckland"


def test_what_there_is_not_is_refused(home: FamilyRecall) -> None:
    """A zone, country or hemisphere of no such name leaves all three as they were."""
    for place in (
        {"timezone": "Europe/Atlantis"},
        {"timezone": "Asia/Kolkata", "country": "Atlantis"},
        {"country": "IN", "hemisphere": "east"},
    ):
        with pytest.raises(InvalidRequestError):
            home.move(**place)
    assert (home.zone, home.region) == (zoneinfo.ZoneInfo("UTC"), Region())


def test_movers_at_once_agree_with_the_file(path: Path) -> None:
    """In whatever order they come, what is in use is what is stored."""
    with open_home(path) as home:
        threads = [threading.Thread(target=home.move, kwargs={"timezone": zone}) for zone in ZONES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        zone = str(home.zone)
    with open_home(path) as home:
        assert str(home.zone) == zone
