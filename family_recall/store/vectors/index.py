"""Vector index: a model's vectors in memory, searched for those nearest to a question's.

The durable table answers slowly (45 ms for 100,000 rows), so a search scans sign bits and then
int8 rows in memory, one index a shard: under 1 ms for the same. Bits choose 1,000 or more
candidates by Hamming distance and int8 cosine orders them; 0.99 of the true nearest survive.

An index is made of segments, so that adding or removing rows does not copy all of them: a million
memories are 440 MB.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from family_recall.heap_trimming import trim_heap
from family_recall.store.records import Hits
from family_recall.store.vectors import loading
from family_recall.store.vectors.loading import Batch
from family_recall.store.vectors.segment import (
    CONVERTED,
    EXACT_BELOW,
    Int8Rows,
    Segment,
    scaled,
    sign_bits,
)
from family_recall.store.vectors.tables import PASSAGE, Model
from family_recall.types import BoolArray, FloatArray, IdArray

Allowed: TypeAlias = Callable[[IdArray], BoolArray]
"""Which of some ids a search may return."""

_SEGMENT = 65_536  # rows; their sign bits are 3 MB
_SAMPLED = 131_072  # distances; of more, a regular sample sets the threshold
_GUESSED_FROM = 1_024  # distances
_NO_IDS: IdArray = np.zeros(0, np.int64)


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
        return np.concatenate([_NO_IDS, *(segment.ids for segment in self.segments)])

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
        numbers, owners = [_NO_IDS], [_NO_IDS]
        start = 0
        for segment in self.segments:
            in_segment, of_ids = segment.locate_all(ids)
            numbers.append(in_segment + start)
            owners.append(of_ids)
            start += len(segment.ids)
        return np.concatenate(numbers), np.concatenate(owners)

    def cosines(self, vector: FloatArray, numbers: IdArray) -> FloatArray:
        """Return the cosine of a unit vector with the rows of these numbers."""
        if len(self.segments) == 1:
            return self.segments[0].cosines(vector, numbers)
        cosines = np.zeros(len(numbers), np.float32)
        for segment, selected, in_segment in self._by_segment(numbers):
            cosines[selected] = segment.cosines(vector, in_segment)
        return cosines

    def units(self, numbers: IdArray) -> FloatArray:
        """Return the rows of these numbers as unit vectors (n, dim)."""
        return scaled(*self.stored(numbers))

    def stored(self, numbers: IdArray) -> tuple[Int8Rows, FloatArray]:
        """Return the rows of these numbers as they are stored (n, dim), and their inverse norms."""
        if len(self.segments) == 1:
            (segment,) = self.segments
            return segment.rows.take(numbers, axis=0), segment.inverse_norms.take(numbers)
        rows = np.zeros((len(numbers), self.dim), np.int8)
        inverse_norms = np.zeros(len(numbers), np.float32)
        for segment, selected, in_segment in self._by_segment(numbers):
            rows[selected] = segment.rows[in_segment]
            inverse_norms[selected] = segment.inverse_norms[in_segment]
        return rows, inverse_norms

    def _by_segment(self, numbers: IdArray) -> Iterator[tuple[Segment, BoolArray, IdArray]]:
        """Yield each segment with some of the rows: which they are, and their numbers in it."""
        start = 0
        for segment in self.segments:
            selected = (numbers >= start) & (numbers < start + len(segment.ids))
            if selected.any():
                yield segment, selected, numbers[selected] - start
            start += len(segment.ids)


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
        snapshot's :func:`loading.last_number`, which is read when left out.
        """
        key = (model.no, shard)
        with self._lock:
            index = self._indexes.get(key)
            last_no = loading.last_number(connection) if last_no is None else last_no
            if index is None:
                segments = _segments(loading.read_all(connection, model, shard), model.dim)
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


def search(
    indexes: Sequence[tuple[VectorIndex, Allowed | None]],
    vectors: FloatArray,
    k: int,
    views: int = 1,
) -> list[Hits]:
    """Find the k nearest of several indexes to each vector (q, dim); ties go to the lower id.

    Below 1,000 rows in all every row is scored. Above, the closest by sign bits are, under
    one threshold for all indexes. Where too few of the candidates are ``Allowed``, the pool grows
    until k are found or every row was looked at, so a filter never hides what it allows.

    With several ``views``, a memory has several rows, and counts once, with the nearest.
    """
    segments = [(segment, allowed) for index, allowed in indexes for segment in index.segments]
    starts = [0, *itertools.accumulate([len(segment.ids) for segment, _ in segments])]
    n = starts[-1]
    pool = max(n_candidates(n), 4 * k * views)
    distances = np.zeros((len(vectors), n if pool < n else 0), np.uint16)
    if pool < n:
        queries = sign_bits(vectors)
        for (segment, _), start in zip(segments, starts, strict=False):
            segment.add_hamming(queries, distances[:, start : start + len(segment.ids)])
    return [
        _nearest(segments, starts, of_vector, vector, k, views, pool)
        for vector, of_vector in zip(vectors, distances, strict=True)
    ]


