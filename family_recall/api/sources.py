"""What a source, such as a calendar, wrote under its own keys: updated, withdrawn and forgotten."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Unpack

import msgspec

from family_recall.api.engine import Embed, Engine
from family_recall.api.keywords import memory_of
from family_recall.errors import InvalidMemoryError, NotTheirsError
from family_recall.forget.entity_provenance import update_entities
from family_recall.store.transaction import Transaction, WriteTransaction
from family_recall.store.versions import Criteria, Version
from family_recall.types import Imported, Receipt, Remembered, SourceCount
from family_recall.types.aliases import StepCallback
from family_recall.types.checked import checked
from family_recall.types.memory import MemoryFields


@checked
class Sources:
    """What programs write for themselves, such as a calendar's events, by their own keys.

    A source is any name, such as ``calendar.family``, and stands in the ``source`` of a memory. A
    key is the source's own id, such as the uid of an event. The caller decides who may write.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(
        self,
        source: str,
        key: str,
        text: str,
        /,
        *,
        embed: Embed = "now",
        **fields: Unpack[MemoryFields],
    ) -> Remembered:
        """Store what a source says under a key, in place of what it said before.

        An earlier version stays in the history, as with ``home.correct``, and so does one in
        another space. The same again changes nothing, and the outcome is ``unchanged``.

        Args:
            source: Who writes, such as ``calendar.family``.
            key: Its own id of this.
            text: What it says.
            embed: As with ``home.remember``.
            **fields: Other fields of a memory, all but ``doc_id`` and ``source``; ``space_id`` is
                needed.

        Raises:
            InvalidMemoryError: If a field is unknown or out of range, or source and key together
                are longer than an id may be.
            UnknownSpaceError: If there is no such space.
            NotTheirsError: If that id is another's there, stored by ``home.remember``.
        """
        for name in ("doc_id", "source"):
            if name in fields:
                raise InvalidMemoryError(f"{name} is made of source and key; leave it out")
        if "space_id" not in fields:
            raise InvalidMemoryError("space_id is needed: a source names where it writes")
        memory = memory_of(text, fields, ())
        memory = dataclasses.replace(memory, doc_id=doc_id_of(source, key), source=source)
        doc_id, space_id = str(memory.doc_id), memory.space_id
        indexer, models = self._engine.indexer, self._engine.models
        static, encoder = models.static(), models.wait() if embed == "now" else None
        now_s = self._engine.wall_clock()
        with self._engine.store.writing() as writing:
            own = {version.space_id for version in _current(writing, source, doc_id)}
            if space_id not in own and writing.current(space_id, doc_id) is not None:
                raise NotTheirsError(
                    f"{doc_id!r} in {space_id!r} is not from {source!r}; nothing was stored"
                )
            for elsewhere in sorted(own - {space_id}):
                indexer.writer(writing).withdraw(elsewhere, doc_id, now_s)
            (stored,) = indexer.remember_within(writing, [memory], now_s=now_s, static=static)
        if encoder is not None:
            indexer.embed(encoder, writing.changed)
        return msgspec.structs.replace(stored, outcome="updated") if own - {space_id} else stored

    def withdraw(self, source: str, key: str | None = None) -> bool:
        """End what a source said under a key, or all that it said under keys.

        It is recalled no more, but stays in the history: ``known_at`` of an earlier moment still
        finds it. A relation that rests on it alone is removed. To leave nothing, :meth:`forget` it.
        Returns False where it said nothing, or withdrew it before.
        """
        doc_id, now_s = None if key is None else doc_id_of(source, key), self._engine.wall_clock()
        prefix = prefix_of(source)
        with self._engine.store.writing() as writing:
            entries = [
                entry
                for entry in writing.versions.of_source(source, doc_id)
                if entry.doc_id.startswith(prefix)
            ]
            return bool(withdraw_entries(self._engine, writing, entries, now_s))

    def import_file(
        self,
        path: str | os.PathLike[str],
        /,
        *,
        space_id: str,
        file_format: str | None = None,
        source: str | None = None,
        authors: Mapping[str, str] | None = None,
        columns: Mapping[str, str] | None = None,
        day_first: bool | None = None,
        withdraw_most: bool = False,
        dry_run: bool = False,
        embed: Embed = "now",
        progress: StepCallback | None = None,
    ) -> Imported:
        """Store what a file of another program says, as one source.

        A WhatsApp chat (``.txt``, ``.zip``), a calendar (iCalendar), contacts (vCard), a Markdown
        file or a folder of them, a table (CSV) or a mailbox (mbox). The same file again changes
        nothing. What it says in addition is stored, what it says otherwise is updated, and what it
        no longer says is withdrawn. A file that cannot be read whole stores nothing; an import
        that was interrupted is continued by the same call.

        Args:
            path: The file or folder.
            space_id: The space it is stored in; what is in another space moves there.
            file_format: ``whatsapp``, ``icalendar``, ``vcard``, ``markdown``, ``csv`` or ``mbox``;
                recognised by suffix and content, when left out.
            source: The source's name; format and file name, when left out.
            authors: Who is meant by an author of the file: ids, names or aliases of people, by the
                name that the file has. Other authors are looked up by their own names.
            columns: Headers of a table by the field that they hold, such as ``{"text": "Note"}``;
                recognised by their names, when left out.
            day_first: Whether 3/4/2026 is in April; read from the file, when left out.
            withdraw_most: Whether more than half of what the source said may be withdrawn, where
                that is more than ten memories.
            dry_run: Whether to store nothing, and return what would be.
            embed: As with ``home.remember``.
            progress: Called with the step (``storing`` or ``embedding``), and how far it is.

        Raises:
            DatasetError: If the file cannot be read, or a library for it is missing (``pip install
                'family-recall[import]'``).
            InvalidRequestError: If there is no such format.
            UnknownSpaceError: If there is no such space.
            UnconfirmedError: If most of what the source said would be withdrawn.
            NotTheirsError: If an id is another's there, stored by ``home.remember``.
        """
        # Few processes read mail and archives, which bring a fifth of the standard library.
        from family_recall.api import imports  # noqa: PLC0415

        imported = imports.import_file(
            self._engine,
            Path(path),
            space_id=space_id,
            file_format=file_format,
            source=source,
            authors=authors or {},
            columns=columns or {},
            day_first=day_first,
            withdraw_most=withdraw_most,
            dry_run=dry_run,
            progress=progress,
        )
        n = imported.created + imported.updated
        if embed == "now" and n and not dry_run:
            self._engine.embed_pending(
                lambda done: progress("embedding", done, max(done, n)) if progress else None
            )
        return imported

    def forget(self, source: str, key: str | None = None) -> Receipt:
        """Forget all that a source wrote, or one thing, with its history, as ``home.forget`` does.

        That is every memory with this ``source``, however it was stored. With a key, only what
        :meth:`write` stored under it.

        Raises:
            UnknownMemoryError: If there is nothing of it.
        """
        doc_id = None if key is None else doc_id_of(source, key)
        forgetter = self._engine.forgetter
        return self._engine.forget(
            lambda wall_s: forgetter.forget_source(source, doc_id, wall_s=wall_s)
        )

    def keys(self, source: str) -> list[str]:
        """List the keys of what a source says now, in order; withdrawn ones are left out."""
        prefix = prefix_of(source)
        with self._engine.store.reading() as tables:
            versions = _current(tables, source, None)
        return sorted(
            version.doc_id.removeprefix(prefix)
            for version in versions
            if version.doc_id.startswith(prefix)
        )

    def all(self) -> list[SourceCount]:
        """Count the memories of each source, by name."""
        with self._engine.store.reading() as tables:
            return [SourceCount(*counts) for counts in tables.versions.count_by_source()]


