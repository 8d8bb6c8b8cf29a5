"""What a person may see: every memory, day by day, and the household's people and names."""

from __future__ import annotations

import calendar
import datetime as dt
import itertools

from starlette.datastructures import QueryParams

from family_recall.apps.web import filters
from family_recall.apps.web.pages import Page, Reader, param
from family_recall.errors import InvalidRequestError
from family_recall.types import KINDS

PAGE_SIZE = 40
_MAX_OPEN_MONTHS = 18


def page(reader: Reader, params: QueryParams) -> Page:
    """List what a link asks for, the newest first."""
    spaces, offset = reader.spaces(), _offset(param(params, "at"))
    first, last = filters.days(params)
    listing = reader.home.memories.page(
        filters.narrowed(reader, params, spaces),
        about=param(params, "about") or None,
        first=first,
        last=last,
        offset=offset,
        limit=PAGE_SIZE,
    )
    return Page(
        "browse.jinja",
        {
            "spaces": spaces,
            "kinds": KINDS,
            "people": filters.people(reader),
            "filters": filters.values(params, "about"),
            "listing": listing,
            "days": itertools.groupby(listing.memories, lambda memory: memory.moment.date()),
            "years": itertools.groupby(listing.months, lambda month: month[0].year),
            "months_open": len(listing.months) <= _MAX_OPEN_MONTHS,
            "last_day": _last_day,
            "newer": max(offset - PAGE_SIZE, 0),
        },
    )


def _last_day(month: dt.date) -> dt.date:
    return month.replace(day=calendar.monthrange(month.year, month.month)[1])


def _offset(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InvalidRequestError(f"a list begins at a number of memories, got {text!r}")
    return int(text)


MAX_NAMES = 60


def people_page(reader: Reader, _: QueryParams) -> Page:
    """Show the household as one person may see it."""
    guardians = reader.home.people.guardians()
    people = reader.home.people.all(reader.person_id)
    names = {person.person_id: person.name for person in people}
    return Page(
        "people.jinja",
        {
            "spaces": reader.spaces(),
            "people": people,
            "children": [
                names.get(child, child)
                for child, theirs in guardians.items()
                if reader.person_id in theirs
            ],
            "names": reader.home.memories.entities(reader.ctx, limit=MAX_NAMES),
        },
    )
