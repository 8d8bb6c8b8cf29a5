"""Vector index: the vectors of a shard in memory, kept in step with the file.

The durable table answers slowly (45 ms for 100,000 rows), so searches scan sign bits and then int8
rows in memory. An index is made of segments, so that adding or removing rows does not copy all of
them: a million memories are 440 MB.

Rows of ``vec0`` are read in whole chunks out of its own tables: 31 ms for 100,000 rows, where one
row by itself takes 0.04 ms; and this works where the extension itself has no wheel.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from family_recall.heap_trimming import trim_heap
from family_recall.store.file import sql
from family_recall.store.file.schema import id_range
from family_recall.store.scope_sql import NO_IDS
from family_recall.store.vector_arrays import Int8Rows, SignBits, sign_bits
from family_recall.store.vectors import Model
from family_recall.types import BoolArray, FloatArray, IdArray

EXACT_BELOW = 1_000
"""Below this number of rows every row is scored."""
_CONVERTED = 4_096  # rows read, or converted to float32, at a time: 6 MB
_SEGMENT = 65_536  # rows; their sign bits are 3 MB
_BYTE_HOLDS = 3  # words: the number of their bits


@dataclass(frozen=True, slots=True)
class Segment:
    """Vectors ascending by id. A small segment holds its rows as float32 too, 1.5 MB at most.

    Of passages an id has several rows (``repeats``), all in one segment, in the order of the text.
    """

    ids: IdArray
    rows: Int8Rows
    inverse_norms: FloatArray
    bits: SignBits
    float_rows: FloatArray | None = None
    repeats: bool = False

    def __post_init__(self) -> None:
        """Convert the rows of a small segment, all of which are scored for each question."""
        object.__setattr__(self, "repeats", bool((self.ids[1:] == self.ids[:-1]).any()))
        if len(self.ids) < EXACT_BELOW:
            object.__setattr__(self, "float_rows", self.rows.astype(np.float32))

    @classmethod
    def of(cls, ids: IdArray, rows: Int8Rows) -> Segment:
        """Create a segment from rows in any order; those of one id keep theirs."""
        if not (ids[1:] >= ids[:-1]).all():
            order = np.argsort(ids, kind="stable")
            ids, rows = ids[order], rows[order]
        inverse_norms = np.empty(len(ids), np.float32)
        for start in range(0, len(ids), _CONVERTED):
            float_rows = rows[start : start + _CONVERTED].astype(np.float32)
            norms = np.sqrt(np.vecdot(float_rows, float_rows))
            inverse_norms[start : start + _CONVERTED] = 1.0 / np.maximum(norms, 1e-12)
        return cls(ids, rows, inverse_norms, sign_bits(rows))

    def locate(self, ids: IdArray) -> tuple[IdArray, IdArray]:
        """Return the row numbers of some ids, each given once, and which id each row belongs to."""
        starts = self.ids.searchsorted(ids)
        if not self.repeats:  # as of all but passages
            owners = (self.ids.take(starts, mode="clip") == ids).nonzero()[0]
            return starts[owners], owners
        counts = self.ids.searchsorted(ids, side="right") - starts
        owners = np.arange(len(ids)).repeat(counts)
        before = counts.cumsum() - counts
        return np.arange(len(owners)) + (starts - before)[owners], owners

    def cosines(self, vector: FloatArray, numbers: IdArray | None = None) -> FloatArray:
        """Return the cosine of a unit vector with the rows of these numbers, or with all."""
        rows = self.rows if self.float_rows is None else self.float_rows
        inverse_norms = self.inverse_norms
        if numbers is not None:  # `take`, in half of the time of an index
            rows, inverse_norms = rows.take(numbers, axis=0), inverse_norms.take(numbers)
        # vecdot rather than @, which would wake OpenBLAS's threads for 0.05 ms of work.
        products: FloatArray = np.vecdot(rows.astype(np.float32, copy=False), vector)
        return products * inverse_norms

    def units(self, numbers: IdArray) -> FloatArray:
        """Return the rows of these numbers as unit vectors (n, dim)."""
        rows = self.rows if self.float_rows is None else self.float_rows
        units = rows.take(numbers, axis=0).astype(np.float32, copy=False)
        units *= self.inverse_norms.take(numbers)[:, None]
        return units

    def add_hamming(self, query: SignBits, distances: npt.NDArray[np.uint16]) -> None:
        """Add to distances (n,) in how many signs rows differ from sign bits (words, 1)."""
        differing = np.bitwise_count(self.bits ^ query)
        for first in range(0, len(differing), _BYTE_HOLDS):
            distances += functools.reduce(np.add, differing[first : first + _BYTE_HOLDS])

    def without(self, ids: IdArray) -> Segment:
        """Return the segment without some ids; itself if it has none of them."""
        left = ~np.isin(self.ids, ids)
        return self if left.all() else self._at(left)

    def merged_with(self, other: Segment) -> Segment:
        """Join two segments that share no id."""
        joined = Segment(
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.inverse_norms, other.inverse_norms]),
            np.concatenate([self.bits, other.bits], axis=1),
        )
        return joined._at(np.argsort(joined.ids, kind="stable"))

    def _at(self, rows: IdArray | BoolArray) -> Segment:
        return Segment(
            self.ids[rows], self.rows[rows], self.inverse_norms[rows], self.bits[:, rows]
        )


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """One shard's vectors in memory, as the file had them after ``last_no`` and ``rewrites``."""

    segments: tuple[Segment, ...]
    last_no: int
    rewrites: int


