"""An evaluation stopped anywhere continues, to the report it would have returned."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from family_recall.apps.evaluation import EvaluationReport, evaluate, experiment
from family_recall.apps.evaluation import checkpoint as checkpoints
from family_recall.apps.evaluation.checkpoint import DONE, Checkpoint, fingerprint
from family_recall.apps.evaluation.datasets import Dataset
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoding
from family_recall.encoders.loader import Models
from family_recall.errors import DatasetError
from family_recall.types import RecallContext
from tests.apps.evaluation.small import QUERIES, memories, small_testbed
from tests.conftest import NO_MODELS, PLENTY_MS, TINY, TINY_STATIC, TinyEncoder, TinyScorer

EVERYTHING: dict[str, Any] = {
    "profile": "ppr",
    "config": RecallConfig(graph_seeds=1),
    "ablate": ("vector", "lexical"),
    "baseline": "bm25",
    "remove_gold": True,
    "n_rationales": 2,
    "budgets_ms": (PLENTY_MS,),
}
N_CALLS = 1 + 4 + 2 * 4 + 4 + 3 + 2 + 4
"""Calls of progress: the import, all questions, without two parts, the baseline, without gold,
draws, a budget."""


class Stopped(KeyboardInterrupt):
    """Ctrl-C at a moment of our choosing."""


@pytest.fixture(autouse=True)
def _tiny_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the shipped models by the tiny ones."""
    tiny = Models(encoder=TINY, scorer=TinyScorer(), static=TINY_STATIC)
    monkeypatch.setattr(experiment, "Models", lambda _: tiny)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the small dataset as files."""
    folder = tmp_path / "small"
    folder.mkdir()
    stored = [msgspec.to_builtins(memory) for memory in memories()]
    queries = [
        {"id": q.id, "text": q.text, "space": q.space, "category": q.category, "gold": q.gold}
        for q in QUERIES
    ]
    for name, records in (("memories", stored), ("queries", queries)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def measured(folder: Path, checkpoint: Path | None = None, **settings: Any) -> EvaluationReport:
    """Evaluate with time enough."""
    return evaluate(folder, budget_ms=PLENTY_MS, checkpoint=checkpoint, **settings)


def timeless(report: EvaluationReport) -> str:
    """Write a report out to the last bit, less its milliseconds."""
    record = report.to_json(outcomes=True)
    del record["latency_ms"]
    for within in record["budgets"]:
        del within["used_ms"]
    for outcome in record["outcomes"]:
        del outcome["used_time_ms"]
    return json.dumps(record)


def stopping_at(n: int) -> Any:
    """Return a progress callback that presses Ctrl-C at its n-th call."""
    calls = iter(range(1, n))

    def progress(*_: object) -> None:
        if next(calls, None) is None:
            raise Stopped

    return progress


def lines(checkpoint: Path) -> Iterator[dict[str, Any]]:
    """Read what is done, past the line of settings."""
    return map(json.loads, (checkpoint / DONE).read_text("utf-8").splitlines()[1:])


def test_stopped_repeatedly_it_returns_the_same_report(folder: Path, tmp_path: Path) -> None:
    """Nothing is asked twice, and no number differs but milliseconds.

    Stopped in each leg: at the import, between questions, in refilled stores and draws.
    """
    whole, checkpoint, stops, step = measured(folder, **EVERYTHING), tmp_path / "kept", 0, 5
    while True:
        try:
            report = measured(
                folder, checkpoint, **EVERYTHING, progress=stopping_at(step * (stops + 1))
            )
            break
        except Stopped:
            stops += 1

    assert stops == N_CALLS // step
    assert timeless(report) == timeless(whole)
    done = [(line["leg"], line["of"]) for line in lines(checkpoint)]
    # Each draw is asked for twice: without its evidence, and without others.
    assert len(done) == len(set(done)) == N_CALLS + 2


def test_what_is_done_is_not_done_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called again, it gives the very report, milliseconds included, and opens no household.

    Asked for one part more, it asks that one alone.
    """
    first = measured(folder, tmp_path / "kept", ablate=["vector"])
    legs = list[str]()
    keep = Checkpoint.keep

    def noted(self: Checkpoint, leg: str, of: str, record: Any) -> None:
        legs.append(leg)
        keep(self, leg, of, record)

    monkeypatch.setattr(Checkpoint, "keep", noted)
    again = measured(folder, tmp_path / "kept", ablate=["vector"])

    assert again.to_json(outcomes=True) == first.to_json(outcomes=True)
    assert legs == []
    measured(folder, tmp_path / "kept", ablate=["vector", "graph"], seed=7)
    assert legs == ["without graph"] * 4


