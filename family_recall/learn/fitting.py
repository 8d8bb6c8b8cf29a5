"""Fits bounded ratios of the shipped weights, and of the calibration, to feedback.

There is no clock and no randomness in it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from family_recall.learn.samples import Doubles, Pairs
from family_recall.recall.ranking.learned_weights import (
    LARGEST_DISTANCE,
    LARGEST_FALL,
    LARGEST_RATIO,
    LARGEST_RISE,
    LARGEST_SLOPE,
    SMALLEST_RATIO,
    SMALLEST_SLOPE,
)

SHARPNESS = 10.0
"""A lead of a tenth of a score is odds of e to one that the leader is preferred."""

PULL = 8.0
"""How much the shipped weights count, in feedback: doubling one weight costs half as many."""

CALIBRATION_PULL = 100.0
"""How much the shipped calibration counts, in first results."""

_STEPS = 30
_KEEP_SCALE = 1e4


def fit_ratios(pairs: Pairs) -> Doubles:
    """Fit what each shipped weight is multiplied by: shape (f,), 1 where nothing was learned.

    Minimises ``Σ ω·log(1 + e^(−10·d·r)) + PULL/2·Σ(r − 1)²`` over the ratios r by Newton's method,
    d being a pair's difference in weighted features, so that ``d·r`` is its difference in score.
    The first results' mean score is held where it was, since confidence is read off it. Then each
    ratio is brought into its bounds, and all of them into the distance allowed.

    Source: Burges et al., *Learning to rank using gradient descent* (RankNet), ICML 2005,
    doi:10.1145/1102351.1102363.
    """
    n = len(pairs.means)
    differences = pairs.differences * SHARPNESS
    held = pairs.means / max(float(np.linalg.norm(pairs.means)), 1e-12)
    base = PULL * np.eye(n) + _KEEP_SCALE * np.outer(held, held)

    def step(moved: Doubles) -> Doubles:
        wrong = 1.0 / (1.0 + np.exp(np.clip(differences @ (1.0 + moved), -40.0, 40.0)))
        gradient = base @ moved - differences.T @ (pairs.weights * wrong)
        curve = pairs.weights * wrong * (1.0 - wrong)
        hessian = base + differences.T @ (differences * curve[:, None])
        return np.asarray(np.linalg.solve(hessian, gradient), np.float64)

    return bounded(_newton(step, np.zeros(n), _STEPS))


def bounded(moved: Doubles) -> Doubles:
    """Return ratios within bounds and distance, from how far each moved from 1."""
    inside = np.clip(np.nan_to_num(moved), SMALLEST_RATIO - 1.0, LARGEST_RATIO - 1.0)
    distance = float(np.linalg.norm(inside))
    ratios: Doubles = 1.0 + inside * min(1.0, LARGEST_DISTANCE / max(distance, 1e-12))
    return ratios


def pairwise_loss(pairs: Pairs, ratios: Doubles) -> float:
    """Return the mean logistic loss of the pairs; 0.0 for none."""
    if not len(pairs):
        return 0.0
    losses = np.logaddexp(0.0, -SHARPNESS * (pairs.differences @ ratios))
    return float(pairs.weights @ losses / pairs.weights.sum())


def pairwise_accuracy(pairs: Pairs, ratios: Doubles) -> float:
    """Return the weighted share of pairs in the preferred order, ties half; 1.0 for none."""
    if not len(pairs):
        return 1.0
    right = (np.sign(pairs.differences @ ratios) + 1.0) / 2.0
    return float(pairs.weights @ right / pairs.weights.sum())


def fit_calibration(
    logits: Doubles, right: Doubles, weights: Doubles, *, steps: int = _STEPS
) -> tuple[float, float]:
    """Fit how shipped logits are adjusted: ``ratio · logit + shift``, within their bounds.

    Maximum likelihood with the shipped calibration as prior, which weighs as much as
    ``CALIBRATION_PULL`` first results of a logit near 1: results with feedback are no fair sample.
    """
    pull = CALIBRATION_PULL * np.array([1.0, 0.25])
    columns = np.stack([logits, np.ones_like(logits)], axis=1)

    def step(moved: Doubles) -> Doubles:
        p = 1.0 / (1.0 + np.exp(-np.clip(logits + columns @ moved, -40.0, 40.0)))
        gradient = columns.T @ (weights * (p - right)) + pull * moved
        hessian = columns.T @ (columns * (weights * p * (1.0 - p))[:, None]) + np.diag(pull)
        return np.asarray(np.linalg.solve(hessian, gradient), np.float64)

    slope, offset = _newton(step, np.zeros(2), steps)
    ratio = float(np.clip(1.0 + slope, SMALLEST_SLOPE, LARGEST_SLOPE))
    return ratio, float(np.clip(offset, -LARGEST_FALL, LARGEST_RISE))


def surprise(logits: Doubles, right: Doubles) -> Doubles:
    """Return the surprise at each first result (n,) being right or not, in nats."""
    losses: Doubles = np.logaddexp(0.0, logits) - right * logits
    return losses


def _newton(step: Callable[[Doubles], Doubles], start: Doubles, steps: int) -> Doubles:
    """Iterate Newton steps of length 1 at most, until they are below 1e-10."""
    point = start
    for _ in range(steps):
        change = step(point)
        point = point - change / max(1.0, float(np.linalg.norm(change)))
        if float(np.abs(change).max(initial=0.0)) < 1e-10:
            break
    return point
