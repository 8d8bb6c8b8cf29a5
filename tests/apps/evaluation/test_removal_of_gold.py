"""The same question with its answer, and where that was never stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.apps.evaluation.removal import ask_without_gold
from family_recall.apps.evaluation.report import separation
from tests.apps.evaluation.small import small_testbed


def outcome(name: str, confidence: float, gold: str = "a") -> Outcome:
    """Return an outcome whose first result is ``a``."""
    return Outcome(
        name, "plain", tuple(gold), ("a", "b"), "ok", confidence, 1.0, answerable=confidence
    )


def test_the_gold_is_really_gone(tmp_path: Path) -> None:
    """Each of three questions is asked again; its gold is in no ranking, and all else may be."""
    whole = small_testbed(tmp_path)
    whole.fill()
    there = whole.ask()
    steps: list[tuple[str, int, int]] = []

    gone = ask_without_gold(whole, lambda *step: steps.append(step))

    assert [outcome.query_id for outcome in gone] == ["q0", "q1", "q2"]
    for before, after in zip(there, gone, strict=False):
        assert set(before.ranking) - set(after.ranking) == set(before.gold)
        assert after.gold == ()
        assert after.confidence < before.confidence
    assert steps == [("without gold", done, 3) for done in (1, 2, 3)]
    record = separation(there, gone)
    assert (record["n"], record["lower"]) == (3, 1.0)
    both = [outcome.answerable for outcome in (*there[:3], *gone)]
    assert record["auroc"] == pytest.approx(roc_auc_score([True] * 3 + [False] * 3, both))


def test_separation_of_a_hand_calculated_case() -> None:
    """0.9 and 0.3 with, 0.4 and 0.3 without: of 2 × 2 pairs 2 in order, 1 tied, 1 not: 2.5 / 4.

    One confidence fell and one stayed: 1.5 / 2. Answers with gold are right first: ECE of the
    first result over four bins of one or two, |1 − 0.9| + 2 · |1/2 − 0.3| + |0 − 0.4|, over 4.
    """
    there = [outcome("q0", 0.9), outcome("q1", 0.3), outcome("q2", 0.8, gold="")]
    gone = [outcome("q0", 0.4, gold=""), outcome("q1", 0.3, gold="")]

    record = separation(there, gone)

    assert (record["n"], record["lower"], record["auroc"]) == (2, 0.75, 0.625)
    assert record["ece_first_result"] == pytest.approx((0.1 + 2 * 0.2 + 0.4) / 4)
    assert record["status"]["answerable"]["ok"] == record["status"]["unanswerable"]["ok"] == 2
    assert separation(there[2:], []) == {"n": 0}
