"""Fitting: preferences in, bounded ratios of the shipped weights out. No clock, no randomness."""

from __future__ import annotations

import numpy as np

from family_recall.learning.samples import Doubles, Pairs
from family_recall.ranking.learned_weights import (
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
"""The shipped weights' say, in judgements: doubling one weight costs half as many."""

CALIBRATION_PULL = 100.0
"""The shipped calibration's say, in first results."""

_STEPS = 30
_KEEP_SCALE = 1e4


def fit_ratios(pairs: Pairs) -> Doubles:
    """Fit what each shipped weight is multiplied by: shape (f,), 1 where nothing was learned.

    Minimises ``Σ ω·log(1 + e^(−10·d·r)) + PULL/2·Σ(r − 1)²`` over the ratios r by Newton's method,
    d being a pair's difference in weighted features, so that ``d·r`` is its difference in score.
    The first results' mean score is held where it was, since confidence is read off it. Then each
    ratio is brought into its box, and all of them into the distance allowed.

    Source: Burges et al., *Learning to rank using gradient descent* (RankNet), ICML 2005,
    doi:10.1145/1102351.1102363.
    """
    n = len(pairs.means)
    apart = pairs.differences * SHARPNESS
    held = pairs.means / max(float(np.linalg.norm(pairs.means)), 1e-12)
    moved = np.zeros(n)
    base = PULL * np.eye(n) + _KEEP_SCALE * np.outer(held, held)
    for _ in range(_STEPS):
        wrong = 1.0 / (1.0 + np.exp(np.clip(apart @ (1.0 + moved), -40.0, 40.0)))
        gradient = base @ moved - apart.T @ (pairs.weights * wrong)
        curve = pairs.weights * wrong * (1.0 - wrong)
        step = np.linalg.solve(base + apart.T @ (apart * curve[:, None]), gradient)
        moved = moved - step / max(1.0, float(np.linalg.norm(step)))
        if float(np.abs(step).max(initial=0.0)) < 1e-10:
            break
    return bounded(moved)


def bounded(moved: Doubles) -> Doubles:
    """Bring what ratios moved from 1 into the box and the distance allowed; gives the ratios."""
    inside = np.clip(np.nan_to_num(moved), SMALLEST_RATIO - 1.0, LARGEST_RATIO - 1.0)
    distance = float(np.linalg.norm(inside))
    ratios: Doubles = 1.0 + inside * min(1.0, LARGEST_DISTANCE / max(distance, 1e-12))
    return ratios


def pairwise_loss(pairs: Pairs, ratios: Doubles) -> float:
    """Mean logistic loss of the pairs; 0.0 for none."""
    if not len(pairs):
        return 0.0
    losses = np.logaddexp(0.0, -SHARPNESS * (pairs.differences @ ratios))
    return float(pairs.weights @ losses / pairs.weights.sum())


def pairwise_accuracy(pairs: Pairs, ratios: Doubles) -> float:
    """Weighted share of pairs in the preferred order, ties counting half; 1.0 for none."""
    if not len(pairs):
        return 1.0
    right = (np.sign(pairs.differences @ ratios) + 1.0) / 2.0
    return float(pairs.weights @ right / pairs.weights.sum())


def fit_bend(
    logits: Doubles, right: Doubles, weights: Doubles, *, steps: int = _STEPS
) -> tuple[float, float]:
    """Fit how shipped logits are bent: ``ratio · logit + shift``, inside their bounds.

    Maximum likelihood with the shipped calibration as prior, which weighs as much as
    ``CALIBRATION_PULL`` first results of a logit near 1: judged results are no fair sample.
    """
    pull = CALIBRATION_PULL * np.array([1.0, 0.25])
    at = np.zeros(2)
    columns = np.stack([logits, np.ones_like(logits)], axis=1)
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-np.clip(logits + columns @ at, -40.0, 40.0)))
        gradient = columns.T @ (weights * (p - right)) + pull * at
        hessian = columns.T @ (columns * (weights * p * (1.0 - p))[:, None]) + np.diag(pull)
        step = np.linalg.solve(hessian, gradient)
        at = at - step / max(1.0, float(np.linalg.norm(step)))
        if float(np.abs(step).max()) < 1e-10:
            break
    ratio = float(np.clip(1.0 + at[0], SMALLEST_SLOPE, LARGEST_SLOPE))
    return ratio, float(np.clip(at[1], -LARGEST_FALL, LARGEST_RISE))


def surprise(logits: Doubles, right: Doubles) -> Doubles:
    """Give the surprise at each first result (n,) being right or not, in nats."""
    losses: Doubles = np.logaddexp(0.0, logits) - right * logits
    return losses
