"""What each stage costs on this device, learned from its recent runs.

A price is what fifteen in sixteen of a stage's recent runs took; it is stored in the file.
Measured in docs/decisions/0012-the-expected-cost-of-a-stage-is-a-quantile-of-recent-runs.md.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable, Mapping

from family_recall.store.logs.stage_costs import StageCost

_WINDOW = 31  # recent runs that a price rests on …
_HIGH = 29  # … which is this one of them in order, from 0: 15 in 16 runs to come are below it
_RETRY_AFTER = 28  # refusals in a row before a stage is tried again, twice as many after each …
_RETRY_AFTER_MOST = 448  # … try that was as expensive as before
_REVIEWED_EVERY = 8  # runs, at most, between two computations of the price
_STEP = 0.05  # share by which a run above or below moves the median line
_ABOVE = 1.3  # times the median: about a high quantile, until enough runs have shown it
_FARTHEST = 100.0  # times the assumed cost, or that part of it
_WORTH_SAVING = 20  # runs of a stage since its cost was last written
_UNLIMITED = 1_000_000  # units


class Costs:
    """Milliseconds each stage takes here, fifteen times in sixteen. Safe between threads."""

    def __init__(
        self,
        assumed_ms: Mapping[str, tuple[float, float]],
        stored: Mapping[str, StageCost] | None = None,
    ) -> None:
        """Start from (fixed, per unit) milliseconds by stage, or from what the file has."""
        self._windows = {
            stage: LatencyWindow(fixed, per_unit, (stored or {}).get(stage))
            for stage, (fixed, per_unit) in assumed_ms.items()
        }
        self._lock = threading.Lock()

    def expected_ms(self, stage: str, n: int = 0) -> float:
        """Return the milliseconds a stage is expected to take over n units."""
        window = self._windows[stage]
        return window.fixed_ms + window.unit_ms * n

    def combined_ms(self, units: Mapping[str, int]) -> float:
        """Return the milliseconds that some stages take together, by stage how many units.

        Less than the sum of their prices, since they are rarely all slow at once: the medians are
        added, and what each may take beyond its own as if it were independent of the others.
        """
        total = squares = 0.0
        for stage, n in units.items():
            window = self._windows[stage]
            price = window.fixed_ms + window.unit_ms * n
            median = window.median_fixed_ms + window.median_unit_ms * n
            if median < price:
                total += median
                squares += (price - median) * (price - median)
            else:
                total += price
        return total + math.sqrt(squares)

    def affordable(self, stage: str, ms: float) -> int:
        """Return how many units of a stage so many milliseconds pay for, 0 or more."""
        window = self._windows[stage]
        if window.unit_ms <= 0.0:
            return 0 if ms < window.fixed_ms else _UNLIMITED
        return max(0, min(int((ms - window.fixed_ms) / window.unit_ms), _UNLIMITED))

    def observe(self, stage: str, n: int, ms: float) -> None:
        """Learn from one run of a stage; nothing where it has no price."""
        self.learn([(stage, n, ms)])

    def learn(self, runs: Iterable[tuple[str, int, float]]) -> None:
        """Learn from runs of stages, (stage, units, ms) each; nothing from one without a price."""
        with self._lock:
            for stage, n, ms in runs:
                if stage in self._windows:
                    self._windows[stage].observe(n, ms)

    def count_refusal(self, stage: str) -> None:
        """Learn that a recall went without a stage because of its price."""
        with self._lock:
            self._windows[stage].count_refusal()

    def unsaved(self) -> dict[str, StageCost]:
        """Return what is worth writing: the costs that rest on 20 runs since the last save."""
        with self._lock:
            return {
                stage: StageCost(window.fixed_ms, window.unit_ms, window.runs)
                for stage, window in self._windows.items()
                if window.runs - window.saved_runs >= _WORTH_SAVING
            }

    def mark_saved(self, costs: Mapping[str, StageCost]) -> None:
        """Remember that the file has these."""
        with self._lock:
            for stage, cost in costs.items():
                self._windows[stage].saved_runs = cost.runs


class LatencyWindow:
    """The recent runs of one stage, and the price that follows from them.

    The price is a line, a fixed part and a part per unit, through the median of the runs, times
    what the 30th of the last 31 took compared with that line. Each run above or below the line
    moves both parts by their share of what was expected (exponentiated gradients of the median's
    loss), which tells the two apart where the number of units varies. So two slow runs raise a
    price, as on a laptop that goes to its battery; one does not; and 31 runs later they are
    forgotten.

    A stage that is refused does not run, and so is not learned: after 28 refusals in a row its
    runs but the last are forgotten, so that it is tried once. If it is still too expensive, the
    next try takes twice as many. Without any run the price falls, down to what is assumed.
    """

    __slots__ = (
        "_assumed",
        "_bounds",
        "_recent",
        "_refusals",
        "_retry_after",
        "_unreviewed",
        "fixed_ms",
        "median_fixed_ms",
        "median_unit_ms",
        "runs",
        "saved_runs",
        "unit_ms",
    )

    def __init__(self, fixed_ms: float, unit_ms: float, stored: StageCost | None) -> None:
        self._assumed = (fixed_ms, unit_ms)
        self._bounds = tuple([(ms / _FARTHEST, ms * _FARTHEST) for ms in self._assumed])
        self._recent: deque[tuple[float, float]] = deque(maxlen=_WINDOW)
        self._unreviewed = self._refusals = self.runs = 0
        self._retry_after = _RETRY_AFTER
        if stored is not None:
            fixed_ms, unit_ms, self.runs = stored.fixed_ms, stored.unit_ms, stored.runs
        self.saved_runs = self.runs
        self.median_fixed_ms, self.median_unit_ms = fixed_ms / _ABOVE, unit_ms / _ABOVE
        self._set_price(_ABOVE)

    def observe(self, n: int, ms: float) -> None:
        """Add a run."""
        self.runs += 1
        self._recent.append((float(n), ms))
        self._unreviewed += 1
        is_slow = ms > self.fixed_ms + self.unit_ms * n
        if not is_slow:
            self._retry_after = _RETRY_AFTER
        elif self._refusals:
            self._retry_after = min(2 * self._retry_after, _RETRY_AFTER_MOST)
        self._refusals = 0
        fixed, unit = self.median_fixed_ms, self.median_unit_ms
        if (median := fixed + unit * n) > 0.0:
            share = fixed / median
            rest = 1.0 - share
            # So divided, the two parts together move by exactly one step.
            step = (_STEP if ms > median else -_STEP) / (share * share + rest * rest)
            self.median_fixed_ms = fixed * (1.0 + step * share)
            self.median_unit_ms = unit * (1.0 + step * rest)
        if is_slow or self._unreviewed >= _REVIEWED_EVERY:
            self._review()

    def count_refusal(self) -> None:
        """Add that a recall went without the stage."""
        self._refusals += 1
        if self._recent:
            if self._refusals % self._retry_after:
                return
            last = self._recent.pop()
            self._recent.clear()
            self._recent.append(last)
        else:
            # What the file has may have been learned on a busy day.
            median = self.median_fixed_ms, self.median_unit_ms
            self.median_fixed_ms, self.median_unit_ms = (
                max((1 - _STEP) * part, min(part, assumed / _ABOVE))
                for part, assumed in zip(median, self._assumed, strict=True)
            )
        self._review()

    def _review(self) -> None:
        fixed, unit = self.median_fixed_ms, self.median_unit_ms
        ratios = [ms / (fixed + unit * n or math.inf) for n, ms in self._recent]
        ratios += [_ABOVE] * (_WINDOW - len(ratios))
        ratios.sort()
        self._unreviewed = 0
        self._set_price(ratios[_HIGH])

    def _set_price(self, ratio: float) -> None:
        fixed, unit = self._bounds
        self.median_fixed_ms = median_fixed_ms = _within(self.median_fixed_ms, fixed)
        self.median_unit_ms = median_unit_ms = _within(self.median_unit_ms, unit)
        self.fixed_ms = _within(median_fixed_ms * ratio, fixed)
        self.unit_ms = _within(median_unit_ms * ratio, unit)


def _within(ms: float, bounds_ms: tuple[float, float]) -> float:
    least_ms, most_ms = bounds_ms
    if least_ms <= ms <= most_ms:
        return ms
    return least_ms if ms < least_ms else most_ms
