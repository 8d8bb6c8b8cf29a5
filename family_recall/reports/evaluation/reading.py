"""Reading: the JSON of a measurement in, its numbers as a page writes them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Figures = Mapping[str, Any]
"""JSON of a measurement, or a part of it."""


def value_at(*way: str) -> Callable[[Figures], float]:
    """Give what reads the number that stands at the end of some keys."""

    def read(each: Figures) -> float:
        value: Any = each
        for key in way:
            value = value[key]
        return float(value)

    return read


def three(quantiles: Mapping[str, float]) -> str:
    """Write quantiles side by side."""
    return " / ".join(f"{value:.1f}" for value in quantiles.values())


def number(value: float) -> str:
    """Write a number of memories, milliseconds or bytes: short from a million on."""
    return f"{value:,g}" if value < 1_000_000 else f"{value / 1_000_000:g} M"