def _current(tables: Transaction, source: str, doc_id: str | None) -> list[Version]:
    """List what a source says now, in every space; under one id, if one is given."""
    memories = None if doc_id is None else [(None, doc_id)]
    found = tables.versions.find(None, Criteria(memories=memories, source=source))
    return [version for version in found if not version.past and version.view == 0]


def doc_id_of(source: str, key: str) -> str:
    """Return the id of what a source says under a key: different for any other two texts.

    Raises:
        InvalidMemoryError: If one is empty.
    """
    if not source or not key:
        raise InvalidMemoryError(f"a source and a key must not be empty: {source!r}, {key!r}")
    return f"{prefix_of(source)}{key}"


def prefix_of(source: str) -> str:
    """Return what the ids of a source begin with."""
    # Its only slash, so that the key may be any text as it is.
    return f"{source.replace('%', '%25').replace('/', '%2F')}/"


def end_relations(engine: Engine, writing: WriteTransaction, entries: Iterable[Version]) -> None:
    """Remove the relations that rest on what is about to be withdrawn or replaced, alone."""
    ended = writing.relations.remove_evidence(frozenset(entry.id for entry in entries))
    if ended:
        entities = {row[end] for row in ended for end in ("subject", "object")}
        update_entities(engine.indexer, writing, entities)


def withdraw_entries(
    engine: Engine, writing: WriteTransaction, entries: Iterable[Version], now_s: float
) -> int:
    """Withdraw some memories of a source, with the relations that rest on them; return how many."""
    ended = list(entries)
    end_relations(engine, writing, ended)
    memories = dict.fromkeys((entry.space_id, entry.doc_id) for entry in ended)
    for space_id, doc_id in memories:
        engine.indexer.writer(writing).withdraw(space_id, doc_id, now_s)
    return len(memories)
