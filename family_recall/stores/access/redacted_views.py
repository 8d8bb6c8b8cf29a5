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
from family_recall.stores.file.schema import id_range, shard_of, words_table
from family_recall.stores.vectors import tables
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


def remove(connection: apsw.Connection, veil: int, *, vec0: bool) -> None:
    """Take a veil down, and with it every partition that lies behind it."""
    for (partition,) in sql.rows(connection, "SELECT no FROM partition WHERE veil = ?", (veil,)):
        _empty(connection, partition, vec0=vec0)
        connection.execute("DELETE FROM partition WHERE no = ?", (partition,))
    connection.execute("DELETE FROM veil WHERE no = ?", (veil,))


def _empty(connection: apsw.Connection, partition: int, *, vec0: bool) -> None:
    """Delete all that a partition holds: memories, what was made from them, and names."""
    first, last = id_range(partition)
    ids = [
        row[0]
        for row in sql.rows(
            connection, "SELECT id FROM memory WHERE id BETWEEN ? AND ?", (first, last)
        )
    ]
    tables.remove(connection, ids, vec0=vec0)
    for shelf in (shard_of(partition, past=False), shard_of(partition, past=True)):
        connection.execute(f"DROP TABLE IF EXISTS {words_table(shelf)}")
        connection.execute("DELETE FROM word_count WHERE shelf = ?", (shelf,))
    derived = (("mention", "memory"), ("identifier", "memory"), ("edge", "src"))
    for table, column in (*derived, ("memory", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} BETWEEN ? AND ?", (first, last))
    entities = (-last, -first)
    for table, column in (("edge", "src"), ("relation", "subject"), ("entity", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} BETWEEN ? AND ?", entities)
    connection.execute("DELETE FROM alias WHERE partition = ?", (partition,))
