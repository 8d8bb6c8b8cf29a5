"""Partitions: one for each space, band, child whose guardians alone may see it, and redacted view."""

from __future__ import annotations

import apsw

from family_recall.stores.access import household
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import id_range, shard_of, words_table
from family_recall.stores.text import full_text
from family_recall.stores.vectors import tables


def partition_for(
    connection: apsw.Connection,
    space_id: str,
    band: str,
    guardians_of: str | None = None,
    veil: int = 0,
) -> int:
    """Find or make the partition of a space and band, of a child's guardians, behind a veil.

    Raises:
        UnknownSpaceError: If the household has no such space.
        UnknownPersonError: If it has no such child.
    """
    ward = 0 if guardians_of is None else household.person_no(connection, guardians_of)
    key = (household.space_no(connection, space_id), band, ward, veil)
    find = "SELECT no FROM partition WHERE space = ? AND band = ? AND ward = ? AND veil = ?"
    row = sql.row(connection, find, key)
    if row is None:
        connection.execute("INSERT INTO partition(space, band, ward, veil) VALUES(?, ?, ?, ?)", key)
        row = sql.row(connection, find, key)
        for past in (False, True):
            full_text.create(connection, shard_of(row[0], past=past))
    return int(row[0])


def remove_redacted_view(connection: apsw.Connection, veil: int, *, vec0: bool) -> None:
    """Delete a redacted view, with every partition that holds a part of it."""
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
