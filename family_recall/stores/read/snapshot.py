"""One consistent view of the file: scoped questions in, rows and arrays out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, MutableMapping, Sequence
from typing import TypeVar

import apsw
import numpy as np

from family_recall.errors import UnknownMemoryError
from family_recall.stores import scope_sql
from family_recall.stores.access.household import Household
from family_recall.stores.file import checksums, sql
from family_recall.stores.file.row_ids import PARTITION_SHIFT, partition_of, shard_of
from family_recall.stores.graph import edges, relation_queries
from family_recall.stores.graph.entities import Entities
from family_recall.stores.logs.feedback import LearningStep, last_step
from family_recall.stores.records import (
    Access,
    EdgeList,
    Entity,
    Hits,
    Identifier,
    Milestone,
    Occurred,
    Partition,
    Rows,
    StoredMemory,
    StoredRelation,
    TokenVectors,
    WordStatistics,
    among,
)
from family_recall.stores.text import full_text, identifiers, memories
from family_recall.stores.vectors import index, tables
from family_recall.types import BoolArray, FloatArray, IdArray, Relation, Scope

_T = TypeVar("_T")
_UNREADABLE = (ValueError, TypeError, OverflowError, apsw.CorruptError)


class SqliteSnapshot:
    """What one read transaction sees. One thread at a time may use it.

    ``damaged`` are the rows, of those looked at, that no longer say what was told.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        held: index.VectorIndexes,
        zone: dt.tzinfo,
        known: MutableMapping[int, LearningStep],
    ) -> None:
        self._connection = connection
        self._known = known
        self._blocks = held
        self._zone = zone
        self._models: dict[str, list[tables.Model]] = {}
        self._seen: dict[tuple[int, int], index.VectorIndex] = {}
        self._last_no: int | None = None
        self._occurred: dict[Scope, Occurred] = {}
        self._split: dict[str, list[tuple[str, str]]] = {}
        self._counts: dict[tuple[int, ...], dict[str, dict[int, int]]] = {}
        self._all = {
            partition.no: partition for partition in Household(connection).every_partition()
        }
        self.damaged: set[int] = set()

    def interrupt(self) -> None:
        """Stop the statement that runs now, if one does; from any thread."""
        self._connection.interrupt()

    def access(self, person_id: str | None) -> list[Access]:
        """List the spaces a person may enter; ``UnknownPersonError`` if there is no such one."""
        return Household(self._connection).access(person_id)

    def learned(self, person_id: str | None) -> LearningStep | None:
        """Give what one person's judgements have taught; None where that is nothing.

        One probe of an index; what the row says is read once, since no number is used twice.
        """
        return None if person_id is None else last_step(self._connection, person_id, self._known)

    def every_partition(self) -> tuple[Partition, ...]:
        """List all partitions of the file: for deciding a scope, and for nothing else."""
        return tuple(self._all.values())

    def expired(self, wall_s: float) -> tuple[tuple[str, float], ...]:
        """Give, for each category with a rule, the moment before which it is not kept."""
        return Household(self._connection).expired(wall_s)

    def partitions(self, scope: Scope) -> tuple[Partition, ...]:
        """Statistics of the partitions in scope, ascending."""
        return tuple(self._all[no] for no in scope.partitions if no in self._all)

    def stems(self, text: str) -> list[tuple[str, str]]:
        """Split a text as the index does: (word as written, stem) pairs in order."""
        found = self._split.get(text)
        if found is None:
            found = self._split[text] = full_text.split(self._connection, text)
            # A word by itself is split as it is within a text.
            for pair in found:
                self._split.setdefault(pair[0], [pair])
        return found

    def find_stems(self, text: str, stems: Collection[str]) -> tuple[tuple[int, int], ...]:
        """Find where a text says some stems: (start, end) in characters, in order."""
        return full_text.find_stems(self._connection, text, stems)

    def word_statistics(self, stems: Sequence[str], scope: Scope) -> WordStatistics:
        """Count the scope's memories, words, and memories that hold each stem."""
        past = scope.known_at_s is not None
        partitions = self.partitions(scope)
        counts = self._counts_of(stems, tuple(self._shards(scope)))
        return WordStatistics(
            n_memories=sum(p.n_current + past * p.n_past for p in partitions),
            n_words=sum(p.words_current + past * p.words_past for p in partitions),
            document_frequency=np.array([sum(counts[stem].values()) for stem in stems], np.int64),
        )

    def match(
        self,
        words: Sequence[str],
        common: Sequence[str],
        scope: Scope,
        k: int,
        weights: tuple[float, float, float],
    ) -> Hits:
        """Find up to k memories of each shelf that hold any of the words.

        ``common`` words raise the score of what is found and find nothing by themselves.
        Scores are FTS5's BM25 with that shelf's statistics: right for choosing within a
        shelf, not for comparing between two.
        """
        shelves = self._shards(scope)
        counts = self._counts.get(tuple(shelves), {})
        # By shelf, the memories that hold each stem of a word; what was not counted may be there.
        counted = {
            word: [counts[stem] for _, stem in self.stems(word) if stem in counts] for word in words
        }
        found = []
        for shelf in shelves:
            # FTS5 takes 60 µs to find nothing. Common words stay, held here or not: with any,
            # the rare ones count twice, and so they have to on every shelf.
            held = [word for word in words if all(shelf in each for each in counted[word])]
            if held:
                asked = full_text.expression(held, common)
                condition = scope_sql.visible(scope) if self._narrowed(shelf, scope) else None
                found.append(full_text.match(self._connection, shelf, asked, k, weights, condition))
        return _merged(found)

    def identified(self, sought: Sequence[Identifier], scope: Scope, k: int) -> Hits:
        """Find up to k memories that hold any of some identifiers.

        Scores are 1 where one is held whole, 0.5 where what is held continues it, or is a phone
        number's end; within a score the newest come first. Of each the k told last are looked at.
        """
        mine = [no for no in scope.partitions if no in self._all]
        return identifiers.find(self._connection, sought, mine, scope_sql.visible(scope), k)

    def nearest(self, vector: FloatArray, model_id: str, scope: Scope, k: int) -> Hits:
        """Find the k memories whose best views have the highest cosine with a unit vector."""
        scoped = [
            (block, self._allowed(scope) if self._narrowed(shelf, scope) else None)
            for shelf, block in self._scoped_blocks(model_id, scope, views=True)
        ]
        n_views = len(self._models_of(model_id))
        if n_views < 2:
            return index.search(scoped, vector, k)
        # However many views a memory has, k of them are among so many vectors.
        return _by_best(index.search(scoped, vector, k * n_views), k)

    def cosines(self, vector: FloatArray, model_id: str, ids: IdArray, scope: Scope) -> FloatArray:
        """Cosine of the given memories' best views with a unit vector, NaN without a vector."""
        cosines = np.full(len(ids), np.nan, np.float32)
        partitions = ids >> PARTITION_SHIFT
        for shelf, block in self._scoped_blocks(model_id, scope, views=True):
            own = np.flatnonzero(partitions == shelf // 2)
            if len(own):
                at, here = block.find(ids[own])
                own = own[here]
                cosines[own] = np.fmax(cosines[own], block.cosines(vector, at[here]))
        return cosines

    def similarities(self, model_id: str, ids: IdArray, scope: Scope) -> FloatArray | None:
        """Cosines (n, n) between memories' bodies; None unless every one has a vector."""
        units: FloatArray | None = None
        missing = np.ones(len(ids), np.bool_)
        for _, block in self._scoped_blocks(model_id, scope):
            at, here = block.find(ids)
            if units is None:
                units = np.zeros((len(ids), block.dim), np.float32)
            units[here] = block.units(at[here])
            missing &= ~here
        if units is None or missing.any():
            return None
        cosines: FloatArray = units.dot(units.T)
        return cosines

    def token_vectors(self, model_id: str, ids: IdArray, scope: Scope) -> TokenVectors:
        """Token vectors of the given memories, of all their views."""
        models = self._models_of(model_id)
        if not models:
            return _NO_TOKENS
        model = models[0]
        found = sql.rows(
            self._connection,
            "SELECT e.memory, e.tokens FROM carray(?) ids CROSS JOIN embedding e"
            " ON e.memory = ids.value AND e.model = ?",
            (sql.id_array(np.sort(self._mine(ids, scope))), model.no),
        )
        kept = [row for row in found if row[1]]
        if not kept:
            return _NO_TOKENS
        memories, blobs = zip(*kept, strict=True)
        order = np.argsort(ids)
        rows = order[np.searchsorted(ids, memories, sorter=order)]
        ends = np.cumsum([2 * len(blob) // model.token_dim for blob in blobs])
        return TokenVectors(
            tables.unpack_tokens(b"".join(blobs), model.token_dim),
            np.concatenate([[0], ends[:-1]]).astype(np.int64),
            rows,
        )

    def n_pending(self, model_id: str | None, scope: Scope) -> int:
        """Count the scope's current memories without a vector of a model, or of the newest."""
        if model_id is None:
            newest = {model.role: model.model_id for model in tables.models(self._connection)}
            model_id = newest.get("embedder", newest.get("static", ""))
        current = sum(partition.n_current for partition in self.partitions(scope))
        done = sum(
            len(block) for shelf, block in self._scoped_blocks(model_id, scope) if shelf % 2 == 0
        )
        return max(0, current - done)

    def edges(self, nodes: IdArray, scope: Scope, cap: int) -> EdgeList:
        """Give up to ``cap`` of the strongest edges out of each node in scope."""
        return edges.out_of(self._connection, self._mine(nodes, scope), scope.as_of_s, cap)

    def degrees(self, nodes: IdArray, scope: Scope) -> FloatArray:
        """Number of edges at each node, counted up to 1024; 0 outside the scope."""
        mine = self._mine(nodes, scope)
        if len(mine) == len(nodes):
            return edges.degrees(self._connection, nodes)
        known = dict(zip(mine.tolist(), edges.degrees(self._connection, mine), strict=True))
        return np.array([known.get(node, 0.0) for node in nodes.tolist()], np.float32)

    def entities(self, names: Sequence[str], scope: Scope) -> list[tuple[str, Entity]]:
        """Find what the given normalised names stand for in the scope's partitions."""
        return [
            (alias, Entity(entity, name, person_id))
            for alias, entity, name, person_id in Entities(self._connection).find(
                scope.partitions, names
            )
        ]

    def aliases_like(self, word: str, edits: int, scope: Scope) -> list[str]:
        """List the names of one word that so many edits to a word could give, and others.

        They begin with its first letter, or with its first two swapped, and are at most
        ``edits`` letters shorter or longer. None come back when they would be thousands.
        """
        return Entities(self._connection).aliases_like(scope.partitions, word, edits)

    def relations(self, entities: Sequence[int], scope: Scope) -> list[StoredRelation]:
        """Give the relations some entities of the scope stand in, as told, oldest first.

        Only those valid at the scope's moment and, where it asks for that, recorded by then.
        """
        mine = self._mine(np.array(entities, np.int64), scope)
        return relation_queries.among(self._connection, mine, scope)

    def relations_in(
        self, scope: Scope, limit: int, about: Sequence[int] | None = None
    ) -> list[Relation]:
        """Give the relations of a scope that hold at its moment, as told, oldest first.

        ``about`` keeps those that have one of these entities at either end.
        """
        return relation_queries.in_scope(self._connection, scope, limit, self._zone, about)

    def mentions(
        self, ids: IdArray, entities: Sequence[int], scope: Scope
    ) -> list[tuple[int, int]]:
        """Give the (memory, entity) pairs among some memories and entities in scope."""
        return sql.rows(
            self._connection,
            "SELECT t.memory, t.entity FROM carray(?) e CROSS JOIN mention t"
            " ON t.memory = e.value AND t.entity IN (SELECT value FROM carray(?))",
            (sql.id_array(self._mine(ids, scope)), apsw.carray(np.array(entities, np.int64))),
        )

    def node_names(self, nodes: IdArray, scope: Scope) -> dict[int, str]:
        """Names of the nodes in scope: doc_ids of memories, names of entities."""
        mine = sql.id_array(self._mine(nodes, scope))
        found = sql.rows(
            self._connection,
            "SELECT id, doc_id FROM memory WHERE id IN (SELECT value FROM carray(?))"
            " UNION ALL SELECT id, name FROM entity WHERE id IN (SELECT value FROM carray(?))",
            (mine, mine),
        )
        return dict(found)

    def newest(self, scope: Scope, k: int, *, lasting: bool = False) -> Hits:
        """Give each partition's k newest memories, or facts, profiles and milestones alone.

        By the moment they were recorded, the newest of all first.
        """
        return memories.newest(self._connection, scope, k, lasting=lasting)

    def occurred(self, scope: Scope) -> Occurred:
        """Give everything that occurred in the scope's interval; read once for each scope."""
        if scope not in self._occurred:
            self._occurred[scope] = memories.occurred(self._connection, scope)
        return self._occurred[scope]

    def rows(self, ids: IdArray, scope: Scope) -> Rows:
        """Load what ranking reads, ascending by id; ids out of scope are left out."""
        return self._legible(
            self._mine(ids, scope), lambda mine: memories.rows(self._connection, mine, scope)
        )

    def milestones(
        self, scope: Scope, wanted: Callable[[str | None, str | None], bool], limit: int
    ) -> list[Milestone]:
        """Load up to ``limit`` milestones and dated facts of wanted (event_type, fact_key).

        The scope's filters do not count here; its partitions and moments do.
        """
        return memories.milestones(self._connection, scope, wanted, limit)

    def memories(self, ids: IdArray, scope: Scope) -> list[StoredMemory]:
        """Load whole memories in the order of ``ids``; those out of scope are left out.

        So are those that no longer say what was told, which are added to ``damaged``.
        """
        mine = self._mine(ids, scope)
        loaded = self._legible(
            mine, lambda some: memories.load_ids(self._connection, some, scope, self._zone)
        )
        found = [stored for stored in loaded if stored.intact]
        if len(found) < len(mine):
            self.damaged |= set(mine.tolist()) & set(checksums.broken(self._connection, mine))
        return found

    def passages(self, ids: IdArray, scope: Scope) -> dict[int, str]:
        """Load memories as a model reads them, `Author: text`; none the scope does not cover."""
        return self._legible(
            self._mine(ids, scope), lambda mine: memories.passages(self._connection, mine, scope)
        )

    def find(self, doc_id: str, scope: Scope) -> StoredMemory:
        """Find one memory by its id.

        Raises:
            UnknownMemoryError: If there is none, or none in scope: the two read alike.
        """
        condition, values = scope_sql.visible(scope)
        mine = set(scope.partitions)
        for stored in memories.load(
            self._connection, f"m.doc_id = ? AND {condition}", (doc_id, *values), self._zone
        ):
            if partition_of(stored.id) in mine:
                return stored
        raise UnknownMemoryError(f"no memory {doc_id!r} that this request may see")

    def _legible(self, ids: IdArray, read: Callable[[IdArray], _T]) -> _T:
        """Read some rows; where one of them is too damaged for that, without it."""
        try:
            return read(ids)
        except _UNREADABLE:
            whole = np.array([_reads(read, ids[at : at + 1]) for at in range(len(ids))], np.bool_)
            self.damaged |= set(ids[~whole].tolist())
            return read(ids[whole])

    def _mine(self, nodes: IdArray, scope: Scope) -> IdArray:
        partitions = np.abs(nodes) >> PARTITION_SHIFT
        mine: IdArray = nodes[among(partitions, np.array(scope.partitions, np.int64))]
        return mine

    def _counts_of(
        self, stems: Sequence[str], shelves: tuple[int, ...]
    ) -> dict[str, dict[int, int]]:
        """Count the memories of each shelf that hold each stem; each is read once."""
        known = self._counts.setdefault(shelves, {})
        unknown = [stem for stem in stems if stem not in known]
        if unknown:
            known.update(full_text.counts_by_shard(self._connection, shelves, unknown))
        return known

    def _shards(self, scope: Scope) -> list[int]:
        past = (False,) if scope.known_at_s is None else (False, True)
        return [
            shard_of(no, past=side) for no in scope.partitions if no in self._all for side in past
        ]

    def _scoped_blocks(
        self, model_id: str, scope: Scope, *, views: bool = False
    ) -> list[tuple[int, index.VectorIndex]]:
        """Give the blocks of bodies or, if wanted, those of bodies and of views, by shelf."""
        models = self._models_of(model_id)
        found = []
        for model in models if views else models[:1]:
            for shelf in self._shards(scope):
                key = (model.no, shelf)
                if key not in self._seen:
                    if self._last_no is None:
                        self._last_no = index.last_number(self._connection)
                    rewrites = self._all[shelf // 2].rewrites
                    self._seen[key] = self._blocks.get(
                        self._connection, model, shelf, rewrites, self._last_no
                    )
                found.append((shelf, self._seen[key]))
        return found

    def _models_of(self, model_id: str) -> list[tables.Model]:
        """Give a model and then its views; nothing if the file does not know it."""
        if model_id not in self._models:
            self._models[model_id] = tables.find_views(self._connection, model_id)
        return self._models[model_id]

    def _narrowed(self, shelf: int, scope: Scope) -> bool:
        """Whether a shelf's rows must be looked at, beyond being on it."""
        return (
            scope.filters.narrows
            or scope.known_at_s is not None
            or bool(scope.expired)
            or self._all[shelf // 2].n_bounded > 0
        )

    def _allowed(self, scope: Scope) -> Callable[[IdArray], BoolArray]:
        return lambda ids: among(ids, memories.covered(self._connection, ids, scope))


def _reads(read: Callable[[IdArray], object], ids: IdArray) -> bool:
    try:
        read(ids)
    except _UNREADABLE:
        return False
    return True


_NO_TOKENS = TokenVectors(
    np.zeros((0, 1), np.float32), np.zeros(0, np.int64), np.zeros(0, np.int64)
)


def _by_best(hits: Hits, k: int) -> Hits:
    """Keep each memory where it first stands, up to k of them."""
    _, first = np.unique(hits.ids, return_index=True)
    kept = np.sort(first)[:k]
    return Hits(hits.ids[kept], hits.scores[kept])


def _merged(found: list[Hits]) -> Hits:
    if not found:
        return Hits(np.zeros(0, np.int64), np.zeros(0, np.float32))
    return Hits(
        np.concatenate([hits.ids for hits in found]),
        np.concatenate([hits.scores for hits in found]),
    )
