"""Platt scaling: the probability that a result is right, by its score alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from family_recall.types import FloatArray


@dataclass(frozen=True, slots=True)
class Platt:
    """``1 / (1 + e^−(slope·score + offset))``; slope 0 or more keeps the order of scores.

    Source: Platt 1999, *Probabilistic outputs for support vector machines*.
    """

    slope: float
    offset: float

    def __call__(self, score: npt.NDArray[np.floating]) -> FloatArray:
        """Return the probability (n,) of each score (n,)."""
        logit = np.clip(self.slope * score.astype(np.float64) + self.offset, -40.0, 40.0)
        return (1.0 / (1.0 + np.exp(-logit))).astype(np.float32)


def fit_platt(
    scores: npt.NDArray[np.floating], relevant: npt.NDArray[np.bool_], *, steps: int = 100
) -> Platt:
    """Fit slope and offset by maximum likelihood on smoothed targets.

    Targets are (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2), as in Platt's paper; Newton's method with
    backtracking. If the slope would reverse the order, it is 0 and only the offset is fitted.

    Args:
        scores: Shape (n,).
        relevant: Shape (n,), whether each was right.
        steps: Newton steps at most.

    Source: Lin, Lin & Weng 2007, doi:10.1007/s10994-007-5018-6.
    """
    x = scores.astype(np.float64)
    positives, negatives = int(relevant.sum()), int((~relevant).sum())
    target = np.where(relevant, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(at: npt.NDArray[np.float64]) -> float:
        logit = at[0] * x + at[1]
        return float(np.sum(np.logaddexp(0.0, logit) - target * logit))

    at = np.array([0.0, np.log((positives + 1) / (negatives + 1))])
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-np.clip(at[0] * x + at[1], -40.0, 40.0)))
        gradient = np.array([np.sum((p - target) * x), np.sum(p - target)])
        curve = p * (1 - p)
        hessian = np.array(
            [[np.sum(curve * x * x), np.sum(curve * x)], [np.sum(curve * x), np.sum(curve)]]
        ) + 1e-9 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        scale = 1.0
        while loss(at - scale * step) > loss(at) and scale > 1e-8:
            scale /= 2
        at = at - scale * step
        if float(np.abs(scale * step).max()) < 1e-9:
            break
    if at[0] <= 0.0:
        mean = float(target.mean())
        return Platt(0.0, float(np.log(mean / (1.0 - mean))))
    return Platt(float(at[0]), float(at[1]))