def _nearest(
    segments: Sequence[tuple[Segment, Allowed | None]],
    starts: Sequence[int],
    distances: npt.NDArray[np.uint16],
    vector: FloatArray,
    k: int,
    views: int,
    pool: int,
) -> Hits:
    """Find the k nearest to a vector among the ``pool`` closest rows, or more where too few count.

    Segments begin at ``starts``, of which the last is the end of all.
    """
    n = starts[-1]
    while True:
        of_segments = [None] * len(segments) if pool >= n else _closest(distances, starts, pool)
        id_parts, score_parts = [_NO_IDS], [np.zeros(0, np.float32)]
        for (segment, allowed), numbers in zip(segments, of_segments, strict=True):
            these = numbers if allowed is None else _allowed(segment.ids, numbers, allowed)
            id_parts.append(segment.ids if these is None else segment.ids.take(these))
            score_parts.append(segment.cosines(vector, these))
        ids, scores = np.concatenate(id_parts), np.concatenate(score_parts)
        if len(ids) >= k or pool >= n:
            best = _best(ids, scores, k if views == 1 else len(ids))
            if views > 1:
                _, first = np.unique(ids[best], return_index=True)
                best = best[np.sort(first)]
            if len(best) >= k or pool >= n:
                return Hits(ids[best[:k]], scores[best[:k]])
        pool *= 4


def _allowed(ids: IdArray, numbers: IdArray | None, allowed: Allowed) -> IdArray:
    """Return the numbers of those rows of these numbers, or of all, that a search may return."""
    if numbers is None:
        numbers = np.arange(len(ids))
    return numbers[allowed(ids[numbers])] if len(numbers) else numbers


def _best(ids: IdArray, scores: FloatArray, k: int) -> IdArray:
    """Return the rows of the k highest scores or more, best first; ties go to the lower id."""
    if 4 * k >= len(ids):
        return np.lexsort((ids, -scores))
    least = np.partition(scores, len(ids) - k)[len(ids) - k]
    rows = (scores >= least).nonzero()[0]
    ordered: IdArray = rows[np.lexsort((ids[rows], -scores[rows]))]
    return ordered


def n_candidates(n: int) -> int:
    """Return how many of n rows are scored: all below 1,000, then 1,000, and 2 % from 50,000 on.

    Past 100,000 it grows more slowly, as the root of n: 6,300 of a million.
    """
    if n < EXACT_BELOW:
        return n
    return max(EXACT_BELOW, min(n // 50, int(2_000 * (n / 100_000) ** 0.5)))


def _closest(
    distances: npt.NDArray[np.uint16], starts: Sequence[int], pool: int
) -> list[IdArray | None]:
    """Return, by segment, the rows of the ``pool`` smallest distances and all others as small.

    Segments begin at ``starts``, of which the last is the end of all. Of very many rows a sample
    says how small, always the same.
    """
    step = -(-len(distances) // _SAMPLED)
    if step == 1:
        rows = _smallest(distances, pool)
    else:
        parts = [distances[start:end:step] for start, end in itertools.pairwise(starts)]
        sample = np.concatenate(parts)
        greatest = sample[_smallest(sample, -(-pool // step))].max()
        rows = (distances <= greatest).nonzero()[0]
    bounds = itertools.pairwise(rows.searchsorted(starts).tolist())
    return [rows[first:end] - start for (first, end), start in zip(bounds, starts, strict=False)]


def _smallest(distances: npt.NDArray[np.uint16], n: int) -> IdArray:
    """Return the rows, ascending, of the n smallest distances and all others as small."""
    # A few of them say about where that is: then few distances are compared with each other.
    some = distances[:: 1 + len(distances) // _GUESSED_FROM]
    place = n * len(some) // len(distances)
    place = min(place + 2 * math.isqrt(place), len(some) - 1)
    enough = int(np.partition(some, place)[place])
    rows = (distances <= enough).nonzero()[0]
    while len(rows) < n:
        enough += 8
        rows = (distances <= enough).nonzero()[0]
    near = distances[rows]
    closest: IdArray = rows[near <= np.bincount(near).cumsum().searchsorted(n)]
    return closest


def _segments(batches: Iterable[Batch], dim: int) -> tuple[Segment, ...]:
    """Cut rows into segments as they are read."""
    segments: list[Segment] = []
    ids: list[IdArray] = [_NO_IDS]
    rows = [np.zeros((0, dim), np.int8)]
    n = 0
    for batch_ids, batch_rows in batches:
        ids.append(batch_ids)
        rows.append(batch_rows)
        n += len(batch_ids)
        if n >= _SEGMENT:
            segments.append(Segment.of(np.concatenate(ids), np.concatenate(rows)))
            ids, rows, n = [_NO_IDS], [np.zeros((0, dim), np.int8)], 0
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
    changed = loading.added_ids(connection, model, shard, index.last_no)
    gone = _NO_IDS
    if rewrites != index.rewrites:
        in_file, in_memory = loading.all_ids(connection, model, shard), index.ids
        if index.of_passages:
            in_memory = np.unique(in_memory)
        gone = np.setdiff1d(in_memory, in_file, assume_unique=True)
        changed = np.union1d(changed, np.setdiff1d(in_file, in_memory, assume_unique=True))
    stale = np.union1d(gone, changed)
    segments = [segment.without(stale) for segment in index.segments]
    if len(changed):
        for new in _segments(loading.read(connection, model, shard, changed), model.dim):
            last = new
            while segments and len(segments[-1].ids) <= min(
                2 * len(last.ids), _SEGMENT - len(last.ids)
            ):
                last = segments.pop().merged_with(last)
            segments.append(last)
    return tuple(segment for segment in segments if len(segment.ids))
