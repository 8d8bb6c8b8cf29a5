"""Transactions: the tables of one file by what they hold, in one consistent view."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterable, Iterator, Sequence

import apsw
import numpy as np

from family_recall.errors import StoreError
from family_recall.store import identifiers, memories, word_index
from family_recall.store.audit import AuditTables
from family_recall.store.erasure_log import ErasureLog
from family_recall.store.feedback import FeedbackLog
from family_recall.store.file import checksums, sql
from family_recall.store.file.schema import (
    PARTITION_SHIFT,
    id_range,
    partition_of,
    shard_of,
    shards_in,
)
from family_recall.store.graph import EdgeBuffer, Entities, add_edges, remove_node
from family_recall.store.graph_queries import GraphQueries
from family_recall.store.household import Household
from family_recall.store.listing import Listings
from family_recall.store.memories import MemoryRow, MentionedTime, NewMemory, Place, StoredMemory
from family_recall.store.memory_queries import MemoryQueries
from family_recall.store.partitions import Partitions
from family_recall.store.reader import ReadCaches
from family_recall.store.relations import RecordedRelation, RelationQueries, Relations, of_space
from family_recall.store.timeline_queries import TimelineQueries
from family_recall.store.vector_search import VectorSearch
from family_recall.store.vectors import Vectors
from family_recall.store.versions import Versions
from family_recall.store.word_index import WordIndex
from family_recall.store.word_search import WordSearch
from family_recall.types import BANDS
from family_recall.types.understanding import Identifier

_BATCH = 500  # memories
_RANK = (
    f"CASE {{}}.band {' '.join(f'WHEN {band!r} THEN {at}' for at, band in enumerate(BANDS))} END"
)
_MORE_OPEN = (
    "memory p JOIN space s ON s.no = p.space JOIN memory c ON c.space = p.space"
    " AND c.doc_id = p.doc_id AND c.redacted_view = 0 AND c.superseded_s IS NULL"
    f" WHERE p.superseded_s IS NOT NULL AND {_RANK.format('p')} < {_RANK.format('c')}"
)
_DERIVED = ("mention", "edge", "identifier", "mentioned_time")
_DELETE_STRAY = """
DELETE FROM main.entity WHERE -id >> 40 NOT IN (SELECT no FROM partition);
UPDATE main.partition SET next_entity = max(next_entity, 1 + coalesce(
  (SELECT max(-e.id) FROM main.entity e WHERE -e.id >> 40 = no) - (no << 40), 0));
DELETE FROM main.alias WHERE entity NOT IN (SELECT id FROM main.entity)
  OR -entity >> 40 IS NOT partition;
DELETE FROM main.relation WHERE subject NOT IN (SELECT id FROM main.entity)
  OR object NOT IN (SELECT id FROM main.entity) OR -subject >> 40 <> -object >> 40;
