"""How a stage of one recall is run: priced before, stopped in time, timed, and done without."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from family_recall.config import RecallConfig
from family_recall.deadline import Alarm
from family_recall.encoders.loader import Models
from family_recall.recall.dataflow import Profile, Ranking, Run
from family_recall.recall.gate import Admitted
from family_recall.recall.ranking.features import is_served
from family_recall.recall.trace import Timer, TraceBuilder, busy_ms
from family_recall.types import stages

log = logging.getLogger("family_recall")
_T = TypeVar("_T")
_COUNTED = (Run, Ranking)  # results of which a trace shows how many they are


@dataclass(slots=True)
class Runner:
    """Runs the stages of one recall, and adds to its trace what was left out and why.

    Attributes:
        config: Constants.
        admitted: What the recall can afford.
        trace: What it did so far.
        models: The encoders.
        interrupt: Stops the SQL statement of this recall, if one runs; safe from any thread.
        queued_ms: How long the recall waited for a thread before it started.
    """

    config: RecallConfig
    admitted: Admitted
    trace: TraceBuilder
    models: Models
    interrupt: Callable[[], object]
    queued_ms: float = 0.0

    def can_start(self, stage: str, n: int = 0, *, left_out: int | None = None) -> bool:
        """Whether a stage is enabled and can be paid for; if not, the trace says why.

        Args:
            stage: A stage with a price.
            n: How many units of it.
            left_out: What the trace counts as left out; the units, when left out.
        """
        skipped = n if left_out is None else left_out
        if self.is_disabled(stage, skipped):
            return False
        refusal = self.admitted.refusal(stage, n)
        if refusal is None:
            return True
        self.trace.skip(stage, refusal.reason, refusal.detail, skipped)
        self.admitted.count_refusal(refusal)
        return False

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
    ) -> _T:
        """Run a stage over n units and learn its cost; go on without it should it fail.

        One that still runs when what must follow it has to begin is stopped, but not before it
        had ``at_least_ms``.
        """
        alarm = self.alarm(stage, at_least_ms=at_least_ms)
        with alarm, self.trace.span(stage, n) as span:
            try:
                result = work()
                span.n_out = len(result) if isinstance(result, _COUNTED) else n
            except Exception as error:  # noqa: BLE001 - whatever fails, the other stages answer
                self.give_up(stage, n, error, span.start_ms, stopped=alarm.fired)
                result = otherwise
        self.admitted.observe(stage, n, span.ms)
        return result

    def alarm(self, stage: str, *, at_least_ms: float = 0.0) -> Alarm:
        """Return an alarm for when the stages that must follow this one have to begin."""
        declared = stages.STAGES[stage]
        tail_ms = self.admitted.tail_ms(declared.followed_by)
        at_s = self.admitted.deadline.moment_s(tail_ms, at_least_ms=at_least_ms)
        return Alarm(at_s, self.interrupt) if declared.reads_file else Alarm(at_s)

    def look_up(self, stage: str, run: Callable[[], _T], otherwise: _T) -> _T:
        """Run part of a stage; return ``otherwise`` should it fail."""
        try:
            return run()
        except Exception as error:  # noqa: BLE001 - whatever fails, the other stages answer
            self._fail(stage, error)
            return otherwise

    def give_up(
        self, stage: str, n: int, error: Exception, since_ms: float, *, stopped: bool
    ) -> None:
        """Add to the trace that a stage ran out of time, if its alarm stopped it, or failed."""
        if stopped:
            took_ms = self.admitted.deadline.elapsed_ms() - since_ms
            self.trace.skip(stage, "stopped", f"stopped after {took_ms:.1f} ms: no time left", n)
        else:
            self._fail(stage, error)

    @contextlib.contextmanager
    def priced_as(self, stage: str) -> Iterator[Timer]:
        """Learn what a block costs that always runs, less the stages in it with their own price.

        The block sets ``n_in``, its units.
        """
        first = len(self.trace.spans)
        with Timer(stage, 0, self.admitted.deadline, self.trace.stretches) as timer:
            yield timer
        inside = [span for span in self.trace.spans[first:] if span.stage != stage]
        priced_ms = sum([s.ms for s in inside if stages.STAGES[s.stage].cost_ms is not None])
        self.admitted.observe(stage, timer.n_in, timer.ms - priced_ms)

    def learn_rest(self) -> None:
        """Learn what this recall took that no stage counts: waiting for a processor, mostly.

        Waiting for a thread before it started is no part of that.
        """
        counted_ms = busy_ms([*self.trace.spans, *self.trace.stretches])
        rest_ms = self.admitted.deadline.elapsed_ms() - self.queued_ms - counted_ms
        self.admitted.observe("between", len(self.trace.spans), max(rest_ms, 0.0))

    def _fail(self, stage: str, error: Exception) -> None:
        log.warning("%s failed and was left out: %s", stage, type(error).__name__)
        log.debug("%s failed", stage, exc_info=error)
        out_of_memory = isinstance(error, MemoryError)
        detail = "not enough memory" if out_of_memory else f"failed ({type(error).__name__})"
        self.trace.degrade(stage, "failed", detail)
