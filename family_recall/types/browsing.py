"""What is looked at without a question: memories by page, one with all that hangs on it, rooms."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from family_recall.types.memory import Memory, Person, Relation, Space


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """One version of a memory: as told, when it was recorded, and when it was replaced.

    ``replaced_at`` is None for the version that is believed now. Of one that is not ``intact``,
    damaged in the file, there are its id and its space, and not a word.
    """

    memory: Memory
    recorded_at: dt.datetime
    replaced_at: dt.datetime | None = None
    intact: bool = True

    @property
    def moment(self) -> dt.datetime:
        """When it happened or, where nobody said, was recorded, in the household's zone."""
        happened, zone = self.memory.occurred_at, self.recorded_at.tzinfo
        if happened is None:
            return self.recorded_at
        return happened.astimezone(zone) if happened.tzinfo else happened.replace(tzinfo=zone)


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A page of memories, the newest first.

    Args:
        memories: Those of this page.
        total: All there are, on this page and others.
        offset: How many come before this page.
        months: The first day of each month that holds any, with how many, the newest first.
    """

    memories: tuple[StoredVersion, ...]
    total: int
    offset: int
    months: tuple[tuple[dt.date, int], ...]


@dataclass(frozen=True, slots=True)
class EntityCount:
    """Somebody or something by name; ``n_memories`` say it or are by it."""

    name: str
    n_memories: int


@dataclass(frozen=True, slots=True)
class MemoryDetail:
    """One memory with all that hangs on it, as far as the asker sees it.

    Args:
        current: The version that is believed now.
        earlier: The versions it replaced, the newest first.
        entities: Whom and what it names, each with its role: ``author`` or ``mention``.
        relations: What is known today of what it names, the oldest first.
        links: Other memories with the kind of link; ``next`` is the turn before or after.
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
        role: What they are there.
        bands: The bands that are open to them there.
        hidden: Fields they are kept from there.
        n_memories: Memories they may see there.
        people: Everybody with a grant there that has not run out, and their roles.
    """

    space: Space
    role: str
    bands: tuple[str, ...]
    hidden: tuple[str, ...]
    n_memories: int
    people: tuple[tuple[Person, str], ...]
