"""One consistent view of the file, as one read transaction sees it."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import apsw
import numpy as np

from family_recall.errors import UnknownMemoryError
from family_recall.store import scope_sql
from family_recall.store.access.household import Household
from family_recall.store.file import checksums, sql
from family_recall.store.file.row_ids import PARTITION_SHIFT, partition_of
from family_recall.store.graph import edges, relation_queries
from family_recall.store.graph.entities import Entities
from family_recall.store.logs.feedback import LearningStep, Verdict, last_step, verdicts
from family_recall.store.read.caches import Asker, ReadCaches
from family_recall.store.read.scoped_vectors import ScopedVectors
from family_recall.store.records import (
    Access,
    EdgeList,
    Entity,
    Hits,
    MemoryRow,
    MentionedTimes,
    Milestone,
    Occurred,
    Partition,
    PassageVectors,
    PassageWords,
    Rows,
    Statement,
    StoredMemory,
    StoredRelation,
    TokenVectors,
    Turn,
    WordStatistics,
)
from family_recall.store.text import (
    about,
    full_text,
    identifiers,
    memories,
    mentioned_times,
    passage_words,
    session_turns,
    timeline,
)
from family_recall.types import BoolArray, FloatArray, IdArray, Relation, Scope
from family_recall.types.understanding import Identifier

_T = TypeVar("_T")
_UNREADABLE = (ValueError, TypeError, OverflowError, apsw.CorruptError)


class Snapshot:
    """What one read transaction sees. Every query takes a scope, and sees nothing outside it.

    One thread at a time may use it. ``damaged`` gathers the ids of rows, of those that were read,
    that do not match their checksum or cannot be read.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        zone: dt.tzinfo,
        caches: ReadCaches,
        asker: Asker | None = None,
    ) -> None:
        self.damaged: set[int] = set()
        self._connection = connection
        self._zone = zone
        self._unchanged = caches.unchanged(connection, asker)
        self._household = Household(connection)
        self._entities = Entities(connection)
        self._partitions: Mapping[int, Partition] = self._unchanged.get(
            "partitions", lambda: {each.no: each for each in self._household.every_partition()}
        )
        self._vectors = ScopedVectors(connection, caches.indexes, self._partitions, self._unchanged)
        self._of_scope: dict[tuple[int, ...], tuple[Partition, ...]] = {}
        self._occurred: dict[Scope, Occurred] = {}
        self._stems: dict[str, list[tuple[str, str]]] = {}
        self._turns: dict[Scope, dict[int, list[Turn]]] = {}
        self._counts: dict[tuple[int, ...], dict[str, dict[int, int]]] = {}

    def interrupt(self) -> None:
        """Stop the statement that runs now, if one does; from any thread."""
        self._connection.interrupt()

    def access(self, person_id: str | None) -> list[Access]:
        """List the spaces a person may enter; ``UnknownPersonError`` if there is no such one."""
        return self._unchanged.get(("access", person_id), lambda: self._household.access(person_id))

    def every_partition(self) -> tuple[Partition, ...]:
        """List all partitions of the file: for deciding a scope, and for nothing else."""
        return tuple(self._partitions.values())

    def expired(self, wall_s: float) -> tuple[tuple[str, float], ...]:
        """Return, for each category with a rule, the moment before which it is not kept."""
        rules = self._unchanged.get("retention", self._household.retention)
        return tuple((category, wall_s - keep_s) for category, keep_s in rules)

    def learned(self, person_id: str | None) -> LearningStep | None:
        """Return what was learned from one person's feedback; None where that is nothing."""
        if person_id is None:
            return None
        return self._unchanged.get(
            ("learned", person_id), lambda: last_step(self._connection, person_id)
        )

    def verdicts(self, person_id: str | None) -> tuple[Verdict, ...]:
        """List what one person said of memories they once rejected, the newest first."""
        if person_id is None:
            return ()
        return self._unchanged.get(
            ("verdicts", person_id), lambda: verdicts(self._connection, person_id)
        )

    def partitions(self, scope: Scope) -> tuple[Partition, ...]:
        """Return the statistics of the partitions in scope, ascending."""
        partitions = self._of_scope.get(scope.partitions)
        if partitions is None:
            known = [self._partitions[no] for no in scope.partitions if no in self._partitions]
            partitions = self._of_scope[scope.partitions] = tuple(known)
        return partitions

    def stems(self, text: str) -> list[tuple[str, str]]:
        """Split a text as the index does: (word as written, stem) pairs in order."""
        pairs = self._stems.get(text)
        if pairs is None:
            pairs = self._stems[text] = full_text.split(text)
            # A word by itself is split as it is within a text.
            for pair in pairs:
                self._stems.setdefault(pair[0], [pair])
        return pairs

    def word_statistics(self, stems: Sequence[str], scope: Scope) -> WordStatistics:
        """Count the scope's memories, words, and memories that hold each stem."""
        past = scope.known_at_s is not None
        partitions = self.partitions(scope)
        counts = self._stem_counts(stems, tuple(self._vectors.shards(scope)))
        return WordStatistics(
            n_memories=sum([p.n_current + past * p.n_past for p in partitions]),
            n_words=sum([p.words_current + past * p.words_past for p in partitions]),
            document_frequency=np.array([sum(counts[stem].values()) for stem in stems], np.int64),
        )

    def held(
        self, stems: Sequence[str], scope: Scope, counted_next: Sequence[str] = ()
    ) -> list[bool]:
        """Return whether any of the scope's memories holds each stem.

        ``counted_next``: stems that are counted soon, so that one look-up counts them with others.
        """
        counts = self._stem_counts([*stems, *counted_next], tuple(self._vectors.shards(scope)))
        return [any(counts[stem].values()) for stem in stems]

    def match(
        self,
        words: Sequence[str],
        common: Sequence[str],
        scope: Scope,
        k: int,
        weights: tuple[float, float, float],
    ) -> Hits:
        """Find up to k memories of each shard that hold any of the words, by BM25.

        ``common`` words raise the score of a match and match nothing by themselves. Scores come
        from the shard's own statistics: they order its matches, and are not comparable between two.
        """
        shards = self._vectors.shards(scope)
        counts = self._counts.get(tuple(shards), {})
        # The shards that hold each stem of a word; what was not counted may be in any.
        holding = {
            word: set(shards).intersection(
                *[counts[stem] for _, stem in self.stems(word) if stem in counts]
            )
            for word in words
        }
        rows = []
        for shard in shards:
            # FTS5 takes 60 µs to find nothing. Common words stay, held here or not: with any,
            # the rare ones count twice, and so they have to in every shard.
            held = [word for word in words if shard in holding[word]]
            if held:
                query = full_text.expression(held, common)
                narrows = self._vectors.narrows(shard, scope)
                condition = scope_sql.visible(scope) if narrows else None
                rows += full_text.match(self._connection, shard, query, k, weights, condition)
        ids, scores = zip(*rows, strict=True) if rows else ((), ())
        return Hits(np.array(ids, np.int64), -np.array(scores, np.float32))

    def identified(self, sought: Sequence[Identifier], scope: Scope, k: int) -> Hits:
        """Find up to k memories that hold any of the identifiers.

        Scores are 1 where one is held whole, 0.5 where what is held continues it, or is a phone
        number's end; within a score the latest to happen come first. Of each identifier the k
        recorded last are considered.
        """
        partitions = [no for no in scope.partitions if no in self._partitions]
        condition = scope_sql.visible(scope)
        return identifiers.find(self._connection, sought, partitions, condition, k)

    def nearest(self, vector: FloatArray, model_id: str, scope: Scope, k: int) -> Hits:
        """Find the k memories whose best views have the highest cosine with a unit vector."""
        (hits,) = self._vectors.nearest(vector[None, :], model_id, scope, k)
        return hits

    def cosines(self, vector: FloatArray, model_id: str, ids: IdArray, scope: Scope) -> FloatArray:
        """Return the cosine of memories' best views with a unit vector, NaN without a vector."""
        return self._vectors.cosines(vector, model_id, ids, scope)

    def bodies(self, model_id: str, ids: IdArray, scope: Scope) -> FloatArray:
        """Return the unit vectors of bodies (n, dim), zeros for a memory without one.

        Those of the array of ids that was asked for last are kept.
        """
        return self._vectors.bodies(model_id, ids, scope)

    def token_vectors(self, model_id: str, ids: IdArray, scope: Scope) -> TokenVectors:
        """Return the token vectors of memories, of all their views and passages."""
        return self._vectors.token_vectors(model_id, ids, _in_scope(ids, scope), scope)

    def passage_vectors(
        self, model_id: str, ids: IdArray, scope: Scope
    ) -> dict[int, PassageVectors]:
        """Return the vectors of the passages of those memories that are long."""
        return self._vectors.passages(model_id, _in_scope(ids, scope), scope)

    def long_among(self, model_id: str, ids: IdArray, scope: Scope) -> IdArray:
        """Return those of some memories of which a model has read passages, ascending."""
        return self._vectors.long_among(model_id, _in_scope(ids, scope), scope)

    def passage_words(self, ids: IdArray, stems: Sequence[str], scope: Scope) -> PassageWords:
        """Count stems in the passages of those memories that are long."""
        loaded = self.authors_and_texts(ids, scope)
        texts = ((memory, text) for memory, (_, text) in loaded.items())
        return passage_words.count(texts, stems)

    def n_current(self, scope: Scope) -> int:
        """Count the scope's current memories."""
        return sum([partition.n_current for partition in self.partitions(scope)])

    def n_pending(self, model_id: str | None, scope: Scope) -> int:
        """Count the scope's current memories without a vector of a model, or of the newest."""
        return max(0, self.n_current(scope) - self._vectors.n_embedded(model_id, scope))

    def edges(self, nodes: IdArray, scope: Scope, cap: int) -> EdgeList:
        """Return up to ``cap`` of the strongest edges out of each node in scope."""
        return edges.out_of(self._connection, _in_scope(nodes, scope), scope.as_of_s, cap)

    def degrees(self, nodes: IdArray, scope: Scope) -> FloatArray:
        """Count the edges at each node, up to 1024; 0 outside the scope."""
        visible = _in_scope(nodes, scope)
        degrees = edges.degrees(self._connection, visible)
        if len(visible) == len(nodes):
            return degrees
        by_node = dict(zip(visible.tolist(), degrees, strict=True))
        return np.array([by_node.get(node, 0.0) for node in nodes.tolist()], np.float32)

    def entities(self, names: Sequence[str], scope: Scope) -> list[tuple[str, Entity]]:
        """Find the entities that some normalised names stand for."""
        return [
            (alias, Entity(entity, name, person_id))
            for alias, entity, name, person_id in self._entities.find(scope.partitions, names)
        ]

    def entities_in(self, words: Sequence[str], scope: Scope) -> list[tuple[str, Entity]]:
        """Find the entities whose names stand in a text of some normalised words."""
        return [
            (alias, Entity(entity, name, person_id))
            for alias, entity, name, person_id in self._entities.find_in(scope.partitions, words)
        ]

    def asker(self, scope: Scope) -> list[Entity]:
        """Return the entities of the person who asks."""
        if scope.person_id is None:
            return []
        alias = f"@{scope.person_id}"
        return self._unchanged.get(
            (alias, scope.partitions), lambda: [each for _, each in self.entities([alias], scope)]
        )

    def aliases_like(self, word: str, edits: int, scope: Scope) -> list[str]:
        """List the one-word names that so many edits to a word could give, and others.

        They begin with its first letter, or with its first two swapped, and are at most
        ``edits`` letters shorter or longer. None come back when they would be thousands.
        """
        return self._entities.aliases_like(scope.partitions, word, edits)

    def relations(
        self, entities: Sequence[int], scope: Scope, *, ended: bool = False
    ) -> list[StoredRelation]:
        """List the relations of some entities that hold at the scope's moments, oldest first.

        ``ended``: those that held before, and no longer do.
        """
        visible = _in_scope(np.array(entities, np.int64), scope)
        return relation_queries.among(self._connection, visible, scope, ended=ended)

    def evidence_of(
        self, relations: Sequence[StoredRelation], scope: Scope
    ) -> dict[int, list[tuple[int, str]]]:
        """Return (row id, doc_id) of the evidence of some relations, by the relation's number."""
        visible = set(scope.partitions)
        numbers = [r.no for r in relations if partition_of(r.subject.id) in visible]
        return relation_queries.evidence_of(self._connection, numbers, scope)

    def stating_relations(self, ids: IdArray, scope: Scope) -> IdArray:
        """Return those of some memories in scope that are the evidence of a relation."""
        return relation_queries.stating(self._connection, _in_scope(ids, scope))

    def relations_in(
        self, scope: Scope, limit: int, about: Sequence[int] | None = None
    ) -> list[Relation]:
        """List the relations of a scope that hold at its moment, as stated, oldest first.

        With ``about`` only those that have one of these entities at either end.
        """
        return relation_queries.in_scope(self._connection, scope, limit, self._zone, about)

    def mentions(
        self, ids: IdArray, entities: Sequence[int], scope: Scope
    ) -> list[tuple[int, int]]:
        """List the (memory, entity) pairs among some memories and entities."""
        return sql.rows(
            self._connection,
            "SELECT t.memory, t.entity FROM carray(?) e CROSS JOIN mention t"
            " ON t.memory = e.value AND t.entity IN (SELECT value FROM carray(?))",
            (sql.id_array(_in_scope(ids, scope)), apsw.carray(np.array(entities, np.int64))),
        )

    def node_names(self, nodes: IdArray, scope: Scope) -> dict[int, str]:
        """Return the names of nodes: doc_ids of memories, names of entities."""
        visible = sql.id_array(_in_scope(nodes, scope))
        rows = sql.rows(
            self._connection,
            "SELECT id, doc_id FROM memory WHERE id IN (SELECT value FROM carray(?))"
            " UNION ALL SELECT id, name FROM entity WHERE id IN (SELECT value FROM carray(?))",
            (visible, visible),
        )
        return dict(rows)

    def session_around(self, memory: int, scope: Scope, k: int, *, before: bool) -> IdArray:
        """Return up to k memories before, or after, one in its session: the nearest first."""
        if not len(_in_scope(np.array([memory], np.int64), scope)):
            return np.zeros(0, np.int64)
        return timeline.session_around(self._connection, memory, scope, k, before=before)

    def newest(self, scope: Scope, k: int, *, lasting: bool = False) -> Hits:
        """Return each partition's k newest memories, or facts, profiles and milestones alone.

        By the moment they were recorded, the newest of all first.
        """
        return timeline.newest(self._connection, scope, k, lasting=lasting)

    def about(self, entities: Sequence[int], scope: Scope, k: int) -> Hits:
        """Find up to k memories about some entities: facts, profiles and milestones first.

        Scores are those of :mod:`family_recall.store.text.about`.
        """
        return about.about(self._connection, entities, scope, k)

    def having_facts(self, ids: IdArray, scope: Scope) -> IdArray:
        """Return those of some memories in scope that state a fact by key and value."""
        return about.having_facts(self._connection, _in_scope(ids, scope))

    def keys_and_labels(
        self, ids: IdArray, scope: Scope
    ) -> list[tuple[int, str | None, tuple[str, ...]]]:
        """List the fact key and the labels of those of some memories in scope that have any."""
        return about.keys_and_labels(self._connection, _in_scope(ids, scope))

    def occurred(self, scope: Scope) -> Occurred:
        """Return everything that occurred in the scope's interval; read once for each scope."""
        if scope not in self._occurred:
            self._occurred[scope] = timeline.occurred(self._connection, scope)
        return self._occurred[scope]

    def lying_in(self, interval_s: tuple[float, float], scope: Scope, limit: int) -> IdArray:
        """Return up to ``limit`` ids of what lies in an interval, ascending."""
        return timeline.lying_in(self._connection, interval_s, scope, limit)

    def mentioned_times(self, ids: IdArray, scope: Scope) -> MentionedTimes:
        """Return the times that memories mention; none of those out of scope."""
        return mentioned_times.of(self._connection, _in_scope(ids, scope))

    def milestones(
        self, scope: Scope, wanted: Callable[[str | None, str | None], bool], limit: int
    ) -> list[Milestone]:
        """Load up to ``limit`` milestones and dated facts of wanted (event_type, fact_key).

        The scope's filters do not apply here; its partitions and moments do.
        """
        return timeline.milestones(self._connection, scope, wanted, limit)

    def rows(self, ids: IdArray, scope: Scope) -> Rows:
        """Load the columns that ranking needs, ascending by id; ids out of scope are left out."""
        return self._read(
            _in_scope(ids, scope),
            lambda visible: memories.ranking_columns(self._connection, visible, scope),
        )

    def memories(self, ids: IdArray, scope: Scope) -> list[MemoryRow]:
        """Load memories, as their rows, in the order of ``ids``; those out of scope are left out.

        So are damaged ones, which are added to ``damaged``.
        """
        visible = _in_scope(ids, scope)
        condition = scope_sql.visible(scope)
        loaded = self._read(
            visible,
            lambda some: memories.load_rows(self._connection, some, condition),
        )
        intact = [row for row in loaded if checksums.is_intact(row)]
        if len(intact) < len(visible):
            damaged = checksums.damaged(self._connection, visible)
            self.damaged |= set(visible.tolist()) & set(damaged)
        return intact

    def authors_and_texts(self, ids: IdArray, scope: Scope) -> dict[int, tuple[str | None, str]]:
        """Load what a model reads of memories: (author, text); none the scope does not cover."""
        return self._read(
            _in_scope(ids, scope),
            lambda visible: memories.authors_and_texts(self._connection, visible, scope),
        )

    def statements(self, ids: IdArray, scope: Scope) -> dict[int, Statement]:
        """Load what memories say and from when; none the scope does not cover."""
        return self._read(
            _in_scope(ids, scope),
            lambda visible: memories.statements(self._connection, visible, scope),
        )

    def turns_after(
        self, ids: IdArray, cue: int, n_any: int, scope: Scope, k: int
    ) -> dict[int, list[Turn]]:
        """Return up to k memories after the first few of some, and after those that have a cue.

        By the memory that they follow, of which each is read once.
        """
        turns = self._turns.setdefault(scope, {})
        unread = [memory not in turns for memory in ids.tolist()]
        if any(unread):
            visible, n_first = _in_scope(ids[unread], scope), sum(unread[:n_any])
            turns |= session_turns.after(self._connection, visible, cue, n_first, scope, k)
        return {memory: turns[memory] for memory in ids.tolist() if memory in turns}

    def find(self, doc_id: str, scope: Scope) -> StoredMemory:
        """Find one memory by its id.

        Raises:
            UnknownMemoryError: If there is none, or none in scope: the two read alike.
        """
        condition, values = scope_sql.visible(scope)
        for stored in memories.load(
            self._connection, f"m.doc_id = ? AND {condition}", (doc_id, *values), self._zone
        ):
            if partition_of(stored.id) in scope.partitions:
                return stored
        raise UnknownMemoryError(f"no memory {doc_id!r} that you can see")

    def _read(self, ids: IdArray, read: Callable[[IdArray], _T]) -> _T:
        """Read some rows; where some are too damaged for that, the others."""
        try:
            return read(ids)
        except _UNREADABLE:
            readable = np.array(
                [_is_readable(read, ids[at : at + 1]) for at in range(len(ids))], np.bool_
            )
            self.damaged |= set(ids[~readable].tolist())
            return read(ids[readable])

    def _stem_counts(
        self, stems: Sequence[str], shards: tuple[int, ...]
    ) -> dict[str, dict[int, int]]:
        """Count the memories of each shard that hold each stem; each is read once."""
        counts = self._counts.setdefault(shards, {})
        unknown = [stem for stem in stems if stem not in counts]
        if unknown:
            counts.update(full_text.counts_by_shard(self._connection, shards, unknown))
        return counts


def _in_scope(nodes: IdArray, scope: Scope) -> IdArray:
    """Return those of some nodes that are of the scope's partitions."""
    is_visible = _is_of(scope.partitions).take(np.abs(nodes) >> PARTITION_SHIFT, mode="clip")
    visible: IdArray = nodes[is_visible]
    return visible


@functools.lru_cache(maxsize=64)
def _is_of(partitions: tuple[int, ...]) -> BoolArray:
    """Return whether each number is of some partitions: up to the first that is greater."""
    is_of = np.zeros(max(partitions, default=0) + 2, np.bool_)
    is_of[list(partitions)] = True
    return is_of


def _is_readable(read: Callable[[IdArray], object], ids: IdArray) -> bool:
    try:
        read(ids)
    except _UNREADABLE:
        return False
    return True
