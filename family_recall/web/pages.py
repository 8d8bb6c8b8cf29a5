"""What all pages share: the person who reads them, rendering, links and parameters."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import URL, QueryParams

from family_recall.api import FamilyRecall
from family_recall.reports.templating import STYLE, render, style_hash, stylesheet
from family_recall.types import AccessibleSpace, RecallContext

FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field in forms.jinja, not a token
_STYLE = (*STYLE, "web.css")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The person who reads the pages, for as long as they are served.

    Args:
        home: The household; it has to outlive the server.
        ctx: Who asks, and what a question may cost. Nothing a page sends can change who.
        read_only: Whether nothing can be edited.
        form_token: What every form has to carry.
    """

    home: FamilyRecall
    ctx: RecallContext
    read_only: bool = False
    form_token: str = ""

    @property
    def person_id(self) -> str:
        """The person's id."""
        assert self.ctx.person_id is not None  # noqa: S101 - refused before anything is served
        return self.ctx.person_id

    def spaces(self) -> dict[str, AccessibleSpace]:
        """Return the spaces they may enter, by id."""
        return {
            accessible.space.space_id: accessible
            for accessible in self.home.spaces.accessible(self.person_id)
        }


@dataclass(frozen=True, slots=True)
class Page:
    """A template with its view, and the HTTP status it is sent with."""

    template: str
    view: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


def html(page: Page, reader: Reader | None) -> str:
    """Return a page as HTML; without a reader it may show nothing of the household."""
    return render(
        page.template,
        **page.view,
        style=stylesheet(*_STYLE),
        reader=reader,
        link=link,
    )


@functools.cache
def content_security_policy() -> str:
    """Return the policy of every page: its own style sheet and forms, nothing else."""
    hashes = f"{style_hash(stylesheet(*_STYLE))} {style_hash(stylesheet(*STYLE))}"
    return (
        f"default-src 'none'; style-src {hashes}; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


def link(path: str, /, **params: str | int | None) -> str:
    """Return a link within these pages, without the parameters that are None or empty.

    >>> link("/memory", id="a/b&c", space="shared:home")
    '/memory?id=a%2Fb%26c&space=shared%3Ahome'
    """
    needed = {name: value for name, value in params.items() if value not in {None, ""}}
    return str(URL(path).include_query_params(**needed)) if needed else path


def param(params: QueryParams, name: str) -> str:
    """Return what a link or form sends under a name, without white space around it."""
    return params.get(name, "").strip()


def moment_text(moment: dt.datetime) -> str:
    """Return a moment in words: ``3 June 2025, 18:30``."""
    return f"{moment.day} {moment:%B %Y, %H:%M}"