class VectorIndexes:
    """The indexes of every shard searched so far, kept in step with the file."""

    def __init__(self) -> None:
        self._indexes: dict[tuple[int, int], VectorIndex] = {}
        self._lock = threading.Lock()

    def get(
        self, connection: apsw.Connection, model: Model, shard: int, rewrites: int, last_no: int
    ) -> VectorIndex:
        """Return a shard's index as this connection's snapshot has it, or a little newer.

        ``rewrites`` is the partition's count of changes that are not additions, ``last_no`` the
        snapshot's :func:`last_number`.
        """
        key = (model.no, shard)
        with self._lock:
            index = self._indexes.get(key)
            if index is None:
                segments = _segments(_read(connection, model, shard))
                if sum(len(segment.ids) for segment in segments) >= _CONVERTED:
                    trim_heap()
            elif index.rewrites != rewrites or index.last_no < last_no:
                segments = _updated(connection, model, shard, index, rewrites)
            else:
                return index
            index = self._indexes[key] = VectorIndex(segments, last_no, rewrites)
            return index

    def clear(self) -> None:
        """Release every index."""
        with self._lock:
            self._indexes.clear()


Batch: TypeAlias = tuple[IdArray, Int8Rows]


def _segments(batches: Iterable[Batch]) -> tuple[Segment, ...]:
    """Cut rows into segments as they are read."""
    segments: list[Segment] = []
    read: list[Batch] = []
    n = 0
    for batch in batches:
        read.append(batch)
        n += len(batch[0])
        if n >= _SEGMENT:
            segments.append(_joined(read))
            read, n = [], 0
    if n:
        segments.append(_joined(read))
    return tuple(segments)


def _joined(batches: Sequence[Batch]) -> Segment:
    ids, rows = zip(*batches, strict=True)
    return Segment.of(np.concatenate(ids), np.concatenate(rows))


def _updated(
    connection: apsw.Connection, model: Model, shard: int, index: VectorIndex, rewrites: int
) -> tuple[Segment, ...]:
    """Return an index's segments with what the file has changed since: rows gone, added, replaced.

    Without a rewrite rows were only added. Small segments are merged, so that each row is copied
    once a doubling, and never with more than a segment of others.
    """
    changed = stale = _added_ids(connection, model, shard, index.last_no)
    if rewrites != index.rewrites:
        in_file = _ids_in(connection, model, shard)
        in_memory = np.concatenate([NO_IDS, *(segment.ids for segment in index.segments)])
        changed = np.union1d(changed, np.setdiff1d(in_file, in_memory))
        stale = np.union1d(changed, np.setdiff1d(in_memory, in_file))
    segments = [segment.without(stale) for segment in index.segments]
    for new in _segments(_read(connection, model, shard, changed) if len(changed) else ()):
        last = new
        while segments and len(segments[-1].ids) <= min(
            2 * len(last.ids), _SEGMENT - len(last.ids)
        ):
            last = segments.pop().merged_with(last)
        segments.append(last)
    return tuple(segment for segment in segments if len(segment.ids))


