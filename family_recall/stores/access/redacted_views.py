"""Veils: what a role is kept from, and the partitions that hold its view of a space.

A role's view is a copy, told without the hidden fields, with words, counts, vectors and edges of
its own: what a field would have added to any of them was never there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import apsw

from family_recall.stores.access import household
from family_recall.stores.file import sql
from family_recall.types import Hidden


@dataclass(frozen=True, slots=True)
class RedactedView:
    """What one role does not see of a space, and the number its partitions carry."""

    no: int
    hidden: Hidden


def veils(connection: apsw.Connection, space_id: str | None = None) -> list[RedactedView]:
    """List the veils of a space, or of all of them, in the order they were hung."""
    found = sql.rows(
        connection,
        "SELECT v.no, s.space_id, v.role, v.fields FROM veil v JOIN space s ON s.no = v.space"
        " WHERE ?1 IS NULL OR s.space_id = ?1 ORDER BY v.no",
        (space_id,),
    )
    return [
        RedactedView(no, Hidden(space, role, tuple(json.loads(fields))))
        for no, space, role, fields in found
    ]


def put(connection: apsw.Connection, hidden: Hidden) -> RedactedView:
    """Hang a veil; nothing lies behind it yet.

    Raises:
        UnknownSpaceError: If the household has no such space.
    """
    connection.execute(
        "INSERT INTO veil(space, role, fields) VALUES(?, ?, ?)",
        (
            household.space_no(connection, hidden.space_id),
            hidden.role,
            json.dumps(hidden.fields),
        ),
    )
    return RedactedView(connection.last_insert_rowid(), hidden)
