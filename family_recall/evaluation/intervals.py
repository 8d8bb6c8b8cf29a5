"""Intervals: one value per question in, a mean and its 95 % interval out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

N_RESAMPLES = 1_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the interval it would fall into if other questions had been drawn."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """Give the three numbers."""
        return {"value": self.value, "low": self.low, "high": self.high}


def bootstrap_means(
    values: npt.NDArray[np.float64], *, seed: int, n_resamples: int = N_RESAMPLES
) -> list[Interval]:
    """Give the mean of each column with its 95 % percentile-bootstrap interval.

    Questions (rows) are drawn with replacement, as many as there are; the interval runs from
    the 2.5th to the 97.5th percentile of the resampled means. Columns share their draws, so
    measures of one resample belong together. The same seed gives the same intervals.

    Args:
        values: Shape (n questions, n measures).
        seed: Seed of the draws.
        n_resamples: How many times to draw.

    Raises:
        ValueError: If there is no row.

    Source: Efron & Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 13.
    """
    n = values.shape[0]
    if n == 0:
        raise ValueError("an interval needs at least one question")
    rng = np.random.default_rng(seed)
    means = np.stack([values[rng.integers(n, size=n)].mean(axis=0) for _ in range(n_resamples)])
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail], axis=0)
    return [
        Interval(float(mean), float(lo), float(hi))
        for mean, lo, hi in zip(values.mean(axis=0), low, high, strict=True)
    ]
