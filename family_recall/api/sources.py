"""What a source, such as a calendar, wrote under its own keys: updated, withdrawn and forgotten."""

from __future__ import annotations

import dataclasses
from typing import Unpack

from family_recall.api.engine import Embed, Engine, check_embed
from family_recall.api.keywords import MemoryFields, memory_of
from family_recall.errors import InvalidMemoryError, NotTheirsError
from family_recall.stores.read.transaction import Transaction
from family_recall.stores.read.versions import Criteria, Version
from family_recall.types import Receipt, Remembered, SourceCount
from family_recall.types.checked import checked


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
        check_embed(embed)
        for name in ("doc_id", "source"):
            if name in fields:
                raise InvalidMemoryError(f"{name} is made of source and key; leave it out")
        if "space_id" not in fields:
            raise InvalidMemoryError("space_id is needed: a source names where it writes")
        memory = memory_of(text, fields, ())
        memory = dataclasses.replace(memory, doc_id=_doc_id(source, key), source=source)
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
                indexer.withdraw(writing, elsewhere, doc_id, now_s)
            (stored,) = indexer.remember_within(writing, [memory], now_s=now_s, static=static)
        if encoder is not None:
            indexer.embed(encoder, writing.changed)
        return dataclasses.replace(stored, outcome="updated") if own - {space_id} else stored

    def withdraw(self, source: str, key: str) -> bool:
        """End what a source said under a key: it is recalled no more, but stays in the history.

        ``known_at`` of an earlier moment still finds it. To leave nothing, :meth:`forget` it.
        Returns False where it said nothing, or withdrew it before.
        """
        doc_id, now_s = _doc_id(source, key), self._engine.wall_clock()
        with self._engine.store.writing() as writing:
            current = _current(writing, source, doc_id)
            for version in current:
                self._engine.indexer.withdraw(writing, version.space_id, doc_id, now_s)
        return bool(current)

    def forget(self, source: str, key: str | None = None) -> Receipt:
        """Forget all that a source wrote, or one thing, with its history, as ``home.forget`` does.

        That is every memory with this ``source``, however it was stored. With a key, only what
        :meth:`write` stored under it.

        Raises:
            UnknownMemoryError: If there is nothing of it.
        """
        doc_id = None if key is None else _doc_id(source, key)
        forgetter = self._engine.forgetter
        return self._engine.forget(
            lambda wall_s: forgetter.forget_source(source, doc_id, wall_s=wall_s)
        )

    def keys(self, source: str) -> list[str]:
        """List the keys of what a source says now, in order; withdrawn ones are left out."""
        prefix = _prefix(source)
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


def _doc_id(source: str, key: str) -> str:
    """Return the id of what a source says under a key: different for any other two texts.

    Raises:
        InvalidMemoryError: If one is empty.
    """
    if not source or not key:
        raise InvalidMemoryError(f"a source and a key must not be empty: {source!r}, {key!r}")
    return f"{_prefix(source)}{key}"


def _prefix(source: str) -> str:
    # Its only slash, so that the key may be any text as it is.
    return f"{source.replace('%', '%25').replace('/', '%2F')}/"


def _current(tables: Transaction, source: str, doc_id: str | None) -> list[Version]:
    """List what a source says now, in every space; under one id, if one is given."""
    memories = None if doc_id is None else [(None, doc_id)]
    found = tables.versions.find(None, Criteria(memories=memories, source=source))
    return [version for version in found if not version.past and version.view == 0]
