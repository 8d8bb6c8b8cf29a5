"""The write path: stores memories with the words, entities, edges and vectors derived from them.

A batch is written in two steps. The first transaction stores texts, words, edges and the static
embedder's vectors, which cost microseconds, so the batch is safe and can be found by words and
by meaning; then the texts are read by the transformer outside any transaction, and a second one
stores its vectors. Whatever interrupts it, a memory without vectors is only pending, and
``flush`` goes on where it stopped.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from family_recall.access import policy
from family_recall.access.writer import Writer, writer_of
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder
from family_recall.english import BITS_VERSION, bits_of
from family_recall.english.identifiers import RULES_VERSION
from family_recall.errors import StoreFullError
from family_recall.remember import mentioned_times, people, relations
from family_recall.remember.embedding import Embedding, embed_at_once
from family_recall.remember.entity_linker import EntityLinker
from family_recall.remember.preparation import identifiers_of, prepare
from family_recall.store.memories import NewMemory, Place, StoredMemory
from family_recall.store.partitions import RedactedView
from family_recall.store.relations import RecordedRelation
from family_recall.store.store import Store
from family_recall.store.transaction import WriteTransaction
from family_recall.store.vector_tables import Role
from family_recall.types import Hidden, Memory, Person, Relation, Remembered
from family_recall.types.progress import CountCallback

_IDENTIFIERS = "identifiers"
_CUES = "cues"
_VIEWS = "views"
_VIEWS_VERSION = "2"
"""Of what is read of a memory for its vectors: its body alone, and each view by itself; since 2,
a long body's passages."""
_HISTORY = "history"
_HISTORY_VERSION = "1"
"""Since 1, superseded versions are no more open than what took their place."""


