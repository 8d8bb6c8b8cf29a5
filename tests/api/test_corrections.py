"""Who may correct a memory, what that changes, and what stays as it was."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from family_recall import FamilyRecall, Grant, Hidden, RecallContext
from family_recall.errors import (
    ConflictError,
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
    UnknownMemoryError,
    UnknownPersonError,
)
from family_recall.types import Memory
from tests.conftest import HOME, Wall, found, move_in, open_home, recall, remember

PRIVATE = "private:rajesh"


@pytest.fixture
def household(home: FamilyRecall) -> FamilyRecall:
    """Store a memory of Rajesh and one of Priya in a space that nobody owns."""
    remember(home, "Elena coaches me at the pool", doc_id="coach", author="rajesh",
             labels=("pool",), importance=0.7)  # fmt: skip
    remember(home, "Elena is at the pool on Mondays", doc_id="mondays", author="Priya")
    return home


def current(home: FamilyRecall, doc_id: str = "coach", person_id: str = "rajesh") -> Memory:
    """Return a memory as a person sees it."""
    return home.memories.get(doc_id, person_id=person_id).current.memory


def test_a_correction_changes_the_named_fields_and_reports_them(
    household: FamilyRecall, wall: Wall
) -> None:
    """Other fields stay as they are; what it said before is an earlier version."""
    before = current(household)
    wall.tick(minutes=1)

    corrected = household.correct(
        "coach", person_id="rajesh", text="Elena coaches me at sea", importance=0.7
    )

    assert corrected.changed == {"text": (before.text, "Elena coaches me at sea")}
    assert (corrected.doc_id, corrected.space_id) == ("coach", HOME)
    assert current(household) == dataclasses.replace(before, text="Elena coaches me at sea")
    (earlier,) = household.memories.get("coach", RecallContext("rajesh")).earlier
    assert earlier.memory == before
    assert not household.correct(
        "coach", person_id="rajesh", text="Elena coaches me at sea"
    ).changed
    assert len(household.memories.get("coach", RecallContext("rajesh")).earlier) == 1


@pytest.mark.parametrize(
    ("person_id", "doc_id", "allowed"),
    [("rajesh", "coach", True), ("priya", "coach", False), ("priya", "mondays", True),
     ("mia", "coach", False), ("mia", "mondays", False)],
)  # fmt: skip
def test_the_author_may_correct_it(
    household: FamilyRecall, person_id: str, doc_id: str, allowed: bool
) -> None:
    """Nobody else, where nobody owns the space; an owner may correct everything."""
    before = current(household, doc_id)

    assert household.memories.may_correct(doc_id, person_id=person_id) is allowed
    if not allowed:
        with pytest.raises(NotTheirsError, match="only by its author, or by an owner"):
            household.correct(doc_id, person_id=person_id, text="Hacked")
        assert current(household, doc_id) == before
    household.spaces.grant(Grant(person_id, HOME, "owner"))
    assert household.memories.may_correct(doc_id, person_id=person_id)
    household.correct(doc_id, person_id=person_id, text="An owner's word", author="mia")
    assert (current(household, doc_id).text, current(household, doc_id).author) == (
        "An owner's word",
        "mia",
    )


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"text": " "}, InvalidMemoryError, "text must be a text that is not empty"),
        ({"txt": "x"}, InvalidMemoryError, "unknown field 'txt'; what can be corrected is text"),
        ({"space_id": PRIVATE}, UnknownMemoryError, "no memory 'coach'"),
        ({"band": "black"}, InvalidMemoryError, "where you are adult; choose among green, amber"),
        ({"author": "Priya"}, InvalidMemoryError, "only an owner of its space"),
        ({"person_id": "zoe"}, UnknownPersonError, "zoe"),
        ({"person_id": None}, InvalidRequestError, "person_id must be text, got None"),
        ({"doc_id": "nothing"}, UnknownMemoryError, "no memory 'nothing'"),
        ({"guardians_of": "mia"}, InvalidMemoryError, "remember it there and forget it here"),
        ({"embed": "never"}, InvalidRequestError, "embed must be one of now, later"),
    ],
)  # fmt: skip
def test_a_wrong_correction_is_refused(
    household: FamilyRecall, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    """The error names what was expected, and the way out; nothing changes."""
    before = current(household)
    call = {"doc_id": "coach", "person_id": "rajesh", **arguments}

    with pytest.raises(error, match=words):
        household.correct(**call)

    assert current(household) == before


def test_an_id_in_two_spaces_needs_the_space(household: FamilyRecall) -> None:
    """With the space, the memory there changes, and the other stays."""
    remember(household, "Elena again", PRIVATE, doc_id="coach", author="rajesh")

    with pytest.raises(InvalidRequestError, match=f"{PRIVATE} and {HOME}"):
        household.correct("coach", person_id="rajesh", text="x")
    household.correct("coach", person_id="rajesh", space_id=PRIVATE, text="Elena twice")

    ctx = RecallContext("rajesh")
    texts = [
        household.memories.get("coach", ctx, space_id=space_id).current.memory.text
        for space_id in (PRIVATE, HOME)
    ]
    assert texts == ["Elena twice", "Elena coaches me at the pool"]


def test_a_newer_version_is_not_overwritten(household: FamilyRecall, wall: Wall) -> None:
    """A correction of the version that was read applies to that version, or not at all."""
    read_at = household.memories.get("coach", RecallContext("rajesh")).current.recorded_at
    wall.tick(minutes=1)
    household.correct("coach", person_id="rajesh", recorded_at=read_at, title="Swimming")

    with pytest.raises(ConflictError, match="after the version of"):
        household.correct("coach", person_id="rajesh", recorded_at=read_at, text="x")

    assert current(household).title == "Swimming"


def test_a_hidden_field_stays_and_cannot_be_set(household: FamilyRecall) -> None:
    """A person from whom it is hidden corrects the rest, and learns nothing of it."""
    household.spaces.hide(Hidden(HOME, "adult", ("author", "importance", "labels")))
    assert current(household).labels == ()

    corrected = household.correct("coach", person_id="rajesh", text="Elena coaches me")
    with pytest.raises(NotTheirsError, match="importance, labels is hidden from you"):
        household.correct("coach", person_id="rajesh", labels=("sea",), importance=0.5)
    assert not household.memories.may_correct("coach", person_id="priya")

    assert list(corrected.changed) == ["text"]
    household.spaces.hide(Hidden(HOME, "adult", ()))
    visible = current(household)
    assert (visible.text, visible.author, visible.labels) == (
        "Elena coaches me",
        "rajesh",
        ("pool",),
    )
    assert visible.importance == 0.7


def test_a_correction_is_in_the_audit_log(household: FamilyRecall) -> None:
    """The correction returns what it said before, and so counts as a look."""
    household.spaces.grant(Grant("priya", HOME, "owner"))
    household.correct("coach", person_id="rajesh", text="Elena coaches me")

    (entry,) = household.audit.entries("priya")

    assert (entry.call, entry.person_id, entry.memories) == ("look", "rajesh", ((HOME, "coach"),))


@pytest.mark.parametrize("again", ["correct", "remember"])
@pytest.mark.parametrize("hide", [False, True])
def test_a_raised_band_covers_earlier_versions(tmp_path: Path, again: str, hide: bool) -> None:
    """A person who may not see a memory any more sees no earlier version of it either.

    Not in the past, by explaining, page by page, as a context, nor in what is counted.
    """
    wall = Wall()
    with open_home(tmp_path / "family.db", wall=wall) as home:
        move_in(home)
        home.spaces.grant(Grant("rajesh", HOME, "owner"))
        if hide:
            home.spaces.hide(Hidden(HOME, "child", ("labels",)))
        remember(home, "The swimming lesson is at four", doc_id="swim", session_id="s")
        remember(home, "The present is a red bicycle", doc_id="gift", session_id="s")
        remember(home, "We bake a cake on Sunday", doc_id="cake", session_id="s")
        remember(home, "We bake a cake on Monday", doc_id="cake", session_id="s")
        before = wall.tick(minutes=1)
        wall.tick(minutes=1)
        if again == "correct":
            home.correct("gift", person_id="rajesh", text="The present is a kite", band="red")
        else:
            remember(home, "The present is a kite", doc_id="gift", band="red", session_id="s")

        then = recall(home, "what is the present? a red bicycle", "mia", known_at=before)
        assert "gift" not in found(then)
        assert "bicycle" not in json.dumps(then.to_json()["results"])
        with pytest.raises(UnknownMemoryError):
            home.memories.get("gift", person_id="mia")
        with pytest.raises(UnknownMemoryError):
            home.explain("the red bicycle", "gift", person_id="mia", known_at=before)

        assert found(recall(home, "the red bicycle", "rajesh", known_at=before))[0] == "gift"
        (earlier,) = home.memories.get("gift", person_id="rajesh").earlier
        assert (earlier.memory.text, earlier.memory.band) == ("The present is a red bicycle", "red")
        assert [one for one in home.maintenance.check() if one.problem] == []
        home.maintenance.rebuild()
        assert [one for one in home.maintenance.check() if one.problem] == []
        assert "gift" not in found(recall(home, "a red bicycle", "mia", known_at=before))
