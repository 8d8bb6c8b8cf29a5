"""People, spaces and grants of a household; closing it; its async twins."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    UnknownPersonError,
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


def test_a_private_space_is_one_persons_alone(home: FamilyRecall) -> None:
    """The same each time, but for what somebody else may enter, or has been somebody's."""
    assert home.spaces.private("priya") == "private:priya"
    home.spaces.grant(Grant("rajesh", "private:priya", "guest"))
    assert home.spaces.private("priya") == "private:priya-2"
    assert home.spaces.private("priya") == "private:priya-2"
    home.spaces.revoke("rajesh", "private:priya")
    assert home.spaces.private("priya") == "private:priya"
    home.spaces.add(Space("private:mia", "private"))
    assert home.spaces.private("mia") == "private:mia"
    with pytest.raises(UnknownPersonError):
        home.spaces.private("nobody")


_LIVES = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "grant", "revoke", "leave", "come"]),
        st.sampled_from("ab"),
        st.sampled_from("ab"),
        st.sampled_from(["owner", "adult", "guest"]),
    ),
    max_size=12,
)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(_LIVES)
def test_nobody_inherits_a_private_space(steps: list[tuple[str, str, str, str]]) -> None:
    """What is said for one alone is theirs: no other reads it without a grant to that space.

    People come and go, and come again by the same id; they grant and revoke their private spaces.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        open_home(Path(folder) / "a.db", encoder=None) as home,
    ):
        living = dict[str, int]()  # by id, who of that id lives here
        readers = dict[str, set[int]]()  # by space, who may have read it
        numbers = itertools.count()
        first = (("come", "a", "", ""), ("come", "b", "", ""), ("say", "a", "", ""))
        for step, who, other, role in (*first, ("grant", "a", "b", "guest"), *steps):
            if step == "come":
                living.setdefault(who, next(numbers))
                home.people.add(Person(who, who.upper()))
            if who not in living:
                continue
            own = home.spaces.private(who)
            assert [g.person_id for g in home.spaces.grants() if g.space_id == own] == [who]
            readers.setdefault(own, set()).add(living[who])
            if step == "say":
                home.remember(f"Secret {living[who]}", space_id=own, person_id=who)
            elif step == "grant" and other in living:
                home.spaces.grant(Grant(other, own, role))
                readers[own].add(living[other])
            elif step == "revoke" and other in living:
                home.spaces.revoke(other, own)
            elif step == "leave":
                plan = home.people.remove(who, said="keep", dry_run=True)
                home.people.remove(who, said="keep", token=plan.forgotten.token)
                del living[who]
            for person in living:
                for memory in home.memories.page(person_id=person, limit=100).memories:
                    secret = int(memory.memory.text.rpartition(" ")[2])
                    space_id = memory.memory.space_id
                    assert secret == living[person] or living[person] in readers[space_id]
