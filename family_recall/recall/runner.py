"""How a stage of one recall is run: priced before, stopped in time, timed, traced, done without."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from family_recall.config import RecallConfig
from family_recall.deadline import Alarm, Deadline, has_stopped
from family_recall.encoders.loader import Models
from family_recall.recall.dataflow import Profile, Ranking, Run
from family_recall.recall.gate import Admitted, Gate
from family_recall.recall.ranking.features import RANKED_BY, is_served
from family_recall.recall.ranking.profiles import requested_profile
from family_recall.store.transaction import Snapshot
from family_recall.types import (
    Admission,
    RecallRequest,
    Result,
    Skip,
    SkipReason,
    Span,
    Trace,
    Understanding,
    stages,
)
from family_recall.types.records import later
from family_recall.types.trace import busy_ms

log = logging.getLogger("family_recall")
_T = TypeVar("_T")
_PLANNED = (("embed", "embed_static"), ("vector",), ("graph",), ("late_interaction",))
"""Stages of which the trace says in advance that the budget pays for them, or for the next one."""
_COUNTED = (Run, Ranking)  # results of which a trace shows how many they are


class Timer:
    """Times a block: ``with trace.span("load", 64) as span: …``, which may set ``n_in``, ``n_out``.

    It is added to the list it is given when the block ends, by an exception too.
    """

    __slots__ = ("_deadline", "_timers", "ms", "n_in", "n_out", "stage", "start_ms")

    def __init__(self, stage: str, n_in: int, deadline: Deadline, timers: list[Timer]) -> None:
        """Set what is timed; the clock starts with the block."""
        self._deadline, self._timers = deadline, timers
        self.stage, self.n_in, self.n_out = stage, n_in, 0

    def __enter__(self) -> Self:
        """Start the clock."""
        self.start_ms = self._deadline.elapsed_ms()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the clock."""
        self.ms = self._deadline.elapsed_ms() - self.start_ms
        self._timers.append(self)
        del self._timers  # which would hold each other

    def span(self) -> Span:
        """Return the stage as a trace shows it."""
        return Span(self.stage, round(self.ms, 3), self.n_in, self.n_out, round(self.start_ms, 3))


