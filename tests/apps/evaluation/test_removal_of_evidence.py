"""Faithfulness: whether a result falls when what its rationale names is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall.apps.evaluation.measures import Interval
from family_recall.apps.evaluation.outcomes import plain
from family_recall.apps.evaluation.removal import Fall, draw_falls, faithfulness
from family_recall.apps.evaluation.testbed import EVALUATOR
from family_recall.config import RecallConfig
from family_recall.types import RecallContext
from tests.apps.evaluation.small import small_testbed
from tests.conftest import PLENTY_MS


def test_a_hand_calculated_case() -> None:
    """Evidence: falls of 3 and 0 ranks; control: of 1 and −1: 1.5 against 0.

    Pair by pair the evidence is worth 2 and 1 ranks more, 1.5 in the mean, never less than 1.
    """
    falls = [
        (Fall("q", "a", ("x",), 3, 0.2), Fall("q", "a", ("z",), 1, 0.0)),
        (Fall("q", "b", ("y",), 0, 0.1), Fall("q", "b", ("z",), -1, 0.0)),
    ]

    record = faithfulness(falls, seed=0)

    assert record["n"] == 2
    assert record["difference"]["ranks"] == Interval(1.5, 1.0, 2.0)
    record = plain(record)
    assert record["evidence"]["ranks"]["value"] == 1.5
    assert record["evidence"]["rank_fell"]["value"] == 0.5
    assert record["evidence"]["score_fell"]["value"] == 1.0
    assert record["evidence"]["score"]["value"] == pytest.approx(0.15)
    assert record["control"]["ranks"]["value"] == 0.0
    assert record["control"]["score_fell"]["value"] == 0.0


def test_no_rationale_has_nothing_to_be_faithful_to() -> None:
    """An empty sample is reported as empty, not as faithful."""
    assert faithfulness([], seed=0) == {"n": 0}


def test_evidence_is_taken_out_and_the_result_asked_for_again(tmp_path: Path) -> None:
    """Where the graph ranks, a result loses more with what led to it than with other memories.

    As many others are taken out as evidence, and the draws are those of the seed.
    """
    whole = small_testbed(
        tmp_path,
        config=RecallConfig(graph_seeds=1),
        context=RecallContext(EVALUATOR, time_budget_ms=PLENTY_MS, top_k=10, profile="ppr"),
    )
    whole.fill()
    outcomes = whole.ask()
    steps: list[tuple[str, int, int]] = []

    falls = draw_falls(whole, outcomes, 4, seed=1, progress=lambda *step: steps.append(step))

    evidence_of = {
        (o.query_id, doc_id): named for o in outcomes for doc_id, named in o.evidence.items()
    }
    assert len(falls) == 4
    for fall, other in falls:
        assert fall.dropped == evidence_of[fall.query_id, fall.doc_id]
        assert fall.doc_id not in {*fall.dropped, *other.dropped}
        assert set(fall.dropped).isdisjoint(other.dropped)
        assert len(fall.dropped) == len(other.dropped)
    record = plain(faithfulness(falls, seed=1))
    assert record["evidence"]["score"]["value"] > record["control"]["score"]["value"]
    assert steps[-1] == ("rationales", 4, 4)
    assert draw_falls(whole, outcomes, 4, seed=1) == falls
