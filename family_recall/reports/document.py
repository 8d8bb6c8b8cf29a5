"""Document: sections in, one closed HTML page out. No script, nothing loaded, nothing sent."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
from collections.abc import Sequence

from family_recall.reports.markup import Markup, tag

Section = tuple[str, str, Markup]
"""An id, the heading, and what stands below it."""


def document(title: str, header: Markup, sections: Sequence[Section], *, style: str = "") -> str:
    """Write a page around its sections.

    Args:
        title: Of the window.
        header: What stands above all sections, its ``h1`` in it.
        sections: In order; each gets a link at the top.
        style: Rules that follow the shared sheet.

    Returns:
        HTML, in UTF-8 once written; its security policy allows its own style sheet, by its hash,
        and nothing else.
    """
    sheet_ = sheet() + style
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(sheet_)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{title} · family-recall"),
        tag("style", Markup(sheet_)),
    )
    links = (tag("a", heading, href=f"#{name}") for name, heading, _ in sections)
    body = tag(
        "body",
        header,
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


@functools.cache
def sheet() -> str:
    """Give the style sheet that every page has."""
    file = importlib.resources.files("family_recall.reports") / "templates" / "page.css"
    return file.read_text(encoding="utf-8")


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
