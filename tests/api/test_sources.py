"""Sources: what a calendar wrote is updated, withdrawn and forgotten under its own keys."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Hidden
from family_recall.errors import (
    InvalidMemoryError,
    NotTheirsError,
    UnknownMemoryError,
    UnknownSpaceError,
)
from tests.conftest import HOME, NOW, TINY_STATIC, Wall, found, move_in, open_home, recall, remember

CALENDAR = "calendar.family"
TUESDAY = NOW + dt.timedelta(days=(1 - NOW.weekday()) % 7 or 7)
PRIVATE = "private:priya"


def write(home: FamilyRecall, key: str, text: str, **fields: Any) -> str:
    """Write as the calendar; return the outcome."""
    return home.sources.write(CALENDAR, key, text, **{"space_id": HOME, **fields}).outcome


def says(home: FamilyRecall, question: str, person: str = "priya", **ctx: Any) -> list[str]:
    """Return the texts from the calendar that answer a question."""
    ctx = {"top_k": 50, "filters": {"sources": (CALENDAR,)}, **ctx}
    return [result.text for result in recall(home, question, person, **ctx).results]


def test_the_same_again_changes_nothing_and_another_text_replaces(home: FamilyRecall) -> None:
    """A calendar may send all it has again: only what differs is stored, as a new version."""
    event = {"occurred_at": TUESDAY, "labels": ("dentist",)}

    assert write(home, "uid-1", "Dentist at nine", **event) == "created"
    assert write(home, "uid-1", "Dentist at nine", **event) == "unchanged"
    assert write(home, "uid-1", "Dentist at ten", **event) == "updated"
    later = {**event, "occurred_at": TUESDAY + dt.timedelta(days=1)}
    assert write(home, "uid-1", "Dentist at ten", **later) == "updated"
    assert says(home, "dentist") == ["Dentist at ten"]
    doc_id = found(recall(home, "dentist", "priya"))[0]
    assert len(home.memories.get(doc_id, person_id="priya").earlier) == 2


def test_what_lies_ahead_is_recalled_for_its_day(home: FamilyRecall) -> None:
    """An event of next Tuesday answers what is on Tuesday, and no more once it is withdrawn."""
    write(home, "uid-1", "Mia has a piano recital", occurred_at=TUESDAY)

    assert "Mia has a piano recital" in says(home, "What is on Tuesday?")
    assert home.sources.withdraw(CALENDAR, "uid-1")
    for question in ("What is on Tuesday?", "What is on this month?", "piano recital"):
        assert says(home, question) == []


def test_what_moves_to_another_space_leaves_the_first(home: FamilyRecall) -> None:
    """An event made private is private from then on."""
    write(home, "uid-1", "A surprise party")

    assert write(home, "uid-1", "A surprise party", space_id=PRIVATE) == "updated"
    assert says(home, "surprise party", "rajesh") == []
    assert says(home, "surprise party", "priya") == ["A surprise party"]
    assert write(home, "uid-1", "A surprise party", space_id=PRIVATE) == "unchanged"


def test_what_was_withdrawn_is_history(home: FamilyRecall, wall: Wall) -> None:
    """It is recalled as of when it was known, in a redacted view too, and can come back."""
    home.spaces.hide(Hidden(HOME, "child", ("labels",)))
    write(home, "uid-1", "Swimming lesson", labels=("sport",))
    then = wall.tick(minutes=1)
    wall.tick(minutes=1)

    assert home.sources.withdraw(CALENDAR, "uid-1")
    assert not home.sources.withdraw(CALENDAR, "uid-1")
    for person in ("priya", "mia"):
        assert says(home, "swimming lesson", person) == []
        assert says(home, "swimming lesson", person, known_at=then) == ["Swimming lesson"]
    assert write(home, "uid-1", "Swimming lesson") == "created"
    assert says(home, "swimming lesson", "mia") == ["Swimming lesson"]
    assert [one for one in home.maintenance.check() if one.problem] == []


def test_a_source_is_forgotten_whole_or_by_key(home: FamilyRecall) -> None:
    """With its history and what was withdrawn; the bytes are searched; others' memories stay."""
    for key, text in (
        ("a", "Zumba class"),
        ("a", "Zumba course"),
        ("b", "Yoga class"),
        ("c", "Chess club"),
    ):
        write(home, key, text)
    home.sources.withdraw(CALENDAR, "b")
    before = len(home.memories.page(person_id="priya").memories)
    one = home.sources.forget(CALENDAR, "a")
    assert one.proof is not None
    assert one.proof.searched
    assert (one.counts["memories"], one.chosen_by, one.person_id) == (1, ("source", "key"), None)
    assert home.erasure.verify(one, ["Zumba class", "Zumba course"]).forgotten

    rest = home.sources.forget(CALENDAR)
    assert rest.counts["memories"] == 2
    assert home.erasure.verify(rest, ["Yoga class", "Chess club"]).forgotten
    assert len(home.memories.page(person_id="priya").memories) == before - 2
    with pytest.raises(UnknownMemoryError):
        home.sources.forget(CALENDAR, "a")
    with pytest.raises(UnknownMemoryError):
        home.sources.forget(CALENDAR)


