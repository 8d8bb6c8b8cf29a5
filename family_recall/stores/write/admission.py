"""Who is let in, and what they are kept from: people, spaces, grants, guardians, veils."""

from __future__ import annotations

from dataclasses import dataclass, field

import apsw

from family_recall.stores.access import household, redacted_views
from family_recall.stores.access.redacted_views import RedactedView
from family_recall.stores.write import partitions
from family_recall.types import Grant, Hidden, Person, Space


@dataclass(frozen=True, slots=True)
class Admission:
    """The household's people and doors, inside one write transaction."""

    connection: apsw.Connection
    vec0: bool
    _veils: dict[str, list[RedactedView]] = field(default_factory=dict)

    def put_person(self, person: Person) -> None:
        """Add or change a person."""
        household.put_person(self.connection, person)

    def put_space(self, space: Space) -> None:
        """Add or change a space."""
        household.put_space(self.connection, space)

    def put_grant(self, grant: Grant, expires_s: float | None) -> None:
        """Let a person into a space."""
        household.put_grant(self.connection, grant, expires_s)

    def revoke(self, person_id: str, space_id: str) -> bool:
        """Take a person's way into a space away; False where they had none."""
        return household.remove_grant(self.connection, person_id, space_id)

    def put_guardian(self, guardian_id: str, child_id: str) -> None:
        """Make a person a child's guardian."""
        household.put_guardian(self.connection, guardian_id, child_id)

    def remove_guardian(self, guardian_id: str, child_id: str) -> bool:
        """Make a person a child's guardian no longer; False where they were none."""
        return household.remove_guardian(self.connection, guardian_id, child_id)

    def veils(self, space_id: str) -> list[RedactedView]:
        """List what roles do not see of a space; read once a transaction."""
        if space_id not in self._veils:
            self._veils[space_id] = redacted_views.veils(self.connection, space_id)
        return self._veils[space_id]

    def create_redacted_view(self, hidden: Hidden) -> RedactedView | None:
        """Keep a role from some fields, in place of others; None where that is from nothing."""
        household.space_no(self.connection, hidden.space_id)
        for veil in redacted_views.veils(self.connection, hidden.space_id):
            if veil.hidden.role == hidden.role:
                partitions.remove_redacted_view(self.connection, veil.no, vec0=self.vec0)
        self._veils.clear()
        return redacted_views.put(self.connection, hidden) if hidden.fields else None
