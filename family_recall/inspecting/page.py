"""Page: an answer in, one self-contained HTML page out. No script, nothing loaded, nothing sent."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
import json
import re
from collections.abc import Sequence

from family_recall.inspecting import graph, ranks, results, stages
from family_recall.inspecting.markup import Markup, folded, joined, spoken, tag
from family_recall.inspecting.missed import Missed
from family_recall.inspecting.missed import section as missed_section
from family_recall.inspecting.redaction import redacted
from family_recall.types import Answer

_TURNING = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_STATUS = {
    "ok": "found",
    "weak": "perhaps",
    "no_match": "nothing stored seems to answer",
}


def page(
    answer: Answer, *, budget_ms: float, missed: Sequence[Missed] = (), redact: bool = False
) -> str:
    """Write an answer as a page to be read in any browser, kept, and passed on.

    Args:
        answer: What was answered, with its trace.
        budget_ms: The time it was allowed, above 0.
        missed: What stood close and was not returned.
        redact: Whether lengths stand for the question and for all that anybody wrote.

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
    style = _style()
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{answer.query_text} · family-recall"),
        tag("style", Markup(style)),
    )
    links = (tag("a", heading, href=f"#{name}") for name, heading, _ in sections)
    body = tag(
        "body",
        _header(answer, budget_ms, redact=redact),
        tag("nav", *links, aria_label="On this page"),
        tag(
            "main",
            *(
                tag("section", tag("h2", heading, id=f"{name}-heading"), content, id=name,
                    aria_labelledby=f"{name}-heading")
                for name, heading, content in sections
            ),
        ),
    )  # fmt: skip
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _header(answer: Answer, budget_ms: float, *, redact: bool) -> Markup:
    asked = f"{answer.now:%A %d %B %Y, %H:%M}"
    then = [f", as of {answer.as_of:%d %B %Y, %H:%M}"] if answer.as_of != answer.now else []
    facts = [
        tag("p", spoken(key), ": ", spoken(value), class_="fact")
        for key, value in answer.facts.items()
    ]
    return tag(
        "header",
        tag("p", "A recall, inspected", " · redacted" if redact else "", class_="kicker"),
        tag("h1", answer.query_text or "(an empty question)", dir="auto"),
        tag(
            "p",
            tag("strong", _STATUS[answer.status], class_=f"status {answer.status}"),
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


@functools.cache
def _style() -> str:
    file = importlib.resources.files("family_recall.inspecting") / "style.css"
    return file.read_text(encoding="utf-8")


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