def test_sources_are_counted_and_their_keys_listed(home: FamilyRecall) -> None:
    """Each with what it says now and what it withdrew; any text is a key."""
    keys = ["uid/1 @x:y", "ünï", "%2F"]
    for key in keys:
        write(home, key, f"Event {key}")
    home.sources.write("calendar", "family/1", "Event", space_id=HOME)
    home.sources.write("calendar/family", "1", "Event", space_id=HOME)
    home.sources.withdraw(CALENDAR, "%2F")
    remember(home, "Heard", source="kitchen speaker")

    assert [(one.source, one.n_memories, one.n_withdrawn) for one in home.sources.all()] == [
        ("calendar", 1, 0), (CALENDAR, 2, 1), ("calendar/family", 1, 0), ("kitchen speaker", 1, 0)
    ]  # fmt: skip
    assert home.sources.keys("kitchen speaker") == []
    assert home.sources.keys("calendar/family") == ["1"]
    assert home.sources.keys(CALENDAR) == sorted(keys[:2])


def test_what_cannot_be_meant_is_refused(home: FamilyRecall) -> None:
    """No space, an unknown one, an id, an empty or endless key: nothing is stored."""
    write = home.sources.write
    for refused, fields in (
        (InvalidMemoryError, {}),
        (UnknownSpaceError, {"space_id": "nowhere"}),
        (InvalidMemoryError, {"space_id": HOME, "doc_id": "x"}),
        (InvalidMemoryError, {"space_id": HOME, "source": "x"}),
        (InvalidMemoryError, {"space_id": HOME, "colour": "x"}),
    ):
        with pytest.raises(refused):
            write(CALENDAR, "k", "Text", **fields)  # type: ignore[arg-type]
    for key in ("", "k" * 1001, "half \ud800"):
        with pytest.raises(InvalidMemoryError):
            write(CALENDAR, key, "Text", space_id=HOME)
    assert home.sources.all() == []


def test_a_source_replaces_nobody_elses_memory(home: FamilyRecall) -> None:
    """An id that a person's memory has already is not overwritten."""
    remember(home, "Mine", doc_id=f"{CALENDAR}/uid-1")

    with pytest.raises(NotTheirsError):
        write(home, "uid-1", "The calendar's")


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "write", "withdraw", "forget"]),
        st.sampled_from(["a", "b", "c/d"]),
        st.sampled_from(["Dentist for Mia", "Zoo with Grandma", "Choir on Tuesday"]),
        st.sampled_from([HOME, HOME, PRIVATE]),
    ),
    min_size=1,
    max_size=9,
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(_STEPS, st.booleans())
def test_a_source_says_what_it_said_last(
    steps: list[tuple[str, str, str, str]], sessions: bool
) -> None:
    """After any steps what is listed is what a dictionary holds, and the file is sound.

    What is written to a private space leaves the shared one; what is private stays. An export of
    it, with what was withdrawn, makes the same household.
    """
    wall, expected = Wall(), dict[tuple[str, str], str]()
    with tempfile.TemporaryDirectory() as folder:
        with open_home(Path(folder) / "a.db", wall=wall, static=TINY_STATIC) as home:
            move_in(home)
            home.spaces.hide(Hidden(HOME, "adult", ("labels",)))
            for step, key, text, space_id in steps:
                wall.tick(minutes=1)
                if step == "write":
                    before = expected.pop((key, space_id), None)
                    moved = expected.pop((key, HOME), None) if space_id == PRIVATE else None
                    same = before == text and moved is None
                    session = "s" if sessions else None
                    outcome = write(home, key, text, space_id=space_id, session_id=session)
                    is_new = before is None and moved is None
                    assert outcome == ("unchanged" if same else "created" if is_new else "updated")
                    expected[key, space_id] = text
                elif step == "withdraw":
                    places = [place for place in expected if place[0] == key]
                    assert home.sources.withdraw(CALENDAR, key) is bool(places)
                    for place in places:
                        del expected[place]
                elif home.sources.all():
                    home.sources.forget(CALENDAR)
                    expected.clear()
            listed = [
                (version.memory.text, version.memory.space_id)
                for version in home.memories.page(person_id="priya").memories
            ]
            assert sorted(listed) == sorted(
                (text, space_id) for (_, space_id), text in expected.items()
            )
            assert home.sources.keys(CALENDAR) == sorted({key for key, _ in expected})
            assert [one for one in home.maintenance.check() if one.problem] == []
            home.maintenance.export_to(Path(folder) / "a.jsonl")
            counts = home.sources.all()
        with open_home(Path(folder) / "b.db", wall=wall) as home:
            home.maintenance.import_from(Path(folder) / "a.jsonl")
            home.maintenance.export_to(Path(folder) / "b.jsonl")
            assert home.sources.all() == counts
            assert [one for one in home.maintenance.check() if one.problem] == []
        first, again = (Path(folder) / f"{name}.jsonl" for name in "ab")
        assert first.read_text("utf-8") == again.read_text("utf-8")
