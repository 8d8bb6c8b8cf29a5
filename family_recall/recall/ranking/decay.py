"""Half-life decay of a memory's recency."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from family_recall.types import FloatArray


def half_life_decay(
    age_days: npt.NDArray[np.float64],
    half_life_days: npt.NDArray[np.float64] | float,
    floor: npt.NDArray[np.float64] | float = 0.0,
) -> FloatArray:
    """Return ``max(floor, 2^(−age / half-life))``; an infinite half-life never fades.

    Ages below 0 (the future) count as 0.

    >>> half_life_decay(np.array([0.0, 30.0, 60.0]), 30.0).tolist()
    [1.0, 0.5, 0.25]
    """
    age = np.maximum(age_days, 0.0)
    return np.maximum(floor, np.exp2(-age / half_life_days)).astype(np.float32)
