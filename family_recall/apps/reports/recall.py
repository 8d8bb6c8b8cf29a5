"""The page of one recall: results with reasons, and how they were found and ranked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from family_recall.api.explanations import NearMiss, busy_ms
from family_recall.apps.reports import results
from family_recall.apps.reports.redaction import redacted
from family_recall.apps.reports.results import understood
from family_recall.apps.reports.templating import render_report
from family_recall.types import Answer, Contribution, Result, Skip, Span
from family_recall.types.stages import STAGES, label_of

SOURCES: Mapping[str, str] = {
    "lexical": "words",
    "vector": "meaning",
    "graph": "links",
    "identifier": "quoted",
    "timeline": "time",
    "relation": "relations",
}
"""The sources whose runs a trace holds, and the names of their columns."""

MAX_RANKED = 12
MAX_NEAR_MISSES = 4
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


@dataclass(frozen=True, slots=True)
class RankTable:
    """The rank of each memory at each stage that ranked; None where it was not among the hits."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int | None, ...]], ...]


def rank_table(answer: Answer, missed: Sequence[NearMiss]) -> RankTable:
    """Return the ranks of the results, and of as many near misses as there is room for.

    Under ``scored`` and ``reread`` it is the place among the memories of the table.
    """
    ranked = [(f"result {r.rank}", r.doc_id, r.contributions, r.rank) for r in answer.results]
    outranked = [
        (miss.doc_id, miss.doc_id, miss.explanation.contributions, miss.explanation.rank)
        for miss in missed
        if miss.explanation.verdict == "outranked"
    ]
    ranked = [*ranked, *outranked[:MAX_NEAR_MISSES]][:MAX_RANKED]
    labels, doc_ids, contributions, last = zip(*ranked, strict=True) if ranked else ((),) * 4
    columns: dict[str, Sequence[int | None]] = {}
    for source, name in SOURCES.items():
        if hits := answer.trace.hits.get(source, ()):
            rank_of = {hit.doc_id: hit.rank for hit in hits}
            columns[name] = [rank_of.get(doc_id) for doc_id in doc_ids]
    columns["scored"] = _places(doc_ids, contributions, reranked=False)
    if any(p.feature == "cross_encoder" and p.amount for parts in contributions for p in parts):
        columns["reread"] = _places(doc_ids, contributions, reranked=True)
    columns["answer"] = last
    rows = zip(labels, zip(*columns.values(), strict=True), strict=True)
    return RankTable(tuple(columns), tuple(rows))


def _places(
    doc_ids: Sequence[str], contributions: Sequence[Sequence[Contribution]], *, reranked: bool
) -> list[int]:
    """Return the place of each memory by its score, with or without the cross-encoder's part."""
    score_of = {
        doc_id: sum(p.amount for p in parts if reranked or p.feature != "cross_encoder")
        for doc_id, parts in zip(doc_ids, contributions, strict=True)
    }
    order = sorted(doc_ids, key=lambda doc_id: (-round(score_of[doc_id], 9), doc_id))
    return [order.index(doc_id) + 1 for doc_id in doc_ids]


def paths(results: Sequence[Result]) -> list[tuple[Result, float, list[tuple[str, str]]]]:
    """Return each result that the graph led to, its PageRank and the path to it.

    A path is each memory or name, with the kind of the edge that led there. A result with PageRank
    and no path is where the walk began: found by words or meaning.
    """
    found = []
    for result in results:
        pagerank = max(result.features.get("ppr", 0.0), 0.0)
        if result.rationale:
            path = result.rationale.path
            steps = list(zip(path[::2], ["", *path[1::2]], strict=True))
            found.append((result, pagerank, steps))
        elif pagerank > 0.0:
            found.append((result, pagerank, [(result.doc_id, "")]))
    return found


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
        ranks=rank_table(answer, near_misses),
        paths=paths(answer.results),
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
