"""Markup: names, attributes and texts in, HTML out in which a text is only ever a text."""

from __future__ import annotations

import html
import re

_UNSHOWABLE = re.compile(
    # Control characters, marks that turn the order of letters, and halves of characters: what
    # HTML forbids, what makes a text read as another, and what UTF-8 cannot write.
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069"
    r"\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_VOID = {"meta", "br", "input"}


class Markup(str):
    """HTML that is ready: it is put in as it is, where any other text is escaped."""

    __slots__ = ()


def shown(text: str) -> str:
    """Give a text that can be shown, as many characters long: what cannot is a visible mark."""
    return _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def escaped(text: str) -> Markup:
    """Give a text as HTML that shows it and does nothing else."""
    return text if isinstance(text, Markup) else Markup(html.escape(shown(text)))


def joined(*parts: str, by: str = "") -> Markup:
    """Put parts one after another; what is no markup is escaped."""
    return Markup(by.join(escaped(part) for part in parts))


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Make an element; an attribute that is None is left out.

    >>> tag("p", "1 < 2", class_="sum", aria_hidden="true")
    '<p class="sum" aria-hidden="true">1 &lt; 2</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def spoken(text: str, *, class_: str | None = None, element: str = "bdi") -> Markup:
    """Show what somebody wrote, in its own direction and apart from the text around it."""
    return tag(element, text, dir="auto", class_=class_)


def table(caption: str, head: tuple[str, ...], *rows: Markup, class_: str | None = None) -> Markup:
    """Make a table with a caption and a head; the rows are ``tr`` elements."""
    top = tag("tr", *(tag("th", name, scope="col") for name in head))
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", top),
        tag("tbody", *rows),
        class_=class_,
    )


def folded(summary: str, *children: str, class_: str | None = None) -> Markup:
    """Make a part that opens when it is wanted."""
    return tag("details", tag("summary", summary), *children, class_=class_)


def _number(value: str | float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
