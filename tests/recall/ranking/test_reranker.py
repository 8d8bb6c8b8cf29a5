"""Reranker: a real cross-encoder session inside recall, on a model of three nodes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from family_recall import Answer, FamilyRecall, Memory, RecallContext, Space
from family_recall.deadline import Deadline
from family_recall.encoders.base import PairScorer
from family_recall.encoders.transformer import CrossEncoder
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.profiles import profiles
from family_recall.recall.ranking.reranker import _read, readings
from tests.conftest import TinyScorer, open_home
from tests.encoders.conftest import ID_WEIGHT, models

__all__ = ["models"]

QUESTION = "What grows in the garden?"
WEIGHT = profiles()["default"].weights["cross_encoder"]
TEXTS = ("Beans grow in the garden", "The garden gate is green", "Roses grow by the garden wall")


@pytest.fixture
def home(models: Path, tmp_path: Path) -> FamilyRecall:
    """A household whose models folder holds the tiny cross-encoder and no embedder."""
    home = FamilyRecall.open(tmp_path / "garden.db", models=models)
    home.spaces.add(Space("home", "shared"))
    home.remember_many([Memory(text, "home", doc_id=text) for text in TEXTS])
    home.warmup()
    return home


def test_the_cross_encoder_adds_its_probability_to_the_score(
    home: FamilyRecall, models: Path
) -> None:
    """A candidate that was read gains weight × sigmoid(logit / 2), with the logit of its pair."""
    with home:
        answer, plain = asked(home), asked(home, allow_cross_encoder=False)
    scorer = CrossEncoder.load(models)
    assert scorer is not None
    before = {result.doc_id: result.score for result in plain.results}

    assert len(answer.results) == len(TEXTS)
    assert answer.results[0].features["cross_encoder"] > 0.0
    for result in answer.results:
        logit = scorer.score(QUESTION, result.text)
        assert logit > 10 * ID_WEIGHT
        gain = WEIGHT / (1 + 2.718281828 ** -min(logit / 2, 40))
        gained = result.score - before[result.doc_id]
        was_read = result.features["cross_encoder"] > 0.0
        assert gained == pytest.approx(gain if was_read else 0.0, abs=1e-5)


def test_what_no_reading_can_put_first_is_left_unread(home: FamilyRecall) -> None:
    """Those further behind the first than the cross-encoder's whole weight; the trace says it."""
    with home:
        answer = asked(home)
    first, *others = answer.results
    unread = [result for result in others if result.features["cross_encoder"] == 0.0]
    (read,) = [span.n_in for span in answer.trace.spans if span.stage == "rerank"]
    left = [skip for skip in answer.trace.skips if skip.stage == "rerank"]

    assert first.features["cross_encoder"] > 0.0
    assert 0 < len(unread) == len(TEXTS) - read
    assert all(result.score + WEIGHT <= first.score for result in unread)
    assert [(skip.reason, skip.n) for skip in left] == [("not_needed", len(unread))]


def asked(home: FamilyRecall, *, allow_cross_encoder: bool = True) -> Answer:
    """Ask the question with time for everything."""
    context = RecallContext(time_budget_ms=60_000, allow_cross_encoder=allow_cross_encoder)
    return home.recall(QUESTION, context)


def test_a_request_may_forbid_the_cross_encoder(home: FamilyRecall) -> None:
    """With allow_cross_encoder=False the stage is left out, and the trace says why."""
    with home:
        answer = home.recall(QUESTION, RecallContext(allow_cross_encoder=False))

    (why,) = [skip.detail for skip in answer.trace.skips if skip.stage == "rerank"]
    assert why == "not allowed by the request"


def test_without_time_the_cross_encoder_reads_nothing(home: FamilyRecall) -> None:
    """A budget that pays for words alone leaves the pairs unread, and the trace says so."""
    with home:
        answer = home.recall(QUESTION, RecallContext(time_budget_ms=0.001))

    assert "rerank" in {skip.stage for skip in answer.trace.skips}
    assert "rerank" not in {span.stage for span in answer.trace.spans}
    assert answer.results


def test_what_is_put_first_after_reading_is_read_too(models: Path, tmp_path: Path) -> None:
    """A reply stands above its question, which was so far ahead that nothing else was read."""
    with FamilyRecall.open(tmp_path / "shed.db", models=models) as home:
        home.spaces.add(Space("home", "shared"))
        said = {"asked": "Who has the long garden shears?", "told": "Tom, since Sunday."}
        for minute, (name, text) in enumerate(said.items()):
            moment = dt.datetime(2026, 5, 1, 9, minute, tzinfo=dt.UTC)
            home.remember(Memory(text, "home", doc_id=name, session_id="talk", occurred_at=moment))
        home.warmup()
        context = RecallContext(time_budget_ms=60_000)
        answer = home.recall("Who has the long garden shears?", context)
    first, second = answer.results

    assert (first.doc_id, second.doc_id) == ("told", "asked")
    assert first.features["inherited"] > WEIGHT
    assert first.features["cross_encoder"] == pytest.approx(answer.trace.evidence["reading"])
    assert answer.trace.evidence["reading"] > 0.0
    assert [span.n_in for span in answer.trace.spans if span.stage == "rerank"] == [1, 1]


