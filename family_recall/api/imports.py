"""Imports a file as a source: stores what is new, replaces what changed, withdraws what went."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from family_recall.api.engine import Engine
from family_recall.api.sources import doc_id_of, end_relations, prefix_of, withdraw_entries
from family_recall.apps import importing
from family_recall.apps.importing import Draft, Reading, ReadSettings
from family_recall.errors import (
    DatasetError,
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
    UnconfirmedError,
)
from family_recall.remember.derived import content_hash
from family_recall.store.versions import Version
from family_recall.types import Imported, Memory, Omission, Person, Relation
from family_recall.types.aliases import StepCallback
from family_recall.types.browsing import FORMATS, Format

MAX_WITHDRAWN, MAX_WITHDRAWN_SHARE = 10, 0.5
"""If more would go, and more than this share of what a source said, it is probably another file."""

_BATCH = 256
_N_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a file says that is not stored yet, and what is stored that it no longer says."""

    changed: list[tuple[Memory, Draft]]
    entries: dict[str, list[Version]]
    withdrawn: list[str]
    created: int
    unchanged: int


def import_file(
    engine: Engine,
    path: Path,
    *,
    space_id: str,
    file_format: str | None,
    source: str | None,
    authors: Mapping[str, str],
    columns: Mapping[str, str],
    day_first: bool | None,
    withdraw_most: bool,
    dry_run: bool,
    progress: StepCallback | None,
) -> Imported:
    """Do what ``home.sources.import_file`` says, without vectors of the transformer."""
    known_format = _format(path, file_format)
    source = source or importing.source_name(path, known_format)
    zone, now_s = engine.store.zone, engine.wall_clock()
    settings = ReadSettings(zone, dt.datetime.fromtimestamp(now_s, zone), day_first, columns)
    reading = importing.read(path, known_format, settings)
    with engine.store.reading() as tables:
        tables.household.space_no(space_id)
        people = _Authors(tables.household.people(), authors)
        memories = [(_memory(draft, source, space_id, people), draft) for draft in reading.drafts]
        plan = _plan(memories, reading, source, tables.versions.of_source(source))
    if not withdraw_most:
        _check_withdrawn(plan, source, path)
    if not dry_run:
        _write(engine, plan, source, now_s, progress)
    return Imported(
        path=str(path),
        file_format=known_format,
        source=source,
        space_id=space_id,
        dry_run=dry_run,
        created=plan.created,
        updated=len(plan.changed) - plan.created,
        unchanged=plan.unchanged,
        withdrawn=len(plan.withdrawn),
        left_out=_omissions(reading),
        authors=people.seen,
        examples=tuple(memory for memory, _ in memories[:_N_EXAMPLES]),
    )


class _Authors:
    """Finds the person whom a file means by a name, an alias, an id, or as it was told."""

    def __init__(self, people: Iterable[Person], told: Mapping[str, str]) -> None:
        by_name = defaultdict[str, set[str]](set)
        for person in people:
            for name in (person.person_id, person.name, *person.aliases):
                by_name[_plain(name)].add(person.person_id)
        # What two people are called means neither.
        self._ids = {name: ids.copy().pop() for name, ids in by_name.items() if len(ids) == 1}
        self._told = {_plain(name): author for name, author in told.items()}
        self.seen: dict[str, str | None] = {}

    def author(self, names: Sequence[str]) -> str | None:
        """Return whom the names of an author mean, or the first; None for no author."""
        if not names:
            return None
        plain = [_plain(name) for name in names]
        author = next((self._told[name] for name in plain if name in self._told), None)
        if author is not None:
            person = self._ids.get(_plain(author))
        else:
            person = next((self._ids[name] for name in plain if name in self._ids), None)
        self.seen[names[0]] = person or author
        return person or author or names[0]


def _format(path: Path, named: str | None) -> Format:
    file_format = named or importing.format_of(path)
    for known in FORMATS:
        if known == file_format:
            return known
    formats = ", ".join(FORMATS)
    if named is not None:
        raise InvalidRequestError(f"file_format must be one of {formats}, got {named!r}")
    if not path.exists():
        raise DatasetError(f"{path}: no such file; check the path")
    raise DatasetError(f"{path}: expected one of {formats}, recognised none; name the format")


