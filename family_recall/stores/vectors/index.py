"""VectorIndexes: a model's vectors held in memory, a question's vector in, the nearest rows out.

The durable table answers slowly (45 ms for 100,000 rows), so a search scans sign bits and then
int8 rows in memory, one block a shelf: under 1 ms for the same. Bits choose 1,000 or more
candidates by Hamming distance and int8 cosine orders them; 0.99 of the true nearest survive.

A block is made of segments, so that what is added or taken away costs what it is worth and not a
copy of everything: a million memories are 440 MB.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import apsw
import numpy as np
import numpy.typing as npt

from family_recall.heap_trimming import trim_heap
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import id_range
from family_recall.stores.records import Hits
from family_recall.stores.vectors.tables import Model
from family_recall.types import BoolArray, FloatArray, IdArray

_MAX_DISTANCE = 4_096  # bits; more than any model has dimensions
_EXACT_BELOW = 1_000  # rows; below this every row is scored
_SEGMENT = 65_536  # rows; their sign bits are 3 MB
_CONVERTED = 4_096  # rows made float32 at a time, 6 MB
_COUNTED = 131_072  # distances; of more, every so many-th tells where the nearest end
_READ = 4_096  # rows of a plain table read at a time

Rows = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Segment:
    """Some vectors of one shelf, ascending by id: int8 rows, their inverse norms, sign bits.

    A segment of few rows, all of which are scored for each question, has them as float32 too.
    """

    ids: IdArray
    rows: Rows
    inverse_norms: FloatArray
    bits: npt.NDArray[np.uint64]  # (dim / 64, n): one word of all rows lies together
    wide: FloatArray | None = None

    def __post_init__(self) -> None:
        """Widen few rows: 1.5 MB at most."""
        if len(self.ids) < _EXACT_BELOW:
            object.__setattr__(self, "wide", self.rows.astype(np.float32))

    @classmethod
    def of(cls, ids: IdArray, rows: Rows) -> Segment:
        """Make a segment of rows in any order, each id once."""
        if not (ids[1:] > ids[:-1]).all():
            order = np.argsort(ids)
            ids, rows = ids[order], rows[order]
        inverse_norms = np.empty(len(ids), np.float32)
        for start in range(0, len(ids), _CONVERTED):
            wide = rows[start : start + _CONVERTED].astype(np.float32)
            norms = np.sqrt(np.vecdot(wide, wide))
            inverse_norms[start : start + _CONVERTED] = 1.0 / np.maximum(norms, 1e-12)
        return cls(ids, rows, inverse_norms, _sign_bits(rows))

    def find(self, ids: IdArray) -> tuple[IdArray, BoolArray]:
        """Row numbers of ids, and which of them are here."""
        if not len(self.ids):
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return at, self.ids[at] == ids

    def cosines(self, vector: FloatArray, at: IdArray | slice) -> FloatArray:
        """Cosine of a unit vector with some rows."""
        rows = self.rows[at].astype(np.float32) if self.wide is None else self.wide[at]
        # vecdot rather than @, which would wake OpenBLAS's threads for 0.05 ms of work.
        products: FloatArray = np.vecdot(rows, vector)
        return products * self.inverse_norms[at]

    def hamming(self, query: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Count, row by row, the signs in which a vector of these sign bits differs."""
        differing = np.bitwise_count(self.bits ^ query[:, None])
        distances: npt.NDArray[np.uint16] = np.add.reduce(differing, axis=0, dtype=np.uint16)
        return distances

    def without(self, ids: IdArray) -> Segment:
        """Leave some ids out."""
        at, here = self.find(ids)
        if not here.any():
            return self
        kept = np.ones(len(self.ids), np.bool_)
        kept[at[here]] = False
        return Segment(
            self.ids[kept], self.rows[kept], self.inverse_norms[kept], self.bits[:, kept]
        )

    def and_also(self, other: Segment) -> Segment:
        """Join two segments of different ids."""
        ids = np.concatenate([self.ids, other.ids])
        joined = Segment(
            ids,
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.inverse_norms, other.inverse_norms]),
            np.concatenate([self.bits, other.bits], axis=1),
        )
        if not len(self.ids) or not len(other.ids) or self.ids[-1] < other.ids[0]:
            return joined
        order = np.argsort(ids)
        return Segment(
            ids[order], joined.rows[order], joined.inverse_norms[order], joined.bits[:, order]
        )


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """One shelf's vectors in memory, as the file had them after ``last_no`` and ``rewrites``."""

    dim: int
    segments: tuple[Segment, ...]
    last_no: int
    rewrites: int

    @property
    def ids(self) -> IdArray:
        """Every id, in no order."""
        return np.concatenate([_NO_IDS, *(segment.ids for segment in self.segments)])

    def __len__(self) -> int:
        """Count the rows."""
        return sum(len(segment.ids) for segment in self.segments)

    def find(self, ids: IdArray) -> tuple[IdArray, BoolArray]:
        """Row numbers of ids, counted through all segments, and which of them are here."""
        at, here = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        start = 0
        for segment in self.segments:
            found, is_here = segment.find(ids)
            at[is_here] = found[is_here] + start
            here |= is_here
            start += len(segment.ids)
        return at, here

    def cosines(self, vector: FloatArray, at: IdArray) -> FloatArray:
        """Cosine of a unit vector with some rows."""
        cosines = np.zeros(len(at), np.float32)
        for segment, mine, rows in self._parts(at):
            cosines[mine] = segment.cosines(vector, rows)
        return cosines

    def units(self, at: IdArray) -> FloatArray:
        """Give some rows as unit vectors (n, dim)."""
        units = np.zeros((len(at), self.dim), np.float32)
        for segment, mine, rows in self._parts(at):
            wide = segment.rows[rows].astype(np.float32)
            units[mine] = wide * segment.inverse_norms[rows][:, None]
        return units

    def _parts(self, at: IdArray) -> Iterator[tuple[Segment, BoolArray, IdArray]]:
        """Give each segment that holds some of the rows, which those are, and its own numbers."""
        start = 0
        for segment in self.segments:
            mine = (at >= start) & (at < start + len(segment.ids))
            if mine.any():
                yield segment, mine, at[mine] - start
            start += len(segment.ids)


