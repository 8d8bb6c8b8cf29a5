"""A dataset is asked from front to back."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from family_recall.apps.evaluation import Interval, evaluate, load_dataset
from family_recall.apps.evaluation.datasets import spread
from family_recall.apps.evaluation.testbed import contexts
from family_recall.errors import DatasetError
from family_recall.types import RecallContext

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "home": [
        "Mira baked a lemon cake for the school fair",
        "Dad parked the car behind the bakery",
        "The plumber comes on Thursday to mend the boiler",
        "Arjun lost his front tooth at breakfast",
    ],
    "office": ["The printer on the second floor is out of toner", "Lemon cake in the kitchen!"],
}
QUESTIONS = [
    ("home", "When does the plumber come to mend the boiler?", "plain", ["home/2"], None),
    ("home", "Who baked the lemon cake?", "plain", ["home/0"], None),
    ("home", "Who lost a front tooth?", "late", ["home/3"], "S002"),
    ("office", "Is there lemon cake in the kitchen?", "plain", ["office/1"], None),
    ("home", "What is the capital of Peru?", "none", [], None),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of two spaces; each memory is a session of its own."""
    folder = tmp_path_factory.mktemp("sets")
    memories: list[dict[str, Any]] = [
        {
            "id": f"{space}/{i}",
            "text": text,
            "speaker": None,
            "occurred_at": f"2024-05-0{i + 1}",
            "session": f"S00{i}",
            "space": space,
        }
        for space, texts in TEXTS.items()
        for i, text in enumerate(texts)
    ]
    queries = [
        {"id": f"q{i}", "text": t, "space": s, "category": c, "gold": g, "session": session}
        for i, (s, t, c, g, session) in enumerate(QUESTIONS)
    ]
    for name, records in (("memories", memories), ("queries", queries)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_every_question_is_asked_in_its_own_space(folder: Path) -> None:
    """Plain questions are answered from their space, and never from the other."""
    steps: list[tuple[str, int, int]] = []

    report = evaluate(folder, rerank=False, progress=lambda *step: steps.append(step))

    assert (report.n_queries, report.n_memories) == (5, 6)
    plain = report.by_category["plain"]["hit@10"]
    assert isinstance(plain, Interval)
    assert plain.value == 1.0
    for outcome, (space, *_) in zip(report.outcomes, QUESTIONS, strict=True):
        assert all(doc_id.startswith(f"{space}/") for doc_id in outcome.ranking)
    assert steps[-1] == ("ask", 5, 5)
    assert ("import", 6, 6) in steps
    assert report.abstention is not None
    assert json.loads(json.dumps(report.to_json()))["config"]["profile"] == "default"


def test_a_question_with_a_session_sees_earlier_sessions_only(folder: Path) -> None:
    """The tooth was lost in S003; asked in S002, that is still to come."""
    late = evaluate(folder, rerank=False).outcomes[2]

    assert set(late.ranking) <= {"home/0", "home/1"}


def test_a_limit_spreads_over_the_file_and_keeps_the_memories_asked_for(folder: Path) -> None:
    """Two of five questions are the first and the third; both are of one space."""
    dataset = load_dataset(folder)

    few = spread(dataset, 2)

    assert [query.id for query in few.queries] == ["q0", "q2"]
    assert {memory.space for memory in few.memories} == {"home"}
    assert len(few.memories) == 4
    assert spread(dataset, 99) is dataset


def test_a_question_is_asked_at_the_end_of_its_day(folder: Path) -> None:
    """Earlier memories of that day are past; without a moment the clock decides."""
    dataset = load_dataset(folder)
    query = msgspec.structs.replace(dataset.queries[2], as_of=dt.datetime(2024, 5, 4, 9, 30))  # noqa: DTZ001 -- naive as read
    timeless = dataclasses.replace(
        dataset,
        memories=tuple(msgspec.structs.replace(m, occurred_at=None) for m in dataset.memories),
    )
    asked_in = RecallContext(top_k=20, time_budget_ms=7.0)

    ctx = contexts(dataset, asked_in)(query)

    assert ctx.now == dt.datetime(2024, 5, 4, 23, 59, 59)  # noqa: DTZ001 -- naive as read
    assert (ctx.space_id, ctx.top_k, ctx.time_budget_ms) == ("home", 20, 7.0)
    assert ctx.filters.before_session == "S002"
    assert contexts(timeless, asked_in)(msgspec.structs.replace(query, as_of=None)).now is None


def test_settings_that_measure_nothing_are_refused(folder: Path, tmp_path: Path) -> None:
    """Fewer than ten results cannot give recall@10."""
    with pytest.raises(ValueError, match="top_k must be at least 10"):
        evaluate(folder, top_k=5)
    with pytest.raises(ValueError, match="limit must be at least 1"):
        evaluate(folder, limit=0)
    with pytest.raises(DatasetError, match="check the path"):
        evaluate(tmp_path)
