"""The page of one recall, in a single HTML file without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from family_recall.apps.reports.recall import graph, ranks, results, stages
from family_recall.apps.reports.recall.redaction import redacted
from family_recall.apps.reports.recall.understood import understood
from family_recall.apps.reports.templating import render_report
from family_recall.recall.explain import NearMiss
from family_recall.types import Answer
from family_recall.types.stages import label_of

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
        waterfall=stages.waterfall(answer, budget_ms),
        bumps=ranks.bump_chart(answer, near_misses),
        neighbourhood=graph.neighbourhood(answer.results),
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
