"""A trace as a waterfall: each stage against the time budget, and what was skipped in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from family_recall.recall.trace import busy_ms
from family_recall.types import Answer, Skip, Span
from family_recall.types.stages import STAGES

_ORDER = {stage: position for position, stage in enumerate(STAGES)}
_LAST = len(_ORDER)
_WIDTH = 1000.0
_MIN_VISIBLE_WIDTH = 6.0


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The rows of the picture, on a scale of 1000 units.

    Args:
        rows: Spans and skips in the order of the read path.
        unit_ms: Milliseconds a unit is long.
        budget_x: Where the budget is drawn: at the right edge where it lies further out.
        budget_is_further: Whether it lies further out than it is drawn.
        untimed_ms: Time used between the stages.
    """

    rows: tuple[Span | Skip, ...]
    unit_ms: float
    budget_x: float
    budget_is_further: bool
    untimed_ms: float

    def x(self, span: Span) -> float:
        """Return where a stage's bar starts; a bar at the right end is moved in to be visible."""
        return min(span.start_ms / self.unit_ms, _WIDTH - self.width(span))

    def width(self, span: Span) -> float:
        """Return how wide a stage's bar is: always wide enough to see."""
        return max(span.ms / self.unit_ms, _MIN_VISIBLE_WIDTH)


def waterfall(answer: Answer, budget_ms: float) -> Waterfall:
    """Lay out the stages of an answer; the budget is to scale where it is at all close."""
    spans = sorted(answer.trace.spans, key=lambda span: span.start_ms)
    end_ms = max((span.end_ms for span in spans), default=0.0)
    is_close = budget_ms <= 2.0 * end_ms
    unit_ms = max(1.04 * max(end_ms, budget_ms if is_close else 0.0), 1e-6) / _WIDTH
    return Waterfall(
        rows=tuple(_rows(spans, answer.trace.skips)),
        unit_ms=unit_ms,
        budget_x=budget_ms / unit_ms if is_close else _WIDTH - _MIN_VISIBLE_WIDTH,
        budget_is_further=not is_close,
        untimed_ms=max(answer.used_time_ms - busy_ms(spans), 0.0),
    )


def _rows(spans: Sequence[Span], skips: Sequence[Skip]) -> Iterator[Span | Skip]:
    """Yield spans by time, and each skip before the stages that follow it in the read path."""
    pending = sorted(skips, key=_position)
    for index, span in enumerate(spans):
        next_position = min(map(_position, spans[index:]))
        while pending and _position(pending[0]) < next_position:
            yield pending.pop(0)
        yield span
    yield from pending


def _position(row: Span | Skip) -> int:
    return _ORDER.get(row.stage, _LAST)