@dataclass(slots=True)
class TraceBuilder:
    """Gathers what a recall was asked and decided while it runs; ``spans`` as they ended."""

    deadline: Deadline
    gate: Admission
    request: RecallRequest
    spans: list[Timer] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    decisions: dict[str, str] = field(default_factory=dict)
    embedder: str | None = None
    queued_ms: float = 0.0
    understanding: Callable[[], Understanding] | None = None

    def span(self, stage: str, n_in: int = 0) -> Timer:
        """Time a block as a stage."""
        return Timer(stage, n_in, self.deadline, self.spans)

    def skip(self, stage: str, reason: SkipReason, detail: str, n: int = 0) -> None:
        """Add that a stage was left out for n units, and why."""
        self.skips.append(Skip(stage, reason, detail, n))

    def degrade(self, stage: str, reason: SkipReason, detail: str) -> None:
        """Add that a stage could not take part, for a reason other than time."""
        self.skip(stage, reason, detail)
        self.degraded.append(f"{stage}: {detail}")

    def say_if_late(self, late_ms: float) -> None:
        """Add to what is degraded that the answer is so late, where it had to wait for a thread."""
        past_ms = -self.deadline.remaining_ms()
        if self.queued_ms > 0.0 and past_ms >= late_ms:
            detail = f"{past_ms:.0f} ms late, after {self.queued_ms:.0f} ms of waiting for a thread"
            self.degrade("answer", "no_time", detail)

    def build(self, results: tuple[Result, ...], **found: Any) -> Trace:
        """Freeze what was gathered, with the other fields of a trace."""
        timers, kinds = tuple(self.spans), [result.kind for result in results]
        return Trace(
            spans=later(lambda: [timer.span() for timer in timers]),
            skips=tuple(self.skips),
            counts=dict(self.counts),
            top3=later(lambda: [(result.doc_id, result.reasons) for result in results[:3]]),
            embedder=self.embedder,
            gate=self.gate,
            request=self.request,
            understanding=None if self.understanding is None else self.understanding(),
            decisions=dict(self.decisions),
            kinds={kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
            **found,
        )


class Runner:
    """Runs the stages of one recall, and adds to its trace what was left out and why.

    ``snapshot`` is the file as it stands while the recall runs.
    """

    def __init__(
        self,
        config: RecallConfig,
        gate: Gate,
        admitted: Admitted,
        models: Models,
        snapshot: Snapshot,
    ) -> None:
        """Begin a trace with what the gate made of the request."""
        self.config, self.gate, self.costs = config, gate, gate.costs
        self.admitted, self.request, self.deadline = admitted, admitted.request, admitted.deadline
        self.models, self.snapshot = models, snapshot
        self._refused: set[str] = set()
        self._tails_ms: dict[tuple[str, ...], float] = {}
        admission = Admission(admitted.service_class, admitted.clamps, self._plan())
        self.trace = TraceBuilder(
            self.deadline, admission, self.request, queued_ms=admitted.queued_ms
        )

    def refusal(self, stage: str, n: int = 0, *, beside_ms: float = 0.0) -> Skip | None:
        """Return why n units of a stage cannot be paid for, or None when they can.

        ``beside_ms`` must be paid for beside it and what follows it.
        """
        declared = stages.STAGES[stage]
        needs_ms = self.costs.expected_ms(stage, n)
        tail_ms = self._tail_ms(declared.leaves_time_for + declared.followed_by)
        left_ms = self.deadline.remaining_ms() - tail_ms - beside_ms
        if needs_ms > left_ms:
            detail = f"needs {needs_ms:.1f} ms, {max(left_ms, 0.0):.1f} ms left"
            return Skip(stage, "no_time", detail, n)
        if stage == "rerank" and (why := self.gate.sheds(self.admitted.service_class)):
            return Skip(stage, "shed", why, n)
        return None

    def refuse(self, refusal: Skip, *, detail: str = "", left_out: int | None = None) -> None:
        """Add to the trace that a stage was refused, and learn that it was.

        ``detail`` is what else the trace says, ``left_out`` the units that it counts, when not
        those of the refusal.
        """
        n = refusal.n if left_out is None else left_out
        self.trace.skip(refusal.stage, refusal.reason, refusal.detail + detail, n)
        if refusal.reason == "no_time" and refusal.stage not in self._refused:
            self._refused.add(refusal.stage)
            self.costs.count_refusal(refusal.stage)

    def cut(self, stage: str, n: int, detail: str, *, at_least: int = 0) -> int:
        """Return how many of n units of a stage the time left pays for; the trace says the rest."""
        tail_ms = self._tail_ms(stages.STAGES[stage].followed_by)
        affordable = self.costs.affordable(stage, self.deadline.remaining_ms() - tail_ms)
        granted = min(n, max(affordable, at_least))
        if granted < n:
            self.trace.skip(stage, "no_time", detail, n - granted)
        return granted

    def can_start(self, stage: str, n: int = 0, *, left_out: int | None = None) -> bool:
        """Whether a stage is enabled and can be paid for; if not, the trace says why.

        ``left_out`` is what the trace counts as left out, where that is not n.
        """
        if self.is_disabled(stage, n if left_out is None else left_out):
            return False
        refusal = self.refusal(stage, n)
        if refusal is not None:
            self.refuse(refusal, left_out=left_out)
        return refusal is None

    def is_weighed(self, stage: str, profile: Profile, n: int = 0) -> bool:
        """Whether the profile weighs anything that a stage finds; if not, the trace says so."""
        if is_served(stage, profile):
            return True
        self.trace.skip(stage, "zero_weight", "the profile does without it", n)
        return False

    def is_disabled(self, stage: str, n: int = 0) -> bool:
        """Whether the configuration leaves a stage out; if so, the trace says it."""
        if stage not in self.config.leave_out:
            return False
        self.trace.skip(stage, "disabled", "left out by the configuration", n)
        return True

    def run(
        self,
        stage: str,
        n: int,
        work: Callable[[], _T],
        otherwise: _T,
        *,
        at_least_ms: float = 0.0,
        is_learned: bool = True,
    ) -> _T:
        """Run a stage over n units; go on with ``otherwise`` should it fail.

        One that still runs when what must follow it has to begin is stopped, but not before it
        had ``at_least_ms``. What it took is learned, unless the stage learns by its own parts.
        """
        declared = stages.STAGES[stage]
        tail_ms = self._tail_ms(declared.followed_by)
        at_s = self.deadline.moment_s(tail_ms, at_least_ms=at_least_ms)
        stops = (self.snapshot.interrupt,) if declared.reads_file else ()
        with Alarm(at_s, *stops), self.trace.span(stage, n) as span:
            try:
                result = work()
                span.n_out = len(result) if isinstance(result, _COUNTED) else n
            except Exception as error:  # noqa: BLE001 - whatever fails, the other stages answer
                if has_stopped():
                    took_ms = self.deadline.elapsed_ms() - span.start_ms
                    detail = f"stopped after {took_ms:.1f} ms: no time left"
                    self.trace.skip(stage, "stopped", detail, n)
                else:
                    self._fail(stage, error)
                result = otherwise
        if is_learned:
            self.costs.observe(stage, n, span.ms)
        return result

    def look_up(self, stage: str, run: Callable[[], _T], otherwise: _T) -> _T:
        """Run part of a stage; return ``otherwise`` should it fail."""
        try:
            return run()
        except Exception as error:  # noqa: BLE001 - whatever fails, the other stages answer
            self._fail(stage, error)
            return otherwise

    def finish(self) -> None:
        """Learn what the parts of other stages took together, and what no stage counts.

        That is waiting for a processor, mostly; waiting for a thread before the recall started is
        no part of it.
        """
        spans, taken_ms, units = self.trace.spans, dict[str, float](), dict[str, int]()
        for span in spans:
            if whole := stages.STAGES[span.stage].part_of:
                taken_ms[whole] = taken_ms.get(whole, 0.0) + span.ms
                units[whole] = max(units.get(whole, 0), span.n_out)
        for stage, ms in taken_ms.items():
            self.costs.observe(stage, units[stage], ms)
        rest_ms = self.deadline.elapsed_ms() - self.admitted.queued_ms - busy_ms(spans)
        self.costs.observe("between", len(spans), max(rest_ms, 0.0))

    def _tail_ms(self, following: tuple[str, ...]) -> float:
        """Return the milliseconds that the stages which must follow are expected to take.

        With the fewest candidates: a question whose meaning was searched for answers better with
        few of them scored than one whose words alone were, with many.
        """
        if following not in self._tails_ms:  # asked some twenty times in a recall
            units = {
                "candidate": self.config.fewest_candidates,
                "result": self.request.ctx.top_k,
                "stage": 1 + len(following),
            }
            expected_ms = self.costs.expected_ms
            self._tails_ms[following] = sum(
                expected_ms(name, units.get(stages.STAGES[name].unit, 0))
                for name in (*following, "between")
            )
        return self._tails_ms[following]

    def _plan(self) -> tuple[tuple[str, int], ...]:
        """Spend the budget in the order of the read path; return (stage, units) it pays for."""
        config, expected_ms = self.config, self.costs.expected_ms
        units = {
            "token": question_tokens(self.request.query_text),
            "candidate": config.candidate_pool,
        }
        left_ms = self.deadline.remaining_ms() - self._tail_ms(stages.STAGES["lexical"].followed_by)
        left_ms -= expected_ms("plan") + expected_ms("lexical")
        planned = []
        profile = requested_profile(self.request.ctx, config.weights)
        for names in _PLANNED:
            if names[0] in RANKED_BY and not is_served(names[0], profile):
                continue
            for name in names:
                n = units.get(stages.STAGES[name].unit, 0)
                if (needs_ms := expected_ms(name, n)) <= left_ms:
                    planned.append((name, n))
                    left_ms -= needs_ms
                    break
        if self.request.ctx.allow_cross_encoder and is_served("rerank", profile):
            pair_ms = max(expected_ms("rerank", config.assumed_pair_tokens), 1e-9)
            pairs = min(config.rerank_pool, math.floor(max(left_ms, 0.0) / pair_ms))
            planned += [("rerank", pairs)] * (pairs > 0)
        return tuple(planned)

    def _fail(self, stage: str, error: Exception) -> None:
        log.warning("%s failed and was left out: %s", stage, type(error).__name__)
        log.debug("%s failed", stage, exc_info=error)
        out_of_memory = isinstance(error, MemoryError)
        detail = "not enough memory" if out_of_memory else f"failed ({type(error).__name__})"
        self.trace.degrade(stage, "failed", detail)


def question_tokens(text: str) -> int:
    """Estimate the tokens of a question by its characters: English has four to five a token."""
    return 2 + min(len(text) // 4, 62)
