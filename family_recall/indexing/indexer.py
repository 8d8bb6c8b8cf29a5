"""The write path: memories in; rows, words, mentions, edges and vectors out.

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
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder
from family_recall.indexing import relations
from family_recall.indexing.embedding import Embedding, embed_at_once
from family_recall.indexing.entity_linker import EntityLinker
from family_recall.indexing.preparation import identifiers_of, prepare
from family_recall.query.identifiers import RULES_VERSION
from family_recall.stores.records import NewMemory, Place, StoredMemory, ToldRelation
from family_recall.stores.store import Store
from family_recall.stores.vectors.tables import Role
from family_recall.stores.write.partitions import RedactedView
from family_recall.stores.write.transaction import WriteTransaction
from family_recall.types import Hidden, Memory, Relation, Remembered
from family_recall.types.progress import CountCallback

_IDENTIFIERS = "identifiers"
_VIEWS = "views"
_VIEWS_VERSION = "1"
"""Of what is read of a memory for its vectors: its body alone, and each view by itself."""


@dataclass(frozen=True, slots=True)
class Indexer:
    """Writes memories into one store; ``yield_to_recalls``, called between two, lets recalls go first."""

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
    ) -> list[Remembered]:
        """Store memories, a transaction a batch; with encoders, their vectors too.

        Raises:
            UnknownSpaceError: If a memory names a space that is not there; its batch is not
                stored, the batches before it are.
        """
        outcomes: list[Remembered] = []
        for batch in _batches(memories, batch_size):
            with self.store.writing() as writing:
                outcomes += self.remember_within(writing, batch, now_s=now_s, static=static)
            if encoder is not None:
                self.embed(encoder, writing.changed)
            if progress is not None:
                progress(len(outcomes))
        return outcomes

    def remember_within(
        self,
        writing: WriteTransaction,
        memories: Iterable[Memory],
        *,
        now_s: float,
        static: Encoder | None,
    ) -> list[Remembered]:
        """Store memories inside a transaction that is open, with their static vectors."""
        cast = self.cast(writing)
        outcomes = []
        for memory in memories:
            outcomes.append(self._remember(writing, cast, memory, now_s))
            self.yield_to_recalls()
        if static is not None:
            embed_at_once(writing, static)
        return outcomes

    def embed(self, encoder: Encoder, ids: Sequence[int]) -> None:
        """Give some memories their vectors, by the ids of their rows."""
        with self.store.reading() as reading:
            pending = reading.pending_vectors.texts(ids)
        self._embedding.embed(encoder, pending)

    def flush(
        self, encoder: Encoder, progress: CountCallback | None = None, *, role: Role = "embedder"
    ) -> int:
        """Give every memory that has none its vectors; returns how many were made."""
        return self._embedding.flush(encoder, progress, role)

    def relate(self, relation: Relation, now_s: float) -> None:
        """Store a typed edge between two named things of a space.

        Raises:
            UnknownSpaceError: If the space is not there.
            UnknownMemoryError: If a piece of evidence is not in that space and band.
        """
        with self.store.writing() as writing:
            told = ToldRelation(relation, now_s)
            relations.relate(writing, self.cast(writing), told, self.store.zone)

    def hide(self, hidden: Hidden) -> None:
        """Keep a role from some fields of a space's memories, those that are there already too.

        Its view is told anew, in the order it came about; vectors become pending.

        Raises:
            UnknownSpaceError: If the space is not there.
        """
        with self.store.writing() as writing:
            veil = writing.partitions.create_view(hidden)
            if veil is None:
                return
            cast = self.cast(writing)
            last: dict[str, StoredMemory] = {}
            for told in writing.history(hidden.space_id):
                if isinstance(told, StoredMemory):
                    self._show(writing, cast, told.memory, told.recorded_s, veil)
                    last[told.memory.doc_id or ""] = told
                else:
                    relations.show(writing, cast, told, self.store.zone, veil)
            for doc_id, told in last.items():
                view = writing.current(hidden.space_id, doc_id, veil.no)
                if view is not None and told.superseded_s is not None:
                    writing.supersede(view, told.superseded_s, self.config.next_weight)

    def rebuild(self) -> None:
        """Make all that is derived anew from the texts; vectors become pending."""
        with self.store.writing() as writing:
            self.rebuild_within(writing)

    def rebuild_within(self, writing: WriteTransaction) -> None:
        """Do what :meth:`rebuild` does inside a transaction that is open."""
        writing.clear_derived()
        _identify_all(writing)
        cast = self.cast(writing)
        for stored in writing.every_memory():
            place = writing.reindex(stored, self._prepared(stored))
            if stored.superseded_s is None:
                self._connect(writing, cast, stored.id, stored.memory, place)
        writing.names.restore_relation_edges()

    def restore(self, writing: WriteTransaction, stored: Sequence[StoredMemory]) -> None:
        """Make all that is derived from some memories, whose rows alone are there."""
        cast = self.cast(writing)
        for one in stored:
            place = writing.reindex(one, self._prepared(one))
            if quoted := identifiers_of(one.memory):
                writing.identify(one.id, quoted)
            if one.superseded_s is None:
                self._connect(writing, cast, one.id, one.memory, place)

    def cast(self, writing: WriteTransaction) -> EntityLinker:
        """Read anew whom the partitions know, within a transaction that is open."""
        return EntityLinker(writing, self.config)

    @property
    def _embedding(self) -> Embedding:
        return Embedding(self.store, self.config, self.yield_to_recalls)

    def _remember(
        self, writing: WriteTransaction, cast: EntityLinker, memory: Memory, now_s: float
    ) -> Remembered:
        new = prepare(memory, now_s, self.store.zone)
        partition = writing.partitions.find_or_create(
            memory.space_id, memory.band, memory.guardians_of
        )
        if memory.doc_id is None:
            known = writing.same_content(partition, memory.space_id, new.content_hash)
            if known is not None:
                return Remembered(known, "duplicate")
        old = writing.current(memory.space_id, new.doc_id)
        if old is not None:
            if writing.content_hash(old.id) == new.content_hash:
                return Remembered(new.doc_id, "unchanged")
            writing.supersede(old, now_s, self.config.next_weight)
        self._insert(writing, cast, partition, new, now_s)
        for veil in writing.partitions.views_of(memory.space_id):
            told = dataclasses.replace(memory, doc_id=new.doc_id)
            self._show(writing, cast, told, now_s, veil)
        return Remembered(new.doc_id, "created" if old is None else "updated")

    def _insert(
        self,
        writing: WriteTransaction,
        cast: EntityLinker,
        partition: int,
        new: NewMemory,
        now_s: float,
    ) -> None:
        memory_id, place = writing.insert(partition, new, now_s)
        if quoted := identifiers_of(new.memory):
            writing.identify(memory_id, quoted)
        self._connect(writing, cast, memory_id, new.memory, place)

    def _show(
        self,
        writing: WriteTransaction,
        cast: EntityLinker,
        memory: Memory,
        now_s: float,
        veil: RedactedView,
    ) -> None:
        """Write a memory's view behind a veil, in place of the view there was."""
        view = policy.view_of(memory, veil.hidden)
        new = None if view is None else prepare(view, now_s, self.store.zone)
        old = writing.current(memory.space_id, memory.doc_id or "", veil.no)
        if old is not None:
            if new is not None and writing.content_hash(old.id) == new.content_hash:
                return
            writing.supersede(old, now_s, self.config.next_weight)
        if new is not None:
            partition = writing.partitions.find_or_create(
                memory.space_id, memory.band, memory.guardians_of, veil.no
            )
            self._insert(writing, cast, partition, new, now_s)

    def _connect(
        self,
        writing: WriteTransaction,
        cast: EntityLinker,
        memory_id: int,
        memory: Memory,
        place: Place,
    ) -> None:
        writing.ties.put_neighbours(memory_id, place, self.config.next_weight)
        cast.name(memory_id, memory.space_id, memory.author, memory.text)

    def _prepared(self, stored: StoredMemory) -> NewMemory:
        return prepare(stored.memory, stored.recorded_s, self.store.zone)


def upgrade(store: Store) -> None:
    """Bring what was derived by earlier rules up to date: part of opening a household.

    Identifiers are found again at once; vectors become pending, for :meth:`Indexer.flush`.
    """
    versions = {_IDENTIFIERS: RULES_VERSION, _VIEWS: _VIEWS_VERSION}
    with store.reading() as reading:
        is_current = all(reading.info(key) == version for key, version in versions.items())
    if is_current:
        return
    with store.writing() as writing:
        # Another process may have done it while this one waited for the lock.
        if writing.info(_IDENTIFIERS) != RULES_VERSION:
            writing.clear_identifiers()
            _identify_all(writing)
        if writing.info(_VIEWS) != _VIEWS_VERSION:
            writing.vectors.clear_views()
            writing.put_info(_VIEWS, _VIEWS_VERSION)


def _identify_all(writing: WriteTransaction) -> None:
    """Find the identifiers of every memory of a file that has none."""
    for memory_id, views in writing.texts():
        if quoted := identifiers_of(views):
            writing.identify(memory_id, quoted)
    writing.put_info(_IDENTIFIERS, RULES_VERSION)


def _batches(memories: Iterable[Memory], size: int) -> Iterator[Sequence[Memory]]:
    iterator = iter(memories)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
