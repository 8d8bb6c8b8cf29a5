"""Undoing what was just done, from the page that says so."""

from __future__ import annotations

from starlette.datastructures import QueryParams

from family_recall.apps.web.pages import Reader, param
from family_recall.errors import InvalidRequestError


def undo(reader: Reader, params: QueryParams, _: QueryParams) -> str:
    """Undo the change that a link names; return the link to the page it was made from.

    Raises:
        InvalidRequestError: If it was undone before, or was done before the pages were opened.
        ConflictError: If what was changed has changed again since; it stays as it is.
    """
    number = param(params, "done")
    done = reader.done.pop(number, None)
    if done is None or done.change is None:
        raise InvalidRequestError(
            "there is nothing left to undo here: it was undone already, or the pages were closed "
            "and opened again since"
        )
    try:
        done.change.undo()
    except Exception:
        reader.done[number] = done  # it may still be undone once what prevents it is gone
        raise
    return reader.note(f"Undone: {done.change.what}.", done.back)
