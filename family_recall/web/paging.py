"""Leafing: filters in; what is remembered, day by day and a page at a time, out."""

from __future__ import annotations

import calendar
import datetime as dt
import itertools

from starlette.datastructures import QueryParams

from family_recall.errors import InvalidRequestError
from family_recall.reports.markup import Markup, joined, tag
from family_recall.types import AccessibleSpace, Listing, StoredVersion
from family_recall.web import filtering
from family_recall.web.layout import NOTHING, Page, Reader, labelled, param, text_input, to
from family_recall.web.searching import item

A_PAGE = 40
_MONTHS_OPEN = 18


def page(reader: Reader, params: QueryParams) -> Page:
    """List what a link asks for, the newest first."""
    rooms, at = reader.rooms(), _offset(param(params, "at"))
    ctx = filtering.narrowed(reader, params, rooms)
    first, last = filtering.days(params)
    listing = reader.home.memories.page(
        ctx, about=param(params, "about") or None, first=first, last=last, offset=at, limit=A_PAGE
    )
    return Page(
        title="Look through",
        lead=tag("p", _counted(listing), class_="summary"),
        body=joined(
            _form(params, rooms),
            _months(listing, params),
            *(_day(day, list(told), rooms)
              for day, told in itertools.groupby(listing.memories, lambda one: one.moment.date())),
            _pager(listing, params),
        ),
        place="/look",
    )  # fmt: skip


def _counted(listing: Listing) -> str:
    if not listing.total:
        return "Nothing that you may see is like that"
    if listing.total <= len(listing.memories):
        return "1 memory" if listing.total == 1 else f"{listing.total:,} memories"
    last = listing.offset + len(listing.memories)
    return f"{listing.offset + 1:,} to {last:,} of {listing.total:,} memories, the newest first"


def _form(params: QueryParams, rooms: dict[str, AccessibleSpace]) -> Markup:
    whom = text_input("about", param(params, "about"), autocomplete="off", dir="auto")
    return tag(
        "form",
        tag(
            "details",
            tag("summary", "Where, what, who, when"),
            tag("div", filtering.fields(params, rooms), labelled("About", whom), class_="fields"),
            tag(
                "div",
                tag("button", "Show", class_="main"),
                tag("a", "Show everything", href="/look"),
                class_="row",
            ),
            open="open" if filtering.is_narrowed(params) or param(params, "about") else None,
        ),
        action="/look",
        class_="search",
    )


def _months(listing: Listing, params: QueryParams) -> Markup:
    if len(listing.months) < 2:
        return NOTHING
    years = []
    for year, months in itertools.groupby(listing.months, key=lambda pair: pair[0].year):
        links = [tag("li", _month(day, n, params)) for day, n in months]
        years.append(joined(tag("dt", str(year)), tag("dd", tag("ul", *links))))
    return tag(
        "details",
        tag("summary", f"{len(listing.months)} months"),
        tag("dl", *years),
        open="open" if len(listing.months) <= _MONTHS_OPEN else None,
        class_="months",
    )


def _month(day: dt.date, n: int, params: QueryParams) -> Markup:
    _, length = calendar.monthrange(day.year, day.month)
    days = {"first": day.isoformat(), "last": day.replace(day=length).isoformat()}
    link = to("/look", **{**filtering.kept(params, "about"), **days})
    year = tag("span", f"{day.year}, ", class_="said")
    return tag("a", f"{day:%b} ", year, tag("small", f"{n:,}"), href=link)


def _day(day: dt.date, told: list[StoredVersion], rooms: dict[str, AccessibleSpace]) -> Markup:
    return tag(
        "section",
        tag("h2", f"{day:%A} {day.day} {day:%B %Y}"),
        tag("ul", *(item(kept, rooms, dated=False) for kept in told), class_="memories"),
        class_="day",
    )


def _pager(listing: Listing, params: QueryParams) -> Markup:
    rest = filtering.kept(params, "about")
    shown_to = listing.offset + len(listing.memories)
    links = []
    if listing.offset:
        newer = max(listing.offset - A_PAGE, 0) or None
        links.append(tag("a", "← Newer", href=to("/look", **rest, at=newer), rel="prev"))
    if listing.memories and shown_to < listing.total:
        older = tag("a", "Older →", href=to("/look", **rest, at=shown_to), rel="next")
        links.append(older)
    return tag("nav", *links, aria_label="Pages of this list", class_="pager") if links else NOTHING


def _offset(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InvalidRequestError(f"a list begins at a number of memories, got {text!r}")
    return int(text)
