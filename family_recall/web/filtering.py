"""Filtering: what a filter form says in, a context and the form itself out."""

from __future__ import annotations

import dataclasses
import datetime as dt

from starlette.datastructures import QueryParams

from family_recall.errors import InvalidRequestError
from family_recall.reports.markup import Markup, joined
from family_recall.types import KINDS, AccessibleSpace, Filters, RecallContext
from family_recall.web.layout import (
    Reader,
    chosen,
    labelled,
    param,
    space_options,
    text_input,
)

FILTERS = ("space", "kind", "author", "first", "last")
"""Names under which a link says what is narrowed down to."""


def narrowed(
    reader: Reader, params: QueryParams, rooms: dict[str, AccessibleSpace]
) -> RecallContext:
    """Give the reader's context as space, kind and author of a link narrow it.

    Raises:
        InvalidRequestError: If there is no such kind.
    """
    space_id, kind, author = (param(params, name) or None for name in FILTERS[:3])
    room = rooms.get(space_id or "")
    return dataclasses.replace(
        reader.ctx,
        space_id=space_id or reader.ctx.space_id,
        filters=Filters(
            # A private space answers together with the shared ones, and here alone.
            allow_shared=room is None or room.space.kind != "private",
            kinds=(kind,) if kind else (),
            authors=(author,) if author else (),
        ),
    )


def days(params: QueryParams) -> tuple[dt.date | None, dt.date | None]:
    """Give the first and the last day a link says, both included.

    Raises:
        InvalidRequestError: If one is no day, or the last comes before the first.
    """
    first, last = (_day(param(params, name)) for name in FILTERS[3:])
    if first and last and last < first:
        raise InvalidRequestError(f"the days go from {first} to {last}; swap them")
    return first, last


def fields(params: QueryParams, rooms: dict[str, AccessibleSpace]) -> Markup:
    """Make the fields that say what is narrowed down to, filled as the link says."""
    kinds = [("", "every kind"), *((kind, kind) for kind in KINDS)]
    return joined(
        labelled("Space", chosen("space", space_options(rooms), param(params, "space"))),
        labelled("Kind", chosen("kind", kinds, param(params, "kind"))),
        labelled("Author", text_input("author", param(params, "author"), autocomplete="off")),
        labelled("From", text_input("first", param(params, "first"), type="date")),
        labelled("To, itself included", text_input("last", param(params, "last"), type="date")),
    )


def kept(params: QueryParams, *more: str) -> dict[str, str]:
    """Give what a link says that the next one has to say too."""
    return {name: param(params, name) for name in (*FILTERS, *more)}


def is_narrowed(params: QueryParams) -> bool:
    """Whether a link narrows anything down."""
    return any(param(params, name) for name in FILTERS)


def _day(text: str) -> dt.date | None:
    if not text:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise InvalidRequestError(f"{text!r} is no day such as 2026-03-01") from None
