"""Attempts: one stage in, what it gave out; priced before, timed meanwhile, and done without."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from family_recall.config import RecallConfig
from family_recall.dataflow import Ranking, Run
from family_recall.pipeline.gate import Admitted
from family_recall.pipeline.trace import Measured, TraceBuilder, busy_ms
from family_recall.types import Span

log = logging.getLogger("family_recall")
AFTER_SOURCES = ("score", "finish")
"""What must follow whatever finds memories."""
AFTER_STATIC = ("vector", *AFTER_SOURCES)
"""What must follow the static embedder: a question that is encoded for nothing is dear."""
AFTER_GRAPH = ("late_interaction", *AFTER_SOURCES)
"""What must follow the graph, since it is worth more than the graph is."""
_OPTIONAL = frozenset({"late_interaction", "deduplicate"})  # with a price of their own
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Attempts:
    """How a stage of one recall is run; ``interrupt`` stops its SQL statement, if one runs."""

    config: RecallConfig
    admitted: Admitted
    trace: TraceBuilder
    interrupt: Callable[[], object]

    @contextlib.contextmanager
    def charged(self, stage: str) -> Iterator[Measured]:
        """Learn what a stretch costs that always follows, less the optional stages inside it.

        The block sets ``n_in``, its units.
        """
        stretch = Measured()
        start_ms, first = self.admitted.deadline.elapsed_ms(), len(self.trace.spans)
        yield stretch
        inside = sum(span.ms for span in self.trace.spans[first:] if span.stage in _OPTIONAL)
        took_ms = self.admitted.deadline.elapsed_ms() - start_ms
        self.trace.stretches.append(Span(stage, took_ms, stretch.n_in, 0, start_ms))
        self.admitted.observe(stage, stretch.n_in, took_ms - inside)

    def charge_the_rest(self) -> None:
        """Learn what this recall took that no stage counts: waiting for a processor, mostly."""
        counted_ms = busy_ms([*self.trace.spans, *self.trace.stretches])
        rest_ms = self.admitted.deadline.elapsed_ms() - counted_ms
        self.admitted.observe("between", len(self.trace.spans), max(rest_ms, 0.0))

    def _guarded(self, stage: str, run: Callable[[], _Result], otherwise: _Result) -> _Result:
        """Run part of a stage, and go on without it should it fail."""
        try:
            return run()
        except Exception as error:  # noqa: BLE001 - whatever fails, the other stages answer
            self._failed(stage, error)
            return otherwise

    def _failed(self, stage: str, error: Exception) -> None:
        log.warning("%s failed and was left out: %s", stage, type(error).__name__)
        log.debug("%s failed", stage, exc_info=error)
        self.trace.degrade(stage, "failed", f"failed ({type(error).__name__})")

    def _left_out(self, stage: str, n: int = 0) -> bool:
        if stage not in self.config.leave_out:
            return False
        self.trace.skip(stage, "disabled", "left out by the configuration", n)
        return True

    def _refused(self, stage: str, n: int = 0, *, after: tuple[str, ...] = ("finish",)) -> bool:
        """Whether a stage is left out: by the configuration, or for what must come after it."""
        if self._left_out(stage, n):
            return True
        why = self.admitted.refusal(stage, n, tail_ms=self.admitted.tail_ms(*after))
        if why is not None:
            self.trace.skip(stage, why.reason, why.detail, n)
        return why is not None

    def _attempt(
        self,
        stage: str,
        n: int,
        run: Callable[[Measured], _Result],
        otherwise: _Result,
        *,
        after: tuple[str, ...] = ("finish",),
        reads: bool = True,
    ) -> _Result:
        """Run a stage, learn its cost, and go on without it should it fail.

        One that still runs when what must come after it has to begin is stopped. Words have
        some time of their own, however short the budget: nothing answers without them. A stage
        that does not read the file may run beside words, whose statement is none of its own.
        """
        deadline, least_ms = self.admitted.deadline, 0.0
        started_ms = deadline.elapsed_ms()
        if stage == "lexical":
            least_ms = self.config.words_grace_ms
        stop_s = deadline.moment_s(self.admitted.tail_ms(*after), at_least_ms=least_ms)
        with (
            self.admitted.alarm.guard(stop_s, *[self.interrupt] * reads) as guard,
            self._timed(stage, n) as span,
        ):
            try:
                result = run(span)
                span.n_out = len(result) if isinstance(result, Run | Ranking) else span.n_in
            except Exception as error:  # noqa: BLE001 - whatever fails, the other stages answer
                self._given_up(stage, n, error, since_ms=started_ms, stopped=guard.fired)
                result = otherwise
        return result

    def _given_up(
        self, stage: str, n: int, error: Exception, *, since_ms: float, stopped: bool
    ) -> None:
        """Say that a stage is left out: out of time, if an alarm stopped it, else failed."""
        if stopped:
            took_ms = self.admitted.deadline.elapsed_ms() - since_ms
            self.trace.skip(stage, "stopped", f"stopped after {took_ms:.1f} ms: no time left", n)
        else:
            self._failed(stage, error)

    @contextlib.contextmanager
    def _timed(self, stage: str, n: int) -> Iterator[Measured]:
        """Time a stage, and learn its cost."""
        with self.trace.span(stage, n) as span:
            yield span
        self.admitted.observe(stage, span.n_in, span.ms)
