"""The page of one recall: results with reasons, and how they were found and ranked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from family_recall.api.explanations import NearMiss, busy_ms
from family_recall.apps.reports import results
from family_recall.apps.reports.pictures import bump_chart, neighbourhood
from family_recall.apps.reports.redaction import redacted
from family_recall.apps.reports.results import understood
from family_recall.apps.reports.templating import render_report
from family_recall.types import Answer, Skip, Span
from family_recall.types.stages import STAGES, label_of

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


_MISLEADING = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def page(
    answer: Answer,
    *,
    budget_ms: float,
    missed: Sequence[NearMiss] = (),
    redact: bool = False,
    back: str = "",
) -> str:
    """Return an answer as a page to read in any browser, to save and to pass on.

    Args:
        answer: The answer, with its trace.
        budget_ms: The time it was allowed, above 0.
        missed: Memories that came close and were not returned.
        redact: Whether lengths replace the question and everything that anybody wrote.
        back: A link to go back to, if any.

    Returns:
        HTML, to be saved as UTF-8. Its security policy allows its own style sheet and nothing
        else. The same answer gives the same page.
    """
    near_misses = tuple(missed)
    if redact:
        answer, near_misses = redacted(answer, near_misses)
    documents: dict[str, object] = {
        "The trace as JSON": answer.trace.to_json(),
        "The whole answer as JSON": answer.to_json(),
    }
    if near_misses:
        documents["The near misses as JSON"] = [m.explanation.to_json() for m in near_misses]
    return render_report(
        "recall.jinja",
        answer=answer,
        budget_ms=budget_ms,
        near_misses=near_misses,
        is_redacted=redact,
        back=back,
        cards=results.cards(answer.results),
        understood=understood(answer),
        label_of=label_of,
        waterfall=waterfall(answer, budget_ms),
        bumps=bump_chart(answer, near_misses),
        neighbourhood=neighbourhood(answer.results),
        steps=_steps(answer),
        documents={title: _json_text(record) for title, record in documents.items()},
    )


def _steps(answer: Answer) -> list[tuple[str, str, str]]:
    """Return how many memories there were at each step, as far as the trace counts them."""
    counts = {**answer.trace.counts, "returned": len(answer.results)}
    names = {
        "visible": "may be seen",
        "candidates": "were candidates",
        "duplicates": "stand behind a near copy",
        "returned": "came back",
    }
    return [(name, f"{counts[key]:,}", "") for key, name in names.items() if key in counts]


def _json_text(record: object) -> str:
    text = json.dumps(record, ensure_ascii=False, indent=1, default=str)
    # As JSON escapes, so that the text reads back the same.
    return _MISLEADING.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