@dataclass(frozen=True, slots=True)
class Indexer:
    """Writes memories into one store; ``yield_to_recalls`` is called between two of them."""

    store: Store
    config: RecallConfig
    yield_to_recalls: Callable[[], None] = lambda: None

    def remember(
        self,
        memories: Iterable[Memory],
        *,
        now_s: float,
        batch_size: int,
        encoder: Encoder | None,
        static: Encoder | None,
        progress: CountCallback | None,
        person_id: str | None = None,
    ) -> list[Remembered]:
        """Store memories, a transaction a batch; with encoders, their vectors too.

        Raises:
            UnknownSpaceError: If a memory names a space that is not there; its batch is not
                stored, the batches before it are.
            FamilyRecallError: In the same way, if ``person_id`` may not store a memory.
        """
        outcomes: list[Remembered] = []
        for batch in _batches(memories, batch_size):
            with self.store.writing() as writing:
                outcomes += self.remember_within(
                    writing, batch, now_s=now_s, static=static, person_id=person_id
                )
            if encoder is not None:
                self.embed(encoder, writing.changed)
            if progress is not None:
                progress(len(outcomes))
        self.store.merge_words(len(outcomes))
        return outcomes

    def remember_within(
        self,
        writing: WriteTransaction,
        memories: Iterable[Memory],
        *,
        now_s: float,
        static: Encoder | None,
        person_id: str | None = None,
    ) -> list[Remembered]:
        """Store memories inside an open transaction, with their static vectors.

        Raises:
            FamilyRecallError: If ``person_id`` may not store one.
        """
        linker = self.entity_linker(writing)
        writer = None
        if person_id is not None:
            writer = writer_of(writing.household, person_id, wall_s=now_s)
        outcomes = []
        memories = list(memories)
        writing.look_up(memories)
        for memory in memories:
            admitted = _admitted(writing, writer, memory) if writer else memory
            outcomes.append(self._remember(writing, linker, admitted, now_s))
            self.yield_to_recalls()
        writing.write_new()
        if static is not None:
            embed_at_once(writing, static)
        return outcomes

    def withdraw(self, writing: WriteTransaction, space_id: str, doc_id: str, now_s: float) -> None:
        """End a current memory and its redacted views inside an open transaction, for nothing."""
        views = writing.partitions.views_of(space_id)
        for view in (0, *(view.no for view in views)):
            old = writing.current(space_id, doc_id, view)
            if old is not None:
                writing.supersede(old, now_s, self.config.next_weight)

    def embed(self, encoder: Encoder, ids: Sequence[int]) -> None:
        """Make the vectors of some memories that were just stored, by row id.

        Raises:
            StoreFullError: If there is no room for them; the memories stay.
        """
        with self.store.reading() as reading:
            pending = reading.pending_vectors.texts(ids)
        try:
            self._embedding.embed(encoder, pending)
        except StoreFullError:
            raise StoreFullError(
                f"{self.store.path}: the disk is full; the memories are stored, their vectors are "
                "pending; free some space and call flush()"
            ) from None

    def flush(
        self, encoder: Encoder, progress: CountCallback | None = None, *, role: Role = "embedder"
    ) -> int:
        """Make the vectors of every memory that has none; returns how many memories."""
        return self._embedding.flush(encoder, progress, role)

    def relate(self, relation: Relation, now_s: float) -> None:
        """Store a typed edge between two named things of a space.

        Raises:
            UnknownSpaceError: If the space is not there.
            UnknownMemoryError: If a piece of evidence is not in that space and band.
        """
        with self.store.writing() as writing:
            self.relate_within(writing, relation, now_s)

    def relate_within(self, writing: WriteTransaction, relation: Relation, now_s: float) -> None:
        """Do what :meth:`relate` does inside an open transaction."""
        recorded = RecordedRelation(relation, now_s)
        relations.relate(writing, self.entity_linker(writing), recorded)

    def put_person(self, person: Person) -> None:
        """Add a person, or change their name and aliases.

        With another name the words of what they said are indexed again, which takes about as long
        as storing it did; its vectors become pending.
        """
        with self.store.writing() as writing:
            people.put(writing, self.entity_linker(writing), person)

    def hide(self, hidden: Hidden) -> None:
        """Hide fields of a space's memories from a role, of those stored already too.

        The role's redacted view is written from the space's history; its vectors become pending.

        Raises:
            UnknownSpaceError: If the space is not there.
        """
        with self.store.writing() as writing:
            view = writing.partitions.create_view(hidden)
            if view is None:
                return
            linker = self.entity_linker(writing)
            last: dict[str, StoredMemory] = {}
            for record in writing.history(hidden.space_id):
                if isinstance(record, StoredMemory):
                    self._write_view(writing, linker, record.memory, record.recorded_s, view)
                    last[record.memory.doc_id or ""] = record
                else:
                    relations.write_view(writing, linker, record, view)
            for doc_id, original in last.items():
                copy = writing.current(hidden.space_id, doc_id, view.no)
                if copy is not None and original.superseded_s is not None:
                    writing.supersede(copy, original.superseded_s, self.config.next_weight)
            writing.write_new()

    def rebuild(self) -> None:
        """Derive everything from the texts again; vectors become pending."""
        with self.store.writing() as writing:
            self.rebuild_within(writing)

    def rebuild_within(self, writing: WriteTransaction) -> None:
        """Do what :meth:`rebuild` does inside an open transaction."""
        writing.clear_derived()
        _find_identifiers(writing)
        mentioned_times.find_all(writing, self.store.region)
        writing.put_info(_CUES, BITS_VERSION)
        linker = self.entity_linker(writing)
        for stored in writing.every_memory():
            self._reindex(writing, linker, stored)
        writing.relations.add_all_edges()

    def restore(self, writing: WriteTransaction, stored: Sequence[StoredMemory]) -> None:
        """Derive everything of some memories whose rows alone are there."""
        linker = self.entity_linker(writing)
        for memory in stored:
            self._reindex(writing, linker, memory)
            _put_identifiers(writing, memory.id, memory.memory)
            new = prepare(memory.memory, memory.recorded_s, self.store.zone, memory.author_name)
            self._put_times(writing, memory.id, new, memory.recorded_s)
        for restored in stored:
            _cover_history(writing, restored.memory.space_id, restored.memory.doc_id or "")

    def entity_linker(self, writing: WriteTransaction) -> EntityLinker:
        """Return a linker that reads the entities of an open transaction."""
        return EntityLinker(writing, self.config)

    @property
    def _embedding(self) -> Embedding:
        return Embedding(self.store, self.config, self.yield_to_recalls)

    def _remember(
        self, writing: WriteTransaction, linker: EntityLinker, memory: Memory, now_s: float
    ) -> Remembered:
        new = self._prepared(writing, memory, now_s)
        partition = writing.partitions.find_or_create(
            memory.space_id, memory.band, memory.guardians_of
        )
        if memory.doc_id is None:
            same = writing.same_content(partition, memory.space_id, new.content_hash)
            if same is not None:
                return Remembered(same, "duplicate")
        old = writing.current(memory.space_id, new.doc_id)
        if old is not None:
            if writing.content_hash(old.id) == new.content_hash:
                return Remembered(new.doc_id, "unchanged")
            writing.supersede(old, now_s, self.config.next_weight)
        self._insert(writing, linker, partition, new, now_s)
        for view in writing.partitions.views_of(memory.space_id):
            with_id = dataclasses.replace(memory, doc_id=new.doc_id)
            self._write_view(writing, linker, with_id, now_s, view)
        if old is not None:
            _cover_history(writing, memory.space_id, new.doc_id)
        return Remembered(new.doc_id, "created" if old is None else "updated")

    def _write_view(
        self,
        writing: WriteTransaction,
        linker: EntityLinker,
        memory: Memory,
        now_s: float,
        view: RedactedView,
    ) -> None:
        """Write a memory into a redacted view, in place of the version that is there."""
        redacted = policy.view_of(memory, view.hidden)
        new = None
        if redacted is not None:
            new = prepare(
                redacted, now_s, self.store.zone, writing.authors.name_of(redacted.author)
            )
        old = writing.current(memory.space_id, memory.doc_id or "", view.no)
        if old is not None:
            if new is not None and writing.content_hash(old.id) == new.content_hash:
                return
            writing.supersede(old, now_s, self.config.next_weight)
        if new is not None:
            partition = writing.partitions.find_or_create(
                memory.space_id, memory.band, memory.guardians_of, view.no
            )
            self._insert(writing, linker, partition, new, now_s, view.no)

    def _prepared(self, writing: WriteTransaction, memory: Memory, now_s: float) -> NewMemory:
        author_name = writing.authors.name_of(memory.author)
        return prepare(memory, now_s, self.store.zone, author_name)

    def _insert(
        self,
        writing: WriteTransaction,
        linker: EntityLinker,
        partition: int,
        new: NewMemory,
        now_s: float,
        view: int = 0,
    ) -> None:
        memory_id, place = writing.insert(partition, new, now_s, view=view)
        _put_identifiers(writing, memory_id, new.memory)
        self._put_times(writing, memory_id, new, now_s)
        self._add_edges(writing, linker, memory_id, new.memory, place)

    def _put_times(
        self, writing: WriteTransaction, memory_id: int, new: NewMemory, recorded_s: float
    ) -> None:
        said_s = recorded_s if new.occurred_s is None else new.occurred_s
        mentioned_times.put(writing, memory_id, new.memory, said_s, self.store.region)

    def _reindex(
        self, writing: WriteTransaction, linker: EntityLinker, stored: StoredMemory
    ) -> None:
        new = prepare(stored.memory, stored.recorded_s, self.store.zone, stored.author_name)
        place = writing.reindex(stored, new)
        if stored.superseded_s is None:
            self._add_edges(writing, linker, stored.id, stored.memory, place)

    def _add_edges(
        self,
        writing: WriteTransaction,
        linker: EntityLinker,
        memory_id: int,
        memory: Memory,
        place: Place,
    ) -> None:
        writing.edge_buffer.add_neighbours(memory_id, place, self.config.next_weight)
        linker.link(memory_id, memory.space_id, memory.author, memory.text)


