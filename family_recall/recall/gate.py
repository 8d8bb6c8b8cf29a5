"""The gate: it admits requests, and says what each of them can afford.

Requests have service classes. Where several recalls run at once, each stage is priced as that much
slower, conversational ones leave the cross-encoder to interactive ones, and background ones wait
for both. Being short of time is never an error: the trace says what was left out, cut or put off.
"""

from __future__ import annotations

import dataclasses
import math
import os
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from family_recall.config import RecallConfig
from family_recall.deadline import Clock, Deadline
from family_recall.recall.costs import Costs
from family_recall.recall.ranking.features import RANKED_BY, is_served
from family_recall.recall.ranking.profiles import requested_profile
from family_recall.types import Admission, Clamp, RecallRequest, Skip, stages
from family_recall.types.request import MAX_TOP_K, SERVICE_CLASSES, service_class_of

_LONGEST_PAUSE_S = 0.03  # of a writer at once …
_PAUSE_SHARE = 4.0  # … and in all, of the time it works
_LONGEST_WAIT_S = 0.05  # of a background recall before it looks at the clock again
_RESERVED = 3.0  # times the price of a stage is reserved for it: 300 of 300 then run, not 294
_AT_LEAST_AS_URGENT = {
    name: SERVICE_CLASSES[: position + 1] for position, name in enumerate(SERVICE_CLASSES)
}


