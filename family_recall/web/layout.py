"""Layout: what a page says in, the whole of it as HTML out; links and parts of forms."""

from __future__ import annotations

import base64
import datetime as dt
import functools
import hashlib
import importlib.resources
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starlette.datastructures import URL, QueryParams

from family_recall.api import FamilyRecall
from family_recall.reports.document import sheet
from family_recall.reports.markup import Markup, joined, spoken, tag
from family_recall.types import AccessibleSpace, Memory, RecallContext, StoredVersion

FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field, not a token
NOTHING = Markup("")
DAMAGED = "Damaged in the file: what it says is not what was told. See family-recall doctor."
_PLACES = (("/", "Search"), ("/look", "Look through"), ("/people", "People"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who looks at a household, for as long as the pages are served.

    Args:
        home: The household; it has to outlive the server.
        ctx: Who asks, and what a question may cost. Nothing a page sends can change who.
        read_only: Whether nothing can be mended.
        form_token: What every form has to carry.
    """

    home: FamilyRecall
    ctx: RecallContext
    read_only: bool = False
    form_token: str = ""

    @property
    def person_id(self) -> str:
        """Who they are; somebody in particular."""
        assert self.ctx.person_id is not None  # noqa: S101 - refused before anything is served
        return self.ctx.person_id

    def rooms(self) -> dict[str, AccessibleSpace]:
        """Give the spaces they may enter, by id."""
        return {room.space.space_id: room for room in self.home.spaces.accessible(self.person_id)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What one page says.

    Args:
        title: Its heading, and the window's.
        body: What stands below the heading.
        kicker: A few words above it.
        lead: What stands beside it, in the head of the page.
        place: The path of the tab it belongs to.
        status: Of HTTP.
    """

    title: str
    body: Markup
    kicker: str = ""
    lead: Markup = NOTHING
    place: str = ""
    status: int = 200


def written(page: Page, reader: Reader | None) -> str:
    """Write a page; without a reader, one that shows nothing of the household."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{page.title} · family-recall"),
        tag("style", Markup(style())),
    )
    top = tag(
        "header",
        *([tag("p", page.kicker, class_="kicker")] if page.kicker else []),
        tag("h1", page.title, dir="auto"),
        page.lead,
    )
    body = tag(
        "body",
        tag("a", "Skip to the page", href="#main", class_="skip"),
        *([_tabs(page, reader)] if reader else []),
        tag("main", top, page.body, id="main"),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


@functools.cache
def style() -> str:
    """Give the style sheet: the one of an inspected recall, and what forms and lists add."""
    file = importlib.resources.files("family_recall.web") / "style.css"
    return sheet() + file.read_text(encoding="utf-8")


@functools.cache
def policy() -> str:
    """Give the Content-Security-Policy of every page: its own style, its own forms, no more."""
    hashes = " ".join(f"'sha256-{_sha256(one)}'" for one in (style(), sheet()))
    return (
        f"default-src 'none'; style-src {hashes}; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


def to(path: str, /, **params: str | int | None) -> str:
    """Write a link within these pages; what is None or empty is left out.

    >>> to("/memory", id="a/b&c", space="shared:home")
    '/memory?id=a%2Fb%26c&space=shared%3Ahome'
    """
    kept = {name: value for name, value in params.items() if value not in {None, ""}}
    return str(URL(path).include_query_params(**kept)) if kept else path


def to_memory(memory: Memory, path: str = "/memory") -> str:
    """Write the link to a memory, or to what can be done with it."""
    return to(path, id=memory.doc_id, space=memory.space_id)


def form(reader: Reader, action: str, *children: str, class_: str | None = None) -> Markup:
    """Make a form that changes something."""
    token = tag("input", type="hidden", name=FORM_TOKEN, value=reader.form_token)
    return tag("form", *children, token, method="post", action=action, class_=class_)


def labelled(label: str, control: Markup, hint: str = "", *, wide: bool = False) -> Markup:
    """Put a control below its label, and a hint below both."""
    said = [tag("small", hint)] if hint else []
    name = tag("span", label, class_="label-text")
    return tag("label", name, control, *said, class_="wide" if wide else None)


def text_input(name: str, value: str | None = "", /, **attributes: str | None) -> Markup:
    """Make a field of one line."""
    kind = attributes.pop("type", "text")
    return tag("input", type=kind, name=name, value=value or "", **attributes)


def chosen(name: str, options: Iterable[tuple[str, str]], value: str, /) -> Markup:
    """Make a list to choose from: (value, what is read) pairs."""
    return tag(
        "select",
        *(
            tag("option", read, value=one, selected="selected" if one == value else None)
            for one, read in options
        ),
        name=name,
    )


def lines(name: str, value: str, /, **attributes: str | int | None) -> Markup:
    """Make a field of several lines; HTML drops a first line break, so one is put before it."""
    return tag("textarea", Markup("\n"), value, name=name, **attributes)


def about(kept: StoredVersion, rooms: dict[str, AccessibleSpace], *, dated: bool = True) -> Markup:
    """Say in a line who said a memory, when, where, and what kind it is.

    Without a date where that stands above it.
    """
    memory = kept.memory
    parts = [spoken(memory.author)] if memory.author else []
    when = said_when(kept.moment) if dated else f"{kept.moment:%H:%M}"
    parts.append(tag("time", when, datetime=kept.moment.isoformat()))
    parts.append(spoken(space_name(memory.space_id, rooms), class_="chip"))
    if memory.kind != "episode":
        parts.append(tag("span", memory.kind))
    if memory.band != "green":
        parts.append(tag("span", memory.band, class_="warn"))
    return tag("p", *parts, class_="about")


def said_when(moment: dt.datetime) -> str:
    """Say a moment: ``3 June 2025, 18:30``."""
    return f"{moment.day} {moment:%B %Y, %H:%M}"


def space_name(space_id: str, rooms: dict[str, AccessibleSpace]) -> str:
    """Name a space as people call it."""
    room = rooms.get(space_id)
    return (room.space.name if room else None) or space_id


def space_options(rooms: dict[str, AccessibleSpace]) -> list[tuple[str, str]]:
    """Offer every space, and each."""
    return [("", "every space"), *((one, space_name(one, rooms)) for one in rooms)]


def notice(text: str, *, bad: bool = False) -> Markup:
    """Tell what has just been done, or could not be."""
    return tag(
        "p", text, role="alert" if bad else "status", class_="notice bad" if bad else "notice"
    )


def items(found: Sequence[Markup], class_: str) -> Markup:
    """Make a list."""
    return tag("ul", *found, class_=class_)


def section(heading: str, *content: str, id_: str) -> Markup:
    """Make a part of a page with a heading of its own."""
    title = tag("h2", heading, id=f"{id_}-heading")
    return tag("section", title, *content, id=id_, aria_labelledby=f"{id_}-heading")


def param(params: QueryParams, name: str) -> str:
    """Give what a link or form sends under a name, less white space around it."""
    return params.get(name, "").strip()


def _tabs(page: Page, reader: Reader) -> Markup:
    forgotten = [] if reader.read_only else [("/forgotten", "Forgotten")]
    links = (
        tag("a", name, href=path, aria_current="page" if path == page.place else None)
        for path, name in (*_PLACES, *forgotten)
    )
    who = joined("as ", spoken(reader.person_id), ", reading only" if reader.read_only else "")
    return tag("nav", *links, tag("span", who, class_="who"), aria_label="Pages", class_="site")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
