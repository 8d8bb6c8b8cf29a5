"""The gate: what a request may ask for, what stages cost, and who waits for whom.

Requests have service classes. Where several recalls run at once, conversational ones leave the
cross-encoder to interactive ones, background ones wait for both, and so do threads that write.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from family_recall.config import RecallConfig
from family_recall.deadline import Clock, Deadline
from family_recall.store.stage_costs import StageCost
from family_recall.types import Clamp, RecallRequest
from family_recall.types.request import MAX_TOP_K, SERVICE_CLASSES, service_class_of

_LONGEST_PAUSE_S = 0.03  # of a writer at once …
_PAUSE_SHARE = 4.0  # … and in all, of the time it works

_WINDOW = 31  # recent runs that a price rests on
_FEWEST = 16  # runs without which what was known before counts, too
_FARTHEST = 100.0  # times the declared cost, or that part of it
_RETRY_AFTER = 28  # refusals in a row before a stage is tried again, twice as many after each …
_RETRY_AFTER_MOST = 448  # … try that was as expensive as before
_WORTH_SAVING = 20  # runs of a stage since its cost was last written
_UNLIMITED = 1_000_000  # units


@dataclass(frozen=True, slots=True)
class Admitted:
    """One request inside the gate, cut to what its budget pays for.

    ``clamps`` says what was cut, and why; ``queued_ms`` how long it waited for a thread.
    """

    request: RecallRequest
    deadline: Deadline
    service_class: str
    clamps: tuple[Clamp, ...] = ()
    queued_ms: float = 0.0


class Gate:
    """Admits recalls, counts those that run, and makes writers and background recalls wait.

    Safe between threads.
    """

    def __init__(
        self,
        costs: Costs,
        config: RecallConfig | None = None,
        *,
        clock: Clock = time.monotonic,
        processors: int | None = None,
    ) -> None:
        """Open the gate; ``clock`` returns seconds, for deadlines."""
        self.costs = costs
        self.config = config or RecallConfig()
        self.clock = clock
        self._processors = processors or os.cpu_count() or 1
        self._running = Counter(dict.fromkeys(SERVICE_CLASSES, 0))
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._writer = threading.local()

    def admit(self, request: RecallRequest, asked_at_s: float | None = None) -> Admitted:
        """Start a request's clock, and cut it to what can be paid for.

        The clock of one that had to wait for a thread started when it was asked.
        """
        deadline = Deadline.after(request.ctx.time_budget_ms, self.clock, since_s=asked_at_s)
        queued_ms = 0.0 if asked_at_s is None else deadline.elapsed_ms()
        ctx, clamps = request.ctx, []
        service_class = service_class_of(ctx)
        top_k = min(ctx.top_k, MAX_TOP_K)
        if top_k < ctx.top_k:
            clamps.append(Clamp("top_k", ctx.top_k, top_k, f"at most {MAX_TOP_K} results"))
        longest_ms, usual = self.config.longest_budget_ms, self.config.usual_top_k
        if ctx.time_budget_ms > longest_ms:
            detail = f"at most {longest_ms / 60_000.0:g} minutes"
            clamps.append(Clamp("time_budget_ms", ctx.time_budget_ms, longest_ms, detail))
        if top_k > usual:
            # Half of the budget may go into the results; one page of them is always returned.
            granted = max(self.costs.affordable("answer", deadline.budget_ms / 2.0), usual)
            if granted < top_k:
                detail = f"{deadline.budget_ms:g} ms pay for {granted} results"
                clamps.append(Clamp("top_k", top_k, granted, detail))
                top_k = granted
        if clamps:
            budget_ms = min(ctx.time_budget_ms, longest_ms)
            ctx = dataclasses.replace(ctx, top_k=top_k, time_budget_ms=budget_ms)
            request = dataclasses.replace(request, ctx=ctx)
        return Admitted(request, deadline, service_class, tuple(clamps), queued_ms)

    @contextlib.contextmanager
    def running(self, admitted: Admitted) -> Iterator[None]:
        """Count a recall as running; a background one first waits for those more urgent.

        It waits for half of its time at most.
        """
        is_counted = False
        try:
            with self._lock:
                if admitted.service_class == "background":
                    wait_s = max(admitted.deadline.remaining_ms(), 0.0) / 2_000.0
                    self._changed.wait_for(lambda: not self._n_urgent(), wait_s)
                self._running[admitted.service_class] += 1
                is_counted = True
            yield
        finally:
            with self._lock:
                self._running[admitted.service_class] -= is_counted
                self._changed.notify_all()

    def sheds(self, service_class: str) -> str | None:
        """Return why a recall leaves the cross-encoder to more urgent ones, if it does."""
        running = self._n_urgent()
        if (
            service_class != "conversational"
            or not self._running["interactive"]
            or running <= self._processors
        ):
            return None
        return (
            f"shed: {running} recalls at once on {self._processors} processors, "
            "interactive ones first, no time"
        )

    def yield_to_recalls(self) -> None:
        """Pause while recalls run: a thread that writes calls this between two memories.

        The interpreter runs one thread at a time and hands over after 5 ms; a recall beside a busy
        thread would wait that long after each of its statements. A pause is short, and all pauses
        together are at most four times the work, so that no writer starves.
        """
        now_s = time.monotonic()
        worked_s = now_s - getattr(self._writer, "since_s", now_s)
        allowed_s = min(_PAUSE_SHARE * worked_s, _LONGEST_PAUSE_S)
        if allowed_s > 0.0 and self._n_urgent():
            with self._lock:
                self._changed.wait_for(lambda: not self._n_urgent(), allowed_s)
        self._writer.since_s = time.monotonic()

    def _n_urgent(self) -> int:
        """Count the interactive and conversational recalls that run."""
        return self._running["interactive"] + self._running["conversational"]


class Costs:
    """What each stage costs on this device, fifteen times in sixteen. Safe between threads.

    A stage is declared with a cost for an unknown device, a fixed part and a part per unit. Each
    run is measured as a multiple of that cost, and the price is the second highest of the last 31
    multiples (docs/decisions/0039-the-price-of-a-stage-is-one-factor.md).
    """

    def __init__(
        self,
        declared_ms: Mapping[str, tuple[float, float]],
        stored: Mapping[str, StageCost] | None = None,
    ) -> None:
        """Start from (fixed, per unit) milliseconds by stage, or from what the file has."""
        self._declared_ms = declared_ms
        self._prices = {stage: _Price() for stage in declared_ms}
        self._saved = {stage: cost.runs for stage, cost in (stored or {}).items()}
        for stage, cost in (stored or {}).items():
            if total_ms := sum(declared_ms.get(stage, ())):
                price = self._prices[stage]
                price.factor = price.before = _bounded((cost.fixed_ms + cost.unit_ms) / total_ms)
                price.runs = cost.runs
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

    __slots__ = ("before", "factor", "factors", "refusals", "retry_after", "runs")

    def __init__(self) -> None:
        self.factor = self.before = 1.0
        self.runs = self.refusals = 0
        self.retry_after = _RETRY_AFTER
        self.factors = deque[float](maxlen=_WINDOW)

    def observe(self, factor: float) -> None:
        """Add a run."""
        if factor <= self.factor:
            self.retry_after = _RETRY_AFTER
        elif self.refusals:
            self.retry_after = min(2 * self.retry_after, _RETRY_AFTER_MOST)
        self.runs += 1
        self.refusals = 0
        self.factors.append(factor)
        factors = [*self.factors, *[self.before] * (_FEWEST - len(self.factors))]
        self.factor = sorted(factors)[-2]

    def count_refusal(self) -> None:
        """Add that a recall went without the stage."""
        self.refusals += 1
        if self.refusals % self.retry_after == 0:
            self.factor = self.before = min([1.0, *self.factors])
            self.factors.clear()


def _bounded(factor: float) -> float:
    return min(max(factor, 1.0 / _FARTHEST), _FARTHEST)
