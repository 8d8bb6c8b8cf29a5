"""The form that narrows a search or a list, read from a link's parameters."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping

from starlette.datastructures import QueryParams

from family_recall.apps.web.pages import Reader, param
from family_recall.errors import InvalidRequestError
from family_recall.types import AccessibleSpace, Filters, RecallContext

FILTERS = ("space", "kind", "author", "first", "last")
"""Names of the parameters that narrow."""


def narrowed(
    reader: Reader, params: QueryParams, spaces: Mapping[str, AccessibleSpace]
) -> RecallContext:
    """Return the reader's context, narrowed to the space, kind and author of a link.

    Raises:
        InvalidRequestError: If there is no such kind.
    """
    space_id, kind, author = (param(params, name) or None for name in FILTERS[:3])
    accessible = spaces.get(space_id or "")
    return dataclasses.replace(
        reader.ctx,
        space_id=space_id or reader.ctx.space_id,
        filters=Filters(
            # A private space answers together with the shared ones; here, alone.
            allow_shared=accessible is None or accessible.space.kind != "private",
            kinds=(kind,) if kind else (),
            authors=(author,) if author else (),
        ),
    )


def days(params: QueryParams) -> tuple[dt.date | None, dt.date | None]:
    """Return the first and the last day of a link, both included.

    Raises:
        InvalidRequestError: If one is not a day, or the last comes before the first.
    """
    first, last = (_day(param(params, name)) for name in FILTERS[3:])
    if first and last and last < first:
        raise InvalidRequestError(f"the days go from {first} to {last}; swap them")
    return first, last


def values(params: QueryParams, *more: str) -> dict[str, str]:
    """Return the filters of a link and some other parameters, for the next link and the form."""
    return {name: param(params, name) for name in (*FILTERS, *more)}


def people(reader: Reader) -> list[str]:
    """Return the names of the people whom the reader knows, to choose an author from."""
    return [person.name for person in reader.home.people.all(reader.person_id)]


def _day(text: str) -> dt.date | None:
    if not text:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise InvalidRequestError(f"expected a day such as 2026-03-01, got {text!r}") from None
