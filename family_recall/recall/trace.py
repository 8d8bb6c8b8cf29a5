"""What a recall did, gathered while it runs, and passed to a program's hook."""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import operator
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from family_recall.deadline import Deadline
from family_recall.recall.dataflow import Run
from family_recall.types import (
    Admission,
    Hit,
    IdArray,
    RecallRequest,
    Result,
    Skip,
    SkipReason,
    Span,
    Trace,
    Understanding,
)
from family_recall.types.records import later

MAX_WAITING = 1000
"""Traces that may wait for a slow hook; later ones are dropped."""

log = logging.getLogger("family_recall")


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


class Hits(Mapping[str, tuple[Hit, ...]]):
    """Which candidates each source found, made of the arrays of its run when it is read."""

    def __init__(self, runs: Mapping[str, Run], ids: IdArray, doc_ids: Sequence[str]) -> None:
        """Keep the runs by source, and the candidates' row ids (n,) with their doc_ids."""
        self._runs, self._ids, self._doc_ids = runs, ids, doc_ids

    def __getitem__(self, source: str) -> tuple[Hit, ...]:
        """Return the candidates that a source found, best first."""
        run, doc_ids = self._runs[source], dict(zip(self._ids.tolist(), self._doc_ids, strict=True))
        found = zip(run.ids.tolist(), run.scores.tolist(), strict=True)
        return tuple(
            Hit(doc_ids[memory], rank, score)
            for rank, (memory, score) in enumerate(found, start=1)
            if memory in doc_ids
        )

    def __iter__(self) -> Iterator[str]:
        """Yield the sources."""
        return iter(self._runs)

    def __len__(self) -> int:
        """Count the sources."""
        return len(self._runs)

    def __repr__(self) -> str:
        """Return it as the dictionary that it stands for."""
        return repr(dict(self))


@dataclass(slots=True)
class TraceBuilder:
    """Gathers what a recall was asked, found and decided while it runs.

    ``spans`` are the stages that ran, in the order they ended.
    """

    deadline: Deadline
    spans: list[Timer] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    hits: Mapping[str, tuple[Hit, ...]] = field(default_factory=dict)
    embedder: str | None = None
    decided_by: str = "score"
    evidence: Mapping[str, float] = field(default_factory=dict)
    gate: Admission | None = None
    request: RecallRequest | None = None
    understanding: Callable[[], Understanding] | None = None
    decisions: dict[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

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

    def build(self, results: tuple[Result, ...]) -> Trace:
        """Freeze what was gathered."""
        timers = tuple(self.spans)
        return Trace(
            spans=later(lambda: [timer.span() for timer in timers]),
            skips=tuple(self.skips),
            counts=dict(self.counts),
            hits=self.hits,
            top3=later(lambda: [(result.doc_id, result.reasons) for result in results[:3]]),
            embedder=self.embedder,
            decided_by=self.decided_by,
            evidence={name: round(value, 6) for name, value in self.evidence.items()},
            gate=self.gate,
            request=self.request,
            understanding=None if self.understanding is None else self.understanding(),
            decisions=dict(self.decisions),
            weights=self.weights,
            kinds=dict(Counter([result.kind for result in results])),
        )


def busy_ms(spans: Sequence[Span | Timer]) -> float:
    """Return the milliseconds in which at least one stage ran."""
    busy, until_ms = 0.0, 0.0
    for span in sorted(spans, key=operator.attrgetter("start_ms")):
        end_ms = span.start_ms + span.ms
        if end_ms > until_ms:
            busy += end_ms - max(span.start_ms, until_ms)
            until_ms = end_ms
    return busy


class TraceHook:
    """Calls a hook with one trace after another.

    The answer is made by then, and waits neither for the hook nor for its queue. What the hook
    raises is logged and goes no further.
    """

    def __init__(self, hook: Callable[[Trace], None], *, max_waiting: int = MAX_WAITING) -> None:
        self._hook = hook
        self._room = threading.BoundedSemaphore(max_waiting)
        self._thread = concurrent.futures.ThreadPoolExecutor(
            1, thread_name_prefix="family_recall-trace"
        )

    def send(self, trace: Trace) -> None:
        """Queue a trace and return at once."""
        if not self._room.acquire(blocking=False):
            log.warning("on_trace is too slow: a trace was dropped")
            return
        with contextlib.suppress(RuntimeError):  # closed meanwhile
            self._thread.submit(self._call, trace)

    def close(self) -> None:
        """Wait until the hook has seen what was queued. Closing twice does nothing."""
        self._thread.shutdown()

    def _call(self, trace: Trace) -> None:
        try:
            self._hook(trace)
        except Exception:  # any error of the hook is its own
            log.exception("on_trace failed")
        finally:
            self._room.release()
