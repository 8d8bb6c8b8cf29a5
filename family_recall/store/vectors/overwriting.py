"""The bytes of vectors: read before they are erased, and overwritten where vec0 is not here."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.vectors.tables import Model, models, writable


def vector_bytes(
    connection: apsw.Connection, ids: Sequence[int], *, vec0: bool
) -> dict[int, list[bytes]]:
    """Return the bytes of all vectors of some memories, by memory."""
    by_memory: dict[int, list[bytes]] = {}
    wanted = (sql.id_array(np.array(ids, np.int64)),)
    statements = [
        "SELECT memory, tokens FROM embedding WHERE memory IN (SELECT value FROM carray(?))",
        *(
            f"SELECT id, vector FROM {model.table} WHERE id IN (SELECT value FROM carray(?))"
            for model in models(connection)
            if writable(model, vec0=vec0)
        ),
    ]
    for statement in statements:
        for memory, blob in sql.rows(connection, statement, wanted):
            by_memory.setdefault(memory, []).append(bytes(blob))
    return by_memory


def overwrite(connection: apsw.Connection, ids: Sequence[int]) -> None:
    """Overwrite vectors in vec0's own tables, where the extension is not here to delete them."""
    for model in models(connection):
        if model.storage != "vec0":
            continue
        for memory in ids:
            _overwrite(connection, model, memory)


def _overwrite(connection: apsw.Connection, model: Model, memory: int) -> None:
    place = sql.row(
        connection,
        f"SELECT chunk_id, chunk_offset FROM {model.table}_rowids WHERE rowid = ?",
        (memory,),
    )
    if place is None:
        return
    chunk, offset = place
    stored_validity, stored_ids = sql.row(
        connection,
        f"SELECT validity, rowids FROM {model.table}_chunks WHERE chunk_id = ?",
        (chunk,),
    )
    (stored_vectors,) = sql.row(
        connection,
        f"SELECT vectors FROM {model.table}_vector_chunks00 WHERE rowid = ?",
        (chunk,),
    )
    validity, ids, vectors = map(bytearray, (stored_validity, stored_ids, stored_vectors))
    validity[offset // 8] &= ~(1 << offset % 8)
    ids[8 * offset : 8 * offset + 8] = bytes(8)
    vectors[model.dim * offset : model.dim * (offset + 1)] = bytes(model.dim)
    connection.execute(
        f"UPDATE {model.table}_chunks SET validity = ?, rowids = ? WHERE chunk_id = ?",
        (bytes(validity), bytes(ids), chunk),
    )
    connection.execute(
        f"UPDATE {model.table}_vector_chunks00 SET vectors = ? WHERE rowid = ?",
        (bytes(vectors), chunk),
    )
    connection.execute(f"DELETE FROM {model.table}_rowids WHERE rowid = ?", (memory,))
