"""Stages: a trace in, a waterfall against the budget out, with what was left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from family_recall.pipeline.trace import busy_ms
from family_recall.reports.markup import Markup, joined, table, tag
from family_recall.types import Answer, Skip, Span

MEANINGS: Mapping[str, str] = {
    "routing": "what kind of question",
    "time": "which stretch of time",
    "plan": "the question, understood",
    "identifiers": "what it quotes exactly",
    "lexical": "search by words",
    "embed": "the question as a vector",
    "embed_static": "the same by a table",
    "weigh": "how rare its words are",
    "vector": "search by meaning",
    "graph": "search by links",
    "timeline": "what that time held",
    "fusion": "the runs, as one pool",
    "load": "the candidates' columns",
    "score": "how many are scored",
    "late_interaction": "word by word, by meaning",
    "rank": "weights × features",
    "deduplicate": "near copies behind one",
    "rerank": "read beside the question",
    "diversify": "no two alike",
    "answer": "results and reasons",
}
"""What each stage does, in the order of the read path."""

_ORDER = {stage: at for at, stage in enumerate(MEANINGS)}
_LAST = len(MEANINGS)
_WIDTH = 1000.0
_SEEN_AT_LEAST = 6.0


def section(answer: Answer, budget_ms: float) -> Markup:
    """Draw each stage against the budget, and beside it what was skipped and why."""
    spans = sorted(answer.trace.spans, key=lambda span: span.start_ms)
    ran_ms = max((span.end_ms for span in spans), default=0.0)
    near = budget_ms <= 2.0 * ran_ms
    full_ms = max(1.04 * max(ran_ms, budget_ms if near else 0.0), 1e-6)
    untimed_ms = max(answer.used_time_ms - busy_ms(spans), 0.0)
    rows = [*_rows(spans, answer.trace.skips, full_ms, budget_ms), _untimed(untimed_ms)]
    used = f"{answer.used_time_ms:,.1f} ms of {budget_ms:,.0f} ms were used in all. "
    line = "The line in the bars is the budget. " if near else "The budget lies off to the right. "
    told = [tag("p", used, line, class_="quiet")]
    if gate := answer.trace.gate:
        told += [
            tag("p", f"Cut at the door: {c.name} {c.requested:g} to {c.granted:g} ({c.detail}).")
            for c in gate.clamps
        ]
    told += [tag("p", f"Without {name}", class_="warn") for name in answer.degraded]
    return joined(
        table(
            "Stages in order, with the milliseconds they took",
            ("Stage", "When", "ms", "in → out"),
            *rows,
            class_="stages",
        ),
        *told,
    )


def _rows(
    spans: Sequence[Span], skips: tuple[Skip, ...], full_ms: float, budget_ms: float
) -> Iterator[Markup]:
    waiting = sorted(skips, key=lambda skip: _ORDER.get(skip.stage, _LAST))
    for at, span in enumerate(spans):
        rest = {_ORDER.get(later.stage, _LAST) for later in spans[at:]}
        while waiting and _ORDER.get(waiting[0].stage, _LAST) < min(rest):
            yield _skipped(waiting.pop(0))
        yield _ran(span, full_ms, budget_ms)
    for skip in waiting:
        yield _skipped(skip)


def _ran(span: Span, full_ms: float, budget_ms: float) -> Markup:
    said = f"{span.stage}: from {span.start_ms:.1f} to {span.end_ms:.1f} ms"
    scale = _WIDTH / full_ms
    width = max(span.ms * scale, _SEEN_AT_LEAST)
    start = min(span.start_ms * scale, _WIDTH - width)
    over = "over" if span.end_ms > budget_ms else None
    drawn = [
        tag("rect", x=0, y=3, width=_WIDTH, height=12, class_="track"),
        tag("rect", x=start, y=3, width=width, height=12, class_=over or "ran"),
    ]
    if budget_ms <= full_ms:
        at = budget_ms * scale
        drawn.append(tag("line", x1=at, x2=at, y1=0, y2=18, class_="budget"))
    return tag(
        "tr",
        _named(span.stage),
        tag("td", _picture(said, *drawn)),
        tag("td", f"{span.ms:,.1f}", class_="n"),
        tag("td", f"{span.n_in} → {span.n_out}" if span.n_in or span.n_out else "", class_="n"),
    )


def _skipped(skip: Skip) -> Markup:
    n = f" ({skip.n})" if skip.n else ""
    return tag(
        "tr",
        _named(skip.stage),
        tag("td", tag("b", f"skipped{n}"), f" {skip.detail}", colspan=3),
        class_="skipped",
    )


def _untimed(ms: float) -> Markup:
    return tag(
        "tr",
        tag("th", "between", tag("small", "waiting, and what no stage times"), scope="row"),
        tag("td"),
        tag("td", f"{ms:,.1f}", class_="n"),
        tag("td"),
        class_="skipped",
    )


def _named(stage: str) -> Markup:
    meaning = MEANINGS.get(stage)
    said = [tag("small", meaning)] if meaning else []
    return tag("th", tag("span", stage.replace("_", " ")), *said, scope="row")


def _picture(said: str, *drawn: Markup) -> Markup:
    return tag(
        "svg",
        tag("title", said),
        *drawn,
        viewBox=f"0 0 {_WIDTH:.0f} 18",
        preserveAspectRatio="none",
        role="img",
        class_="bar",
    )
