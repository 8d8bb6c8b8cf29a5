"""Measures: hand calculations, and agreement with ir_measures and scikit-learn."""

from __future__ import annotations

import math
import warnings

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score

from family_recall.evaluation.measures import (
    auroc,
    ece,
    hit_at,
    mrr_at,
    ndcg_at,
    recall_at,
    reliability,
)

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
    ranking = ["cake", "visa", "kite", "hotel"]
    gold = {"visa", "hotel", "passport"}

    assert recall_at(ranking, gold, 10) == pytest.approx(2 / 3)
    assert recall_at(ranking, gold, 2) == pytest.approx(1 / 3)
    assert hit_at(ranking, gold, 10) == 1.0
    assert hit_at(ranking, gold, 1) == 0.0
    assert mrr_at(ranking, gold, 10) == 0.5
    assert mrr_at(ranking, gold, 1) == 0.0
    assert ndcg_at(ranking, gold, 10) == pytest.approx(1.0616 / 2.1309, abs=1e-4)


def test_an_empty_ranking_scores_nothing() -> None:
    """Finding nothing is 0 by every measure, not an error."""
    assert [f([], {"visa"}, 10) for f in (recall_at, hit_at, mrr_at, ndcg_at)] == [0, 0, 0, 0]


@pytest.mark.parametrize("measure", [recall_at, hit_at, mrr_at, ndcg_at])
def test_a_question_without_gold_has_no_ranking_measure(measure: object) -> None:
    """Leaving it out is the caller's decision; counting it as 0 or 1 would be ours."""
    assert callable(measure)
    with pytest.raises(ValueError, match="leave it out"):
        measure(["visa"], set(), 10)
    with pytest.raises(ValueError, match="k must be at least 1"):
        measure(["visa"], {"visa"}, 0)


@settings(max_examples=60, deadline=None)
@given(ranking=rankings, gold=golds)
def test_ranking_measures_agree_with_ir_measures(ranking: list[str], gold: set[str]) -> None:
    """Recall, success, reciprocal rank and nDCG at 5 and 10 equal the reference tool's."""
    run = [ir_measures.ScoredDoc("q", doc, 100.0 - rank) for rank, doc in enumerate(ranking)]
    qrels = [ir_measures.Qrel("q", doc, 1) for doc in gold]
    for k in (5, 10):
        names = {recall_at: "R", hit_at: "Success", mrr_at: "RR", ndcg_at: "nDCG"}
        for ours, name in names.items():
            measure = ir_measures.parse_measure(f"{name}@{k}")
            theirs = ir_measures.calc_aggregate([measure], qrels, run)[measure] if run else 0.0
            assert ours(ranking, gold, k) == pytest.approx(theirs, abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(judged_confidences)
def test_auroc_agrees_with_scikit_learn(judged: list[tuple[float, bool]]) -> None:
    """EdgeBuffer included, the area equals scikit-learn's; with one kind only it is refused."""
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
    assert [row.n for row in table] == [0, 0, 1, 0, 0, 0, 0, 0, 0, 4]
    assert (table[0].confidence, table[0].accuracy) == (None, None)
    assert table[9].confidence == pytest.approx(0.95)
    assert table[9].accuracy == 0.75


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
    filled = [row for row in table if row.n]

    assert [row.accuracy for row in filled] == pytest.approx(list(accuracy))
    assert [row.confidence for row in filled] == pytest.approx(list(promised))
    assert sum(row.n for row in table) == len(judged) + 2


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
