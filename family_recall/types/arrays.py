"""The three array types that pass between stages."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float32]
"""Vectors, scores and features; shapes are given where they are used."""

IdArray: TypeAlias = npt.NDArray[np.int64]
"""Row ids of memories, as the store counts them."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]
"""Masks over rows."""
