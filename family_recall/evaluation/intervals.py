"""Means over questions with their 95 % bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

N_RESAMPLES = 1_000
LEVEL = 0.95
_BATCH = 50  # resamples drawn at a time, which bounds the memory


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the interval it would fall into if other questions had been drawn."""

    value: float
    low: float
    high: float


def bootstrap_means(
    values: npt.NDArray[np.float64], *, seed: int, n_resamples: int = N_RESAMPLES
) -> list[Interval]:
    """Return the mean of each column with its 95 % percentile-bootstrap interval.

    Questions (rows) are drawn with replacement, and the columns share the draws, so measures of
    one resample belong together. The same seed gives the same intervals.

    Args:
        values: Shape (n questions, n measures).
        seed: Seed of the draws.
        n_resamples: How many times to draw.

    Raises:
        ValueError: If there is no row.

    Source: Efron & Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 13.
    """
    if not len(values):
        raise ValueError("an interval needs at least one question")
    means = values.mean(axis=0)
    low = high = means
    if len(values) > 1:
        from scipy import stats  # noqa: PLC0415 -- the extra `eval`

        resampled = stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=n_resamples,
            confidence_level=LEVEL,
            method="percentile",
            vectorized=True,
            batch=_BATCH,
            rng=np.random.default_rng(seed),
        )
        low, high = resampled.confidence_interval
    return [
        Interval(float(mean), float(start), float(end))
        for mean, start, end in zip(means, low, high, strict=True)
    ]