def _memory(draft: Draft, source: str, space_id: str, authors: _Authors) -> Memory:
    fields = dict(draft.fields)
    if session := fields.get("session_id"):
        fields["session_id"] = f"{source} {session}"[:1000]
    try:
        return Memory(
            draft.text,
            space_id,
            doc_id=doc_id_of(source, draft.key),
            author=authors.author(draft.author_names),
            source=source,
            **{name: value for name, value in fields.items() if value is not None},
        )
    except InvalidMemoryError as error:
        raise DatasetError(f"{draft.where}: {error}") from None


def _plan(
    memories: Iterable[tuple[Memory, Draft]],
    reading: Reading,
    source: str,
    stored: Iterable[Version],
) -> _Plan:
    entries = defaultdict[str, list[Version]](list)
    for entry in stored:
        entries[entry.doc_id].append(entry)
    plan = _Plan([], entries, [], 0, 0)
    said: set[str] = set()
    created = unchanged = 0
    for memory, draft in memories:
        doc_id = str(memory.doc_id)
        said.add(doc_id)
        originals = [entry for entry in entries.get(doc_id, ()) if entry.view == 0]
        same = [(e.space_id, e.content_hash) for e in originals]
        if same == [(memory.space_id, content_hash(memory))]:
            unchanged += 1
            continue
        created += not originals
        plan.changed.append((memory, draft))
    prefix = prefix_of(source)
    plan.withdrawn.extend(
        doc_id
        for doc_id in entries
        if doc_id not in said
        and doc_id.startswith(prefix)
        and not reading.keeps(doc_id.removeprefix(prefix))
    )
    return dataclasses.replace(plan, created=created, unchanged=unchanged)


def _check_withdrawn(plan: _Plan, source: str, path: Path) -> None:
    n, before = len(plan.withdrawn), len(plan.entries)
    if n > max(MAX_WITHDRAWN, before * MAX_WITHDRAWN_SHARE):
        raise UnconfirmedError(
            f"{path}: {n:,} of the {before:,} memories of {source!r} are not in this file; "
            "nothing was stored. If it is another file, name another source (--source); if they "
            "are to go, say so (--withdraw-most)"
        )


def _write(
    engine: Engine, plan: _Plan, source: str, now_s: float, progress: StepCallback | None
) -> None:
    static = engine.models.static()
    batches = iter(plan.changed)
    done = 0
    while batch := list(itertools.islice(batches, _BATCH)):
        with engine.store.writing() as writing:
            for memory, _ in batch:
                old = plan.entries.get(str(memory.doc_id), [])
                end_relations(engine, writing, old)
                elsewhere = [entry for entry in old if entry.space_id != memory.space_id]
                withdraw_entries(engine, writing, elsewhere, now_s)
                current = None if old else writing.current(memory.space_id, str(memory.doc_id))
                if current is not None and current.memory.source != source:
                    raise NotTheirsError(
                        f"{memory.doc_id!r} in {memory.space_id!r} is not from {source!r}; it and "
                        "what follows it were not stored"
                    )
            memories = [memory for memory, _ in batch]
            engine.indexer.remember_within(writing, memories, now_s=now_s, static=static)
            for memory, draft in batch:
                if draft.relation is not None:
                    engine.indexer.relate(writing, _relation(memory, draft.relation), now_s)
        done += len(batch)
        if progress is not None:
            progress("storing", done, len(plan.changed))
    engine.store.merge_words(done)
    ended = [entry for doc_id in plan.withdrawn for entry in plan.entries[doc_id]]
    if ended:
        with engine.store.writing() as writing:
            withdraw_entries(engine, writing, ended, now_s)


def _relation(memory: Memory, ends: tuple[str, str, str]) -> Relation:
    subject, relation, object_ = ends
    return Relation(
        subject,
        relation,
        object_,
        memory.space_id,
        band=memory.band,
        evidence=(str(memory.doc_id),),
    )


def _omissions(reading: Reading) -> tuple[Omission, ...]:
    firsts: dict[str, str] = {}
    for item in reading.left_out:
        firsts.setdefault(item.reason, item.where)
    counts = Counter(item.reason for item in reading.left_out)
    return tuple(Omission(reason, n, firsts[reason]) for reason, n in counts.most_common())


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())
