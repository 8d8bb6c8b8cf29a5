"""Parts: figures and words in, what every page with plots is put together from out."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Mapping

from family_recall.reports.evaluation.drawing import RULES
from family_recall.reports.markup import Markup, spoken, table, tag


@functools.cache
def style() -> str:
    """Give the rules of pages with plots, which follow the shared sheet."""
    file = importlib.resources.files("family_recall.reports") / "templates" / "plots.css"
    return file.read_text(encoding="utf-8") + RULES


def plots(*drawn: Markup) -> Markup:
    """Put plots side by side where there is room."""
    return tag("div", *drawn, class_="plots")


def cells(head: str, *values: str) -> Markup:
    """Make a row of a table: what it is about, then numbers."""
    return tag("tr", tag("th", head, scope="row"), *(tag("td", v, class_="n") for v in values))


def figures(caption: str, head: tuple[str, ...], *rows: Markup) -> Markup:
    """Make a table of numbers that a narrow screen may push aside."""
    made = table(caption, head, *rows, class_="figures")
    return tag("div", made, class_="wide", tabindex=0, role="region", aria_label=caption)


def pairs(about: Mapping[str, object]) -> Markup:
    """Make a table of what something is, without numbers to compare."""
    rows = (
        tag("tr", tag("th", name, scope="row"), tag("td", spoken(str(value))))
        for name, value in about.items()
    )
    return table("Name and value", ("", ""), *rows)


def counts(about: Mapping[str, tuple[str, str]]) -> Markup:
    """Put the few numbers that matter most side by side, each with what goes with it."""
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value, tag("small", beside)))
            for name, (value, beside) in about.items()
        ),
        class_="counts",
    )


def quiet(said: str) -> Markup:
    """Make a paragraph that explains."""
    return tag("p", said, class_="quiet")
