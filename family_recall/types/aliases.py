"""Arrays that pass between stages, as names only, since numpy loads when needed; and callbacks."""

from __future__ import annotations

from collections.abc import Callable
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

CountCallback = Callable[[int], None]
"""Called with how much is done."""

ProgressCallback = Callable[[int, int], None]
"""Called with how much is done, and of how much in all."""

StepCallback = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and of how much in all."""
