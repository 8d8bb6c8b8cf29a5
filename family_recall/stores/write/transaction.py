"""One write transaction: memories in, consistent tables out.

Its parts are beside this module: who is let in, the names, the ties between memories, the
vectors. Counts, talks and ties are gathered, and written where somebody looks or at the end.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

import apsw

from family_recall.errors import StoreError
from family_recall.stores.erase.eraser import Eraser
from family_recall.stores.file import sql
from family_recall.stores.file.archive_loader import ArchiveLoader
from family_recall.stores.file.row_ids import (
    PARTITION_SHIFT,
    id_range,
    partition_of,
    shard_of,
    words_table,
)
from family_recall.stores.graph import edges, relations
from family_recall.stores.graph.edge_buffer import EdgeBuffer
from family_recall.stores.graph.entities import Names
from family_recall.stores.graph.entity_provenance import Named
from family_recall.stores.read.transaction import Transaction
from family_recall.stores.records import (
    Identifier,
    NewMemory,
    Place,
    StoredMemory,
    Texts,
    ToEmbed,
    ToldRelation,
)
from family_recall.stores.text import full_text, identifiers, memories
from family_recall.stores.vectors import tables
from family_recall.stores.write.counters import Counters
from family_recall.stores.write.partitions import Partitions
from family_recall.stores.write.session_tail import SessionTail
from family_recall.stores.write.vector_tables import VectorTables


class WriteTransaction(Transaction):
    """The tables of one file, inside one write transaction; call :meth:`finish` before it ends.

    Counters, session tails and edges are gathered, and written when they are read or at the end.
    ``changed`` lists the memories whose text is new, and which so have no vectors.
    """

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo, *, vec0: bool) -> None:
        super().__init__(connection, zone)
        self.vec0 = vec0
        self.changed: list[int] = []
        self.partitions = Partitions(connection, vec0=vec0)
        self.ties = EdgeBuffer(connection)
        self._counters = Counters(connection)
        self._sessions = SessionTail(connection)
        self.vectors = VectorTables(connection, vec0, self._counters)
        self._words: dict[int, list[full_text.Words]] = {}
        self._counter: full_text.WordCounter | None = None

    def eraser(self, next_weight: float) -> Eraser:
        """Return what erases memories; neighbours in a session are joined by ``next_weight``."""
        return Eraser(self.connection, self.vec0, next_weight)

    def archive_loader(self) -> ArchiveLoader:
        """Return what writes exported records into an empty household."""
        return ArchiveLoader(self.connection)

    @property
    def names(self) -> Names:
        """Entities, mentions and relations."""
        return Names(self.connection)

    @property
    def named(self) -> Named:
        """Entities, and why they are known."""
        return Named(self.connection)

    def put_info(self, key: str, value: str) -> None:
        """Set one of the file's own facts, such as its time zone."""
        self.connection.execute(
            "INSERT OR REPLACE INTO info(key, value) VALUES(?, ?)", (key, value)
        )

    def history(self, space_id: str) -> list[StoredMemory | ToldRelation]:
        """Give every version of every memory of a space, and its relations, as they were told."""
        versions = memories.load(
            self.connection,
            "s.space_id = ? AND m.redacted_view = 0"
            " ORDER BY m.recorded_s, m.superseded_s IS NULL, m.superseded_s, m.id",
            (space_id,),
            self.zone,
        )
        if not all(one.intact for one in versions):
            raise StoreError(
                f"{space_id}: holds memories that are damaged in the file; family-recall doctor "
                "names them, and --repair takes them out"
            )
        told: list[StoredMemory | ToldRelation] = [
            *versions, *relations.of_space(self.connection, space_id, self.zone)
        ]  # fmt: skip
        return sorted(told, key=lambda one: one.recorded_s)

    def current(self, space_id: str, doc_id: str, veil: int = 0) -> StoredMemory | None:
        """Find the current version of a memory, or of a view of it."""
        row = sql.row(
            self.connection,
            "SELECT m.id FROM memory m"
            " WHERE m.space = ? AND m.doc_id = ? AND m.redacted_view = ? AND m.superseded_s IS NULL",
            (self.household.space_no(space_id), doc_id, veil),
        )
        # Most are new: whole rows are read of the others alone.
        return memories.load(self.connection, "m.id = ?", row, self.zone)[0] if row else None

    def content_hash(self, memory_id: int) -> bytes:
        """Give the stored hash of a memory's content."""
        (found,) = sql.row(
            self.connection, "SELECT content_hash FROM memory WHERE id = ?", (memory_id,)
        )
        return bytes(found)

    def same_content(self, partition: int, space_id: str, content_hash: bytes) -> str | None:
        """Find the doc_id of a current memory of that partition with the same content."""
        row = sql.row(
            self.connection,
            "SELECT doc_id FROM memory WHERE space = ? AND content_hash = ?"
            " AND id BETWEEN ? AND ? AND superseded_s IS NULL",
            (self.household.space_no(space_id), content_hash, *id_range(partition)),
        )
        return str(row[0]) if row else None

    def insert(self, partition: int, new: NewMemory, recorded_s: float) -> tuple[int, Place]:
        """Write a memory, its words, and its place in its session.

        Whatever followed its predecessor until now follows it instead.
        """
        memory_id = self._counters.allocate(partition)
        order_s = recorded_s if new.occurred_s is None else new.occurred_s
        place, before = self._sessions.append(partition, new, order_s, memory_id)
        words = self._words_of(memory_id, memories.body_of(new.memory), new.header, before)
        memories.insert(
            self.connection, memory_id, new,
            recorded_s=recorded_s, order_s=order_s, context_id=place.previous, words=words,
        )  # fmt: skip
        self._words.setdefault(shard_of(partition, past=False), []).append(words)
        change = self._counters.of(partition)
        change.n_current += 1
        change.words_current += words.n_words
        change.n_bounded += new.valid_from_s is not None or new.valid_until_s is not None
        self.changed.append(memory_id)
        if place.following is not None:
            self._follow(place.following, memory_id)
        return memory_id, place

    def supersede(self, old: StoredMemory, at_s: float, next_weight: float) -> None:
        """Move a memory to its partition's past and off the graph; its talk closes over it."""
        partition = partition_of(old.id)
        words = self._prepared(old.id)
        self._sessions.forget_last()
        self._flush_words()
        self.ties.write()
        full_text.remove(self.connection, shard_of(partition, past=False), [words])
        full_text.add(self.connection, shard_of(partition, past=True), [words])
        tables.move(self.connection, old.id, shard_of(partition, past=True), vec0=self.vec0)
        edges.remove_node(self.connection, old.id)
        self.connection.execute("DELETE FROM mention WHERE memory = ?", (old.id,))
        self.connection.execute("UPDATE memory SET superseded_s = ? WHERE id = ?", (at_s, old.id))
        change = self._counters.of(partition)
        change.n_current -= 1
        change.n_past += 1
        change.words_current -= words.n_words
        change.words_past += words.n_words
        bounded = old.memory.valid_from is not None or old.memory.valid_until is not None
        change.n_bounded -= bounded
        change.rewrites += 1
        (previous,) = sql.row(
            self.connection, "SELECT context_id FROM memory WHERE id = ?", (old.id,)
        )
        for (following,) in sql.rows(
            self.connection,
            "SELECT id FROM memory WHERE context_id = ? AND superseded_s IS NULL",
            (old.id,),
        ):
            self._follow(following, previous)
            if previous is not None:
                edges.add(self.connection, [(previous, following, next_weight, "next")])

    def saying(self, partition: int, words: str) -> list[tuple[int, str]]:
        """List the current memories of a partition with these words in a row: (id, text)."""
        self._flush_words()
        table = words_table(shard_of(partition, past=False))
        phrase = words.replace('"', '""')
        return sql.rows(
            self.connection,
            f"SELECT m.id, m.text FROM {table} CROSS JOIN memory m ON m.id = {table}.rowid"
            f" WHERE {table} MATCH ?",
            (f'body : "{phrase}"',),
        )

    def identify(self, memory: int, found: Iterable[Identifier]) -> None:
        """Keep the identifiers that a memory holds, in place of those it had."""
        identifiers.put(self.connection, memory, found)

    def clear_identifiers(self) -> None:
        """Drop every memory's identifiers."""
        identifiers.clear(self.connection)

    def texts(self) -> Iterator[tuple[int, Texts]]:
        """Go through what may hold identifiers, each memory's with its id, superseded ones too."""
        return identifiers.texts(self.connection)

    def readings(self) -> list[ToEmbed]:
        """Give what a model is to read of the memories that are new in this transaction."""
        return self.pending_vectors.texts(self.changed)

    def clear_derived(self) -> None:
        """Drop everything made from text: words, counts, vectors, identifiers, mentions, edges."""
        for model in tables.models(self.connection):
            tables.drop(self.connection, model, vec0=self.vec0)
        for table in ("embedding_model", "embedding", "mention", "edge", "identifier"):
            self.connection.execute(f"DELETE FROM {table}")
        for partition in self.household.every_partition():
            for past in (False, True):
                full_text.clear(self.connection, shard_of(partition.no, past=past))
        self.connection.execute(
            "UPDATE partition SET n_current = 0, n_past = 0, words_current = 0, words_past = 0,"
            " n_bounded = 0, rewrites = rewrites + 1"
        )

    def every_memory(self) -> Iterable[StoredMemory]:
        """Go through all memories, each partition's sessions in order."""
        ids = sql.rows(
            self.connection,
            "SELECT id FROM memory ORDER BY id >> ?, session_id, order_s, id",
            (PARTITION_SHIFT,),
        )
        for (memory_id,) in ids:
            yield from memories.load(self.connection, "m.id = ?", (memory_id,), self.zone)

    def reindex(self, stored: StoredMemory, new: NewMemory) -> Place:
        """Write a memory's derived columns and words anew from its text."""
        partition = partition_of(stored.id)
        past = stored.superseded_s is not None
        order_s = stored.recorded_s if new.occurred_s is None else new.occurred_s
        place = self._sessions.place(partition, new, order_s, stored.id)
        # What has been replaced keeps the context it had: the talk has moved on without it.
        self.connection.execute(
            "UPDATE memory SET header = ?, context_id = iif(superseded_s IS NULL, ?, context_id)"
            " WHERE id = ?",
            (new.header, place.previous, stored.id),
        )
        words = self._prepared(stored.id)
        self._store_words(words)
        self._words.setdefault(shard_of(partition, past=past), []).append(words)
        change = self._counters.of(partition)
        change.n_past += past
        change.n_current += not past
        change.words_past += words.n_words * past
        change.words_current += words.n_words * (not past)
        bounded = new.valid_from_s is not None or new.valid_until_s is not None
        change.n_bounded += bounded and not past
        return place

    def finish(self) -> None:
        """Write what was gathered: words, links and partition counters."""
        self._flush_words()
        self.ties.write()
        self._counters.write()

    def _words_of(
        self, memory_id: int, body: str, header: str, context: tuple[str | None, str]
    ) -> full_text.Words:
        if self._counter is None:
            self._counter = full_text.WordCounter(self.connection)
        return self._counter.prepare(memory_id, body, header, context)

    def _prepared(self, memory_id: int) -> full_text.Words:
        row = sql.row(
            self.connection,
            "SELECT body, header, context FROM words_content WHERE id = ?",
            (memory_id,),
        )
        body, header, context = row
        return self._words_of(memory_id, body, header, (None, context))

    def _store_words(self, words: full_text.Words) -> None:
        self.connection.execute(
            "UPDATE memory SET words = ?, n_words = ? WHERE id = ?",
            (words.entries, words.n_words, words.id),
        )

    def _follow(self, memory_id: int, previous: int | None) -> None:
        """Give a current memory another predecessor: the words of its context change with it."""
        partition = partition_of(memory_id)
        shard = shard_of(partition, past=False)
        self._flush_words()
        before = self._prepared(memory_id)
        full_text.remove(self.connection, shard, [before])
        self.connection.execute(
            "UPDATE memory SET context_id = ? WHERE id = ?", (previous, memory_id)
        )
        after = self._prepared(memory_id)
        full_text.add(self.connection, shard, [after])
        self._store_words(after)
        change = self._counters.of(partition)
        change.words_current += after.n_words - before.n_words
        change.rewrites += 1

    def _flush_words(self) -> None:
        for shard, rows in self._words.items():
            full_text.add(self.connection, shard, rows)
        self._words.clear()
