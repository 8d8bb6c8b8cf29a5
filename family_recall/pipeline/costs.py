"""Costs: what stages took on this device in; what they are expected to take, out.

A price is what fifteen in sixteen of a stage's recent runs took; it is kept in the file.
"""

from __future__ import annotations

import math
import statistics
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from family_recall.deadline import Deadline
from family_recall.stores.logs.stage_costs import StageCost
from family_recall.types import SkipReason

RESERVE_MS = 0.2
"""What is left over for what no stage counts, where nothing else must follow."""

_RECENT = 31  # runs of a stage that its price rests on …
_DEAR_AT = 29  # … which is this one of them in order, from 0: 15 in 16 of those to come are below
_PATIENCE = 28  # refusals in a row before a stage is tried again, twice as many after each …
_MOST_PATIENCE = 448  # … that shows it as dear as before
_REVIEWED = 8  # runs, at most, between two looks at them
_STEP = 0.05  # share by which a run above or below moves the middle
_ABOVE = 1.3  # times the middle: about a high quantile, until enough runs have shown it
_FARTHEST = 100.0  # times dearer or cheaper than assumed
_MOVED = 0.1  # share by which a cost has to change to be written again
_FEWEST_RUNS = 20  # of a stage before its cost is worth a write


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a stage cannot be paid for: for programs, and for people."""

    reason: SkipReason
    detail: str


class Costs:
    """Milliseconds each stage takes here, fifteen times in sixteen. Safe between threads.

    A stage's price is a line, a fixed part and a part per unit (token, row, pair, result), through
    the middle of its runs, times how dear the 30th of the last 31 was. Each run above or
    below the line moves both parts by their share of what was expected: exponentiated gradients of
    the median's loss, which tell the two apart where the number of units varies. So two dear
    runs raise a price, as on a laptop that goes to its battery; one does not; and what was dear is
    forgotten after 31.

    A stage that is refused is not run, and so not learned: after 28 refusals in a row its runs but
    the last are forgotten, so that it is tried once. If it is still dear, that takes twice as many
    from then on. Where there is no run at all the price falls, down to what is assumed.
    """

    def __init__(
        self,
        assumed_ms: Mapping[str, tuple[float, float]],
        known: Mapping[str, StageCost] | None = None,
    ) -> None:
        """Start from (fixed, per unit) milliseconds by stage, or from what the file knows."""
        self._assumed = dict(assumed_ms)
        self._kept = {stage: one for stage, one in (known or {}).items() if stage in assumed_ms}
        self._stages = {
            stage: _Stage(fixed, per_unit, self._kept.get(stage))
            for stage, (fixed, per_unit) in assumed_ms.items()
        }
        self._lock = threading.Lock()

    def expected_ms(self, stage: str, n: int = 0) -> float:
        """Milliseconds a stage is expected to take over n units."""
        return self._stages[stage].expected_ms(n)

    def expected_in_all_ms(self, units: Mapping[str, int]) -> float:
        """Milliseconds some stages are expected to take together, by stage how many units.

        Less than the sum of each, since they are seldom all dear at once: what each may take beyond
        its middle is added as if it were independent of the others.
        """
        prices = [self._stages[stage].middle_and_price_ms(n) for stage, n in units.items()]
        beyond = math.sqrt(sum([(price - middle) ** 2 for middle, price in prices]))
        return sum([middle for middle, _ in prices]) + beyond

    def affordable(self, stage: str, ms: float) -> int:
        """How many units of a stage so many milliseconds pay for, 0 or more."""
        one = self._stages[stage]
        if one.unit_ms <= 0.0:
            return 0 if ms < one.fixed_ms else 1_000_000
        return max(0, min(int((ms - one.fixed_ms) / one.unit_ms), 1_000_000))

    def observe(self, stage: str, n: int, ms: float) -> None:
        """Learn from one run of a stage."""
        if stage in self._stages:
            with self._lock:
                self._stages[stage].observe(n, ms)

    def seed(self, stage: str, samples: Sequence[tuple[int, float]]) -> None:
        """Begin from a few runs, (units, milliseconds) each, where little is known yet."""
        if stage in self._stages and samples:
            with self._lock:
                if self._stages[stage].runs < _FEWEST_RUNS:
                    self._stages[stage].seed(samples)

    def refused(self, stage: str) -> None:
        """Note that a stage was too dear, and so was not run."""
        with self._lock:
            self._stages[stage].fall_back()

    def moved(self) -> dict[str, StageCost]:
        """Give what is worth writing: well-founded costs that are not what the file has."""
        with self._lock:
            found = {
                stage: StageCost(one.fixed_ms, one.unit_ms, one.runs)
                for stage, one in self._stages.items()
                if one.runs >= _FEWEST_RUNS
            }
        return {s: one for s, one in found.items() if _differs(one, self._kept.get(s))}

    def written(self, kept: Mapping[str, StageCost]) -> None:
        """Note what the file now has."""
        with self._lock:
            self._kept.update(kept)

    def to_json(self) -> dict[str, dict[str, float]]:
        """Give each stage's expectation, for people."""
        return {
            stage: {"fixed_ms": round(one.fixed_ms, 4), "unit_ms": round(one.unit_ms, 6),
                    "runs": one.runs}
            for stage, one in self._stages.items()
        }  # fmt: skip


