"""Transactions: the tables of one file by what they hold, in one consistent view."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterable, Iterator, Sequence

import apsw
import numpy as np

from family_recall.errors import StoreError
from family_recall.store import identifiers, memories, vector_tables, word_index
from family_recall.store.audit import AuditTables
from family_recall.store.erasure_log import ErasureLog
from family_recall.store.feedback import FeedbackLog
from family_recall.store.file import checksums, sql
from family_recall.store.file.schema import PARTITION_SHIFT, id_range, partition_of, shard_of
from family_recall.store.graph import EdgeBuffer, Entities, add_edges, remove_node
from family_recall.store.household import Household
from family_recall.store.identifiers import Texts
from family_recall.store.listing import Listings
from family_recall.store.memories import MentionedTime, NewMemory, Place, StoredMemory
from family_recall.store.new_memories import Authors, NewMemories
from family_recall.store.partitions import Counters, Partitions
from family_recall.store.reader import ReadCaches
from family_recall.store.relations import RecordedRelation, Relations, of_space
from family_recall.store.snapshot import Snapshot
from family_recall.store.vector_writing import PendingVectors, VectorWriter
from family_recall.store.versions import Versions
from family_recall.store.word_index import WordIndex
from family_recall.store.words import Indexed
from family_recall.types import BANDS
from family_recall.types.understanding import Identifier


class Transaction:
    """What every transaction can read, whether it can write or not."""

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo) -> None:
        self._connection = connection
        self.zone = zone
        self.household = Household(connection)
        self.feedback = FeedbackLog(connection)
        self.audit = AuditTables(connection)
        self.erasure_log = ErasureLog(connection)
        self.versions = Versions(connection)
        self.listings = Listings(connection, zone)
        self.pending_vectors = PendingVectors(connection)

    def info(self, key: str) -> str | None:
        """Return a fact about the file, such as its time zone; None if it is not set."""
        row = sql.row(self._connection, "SELECT value FROM info WHERE key = ?", (key,))
        return str(row[0]) if row else None


class ReadTransaction(Transaction):
    """A transaction that reads."""

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo, caches: ReadCaches) -> None:
        super().__init__(connection, zone)
        self.connection = connection
        self._caches = caches

    @functools.cached_property
    def snapshot(self) -> Snapshot:
        """The memories, for recall."""
        return Snapshot(self._connection, self.zone, self._caches)


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


class WriteTransaction(Transaction):
    """The tables of one file, inside one write transaction; call :meth:`finish` before it ends.

    Counters, words and edges are gathered, and written when they are read or at the end.
    ``changed`` lists the memories whose text is new, and which so have no vectors.
    """

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo, *, vec0: bool) -> None:
        super().__init__(connection, zone)
        self.connection = connection
        self.changed: list[int] = []
        self.partitions = Partitions(connection, vec0=vec0)
        self.entities = Entities(connection)
        self.relations = Relations(connection)
        self.edge_buffer = EdgeBuffer(connection)
        self.authors = Authors(connection)
        self._counters = Counters(connection)
        self.words = WordIndex(connection, self._counters)
        self._new = NewMemories(connection, self.words)
        self.vectors = VectorWriter(connection, vec0, self._counters)
        self.vec0 = vec0

    def finish(self) -> None:
        """Write what was gathered: words, edges and counters."""
        self.words.flush()
        self.edge_buffer.flush()
        self._counters.flush()

    def write_new(self) -> None:
        """Write the rows of new memories, before the table is read."""
        self._new.flush()

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
        space = self.partitions.space_no(space_id)
        self._new.flush_if_holds(("doc", space, doc_id))
        row = sql.row(
            self.connection,
            "SELECT id FROM memory"
            " WHERE space = ? AND doc_id = ? AND redacted_view = ? AND superseded_s IS NULL",
            (space, doc_id, view),
        )
        # Most memories are new: whole rows are read of the others alone.
        return memories.load(self.connection, "m.id = ?", row, self.zone)[0] if row else None

    def content_hash(self, memory: int) -> bytes:
        """Return the stored hash of a memory's content."""
        (stored,) = sql.row(
            self.connection, "SELECT content_hash FROM memory WHERE id = ?", (memory,)
        )
        return bytes(stored)

    def same_content(self, partition: int, space_id: str, content_hash: bytes) -> str | None:
        """Return the doc_id of a current memory of a partition with the same content, if any."""
        self._new.flush_if_holds(("content", partition, content_hash))
        row = sql.row(
            self.connection,
            "SELECT doc_id FROM memory WHERE space = ? AND content_hash = ?"
            " AND id BETWEEN ? AND ? AND superseded_s IS NULL",
            (self.partitions.space_no(space_id), content_hash, *id_range(partition)),
        )
        return str(row[0]) if row else None

    def naming(self, partition: int, name: str) -> list[tuple[int, str]]:
        """List the current memories of a partition that may hold a normalised name: (id, text)."""
        if self._new.may_name(partition, name):
            self._new.flush()
        return self.words.with_phrase(partition, name)

    def history(self, space_id: str) -> list[StoredMemory | RecordedRelation]:
        """List every version of every memory of a space, and its relations, the oldest first.

        Raises:
            StoreError: If a memory is damaged.
        """
        versions = memories.load(
            self.connection,
            "s.space_id = ? AND m.redacted_view = 0"
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

    def insert(
        self, partition: int, new: NewMemory, recorded_s: float, *, view: int = 0
    ) -> tuple[int, Place]:
        """Store a memory with its words; returns its id and its place in its session.

        The memory after it in the session has it as its context from now on. The row may be
        written later, with others: :meth:`write_new` writes it now.
        """
        memory = self._counters.allocate(partition)
        order_s = recorded_s if new.occurred_s is None else new.occurred_s
        place, context = self._new.place_new(partition, new, order_s, memory)
        space, session = self.partitions.space_no(new.memory.space_id), new.memory.session_id
        row = memories.new_row(
            memory, new, space=space, redacted_view=view,
            recorded_s=recorded_s, order_s=order_s, context_id=place.previous,
        )  # fmt: skip
        self._new.append(
            row,
            Indexed(memory, memories.body_of(new.memory), new.header, context),
            ("doc", space, new.doc_id),
            ("content", partition, new.content_hash),
            ("session", partition, session),
        )
        change = self._counters.of(partition)
        change.n_current += 1
        change.n_bounded += _is_bounded(new)
        self.changed.append(memory)
        if place.following is not None:
            self._set_context(place.following, memory)
        return memory, place

    def supersede(self, old: StoredMemory, at_s: float, next_weight: float) -> None:
        """Move a memory to its partition's superseded ones and off the graph.

        Its neighbours in its session become each other's.
        """
        partition = partition_of(old.id)
        self._new.clear_sessions()
        self.edge_buffer.flush()
        self.words.supersede(old.id)
        self.connection.execute("UPDATE memory SET superseded_s = ? WHERE id = ?", (at_s, old.id))
        vector_tables.move(self.connection, old.id, shard_of(partition, past=True), vec0=self.vec0)
        remove_node(self.connection, old.id)
        self.connection.execute("DELETE FROM mention WHERE memory = ?", (old.id,))
        change = self._counters.of(partition)
        change.n_current -= 1
        change.n_past += 1
        change.n_bounded -= old.memory.valid_from is not None or old.memory.valid_until is not None
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

    def raise_bands(self, space_id: str, doc_id: str) -> list[int]:
        """Move versions into the band of the current one where theirs is more open.

        Copies in redacted views move too. No superseded version of a less confidential band has
        their words as its context any more.

        Returns:
            Their new row ids; vectors are pending.
        """
        rows = sql.rows(
            self.connection,
            f"SELECT p.id, p.guardians_of, p.redacted_view, c.band FROM {_MORE_OPEN}"
            " AND s.space_id = ? AND p.doc_id = ? ORDER BY p.id",
            (space_id, doc_id),
        )
        return [
            self._move_version(
                memory, self.partitions.find_or_create(space_id, band, child, view), band
            )
            for memory, child, view, band in rows
        ]

    def _move_version(self, memory: int, partition: int, band: str) -> int:
        execute = self.connection.execute
        followers = [
            follower
            for (follower,) in sql.rows(
                self.connection, "SELECT id FROM memory WHERE context_id = ?", (memory,)
            )
        ]
        self.words.remove([memory, *followers])
        self.vectors.clear([memory])
        moved = self._counters.allocate(partition)
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
        self._counters.of(partition_of(memory)).n_past -= 1
        self._counters.of(partition).n_past += 1
        return moved

    def reindex(self, stored: StoredMemory, new: NewMemory) -> Place:
        """Derive a stored memory's columns and words from its text again."""
        partition = partition_of(stored.id)
        past = stored.superseded_s is not None
        order_s = stored.recorded_s if new.occurred_s is None else new.occurred_s
        place = self._new.place(partition, new, order_s, stored.id)
        # A superseded memory keeps the context it had: its session has changed since.
        self.connection.execute(
            "UPDATE memory SET header = ?, cues = ?,"
            " context_id = iif(superseded_s IS NULL, ?, context_id) WHERE id = ?",
            (new.header, new.cues, place.previous, stored.id),
        )
        self.words.add([stored.id])
        change = self._counters.of(partition)
        change.n_past += past
        change.n_current += not past
        change.n_bounded += _is_bounded(new) and not past
        return place

    def load(self, ids: Sequence[int]) -> list[StoredMemory]:
        """Load whole memories by row id, superseded ones too."""
        chosen = sql.id_array(np.array(ids, np.int64))
        where = "m.id IN (SELECT value FROM carray(?)) ORDER BY m.id"
        return memories.load(self.connection, where, (chosen,), self.zone)

    def every_memory(self) -> Iterator[StoredMemory]:
        """Yield all memories, each partition's sessions in order."""
        ids = sql.rows(
            self.connection,
            "SELECT id FROM memory ORDER BY id >> ?, session_id, order_s, id",
            (PARTITION_SHIFT,),
        )
        for (memory,) in ids:
            yield from memories.load(self.connection, "m.id = ?", (memory,), self.zone)

    def clear_derived(self) -> None:
        """Delete all that is derived: words, vectors, identifiers, times, mentions, edges."""
        for model in vector_tables.models(self.connection):
            vector_tables.drop(self.connection, model, vec0=self.vec0)
        for table in (*_DERIVED, "embedding_model", "embedding"):
            self.connection.execute(f"DELETE FROM main.{table}")
        for partition in self.household.every_partition():
            for past in (False, True):
                word_index.clear(self.connection, shard_of(partition.no, past=past))
        self.connection.execute(
            "UPDATE main.partition SET n_current = 0, n_past = 0, words_current = 0,"
            " words_past = 0, n_bounded = 0, rewrites = rewrites + 1"
        )

    def put_cues(self, memory: int, cues: int) -> None:
        """Store the bits of a memory's cues."""
        self.connection.execute("UPDATE memory SET cues = ? WHERE id = ?", (cues, memory))

    def put_identifiers(self, memory: int, new: Iterable[Identifier]) -> None:
        """Store the identifiers of a memory, in place of those it had."""
        identifiers.put(self.connection, memory, new)

    def put_times(self, memory: int, times: Iterable[MentionedTime]) -> None:
        """Store the times that a memory mentions, in place of those it had."""
        self.connection.execute("DELETE FROM mentioned_time WHERE memory = ?", (memory,))
        self.connection.executemany(
            "INSERT OR REPLACE INTO mentioned_time(memory, start_s, end_s, certainty)"
            " VALUES(?, ?, ?, ?)",
            [(memory, *time) for time in times],
        )

    def texts(self) -> Iterator[tuple[int, float, Texts]]:
        """Yield memories, when they were said in epoch seconds, and texts; superseded ones too."""
        after = -1
        while rows := sql.rows(
            self.connection,
            "SELECT id, coalesce(occurred_s, recorded_s), title, text, summary, url, fact_key,"
            " fact_value FROM memory WHERE id > ? ORDER BY id LIMIT ?",
            (after, _BATCH),
        ):
            for memory, said_s, *columns in rows:
                yield memory, said_s, Texts(*columns)
            after = rows[-1][0]

    def _set_context(self, memory: int, previous: int | None) -> None:
        """Change the memory before a current one; the words of its context change with it."""
        self.words.remove([memory])
        self.connection.execute("UPDATE memory SET context_id = ? WHERE id = ?", (previous, memory))
        self.words.add([memory])


def _is_bounded(new: NewMemory) -> bool:
    return new.valid_from_s is not None or new.valid_until_s is not None
