"""Names of array types and callbacks; importing them does not load numpy."""

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
"""Called with the number done."""

ProgressCallback = Callable[[int, int], None]
"""Called with the number done and the total."""

StepCallback = Callable[[str, int, int], None]
"""Called with the name of a step, the number done and the total."""
