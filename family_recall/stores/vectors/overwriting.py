"""Blanking: the bytes of vectors, given before they go, and overwritten where vec0 is not here."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import numpy as np

from family_recall.stores.file import sql
from family_recall.stores.vectors import tables


def held(connection: apsw.Connection, ids: Sequence[int], *, vec0: bool) -> dict[int, list[bytes]]:
    """Give the bytes of all vectors of some memories, by memory."""
    blobs: dict[int, list[bytes]] = {}
    wanted = (sql.id_array(np.array(ids, np.int64)),)
    found = [
        "SELECT memory, tokens FROM embedding WHERE memory IN (SELECT value FROM carray(?))",
        *(
            f"SELECT id, vector FROM {model.table} WHERE id IN (SELECT value FROM carray(?))"
            for model in tables.models(connection)
            if tables.writable(model, vec0=vec0)
        ),
    ]
    for statement in found:
        for memory, blob in sql.rows(connection, statement, wanted):
            blobs.setdefault(memory, []).append(bytes(blob))
    return blobs


def blank(connection: apsw.Connection, ids: Sequence[int]) -> None:
    """Overwrite vectors in vec0's own tables, where the extension is not here to do it."""
    for model in tables.models(connection):
        if model.storage != "vec0":
            continue
        for memory in ids:
            _blank(connection, model, memory)


def _blank(connection: apsw.Connection, model: tables.Model, memory: int) -> None:
    place = sql.row(
        connection,
        f"SELECT chunk_id, chunk_offset FROM {model.table}_rowids WHERE rowid = ?",
        (memory,),
    )
    if place is None:
        return
    chunk, at = place
    validity, rowids = sql.row(
        connection,
        f"SELECT validity, rowids FROM {model.table}_chunks WHERE chunk_id = ?",
        (chunk,),
    )
    (held,) = sql.row(
        connection,
        f"SELECT vectors FROM {model.table}_vector_chunks00 WHERE rowid = ?",
        (chunk,),
    )
    flags, numbers, parts = bytearray(validity), bytearray(rowids), bytearray(held)
    flags[at // 8] &= ~(1 << at % 8)
    numbers[8 * at : 8 * at + 8] = bytes(8)
    parts[model.dim * at : model.dim * (at + 1)] = bytes(model.dim)
    connection.execute(
        f"UPDATE {model.table}_chunks SET validity = ?, rowids = ? WHERE chunk_id = ?",
        (bytes(flags), bytes(numbers), chunk),
    )
    connection.execute(
        f"UPDATE {model.table}_vector_chunks00 SET vectors = ? WHERE rowid = ?",
        (bytes(parts), chunk),
    )
    connection.execute(f"DELETE FROM {model.table}_rowids WHERE rowid = ?", (memory,))
