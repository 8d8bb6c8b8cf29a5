"""Missed: what stood close to an answer and is not in it, and the sentence that says why."""

from __future__ import annotations

from family_recall.pipeline.explain import Missed
from family_recall.reports.markup import Markup, folded, joined, spoken, tag
from family_recall.types import Answer


def section(answer: Answer, missed: tuple[Missed, ...]) -> Markup:
    """Tell how many memories there were at each step, and who only just missed."""
    counts = answer.trace.counts
    steps = [
        ("may be seen", counts.get("visible")),
        ("were candidates", counts.get("candidates")),
        ("stand behind a near copy", counts.get("duplicates")),
        ("came back", len(answer.results)),
    ]
    parts = [
        tag("dl", *(_count(name, n) for name, n in steps if n is not None), class_="counts"),
    ]
    if missed:
        parts.append(tag("h3", "What stood closest"))
        parts.append(tag("ul", *map(_item, missed), class_="missed"))
    else:
        parts.append(tag("p", "Nothing else came close enough to be told of.", class_="quiet"))
    unread = [skip for skip in answer.trace.skips if skip.n]
    if unread:
        parts.append(
            folded(
                f"Stages that left memories out ({len(unread)})",
                tag("ul", *(tag("li", f"{s.stage}, {s.n} left out: {s.detail}") for s in unread)),
            )
        )
    parts.append(
        tag(
            "p",
            "What the asker may not see is neither read nor counted, and so is not on this page.",
            class_="quiet",
        )
    )
    return joined(*parts)


def _count(name: str, n: int) -> Markup:
    return tag("div", tag("dd", f"{n:,}"), tag("dt", name))


def _item(one: Missed) -> Markup:
    found = ", ".join(f"{name} at {rank}" for name, rank in one.explanation.found_by.items())
    return tag(
        "li",
        spoken(one.text, element="p", class_="text"),
        tag("p", one.why),
        tag(
            "p",
            spoken(one.doc_id, class_="id"),
            tag("span", f"score {one.explanation.score:.3f}"),
            tag("span", f"found by {found or 'no source'}"),
            class_="about",
        ),
    )