def last_number(connection: apsw.Connection) -> int:
    """Return the number of the vector written last, 0 where there is none."""
    (number,) = sql.row(connection, "SELECT coalesce(max(no), 0) FROM embedding")
    return int(number)


def _added_ids(connection: apsw.Connection, model: Model, shard: int, after: int) -> IdArray:
    """List the memories of a shard's partition whose vectors were written after a number."""
    low, high = id_range(shard // 2)
    rows = sql.rows(
        connection,
        "SELECT memory FROM embedding WHERE no > ? AND model = ? AND memory BETWEEN ? AND ?",
        (after, model.no, low, high),
    )
    return np.array([memory for (memory,) in rows], np.int64)


def _ids_in(connection: apsw.Connection, model: Model, shard: int) -> IdArray:
    """List the memories that have a vector in a shard."""
    if model.storage == "vec0":
        chunks = connection.execute(
            f"SELECT validity, rowids FROM {model.table}_chunks WHERE partition00 = ?", (shard,)
        )
        parts = [np.frombuffer(ids, np.int64)[_used(validity)] for validity, ids in chunks]
        return np.concatenate([NO_IDS, *parts])
    rows = sql.rows(connection, f"SELECT id FROM {model.table} WHERE shard = ?", (shard,))
    return np.array([memory for (memory,) in rows], np.int64)


def _read(
    connection: apsw.Connection, model: Model, shard: int, ids: IdArray | None = None
) -> Iterator[Batch]:
    """Read the vectors of a shard, of all memories or of some."""
    table = model.table
    rows, chunks = f"{table} v", f"{table}_chunks c"
    wanted: list[object] = []
    if ids is not None:
        wanted.append(sql.id_array(ids))
        rows = f"carray(?) m CROSS JOIN {table} v ON v.id = m.value"
        chunks = (
            f"(SELECT DISTINCT r.chunk_id FROM carray(?) m CROSS JOIN {table}_rowids r"
            f" ON r.rowid = m.value) some CROSS JOIN {table}_chunks c USING(chunk_id)"
        )
    if model.storage != "vec0":
        statement = f"SELECT v.id, v.vector FROM {rows} WHERE v.shard = ? ORDER BY v.id"
        yield from _read_plain(connection.execute(statement, (*wanted, shard)), model.dim)
        return
    for validity, chunk_ids, vectors in connection.execute(
        f"SELECT c.validity, c.rowids, v.vectors FROM {chunks}"
        f" CROSS JOIN {table}_vector_chunks00 v ON v.rowid = c.chunk_id"
        " WHERE c.partition00 = ? ORDER BY c.chunk_id",
        (*wanted, shard),
    ):
        used = _used(validity)
        if len(vectors) != len(used) * model.dim:
            continue  # damaged; the doctor names it
        here = np.frombuffer(chunk_ids, np.int64)
        if ids is not None:
            used &= np.isin(here, ids)
        yield here[used], np.frombuffer(vectors, np.int8).reshape(-1, model.dim)[used]


def _used(validity: bytes) -> BoolArray:
    used: BoolArray = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little") == 1
    return used


def _read_plain(rows: apsw.Cursor, dim: int) -> Iterator[Batch]:
    readable = (row for row in rows if isinstance(row[1], bytes) and len(row[1]) % dim == 0)
    while batch := list(itertools.islice(readable, _CONVERTED)):
        ids = np.array([memory for memory, _ in batch], np.int64)
        joined = b"".join(vector for _, vector in batch)
        vectors = np.frombuffer(joined, np.int8).reshape(-1, dim)
        if len(vectors) != len(ids):  # passages: several vectors of a memory
            ids = np.repeat(ids, [len(vector) // dim for _, vector in batch])
        yield ids, vectors
