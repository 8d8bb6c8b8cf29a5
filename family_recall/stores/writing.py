"""One write transaction: memories, entities and vectors in, consistent tables out."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import apsw

from family_recall.errors import StoreError
from family_recall.stores import (
    edges,
    fts,
    household,
    identifiers,
    memories,
    relations,
    sql,
    vectors,
    veils,
)
from family_recall.stores.base import (
    Identifier,
    NewMemory,
    NewVector,
    StoredMemory,
    Texts,
    ToEmbed,
    ToldRelation,
)
from family_recall.stores.names import Mention, Names, put_mentions
from family_recall.stores.schema import (
    PARTITION_SHIFT,
    id_range,
    partition_of,
    shelf_of,
    words_table,
)
from family_recall.stores.veils import Veil
from family_recall.types import Grant, Hidden, Person, Space


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its session a memory stands: its neighbours' row ids, None at either end."""

    previous: int | None
    following: int | None


@dataclass(frozen=True, slots=True)
class _Turn:
    """The last current turn of a talk: its moment, its row id, who spoke and what was said."""

    order_s: float
    id: int
    author: str | None
    text: str


@dataclass(slots=True)
class _Change:
    """What a transaction adds to a partition's counters."""

    n_current: int = 0
    n_past: int = 0
    words_current: int = 0
    words_past: int = 0
    n_bounded: int = 0
    rewrites: int = 0


