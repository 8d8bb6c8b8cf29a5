"""Repeatable: same file, same request, same clock, same answer."""

from __future__ import annotations

import concurrent.futures
import datetime as dt
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import (
    Answer,
    FamilyRecall,
    Filters,
    Memory,
    RecallContext,
    RecallRequest,
    Relation,
)
from family_recall.recall.ranking.profiles import profiles
from family_recall.types import KINDS
from tests.conftest import (
    HOME,
    TinyScorer,
    found,
    move_in,
    open_home,
    recall,
    remember,
    stories,
    written,
)

QUESTION = "What did I tell Priya about vacation in March?"
PROFILES = sorted(profiles())


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Open a household with stories, notes and a relation."""
    path = tmp_path_factory.mktemp("lived_in") / "family.db"
    with open_home(path, scorer=TinyScorer()) as home:
        move_in(home)
        home.remember_many(stories())
        for n in range(45):
            remember(home, f"Priya told Mia about plan {n % 7} for March and the {n}th cake",
                     doc_id=f"plan-{n}", session_id=f"s{n // 6}")  # fmt: skip
        home.relations.add(Relation("Rajesh", "married to", "Priya", HOME, evidence=("goa",)))
        yield home


@pytest.mark.parametrize("profile", PROFILES)
def test_asked_twice_the_answer_is_the_same(lived_in: FamilyRecall, profile: str) -> None:
    """The same request gives the same answer to the last bit."""
    ctx: dict[str, Any] = {"person_id": "rajesh", "profile": profile, "top_k": 30}

    assert written(recall(lived_in, QUESTION, **ctx)) == written(recall(lived_in, QUESTION, **ctx))


@pytest.mark.parametrize("profile", PROFILES)
def test_opened_again_the_answer_is_the_same(
    lived_in: FamilyRecall, tmp_path: Path, profile: str
) -> None:
    """A file answers as before after it was closed and opened again, or copied.

    What was built in memory one write at a time is what a fresh read of the file gives.
    """
    ctx: dict[str, Any] = {"person_id": "rajesh", "profile": profile, "top_k": 30}
    before = written(recall(lived_in, QUESTION, **ctx))
    with open_home(Path(lived_in.maintenance.stats()["path"]), scorer=TinyScorer()) as again:
        assert written(recall(again, QUESTION, **ctx)) == before
    copy = tmp_path / "copy.db"
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{lived_in.maintenance.stats()['path']}{suffix}", f"{copy}{suffix}")
    with open_home(copy, scorer=TinyScorer()) as copied:
        assert written(recall(copied, QUESTION, **ctx)) == before


def test_every_thread_gets_the_same_answer(lived_in: FamilyRecall) -> None:
    """Four threads that ask at once get the same answer."""
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        answers = list(
            threads.map(lambda _: written(recall(lived_in, QUESTION, "rajesh")), range(16))
        )

    assert len(set(answers)) == 1


@pytest.mark.parametrize("n", [2, 13, 37])
def test_equals_are_ordered_by_doc_id(path: Path, n: int) -> None:
    """Memories that say the very same have the very same score, and come by doc_id.

    Under a profile without rank features: a rank among equals is a difference.
    """
    names = [f"copy-{number * 7 % n:02}" for number in range(n)]
    with open_home(path) as home:
        move_in(home)
        for name in names:
            # Too short to be taken for copies of each other, and collapsed.
            remember(home, "Blue pot key", doc_id=name)
        answer = recall(home, "where is the spare key?", "mia", profile="three_tier", top_k=50)

        assert len({result.score for result in answer.results}) == 1
        assert found(answer) == sorted(names)


def test_batches_do_not_show(tmp_path: Path) -> None:
    """Written in one batch or in many, the same memories give the same scores."""
    answers = []
    for size in (1, 256):
        with open_home(tmp_path / f"{size}.db") as home:
            move_in(home)
            home.remember_many(stories(), batch_size=size)
            answers.append(written(recall(home, QUESTION, "rajesh")))

    assert answers[0] == answers[1]


def test_two_households_with_the_same_memories_answer_the_same(tmp_path: Path) -> None:
    """Two files that store the same at the same moments give the same answer and ids."""
    answers = []
    for name in ("one", "two"):
        with open_home(tmp_path / f"{name}.db") as home:
            move_in(home)
            for story in stories():
                record = story.to_json()
                del record["doc_id"]
                home.remember(Memory.from_json(record))
            answers.append(written(recall(home, QUESTION, "rajesh")))

    assert answers[0] == answers[1]


@pytest.mark.parametrize("profile", PROFILES)
def test_an_answer_survives_json(lived_in: FamilyRecall, profile: str) -> None:
    """An answer written as JSON text and read back is the same answer."""
    answer = recall(lived_in, QUESTION, "rajesh", profile=profile, known_at="2025-06-16T00:00")
    read = Answer.from_json(json.loads(json.dumps(answer.to_json())))

    assert answer.results
    assert read == answer
    assert read.to_json() == answer.to_json()


moments = st.none() | st.datetimes(
    dt.datetime(1970, 1, 2),  # noqa: DTZ001 - hypothesis adds the zones itself
    dt.datetime(2100, 1, 1),  # noqa: DTZ001 - hypothesis adds the zones itself
    timezones=st.sampled_from([None, dt.UTC]),
)
names = st.lists(st.text(max_size=8), max_size=3).map(tuple)
contexts = st.builds(
    RecallContext,
    person_id=st.none() | st.text(max_size=8),
    space_id=st.none() | st.text(max_size=8),
    focus_event_id=st.none() | st.text(max_size=8),
    time_budget_ms=st.floats(0.001, 1e6) | st.integers(1, 10_000),
    top_k=st.integers(1, 1000),
    allow_cross_encoder=st.booleans(),
    mmr_lambda=st.none() | st.floats(0, 1),
    filters=st.builds(
        Filters,
        allow_shared=st.booleans(),
        sources=names,
        kinds=st.lists(st.sampled_from(KINDS), max_size=3).map(tuple),
        authors=names,
        labels=names,
        after=moments,
        before=moments,
        before_session=st.none() | st.text(max_size=8),
    ),
    profile=st.sampled_from(PROFILES),
    mode=st.sampled_from(["hybrid", "knowledge", "neural"]),
    now=moments,
    as_of=moments,
    known_at=moments,
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.builds(RecallRequest, st.text(max_size=50), contexts))
def test_a_request_survives_json(request: RecallRequest) -> None:
    """A request written as JSON text and read back is the same request."""
    assert RecallRequest.from_json(json.loads(json.dumps(request.to_json()))) == request
