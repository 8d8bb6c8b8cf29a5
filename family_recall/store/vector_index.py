"""Vector index: the vectors of a shard in memory, kept in step with the file.

The durable table answers slowly (45 ms for 100,000 rows), so searches scan sign bits and then int8
rows in memory. An index is made of segments, so that adding or removing rows does not copy all of
them: a million memories are 440 MB.

Rows of ``vec0`` are read in whole chunks out of its own tables: 31 ms for 100,000 rows, where one
row by itself takes 0.04 ms; and this works where the extension itself has no wheel.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import apsw
import numpy as np

from family_recall.heap_trimming import trim_heap
from family_recall.store.file import sql
from family_recall.store.file.schema import id_range
from family_recall.store.ids import NO_IDS
from family_recall.store.vector_arrays import CONVERTED, Int8Rows, Segment
from family_recall.store.vector_tables import PASSAGE, Model
from family_recall.types import BoolArray, FloatArray, IdArray

_SEGMENT = 65_536  # rows; their sign bits are 3 MB


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """One shard's vectors in memory, as the file had them after ``last_no`` and ``rewrites``.

    Row numbers count through all segments. Of passages a memory has several rows.
    """

    dim: int
    segments: tuple[Segment, ...]
    last_no: int
    rewrites: int
    of_passages: bool = False

    @property
    def ids(self) -> IdArray:
        """The id of every row, in no order."""
        return np.concatenate([NO_IDS, *(segment.ids for segment in self.segments)])

    def __len__(self) -> int:
        """Count the rows."""
        return sum(len(segment.ids) for segment in self.segments)

    def locate(self, ids: IdArray) -> tuple[IdArray, BoolArray]:
        """Return the first row numbers of ids, and which of them are in this index.

        The number of one that is not may be any row's, or none's.
        """
        if len(self.segments) == 1:  # as of nearly every household, and much faster
            return self.segments[0].locate(ids)
        numbers, here = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        start = 0
        for segment in self.segments:
            in_segment, is_here = segment.locate(ids)
            numbers[is_here] = in_segment[is_here] + start
            here |= is_here
            start += len(segment.ids)
        return numbers, here

    def locate_all(self, ids: IdArray) -> tuple[IdArray, IdArray]:
        """Return the row numbers of some ids, each given once, and which id each row belongs to."""
        numbers, owners = [NO_IDS], [NO_IDS]
        start = 0
        for segment in self.segments:
            in_segment, of_ids = segment.locate_all(ids)
            numbers.append(in_segment + start)
            owners.append(of_ids)
            start += len(segment.ids)
        return np.concatenate(numbers), np.concatenate(owners)

    def cosines(self, vector: FloatArray, numbers: IdArray) -> FloatArray:
        """Return the cosine of a unit vector with the rows of these numbers."""
        rows, inverse_norms = self.stored(numbers)
        products: FloatArray = np.vecdot(rows.astype(np.float32), vector)
        return products * inverse_norms

    def units(self, numbers: IdArray) -> FloatArray:
        """Return the rows of these numbers as unit vectors (n, dim)."""
        rows, inverse_norms = self.stored(numbers)
        units: FloatArray = rows.astype(np.float32) * inverse_norms[:, None]
        return units

    def stored(self, numbers: IdArray) -> tuple[Int8Rows, FloatArray]:
        """Return the rows of these numbers as they are stored (n, dim), and their inverse norms."""
        if len(self.segments) == 1:
            (segment,) = self.segments
            return segment.rows.take(numbers, axis=0), segment.inverse_norms.take(numbers)
        rows = np.zeros((len(numbers), self.dim), np.int8)
        inverse_norms = np.zeros(len(numbers), np.float32)
        start = 0
        for segment in self.segments:
            here = (numbers >= start) & (numbers < start + len(segment.ids))
            rows[here] = segment.rows[numbers[here] - start]
            inverse_norms[here] = segment.inverse_norms[numbers[here] - start]
            start += len(segment.ids)
        return rows, inverse_norms


class VectorIndexes:
    """The indexes of every shard searched so far, kept in step with the file."""

    def __init__(self) -> None:
        self._indexes: dict[tuple[int, int], VectorIndex] = {}
        self._lock = threading.Lock()

    def get(
        self,
        connection: apsw.Connection,
        model: Model,
        shard: int,
        rewrites: int,
        last_no: int | None = None,
    ) -> VectorIndex:
        """Return a shard's index as this connection's snapshot has it, or a little newer.

        ``rewrites`` is the partition's count of changes that are not additions, ``last_no`` the
        snapshot's :func:`last_number`, which is read when left out.
        """
        key = (model.no, shard)
        with self._lock:
            index = self._indexes.get(key)
            last_no = last_number(connection) if last_no is None else last_no
            if index is None:
                segments = _segments(read_all(connection, model, shard), model.dim)
                index = VectorIndex(model.dim, segments, last_no, rewrites, model.role == PASSAGE)
                if len(index) >= CONVERTED:
                    trim_heap()
            elif index.rewrites != rewrites or index.last_no < last_no:
                segments = _updated(connection, model, shard, index, rewrites)
                index = dataclasses.replace(
                    index, segments=segments, last_no=last_no, rewrites=rewrites
                )
            self._indexes[key] = index
            return index

    def clear(self) -> None:
        """Release every index."""
        with self._lock:
            self._indexes.clear()


def _segments(batches: Iterable[Batch], dim: int) -> tuple[Segment, ...]:
    """Cut rows into segments as they are read."""
    segments: list[Segment] = []
    ids: list[IdArray] = [NO_IDS]
    rows = [np.zeros((0, dim), np.int8)]
    n = 0
    for batch_ids, batch_rows in batches:
        ids.append(batch_ids)
        rows.append(batch_rows)
        n += len(batch_ids)
        if n >= _SEGMENT:
            segments.append(Segment.of(np.concatenate(ids), np.concatenate(rows)))
            ids, rows, n = [NO_IDS], [np.zeros((0, dim), np.int8)], 0
    if n:
        segments.append(Segment.of(np.concatenate(ids), np.concatenate(rows)))
    return tuple(segments)


def _updated(
    connection: apsw.Connection, model: Model, shard: int, index: VectorIndex, rewrites: int
) -> tuple[Segment, ...]:
    """Return an index's segments with what the file has changed since: rows gone, added, replaced.

    Without a rewrite rows were only added. Small segments are merged, so that each row is copied
    once a doubling, and never with more than a segment of others.
    """
    changed = added_ids(connection, model, shard, index.last_no)
    gone = NO_IDS
    if rewrites != index.rewrites:
        in_file, in_memory = all_ids(connection, model, shard), index.ids
        if index.of_passages:
            in_memory = np.unique(in_memory)
        gone = np.setdiff1d(in_memory, in_file, assume_unique=True)
        changed = np.union1d(changed, np.setdiff1d(in_file, in_memory, assume_unique=True))
    stale = np.union1d(gone, changed)
    segments = [segment.without(stale) for segment in index.segments]
    if len(changed):
        for new in _segments(read(connection, model, shard, changed), model.dim):
            last = new
            while segments and len(segments[-1].ids) <= min(
                2 * len(last.ids), _SEGMENT - len(last.ids)
            ):
                last = segments.pop().merged_with(last)
            segments.append(last)
    return tuple(segment for segment in segments if len(segment.ids))


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
        return np.concatenate([NO_IDS, *parts])
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
