"""The three array types that pass between stages, as names only: numpy loads when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FloatArray: TypeAlias = "npt.NDArray[np.float32]"
"""Vectors, scores and features; shapes are given where they are used."""

IdArray: TypeAlias = "npt.NDArray[np.int64]"
"""Row ids of memories, as the store counts them."""

BoolArray: TypeAlias = "npt.NDArray[np.bool_]"
"""Masks over rows."""