class VectorIndexes:
    """The blocks of every shelf looked at so far, kept in step with the file."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, int], VectorIndex] = {}
        self._lock = threading.Lock()

    def get(
        self,
        connection: apsw.Connection,
        model: Model,
        shelf: int,
        rewrites: int,
        last_no: int | None = None,
    ) -> VectorIndex:
        """Give a shelf's block as this connection's snapshot has it, or a little newer.

        ``rewrites`` is the partition's count of changes that are not additions, ``last_no`` the
        snapshot's :func:`last_number`, which is read when left out.
        """
        key = (model.no, shelf)
        with self._lock:
            block = self._blocks.get(key)
            last_no = last_number(connection) if last_no is None else last_no
            if block is None:
                segments = _segments(_read_all(connection, model, shelf), model.dim)
                block = VectorIndex(model.dim, segments, last_no, rewrites)
                if len(block) >= _CONVERTED:
                    trim_heap()
            elif block.rewrites != rewrites:
                block = _brought_up(connection, model, shelf, block, last_no, rewrites)
            elif block.last_no < last_no:
                added = _added(connection, model, shelf, block.last_no)
                segments = _with_rows(connection, model, shelf, block.segments, added)
                block = VectorIndex(model.dim, segments, last_no, rewrites)
            self._blocks[key] = block
            return block

    def clear(self) -> None:
        """Let everything go."""
        with self._lock:
            self._blocks.clear()


Allowed = Callable[[IdArray], BoolArray]


def search(
    blocks: Sequence[tuple[VectorIndex, Allowed | None]], vector: FloatArray, k: int
) -> Hits:
    """Find the k nearest of several blocks by cosine; ties go to the lower id.

    Below 1,000 rows in all every row is scored. Above, the closest by sign bits are, under
    one threshold for all blocks. ``allowed`` says which ids of a block count; where too few of
    the candidates do, the pool grows until k are found or every row was looked at, so a filter
    never hides what it allows.
    """
    segments = [(segment, allowed) for block, allowed in blocks for segment in block.segments]
    n = sum(len(segment.ids) for segment, _ in segments)
    pool = max(n_candidates(n), 4 * k)
    query = _sign_bits(vector[None, :])[:, 0]
    distances = [] if pool >= n else [segment.hamming(query) for segment, _ in segments]
    while True:
        threshold = _MAX_DISTANCE if pool >= n else _threshold(distances, pool)
        ids, scores = [_NO_IDS], [np.zeros(0, np.float32)]
        for number, (segment, allowed) in enumerate(segments):
            at: IdArray | slice = slice(None)
            if pool < n:
                at = np.flatnonzero(distances[number] <= threshold)
            if allowed is not None and len(segment.ids[at]):
                at = np.arange(len(segment.ids))[at][allowed(segment.ids[at])]
            ids.append(segment.ids[at])
            scores.append(segment.cosines(vector, at))
        found, score = np.concatenate(ids), np.concatenate(scores)
        if len(found) >= k or pool >= n:
            best = np.lexsort((found, -score))[:k]
            return Hits(found[best], score[best])
        pool *= 4


def n_candidates(n: int) -> int:
    """Say how many of n rows are scored: all below 1,000, then 1,000, and 2 % from 50,000 on.

    Past 100,000 more slowly, as the root of n: 6,300 of a million.
    """
    if n < _EXACT_BELOW:
        return n
    return max(_EXACT_BELOW, min(n // 50, int(2_000 * (n / 100_000) ** 0.5)))


_NO_IDS: IdArray = np.zeros(0, np.int64)


def _threshold(distances: Sequence[npt.NDArray[np.uint16]], pool: int) -> int:
    """Give the smallest distance that lets at least ``pool`` rows of all blocks through.

    Of very many rows a part is counted, always the same.
    """
    step = -(-sum(map(len, distances)) // _COUNTED)
    counts = np.zeros(_MAX_DISTANCE, np.int64)
    for each in distances:
        found = np.bincount(each[::step])
        counts[: len(found)] += found
    return int(np.searchsorted(np.cumsum(counts), -(-pool // step)))


def _sign_bits(rows: npt.NDArray[np.floating] | Rows) -> npt.NDArray[np.uint64]:
    packed = np.packbits(rows > 0, axis=1)
    padded = np.zeros((len(rows), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


Batch = tuple[IdArray, Rows]


def _segments(batches: Iterable[Batch], dim: int) -> tuple[Segment, ...]:
    """Cut rows into segments as they are read."""
    made: list[Segment] = []
    ids: list[IdArray] = [_NO_IDS]
    rows: list[Rows] = [np.zeros((0, dim), np.int8)]
    n = 0
    for some_ids, some_rows in batches:
        ids.append(some_ids)
        rows.append(some_rows)
        n += len(some_ids)
        if n >= _SEGMENT:
            made.append(Segment.of(np.concatenate(ids), np.concatenate(rows)))
            ids, rows, n = [_NO_IDS], [np.zeros((0, dim), np.int8)], 0
    return (*made, Segment.of(np.concatenate(ids), np.concatenate(rows))) if n else tuple(made)


def _brought_up(
    connection: apsw.Connection,
    model: Model,
    shelf: int,
    block: VectorIndex,
    last_no: int,
    rewrites: int,
) -> VectorIndex:
    """Take out of a block what has left its shelf, and read what is new or was written anew."""
    there = np.concatenate([_NO_IDS, *_ids_of(connection, model, shelf)])
    held = block.ids
    gone = np.setdiff1d(held, there, assume_unique=True)
    came = np.setdiff1d(there, held, assume_unique=True)
    segments = tuple(segment.without(gone) for segment in block.segments)
    added = np.union1d(came, _added(connection, model, shelf, block.last_no))
    segments = _with_rows(connection, model, shelf, segments, added)
    return VectorIndex(model.dim, segments, last_no, rewrites)


def _with_rows(
    connection: apsw.Connection,
    model: Model,
    shelf: int,
    segments: tuple[Segment, ...],
    added: IdArray,
) -> tuple[Segment, ...]:
    """Put rows of some ids in place of those there are, and let small segments grow together."""
    if not len(added):
        return segments
    known = [segment.without(added) for segment in segments]
    for new in _segments(_read(connection, model, shelf, added), model.dim):
        last = new
        # Each row is copied once a doubling, and never with more than a segment of others.
        while known and len(known[-1].ids) <= min(2 * len(last.ids), _SEGMENT - len(last.ids)):
            last = known.pop().and_also(last)
        known.append(last)
    return tuple(segment for segment in known if len(segment.ids))


def _added(connection: apsw.Connection, model: Model, shelf: int, after: int) -> IdArray:
    """List the memories of a shelf's partition that were given vectors after a number."""
    low, high = id_range(shelf // 2)
    rows = sql.rows(
        connection,
        "SELECT memory FROM embedding WHERE no > ? AND model = ? AND memory BETWEEN ? AND ?",
        (after, model.no, low, high),
    )
    return np.array([memory for (memory,) in rows], np.int64)


# Whole chunks out of vec0's own tables: 31 ms for 100,000 rows, where one row by itself costs
# 0.04, and it works where the extension itself has no wheel.
def _ids_of(connection: apsw.Connection, model: Model, shelf: int) -> Iterator[IdArray]:
    if model.storage == "vec0":
        chunks = connection.execute(
            f"SELECT validity, rowids FROM {model.table}_chunks WHERE partition00 = ?", (shelf,)
        )
        for validity, ids in chunks:
            yield np.frombuffer(ids, np.int64)[_used(validity)]
    else:
        ids = connection.execute(f"SELECT id FROM {model.table} WHERE shelf = ?", (shelf,))
        yield np.fromiter((memory for (memory,) in ids), np.int64)


def _read_all(connection: apsw.Connection, model: Model, shelf: int) -> Iterator[Batch]:
    if model.storage == "vec0":
        yield from _chunks(connection, model, "c.partition00 = ?", (shelf,))
    else:
        found = connection.execute(
            f"SELECT id, vector FROM {model.table} WHERE shelf = ? ORDER BY id", (shelf,)
        )
        yield from _plain(found, model.dim)


def _read(connection: apsw.Connection, model: Model, shelf: int, ids: IdArray) -> Iterator[Batch]:
    """Read the rows of some ids that are on a shelf."""
    if model.storage == "vec0":
        wanted = (
            f"c.partition00 = ? AND c.chunk_id IN (SELECT r.chunk_id FROM carray(?) m"
            f" CROSS JOIN {model.table}_rowids r ON r.rowid = m.value)"
        )
        for some, rows in _chunks(connection, model, wanted, (shelf, sql.id_array(ids))):
            kept = np.isin(some, ids)
            yield some[kept], rows[kept]
    else:
        found = connection.execute(
            f"SELECT v.id, v.vector FROM carray(?) m CROSS JOIN {model.table} v"
            " ON v.id = m.value WHERE v.shelf = ? ORDER BY v.id",
            (sql.id_array(ids), shelf),
        )
        yield from _plain(found, model.dim)


def _chunks(
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
        rows = np.frombuffer(vectors, np.int8).reshape(-1, model.dim)
        yield np.frombuffer(ids, np.int64)[used], rows[used]


def _used(validity: bytes) -> BoolArray:
    used: BoolArray = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little") == 1
    return used


def _plain(found: apsw.Cursor, dim: int) -> Iterator[Batch]:
    while some := list(itertools.islice(found, _READ)):
        ids = np.array([row[0] for row in some], np.int64)
        joined = b"".join(row[1] for row in some)
        yield ids, np.frombuffer(joined, np.int8).reshape(-1, dim)


def last_number(connection: apsw.Connection) -> int:
    """Give the number of the vectors that were written last, 0 where there are none."""
    (no,) = sql.row(connection, "SELECT coalesce(max(no), 0) FROM embedding")
    return int(no)
