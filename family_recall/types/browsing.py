"""What is read without a question: pages of memories, accessible spaces, the log, imports."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from family_recall.types.fields import FieldSpec
from family_recall.types.memory import Memory, Person, Relation, Space
from family_recall.types.records import Record

Call: TypeAlias = Literal["recall", "opening", "explain", "look", "gap"]
"""What was called; a ``gap`` is a time of which calls may be missing."""

Format = Literal["whatsapp", "icalendar", "vcard", "markdown", "csv", "mbox"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""What a file may be."""


class StoredVersion(Record, frozen=True):
    """One version of a memory, when it was recorded, and when it was replaced.

    ``replaced_at`` is None for the current version. Of one that is not ``intact``, but damaged in
    the file, there are its id and its space, without a word of text. ``author_name`` is what the
    person is called whose id its author is, or the author as heard.
    """

    memory: Memory
    recorded_at: dt.datetime
    replaced_at: dt.datetime | None = None
    intact: bool = True
    author_name: str | None = None

    @property
    def moment(self) -> dt.datetime:
        """When it happened or, where that is unknown, was recorded, in the household's zone."""
        occurred, zone = self.memory.occurred_at, self.recorded_at.tzinfo
        if occurred is None:
            return self.recorded_at
        return occurred.astimezone(zone) if occurred.tzinfo else occurred.replace(tzinfo=zone)


class MemoryPage(Record, frozen=True):
    """A page of memories, the newest first.

    There are ``total`` on all pages, and ``offset`` before this one. ``months`` are the first day
    of each month with any, and how many, the newest first.
    """

    memories: tuple[StoredVersion, ...]
    total: int
    offset: int
    months: tuple[tuple[dt.date, int], ...]


class EntityCount(Record, frozen=True):
    """A person or thing by name; ``n_memories`` mention it or are by it."""

    name: str
    n_memories: int


class MemoryDetail(Record, frozen=True):
    """One memory with its versions and links, as far as the person who asks may see them.

    Args:
        current: The current version.
        earlier: The versions it replaced, the newest first.
        entities: People and things it is about, each with its role: ``author`` or ``mention``.
        relations: Current relations of its entities, the oldest first.
        links: Other memories with the kind of link; ``next`` is the one before or after in its
            session.
    """

    current: StoredVersion
    earlier: tuple[StoredVersion, ...] = ()
    entities: tuple[tuple[str, str], ...] = ()
    relations: tuple[Relation, ...] = ()
    links: tuple[tuple[str, StoredVersion], ...] = ()


class AccessibleSpace(Record, frozen=True):
    """A space as one person may enter it: what they see there, and how much.

    ``people`` is everybody with a grant there that has not expired, and their roles.
    """

    space: Space
    role: str
    bands: tuple[str, ...]
    hidden: tuple[str, ...]
    n_memories: int
    people: tuple[tuple[Person, str], ...]


class SourceCount(Record, frozen=True):
    """A source of memories: how many there are now, and how many only the history has."""

    source: str
    n_memories: int
    n_withdrawn: int


def check_audit_days(days: int) -> None:
    """Raise ``InvalidRequestError`` unless the log may go back so many days: 0 to 99,999."""
    FieldSpec(name="days", type="integer", help="", minimum=0, maximum=99_999).read(days)


class AuditEntry(Record, frozen=True):
    """One call, as far as it concerns the reader of the log.

    Args:
        person_id: Who asked; None for an unknown voice, and for a gap.
        asked_in: The space it was asked in; None for everywhere, or for one that is not the
            reader's.
        memories: (space_id, doc_id) of what was returned, best first, in the reader's spaces only.
        lost: Of a gap, how many calls are known to be missing; 0 where that is unknown.
    """

    at: dt.datetime
    call: Call
    person_id: str | None
    asked_in: str | None
    memories: tuple[tuple[str, str], ...] = ()
    lost: int = 0


class Omission(Record, frozen=True):
    """What an import left out: how many of what (in the plural), and where the first stands."""

    reason: str
    n: int
    first: str


class Imported(Record, frozen=True):
    """The outcome of importing a file, or what it would be.

    ``updated`` counts memories in place of an earlier version, or of one in another space;
    ``withdrawn`` those that the file no longer has. ``left_out`` is what was not stored, the most
    frequent first; ``authors`` each author as the file names them, and the person's id or None;
    ``examples`` the first memories of the file, three at most.
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
