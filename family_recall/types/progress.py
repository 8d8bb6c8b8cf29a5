"""Callbacks that report how far a long operation has come."""

from __future__ import annotations

from collections.abc import Callable

CountCallback = Callable[[int], None]
"""Called with how much is done."""

ProgressCallback = Callable[[int, int], None]
"""Called with how much is done, and of how much in all."""

StepCallback = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and of how much in all."""
