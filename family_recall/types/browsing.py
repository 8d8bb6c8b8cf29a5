"""Records that are read without a question: memories, spaces, the audit log, imports."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from family_recall.types.fields import FieldSpec
from family_recall.types.memory import Memory, Person, Relation, Space
from family_recall.types.records import Record

Call: TypeAlias = Literal["recall", "opening", "explain", "look", "gap"]
"""Kinds of audit entries; a ``gap`` marks calls that may be missing."""

Format = Literal["whatsapp", "icalendar", "vcard", "markdown", "csv", "mbox"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""Formats of files that can be imported."""


class StoredVersion(Record, frozen=True):
    """One version of a memory, when it was recorded, and when it was replaced.

    ``replaced_at`` is None for the current version. A version that is damaged in the file is not
    ``intact`` and has only its id and space. ``author_name`` is the name of the person who is its
    author, or the author as heard.
    """

    memory: Memory
    recorded_at: dt.datetime
    replaced_at: dt.datetime | None = None
    intact: bool = True
    author_name: str | None = None

    @property
    def moment(self) -> dt.datetime:
        """When it happened or, if unknown, was recorded; in the household's zone."""
        occurred, zone = self.memory.occurred_at, self.recorded_at.tzinfo
        if occurred is None:
            return self.recorded_at
        return occurred.astimezone(zone) if occurred.tzinfo else occurred.replace(tzinfo=zone)


class MemoryPage(Record, frozen=True):
    """A page of memories, the newest first.

    ``total`` counts the memories of all pages, ``offset`` those before this one. ``months`` has
    the first day of each month with memories, and their number, the newest first.
    """

    memories: tuple[StoredVersion, ...]
    total: int
    offset: int
    months: tuple[tuple[dt.date, int], ...]


class EntityCount(Record, frozen=True):
    """The number of memories that mention a person or thing, or are by them."""

    name: str
    n_memories: int


class MemoryDetail(Record, frozen=True):
    """One memory with those of its versions and links that the person who asks may see.

    Args:
        current: The current version.
        earlier: The versions it replaced, the newest first.
        entities: Names of people and things, each with its role: ``author`` or ``mention``.
        relations: Current relations of its entities, the oldest first.
        links: Kind of link and other memory; ``next`` is a neighbour in its session.
    """

    current: StoredVersion
    earlier: tuple[StoredVersion, ...] = ()
    entities: tuple[tuple[str, str], ...] = ()
    relations: tuple[Relation, ...] = ()
    links: tuple[tuple[str, StoredVersion], ...] = ()


class AccessibleSpace(Record, frozen=True):
    """A space as one person may enter it.

    ``people`` lists everybody with a grant that has not expired, and their roles.
    """

    space: Space
    role: str
    bands: tuple[str, ...]
    hidden: tuple[str, ...]
    n_memories: int
    people: tuple[tuple[Person, str], ...]


class SourceCount(Record, frozen=True):
    """The current and the withdrawn memories of a source in one space."""

    source: str
    n_memories: int
    n_withdrawn: int
    space_id: str


def check_audit_days(days: int) -> None:
    """Raise ``InvalidRequestError`` unless ``days`` is a whole number from 0 to 99,999."""
    FieldSpec(name="days", type="integer", help="", minimum=0, maximum=99_999).read(days)


class AuditEntry(Record, frozen=True):
    """One call, without what concerns spaces that the reader of the log does not own.

    Args:
        person_id: Who asked; None for an unknown voice, and for a gap.
        asked_in: The space it was asked in; None for all spaces, or one that the reader does not
            own.
        memories: (space_id, doc_id) of the results in the reader's spaces, best first.
        lost: The number of calls missing in a gap; 0 if unknown.
    """

    at: dt.datetime
    call: Call
    person_id: str | None
    asked_in: str | None
    memories: tuple[tuple[str, str], ...] = ()
    lost: int = 0


class Omission(Record, frozen=True):
    """What an import left out: a reason in the plural, the number, and the place of the first.

    ``problem`` says what was expected and found at the first, of what the import did not
    understand; it is empty for what is left out on purpose.
    """

    reason: str
    n: int
    first: str
    problem: str = ""


class Imported(Record, frozen=True):
    """The outcome of importing a file, or of a dry run.

    ``updated`` counts memories that replaced an earlier version, or one in another space;
    ``withdrawn`` those that the file no longer has. ``left_out`` lists what was not stored, the
    most frequent first; ``authors`` maps each author of the file to a person's id or None;
    ``examples`` are the first memories, three at most.
    """

    path: str
    file_format: str
    source: str
    space_id: str
    dry_run: bool
    created: int
    updated: int
    unchanged: int
    withdrawn: int
    left_out: tuple[Omission, ...]
    authors: Mapping[str, str | None]
    examples: tuple[Memory, ...]
