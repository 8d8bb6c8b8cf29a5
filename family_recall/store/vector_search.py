"""Search by vectors: the nearest memories, and the vectors of those that were found.

A search scans sign bits and then int8 rows in memory, one index a shard: under 1 ms for 100,000
rows. Bits choose 1,000 or more candidates by Hamming distance and int8 cosine orders them; 0.99 of
the true nearest survive.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from family_recall.store import scope_sql, vectors
from family_recall.store.file import sql
from family_recall.store.reader import Reader
from family_recall.store.scope_sql import NO_IDS, Hits, among, in_scope
from family_recall.store.vector_arrays import divided, sign_bits, unpack_tokens
from family_recall.store.vector_index import EXACT_BELOW, Segment, last_number
from family_recall.store.vectors import PASSAGE, Model
from family_recall.types import BoolArray, FloatArray, IdArray, Scope

Allowed: TypeAlias = Callable[[IdArray], BoolArray]
"""Which of some ids a search may return."""
Segments: TypeAlias = list[tuple[int, Segment]]

_GUESSED_FROM = 1_024  # distances


class TokenVectors(msgspec.Struct, frozen=True):
    """Token vectors of several memories, one after the other.

    ``vectors`` (t, d) unit rows; ``starts`` (m,) where each memory's begin; ``rows`` (m,)
    which of the asked memories they belong to, a long one's passages with a start each. Memories
    without tokens are absent.
    """

    vectors: FloatArray
    starts: IdArray
    rows: IdArray


_NO_TOKENS = TokenVectors(np.zeros((0, 1), np.float32), NO_IDS, NO_IDS)


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """The vectors of one memory's passages, in their order.

    ``pooled`` (p, d) unit rows; ``tokens`` p arrays (t, token_dim) of unit rows.
    """

    pooled: FloatArray
    tokens: tuple[FloatArray, ...]


class _Bodies(NamedTuple):
    """The vectors of the bodies of one array of ids: unit rows (n, dim), zeros for none.

    ``held`` (n,) says which have one.
    """

    ids: IdArray
    segments: Segments
    units: FloatArray
    held: BoolArray


class VectorSearch(Reader):
    """The queries of a snapshot about vectors, by the segments of the scope's shards."""

    _bodies: _Bodies | None = None

    def nearest(self, vector: FloatArray, model_id: str, scope: Scope, k: int) -> Hits:
        """Find the k memories whose best views have the highest cosine with a unit vector."""
        models = self._models_of(model_id)
        scoped = [
            (segment, self._allowed(scope) if self._narrows(shard, scope) else None)
            for model in models
            for shard, segment in self._segments(model, scope)
        ]
        return search(scoped, vector, k, len(models))

    def cosines(self, vector: FloatArray, model_id: str, ids: IdArray, scope: Scope) -> FloatArray:
        """Return the cosine of memories' best views with a unit vector, NaN without a vector."""
        bodies = self._bodies_of(model_id, ids, scope)
        cosines = np.full(len(ids), np.nan, np.float32)
        if bodies.held.any():
            np.copyto(cosines, np.vecdot(bodies.units, vector), where=bodies.held)
            for model in self._models_of(model_id)[1:]:
                for _, segment in self._segments(model, scope):
                    numbers, owners = segment.locate(ids)
                    np.fmax.at(cosines, owners, segment.cosines(vector, numbers))
        return cosines

    def bodies(self, model_id: str, ids: IdArray, scope: Scope) -> FloatArray:
        """Return the unit vectors of bodies (n, dim), zeros for a memory without one.

        Those of the array of ids that was asked for last are kept.
        """
        return self._bodies_of(model_id, ids, scope).units

    def token_vectors(self, model_id: str, ids: IdArray, scope: Scope) -> TokenVectors:
        """Return the token vectors of those of the ids that are in scope.

        One run of vectors for body, title and summary together, and one for each passage.
        """
        models = self._models_of(model_id)
        if not models:
            return _NO_TOKENS
        token_dim = models[0].token_dim
        rows = self._packed(models[0], np.sort(in_scope(ids, scope)))
        for memory, packed in self._packed(models[-1], self.long_among(model_id, ids, scope)):
            rows += [(memory, tokens) for tokens in divided(packed, token_dim)]
        rows = [row for row in rows if row[1]]  # one of no bytes would be a run without an end
        if not rows:
            return _NO_TOKENS
        with_tokens, blobs = zip(*rows, strict=True)
        order = ids.argsort()
        numbers = order[ids.searchsorted(with_tokens, sorter=order)]
        sizes = np.fromiter(map(len, blobs), np.int64, len(blobs)) * 2 // token_dim
        tokens = unpack_tokens(b"".join(blobs), token_dim)
        return TokenVectors(tokens, sizes.cumsum() - sizes, numbers)

    def passage_vectors(
        self, model_id: str, ids: IdArray, scope: Scope
    ) -> dict[int, PassageVectors]:
        """Return the vectors of the passages of those memories that are long."""
        vectors = {}
        for model in self._models_of(model_id):
            if model.role != PASSAGE:
                continue
            long = self.long_among(model_id, ids, scope)
            packed = dict(self._packed(model, long))
            for _, segment in self._segments(model, scope):
                numbers, owners = segment.locate(long)
                for owner in np.unique(owners).tolist():
                    memory = int(long[owner])
                    tokens = divided(packed.get(memory, b""), model.token_dim)
                    vectors[memory] = PassageVectors(
                        segment.units(numbers[owners == owner]),
                        tuple(unpack_tokens(each, model.token_dim) for each in tokens),
                    )
        return vectors

    def long_among(self, model_id: str, ids: IdArray, scope: Scope) -> IdArray:
        """Return the ids, in scope, of memories of which a model has read passages, ascending."""
        visible = in_scope(ids, scope)
        is_long = np.zeros(len(visible), np.bool_)
        for model in self._models_of(model_id):
            if model.role == PASSAGE:
                for _, segment in self._segments(model, scope):
                    is_long[segment.locate(visible)[1]] = True
        return np.sort(visible[is_long])

    def n_pending(self, model_id: str | None, scope: Scope) -> int:
        """Count the scope's current memories without a vector of a model, or of the newest."""
        if model_id is None:
            newest = {model.role: model.model_id for model in vectors.models(self._connection)}
            model_id = newest.get("embedder", newest.get("static", ""))
        n_embedded = sum(
            len(segment.ids)
            for model in self._models_of(model_id)[:1]
            for shard, segment in self._segments(model, scope)
            if shard % 2 == 0
        )
        return max(0, self.n_current(scope) - n_embedded)

    def _bodies_of(self, model_id: str, ids: IdArray, scope: Scope) -> _Bodies:
        models = self._models_of(model_id)
        segments = self._segments(models[0], scope) if models else []
        last = self._bodies
        if last is None or ids is not last.ids or segments is not last.segments:
            units = np.empty((len(ids), models[0].dim if models else 0), np.float32)
            held = np.zeros(len(ids), np.bool_)
            for _, segment in segments:
                numbers, owners = segment.locate(ids)
                if len(owners):
                    units[owners], held[owners] = segment.units(numbers), True
            units[~held] = 0.0
            last = self._bodies = _Bodies(ids, segments, units, held)
        return last

    def _packed(self, model: Model, memories: IdArray) -> list[tuple[int, bytes]]:
        if not len(memories):
            return []
        return sql.rows(
            self._connection,
            "SELECT e.memory, e.tokens FROM carray(?) ids CROSS JOIN embedding e"
            " ON e.memory = ids.value AND e.model = ?",
            (sql.id_array(memories), model.no),
        )

    def _allowed(self, scope: Scope) -> Allowed:
        """Return a function that says which ids a scope covers."""
        condition, values = scope_sql.visible(scope)

        def allowed(ids: IdArray) -> BoolArray:
            rows = sql.rows(
                self._connection,
                "SELECT m.id FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value"
                f" WHERE {condition}",
                (sql.id_array(ids), *values),
            )
            return among(ids, np.array([memory for (memory,) in rows], np.int64))

        return allowed

    def _segments(self, model: Model, scope: Scope) -> Segments:
        """List a model's segments of the scope's shards: (shard, segment)."""
        shards = self._shards(scope)
        return self._memo.get(("segments", model.no, shards), lambda: self._list(model, shards))

    def _list(self, model: Model, shards: Sequence[int]) -> Segments:
        last_no = self._unchanged.get("last_number", lambda: last_number(self._connection))
        segments = []
        for shard in shards:
            rewrites = self._partitions[shard // 2].rewrites
            index = self._indexes.get(self._connection, model, shard, rewrites, last_no)
            segments += [(shard, segment) for segment in index.segments]
        return segments

    def _models_of(self, model_id: str) -> list[Model]:
        return self._unchanged.get(
            ("models", model_id), lambda: vectors.find_views(self._connection, model_id)
        )


def search(
    segments: Sequence[tuple[Segment, Allowed | None]],
    vector: FloatArray,
    k: int,
    views: int = 1,
) -> Hits:
    """Find the k nearest of several segments to a unit vector (dim,); ties go to the lower id.

    Below 1,000 rows in all every row is scored. Above, the closest by sign bits are, under
    one threshold for all segments. Where too few of the candidates are ``Allowed``, the pool grows
    until k are found or every row was looked at, so a filter never hides what it allows.

    With several ``views``, a memory has several rows, and counts once, with the nearest.
    """
    starts = [0, *itertools.accumulate([len(segment.ids) for segment, _ in segments])]
    n = starts[-1]
    pool = max(n_candidates(n), 4 * k * views)
    distances = np.zeros(n if pool < n else 0, np.uint16)
    if pool < n:
        query = sign_bits(vector[None, :])
        for (segment, _), start in zip(segments, starts, strict=False):
            segment.add_hamming(query, distances[start : start + len(segment.ids)])
    while True:
        of_segments = [None] * len(segments) if pool >= n else _closest(distances, starts, pool)
        id_parts, score_parts = [NO_IDS], [np.zeros(0, np.float32)]
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
    """Return the row numbers that a search may return, limited to ``numbers`` when given."""
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

    Segments begin at ``starts``, of which the last is the end of all.
    """
    rows = _smallest(distances, pool)
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
