"""What all pages share: the person who reads them, rendering, links and parameters."""

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
"""Changes of one session that can still be undone; earlier ones are forgotten first."""


class Done(NamedTuple):
    """What was just done, in a sentence; what undoes it, if anything; where to go then."""

    text: str
    change: Change | None
    back: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The person who reads the pages, for as long as they are served.

    Args:
        home: The household; it has to outlive the server.
        ctx: Who asks, and what a question may cost. Nothing a page sends can change who.
        household: What the household is called where no shared space has a name.
        form_token: What every form has to carry.
        done: What was done since the pages were opened, by the number in the link.
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
        """What they may change, each change with its undoing."""
        return Changes(self.home, self.person_id)

    def names(self) -> tuple[str, str]:
        """Return what the household is called, and what the person is."""
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
        """Return the spaces they may enter, by id, each with a name to show."""
        shown = {}
        for accessible in self.home.spaces.accessible(self.person_id):
            name = _space_name(accessible, self.person_id)
            space = dataclasses.replace(accessible.space, name=name)
            shown[space.space_id] = msgspec.structs.replace(accessible, space=space)
        return shown

    def note(self, text: str, then: str, change: Change | None = None, back: str = "") -> str:
        """Remember what was done; return the link to the page that says so and offers to undo it.

        ``then`` is the page to show next, and once it is undone, unless ``back`` is.
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
    """Return a page as HTML; without a reader it may show nothing of the household.

    ``done`` is the number of what was just done, as in the link.
    """
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


def _space_name(accessible: AccessibleSpace, person_id: str) -> str:
    """Return what a space is called: its name or, without one, who sees it."""
    space = accessible.space
    if space.name:
        return space.name
    others = [person.name for person, _ in accessible.people if person.person_id != person_id]
    if space.kind == "private":
        return f"Only {', '.join(others)}{' and ' if others else ''}you"
    return space.space_id.rpartition(":")[2].replace("_", " ").capitalize() or space.space_id
