"""Measures agree with hand calculations, with their definitions and with scikit-learn."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score

from family_recall.apps.evaluation.measures import auroc, ece, measure_each, reliability

DOCS = [f"m{i}" for i in range(15)]
rankings = st.permutations(DOCS).flatmap(
    lambda docs: st.integers(0, len(docs)).map(lambda n: docs[:n])
)
golds = st.sets(st.sampled_from([*DOCS, "unseen"]), min_size=1)
judged_confidences = st.lists(
    st.tuples(
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0])), st.booleans()
    ),
    min_size=2,
    max_size=40,
)


def test_a_hand_calculated_ranking() -> None:
    """Gold visa and hotel at ranks 2 and 4, of three in all, over ten places.

    recall 2/3, hit 1, MRR 1/2, DCG = 1/log2(3) + 1/log2(5) = 1.0616, ideal DCG = 2.1309.
    """
    names = ["recall@10", "recall@2", "hit@10", "hit@1", "mrr@10", "mrr@1", "ndcg@10"]
    (row,) = measure_each(
        [["cake", "visa", "kite", "hotel"]], [{"visa", "hotel", "passport"}], names
    )

    assert row == pytest.approx([2 / 3, 1 / 3, 1.0, 0.0, 0.5, 0.0, 1.0616 / 2.1309], abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(ranking=rankings, gold=golds, k=st.integers(1, 12))
def test_measures_agree_with_their_definitions(ranking: list[str], gold: set[str], k: int) -> None:
    """Recall, success, reciprocal rank and nDCG of any ranking, however long, at any cutoff."""
    ranks = [rank for rank, doc_id in enumerate(ranking[:k], 1) if doc_id in gold]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(gold)) + 1))
    expected = [
        len(ranks) / len(gold),
        float(bool(ranks)),
        1 / ranks[0] if ranks else 0.0,
        sum(1 / math.log2(rank + 1) for rank in ranks) / ideal,
    ]
    names = [f"{kind}@{k}" for kind in ("recall", "hit", "mrr", "ndcg")]

    assert measure_each([ranking], [gold], names)[0] == pytest.approx(expected, abs=1e-9)


def test_an_empty_ranking_scores_nothing() -> None:
    """No result is 0 by every measure, not an error, and does not move its neighbours."""
    names = ["recall@10", "hit@10", "mrr@10", "ndcg@10"]

    assert measure_each([[]], [{"visa"}], names).tolist() == [[0.0] * 4]
    assert measure_each([[], ["visa"]], [{"visa"}] * 2, names).tolist() == [[0.0] * 4, [1.0] * 4]
    assert measure_each([], [], names).shape == (0, 4)


def test_a_question_without_gold_has_no_ranking_measure() -> None:
    """Leaving it out is the caller's decision; counting it as 0 or 1 would be ours."""
    with pytest.raises(ValueError, match="leave it out"):
        measure_each([["visa"], ["visa"]], [{"visa"}, set()], ["ndcg@10"])


@settings(max_examples=100, deadline=None)
@given(judged_confidences)
def test_auroc_agrees_with_scikit_learn(judged: list[tuple[float, bool]]) -> None:
    """Ties included, the area equals scikit-learn's; with one kind only it is refused."""
    scores, positive = [score for score, _ in judged], [truth for _, truth in judged]
    if len(set(positive)) == 1:
        with pytest.raises(ValueError, match="needs both kinds"):
            auroc(scores, positive)
    else:
        assert auroc(scores, positive) == pytest.approx(roc_auc_score(positive, scores))


def test_auroc_of_a_hand_calculated_case() -> None:
    """Of the 2 × 2 pairs, two are in order, one is tied and one is not: 2.5 / 4."""
    assert auroc([0.9, 0.4, 0.4, 0.8], [True, True, False, False]) == 0.625


def test_ece_of_a_hand_calculated_case() -> None:
    """Two bins: four at 0.95, three right; one at 0.25, wrong.

    4/5 · |0.75 − 0.95| + 1/5 · |0 − 0.25| = 0.16 + 0.05 = 0.21.
    """
    confidences = [0.95, 0.95, 0.95, 0.95, 0.25]
    correct = [True, True, True, False, False]

    assert ece(confidences, correct) == pytest.approx(0.21)
    table = reliability(confidences, correct)
    assert [row["n"] for row in table] == [0, 0, 1, 0, 0, 0, 0, 0, 0, 4]
    assert (table[0]["confidence"], table[0]["accuracy"]) == (None, None)
    assert table[9]["confidence"] == pytest.approx(0.95)
    assert table[9]["accuracy"] == 0.75


@settings(max_examples=100, deadline=None)
@given(judged_confidences)
def test_reliability_agrees_with_scikit_learn(judged: list[tuple[float, bool]]) -> None:
    """The filled bins are those of scikit-learn's calibration curve, edges included."""
    confidences, correct = [c for c, _ in judged], [truth for _, truth in judged]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it dislikes having one kind only
        accuracy, promised = calibration_curve(
            np.array([*correct, True, False]), np.array([*confidences, 1.0, 0.0]), n_bins=10
        )
    table = reliability([*confidences, 1.0, 0.0], [*correct, True, False])
    filled = [row for row in table if row["n"]]

    assert [row["accuracy"] for row in filled] == pytest.approx(list(accuracy))
    assert [row["confidence"] for row in filled] == pytest.approx(list(promised))
    assert sum(row["n"] for row in table) == len(judged) + 2


@given(judged_confidences)
def test_ece_is_between_0_and_1(judged: list[tuple[float, bool]]) -> None:
    """An error of 0 is perfect promise-keeping, 1 is always sure and always wrong."""
    assert 0.0 <= ece([c for c, _ in judged], [truth for _, truth in judged]) <= 1.0
    assert ece([], []) == 0.0
    assert ece([1.0, 1.0], [False, False]) == 1.0


@pytest.mark.parametrize("confidence", [-0.1, 1.1, math.nan])
def test_a_confidence_outside_0_to_1_is_refused(confidence: float) -> None:
    """A number that is no probability cannot be calibrated."""
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        reliability([confidence], [True])