def upgrade(store: Store) -> None:
    """Bring what was derived by earlier rules up to date: part of opening a household.

    Identifiers, cues and the times that texts mention are found again at once; vectors become
    pending, for :meth:`Indexer.flush`.
    """
    times = mentioned_times.version(store.zone, store.region)
    versions = {
        _IDENTIFIERS: RULES_VERSION,
        _CUES: BITS_VERSION,
        _VIEWS: _VIEWS_VERSION,
        mentioned_times.INFO_KEY: times,
        people.INFO_KEY: people.INFO_VERSION,
        _HISTORY: _HISTORY_VERSION,
    }
    with store.reading() as reading:
        is_current = all(reading.info(key) == version for key, version in versions.items())
    if is_current:
        return
    with store.writing() as writing:
        # Another process may have done it while this one waited for the lock.
        if writing.info(_IDENTIFIERS) != RULES_VERSION:
            writing.clear_identifiers()
            _find_identifiers(writing)
        if writing.info(mentioned_times.INFO_KEY) != times:
            writing.clear_times()
            mentioned_times.find_all(writing, store.region)
        if writing.info(_CUES) != BITS_VERSION:
            _find_cues(writing)
        if writing.info(people.INFO_KEY) != people.INFO_VERSION:
            people.name_authors(writing)
        if writing.info(_HISTORY) != _HISTORY_VERSION:
            for space_id, doc_id in writing.superseded.more_open():
                _cover_history(writing, space_id, doc_id)
            writing.put_info(_HISTORY, _HISTORY_VERSION)
        if writing.info(_VIEWS) != _VIEWS_VERSION:
            if writing.info(_VIEWS) is None:
                writing.vectors.clear_views()
            writing.vectors.clear_passages()
            writing.put_info(_VIEWS, _VIEWS_VERSION)


def _admitted(writing: WriteTransaction, writer: Writer, memory: Memory) -> Memory:
    """Return a memory as its writer stores it; an error where they may not."""
    admitted = writer.admitted(memory)
    if memory.doc_id is not None:
        replaced = writing.current(memory.space_id, memory.doc_id)
        if replaced is not None:
            writer.check_replaced(replaced.memory)
    return admitted


def _cover_history(writing: WriteTransaction, space_id: str, doc_id: str) -> None:
    """Move earlier versions of a memory into its band, where theirs was more open."""
    writing.write_new()
    writing.changed += writing.superseded.raise_bands(space_id, doc_id)


def _find_identifiers(writing: WriteTransaction) -> None:
    """Store the identifiers of every memory of a file that has none."""
    for memory_id, texts in writing.texts():
        if identifiers := identifiers_of(texts):
            writing.put_identifiers(memory_id, identifiers)
    writing.put_info(_IDENTIFIERS, RULES_VERSION)


def _find_cues(writing: WriteTransaction) -> None:
    """Store the bits of every memory's cues, in place of those it had."""
    for memory_id, texts in writing.texts():
        writing.put_cues(memory_id, bits_of(texts.text, texts.fact_key))
    writing.put_info(_CUES, BITS_VERSION)


def _put_identifiers(writing: WriteTransaction, memory_id: int, memory: Memory) -> None:
    if identifiers := identifiers_of(memory):
        writing.put_identifiers(memory_id, identifiers)


def _batches(memories: Iterable[Memory], size: int) -> Iterator[Sequence[Memory]]:
    iterator = iter(memories)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