class Breaking(TinyEncoder):
    """The tiny encoder, stopped after thirty memories."""

    def __init__(self) -> None:
        """Have read none."""
        super().__init__(TINY.model_id, TINY.dim, TINY.token_dim)
        self.n_read = 0

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Read some, and press Ctrl-C after enough of them."""
        self.n_read += len(texts)
        if self.n_read > 30:
            raise Stopped
        return super().encode_memories(texts)


def test_an_import_that_was_stopped_between_words_and_vectors_goes_on(tmp_path: Path) -> None:
    """Some memories have their words and no vectors: they get them, and answers are the same."""
    notes = tuple(
        msgspec.structs.replace(memory, id=f"{memory.id}-{n}", text=f"{memory.text} {n}")
        for n in range(10)
        for memory in memories()
    )
    dataset = Dataset("notes", notes, tuple(msgspec.structs.replace(q, gold=()) for q in QUERIES))
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    config = RecallConfig(embed_batch=16, embed_threads=1)
    whole = small_testbed(tmp_path / "whole", dataset=dataset, config=config)
    stopped = small_testbed(tmp_path / "stopped", dataset=dataset, config=config)
    whole.fill()
    with pytest.raises(Stopped):
        dataclasses.replace(stopped, encoder=Breaking()).fill()
    with stopped.open() as home:
        assert home.maintenance.pending()[TINY.model_id] == 70 - 16
    stopped.fill()

    assert [msgspec.structs.replace(outcome, used_time_ms=0.0) for outcome in stopped.ask()] == [
        msgspec.structs.replace(outcome, used_time_ms=0.0) for outcome in whole.ask()
    ]


def test_a_household_that_was_deleted_is_filled_again(folder: Path, tmp_path: Path) -> None:
    """To make room, say; further questions are not asked of an empty household."""
    measured(folder, tmp_path / "kept")
    for file in (tmp_path / "kept").glob("household.db*"):
        file.unlink()

    going_on = measured(folder, tmp_path / "kept", ablate=["vector"])

    assert timeless(going_on) == timeless(measured(folder, ablate=["vector"]))


def test_an_incomplete_line_is_asked_again(folder: Path, tmp_path: Path) -> None:
    """Killed while it wrote, a process leaves half a line; what stands before that counts."""
    report = measured(folder, tmp_path / "kept")
    path = tmp_path / "kept" / DONE
    path.write_bytes(path.read_bytes()[:-20])

    assert timeless(measured(folder, tmp_path / "kept")) == timeless(report)
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / DONE).write_bytes(b'{"family_rec')
    assert timeless(measured(folder, begun)) == timeless(report)


OTHER_SETTINGS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"profile": "annie"}, "begun with profile default, and this is profile annie"),
    ({"limit": 2}, "begun with limit none, and this is limit 2"),
    ({"rerank": False}, "begun with cross-encoder allowed, and this is cross-encoder left out"),
    ({"top_k": 20}, "begun with top_k 10, and this is top_k 20"),
    ({"config": RecallConfig(rerank_pool=3)}, 'this is configuration {"rerank_pool": 3}'),
    ({"models": NO_MODELS}, "begun with embedder "),
)


def test_other_settings_are_refused(folder: Path, tmp_path: Path) -> None:
    """Which one differs is named with both its values, and the way out; nothing is changed."""
    measured(folder, tmp_path / "kept")
    before = (tmp_path / "kept" / DONE).read_bytes()

    for settings, message in OTHER_SETTINGS:
        with pytest.raises(DatasetError, match=re.escape(message)) as refused:
            measured(folder, tmp_path / "kept", **settings)

        assert "continue with what it was begun with, or begin in another folder" in str(
            refused.value
        )
        assert (tmp_path / "kept" / DONE).read_bytes() == before


def test_another_dataset_or_version_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was edited is another dataset, and code that was edited another version."""
    measured(folder, tmp_path / "kept")
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "_code", lambda: "edited")
        with pytest.raises(DatasetError, match=r"begun with version .*this is version .* edited"):
            measured(folder, tmp_path / "kept")
    with (folder / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")

    with pytest.raises(DatasetError, match=r"begun with dataset small .*this is dataset small "):
        measured(folder, tmp_path / "kept")


@pytest.mark.parametrize("name", ["family.db", "notes.txt"])
def test_a_folder_of_something_else_is_left_alone(folder: Path, tmp_path: Path, name: str) -> None:
    """Nothing is written beside other files; a file is no folder."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / name).write_text("mine", encoding="utf-8")

    with pytest.raises(
        DatasetError, match=r"home: expected an empty folder or one with done\.json"
    ):
        measured(folder, tmp_path / "home")
    assert [entry.name for entry in (tmp_path / "home").iterdir()] == [name]
    with pytest.raises(DatasetError, match="cannot be used as a folder"):
        measured(folder, tmp_path / "home" / name)


def test_another_file_of_that_name_stays_as_it_is(folder: Path, tmp_path: Path) -> None:
    """Also one whose last line has no end."""
    (tmp_path / "home").mkdir()
    for content in (b"my to-do list", b'{"done": "the dishes"}\n{"done'):
        (tmp_path / "home" / DONE).write_bytes(content)
        with pytest.raises(DatasetError, match="expected the settings of an evaluation"):
            measured(folder, tmp_path / "home")
        assert (tmp_path / "home" / DONE).read_bytes() == content


def test_an_edited_line_is_named(folder: Path, tmp_path: Path) -> None:
    """The message names the file and what to do."""
    measured(folder, tmp_path / "kept")
    path = tmp_path / "kept" / DONE
    first = path.read_text("utf-8").splitlines()[0]
    for line, message in (
        ('{"leg": "ask", "of": "q0", "record": {}}', "'q0' of leg 'ask' is not as it was"),
        ('{"leg": "ask"}', "expected lines with leg, of and record, got leg"),
        ("{oops", "2: expected one JSON object"),
    ):
        path.write_text(f"{first}\n{line}\n", encoding="utf-8")
        with pytest.raises(DatasetError, match=re.escape(message)):
            measured(folder, tmp_path / "kept")
        path.write_text(f"{line}\n", encoding="utf-8")
        with pytest.raises(DatasetError, match=r"settings of an evaluation|one JSON object"):
            measured(folder, tmp_path / "kept")


def test_without_a_folder_nothing_is_written(tmp_path: Path) -> None:
    """Results are in memory."""
    checkpoint = Checkpoint()
    checkpoint.keep("ask", "q0", {})

    assert checkpoint.record("ask", "q0") == {}
    assert checkpoint.record("ask", "q1") is None
    assert list(tmp_path.iterdir()) == []


def test_a_fingerprint_is_the_same_in_every_process(folder: Path) -> None:
    """Neither the order of a set nor an explicit default changes it."""
    ctx = RecallContext()
    stages = ["graph", "vector", "rerank", "lexical"]

    def named(config: RecallConfig) -> dict[str, str]:
        return fingerprint(folder, ctx, limit=None, config=config, models=None)

    first, other = (
        named(RecallConfig(leave_out=frozenset(order))) for order in (stages, stages[::-1])
    )
    assert first == other
    assert first["configuration"] == '{"leave_out": ["graph", "lexical", "rerank", "vector"]}'
    assert named(RecallConfig())["configuration"] == "{}"
    assert re.fullmatch(r".+ [0-9a-f]{12}", first["embedder"])
