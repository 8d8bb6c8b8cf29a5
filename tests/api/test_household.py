"""People, spaces and grants of a household; closing it; its async twins."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from family_recall import (
    FamilyRecall,
    Grant,
    Memory,
    Person,
    RecallContext,
    Space,
)
from family_recall.errors import (
    ClosedError,
    InvalidMemoryError,
)
from tests.conftest import (
    HOME,
    NOW,
    move_in,
    open_home,
    recall,
    remember,
    stories,
    written,
)


def test_a_household_remembers_who_belongs_to_it(home: FamilyRecall) -> None:
    """People, spaces and grants are listed as they were added, and a second time changes them."""
    home.people.add(Person("mia", "Mia Rao", ("Mi",)))
    home.spaces.grant(Grant("mia", HOME, "adult", NOW))

    assert home.people.all()[0] == Person("mia", "Mia Rao", ("Mi",))
    assert Space(HOME, "shared") in home.spaces.all()
    assert Grant("mia", HOME, "adult", NOW) in home.spaces.grants()


def test_my_means_the_one_who_asks(home: FamilyRecall) -> None:
    """The asker counts as named by "I" and "my": what they wrote mentions them."""
    answer = recall(home, "what did I say about the plan?", "rajesh", profile="family_os")
    mine = {r.doc_id: r.features["entities"] for r in answer.results}

    assert mine["march"] == mine["goa"] == 1.0
    assert mine["key"] == 0.0


def test_the_async_twins_do_the_same(home: FamilyRecall) -> None:
    """Both arecall and aremember return what recall and remember return."""

    async def both() -> tuple[str, str]:
        remembered = await home.aremember(Memory("Otto is our plumber", HOME, doc_id="otto"))
        ctx = RecallContext("mia", now=NOW, time_budget_ms=60_000)
        answers = await asyncio.gather(*(home.arecall("plumber", ctx) for _ in range(4)))
        assert len({written(answer) for answer in answers}) == 1
        return remembered.outcome, answers[0].results[0].doc_id

    assert asyncio.run(both()) == ("created", "otto")


def test_a_closed_household_says_so(path: Path) -> None:
    """After close(), which may be called twice, every call raises ClosedError."""
    home = open_home(path)
    move_in(home)
    home.close()
    home.close()

    for call in (
        lambda: recall(home, "anything?"),
        lambda: remember(home, "anything"),
        home.maintenance.stats,
        home.maintenance.rebuild,
    ):
        with pytest.raises(ClosedError, match="open it again"):
            call()


def test_the_file_is_one_file_after_close(path: Path) -> None:
    """Closing writes the log back: no -wal or -shm stays beside the file."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())

    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_as_many_results_come_back_as_are_asked_for(path: Path) -> None:
    """A hundred memories that match give a hundred results, however small the usual pool is."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many([Memory(f"Biscuit counts to {n}", HOME) for n in range(120)])

        assert len(recall(home, "biscuit counts", "mia", top_k=100).results) == 100
        assert len(recall(home, "biscuit counts", "mia", top_k=1000).results) == 120


def test_three_lines_lead_to_a_first_answer(tmp_path: Path) -> None:
    """Nobody has to be added, and no space: the first memory makes one for everybody."""
    with open_home(tmp_path / "new.db") as home:
        home.remember("The spare key is under the blue pot")
        home.remember("The bins go out on Tuesday")
        home.people.add(Person("tom", "Tom"))

        assert home.spaces.all() == [Space("shared:household", "household")]
        for person_id in (None, "tom"):
            best = recall(home, "Where is the spare key?", person_id).best
            assert best is not None
            assert best.text == "The spare key is under the blue pot"


def test_a_space_is_made_only_where_there_is_none(tmp_path: Path) -> None:
    """Not beside another's private one, and not for a memory that cannot be stored."""
    with open_home(tmp_path / "new.db") as home:
        home.people.add(Person("tom", "Tom"))
        with pytest.raises(InvalidMemoryError, match="importance"):
            home.remember("The key", importance=2.0)
        assert home.spaces.all() == []
        home.spaces.add(Space("private:tom", "private"))
        home.spaces.add(Space("private:sarah", "private"))
        with pytest.raises(InvalidMemoryError, match="space_id is needed"):
            home.remember("The key")

        assert len(home.spaces.all()) == 2