class _Stage:
    """One stage's price: a line through the middle of its runs, times how dear recent ones were."""

    __slots__ = (
        "_assumed",
        "_middle",
        "_patience",
        "_recent",
        "_refused",
        "_unseen",
        "fixed_ms",
        "runs",
        "unit_ms",
    )

    def __init__(self, fixed_ms: float, unit_ms: float, known: StageCost | None) -> None:
        self._assumed = (fixed_ms, unit_ms)
        self._recent: deque[tuple[float, float]] = deque(maxlen=_RECENT)
        self._unseen = self._refused = 0
        self._patience = _PATIENCE
        self.runs = 0 if known is None else known.runs
        if known is not None:
            fixed_ms, unit_ms = known.fixed_ms, known.unit_ms
        self._middle = (fixed_ms / _ABOVE, unit_ms / _ABOVE)
        self._set_price(_ABOVE)

    def expected_ms(self, n: int) -> float:
        return self.fixed_ms + self.unit_ms * n

    def middle_and_price_ms(self, n: int) -> tuple[float, float]:
        price = self.expected_ms(n)
        return min(self._middle[0] + self._middle[1] * n, price), price

    def observe(self, n: int, ms: float) -> None:
        self.runs += 1
        self._recent.append((n, ms))
        self._unseen += 1
        is_dear = ms > self.expected_ms(n)
        if not is_dear:
            self._patience = _PATIENCE
        elif self._refused:
            self._patience = min(2 * self._patience, _MOST_PATIENCE)
        self._refused = 0
        fixed, unit = self._middle
        if (middle := fixed + unit * n) > 0.0:
            share = fixed / middle
            # So divided, the two parts together move by exactly one step.
            step = (_STEP if ms > middle else -_STEP) / (share**2 + (1 - share) ** 2)
            self._middle = (fixed * (1 + step * share), unit * (1 + step * (1 - share)))
        if is_dear or self._unseen >= _REVIEWED:
            self._review()

    def seed(self, samples: Sequence[tuple[int, float]]) -> None:
        """Draw a line through the middle of the shorter and of the longer runs."""
        in_order = sorted(samples)
        half = (len(in_order) + 1) // 2
        (n, ms), (m, more_ms) = (_medians(part) for part in (in_order[:half], in_order[-half:]))
        fixed, unit = self._middle
        if m > n and unit > 0.0:
            unit = max((more_ms - ms) / (m - n), 0.0)
            fixed = max(ms - unit * n, 0.0)
        else:
            middle = fixed + unit * n
            times = ms / middle if middle > 0.0 else 1.0
            fixed, unit = fixed * times, unit * times
        self._middle = (fixed, unit)
        self._recent.extend(samples)
        self.runs = max(self.runs, len(samples))
        self._review()

    def fall_back(self) -> None:
        self._refused += 1
        if self._recent:
            if self._refused % self._patience:
                return
            last = self._recent.pop()
            self._recent.clear()
            self._recent.append(last)
        else:
            # What the file knew may have been of a busy day.
            fixed, unit = (
                max((1 - _STEP) * own, min(own, assumed / _ABOVE))
                for own, assumed in zip(self._middle, self._assumed, strict=True)
            )
            self._middle = (fixed, unit)
        self._review()

    def _review(self) -> None:
        fixed, unit = self._middle
        ratios = [ms / middle for n, ms in self._recent if (middle := fixed + unit * n) > 0.0]
        ratios += [_ABOVE] * (_RECENT - len(ratios))
        ratios.sort()
        self._unseen = 0
        self._set_price(ratios[_DEAR_AT])

    def _set_price(self, dear: float) -> None:
        fixed, unit = self._assumed
        self._middle = (_within(self._middle[0], fixed), _within(self._middle[1], unit))
        self.fixed_ms = _within(self._middle[0] * dear, fixed)
        self.unit_ms = _within(self._middle[1] * dear, unit)


def refusal(
    costs: Costs,
    deadline: Deadline,
    stage: str,
    n: int = 0,
    *,
    tail_ms: float = RESERVE_MS,
    times: float = 1.0,
) -> Refusal | None:
    """Say why a stage cannot be paid for, or None when it can.

    Args:
        costs: What stages cost.
        deadline: How much time is left.
        stage: A priced stage.
        n: How many units of it.
        tail_ms: What must be left afterwards.
        times: How many times dearer it is now.
    """
    needs = costs.expected_ms(stage, n) * times
    left = deadline.remaining_ms() - tail_ms
    if needs <= left:
        return None
    costs.refused(stage)
    return Refusal("no_time", f"needs {needs:.1f} ms, {max(left, 0.0):.1f} ms left")


def _medians(samples: Sequence[tuple[int, float]]) -> tuple[float, float]:
    return statistics.median(n for n, _ in samples), statistics.median(ms for _, ms in samples)


def _within(ms: float, assumed_ms: float) -> float:
    return min(max(ms, assumed_ms / _FARTHEST), assumed_ms * _FARTHEST)


def _differs(one: StageCost, kept: StageCost | None) -> bool:
    if kept is None:
        return True
    pairs = ((one.fixed_ms, kept.fixed_ms), (one.unit_ms, kept.unit_ms))
    return any(abs(new - old) > _MOVED * old for new, old in pairs)
