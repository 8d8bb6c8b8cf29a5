"""The household's tables in one view: people, spaces, who may enter them, and what they hold."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import apsw

from family_recall.stores.access import household, redacted_views
from family_recall.stores.file import sql
from family_recall.stores.records import Access, Partition
from family_recall.types import Grant, Hidden, Person, Space


@dataclass(frozen=True, slots=True)
class HouseholdTables:
    """Who lives here and where they may go, inside one transaction."""

    connection: apsw.Connection

    def access(self, person_id: str | None) -> list[Access]:
        """List the spaces a person may enter; ``UnknownPersonError`` if there is no such one."""
        return household.access_of(self.connection, person_id)

    def every_partition(self) -> list[Partition]:
        """List all partitions of the file: for deciding a scope, and for nothing else."""
        return household.partitions(self.connection)

    def expired(self, wall_s: float) -> tuple[tuple[str, float], ...]:
        """Give, for each category with a rule, the moment before which it is not kept."""
        return household.expired(self.connection, wall_s)

    def people(self) -> list[Person]:
        """List the household's people, by id."""
        return household.people(self.connection)

    def spaces(self) -> list[Space]:
        """List the household's spaces, by id."""
        return household.spaces(self.connection)

    def grants(self, zone: dt.tzinfo) -> list[Grant]:
        """List who may enter which space, and until when in a zone."""
        return household.grants(self.connection, zone)

    def guardians(self) -> dict[str, tuple[str, ...]]:
        """Name each child's guardians."""
        return household.guardians(self.connection)

    def hidden(self) -> list[Hidden]:
        """List what roles do not see."""
        return [veil.hidden for veil in redacted_views.veils(self.connection)]

    def alone_in(self, person_id: str) -> frozenset[str]:
        """Name the private spaces that this person may enter and nobody else."""
        found = sql.rows(
            self.connection,
            "SELECT s.space_id FROM space s JOIN access a ON a.space = s.no"
            " JOIN person p ON p.no = a.person WHERE s.kind = 'private'"
            " GROUP BY s.no HAVING count(*) = 1 AND max(p.person_id) = ?",
            (person_id,),
        )
        return frozenset(space_id for (space_id,) in found)
