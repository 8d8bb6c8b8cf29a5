"""The gate (P17): what a request may cost in, whether a stage is affordable out.

The cost of each stage is learned on the device: a high quantile of how its milliseconds
compare with what the configuration assumes.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from family_recall.deadline import Deadline

_QUANTILE = 0.9  # of what a stage took before: dearer than most
_STEP = 0.15
_RESERVE_MS = 0.4  # for choosing, loading and explaining the results


class Costs:
    """Milliseconds each stage takes here, as a running quantile. Safe between threads.

    A multiplicative form of stochastic quantile tracking: each time a stage takes longer than
    expected the expectation rises by ``step·q``, else it falls by ``step·(1 − q)``, so that in
    balance a share q of the runs stays below it.
    """

    def __init__(self, assumed_ms: Mapping[str, tuple[float, float]]) -> None:
        """Start from (fixed, per unit) milliseconds by stage."""
        self._assumed = dict(assumed_ms)
        self._factor = dict.fromkeys(assumed_ms, 1.0)
        self._lock = threading.Lock()

    def expected_ms(self, stage: str, n: int = 0) -> float:
        """Milliseconds a stage is expected to take over n units."""
        fixed, per_unit = self._assumed[stage]
        return self._factor[stage] * (fixed + per_unit * n)

    def observe(self, stage: str, n: int, ms: float) -> None:
        """Learn from one run of a stage."""
        if stage not in self._assumed:
            return
        with self._lock:
            if ms > self.expected_ms(stage, n):
                self._factor[stage] = min(self._factor[stage] * (1 + _STEP * _QUANTILE), 100.0)
            else:
                self._factor[stage] = max(self._factor[stage] * (1 - _STEP * (1 - _QUANTILE)), 0.01)


def refusal(costs: Costs, deadline: Deadline, stage: str, n: int = 0) -> str | None:
    """Say why a stage cannot be paid for, or None when it can."""
    needs = costs.expected_ms(stage, n)
    left = deadline.remaining_ms() - _RESERVE_MS
    if needs <= left:
        return None
    return f"needs {needs:.1f} ms, {max(left, 0.0):.1f} ms left"
