"""The gate: it cuts requests to what can be meant, and says who waits for whom.

Requests have service classes. Where several recalls run at once, conversational ones leave the
cross-encoder to interactive ones, background ones wait for both, and so do threads that write.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from family_recall.config import RecallConfig
from family_recall.deadline import Clock, Deadline
from family_recall.recall.costs import Costs
from family_recall.types import Clamp, RecallRequest
from family_recall.types.request import MAX_TOP_K, SERVICE_CLASSES, service_class_of

_LONGEST_PAUSE_S = 0.03  # of a writer at once …
_PAUSE_SHARE = 4.0  # … and in all, of the time it works
_LONGEST_WAIT_S = 0.05  # of a background recall before it looks at the clock again


@dataclass(frozen=True, slots=True)
class Admitted:
    """One request inside the gate.

    Attributes:
        request: The request, cut to what its budget pays for.
        deadline: When it has to be answered.
        service_class: Its class.
        clamps: What was cut, and why.
        queued_ms: How long it waited for a thread before it was admitted.
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
        """Open the gate.

        Args:
            costs: What stages cost here.
            config: Constants; the measured ones, when left out.
            clock: Seconds, for deadlines.
            processors: How many recalls run at once without slowing each other; the machine's,
                when left out.
        """
        self.costs = costs
        self.config = config or RecallConfig()
        self.clock = clock
        self._processors = processors or os.cpu_count() or 1
        # All classes from the start, so that counting needs no lock.
        self._running = Counter(dict.fromkeys(SERVICE_CLASSES, 0))
        self._changed = threading.Condition()
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
        if admitted.service_class == "background":
            self._wait_for_others(admitted.deadline)
        self._count(admitted.service_class, 1)
        try:
            yield
        finally:
            self._count(admitted.service_class, -1)

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
            with self._changed:
                self._changed.wait_for(lambda: not self._n_urgent(), allowed_s)
        self._writer.since_s = time.monotonic()

    def _wait_for_others(self, deadline: Deadline) -> None:
        until_ms = deadline.remaining_ms() / 2.0
        until_s = time.monotonic() + until_ms / 1000.0
        with self._changed:
            while self._n_urgent() and deadline.remaining_ms() > until_ms:
                left_s = until_s - time.monotonic()
                if left_s <= 0.0:
                    break
                self._changed.wait(min(left_s, _LONGEST_WAIT_S))

    def _count(self, service_class: str, change: int) -> None:
        with self._changed:
            self._running[service_class] += change
            if change < 0:
                self._changed.notify_all()

    def _n_urgent(self) -> int:
        """Count the interactive and conversational recalls that run."""
        return self._running["interactive"] + self._running["conversational"]
