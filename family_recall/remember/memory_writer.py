"""Writes memories with everything that derives from them, inside one write transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from family_recall.access import policy
from family_recall.access.rights import rights_of
from family_recall.config import RecallConfig
from family_recall.remember import relations
from family_recall.remember.derived import derive, prepare
from family_recall.remember.entity_linker import EntityLinker
from family_recall.store.memories import NewMemory, Place, StoredMemory
from family_recall.store.partitions import RedactedView
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Hidden, Memory, Region, Remembered


class MemoryWriter:
    """Writes memories, their redacted views, words, identifiers, times, entities and edges.

    Attributes:
        linker: The entities of the file, as this transaction knows them.
    """

    def __init__(
        self,
        writing: WriteTransaction,
        config: RecallConfig,
        region: Region,
        yield_to_recalls: Callable[[], None],
    ) -> None:
        """Write inside an open transaction, and yield to recalls before each memory."""
        self._yield_to_recalls = yield_to_recalls
        self.linker = EntityLinker(writing, config)
        self._writing = writing
        self._next_weight = config.next_weight
        self._region = region

    def admitted(
        self, memories: Iterable[Memory], person_id: str | None, now_s: float
    ) -> Iterable[Memory]:
        """Yield memories as a person stores them; as they are, where nobody is named.

        Raises:
            FamilyRecallError: If that person may not store one.
        """
        if person_id is None:
            yield from memories
            return
        rights = rights_of(self._writing.household, person_id, wall_s=now_s)
        for memory in memories:
            admitted = rights.admitted(memory)
            if memory.doc_id is not None:
                replaced = self._writing.current(memory.space_id, memory.doc_id)
                if replaced is not None:
                    rights.check_replaced(replaced.memory)
            yield admitted

    def write(self, memory: Memory, now_s: float) -> Remembered:
        """Store a memory with its redacted views, in place of the version of its id.

        Nothing is stored where its partition has the same content already.
        """
        writing = self._writing
        new = self._prepared(memory, now_s)
        partition = writing.partitions.find_or_create(
            memory.space_id, memory.band, memory.guardians_of
        )
        if memory.doc_id is None:
            same = writing.same_content(partition, new.content_hash)
            if same is not None:
                return Remembered(same, "duplicate")
        old = writing.current(memory.space_id, new.doc_id)
        if old is not None:
            if writing.content_hash(old.id) == new.content_hash:
                return Remembered(new.doc_id, "unchanged")
            writing.supersede(old, now_s, self._next_weight)
        self._insert(partition, new)
        for view in writing.partitions.views_of(memory.space_id):
            with_id = dataclasses.replace(memory, doc_id=new.doc_id)
            self._write_view(with_id, now_s, view)
        if old is not None:
            writing.raise_bands(memory.space_id, new.doc_id)
        return Remembered(new.doc_id, "created" if old is None else "updated")

    def withdraw(self, space_id: str, doc_id: str, now_s: float) -> None:
        """End a current memory and its redacted views, with nothing in their place."""
        views = self._writing.partitions.views_of(space_id)
        for view in (0, *(view.no for view in views)):
            old = self._writing.current(space_id, doc_id, view)
            if old is not None:
                self._writing.supersede(old, now_s, self._next_weight)

    def hide(self, hidden: Hidden) -> None:
        """Write the redacted view of a role from the history of a space.

        Raises:
            UnknownSpaceError: If the space is not there.
        """
        writing = self._writing
        view = writing.partitions.create_view(hidden)
        if view is None:
            return
        last: dict[str, StoredMemory] = {}
        for record in writing.history(hidden.space_id):
            if isinstance(record, StoredMemory):
                self._write_view(record.memory, record.recorded_s, view)
                last[record.memory.doc_id or ""] = record
            else:
                relations.write_view(writing, self.linker, record, view)
        for doc_id, original in last.items():
            copy = writing.current(hidden.space_id, doc_id, view.no)
            if copy is not None and original.superseded_s is not None:
                writing.supersede(copy, original.superseded_s, self._next_weight)

    def index_again(self, stored: StoredMemory) -> NewMemory:
        """Derive the words, entities and edges of a stored memory from its text."""
        self._yield_to_recalls()
        new = prepare(stored.memory, stored.recorded_s, self._writing.zone, stored.author_name)
        place = self._writing.reindex(stored, new)
        if stored.superseded_s is None:
            self._add_edges(stored.id, stored.memory, place)
        return new

    def restore(self, stored: Sequence[StoredMemory]) -> None:
        """Derive everything of some memories whose rows alone are there."""
        for memory in stored:
            self._derive(memory.id, self.index_again(memory))
        for memory in stored:
            self._writing.raise_bands(memory.memory.space_id, memory.memory.doc_id or "")

    def _prepared(self, memory: Memory, now_s: float) -> NewMemory:
        self._yield_to_recalls()
        author_name = self._writing.household.name_of(memory.author)
        return prepare(memory, now_s, self._writing.zone, author_name)

    def _write_view(self, memory: Memory, now_s: float, view: RedactedView) -> None:
        """Write a memory into a redacted view, in place of the version that is there."""
        writing = self._writing
        redacted = policy.view_of(memory, view.hidden)
        new = None if redacted is None else self._prepared(redacted, now_s)
        old = writing.current(memory.space_id, memory.doc_id or "", view.no)
        if old is not None:
            if new is not None and writing.content_hash(old.id) == new.content_hash:
                return
            writing.supersede(old, now_s, self._next_weight)
        if new is not None:
            partition = writing.partitions.find_or_create(
                memory.space_id, memory.band, memory.guardians_of, view.no
            )
            self._insert(partition, new, view.no)

    def _insert(self, partition: int, new: NewMemory, view: int = 0) -> None:
        memory_id, place = self._writing.insert(partition, new, view=view)
        self._derive(memory_id, new)
        self._add_edges(memory_id, new.memory, place)

    def _derive(self, memory_id: int, new: NewMemory) -> None:
        derive(self._writing, memory_id, new.memory, new.said_s, self._region)

    def _add_edges(self, memory_id: int, memory: Memory, place: Place) -> None:
        self._writing.edge_buffer.add_neighbours(memory_id, place, self._next_weight)
        self.linker.link(memory_id, memory.space_id, memory.author, memory.text)
