"""What a source, such as a calendar or a file, wrote under its own keys: updated, withdrawn."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import msgspec

from family_recall.api.engine import Embed
from family_recall.api.keywords import Part, memory_of
from family_recall.errors import (
    DatasetError,
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
    UnconfirmedError,
)
from family_recall.forget.entity_provenance import update_entities
from family_recall.remember.derived import content_hash
from family_recall.store.transaction import WriteTransaction
from family_recall.store.versions import Version
from family_recall.types import (
    Imported,
    Memory,
    Omission,
    Person,
    Receipt,
    Relation,
    Remembered,
    SourceCount,
)
from family_recall.types.aliases import StepCallback
from family_recall.types.browsing import FORMATS, Format
from family_recall.types.fields import MAX_LABEL_CHARS
from family_recall.types.memory import MemoryFields

if TYPE_CHECKING:
    from family_recall.apps.importing import Draft

    _Changed = list[tuple[Memory, Draft, list[Version]]]
    """What a file says and the source did not, with the versions that it replaces."""

MAX_WITHDRAWN, MAX_WITHDRAWN_SHARE = 10, 0.5
"""If more would go, and more than this share of what a source said, it is probably another file."""

_BATCH = 256
_N_EXAMPLES = 3


class Sources(Part):
    """What programs write for themselves, such as a calendar's events, by their own keys.

    A source is any name, such as ``calendar.family``, and stands in the ``source`` of a memory. A
    key is the source's own id, such as the uid of an event. The caller decides who may write.
    """

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
        memory = memory_of(text, fields)
        memory = dataclasses.replace(memory, doc_id=doc_id_of(source, key), source=source)
        doc_id, space_id = str(memory.doc_id), memory.space_id
        indexer, models = self._engine.indexer, self._engine.models
        static, encoder = models.static(), models.wait() if embed == "now" else None
        now_s = self._engine.wall_clock()
        with self._engine.store.writing() as writing:
            own = {version.space_id for version in writing.versions.of_source(source, doc_id)}
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
        with self._engine.store.writing() as writing:
            versions = writing.versions.of_source(source, doc_id)
            own = [each for each in versions if each.doc_id.startswith(prefix_of(source))]
            return bool(self._withdraw(writing, own, now_s))

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
        from family_recall.apps import importing  # noqa: PLC0415

        file, now_s = Path(path), self._engine.wall_clock()
        known_format = _known_format(file, file_format, importing.format_of)
        source = source or importing.source_name(file, known_format)
        zone = self._engine.store.zone
        now = dt.datetime.fromtimestamp(now_s, zone)
        settings = importing.ReadSettings(zone, now, day_first, columns or {})
        reading = importing.read(file, known_format, settings)
        with self._engine.store.reading() as tables:
            tables.household.space_no(space_id)
            people = _Authors(tables.household.people(), authors or {})
            stored = defaultdict[str, list[Version]](list)
            for version in tables.versions.of_source(source):
                stored[version.doc_id].append(version)
        memories = [_memory(draft, source, space_id, people) for draft in reading.drafts]
        changed = [
            (memory, draft, stored.get(str(memory.doc_id), []))
            for memory, draft in zip(memories, reading.drafts, strict=True)
            if not _says_so(stored.get(str(memory.doc_id), []), memory)
        ]
        created = sum(not versions for _, _, versions in changed)
        own = {doc_id.removeprefix(prefix_of(source)): doc_id for doc_id in stored
               if doc_id.startswith(prefix_of(source))}  # fmt: skip
        for draft in reading.drafts:
            own.pop(draft.key, None)
        withdrawn = [doc_id for key, doc_id in own.items() if not reading.keeps(key)]
        n, before = len(withdrawn), len(stored)
        if n > max(MAX_WITHDRAWN, before * MAX_WITHDRAWN_SHARE) and not withdraw_most:
            raise UnconfirmedError(
                f"{file}: {n:,} of the {before:,} memories of {source!r} are not in this file; "
                "nothing was stored. If it is another file, name another source (--source); if "
                "they are to go, say so (--withdraw-most)"
            )
        if not dry_run:
            self._store(changed, source, now_s, progress)
            if withdrawn:
                with self._engine.store.writing() as writing:
                    ended = [version for doc_id in withdrawn for version in stored[doc_id]]
                    self._withdraw(writing, ended, now_s)
            if embed == "now" and changed:
                self._engine.embed_pending(
                    lambda done: (
                        progress("embedding", done, max(done, len(changed))) if progress else None
                    )
                )
        reasons = Counter(item.reason for item in reading.left_out)
        firsts = {item.reason: item.where for item in reversed(reading.left_out)}
        return Imported(
            path=str(file),
            file_format=known_format,
            source=source,
            space_id=space_id,
            dry_run=dry_run,
            created=created,
            updated=len(changed) - created,
            unchanged=len(memories) - len(changed),
            withdrawn=n,
            left_out=tuple(Omission(why, n, firsts[why]) for why, n in reasons.most_common()),
            authors=people.seen,
            examples=tuple(memories[:_N_EXAMPLES]),
        )

    def _store(
        self, changed: _Changed, source: str, now_s: float, progress: StepCallback | None
    ) -> None:
        """Store what a file says and the source did not, a batch in a transaction."""
        store, indexer = self._engine.store, self._engine.indexer
        static = self._engine.models.static()
        done = 0
        for start in range(0, len(changed), _BATCH):
            batch = changed[start : start + _BATCH]
            with store.writing() as writing:
                for memory, _, before in batch:
                    self._end_relations(writing, before)
                    moved = [version for version in before if version.space_id != memory.space_id]
                    self._withdraw(writing, moved, now_s)
                    current = writing.current(memory.space_id, str(memory.doc_id))
                    if current is not None and not before and current.memory.source != source:
                        raise NotTheirsError(
                            f"{memory.doc_id!r} in {memory.space_id!r} is not from {source!r}; it "
                            "and what follows it were not stored"
                        )
                memories = [memory for memory, _, _ in batch]
                indexer.remember_within(writing, memories, now_s=now_s, static=static)
                for memory, draft, _ in batch:
                    if draft.relation is not None:
                        evidence = (str(memory.doc_id),)
                        relation = Relation(*draft.relation, memory.space_id, evidence=evidence)
                        indexer.relate(writing, relation, now_s)
            done += len(batch)
            if progress is not None:
                progress("storing", done, len(changed))
        store.merge_words(done)

    def _withdraw(
        self, writing: WriteTransaction, versions: Iterable[Version], now_s: float
    ) -> int:
        """Withdraw memories with the relations that rest on them; return how many."""
        ended = list(versions)
        self._end_relations(writing, ended)
        memories = dict.fromkeys((version.space_id, version.doc_id) for version in ended)
        for space_id, doc_id in memories:
            self._engine.indexer.writer(writing).withdraw(space_id, doc_id, now_s)
        return len(memories)

    def _end_relations(self, writing: WriteTransaction, versions: Iterable[Version]) -> None:
        """Remove the relations that rest on these versions alone."""
        ended = writing.relations.remove_evidence(frozenset(version.id for version in versions))
        if ended:
            entities = {row[end] for row in ended for end in ("subject", "object")}
            update_entities(self._engine.indexer, writing, entities)

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
            doc_ids = {version.doc_id for version in tables.versions.of_source(source)}
        return sorted(each.removeprefix(prefix) for each in doc_ids if each.startswith(prefix))

    def all(self) -> list[SourceCount]:
        """Count the memories of each source, by name."""
        with self._engine.store.reading() as tables:
            return [SourceCount(*counts) for counts in tables.versions.count_by_source()]


class _Authors:
    """Finds the person whom a file means by a name, an alias, an id, or as the caller told.

    Attributes:
        seen: Each author as the file names them, and the person's id.
    """

    def __init__(self, people: Iterable[Person], told: Mapping[str, str]) -> None:
        by_name = defaultdict[str, set[str]](set)
        for person in people:
            for name in (person.person_id, person.name, *person.aliases):
                by_name[_plain(name)].add(person.person_id)
        # What two people are called means neither.
        self._ids = {name: ids.pop() for name, ids in by_name.items() if len(ids) == 1}
        self._told = {_plain(name): author for name, author in told.items()}
        self.seen: dict[str, str | None] = {}

    def author(self, names: Sequence[str]) -> str | None:
        """Return whom the names of an author mean, or the first; None for no author."""
        if not names:
            return None
        plain = [_plain(name) for name in names]
        told = next((self._told[name] for name in plain if name in self._told), None)
        meant = plain if told is None else [_plain(told)]
        person = next((self._ids[name] for name in meant if name in self._ids), None)
        self.seen[names[0]] = person or told
        return person or told or names[0]


def _known_format(
    path: Path, named: str | None, recognise: Callable[[Path], Format | None]
) -> Format:
    known = next((known for known in FORMATS if known == named), None)
    formats = ", ".join(FORMATS)
    if named is not None and known is None:
        raise InvalidRequestError(f"file_format must be one of {formats}, got {named!r}")
    if (file_format := known or recognise(path)) is not None:
        return file_format
    if not path.exists():
        raise DatasetError(f"{path}: no such file; check the path")
    raise DatasetError(f"{path}: expected one of {formats}, recognised none; name the format")


def _memory(draft: Draft, source: str, space_id: str, authors: _Authors) -> Memory:
    fields = {name: value for name, value in draft.fields.items() if value is not None}
    if session := fields.get("session_id"):
        fields["session_id"] = f"{source} {session}"[:MAX_LABEL_CHARS]
    try:
        return Memory(
            draft.text,
            space_id,
            doc_id=doc_id_of(source, draft.key),
            author=authors.author(draft.author_names),
            source=source,
            **fields,
        )
    except InvalidMemoryError as error:
        raise DatasetError(f"{draft.where}: {error}") from None


def _says_so(versions: Iterable[Version], memory: Memory) -> bool:
    """Whether a source says exactly this already, in this space and no other."""
    originals = [(each.space_id, each.content_hash) for each in versions if each.view == 0]
    return originals == [(memory.space_id, content_hash(memory))]


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


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