def test_of_ten_texts_those_that_are_read_are_loaded(
    home: FamilyRecall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at first, the others when it comes to them."""
    loaded: list[int] = []

    def counted(context: QueryContext, ranking: Ranking, rows: Sequence[int]) -> dict[int, str]:
        loaded.append(len(rows))
        return readings(context, ranking, rows)

    monkeypatch.setattr("family_recall.recall.ranking.reranker.readings", counted)
    with home:
        home.remember_many([Memory(f"Bean number {n} of the garden", "home") for n in range(9)])
        asked(home)

    assert loaded in ([2], [2, 8])


def test_a_short_turn_is_read_after_the_one_before_it(tmp_path: Path) -> None:
    """What says nothing of its topic by itself."""
    read: list[str] = []

    class Listening(TinyScorer):
        def score(self, question: str, memory: str) -> float:
            """Keep what is read."""
            read.append(memory)
            return super().score(question, memory)

    said = ["How much are the garden lights?", "Twelve pounds."]
    with open_home(tmp_path / "a.db", scorer=Listening()) as home:
        home.spaces.add(Space("home", "shared"))
        for minute, text in enumerate(said):
            moment = dt.datetime(2026, 5, 1, 9, minute, tzinfo=dt.UTC)
            home.remember(Memory(text, "home", session_id="talk", occurred_at=moment))
        home.recall(said[0], RecallContext(time_budget_ms=60_000))

    assert f"{said[0]} / {said[1]}" in read
    assert said[1] not in read


class TogetherScorer(TinyScorer):
    """Reads pairs in batches, as on a graphics processor, and counts them.

    Attributes:
        runs: How many pairs each run read.
    """

    def __init__(self, batch_size: int) -> None:
        """Choose how many pairs a run reads."""
        self.batch_size = batch_size
        self.runs: list[int] = []

    def score(self, question: str, memory: str) -> float:
        """Score one pair."""
        self.runs.append(1)
        return super().score(question, memory)

    def scores(self, question: str, memories: Sequence[str]) -> list[float]:
        """Score pairs in one run."""
        self.runs.append(len(memories))
        return [super(TogetherScorer, self).score(question, memory) for memory in memories]


def read_by(scorer: PairScorer, path: Path) -> Answer:
    """Ask a household whose candidates are close to each other, so that several are read."""
    with open_home(path, scorer=scorer) as home:
        home.spaces.add(Space("home", "shared"))
        home.remember_many([Memory(f"{text}, row {n}", "home") for n in range(3) for text in TEXTS])
        return asked(home)


@pytest.mark.parametrize("batch_size", [1, 2, 4, 64])
def test_pairs_that_are_read_together_change_no_answer(tmp_path: Path, batch_size: int) -> None:
    """Reading ahead saves runs; scores, reasons, evidence and what counts as read stay the same."""
    together = TogetherScorer(batch_size)
    answer = read_by(together, tmp_path / "a.db")
    expected = read_by(TinyScorer(), tmp_path / "b.db")
    n_read = sum(span.n_in for span in expected.trace.spans if span.stage == "rerank")

    assert n_read > 2
    assert len(together.runs) == -(-n_read // batch_size)
    assert max(together.runs) <= batch_size
    assert [(r.text, r.score, r.features) for r in answer.results] == [
        (r.text, r.score, r.features) for r in expected.results
    ]
    assert answer.trace.evidence == expected.trace.evidence
    assert [(s.reason, s.n) for s in answer.trace.skips if s.stage == "rerank"] == [
        (s.reason, s.n) for s in expected.trace.skips if s.stage == "rerank"
    ]


@pytest.mark.parametrize(("paid", "n_read"), [(100, 8), (44, 4), (22, 2), (11, 1), (10, 0)])
def test_a_run_is_halved_until_there_is_time_for_it(paid: int, n_read: int) -> None:
    """Eight pairs of up to 11 tokens are 88 with padding; what is paid for is learned as such."""
    scorer, learned = TogetherScorer(8), list[int]()
    passages = {row: f"one two three four {row} {'five ' * (row == 0)}" for row in range(8)}
    run: Any = SimpleNamespace(
        deadline=Deadline.after(1.0),
        refusal=lambda _, n: None if n <= paid else "no time",
        costs=SimpleNamespace(observe=lambda _, n, __: learned.append(n)),
    )
    logits = _read(run, "rerank", scorer, "a b c d e", passages)

    assert list(logits) == list(range(n_read))
    assert scorer.runs == ([n_read] if n_read else [])
    assert learned == ([11 * n_read] if n_read else [])
