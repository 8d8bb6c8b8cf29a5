"""Page: an answer in, one self-contained HTML page out. No script, nothing loaded, nothing sent."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from family_recall.pipeline.explain import Missed
from family_recall.reports.document import document
from family_recall.reports.markup import Markup, folded, joined, spoken, tag
from family_recall.reports.recall import graph, ranks, results, stages
from family_recall.reports.recall.near_misses import section as missed_section
from family_recall.reports.recall.redaction import redacted
from family_recall.types import Answer

_TURNING = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
STATUS = {
    "ok": "found",
    "weak": "perhaps",
    "no_match": "nothing stored seems to answer",
}


def page(
    answer: Answer,
    *,
    budget_ms: float,
    missed: Sequence[Missed] = (),
    redact: bool = False,
    above: Markup | None = None,
) -> str:
    """Write an answer as a page to be read in any browser, kept, and passed on.

    Args:
        answer: What was answered, with its trace.
        budget_ms: The time it was allowed, above 0.
        missed: What stood close and was not returned.
        redact: Whether lengths stand for the question and for all that anybody wrote.
        above: What stands over the heading, such as a way back.

    Returns:
        HTML, in UTF-8 once written; its security policy allows its own style sheet and nothing
        else. The same answer gives the same page.
    """
    near = tuple(missed)
    if redact:
        answer, near = redacted(answer, near)
    sections = [
        ("results", "What came back", results.section(answer)),
        ("stages", "Where the time went", stages.section(answer, budget_ms)),
        ("ranks", "How the ranks moved", ranks.section(answer, near)),
        ("graph", "What led to what", graph.section(answer)),
        ("missed", "What did not come back", missed_section(answer, near)),
        ("raw", "Raw", _raw(answer, near)),
    ]
    return document(
        answer.query_text, _header(answer, budget_ms, redact=redact, above=above), sections
    )


def _header(answer: Answer, budget_ms: float, *, redact: bool, above: Markup | None) -> Markup:
    asked = f"{answer.now:%A %d %B %Y, %H:%M}"
    then = [f", as of {answer.as_of:%d %B %Y, %H:%M}"] if answer.as_of != answer.now else []
    facts = [
        tag("p", spoken(key), ": ", spoken(value), class_="fact")
        for key, value in answer.facts.items()
    ]
    return tag(
        "header",
        *([tag("p", above)] if above else []),
        tag("p", "A recall, inspected", " · redacted" if redact else "", class_="kicker"),
        tag("h1", answer.query_text or "(an empty question)", dir="auto"),
        tag(
            "p",
            tag("strong", STATUS[answer.status], class_=f"status {answer.status}"),
            tag("span", f"{answer.confidence:.0%} sure"),
            tag("span", f"{answer.used_time_ms:,.1f} of {budget_ms:,.0f} ms"),
            tag("span", answer.strategy.lower()),
            tag("span", f"mode {answer.mode}, profile {answer.profile}"),
            class_="summary",
        ),
        tag("p", f"Asked {asked}", *then, class_="quiet"),
        *facts,
    )


def _raw(answer: Answer, near: tuple[Missed, ...]) -> Markup:
    return joined(
        _json("The trace as JSON", answer.trace.to_json()),
        _json("The whole answer as JSON", answer.to_json()),
        *(
            [_json("What missed, as JSON", [one.explanation.to_json() for one in near])]
            if near
            else []
        ),
    )


def _json(title: str, record: object) -> Markup:
    written = json.dumps(record, ensure_ascii=False, indent=1, default=str)
    # What cannot be shown is written the way JSON has for it, so the text reads back the same.
    written = _TURNING.sub(lambda found: f"\\u{ord(found.group()):04x}", written)
    box = tag("pre", tag("code", written), tabindex=0, role="region", aria_label=title)
    return folded(title, box)
