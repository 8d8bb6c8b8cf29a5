"""What is read without a question: pages of memories, one in detail, accessible spaces."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from family_recall.types.memory import Memory, Person, Relation, Space


@dataclass(frozen=True, slots=True)
class StoredVersion:
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


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of memories, the newest first.

    Args:
        memories: Those of this page.
        total: How many there are, on all pages.
        offset: How many come before this page.
        months: The first day of each month with any, and how many, the newest first.
    """

    memories: tuple[StoredVersion, ...]
    total: int
    offset: int
    months: tuple[tuple[dt.date, int], ...]


@dataclass(frozen=True, slots=True)
class EntityCount:
    """A person or thing by name; ``n_memories`` mention it or are by it."""

    name: str
    n_memories: int


@dataclass(frozen=True, slots=True)
class MemoryDetail:
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


@dataclass(frozen=True, slots=True)
class AccessibleSpace:
    """A space as one person may enter it.

    Args:
        space: The space.
        role: Their role there.
        bands: The bands they see there.
        hidden: Fields hidden from them there.
        n_memories: Memories they may see there.
        people: Everybody with a grant there that has not expired, and their roles.
    """

    space: Space
    role: str
    bands: tuple[str, ...]
    hidden: tuple[str, ...]
    n_memories: int
    people: tuple[tuple[Person, str], ...]


@dataclass(frozen=True, slots=True)
class SourceCount:
    """A source of memories: how many there are now, and how many only the history has."""

    source: str
    n_memories: int
    n_withdrawn: int
