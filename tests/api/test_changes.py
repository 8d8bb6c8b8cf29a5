"""One person's changes: each is undone, and nothing of anybody else's with it."""

from __future__ import annotations

import dataclasses

import pytest

from family_recall import FamilyRecall, Grant, Memory, RecallContext, Relation
from family_recall.api import Changes
from family_recall.errors import (
    ConflictError,
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
    UnknownMemoryError,
    UnknownSpaceError,
)
from tests.conftest import HOME, NOW, PLENTY_MS, Wall, recall, remember

MINE = "My locker at the pool is 218"


@pytest.fixture
def his(home: FamilyRecall) -> Changes:
    """Return Rajesh's changes, in a household with a memory that he may correct."""
    remember(home, MINE, doc_id="mine", author="rajesh", labels=("pool",), occurred_at=NOW)
    return Changes(home, "rajesh")


def stored(changes: Changes, doc_id: str = "mine") -> Memory:
    """Return a memory as its person sees it."""
    return changes.home.memories.get(doc_id, person_id=changes.person_id).current.memory


def test_what_was_added_is_gone(his: Changes) -> None:
    """It is in the person's own name, and undoing leaves no memory of it; twice adds nothing."""
    memory = Memory("The ladder is at Ravi's", HOME, occurred_at=NOW)

    added, change = his.add(memory)
    _, again = his.add(memory)

    assert stored(his, added.doc_id).author == "rajesh"
    assert again is None
    assert change is not None
    change.undo()
    with pytest.raises(UnknownMemoryError):
        stored(his, added.doc_id)


def test_only_their_own_name_and_spaces_are_written(his: Changes) -> None:
    """Nobody adds in another's name, nor where they may not enter."""
    with pytest.raises(NotTheirsError):
        his.add(Memory("I owe Rajesh ten pounds", HOME, author="priya"))
    with pytest.raises(UnknownSpaceError):
        his.add(Memory("A secret", "private:priya"))
    with pytest.raises(InvalidMemoryError):
        his.add(Memory("Another", HOME, band="black"))


def test_a_memory_that_was_changed_since_stays(his: Changes, wall: Wall) -> None:
    """What somebody corrected after it was added is not removed by undoing the adding."""
    added, change = his.add(Memory("The ladder is at Ravi's", HOME, doc_id="ladder"))
    wall.tick(minutes=1)
    his.correct(added.doc_id, text="The ladder is in the shed")

    assert change is not None
    with pytest.raises(ConflictError, match="changed since"):
        change.undo()
    assert stored(his, "ladder").text == "The ladder is in the shed"


def test_a_correction_is_undone_field_by_field(his: Changes, wall: Wall) -> None:
    """Text and moment are as before, and a title that was given meanwhile stays."""
    before = stored(his)
    _, change = his.correct("mine", text="It is 812", occurred_at="2025-01-01T09:00")
    wall.tick(minutes=1)
    his.correct("mine", title="Locker")
    wall.tick(minutes=1)

    assert change is not None
    change.undo()

    assert stored(his) == dataclasses.replace(before, title="Locker")
    assert len(his.home.memories.get("mine", person_id="rajesh").earlier) == 3


def test_a_correction_that_was_corrected_stays(his: Changes, wall: Wall) -> None:
    """Undoing the first would overwrite what the second says."""
    _, first = his.correct("mine", text="It is 812")
    wall.tick(minutes=1)
    his.correct("mine", text="It is 333")

    assert first is not None
    with pytest.raises(ConflictError, match="corrected again"):
        first.undo()
    assert stored(his).text == "It is 333"
    assert his.correct("mine", text="It is 333")[1] is None


def test_undoing_needs_the_right_to_change(his: Changes, wall: Wall) -> None:
    """Priya, an owner for a while, cannot undo once she no longer may correct what he said."""
    his.home.spaces.grant(Grant("priya", HOME, "owner"))
    _, change = Changes(his.home, "priya").correct("mine", text="It is 812")
    wall.tick(minutes=1)
    his.home.spaces.grant(Grant("priya", HOME, "adult"))

    assert change is not None
    with pytest.raises(NotTheirsError):
        change.undo()
    assert stored(his).text == "It is 812"


def test_what_was_forgotten_comes_back_once(his: Changes) -> None:
    """From the trash; without a trash there is nothing to undo."""
    _, change = his.forget("mine")

    assert change is not None
    with pytest.raises(UnknownMemoryError):
        stored(his)
    change.undo()
    assert stored(his).labels == ("pool",)
    with pytest.raises(InvalidRequestError):
        change.undo()
    assert his.forget("mine", undo_for=None)[1] is None


def test_feedback_is_undone_in_turn(his: Changes) -> None:
    """The last first: undoing the earlier would take the later with it."""
    ctx = RecallContext("rajesh", time_budget_ms=PLENTY_MS, now=NOW)
    _, first = his.feedback("where is the spare key", "key", False, ctx)
    _, second = his.feedback("what cake does Mia want", "cake", True, ctx)

    assert first is not None
    assert second is not None
    with pytest.raises(ConflictError, match="undo the later first"):
        first.undo()
    second.undo()
    first.undo()
    (learned,) = his.home.learning.all("rajesh")
    assert learned.samples == 0
    assert recall(his.home, "where is the spare key", "rajesh").results[0].doc_id == "key"


def test_a_relation_is_undone_with_what_it_replaced(his: Changes) -> None:
    """The second has other evidence; undone, the first is there as it was; then none."""
    remember(his.home, "Elena coaches me", doc_id="coach", author="rajesh")
    relation = Relation("Elena", "coach of", "Mia", HOME, evidence=("mine",))
    first = his.relate(relation)
    before = his.home.relations.all(person_id="rajesh")
    second = his.relate(dataclasses.replace(relation, evidence=("coach",), confidence=0.5))

    assert his.home.relations.all(person_id="rajesh") != before
    second.undo()
    assert his.home.relations.all(person_id="rajesh") == before
    first.undo()
    assert his.home.relations.all(person_id="rajesh") == []


def test_a_removed_relation_is_stated_again(his: Changes) -> None:
    """As it was; removing what nobody stated leaves nothing to undo."""
    his.relate(Relation("Elena", "coach of", "Mia", HOME, evidence=("mine",)))
    (relation,) = his.home.relations.all(person_id="rajesh")

    change = his.unrelate([relation])

    assert change is not None
    assert his.home.relations.all(person_id="rajesh") == []
    assert his.unrelate([relation]) is None
    change.undo()
    assert his.home.relations.all(person_id="rajesh") == [relation]