"""


class Snapshot(
    WordSearch, VectorSearch, GraphQueries, RelationQueries, MemoryQueries, TimelineQueries
):
    """What one read transaction sees. Every query takes a scope, and sees nothing outside it.

    One thread at a time may use it.
    """


class Transaction:
    """What every transaction can read, whether it can write or not."""

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo, *, vec0: bool = False) -> None:
        self.connection = connection
        self.zone = zone
        self.household = Household(connection)
        self.feedback = FeedbackLog(connection)
        self.audit = AuditTables(connection)
        self.erasure_log = ErasureLog(connection)
        self.versions = Versions(connection)
        self.listings = Listings(connection, zone)
        self.vectors = Vectors(connection, vec0)

    def info(self, key: str) -> str | None:
        """Return a fact about the file, such as its time zone; None if it is not set."""
        row = sql.row(self.connection, "SELECT value FROM info WHERE key = ?", (key,))
        return str(row[0]) if row else None


class ReadTransaction(Transaction):
    """A transaction that reads."""

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo, caches: ReadCaches) -> None:
        super().__init__(connection, zone)
        self._caches = caches

    @functools.cached_property
    def snapshot(self) -> Snapshot:
        """The memories, for recall."""
        return Snapshot(self.connection, self.zone, self._caches)


class WriteTransaction(Transaction):
    """The tables of one file, inside one write transaction; call :meth:`finish` before it ends.

    ``changed`` lists the memories whose text is new, and which so have no vectors.
    """

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo, *, vec0: bool) -> None:
        super().__init__(connection, zone, vec0=vec0)
        self.changed: list[int] = []
        self.partitions = Partitions(connection, self.household, self.vectors)
        self.entities = Entities(connection)
        self.relations = Relations(connection)
        self.edge_buffer = EdgeBuffer(connection)
        self._words = WordIndex(connection)
        self._unindexed: list[int] = []

    @property
    def words(self) -> WordIndex:
        """The full-text index, with the words of every memory stored so far."""
        self._index_new()
        return self._words

    def finish(self) -> None:
        """Write the edges that were gathered, and the words of new memories together."""
        self.edge_buffer.flush()
        self._index_new()

    def _index_new(self) -> None:
        if self._unindexed:
            ids, self._unindexed = self._unindexed, []
            self._words.add(ids)

    def put_info(self, key: str, value: str) -> None:
        """Set a fact about the file."""
        self.connection.execute(
            "INSERT OR REPLACE INTO main.info(key, value) VALUES(?, ?)", (key, value)
        )

    def current(self, space_id: str, doc_id: str, view: int = 0) -> StoredMemory | None:
        """Return the current version of a memory, or of its redacted view; None if there is none.

        Raises:
            UnknownSpaceError: If the household has no such space.
        """
        versions = memories.load(
            self.connection,
            "m.space = ? AND m.doc_id = ? AND m.redacted_view = ? AND m.superseded_s IS NULL",
            (self.household.space_no(space_id), doc_id, view),
            self.zone,
        )
        return versions[0] if versions else None

    def content_hash(self, memory: int) -> bytes:
        """Return the stored hash of a memory's content."""
        (stored,) = sql.row(
            self.connection, "SELECT content_hash FROM memory WHERE id = ?", (memory,)
        )
        return bytes(stored)

    def same_content(self, partition: int, content_hash: bytes) -> str | None:
        """Return the doc_id of a current memory of a partition with the same content, if any."""
        row = sql.row(
            self.connection,
            "SELECT m.doc_id FROM partition p CROSS JOIN memory m ON m.space = p.space"
            " WHERE p.no = ? AND m.content_hash = ? AND m.id BETWEEN ? AND ?"
            " AND m.superseded_s IS NULL",
            (partition, content_hash, *id_range(partition)),
        )
        return str(row[0]) if row else None

    def history(self, space_id: str) -> list[StoredMemory | RecordedRelation]:
        """List every version of every memory of a space, and its relations, the oldest first.

        Raises:
            StoreError: If a memory is damaged.
        """
        versions = memories.load(
            self.connection,
            "m.space = (SELECT no FROM space WHERE space_id = ?) AND m.redacted_view = 0"
            " ORDER BY m.recorded_s, m.superseded_s IS NULL, m.superseded_s, m.id",
            (space_id,),
            self.zone,
        )
        if not all(version.intact for version in versions):
            raise StoreError(
                f"{space_id}: holds memories that are damaged in the file; family-recall doctor "
                "names them, and --repair takes them out"
            )
        relations = of_space(self.connection, space_id, self.zone)
        return sorted([*versions, *relations], key=lambda record: record.recorded_s)

    def insert(self, partition: int, new: NewMemory, *, view: int = 0) -> tuple[int, Place]:
        """Store a memory with its words; returns its id and its place in its session.

        The memory after it in the session has it as its context from now on.
        """
        memory = self.partitions.allocate(partition)
        place = self._place(memory, new)
        memories.insert(
            self.connection,
            memory,
            new,
            space=self.household.space_no(new.memory.space_id),
            redacted_view=view,
            context_id=place.previous,
        )
        self._unindexed.append(memory)
        self.changed.append(memory)
        if place.following is not None:
            self._set_context(place.following, memory)
        return memory, place

    def supersede(self, old: StoredMemory, at_s: float, next_weight: float) -> None:
        """Move a memory to its partition's superseded ones and off the graph.

        Its neighbours in its session become each other's.
        """
        self.edge_buffer.flush()
        self.words.remove([old.id])
        self.connection.execute("UPDATE memory SET superseded_s = ? WHERE id = ?", (at_s, old.id))
        self.words.add([old.id])
        self.vectors.move(old.id, shard_of(partition_of(old.id), past=True))
        remove_node(self.connection, old.id)
        self.connection.execute("DELETE FROM mention WHERE memory = ?", (old.id,))
        (previous,) = sql.row(
            self.connection, "SELECT context_id FROM memory WHERE id = ?", (old.id,)
        )
        for (following,) in sql.rows(
            self.connection,
            "SELECT id FROM memory WHERE context_id = ? AND superseded_s IS NULL",
            (old.id,),
        ):
            self._set_context(following, previous)
            if previous is not None:
                add_edges(self.connection, [(previous, following, next_weight, "next")])

    def raise_bands(self, space_id: str, doc_id: str) -> None:
        """Move versions into the band of the current one where theirs is more open.

        Copies in redacted views move too. No superseded version of a less confidential band has
        their words as its context any more. Their vectors are pending.
        """
        rows = sql.rows(
            self.connection,
            f"SELECT p.id, p.guardians_of, p.redacted_view, c.band FROM {_MORE_OPEN}"
            " AND s.space_id = ? AND p.doc_id = ? ORDER BY p.id",
            (space_id, doc_id),
        )
        for memory, child, view, band in rows:
            partition = self.partitions.find_or_create(space_id, band, child, view)
            self.changed.append(self._move_version(memory, partition, band))

    def _move_version(self, memory: int, partition: int, band: str) -> int:
        """Move a superseded version to another partition, where it has another id."""
        execute = self.connection.execute
        followers = [each for each in self.versions.with_following([memory]) if each != memory]
        self.words.remove([memory, *followers])
        self.vectors.remove([memory])
        moved = self.partitions.allocate(partition)
        execute("UPDATE memory SET context_id = NULL WHERE context_id = ?", (memory,))
        execute(
            "UPDATE memory SET id = ?, band = ?, context_id = NULL WHERE id = ?",
            (moved, band, memory),
        )
        checksums.fill(self.connection, np.array([moved], np.int64))
        execute("UPDATE mentioned_time SET memory = ? WHERE memory = ?", (moved, memory))
        execute(
            "UPDATE identifier SET memory = ?, partition = ? WHERE memory = ?",
            (moved, partition, memory),
        )
        execute(
            "UPDATE relation SET evidence = (SELECT json_group_array(iif(value = ?1, ?2, value))"
            "  FROM json_each(evidence))"
            " WHERE EXISTS (SELECT 1 FROM json_each(evidence) WHERE value = ?1)",
            (memory, moved),
        )
        self.words.add([moved, *followers])
        return moved

    def reindex(self, stored: StoredMemory, new: NewMemory) -> Place:
        """Derive a stored memory's columns and words from its text again."""
        place = self._place(stored.id, new)
        # A superseded memory keeps the context it had: its session has changed since.
        self.connection.execute(
            "UPDATE memory SET header = ?, context_id = iif(superseded_s IS NULL, ?, context_id)"
            " WHERE id = ?",
            (new.header, place.previous, stored.id),
        )
        self.words.add([stored.id])
        return place

    def load(self, ids: Sequence[int]) -> Iterator[StoredMemory]:
        """Load whole memories by row id, superseded ones too, in this order."""
        for start in range(0, len(ids), _BATCH):
            batch = np.array(ids[start : start + _BATCH], np.int64)
            yield from memories.load_ids(self.connection, batch, self.zone)

    def load_rows(self, ids: Sequence[int]) -> Iterator[MemoryRow]:
        """Load the rows of memories, superseded ones too, in this order."""
        for start in range(0, len(ids), _BATCH):
            batch = np.array(ids[start : start + _BATCH], np.int64)
            yield from memories.load_rows(self.connection, batch)

    def every_id(self) -> list[int]:
        """List all memories, each partition's sessions in order."""
        return self._ids(
            "SELECT id FROM memory ORDER BY id >> ?, session_id, order_s, id", PARTITION_SHIFT
        )

    def authored_by(self, person_id: str) -> list[int]:
        """List all memories by a person, superseded ones and redacted views too."""
        return self._ids("SELECT id FROM memory WHERE author = ? ORDER BY id", person_id)

    def put_author(self, memory: int, author: str | None, content_hash: bytes) -> None:
        """Change a memory's author; its header and words are the caller's."""
        self.connection.execute(
            "UPDATE memory SET author = ?, content_hash = ? WHERE id = ?",
            (author, content_hash, memory),
        )
        checksums.fill(self.connection, np.array([memory], np.int64))

    def put_header(self, memory: int, header: str) -> None:
        """Write a memory's header, while its words are not in the index."""
        self.connection.execute("UPDATE memory SET header = ? WHERE id = ?", (header, memory))

    def put_derived(
        self,
        memory: int,
        cues: int,
        quoted: Iterable[Identifier],
        times: Iterable[MentionedTime],
    ) -> None:
        """Store a memory's cues, identifiers and mentioned times, in place of those it had."""
        self.connection.execute("UPDATE memory SET cues = ? WHERE id = ?", (cues, memory))
        identifiers.put(self.connection, memory, quoted)
        self.connection.execute("DELETE FROM mentioned_time WHERE memory = ?", (memory,))
        self.connection.executemany(
            "INSERT OR REPLACE INTO mentioned_time(memory, start_s, end_s, certainty)"
            " VALUES(?, ?, ?, ?)",
            [(memory, *time) for time in times],
        )

    def clear_derived(self) -> None:
        """Delete all that is derived: words, vectors, identifiers, times, mentions, edges.

        Names that belong to nothing, and relations between such, go too.
        """
        self.vectors.clear()
        for table in _DERIVED:
            self.connection.execute(f"DELETE FROM main.{table}")
        self.connection.execute(_DELETE_STRAY)
        for shard in shards_in(self.connection):
            word_index.drop(self.connection, shard)
            word_index.create(self.connection, shard)
        self.connection.execute(
            "UPDATE main.partition SET n_current = 0, n_past = 0, words_current = 0,"
            " words_past = 0, n_bounded = 0"
        )

    def _ids(self, query: str, value: object) -> list[int]:
        return [memory for (memory,) in sql.rows(self.connection, query, (value,))]

    def _place(self, memory: int, new: NewMemory) -> Place:
        """Find the current memories of its session between which a memory stands."""
        if new.memory.session_id is None:
            return Place(None, None)
        partition = partition_of(memory)
        sides = []
        for comparison, direction in (("<", "DESC"), (">", "ASC")):
            row = sql.row(
                self.connection,
                "SELECT id FROM memory WHERE space = (SELECT space FROM partition WHERE no = ?)"
                f" AND session_id = ? AND (order_s, id) {comparison} (?, ?)"
                " AND id BETWEEN ? AND ? AND superseded_s IS NULL"
                f" ORDER BY order_s {direction}, id {direction} LIMIT 1",
                (partition, new.memory.session_id, new.said_s, memory, *id_range(partition)),
            )
            sides.append(row[0] if row else None)
        return Place(*sides)

    def _set_context(self, memory: int, previous: int | None) -> None:
        """Change the memory before a current one; the words of its context change with it."""
        self.words.remove([memory])
        self.connection.execute("UPDATE memory SET context_id = ? WHERE id = ?", (previous, memory))
        self.words.add([memory])
