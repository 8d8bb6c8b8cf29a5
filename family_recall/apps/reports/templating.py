"""The Jinja2 environment of every page, of reports and of ``browse``. Nothing else makes markup."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError
from markupsafe import Markup, escape

from family_recall.types import printable as characters

_PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = (_PACKAGE / "reports" / "templates", _PACKAGE / "web" / "templates")
"""Where templates and style sheets are; every file name is used once."""

STYLE = ("colours.css", "page.css")
"""Style sheets of every page."""


def render(template: str, /, **view: Any) -> str:
    """Return a page: every value escaped, every unprintable character replaced.

    A float is written with at most three decimals, as coordinates need.

    Raises:
        KeyError: If the view lacks a name that the template needs.
    """
    try:
        return printable(environment().get_template(template).render(view))
    except UndefinedError as error:
        raise KeyError(error.message) from error


def printable(text: str) -> str:
    """Return a text of the same length with U+FFFD for every character that cannot be shown."""
    return "\r".join(map(characters.printable, text.split("\r")))


def escaped(text: str) -> str:
    """Return a text as markup shows it, with unprintable characters replaced."""
    return str(escape(printable(text)))


@functools.cache
def environment() -> Environment:
    """Return the environment that all templates share."""
    return Environment(
        loader=FileSystemLoader(FOLDERS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_compact,
    )


@functools.cache
def stylesheet(*names: str) -> Markup:
    """Return style sheets of the template folders, one after another."""
    loader = environment().loader
    assert loader is not None  # noqa: S101 -- set above
    return Markup("".join(loader.get_source(environment(), name)[0] for name in names))  # noqa: S704 -- our own files


def style_hash(style: str) -> str:
    """Return the source expression that allows one style sheet in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"


def render_report(template: str, /, *, style: tuple[str, ...] = STYLE, **view: Any) -> str:
    """Return a page that stands alone in a file.

    Its Content-Security-Policy allows its own style sheet, by hash, pictures that it holds itself,
    and nothing else.
    """
    sheet = stylesheet(*style)
    policy = (
        f"default-src 'none'; style-src {style_hash(sheet)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return render(template, style=sheet, policy=policy, **view)


def _compact(value: Any) -> Any:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
