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
