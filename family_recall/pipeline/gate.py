"""The gate (P17): a request in; what of it can be paid for, and what each stage may cost, out.

Requests have classes: where several recalls run at once, each stage is priced as that much dearer,
the conversational leave the cross-encoder to the interactive, and the background waits for both.
Being short of time is never an error: what is left out, cut or put off is said in the trace.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from family_recall.config import RecallConfig
from family_recall.deadline import Alarm, Clock, Deadline
from family_recall.pipeline.costs import RESERVE_MS, Costs, Refusal, refusal
from family_recall.types import Admission, Clamp, RecallRequest
from family_recall.types.request import MAX_TOP_K, SERVICE_CLASSES, service_class_of

_LONGEST_PAUSE_S = 0.03  # of a writer at once …
_PAUSE_SHARE = 4.0  # … and in all, of the time it works
_LONGEST_NAP_S = 0.05  # of a background recall between two looks at the clock
_AT_LEAST_AS_URGENT = {one: SERVICE_CLASSES[: at + 1] for at, one in enumerate(SERVICE_CLASSES)}


@dataclass(slots=True)
class Admitted:
    """One request inside the gate: what it may cost from here to its answer.

    Attributes:
        request: The request, cut to what can be paid for.
        deadline: When it has to be answered.
        service_class: Its class.
        clamps: What was cut, and why.
        alarm: Stops what does not end in time.
        waited_ms: How long it gave way to others.
    """

    gate: Gate
    request: RecallRequest
    deadline: Deadline
    service_class: str
    clamps: tuple[Clamp, ...] = ()
    alarm: Alarm = field(default_factory=Alarm)
    waited_ms: float = 0.0

    def expected_ms(self, stage: str, n: int = 0) -> float:
        """Milliseconds a stage is expected to take now, with whoever else is being answered."""
        return self.gate.costs.expected_ms(stage, n) * self.gate.contention(self.service_class)

    def tail_ms(self, *before: str) -> float:
        """Milliseconds that what must follow is expected to take: ``score``, ``finish``.

        A question whose meaning was searched for answers better with few candidates scored than
        one whose words alone were, with many.
        """
        config = self.gate.config
        units = {
            "score": config.fewest_candidates,
            "late_interaction": config.fewest_candidates,
            "finish": self.request.ctx.top_k,
            "between": 1 + len(before),
        }
        stages = {stage: units.get(stage, 0) for stage in (*before, "between")}
        return self.gate.costs.expected_in_all_ms(stages) * self.gate.contention(self.service_class)

    def refusal(self, stage: str, n: int = 0, *, tail_ms: float = RESERVE_MS) -> Refusal | None:
        """Say why a stage cannot be paid for, or None when it can.

        Args:
            stage: A priced stage.
            n: How many units of it.
            tail_ms: What must follow it; see :meth:`tail_ms`.
        """
        contention = self.gate.contention(self.service_class)
        why = refusal(self.gate.costs, self.deadline, stage, n, tail_ms=tail_ms, times=contention)
        if why is None and stage == "rerank" and self.service_class == "conversational":
            return self.gate.shed()
        return why

    def affordable(self, stage: str, tail_ms: float) -> int:
        """How many units of a stage the time left pays for."""
        left = self.deadline.remaining_ms() - tail_ms
        return self.gate.costs.affordable(stage, left / self.gate.contention(self.service_class))

    def observe(self, stage: str, n: int, ms: float) -> None:
        """Learn from one run of a stage what it costs alone."""
        self.gate.costs.observe(stage, n, ms / self.gate.contention(self.service_class))

    def yield_to_urgent(self) -> None:
        """Let what is more urgent go first, if this is background, for half of the time left."""
        if self.service_class == "background":
            self.waited_ms += self.gate.wait_for_others(self.deadline)

    def admission(self) -> Admission:
        """Say what the gate made of the request, and what it expects to pay for."""
        return Admission(self.service_class, self.clamps, self._plan())

    def _plan(self) -> tuple[tuple[str, int], ...]:
        """Spend the budget in the order of the read path; (stage, units) that can be paid for."""
        costs, config = self.gate.costs, self.gate.config
        contention = self.gate.contention(self.service_class)
        left = self.deadline.remaining_ms() - self.tail_ms("score", "finish")
        left -= contention * (costs.expected_ms("plan") + costs.expected_ms("lexical"))
        planned = []
        tokens = question_tokens(self.request.query_text)
        stages = [("embed", tokens), ("vector", 0), ("graph", 0),
                  ("late_interaction", config.candidate_pool)]  # fmt: skip
        for stage, n in stages:
            needs = contention * costs.expected_ms(stage, n)
            if needs <= left:
                planned.append((stage, n))
                left -= needs
            elif (
                stage == "embed"
                and (needs := contention * costs.expected_ms("embed_static")) <= left
            ):
                planned.append(("embed_static", 0))
                left -= needs
        if self.request.ctx.allow_cross_encoder:
            per_pair = contention * costs.expected_ms("rerank", config.assumed_pair_tokens)
            pairs = min(config.rerank_pool, math.floor(max(left, 0.0) / max(per_pair, 1e-9)))
            planned += [("rerank", pairs)] * (pairs > 0)
        return tuple(planned)


class Gate:
    """Admits recalls, knows how many run, and makes writers and the background give way.

    Safe between threads. Nothing waits here for longer than it says.
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
        self._running: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._writer = threading.local()

    @contextlib.contextmanager
    def admitted(self, request: RecallRequest) -> Iterator[Admitted]:
        """Start a request's clock, cut it to what can be paid for, and count it as running."""
        deadline = Deadline.after(request.ctx.time_budget_ms, self.clock)
        service_class = service_class_of(request.ctx)
        with self._changed:
            self._running[service_class] += 1
        try:
            request, clamps = self._clamped(request, deadline)
            yield Admitted(self, request, deadline, service_class, clamps)
        finally:
            with self._changed:
                self._running[service_class] -= 1
                self._changed.notify_all()

    def contention(self, service_class: str) -> float:
        """How many times dearer stages are, by what runs that is at least as urgent: 1 or more."""
        return max(1.0, self._ahead(service_class) / self._processors)

    def shed(self) -> Refusal | None:
        """Say why a conversational recall leaves the cross-encoder to others, if it does."""
        n = self._ahead("conversational")
        if self._running["interactive"] and n > self._processors:
            return Refusal(
                "shed",
                f"shed: {n} recalls at once on {self._processors} processors, "
                "interactive ones first, no time",
            )
        return None

    def wait_for_others(self, deadline: Deadline) -> float:
        """Wait until nothing more urgent runs, for half of the time left; milliseconds waited."""
        until_ms = deadline.remaining_ms() / 2.0
        start_s = time.monotonic()
        with self._changed:
            while self._ahead("conversational"):
                waited_s = time.monotonic() - start_s
                left_s = min(deadline.remaining_ms() - until_ms, until_ms) / 1000.0 - waited_s
                if left_s <= 0.0:
                    break
                self._changed.wait(min(left_s, _LONGEST_NAP_S))
        return (time.monotonic() - start_s) * 1000.0

    def yield_to_recalls(self) -> None:
        """Let recalls go first: a thread that writes calls this between two memories.

        The interpreter runs one thread at a time, and hands over after 5 ms: a recall beside a busy
        thread would wait so long after each of its statements. A pause is short, and all pauses
        together are at most four times the work, so that no writer starves.
        """
        now_s = time.monotonic()
        worked_s = now_s - getattr(self._writer, "since_s", now_s)
        allowed_s = min(_PAUSE_SHARE * worked_s, _LONGEST_PAUSE_S)
        if allowed_s > 0.0 and self._ahead("conversational"):
            with self._changed:
                self._changed.wait_for(lambda: not self._ahead("conversational"), allowed_s)
        self._writer.since_s = time.monotonic()

    def _ahead(self, service_class: str) -> int:
        n = 0  # a plain loop: this is asked forty times a recall
        for one in _AT_LEAST_AS_URGENT[service_class]:
            n += self._running.get(one, 0)
        return n

    def _clamped(
        self, request: RecallRequest, deadline: Deadline
    ) -> tuple[RecallRequest, tuple[Clamp, ...]]:
        """Cut what is out of bounds, and results that the budget cannot pay for."""
        ctx, clamps = request.ctx, []
        top_k = min(ctx.top_k, MAX_TOP_K)
        if top_k < ctx.top_k:
            clamps.append(Clamp("top_k", ctx.top_k, top_k, f"at most {MAX_TOP_K} results"))
        longest_ms = self.config.longest_budget_ms
        if ctx.time_budget_ms > longest_ms:
            why = f"at most {longest_ms / 60_000.0:g} minutes"
            clamps.append(Clamp("time_budget_ms", ctx.time_budget_ms, longest_ms, why))
        usual = self.config.usual_top_k
        if top_k > usual:
            # Half of the budget may go into telling results; a page of them is always told.
            told = self.costs.affordable("finish", deadline.budget_ms / 2.0)
            if told < top_k:
                given = max(told, usual)
                why = f"{deadline.budget_ms:g} ms pay for {given} results"
                clamps.append(Clamp("top_k", top_k, given, why))
                top_k = given
        if not clamps:
            return request, ()
        budget_ms = min(ctx.time_budget_ms, longest_ms)
        ctx = dataclasses.replace(ctx, top_k=top_k, time_budget_ms=budget_ms)
        return dataclasses.replace(request, ctx=ctx), tuple(clamps)


def question_tokens(text: str) -> int:
    """Tokens of a question, by its characters: English has four to five a token."""
    return 2 + min(len(text) // 4, 62)
