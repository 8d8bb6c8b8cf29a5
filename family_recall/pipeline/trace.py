"""Trace: what ran, for how long, and what was left out; the one thing recall changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from family_recall.deadline import Deadline
from family_recall.types import Admission, Result, Skip, SkipReason, Span, Trace


@dataclass(slots=True)
class Measured:
    """What a stage says of itself while it is timed."""

    n_in: int = 0
    n_out: int = 0
    ms: float = 0.0


@dataclass(slots=True)
class TraceBuilder:
    """Gathers spans, skips and counts while a recall runs."""

    deadline: Deadline
    spans: list[Span] = field(default_factory=list)
    stretches: list[Span] = field(default_factory=list)  # with a price of their own, spans inside
    skips: list[Skip] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    runs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    embedder: str | None = None
    gate: Admission | None = None

    @contextlib.contextmanager
    def span(self, stage: str, n_in: int = 0) -> Iterator[Measured]:
        """Time a stage; it sets ``n_out`` on what it is given."""
        measured = Measured(n_in=n_in)
        start_ms = self.deadline.elapsed_ms()
        try:
            yield measured
        finally:
            measured.ms = self.deadline.elapsed_ms() - start_ms
            took_ms, began_ms = round(measured.ms, 3), round(start_ms, 3)
            self.spans.append(Span(stage, took_ms, measured.n_in, measured.n_out, began_ms))

    def skip(self, stage: str, reason: SkipReason, detail: str, n: int = 0) -> None:
        """Add that a stage was left out for n units, and why."""
        self.skips.append(Skip(stage, reason, detail, n))

    def degrade(self, stage: str, reason: SkipReason, detail: str) -> None:
        """Add that a stage could not take part, for a reason other than time."""
        self.skip(stage, reason, detail)
        self.degraded.append(f"{stage}: {detail}")

    def build(self, results: tuple[Result, ...]) -> Trace:
        """Freeze what was gathered."""
        return Trace(
            spans=tuple(self.spans),
            skips=tuple(self.skips),
            counts=dict(self.counts),
            runs=dict(self.runs),
            embedder=self.embedder,
            gate=self.gate,
            top3=tuple((result.doc_id, result.reasons) for result in results[:3]),
        )


def busy_ms(spans: Sequence[Span]) -> float:
    """Milliseconds in which at least one stage ran."""
    busy, until_ms = 0.0, 0.0
    for span in sorted(spans, key=lambda span: span.start_ms):
        busy += max(span.end_ms - max(span.start_ms, until_ms), 0.0)
        until_ms = max(until_ms, span.end_ms)
    return busy
