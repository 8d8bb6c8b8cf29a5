"""Time left: a budget and a clock in, milliseconds out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which no optional stage starts."""

    started_at_s: float
    budget_ms: float
    clock: Clock = field(default=time.monotonic, repr=False)

    @classmethod
    def after(cls, budget_ms: float, clock: Clock = time.monotonic) -> Deadline:
        """Give a budget of milliseconds that starts now."""
        return cls(started_at_s=clock(), budget_ms=budget_ms, clock=clock)

    def elapsed_ms(self) -> float:
        """Milliseconds since the start."""
        return (self.clock() - self.started_at_s) * 1000.0

    def remaining_ms(self) -> float:
        """Milliseconds left; negative once the budget is spent."""
        return self.budget_ms - self.elapsed_ms()
