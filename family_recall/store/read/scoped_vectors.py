"""The vectors of one snapshot, searched and compared within a scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.file.row_ids import PARTITION_SHIFT, shard_of
from family_recall.store.read.caches import Unchanged
from family_recall.store.records import Hits, Partition, PassageVectors, TokenVectors, among
from family_recall.store.text import memories
from family_recall.store.vectors import index, loading, tables
from family_recall.store.vectors.encoding import divided, unpack_tokens
from family_recall.store.vectors.index import Allowed, VectorIndex, VectorIndexes
from family_recall.types import FloatArray, IdArray, Scope


class ScopedVectors:
    """Searches the vector indexes of a scope's shards. One thread at a time may use it."""

    def __init__(
        self,
        connection: apsw.Connection,
        indexes: VectorIndexes,
        partitions: Mapping[int, Partition],
        unchanged: Unchanged,
    ) -> None:
        self._connection = connection
        self._indexes = indexes
        self._partitions = partitions
        self._unchanged = unchanged
        self._loaded: dict[tuple[int, int], VectorIndex] = {}
        self._listed: dict[tuple[object, ...], list[tuple[int, VectorIndex]]] = {}
        self._shards: dict[tuple[object, ...], list[int]] = {}
        self._ids: IdArray | None = None
        self._asked: tuple[object, ...] = ()
        self._stored: tuple[FloatArray, FloatArray] = (_NO_ROWS, _NO_ROWS)
        self._bodies: FloatArray | None = None

    def nearest(self, vectors: FloatArray, model_id: str, scope: Scope, k: int) -> list[Hits]:
        """Find the k memories whose best views are nearest to each unit vector (q, dim)."""
        scoped = [
            (vector_index, self.allowed(scope) if self.narrows(shard, scope) else None)
            for shard, vector_index in self._in_scope(model_id, scope, views=True)
        ]
        return index.search(scoped, vectors, k, len(self._models_of(model_id)))

    def cosines(self, vector: FloatArray, model_id: str, ids: IdArray, scope: Scope) -> FloatArray:
        """Return the cosine of memories' best views with a unit vector, NaN without a vector."""
        cosines = np.full(len(ids), np.nan, np.float32)
        rows, inverse_norms = self._rows(model_id, ids, scope)
        if not rows.size:
            return cosines
        held = inverse_norms > 0.0
        np.multiply(np.vecdot(rows, vector), inverse_norms, out=cosines, where=held)
        bodies = self._in_scope(model_id, scope)
        views = self._in_scope(model_id, scope, views=True)[len(bodies) :]
        for vector_index, own in _holding(views, ids):
            if vector_index.of_passages:
                numbers, owners = vector_index.locate_all(ids[own])
                np.fmax.at(cosines, own[owners], vector_index.cosines(vector, numbers))
            else:
                numbers, here = vector_index.locate(ids[own])
                of_view = own[here]
                in_view = vector_index.cosines(vector, numbers[here])
                cosines[of_view] = np.fmax(cosines[of_view], in_view)
        return cosines

    def bodies(self, model_id: str, ids: IdArray, scope: Scope) -> FloatArray:
        """Return the unit vectors of bodies (n, dim), zeros for a memory without one.

        Those of the array of ids that was asked for last are kept.
        """
        rows, inverse_norms = self._rows(model_id, ids, scope)
        if self._bodies is None:
            self._bodies = rows * inverse_norms[:, None]
        return self._bodies

    def _rows(self, model_id: str, ids: IdArray, scope: Scope) -> tuple[FloatArray, FloatArray]:
        """Return the rows of bodies (n, dim) as they are stored, and their inverse norms.

        Both are 0 for a memory without one. Those of the array of ids that was asked for last are
        kept.
        """
        asked = (model_id, scope.partitions, scope.known_at_s is None)
        if ids is not self._ids or asked != self._asked:
            indexes = self._in_scope(model_id, scope)
            rows = np.zeros((len(ids), indexes[0][1].dim if indexes else 0), np.int8)
            inverse_norms = np.zeros(len(ids), np.float32)
            for vector_index, own in _holding(indexes, ids):
                numbers, here = vector_index.locate(ids[own])
                held = own[here]
                rows[held], inverse_norms[held] = vector_index.stored(numbers[here])
            self._ids, self._asked, self._bodies = ids, asked, None
            self._stored = rows.astype(np.float32), inverse_norms
        return self._stored

    def token_vectors(
        self, model_id: str, ids: IdArray, in_scope: IdArray, scope: Scope
    ) -> TokenVectors:
        """Return the token vectors of those of the ids that are in scope.

        One run of vectors for body, title and summary together, and one for each passage.
        """
        models = self._models_of(model_id)
        if not models:
            return _NO_TOKENS
        model = models[0]
        rows = [row for row in self._packed(model, np.sort(in_scope)) if row[1]]
        long = self.long_among(model_id, in_scope, scope)
        if len(long):
            # A row of no bytes would be a run without an end.
            rows += [
                (memory, tokens)
                for memory, packed in self._packed(models[-1], long)
                for tokens in divided(packed, model.token_dim)
                if tokens
            ]
        if not rows:
            return _NO_TOKENS
        with_tokens, blobs = zip(*rows, strict=True)
        order = ids.argsort()
        numbers = order[ids.searchsorted(with_tokens, sorter=order)]
        sizes = np.fromiter(map(len, blobs), np.int64, len(blobs)) * 2 // model.token_dim
        tokens = unpack_tokens(b"".join(blobs), model.token_dim)
        return TokenVectors(tokens, sizes.cumsum() - sizes, numbers)

    def passages(self, model_id: str, in_scope: IdArray, scope: Scope) -> dict[int, PassageVectors]:
        """Return the vectors of the passages of those memories that have some."""
        long = self.long_among(model_id, in_scope, scope)
        if not len(long):
            return {}
        model = self._models_of(model_id)[-1]
        packed = dict(self._packed(model, long))
        loaded = {}
        for _, vector_index in self._in_scope(model_id, scope, views=True):
            if not vector_index.of_passages:
                continue
            numbers, owners = vector_index.locate_all(long)
            for owner in np.unique(owners).tolist():
                memory = int(long[owner])
                loaded[memory] = PassageVectors(
                    vector_index.units(numbers[owners == owner]),
                    tuple(
                        unpack_tokens(tokens, model.token_dim)
                        for tokens in divided(packed.get(memory, b""), model.token_dim)
                    ),
                )
        return loaded

    def long_among(self, model_id: str, in_scope: IdArray, scope: Scope) -> IdArray:
        """Return those of some memories that have passages, ascending."""
        models = self._models_of(model_id)
        if not models or models[-1].role != tables.PASSAGE:
            return _NO_IDS
        indexes = [each for _, each in self._in_scope(model_id, scope, views=True)]
        found = [in_scope[each.locate(in_scope)[1]] for each in indexes if each.of_passages]
        return np.sort(np.concatenate([_NO_IDS, *found]))

    def _packed(self, model: tables.Model, memories: IdArray) -> list[tuple[int, bytes]]:
        """Load what is packed of the token vectors of some memories."""
        return sql.rows(
            self._connection,
            "SELECT e.memory, e.tokens FROM carray(?) ids CROSS JOIN embedding e"
            " ON e.memory = ids.value AND e.model = ?",
            (sql.id_array(memories), model.no),
        )

    def n_embedded(self, model_id: str | None, scope: Scope) -> int:
        """Count the scope's current memories with a vector of a model, or of the newest."""
        if model_id is None:
            newest = {model.role: model.model_id for model in tables.models(self._connection)}
            model_id = newest.get("embedder", newest.get("static", ""))
        indexes = self._in_scope(model_id, scope)
        return sum(len(vector_index) for shard, vector_index in indexes if shard % 2 == 0)

    def shards(self, scope: Scope) -> list[int]:
        """List the scope's shards; those of superseded memories where it asks about the past."""
        key = (scope.partitions, scope.known_at_s is None)
        shards = self._shards.get(key)
        if shards is None:
            past = (False,) if scope.known_at_s is None else (False, True)
            shards = self._shards[key] = [
                shard_of(no, past=side)
                for no in scope.partitions
                if no in self._partitions
                for side in past
            ]
        return shards

    def narrows(self, shard: int, scope: Scope) -> bool:
        """Whether a scope may leave out rows of a shard."""
        return (
            scope.filters.narrows
            or scope.lies_in_s is not None
            or scope.known_at_s is not None
            or bool(scope.expired)
            or self._partitions[shard // 2].n_bounded > 0
        )

    def allowed(self, scope: Scope) -> Allowed:
        """Return a function that says which ids a scope covers."""
        return lambda ids: among(ids, memories.covered(self._connection, ids, scope))

    def _in_scope(
        self, model_id: str, scope: Scope, *, views: bool = False
    ) -> list[tuple[int, VectorIndex]]:
        """List the indexes of bodies or, if wanted, those of bodies and of views, by shard."""
        key = (model_id, views, scope.partitions, scope.known_at_s is None)
        listed = self._listed.get(key)
        if listed is None:
            listed = self._listed[key] = self._list(model_id, scope, views=views)
        return listed

    def _list(self, model_id: str, scope: Scope, *, views: bool) -> list[tuple[int, VectorIndex]]:
        models = self._models_of(model_id)
        loaded = []
        for model in models if views else models[:1]:
            for shard in self.shards(scope):
                key = (model.no, shard)
                if key not in self._loaded:
                    last_no = self._unchanged.get("last_number", self._last_number)
                    rewrites = self._partitions[shard // 2].rewrites
                    self._loaded[key] = self._indexes.get(
                        self._connection, model, shard, rewrites, last_no
                    )
                loaded.append((shard, self._loaded[key]))
        return loaded

    def _models_of(self, model_id: str) -> list[tables.Model]:
        """List a model and then its views; nothing if the file does not know it."""
        return self._unchanged.get(
            ("models", model_id), lambda: tables.find_views(self._connection, model_id)
        )

    def _last_number(self) -> int:
        return loading.last_number(self._connection)


_NO_IDS: IdArray = np.zeros(0, np.int64)
_NO_ROWS: FloatArray = np.zeros((0, 0), np.float32)
_NO_TOKENS = TokenVectors(np.zeros((0, 1), np.float32), _NO_IDS, _NO_IDS)


def _holding(
    indexes: Sequence[tuple[int, VectorIndex]], ids: IdArray
) -> Iterator[tuple[VectorIndex, IdArray]]:
    """Yield the indexes of the shards of some memories, and which memories may be there."""
    if not indexes:
        return
    partitions = ids >> PARTITION_SHIFT
    order = partitions.argsort(kind="stable")
    ordered = partitions[order]
    sought = np.array([shard // 2 for shard, _ in indexes], np.int64)
    firsts = ordered.searchsorted(sought).tolist()
    ends = ordered.searchsorted(sought, side="right").tolist()
    for (_, vector_index), first, end in zip(indexes, firsts, ends, strict=True):
        if first < end:
            yield vector_index, order[first:end]
