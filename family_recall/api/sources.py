"""Memories of sources such as calendars and files, by their own keys."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import msgspec

from family_recall.access import policy
from family_recall.access.rights import Rights, rights_of
from family_recall.api.arguments import Part, memory_of
from family_recall.api.engine import Embed
from family_recall.errors import (
    DatasetError,
    FamilyRecallError,
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
    UnconfirmedError,
)
from family_recall.forget.entity_provenance import update_entities
from family_recall.remember.derived import content_hash
from family_recall.store.transaction import Transaction, WriteTransaction
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

    _Changed = list[tuple[Memory, Relation | None, list[Version]]]
    """New and changed memories of a file, with what they state and the versions they replace."""

MAX_WITHDRAWN, MAX_WITHDRAWN_SHARE = 10, 0.5
"""If an import would withdraw more, by number and by share, it is probably another file."""

_BATCH = 256
_N_EXAMPLES = 3


class Sources(Part):
    """Memories that programs write under their own keys, such as a calendar's events.

    A source is any name, such as ``calendar.family``; it is the ``source`` of its memories. A key
    is the source's own id, such as the uid of an event. In a private space a source is its owner's:
    the same name elsewhere is another source. With ``person_id`` a call sees what that person sees
    and changes what they may; when left out, nothing is checked.
    """

    def write(
        self,
        source: str,
        key: str,
        text: str,
        /,
        *,
        person_id: str | None = None,
        embed: Embed = "now",
        **fields: Unpack[MemoryFields],
    ) -> Remembered:
        """Store a memory of a source under a key, in place of an earlier version.

        The earlier version stays in the history, as with ``home.correct``, even in another space;
        see :meth:`import_file` for which. The same content changes nothing, and the outcome is
        ``unchanged``.

        Args:
            source: The source, such as ``calendar.family``.
            key: The source's own id. An occurrence of a repeated event has the event's id, ``@``
                and its moment, as in ``uid-1@2026-03-10T18:00:00``: with the category ``event``,
                the next occurrence is found first.
            text: The text.
            person_id: Who writes, as with ``home.remember``.
            embed: As with ``home.remember``.
            **fields: Other fields of a memory except ``doc_id`` and ``source``; ``space_id`` is
                needed.

        Raises:
            InvalidMemoryError: If a field is unknown or out of range, or source and key are
                together too long for an id.
            UnknownSpaceError: If there is no such space.
            NotTheirsError: If ``home.remember`` stored that id there, or the person may not.
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
            rights = _rights(writing, person_id, now_s, space_id)
            related = _related(writing, source, doc_id, space_id, rights, now_s)
            own = {version.space_id for version in related}
            if space_id not in own:
                _check_id(writing, memory, rights)
            for elsewhere in sorted(own - {space_id}):
                indexer.writer(writing).withdraw(elsewhere, doc_id, now_s)
            (stored,) = indexer.remember_within(
                writing, [memory], now_s=now_s, static=static, person_id=person_id
            )
        if encoder is not None:
            indexer.embed(encoder, writing.changed)
        return msgspec.structs.replace(stored, outcome="updated") if own - {space_id} else stored

    def withdraw(
        self,
        source: str,
        key: str | None = None,
        *,
        space_id: str | None = None,
        person_id: str | None = None,
    ) -> bool:
        """Withdraw the memory under a key, or all memories under keys, in one space or in all.

        They stay in the history, where an earlier ``known_at`` finds them; :meth:`forget` removes
        them altogether. Relations without other evidence are removed. Returns False if there was
        none to withdraw, or none that this person may correct.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        doc_id, now_s = None if key is None else doc_id_of(source, key), self._engine.wall_clock()
        with self._engine.store.writing() as writing:
            rights = _rights(writing, person_id, now_s)
            versions = writing.versions.of_source(source, doc_id)
            own = {
                version.memory
                for version in versions
                if version.doc_id.startswith(prefix_of(source))
                and version.view == 0
                and space_id in {None, version.space_id}
                and (rights is None or rights.may_replace(version))
            }
            ended = [version for version in versions if version.memory in own]
            return bool(self._withdraw(writing, ended, now_s))

    def import_file(
        self,
        path: str | os.PathLike[str],
        /,
        *,
        space_id: str,
        file_format: str | None = None,
        source: str | None = None,
        authors: Mapping[str, str] | None = None,
        columns: Mapping[str, str | Sequence[str]] | None = None,
        person_id: str | None = None,
        day_first: bool | None = None,
        withdraw_most: bool = False,
        strict: bool = False,
        dry_run: bool = False,
        embed: Embed = "now",
        limits: float = 1.0,
        progress: StepCallback | None = None,
    ) -> Imported:
        """Import a file of another program as one source.

        It is a WhatsApp chat (``.txt``, ``.zip``), a calendar (iCalendar), contacts (vCard), a
        Markdown file or a folder of them, a table (CSV) or a mailbox (mbox). Importing it again
        stores what is new, updates what has changed, and withdraws what the file no longer has. A
        part that is not understood is left out, and listed with its place; what an earlier import
        read there stays. The same call continues an interrupted import.

        What the source said in another space moves: with ``person_id`` all that they may correct;
        else what is in spaces, not private, that everybody may enter who may enter this one.

        Args:
            path: The file or folder.
            space_id: The space to store it in.
            file_format: ``whatsapp``, ``icalendar``, ``vcard``, ``markdown``, ``csv`` or ``mbox``;
                recognised by suffix and content, when left out.
            source: The source's name; format and file name, when left out.
            authors: People's ids, names or aliases by author of the file. Other authors are looked
                up by their own names.
            columns: Headers of a table by field, such as ``{"text": "Note"}``; recognised by their
                names, when left out. The text may be several columns, ``["Item", "Place"]``, or
                a template, ``"{Item} is in the {Place}"``.
            person_id: Who imports, and is the author where the file names none; as with
                ``home.remember_many``.
            day_first: Whether 3/4/2026 is in April; read from the file, when left out.
            withdraw_most: Whether to withdraw even more than half of the source's memories, if
                these are more than ten.
            strict: Whether to store nothing of a file with a part that is not understood.
            dry_run: Whether to store nothing, and return what would be stored.
            embed: As with ``home.remember``.
            limits: A factor for everything that a file may cost to read: its size, lines,
                memories, nesting and processor time, as ``apps/importing/limits.py`` has them.
            progress: Called with the step (``storing`` or ``embedding``), the number done and the
                total.

        Raises:
            DatasetError: If the file cannot be read within the limits, with ``strict`` a part of
                it, or if a library for it is missing (``pip install 'family-recall[import]'``).
            InvalidRequestError: If there is no such format.
            UnknownPersonError: If there is no such person.
            UnknownSpaceError: If there is no such space, or the person may not enter it.
            UnconfirmedError: If most of the source's memories would be withdrawn.
            NotTheirsError: If ``home.remember`` stored one of the ids there, or the person may not
                store a memory.
        """
        # Imported here: it loads a fifth of the standard library, and few processes need it.
        from family_recall.apps import importing  # noqa: PLC0415

        file, now_s = Path(path), self._engine.wall_clock()
        known_format = _known_format(file, file_format, importing.format_of)
        source = source or importing.source_name(file, known_format)
        zone = self._engine.store.zone
        now = dt.datetime.fromtimestamp(now_s, zone)
        if not 0.0 < limits < math.inf:
            raise InvalidRequestError(f"limits must be a number above 0, got {limits!r}")
        allowed = importing.Limits().times(limits)
        settings = importing.ReadSettings(zone, now, day_first, columns or {}, allowed, strict)
        reading = importing.read(file, known_format, settings)
        with self._engine.store.reading() as tables:
            rights = _rights(tables, person_id, now_s, space_id)
            tables.household.space_no(space_id)
            known = policy.known_people(tables.household, person_id, now_s)
            people = _Authors(known, authors or {})
            stored = defaultdict[str, list[Version]](list)
            for version in _related(tables, source, None, space_id, rights, now_s):
                stored[version.doc_id].append(version)
        memories = [_memory(draft, source, space_id, people) for draft in reading.drafts]
        if rights is not None:
            memories = [rights.admitted(memory) for memory in memories]
        changed = [
            (memory, _relation(draft, memory), stored.get(str(memory.doc_id), []))
            for memory, draft in zip(memories, reading.drafts, strict=True)
            if not _is_stored(stored.get(str(memory.doc_id), []), memory)
        ]
        created = sum(not versions for _, _, versions in changed)
        theirs = {
            version.memory
            for versions in stored.values()
            for version in versions
            if version.view == 0 and (rights is None or rights.may_replace(version))
        }
        own = {doc_id.removeprefix(prefix_of(source)): doc_id for _, doc_id in sorted(theirs)
               if doc_id.startswith(prefix_of(source))}  # fmt: skip
        withdrawn = [own[key] for key in reading.missing(own)]
        n = len(withdrawn)
        if n > max(MAX_WITHDRAWN, len(own) * MAX_WITHDRAWN_SHARE) and not withdraw_most:
            raise UnconfirmedError(
                f"{file}: {n:,} of the {len(own):,} memories of {source!r} are not in this file; "
                "nothing was stored. If it is another file, name another source (--source); if "
                "they are to go, say so (--withdraw-most)"
            )
        if not dry_run:
            self._store(changed, person_id, now_s, progress)
            if withdrawn:
                with self._engine.store.writing() as writing:
                    ended = [
                        version
                        for doc_id in withdrawn
                        for version in stored[doc_id]
                        if version.memory in theirs
                    ]
                    self._withdraw(writing, ended, now_s)
            if embed == "now" and changed:
                self._engine.embed_pending(
                    lambda done: (
                        progress("embedding", done, max(done, len(changed))) if progress else None
                    )
                )
        reasons = Counter[str]()
        for item in reading.left_out:
            reasons[item.reason] += item.n
        firsts = {item.reason: item for item in reversed(reading.left_out)}
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
            left_out=tuple(
                Omission(why, n, firsts[why].where, firsts[why].problem)
                for why, n in reasons.most_common()
            ),
            authors=people.seen,
            examples=tuple(memories[:_N_EXAMPLES]),
        )

    def _store(
        self,
        changed: _Changed,
        person_id: str | None,
        now_s: float,
        progress: StepCallback | None,
    ) -> None:
        """Store new and changed memories, a batch per transaction; an error says how many."""
        store, indexer = self._engine.store, self._engine.indexer
        static = self._engine.models.static()
        done = 0
        try:
            for start in range(0, len(changed), _BATCH):
                batch = changed[start : start + _BATCH]
                with store.writing() as writing:
                    rights = _rights(writing, person_id, now_s)
                    for memory, _, before in batch if done else changed:
                        if not before:
                            _check_id(writing, memory, rights)
                    for memory, _, before in batch:
                        self._end_relations(writing, before)
                        moved = [old for old in before if old.space_id != memory.space_id]
                        self._withdraw(writing, moved, now_s)
                    memories = [memory for memory, _, _ in batch]
                    indexer.remember_within(
                        writing, memories, now_s=now_s, static=static, person_id=person_id
                    )
                    for _, relation, _ in batch:
                        if relation is not None:
                            indexer.relate(writing, relation, now_s)
                done += len(batch)
                if progress is not None:
                    progress("storing", done, len(changed))
        except FamilyRecallError as error:
            error.also(
                f"{done:,} of {len(changed):,} memories were stored"
                if done
                else "nothing was stored"
            )
            raise
        store.merge_words(done)

    def _withdraw(
        self, writing: WriteTransaction, versions: Iterable[Version], now_s: float
    ) -> int:
        """Withdraw memories, with relations that have no other evidence; return how many."""
        ended = list(versions)
        self._end_relations(writing, ended)
        memories = dict.fromkeys((version.space_id, version.doc_id) for version in ended)
        for space_id, doc_id in memories:
            self._engine.indexer.writer(writing).withdraw(space_id, doc_id, now_s)
        return len(memories)

    def _end_relations(self, writing: WriteTransaction, versions: Iterable[Version]) -> None:
        """Remove the relations without evidence other than these versions."""
        ended = writing.relations.remove_evidence(frozenset(version.id for version in versions))
        if ended:
            entities = {row[end] for row in ended for end in ("subject", "object")}
            update_entities(self._engine.indexer, writing, entities)

    def forget(
        self,
        source: str,
        key: str | None = None,
        *,
        space_id: str | None = None,
        person_id: str | None = None,
    ) -> Receipt:
        """Forget the memories of a source with their history, as ``home.forget`` does.

        Without a key, every memory with this ``source`` is forgotten; with one, only what
        :meth:`write` stored under it; in one space or in all, and as far as this person may.

        Raises:
            UnknownPersonError: If there is no such person.
            UnknownMemoryError: If there is none.
            NotTheirsError: If there are only memories that this person may not forget.
        """
        doc_id = None if key is None else doc_id_of(source, key)
        forgetter = self._engine.forgetter
        return self._engine.forget(
            lambda wall_s: forgetter.forget_source(
                source, doc_id, space_id, person_id, wall_s=wall_s
            )
        )

    def keys(
        self, source: str, *, space_id: str | None = None, person_id: str | None = None
    ) -> list[str]:
        """List the keys of a source's current memories, in one space or in all, in order.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        prefix, wall_s = prefix_of(source), self._engine.wall_clock()
        with self._engine.store.reading() as tables:
            rights = _rights(tables, person_id, wall_s)
            doc_ids = {
                version.doc_id
                for version in tables.versions.of_source(source)
                if space_id in {None, version.space_id} and (rights is None or rights.sees(version))
            }
        return sorted(
            doc_id.removeprefix(prefix) for doc_id in doc_ids if doc_id.startswith(prefix)
        )

    def all(self, person_id: str | None = None) -> list[SourceCount]:
        """Count the memories of each source in each space; with ``person_id`` those they see.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        wall_s = self._engine.wall_clock()
        with self._engine.store.reading() as tables:
            rights = _rights(tables, person_id, wall_s)
            partitions = {
                partition.no
                for partition in tables.household.every_partition()
                if partition.redacted_view == 0
            }
            if rights is not None:
                partitions &= rights.visible_partitions
            counts = tables.versions.count_by_source(partitions)
        return [SourceCount(*count) for count in counts]


def _rights(
    tables: Transaction, person_id: str | None, wall_s: float, space_id: str | None = None
) -> Rights | None:
    """Return what a person may do, and enter if a space is named; None for nobody."""
    if person_id is None:
        return None
    rights = rights_of(tables.household, person_id, wall_s=wall_s)
    if space_id is not None:
        rights.check_space(space_id)
    return rights


def _related(
    tables: Transaction,
    source: str,
    doc_id: str | None,
    space_id: str,
    rights: Rights | None,
    wall_s: float,
) -> list[Version]:
    """List what a source said in a space, and elsewhere what moves there, with redacted views."""
    versions = tables.versions.of_source(source, doc_id)
    if all(version.space_id == space_id for version in versions) and rights is None:
        return versions
    if rights is None:
        spaces = policy.moving_into(tables.household, space_id, wall_s)
        return [version for version in versions if version.space_id in spaces]
    memories = {
        version.memory
        for version in versions
        if version.view == 0
        and (rights.may_replace(version) or (version.space_id == space_id and rights.sees(version)))
    }
    return [version for version in versions if version.memory in memories]


class _Authors:
    """Finds the person for an author of a file, by id, name, alias or the caller's mapping.

    Attributes:
        seen: The person's id, or None, by author as the file names them.
    """

    def __init__(self, people: Iterable[Person], mapping: Mapping[str, str]) -> None:
        by_name = defaultdict[str, set[str]](set)
        for person in people:
            for name in (person.person_id, person.name, *person.aliases):
                by_name[_plain(name)].add(person.person_id)
        # A name of two people identifies neither.
        self._ids = {name: ids.pop() for name, ids in by_name.items() if len(ids) == 1}
        self._mapping = {_plain(name): author for name, author in mapping.items()}
        self.seen: dict[str, str | None] = {}

    def author(self, names: Sequence[str]) -> str | None:
        """Return the id for the names of an author, or the first name; None without names."""
        if not names:
            return None
        plain = [_plain(name) for name in names]
        mapped = next((self._mapping[name] for name in plain if name in self._mapping), None)
        candidates = plain if mapped is None else [_plain(mapped)]
        person = next((self._ids[name] for name in candidates if name in self._ids), None)
        self.seen[names[0]] = person or mapped
        return person or mapped or names[0]


def _known_format(
    path: Path, named: str | None, recognise: Callable[[Path], Format | None]
) -> Format:
    known = next((known for known in FORMATS if known == named), None)
    formats = ", ".join(FORMATS)
    if named is not None and known is None:
        raise InvalidRequestError(f"file_format must be one of {formats}, got {named!r}")
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # a name that is too long, the character 0, a folder
        raise DatasetError(f"{str(path)!r:.99}: cannot be read ({error}); check the path") from None
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


def _relation(draft: Draft, memory: Memory) -> Relation | None:
    if draft.relation is None:
        return None
    try:
        return Relation(*draft.relation, memory.space_id, evidence=(str(memory.doc_id),))
    except InvalidMemoryError as error:
        raise DatasetError(f"{draft.where}: {error}") from None


def _check_id(writing: WriteTransaction, memory: Memory, rights: Rights | None) -> None:
    """Raise if what is not theirs, or another program stored, has the id of a new memory."""
    doc_id, space_id = str(memory.doc_id), memory.space_id
    current = writing.current(space_id, doc_id)
    if current is not None:
        if rights is not None:  # first: nobody learns the source of what they may not see
            rights.check_replaced(current.memory)
        if current.memory.source != memory.source:
            raise NotTheirsError(
                f"{doc_id!r} in {space_id!r} is not from {memory.source!r}; nothing was stored"
            )


def _is_stored(versions: Iterable[Version], memory: Memory) -> bool:
    """Return whether exactly this memory is stored, in this space and no other."""
    originals = [
        (version.space_id, version.content_hash) for version in versions if version.view == 0
    ]
    return originals == [(memory.space_id, content_hash(memory))]


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def doc_id_of(source: str, key: str) -> str:
    """Return the id of a source's memory under a key, unique for each pair of them.

    Raises:
        InvalidMemoryError: If one is empty.
    """
    if not source or not key:
        raise InvalidMemoryError(f"a source and a key must not be empty: {source!r}, {key!r}")
    return f"{prefix_of(source)}{key}"


def prefix_of(source: str) -> str:
    """Return the beginning of a source's ids."""
    # It has one slash, at its end, so that the key may be any text.
    return f"{source.replace('%', '%25').replace('/', '%2F')}/"
