"""What each stage costs on this device: a high quantile of its recent runs, kept in the file.

A stage is declared with a cost for an unknown device, a fixed part and a part per unit. Each run is
measured as a multiple of that cost, and the price is the second highest of the last 31 multiples:
fifteen in sixteen runs to come take less. Measured in
docs/decisions/0039-the-price-of-a-stage-is-one-factor.md.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping

from family_recall.store.stage_costs import StageCost

_WINDOW = 31  # recent runs that a price rests on
_FEWEST = 16  # runs without which what was known before counts, too
_FARTHEST = 100.0  # times the declared cost, or that part of it
_RETRY_AFTER = 28  # refusals in a row before a stage is tried again, twice as many after each …
_RETRY_AFTER_MOST = 448  # … try that was as expensive as before
_WORTH_SAVING = 20  # runs of a stage since its cost was last written
_UNLIMITED = 1_000_000  # units


class Costs:
    """Milliseconds each stage takes here, fifteen times in sixteen. Safe between threads."""

    def __init__(
        self,
        declared_ms: Mapping[str, tuple[float, float]],
        stored: Mapping[str, StageCost] | None = None,
    ) -> None:
        """Start from (fixed, per unit) milliseconds by stage, or from what the file has."""
        stored = stored or {}
        self._declared_ms = declared_ms
        self._prices = {
            stage: _Price(_factor(stored[stage], declared) if stage in stored else 1.0)
            for stage, declared in declared_ms.items()
        }
        self._saved = {stage: cost.runs for stage, cost in stored.items()}
        for stage, runs in self._saved.items():
            if stage in self._prices:
                self._prices[stage].runs = runs
        self._lock = threading.Lock()

    def expected_ms(self, stage: str, n: int = 0) -> float:
        """Return the milliseconds a stage is expected to take over n units."""
        fixed_ms, unit_ms = self._declared_ms[stage]
        return self._prices[stage].factor * (fixed_ms + unit_ms * n)

    def affordable(self, stage: str, ms: float) -> int:
        """Return how many units of a stage so many milliseconds pay for, 0 or more."""
        fixed_ms, unit_ms = self._declared_ms[stage]
        factor = self._prices[stage].factor
        if unit_ms * factor <= 0.0:
            return 0 if ms < fixed_ms * factor else _UNLIMITED
        return max(0, min(int((ms / factor - fixed_ms) / unit_ms), _UNLIMITED))

    def observe(self, stage: str, n: int, ms: float) -> None:
        """Learn from one run of a stage over n units; nothing where it has no price."""
        fixed_ms, unit_ms = self._declared_ms.get(stage, (0.0, 0.0))
        declared_ms = fixed_ms + unit_ms * n
        if declared_ms > 0.0:
            with self._lock:
                self._prices[stage].observe(_bounded(ms / declared_ms))

    def count_refusal(self, stage: str) -> None:
        """Learn that a recall went without a stage because of its price."""
        with self._lock:
            self._prices[stage].count_refusal()

    def unsaved(self) -> dict[str, StageCost]:
        """Return what is worth writing: the costs that rest on 20 runs since the last save."""
        with self._lock:
            return {
                stage: StageCost(price.factor * fixed_ms, price.factor * unit_ms, price.runs)
                for stage, (fixed_ms, unit_ms) in self._declared_ms.items()
                if (price := self._prices[stage]).runs >= self._saved.get(stage, 0) + _WORTH_SAVING
            }

    def mark_saved(self, costs: Mapping[str, StageCost]) -> None:
        """Remember that the file has these."""
        self._saved.update({stage: cost.runs for stage, cost in costs.items()})


class _Price:
    """The price of one stage, as a factor of its declared cost.

    Two slow runs raise it, one does not; 31 runs later they are forgotten. A stage that is refused
    does not run, and so is not learned: after 28 refusals in a row all but its fastest run is
    forgotten, so that it is tried again. If it is still too expensive, the next try takes twice as
    many refusals.
    """

    __slots__ = ("_before", "_factors", "_refusals", "_retry_after", "factor", "runs")

    def __init__(self, factor: float) -> None:
        self.factor = self._before = factor
        self.runs = self._refusals = 0
        self._retry_after = _RETRY_AFTER
        self._factors = deque[float](maxlen=_WINDOW)

    def observe(self, factor: float) -> None:
        """Add a run."""
        if factor <= self.factor:
            self._retry_after = _RETRY_AFTER
        elif self._refusals:
            self._retry_after = min(2 * self._retry_after, _RETRY_AFTER_MOST)
        self.runs += 1
        self._refusals = 0
        self._factors.append(factor)
        factors = [*self._factors, *[self._before] * (_FEWEST - len(self._factors))]
        self.factor = sorted(factors)[-2]

    def count_refusal(self) -> None:
        """Add that a recall went without the stage."""
        self._refusals += 1
        if self._refusals % self._retry_after == 0:
            self.factor = self._before = min([1.0, *self._factors])
            self._factors.clear()


def _factor(cost: StageCost, declared_ms: tuple[float, float]) -> float:
    """Return a stored cost as a factor of the declared one."""
    total_ms = sum(declared_ms)
    return _bounded((cost.fixed_ms + cost.unit_ms) / total_ms) if total_ms > 0.0 else 1.0


def _bounded(factor: float) -> float:
    return min(max(factor, 1.0 / _FARTHEST), _FARTHEST)