@dataclass(slots=True)
class Writing:
    """The tables of one file, inside one transaction. Call :meth:`finish` before it ends.

    ``changed`` gathers the memories whose text is new, and so have no vectors.
    """

    connection: apsw.Connection
    zone: dt.tzinfo
    vec0: bool
    changed: list[int] = field(default_factory=list)
    _changes: dict[int, _Change] = field(default_factory=dict)
    _words: dict[int, list[fts.Words]] = field(default_factory=dict)
    _next_seq: dict[int, int] = field(default_factory=dict)
    _last: dict[tuple[int, str], _Turn] = field(default_factory=dict)
    _links: list[edges.Link] = field(default_factory=list)
    _mentions: list[Mention] = field(default_factory=list)
    _counter: fts.WordCounter | None = None
    _veils: dict[str, list[Veil]] = field(default_factory=dict)

    @property
    def names(self) -> Names:
        """Entities, mentions and relations."""
        return Names(self.connection)

    def put_person(self, person: Person) -> None:
        """Add or change a person."""
        household.put_person(self.connection, person)

    def put_space(self, space: Space) -> None:
        """Add or change a space."""
        household.put_space(self.connection, space)

    def put_grant(self, grant: Grant, expires_s: float | None) -> None:
        """Let a person into a space."""
        household.put_grant(self.connection, grant, expires_s)

    def put_info(self, key: str, value: str) -> None:
        """Set one of the file's own facts, such as its time zone."""
        self.connection.execute(
            "INSERT OR REPLACE INTO info(key, value) VALUES(?, ?)", (key, value)
        )

    def info(self, key: str) -> str | None:
        """Give one of the file's own facts."""
        row = sql.row(self.connection, "SELECT value FROM info WHERE key = ?", (key,))
        return str(row[0]) if row else None

    def revoke(self, person_id: str, space_id: str) -> bool:
        """Take a person's way into a space away; False where they had none."""
        return household.remove_grant(self.connection, person_id, space_id)

    def put_guardian(self, guardian_id: str, child_id: str) -> None:
        """Make a person a child's guardian."""
        household.put_guardian(self.connection, guardian_id, child_id)

    def remove_guardian(self, guardian_id: str, child_id: str) -> bool:
        """Make a person a child's guardian no longer; False where they were none."""
        return household.remove_guardian(self.connection, guardian_id, child_id)

    def veils(self, space_id: str) -> list[Veil]:
        """List what roles do not see of a space; read once a transaction."""
        if space_id not in self._veils:
            self._veils[space_id] = veils.veils(self.connection, space_id)
        return self._veils[space_id]

    def hang_veil(self, hidden: Hidden) -> Veil | None:
        """Keep a role from some fields, in place of others; None where that is from nothing."""
        household.space_no(self.connection, hidden.space_id)
        for veil in veils.veils(self.connection, hidden.space_id):
            if veil.hidden.role == hidden.role:
                veils.remove(self.connection, veil.no, vec0=self.vec0)
        self._veils.clear()
        return veils.put(self.connection, hidden) if hidden.fields else None

    def history(self, space_id: str) -> list[StoredMemory | ToldRelation]:
        """Give every version of every memory of a space, and its relations, as they were told."""
        versions = memories.load(
            self.connection,
            "s.space_id = ? AND m.veil = 0"
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

    def partition(
        self, space_id: str, band: str, guardians_of: str | None = None, veil: int = 0
    ) -> int:
        """Find or make the partition of a space and band, of a child's guardians, of a view."""
        return household.partition_for(self.connection, space_id, band, guardians_of, veil)

    def current(self, space_id: str, doc_id: str, veil: int = 0) -> StoredMemory | None:
        """Find the current version of a memory, or of a view of it."""
        row = sql.row(
            self.connection,
            "SELECT m.id FROM memory m"
            " WHERE m.space = ? AND m.doc_id = ? AND m.veil = ? AND m.superseded_s IS NULL",
            (household.space_no(self.connection, space_id), doc_id, veil),
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
            (household.space_no(self.connection, space_id), content_hash, *id_range(partition)),
        )
        return str(row[0]) if row else None

    def insert(self, partition: int, new: NewMemory, recorded_s: float) -> tuple[int, Place]:
        """Write a memory, its words, and its place in its session.

        Whatever followed its predecessor until now follows it instead.
        """
        memory_id = self._allocate(partition)
        order_s = recorded_s if new.occurred_s is None else new.occurred_s
        session, memory = new.memory.session_id, new.memory
        last = self._last.get((partition, session)) if session is not None else None
        if last is not None and last.order_s <= order_s:
            place, context = Place(last.id, None), (last.author, last.text)
        else:
            place = self._place(partition, new, order_s, memory_id)
            context = self._context(place.previous)
        if session is not None and place.following is None:
            turn = _Turn(order_s, memory_id, memory.author, memory.text)
            self._last[partition, session] = turn
        words = self._words_of(memory_id, memories.body_of(memory), new.header, context)
        memories.insert(
            self.connection, memory_id, new,
            recorded_s=recorded_s, order_s=order_s, context_id=place.previous, words=words,
        )  # fmt: skip
        self._words.setdefault(shelf_of(partition, past=False), []).append(words)
        change = self._change(partition)
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
        self._last.clear()
        self._flush_words()
        self._flush_links()
        fts.remove(self.connection, shelf_of(partition, past=False), [words])
        fts.add(self.connection, shelf_of(partition, past=True), [words])
        vectors.move(self.connection, old.id, shelf_of(partition, past=True), vec0=self.vec0)
        edges.remove_node(self.connection, old.id)
        self.connection.execute("DELETE FROM mention WHERE memory = ?", (old.id,))
        self.connection.execute("UPDATE memory SET superseded_s = ? WHERE id = ?", (at_s, old.id))
        change = self._change(partition)
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
        table = words_table(shelf_of(partition, past=False))
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

    def put_neighbours(self, memory: int, place: Place, weight: float) -> None:
        """Tie a memory to its neighbours and untie those from each other."""
        if place.previous is not None and place.following is not None:
            self._flush_links()
            edges.remove_link(self.connection, place.previous, place.following, "next")
        neighbours = (place.previous, place.following)
        self._links += [(memory, n, weight, "next") for n in neighbours if n is not None]

    def link(self, memory: int, mentions: Iterable[tuple[int, str, float]]) -> None:
        """Tie a memory to (entity, role, weight) mentions; written with the others at the end."""
        for entity, role, weight in mentions:
            self._mentions.append((memory, entity, role))
            self._links.append((memory, entity, weight, role))

    def write_links(self) -> None:
        """Write the ties gathered so far, for who looks at them within this transaction."""
        self._flush_links()

    def readings(self) -> list[ToEmbed]:
        """Give what a model is to read of the memories that are new in this transaction."""
        return memories.readings(self.connection, self.changed)

    def add_vectors(
        self,
        model_id: str,
        dim: int,
        token_dim: int,
        rows: Sequence[NewVector],
        *,
        role: vectors.Role = "embedder",
    ) -> None:
        """Write vectors, with those of their views, of memories that are still there.

        Where the file's vectors need an extension that is not here, they stay pending.

        Raises:
            InvalidMemoryError: If one has another dimension, or is not finite; none is kept.
        """
        model = vectors.register(
            self.connection, model_id, dim, token_dim, vec0=self.vec0, role=role
        )
        if not vectors.writable(model, vec0=self.vec0):
            return
        found = dict(
            sql.rows(
                self.connection,
                "SELECT id, superseded_s IS NOT NULL FROM memory"
                " WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps([row.memory for row in rows]),),
            )
        )
        shelved = [
            (shelf_of(partition_of(row.memory), past=bool(found[row.memory])), row)
            for row in rows
            if row.memory in found
        ]
        vectors.add(self.connection, model, shelved)

    def clear_vectors(self, ids: Sequence[int]) -> None:
        """Take away the vectors of some memories, those of their views among them."""
        vectors.remove(self.connection, ids, vec0=self.vec0)
        for partition in {partition_of(memory) for memory in ids}:
            self._change(partition).rewrites += 1

    def clear_views(self) -> None:
        """Make the vectors of every memory that has a title or a summary pending."""
        found = sql.rows(
            self.connection, "SELECT id FROM memory WHERE title IS NOT NULL OR summary IS NOT NULL"
        )
        self.clear_vectors([memory for (memory,) in found])

    def drop_other_models(self, model_id: str) -> tuple[str, ...]:
        """Take away the vectors of every transformer but one, and give their names."""
        gone = vectors.drop_others(self.connection, model_id, vec0=self.vec0)
        if gone:
            self.connection.execute("UPDATE partition SET rewrites = rewrites + 1")
        return gone

    def clear_derived(self) -> None:
        """Drop everything made from text: words, counts, vectors, identifiers, mentions, edges."""
        for model in vectors.models(self.connection):
            vectors.drop(self.connection, model, vec0=self.vec0)
        for table in ("embedding_model", "embedding", "mention", "edge", "identifier"):
            self.connection.execute(f"DELETE FROM {table}")
        for partition in household.partitions(self.connection):
            for past in (False, True):
                fts.clear(self.connection, shelf_of(partition.no, past=past))
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
        place = self._place(partition, new, order_s, stored.id)
        # What has been replaced keeps the context it had: the talk has moved on without it.
        self.connection.execute(
            "UPDATE memory SET header = ?, context_id = iif(superseded_s IS NULL, ?, context_id)"
            " WHERE id = ?",
            (new.header, place.previous, stored.id),
        )
        words = self._prepared(stored.id)
        self._store_words(words)
        self._words.setdefault(shelf_of(partition, past=past), []).append(words)
        change = self._change(partition)
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
        self._flush_links()
        for partition, change in self._changes.items():
            self.connection.execute(
                "UPDATE partition SET n_current = n_current + ?, n_past = n_past + ?,"
                " words_current = words_current + ?, words_past = words_past + ?,"
                " n_bounded = n_bounded + ?, rewrites = rewrites + ? WHERE no = ?",
                (change.n_current, change.n_past, change.words_current, change.words_past,
                 change.n_bounded, change.rewrites, partition),
            )  # fmt: skip
        for partition, seq in self._next_seq.items():
            self.connection.execute(
                "UPDATE partition SET next_seq = ? WHERE no = ?", (seq, partition)
            )

    def _change(self, partition: int) -> _Change:
        return self._changes.setdefault(partition, _Change())

    def _allocate(self, partition: int) -> int:
        if partition not in self._next_seq:
            (self._next_seq[partition],) = sql.row(
                self.connection, "SELECT next_seq FROM partition WHERE no = ?", (partition,)
            )
        seq = self._next_seq[partition]
        self._next_seq[partition] = seq + 1
        return partition << PARTITION_SHIFT | seq

    def _place(self, partition: int, new: NewMemory, order_s: float, memory_id: int) -> Place:
        session = new.memory.session_id
        if session is None:
            return Place(None, None)
        sides = []
        for comparison, direction in (("<", "DESC"), (">", "ASC")):
            row = sql.row(
                self.connection,
                "SELECT id FROM memory WHERE space = (SELECT space FROM partition WHERE no = ?)"
                f" AND session_id = ? AND (order_s, id) {comparison} (?, ?)"
                " AND id BETWEEN ? AND ? AND superseded_s IS NULL"
                f" ORDER BY order_s {direction}, id {direction} LIMIT 1",
                (partition, session, order_s, memory_id, *id_range(partition)),
            )
            sides.append(row[0] if row else None)
        return Place(*sides)

    def _context(self, memory_id: int | None) -> tuple[str | None, str]:
        if memory_id is None:
            return None, ""
        author, text = sql.row(
            self.connection, "SELECT author, text FROM memory WHERE id = ?", (memory_id,)
        )
        return author, str(text)

    def _words_of(
        self, memory_id: int, body: str, header: str, context: tuple[str | None, str]
    ) -> fts.Words:
        if self._counter is None:
            self._counter = fts.WordCounter(self.connection)
        return self._counter.prepare(memory_id, body, header, context)

    def _prepared(self, memory_id: int) -> fts.Words:
        row = sql.row(
            self.connection,
            "SELECT body, header, context FROM words_content WHERE id = ?",
            (memory_id,),
        )
        body, header, context = row
        return self._words_of(memory_id, body, header, (None, context))

    def _store_words(self, words: fts.Words) -> None:
        self.connection.execute(
            "UPDATE memory SET words = ?, n_words = ? WHERE id = ?",
            (words.entries, words.n_words, words.id),
        )

    def _follow(self, memory_id: int, previous: int | None) -> None:
        """Give a current memory another predecessor: the words of its context change with it."""
        partition = partition_of(memory_id)
        shelf = shelf_of(partition, past=False)
        self._flush_words()
        before = self._prepared(memory_id)
        fts.remove(self.connection, shelf, [before])
        self.connection.execute(
            "UPDATE memory SET context_id = ? WHERE id = ?", (previous, memory_id)
        )
        after = self._prepared(memory_id)
        fts.add(self.connection, shelf, [after])
        self._store_words(after)
        change = self._change(partition)
        change.words_current += after.n_words - before.n_words
        change.rewrites += 1

    def _flush_links(self) -> None:
        edges.add(self.connection, self._links)
        put_mentions(self.connection, self._mentions)
        self._links.clear()
        self._mentions.clear()

    def _flush_words(self) -> None:
        for shelf, rows in self._words.items():
            fts.add(self.connection, shelf, rows)
        self._words.clear()
