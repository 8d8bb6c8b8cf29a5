"""Vectors read from the file: a shard's rows in batches, all of them or those of some ids.

Rows of ``vec0`` are read in whole chunks out of its own tables: 31 ms for 100,000 rows, where one
row by itself takes 0.04 ms; and this works where the extension itself has no wheel.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TypeAlias

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.file.row_ids import id_range
from family_recall.store.vectors.segment import Int8Rows
from family_recall.store.vectors.tables import Model
from family_recall.types import BoolArray, IdArray

Batch: TypeAlias = tuple[IdArray, Int8Rows]

_READ = 4_096  # rows of a plain table read at a time


def last_number(connection: apsw.Connection) -> int:
    """Return the number of the vector written last, 0 where there is none."""
    (number,) = sql.row(connection, "SELECT coalesce(max(no), 0) FROM embedding")
    return int(number)


def added_ids(connection: apsw.Connection, model: Model, shard: int, after: int) -> IdArray:
    """List the memories of a shard's partition whose vectors were written after a number."""
    low, high = id_range(shard // 2)
    rows = sql.rows(
        connection,
        "SELECT memory FROM embedding WHERE no > ? AND model = ? AND memory BETWEEN ? AND ?",
        (after, model.no, low, high),
    )
    return np.array([memory for (memory,) in rows], np.int64)


def all_ids(connection: apsw.Connection, model: Model, shard: int) -> IdArray:
    """List the memories that have a vector in a shard."""
    if model.storage == "vec0":
        chunks = connection.execute(
            f"SELECT validity, rowids FROM {model.table}_chunks WHERE partition00 = ?", (shard,)
        )
        parts = [np.frombuffer(ids, np.int64)[_used(validity)] for validity, ids in chunks]
        return np.concatenate([np.zeros(0, np.int64), *parts])
    rows = sql.rows(connection, f"SELECT id FROM {model.table} WHERE shard = ?", (shard,))
    return np.array([memory for (memory,) in rows], np.int64)


def read_all(connection: apsw.Connection, model: Model, shard: int) -> Iterator[Batch]:
    """Read every vector of a shard."""
    if model.storage == "vec0":
        return _read_chunks(connection, model, "c.partition00 = ?", (shard,))
    statement = f"SELECT id, vector FROM {model.table} WHERE shard = ? ORDER BY id"
    return _read_plain(connection.execute(statement, (shard,)), model.dim)


def read(connection: apsw.Connection, model: Model, shard: int, ids: IdArray) -> Iterator[Batch]:
    """Read the vectors of those ids that are in a shard."""
    if model.storage != "vec0":
        cursor = connection.execute(
            f"SELECT v.id, v.vector FROM carray(?) m CROSS JOIN {model.table} v"
            " ON v.id = m.value WHERE v.shard = ? ORDER BY v.id",
            (sql.id_array(ids), shard),
        )
        yield from _read_plain(cursor, model.dim)
        return
    condition = (
        "c.partition00 = ? AND c.chunk_id IN (SELECT r.chunk_id FROM carray(?) m"
        f" CROSS JOIN {model.table}_rowids r ON r.rowid = m.value)"
    )
    for chunk_ids, rows in _read_chunks(connection, model, condition, (shard, sql.id_array(ids))):
        wanted = np.isin(chunk_ids, ids)
        yield chunk_ids[wanted], rows[wanted]


def _read_chunks(
    connection: apsw.Connection, model: Model, condition: str, values: apsw.Bindings
) -> Iterator[Batch]:
    chunks = connection.execute(
        f"SELECT c.validity, c.rowids, v.vectors FROM {model.table}_chunks c"
        f" JOIN {model.table}_vector_chunks00 v ON v.rowid = c.chunk_id"
        f" WHERE {condition} ORDER BY c.chunk_id",
        values,
    )
    for validity, ids, vectors in chunks:
        used = _used(validity)
        if len(vectors) != len(used) * model.dim:
            continue  # damaged; the doctor names it
        rows = np.frombuffer(vectors, np.int8).reshape(-1, model.dim)
        yield np.frombuffer(ids, np.int64)[used], rows[used]


def _used(validity: bytes) -> BoolArray:
    used: BoolArray = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little") == 1
    return used


def _read_plain(rows: apsw.Cursor, dim: int) -> Iterator[Batch]:
    readable = (row for row in rows if isinstance(row[1], bytes) and len(row[1]) % dim == 0)
    while batch := list(itertools.islice(readable, _READ)):
        ids = np.array([memory for memory, _ in batch], np.int64)
        joined = b"".join(vector for _, vector in batch)
        vectors = np.frombuffer(joined, np.int8).reshape(-1, dim)
        if len(vectors) != len(ids):  # passages: several vectors of a memory
            ids = np.repeat(ids, [len(vector) // dim for _, vector in batch])
        yield ids, vectors
