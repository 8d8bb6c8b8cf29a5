"""Writers: a person stores only where, what and in whose name they may."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Hidden, Memory, Person, RecallContext
from family_recall.errors import (
    FamilyRecallError,
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
    UnknownPersonError,
    UnknownSpaceError,
)
from tests.conftest import HOME, Wall, open_home, remember
from tests.promises.households import (
    OPEN_BANDS,
    PEOPLE,
    Item,
    World,
    any_item,
    furnish,
    role_of,
    worlds,
)


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file with nothing in it, to be copied."""
    path = tmp_path_factory.mktemp("blank") / "family.db"
    with open_home(path, encoder=None):
        return path


def is_owner(world: World, person: str, space: str) -> bool:
    """Decide by hand whether a space is a person's: they own it, or nobody else may enter it."""
    alone = [who for who, where in world.grants if where == space] == [person]
    return role_of(world, person, space) == "owner" or (space.startswith("p:") and alone)


def is_they(person: str, author: object) -> bool:
    """Decide by hand whether an author, as written, is a person."""
    return author in {person, PEOPLE[person], PEOPLE[person].split(" ")[0]}


def refusal(world: World, person: str, item: Item) -> type[FamilyRecallError] | None:
    """Decide by hand how a person's memory is refused; None where it is stored."""
    space, role = item.space_id, role_of(world, person, item.space_id)

    def sees(other: Item) -> bool:
        return (
            role is not None
            and other.band in OPEN_BANDS[role]
            and (other.child is None or (person, other.child) in world.guardians)
        )

    def speaks_for(author: object) -> bool:
        return is_owner(world, person, space) or is_they(person, author)

    if role is None:
        return UnknownSpaceError
    if not sees(item):
        return InvalidMemoryError
    if (author := item.about.get("author")) is not None and not speaks_for(author):
        return NotTheirsError
    before = {(one.space_id, one.doc_id): one for one in world.items}.get((space, item.doc_id))
    if before is not None and not (
        sees(before)
        and speaks_for(before.about.get("author"))
        and not world.hidden.get((space, role))
    ):
        return NotTheirsError
    return None


@settings(max_examples=150, deadline=None, derandomize=True)
@given(worlds(), any_item, st.sampled_from(sorted(PEOPLE)))
def test_a_person_stores_what_the_policy_lets_them_and_no_more(
    blank: Path, world: World, item: Item, person: str
) -> None:
    """What is stored or refused for a writer is what a policy written by hand decides.

    A refusal leaves the household as it was; what is stored has an author.
    """
    wall = Wall()
    expected = refusal(world, person, item)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        shutil.copyfile(blank, path)
        with open_home(path, encoder=None, wall=wall) as home:
            furnish(home, wall, world)
            before = home.maintenance.stats()
            if expected is None:
                home.remember(item.memory(), person_id=person)
                ctx = RecallContext(person)
                stored = home.memories.page(ctx, limit=1000).memories
                (shown,) = [
                    one.memory
                    for one in stored
                    if (one.memory.space_id, one.memory.doc_id) == (item.space_id, item.doc_id)
                ]
                role = str(role_of(world, person, item.space_id))
                if "author" not in world.hidden.get((item.space_id, role), ()):
                    assert shown.author == item.about.get("author", person)
            else:
                with pytest.raises(expected):
                    home.remember(item.memory(), person_id=person)
                assert home.maintenance.stats() == before


def test_a_space_out_of_sight_is_refused_like_one_that_is_not_there(home: FamilyRecall) -> None:
    """Neither an error nor the choice of a space tells a writer of a space that is not theirs."""
    words = []
    for space in ("private:priya", "private:nobody"):
        with pytest.raises(UnknownSpaceError) as refused:
            home.remember("A note", space_id=space, person_id="rajesh")
        words.append(str(refused.value).replace(space, "…"))
    assert words[0] == words[1]
    with pytest.raises(InvalidMemoryError) as unnamed:
        home.remember("A note", person_id="rajesh")
    assert "priya" not in str(unnamed.value)
    with pytest.raises(UnknownPersonError):
        home.remember("A note", space_id=HOME, person_id="burglar")


