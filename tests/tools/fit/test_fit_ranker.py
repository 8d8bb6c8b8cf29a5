"""tools/fit/ranker.py: judged candidates in, weights that put the right ones first out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.profiles import profiles
from tools.fit import ranker as fit_ranker
from tools.fit.ranker import FITTED, KEPT, Judged, fit, ndcg, shipped_weights


def judged(n: int, telling: str, seed: int) -> list[Judged]:
    """Draw questions of ten candidates, of which the one with the highest feature is right."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        features = rng.random((10, len(FITTED)))
        right = np.zeros(10, np.bool_)
        right[features[:, FITTED.index(telling)].argmax()] = True
        made.append(Judged(features, right, 1))
    return made


def test_the_fit_finds_the_feature_that_tells() -> None:
    """Told apart by one feature alone, its share of the weights grows, and so does nDCG."""
    start = shipped_weights()
    telling = FITTED.index("maxsim")

    weights = fit([judged(80, "maxsim", 1), judged(40, "maxsim", 2)], start, pull=0.01)
    unseen = judged(60, "maxsim", 3)

    assert weights[telling] == weights.max()
    assert weights.sum() == pytest.approx(start.sum())
    assert ndcg(unseen, weights).mean() > ndcg(unseen, start).mean() + 0.1


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_weights_are_never_negative(seed: int) -> None:
    """Even where a feature speaks against what is right."""
    rng = np.random.default_rng(seed)
    wrong = [
        Judged(question.features, ~question.right, int((~question.right).sum()))
        for question in judged(5, "bm25_squared", int(rng.integers(1000)))
    ]

    assert (fit([wrong], shipped_weights(), pull=0.1) >= 0.0).all()


def test_a_strong_pull_keeps_what_ships() -> None:
    """So little data cannot turn the weights over."""
    weights = fit([judged(20, "maxsim", 1)], shipped_weights(), pull=1e4)

    assert weights == pytest.approx(shipped_weights(), abs=0.02)


def test_the_gradient_is_that_of_the_loss() -> None:
    """Against finite differences of the listwise cross-entropy."""
    (question,) = judged(1, "bm25_squared", 5)
    weights = shipped_weights() + 0.1

    def loss(at: np.ndarray) -> float:
        logits = fit_ranker.SHARPNESS * (question.features @ at)
        return float(np.log(np.exp(logits).sum()) - logits[question.right].mean())

    step = 1e-6 * np.eye(len(weights))
    numeric = [(loss(weights + move) - loss(weights - move)) / 2e-6 for move in step]

    assert fit_ranker._slope(question, weights) == pytest.approx(np.array(numeric), abs=1e-4)


def test_ndcg_counts_what_was_never_a_candidate() -> None:
    """Found first, of two: 1 / (1 + 1/log2(3)) = 0.6131."""
    features = np.zeros((2, len(FITTED)))
    features[1] = 1.0
    question = Judged(features, np.array([False, True]), 2)

    assert ndcg([question], shipped_weights())[0] == pytest.approx(0.6131, abs=1e-4)


def test_what_is_fitted_are_declared_features() -> None:
    """And every shipped weight is either fitted or kept."""
    assert set(FITTED) <= set(INDEX)
    assert set(profiles()["default"].weights) - set(KEPT) <= set(FITTED)