@dataclass(slots=True)
class Admitted:
    """One request inside the gate: what it can afford from here to its answer.

    Attributes:
        request: The request, cut to what its budget pays for.
        deadline: When it has to be answered.
        service_class: Its class.
        clamps: What was cut, and why.
    """

    gate: Gate
    request: RecallRequest
    deadline: Deadline
    service_class: str
    clamps: tuple[Clamp, ...] = ()
    _observed: list[tuple[str, int, float]] = field(default_factory=list)
    _refused: set[str] = field(default_factory=set)
    _tails: dict[tuple[str, ...], float] = field(default_factory=dict)
    _reserved: dict[str, int] = field(default_factory=dict)

    def __enter__(self) -> Self:
        """Count the request as running."""
        self.gate.count(self.service_class, 1)
        return self

    def __exit__(self, *_: object) -> None:
        """Learn from the stages that ran, and count the request as running no more."""
        try:
            self.learn()
        finally:
            self.gate.count(self.service_class, -1)

    def expected_ms(self, stage: str, n: int = 0) -> float:
        """Return the milliseconds a stage is expected to take now, beside the other recalls."""
        return self.gate.costs.expected_ms(stage, n) * self.gate.contention(self.service_class)

    def reserve(self, stage: str, n: int) -> None:
        """Keep from the stages between now and then what n units of a stage may take."""
        self._reserved[stage] = n
        self._tails.clear()

    def tail_ms(self, following: tuple[str, ...]) -> float:
        """Return the milliseconds that the stages which must follow are expected to take.

        Reserved stages that are not among them come on top, at several times their price: one
        before them may end late.

        With the fewest candidates: a question whose meaning was searched for answers better with
        few of them scored than one whose words alone were, with many.
        """
        return self._tail_alone_ms(following) * self.gate.contention(self.service_class)

    def refusal(self, stage: str, n: int = 0, *, beside_ms: float = 0.0) -> Skip | None:
        """Return why n units of a stage cannot be paid for, or None when they can.

        Args:
            stage: A stage with a price.
            n: How many units of it.
            beside_ms: What must be paid for beside it and what follows it.
        """
        slower = self.gate.contention(self.service_class)
        needs_ms = self.gate.costs.expected_ms(stage, n) * slower
        declared = stages.STAGES[stage]
        following = (*declared.leaves_time_for, *declared.followed_by)
        if stage in self._reserved:
            # A stage before it may have ended late: together they rarely need all of their prices.
            tail_ms = self._tail_alone_ms((stage, *following)) * slower - needs_ms
        else:
            tail_ms = self._tail_alone_ms(following) * slower
        left_ms = self.deadline.remaining_ms() - tail_ms - beside_ms
        if needs_ms > left_ms:
            detail = f"needs {needs_ms:.1f} ms, {max(left_ms, 0.0):.1f} ms left"
            return Skip(stage, "no_time", detail, n)
        if stage == "rerank" and self.service_class == "conversational":
            return self.gate.shed(stage, n)
        return None

    def can_afford(self, stage: str, n: int = 0, *, beside_ms: float = 0.0) -> bool:
        """Whether n units of a stage can be paid for; asking changes nothing."""
        return self.refusal(stage, n, beside_ms=beside_ms) is None

    def count_refusal(self, refusal: Skip) -> None:
        """Learn that this recall went without a stage for its price; once for each stage."""
        if refusal.reason == "no_time" and refusal.stage not in self._refused:
            self._refused.add(refusal.stage)
            self.gate.costs.count_refusal(refusal.stage)

    def affordable(self, stage: str) -> int:
        """Return how many units of a stage the time left pays for."""
        left_ms = self.deadline.remaining_ms() - self.tail_ms(stages.STAGES[stage].followed_by)
        return self.gate.costs.affordable(stage, left_ms / self.gate.contention(self.service_class))

    def observe(self, stage: str, n: int, ms: float) -> None:
        """Note what one run of a stage cost alone, to be learned when the recall ends."""
        alone_ms = ms / self.gate.contention(self.service_class)
        self._observed.append((stage, n, alone_ms))

    def learn(self) -> None:
        """Learn now from the runs that were noted."""
        observed, self._observed = self._observed, []
        self.gate.costs.learn(observed)

    def yield_to_urgent(self) -> float:
        """Wait for more urgent recalls, for half of the time left; return the ms waited.

        Only a background recall waits.
        """
        is_background = self.service_class == "background"
        return self.gate.wait_for_others(self.deadline) if is_background else 0.0

    def admission(self) -> Admission:
        """Return what the gate made of the request, and what it expects to pay for."""
        return Admission(self.service_class, self.clamps, self._plan())

    def _tail_alone_ms(self, following: tuple[str, ...]) -> float:
        """Return what :meth:`tail_ms` does, as if no other recall ran."""
        tail_ms = self._tails.get(following)
        if tail_ms is None:
            costs, reserved = self.gate.costs, self._reserved
            units = {
                "candidate": self.gate.config.fewest_candidates,
                "result": self.request.ctx.top_k,
                "stage": 1 + len(following),
            }
            tail_ms = costs.combined_ms(
                {
                    name: reserved.get(name) or units.get(stages.STAGES[name].unit, 0)
                    for name in (*following, "between")
                }
            )
            for stage, n in reserved.items():
                if stage not in following:
                    tail_ms += _RESERVED * costs.expected_ms(stage, n)
            self._tails[following] = tail_ms
        return tail_ms

    def _plan(self) -> tuple[tuple[str, int], ...]:
        """Spend the budget in the order of the read path; return (stage, units) it pays for."""
        config = self.gate.config
        units = {
            "token": question_tokens(self.request.query_text),
            "candidate": config.candidate_pool,
        }
        search = stages.STAGES["lexical"]
        left_ms = self.deadline.remaining_ms() - self.tail_ms(search.followed_by)
        slower, expected_ms = self.gate.contention(self.service_class), self.gate.costs.expected_ms
        left_ms -= (expected_ms("plan") + expected_ms(search.name)) * slower
        planned = []
        profile = requested_profile(self.request.ctx, config.weights)
        for stage in stages.PLANNED:
            if stage.name in RANKED_BY and not is_served(stage.name, profile):
                continue
            for name, n in ((stage.name, units.get(stage.unit, 0)), (stage.fallback, 0)):
                if name and (needs_ms := expected_ms(name, n) * slower) <= left_ms:
                    planned.append((name, n))
                    left_ms -= needs_ms
                    break
        if self.request.ctx.allow_cross_encoder and is_served("rerank", profile):
            pair_ms = expected_ms("rerank", config.assumed_pair_tokens) * slower
            pairs = min(config.rerank_pool, math.floor(max(left_ms, 0.0) / max(pair_ms, 1e-9)))
            planned += [("rerank", pairs)] * (pairs > 0)
        return tuple(planned)


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
        self._n_running = 0
        self._changed = threading.Condition()
        self._writer = threading.local()

    def admitted(self, request: RecallRequest, asked_at_s: float | None = None) -> Admitted:
        """Start a request's clock, and cut it to what can be paid for; it runs in a ``with`` block.

        The clock of one that had to wait for a thread started when it was asked.
        """
        deadline = Deadline.after(request.ctx.time_budget_ms, self.clock, since_s=asked_at_s)
        service_class = service_class_of(request.ctx)
        request, clamps = self._clamped(request, deadline)
        return Admitted(self, request, deadline, service_class, clamps)

    def count(self, service_class: str, change: int) -> None:
        """Count a recall of a class as running, or as running no more."""
        with self._changed:
            self._running[service_class] += change
            self._n_running += change
            if change < 0:
                self._changed.notify_all()

    def contention(self, service_class: str) -> float:
        """Return how many times slower stages are beside what is at least as urgent: 1 or more."""
        if self._n_running <= self._processors:
            return 1.0  # a recall asks this fifty times
        return max(1.0, self._ahead(service_class) / self._processors)

    def shed(self, stage: str, n: int) -> Skip | None:
        """Return why a conversational recall leaves a stage to interactive ones, if it does."""
        running = self._ahead("conversational")
        if self._running["interactive"] and running > self._processors:
            detail = (
                f"shed: {running} recalls at once on {self._processors} processors, "
                "interactive ones first, no time"
            )
            return Skip(stage, "shed", detail, n)
        return None

    def wait_for_others(self, deadline: Deadline) -> float:
        """Wait until nothing more urgent runs, for half of the time left; return the ms waited."""
        if not self._ahead("conversational"):
            return 0.0
        until_ms = deadline.remaining_ms() / 2.0
        start_s = time.monotonic()
        with self._changed:
            while self._ahead("conversational"):
                waited_s = time.monotonic() - start_s
                left_s = min(deadline.remaining_ms() - until_ms, until_ms) / 1000.0 - waited_s
                if left_s <= 0.0:
                    break
                self._changed.wait(min(left_s, _LONGEST_WAIT_S))
        return (time.monotonic() - start_s) * 1000.0

    def yield_to_recalls(self) -> None:
        """Pause while recalls run: a thread that writes calls this between two memories.

        The interpreter runs one thread at a time and hands over after 5 ms; a recall beside a busy
        thread would wait that long after each of its statements. A pause is short, and all pauses
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
        return sum(map(self._running.__getitem__, _AT_LEAST_AS_URGENT[service_class]))

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
            detail = f"at most {longest_ms / 60_000.0:g} minutes"
            clamps.append(Clamp("time_budget_ms", ctx.time_budget_ms, longest_ms, detail))
        usual = self.config.usual_top_k
        if top_k > usual:
            # Half of the budget may go into the results; one page of them is always returned.
            affordable = self.costs.affordable("answer", deadline.budget_ms / 2.0)
            if affordable < top_k:
                granted = max(affordable, usual)
                detail = f"{deadline.budget_ms:g} ms pay for {granted} results"
                clamps.append(Clamp("top_k", top_k, granted, detail))
                top_k = granted
        if not clamps:
            return request, ()
        budget_ms = min(ctx.time_budget_ms, longest_ms)
        ctx = dataclasses.replace(ctx, top_k=top_k, time_budget_ms=budget_ms)
        return dataclasses.replace(request, ctx=ctx), tuple(clamps)


def question_tokens(text: str) -> int:
    """Estimate the tokens of a question by its characters: English has four to five a token."""
    return 2 + min(len(text) // 4, 62)
