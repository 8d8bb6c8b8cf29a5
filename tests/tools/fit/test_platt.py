"""Platt scaling agrees with the general methods that it stands for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from family_recall.types import FloatArray
from tools.fit.platt import Platt, fit_platt


@pytest.mark.parametrize(("slope", "offset"), [(6.0, -3.0), (2.0, 0.5), (12.0, -9.0)])
def test_platt_agrees_with_logistic_regression(slope: float, offset: float) -> None:
    """On 20,000 samples slope and offset are those scikit-learn finds without regularisation."""
    drawn = np.random.default_rng(int(slope))
    scores = drawn.random(20_000)
    relevant = drawn.random(20_000) < 1 / (1 + np.exp(-(slope * scores + offset)))
    fitted = fit_platt(scores, relevant)
    oracle = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(scores[:, None], relevant)

    assert fitted.slope == pytest.approx(float(oracle.coef_[0, 0]), rel=0.01)
    assert fitted.offset == pytest.approx(float(oracle.intercept_[0]), rel=0.02, abs=0.02)
    assert fitted(scores).mean() == pytest.approx(relevant.mean(), abs=0.005)


def test_platt_smooths_what_is_right_and_wrong() -> None:
    """Of six right and three wrong the targets are 7/8 and 1/5; a general minimiser agrees."""
    scores = np.array([0.2, 0.5, 0.6, 0.7, 0.8, 0.9, 0.1, 0.3, 0.4])
    relevant = np.arange(9) < 6
    targets = np.where(relevant, 7 / 8, 1 / 5)

    def loss(at: FloatArray) -> float:
        p = 1 / (1 + np.exp(-(at[0] * scores + at[1])))
        return float(-np.sum(targets * np.log(p) + (1 - targets) * np.log(1 - p)))

    oracle = minimize(loss, np.zeros(2), tol=1e-10).x
    fitted = fit_platt(scores, relevant)

    assert (fitted.slope, fitted.offset) == pytest.approx(tuple(oracle), rel=1e-3)


@pytest.mark.parametrize(
    ("scores", "relevant"),
    [([0.1, 0.9], [True, False]), ([0.5], [True]), ([0.1, 0.2], [False, False]),
     ([0.0, 1.0], [False, True]), ([0.3, 0.3], [True, False])],
)  # fmt: skip
def test_platt_takes_the_smallest_samples(scores: list[float], relevant: list[bool]) -> None:
    """Two samples, or of one kind alone, give finite constants that never turn the order round."""
    fitted = fit_platt(np.array(scores), np.array(relevant))

    assert fitted.slope >= 0.0
    assert math.isfinite(fitted.slope)
    assert math.isfinite(fitted.offset)


def test_a_probability_never_leaves_its_range() -> None:
    """Scores beyond all measure are probabilities still, and rise with the score."""
    probability = Platt(6.0, -4.0)(np.array([-1e30, -1.0, 0.0, 0.5, 1.0, 1e30]))

    assert (np.diff(probability) >= 0).all()
    assert 0.0 <= probability.min() <= probability.max() <= 1.0
    assert probability[2] == pytest.approx(1 / (1 + math.exp(4.0)))
