"""Shared by all pages: the reader, rendering, links and parameters."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from starlette.datastructures import URL, QueryParams

from family_recall.api import Change, Changes, FamilyRecall
from family_recall.apps.reports.templating import STYLE, render, style_hash, stylesheet
from family_recall.types import AccessibleSpace, RecallContext

FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field in forms.jinja, not a token
_STYLE = (*STYLE, "web.css")
_MAX_DONE = 100
"""The number of latest changes that can be undone."""


class Done(NamedTuple):
    """A message, the change to undo, if any, and the link to show after undoing it."""

    text: str
    change: Change | None
    back: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The person who reads the pages.

    Args:
        home: The household; it has to outlive the server.
        ctx: The person and their time budget; no request can change the person.
        household: The household's name where no shared space has one.
        form_token: The token that every form has to send.
        done: Messages and changes of this session, by the number in the link.
    """

    home: FamilyRecall
    ctx: RecallContext
    read_only: bool = False
    household: str = "Household"
    form_token: str = ""
    done: dict[str, Done] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def person_id(self) -> str:
        """The person's id."""
        assert self.ctx.person_id is not None  # noqa: S101 - refused before anything is served
        return self.ctx.person_id

    @property
    def changes(self) -> Changes:
        """The person's changes, which can be undone."""
        return Changes(self.home, self.person_id)

    def names(self) -> tuple[str, str]:
        """Return the names of the household and of the person."""
        shared = [
            accessible.space
            for accessible in self.home.spaces.accessible(self.person_id)
            if accessible.space.kind != "private" and accessible.space.name
        ]
        # The space that everybody may enter speaks for the household.
        shared.sort(key=lambda space: space.kind != "household")
        people = {p.person_id: p.name for p in self.home.people.all(self.person_id)}
        household = shared[0].name if shared else None
        return household or self.household, people.get(self.person_id, self.person_id)

    def spaces(self) -> dict[str, AccessibleSpace]:
        """Return the accessible spaces by id, each with a display name."""
        spaces = {}
        for accessible in self.home.spaces.accessible(self.person_id):
            name = _space_name(accessible, self.person_id)
            space = dataclasses.replace(accessible.space, name=name)
            spaces[space.space_id] = msgspec.structs.replace(accessible, space=space)
        return spaces

    def note(self, text: str, then: str, change: Change | None = None, back: str = "") -> str:
        """Store a message and its change; return the link to the page that shows it.

        ``then`` is the next page, and the page after undoing, unless ``back`` is.
        """
        number = str(next(self._numbers))
        self.done[number] = Done(text, change, back or then)
        self.done.pop(str(int(number) - _MAX_DONE), None)
        return str(URL(then).include_query_params(done=number))


@dataclass(frozen=True, slots=True)
class Page:
    """A template with its view, and the HTTP status it is sent with."""

    template: str
    view: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


def html(page: Page, reader: Reader | None, done: str = "") -> str:
    """Return a page as HTML; ``done`` is the number of the message to show."""
    household, person = reader.names() if reader else ("", "")
    return render(
        page.template,
        **page.view,
        style=stylesheet(*_STYLE),
        reader=reader,
        household=household,
        person=person,
        noted=reader.done.get(done) if reader else None,
        undo_link=link("/undo", done=done),
        link=link,
    )


@functools.cache
def content_security_policy() -> str:
    """Return the policy of all pages: their own style sheets and forms, nothing else."""
    hashes = f"{style_hash(stylesheet(*_STYLE))} {style_hash(stylesheet(*STYLE))}"
    return (
        f"default-src 'none'; style-src {hashes}; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


def link(path: str, /, **params: str | int | None) -> str:
    """Return a link within these pages, without empty parameters.

    >>> link("/memory", id="a/b&c", space="shared:home")
    '/memory?id=a%2Fb%26c&space=shared%3Ahome'
    """
    filled = {name: value for name, value in params.items() if value not in {None, ""}}
    return str(URL(path).include_query_params(**filled)) if filled else path


def param(params: QueryParams, name: str) -> str:
    """Return a stripped parameter of a link or form; empty where it is missing."""
    return params.get(name, "").strip()


def _space_name(accessible: AccessibleSpace, person_id: str) -> str:
    """Return a space's name, or a description for one without."""
    space = accessible.space
    if space.name:
        return space.name
    others = [person.name for person, _ in accessible.people if person.person_id != person_id]
    if space.kind == "private":
        return f"Only {', '.join(others)}{' and ' if others else ''}you"
    return space.space_id.rpartition(":")[2].replace("_", " ").capitalize() or space.space_id