def test_the_only_space_that_a_writer_may_enter_is_theirs_to_write_in(home: FamilyRecall) -> None:
    """Without a space, what a child says goes to the one space that is open to her."""
    stored = home.remember("I want a puppy", person_id="mia")
    detail = home.memories.get(stored.doc_id, person_id="mia")

    assert (detail.current.memory.space_id, detail.current.memory.author) == (HOME, "mia")


def test_a_batch_is_stored_up_to_the_refusal(home: FamilyRecall) -> None:
    """The batches before a refused memory are stored, its own is not."""
    mine, hers = Memory("Mine", HOME, doc_id="mine"), Memory("Hers", "private:priya", doc_id="hers")
    also_mine = dataclasses.replace(mine, doc_id="mine-2", text="Mine too")
    with pytest.raises(UnknownSpaceError):
        home.remember_many([mine, also_mine, hers], person_id="rajesh", batch_size=1)
    with pytest.raises(UnknownSpaceError):
        home.remember_many([dataclasses.replace(mine, doc_id="mine-3"), hers], person_id="rajesh")

    assert home.memories.may_correct("mine-2", person_id="rajesh")
    stored = {one.memory.doc_id for one in home.memories.page(person_id="rajesh").memories}
    assert {"mine", "mine-2"} <= stored
    assert "mine-3" not in stored


def test_what_is_taken_is_refused_in_the_same_words_seen_or_not(home: FamilyRecall) -> None:
    """An id that another's memory has is refused alike, whether the writer sees that or not."""
    home.people.add(Person("ben", "Ben"))
    home.spaces.grant(Grant("ben", HOME, "child"))
    remember(home, "Seen", doc_id="seen", author="priya")
    remember(home, "Unseen", doc_id="unseen", author="priya", band="amber")
    words = []
    for doc_id in ("seen", "unseen"):
        with pytest.raises(NotTheirsError) as refused:
            home.remember("Another", space_id=HOME, doc_id=doc_id, person_id="ben")
        words.append(str(refused.value).replace(doc_id, "…"))

    assert words[0] == words[1]


def test_hidden_fields_are_not_replaced_unseen(home: FamilyRecall) -> None:
    """A person who does not see a field of a memory cannot replace it whole, even their own."""
    home.spaces.hide(Hidden(HOME, "child", ("labels",)))
    home.remember("I saw a fox", space_id=HOME, doc_id="fox", person_id="mia")

    with pytest.raises(NotTheirsError):
        home.remember("I saw two", space_id=HOME, doc_id="fox", person_id="mia")


def test_the_async_call_checks_the_writer_too(home: FamilyRecall) -> None:
    """What one call refuses, its async twin refuses."""
    with pytest.raises(UnknownSpaceError):
        asyncio.run(home.aremember("A note", space_id="private:priya", person_id="rajesh"))


def test_a_writer_is_a_name(home: FamilyRecall) -> None:
    """What is no text is refused, and nothing is stored."""
    with pytest.raises(InvalidRequestError):
        home.remember("A note", space_id=HOME, person_id=3)  # type: ignore[arg-type]


def test_only_an_owner_writes_in_anothers_name(home: FamilyRecall) -> None:
    """Anybody else says what they say themselves; what an owner notes down may be another's."""
    home.people.add(Person("ben", "Ben"))
    home.spaces.grant(Grant("ben", HOME, "adult"))
    with pytest.raises(NotTheirsError, match="only an owner"):
        home.remember("I hid it", space_id=HOME, author="mia", person_id="ben")
    home.remember("I hid it", space_id=HOME, author="Ben", doc_id="own", person_id="ben")
    home.spaces.grant(Grant("ben", HOME, "owner"))
    home.remember("I hid it", space_id=HOME, author="mia", doc_id="hers", person_id="ben")

    stored = {one.memory.doc_id for one in home.memories.page(person_id="ben").memories}
    assert {"own", "hers"} <= stored
