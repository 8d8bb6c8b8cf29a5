"""The table of stages: each is declared once, and a new one needs nothing else."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import numpy as np
import pytest

from family_recall import FamilyRecall
from family_recall.apps.evaluation.alternatives import variations
from family_recall.config import RecallConfig
from family_recall.errors import InvalidRequestError
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.distinct import diversify
from family_recall.recall.ranking.reranker import rerank
from family_recall.recall.runner import Runner
from family_recall.types import Answer, Span, stages
from family_recall.types.stages import Stage
from tests.conftest import engine_of, found, move_in, open_home, recall, stories

QUESTION = "when does grandma land?"

# One line of the table …
TURN_ROUND = Stage("turn_round", "the last first", (0.5, 0.01), "candidate", optional=True)


# … and one function are a new stage; the broker's `refinements` say where it runs.
def turn_round(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Turn the first results round."""
    n = len(ranking)
    if not run.can_start("turn_round", n):
        return ranking
    top_k = context.request.ctx.top_k

    def turn() -> Ranking:
        order = np.concatenate([ranking.order[:top_k][::-1], ranking.order[top_k:]])
        return msgspec.structs.replace(ranking, order=order)

    return run.run("turn_round", n, turn, ranking)


@pytest.fixture
def longer_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the line."""
    monkeypatch.setattr(stages, "STAGES", {**stages.STAGES, TURN_ROUND.name: TURN_ROUND})


def opened(path: Path, config: RecallConfig | None = None) -> FamilyRecall:
    """Open a household whose rankings go through the new stage as well."""
    home = open_home(path, config=config)
    engine = engine_of(home)
    refinements = (rerank, diversify, turn_round)
    engine.broker = dataclasses.replace(engine.broker, refinements=refinements)
    return home


def spans(answer: Answer) -> list[Span]:
    """The spans of the new stage."""
    return [span for span in answer.trace.spans if span.stage == "turn_round"]


@pytest.mark.usefixtures("longer_table")
def test_a_new_stage_is_one_function_and_one_line(path: Path) -> None:
    """It runs, is in the trace with its label, is priced and learned, and is skipped in time."""
    with opened(path) as home:
        move_in(home)
        home.remember_many(stories())
        costs = engine_of(home).costs
        assert costs.expected_ms("turn_round", 10) == pytest.approx(0.6)
        answer = recall(home, QUESTION, "priya")
        for _ in range(30):
            short = recall(home, QUESTION, "priya", time_budget_ms=0.001)
            recall(home, QUESTION, "priya")

        assert costs.expected_ms("turn_round", 10) < 0.6  # on a clock that stands still
    (span,) = spans(answer)
    assert (span.label, span.n_in, span.n_out) == ("the last first", 7, 7)
    assert found(answer)[-1] == "grandma"

    assert spans(short) == []
    (skip,) = [skip for skip in short.trace.skips if skip.stage == "turn_round"]
    assert (skip.reason, skip.label) == ("no_time", "the last first")
    assert skip.hurried
    assert found(short)[0] == "grandma"


@pytest.mark.usefixtures("longer_table")
def test_a_new_stage_can_be_left_out_and_measured(path: Path) -> None:
    """It is among the parts of an ablation, and the configuration takes its name."""
    (part,) = variations(["turn_round"], "default", RecallConfig())
    assert "turn_round" in [each.name for each in variations(["stages"], "default", RecallConfig())]
    with opened(path, part.config) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, QUESTION, "priya")

    assert spans(answer) == []
    (skip,) = [skip for skip in answer.trace.skips if skip.stage == "turn_round"]
    assert (skip.reason, skip.n, skip.hurried) == ("disabled", 7, False)
    assert found(answer)[0] == "grandma"


def test_only_optional_stages_can_be_left_out() -> None:
    """A name that is no stage, and a stage that nothing answers without, are refused."""
    for name in ("words", "load", "turn_round"):
        with pytest.raises(InvalidRequestError, match=f"leave_out must be among .*'{name}'"):
            RecallConfig(leave_out=frozenset({name}))


def test_every_stage_that_is_named_is_in_the_table() -> None:
    """What follows a stage, what it leaves time for and what replaces it has a price."""
    priced = set(stages.assumed_cost_ms())
    for stage in stages.STAGES.values():
        assert stage.label
        assert {*stage.followed_by, *stage.leaves_time_for} <= priced, stage.name


def test_every_span_of_a_recall_is_a_stage(home: FamilyRecall) -> None:
    """So each has a label, in the order in which the table has them."""
    answer = recall(home, "What did I tell Priya about order 302-9921844?", "rajesh")

    names = [span.stage for span in answer.trace.spans]
    assert set(names) <= set(stages.STAGES)
    assert {"plan", "lexical", "load", "cosines", "features", "rank", "answer"} <= set(names)
    assert all(span.label for span in answer.trace.spans)
