"""Who lives here, where they may go, and who recalled what."""

from __future__ import annotations

from family_recall.access import accessible_spaces, policy
from family_recall.api.opened import Opened
from family_recall.stores.records import epoch_s
from family_recall.types import AuditEntry, Grant, Hidden, Person, Room, Space


class Household(Opened):
    """The part of `FamilyRecall` that is about who lives here."""

    def add_person(self, person: Person) -> None:
        """Add a person, or change the name and aliases of one that is there."""
        with self._store.writing() as writing:
            writing.admission.put_person(person)

    def add_space(self, space: Space) -> None:
        """Add a space, or change one that is there."""
        with self._store.writing() as writing:
            writing.admission.put_space(space)

    def grant(self, grant: Grant) -> None:
        """Let a person into a space, or change their role there.

        Raises:
            InvalidRequestError: If there is no such role.
            UnknownPersonError, UnknownSpaceError: If one of the two is not there.
        """
        policy.check_role(grant.role)
        with self._store.writing() as writing:
            writing.admission.put_grant(grant, epoch_s(grant.expires_at, self._store.zone))

    def revoke(self, person_id: str, space_id: str) -> bool:
        """Take a person's way into a space away; False where they had none.

        Raises:
            UnknownPersonError, UnknownSpaceError: If one of the two is not there.
        """
        with self._store.writing() as writing:
            return writing.admission.revoke(person_id, space_id)

    def add_guardian(self, person_id: str, child_id: str) -> None:
        """Make a person the guardian of a child: they may see what is told for guardians only.

        Raises:
            UnknownPersonError: If one of the two is not there.
        """
        with self._store.writing() as writing:
            writing.admission.put_guardian(person_id, child_id)

    def remove_guardian(self, person_id: str, child_id: str) -> bool:
        """Make a person a child's guardian no longer; False where they were none.

        Raises:
            UnknownPersonError: If one of the two is not there.
        """
        with self._store.writing() as writing:
            return writing.admission.remove_guardian(person_id, child_id)

    def hide(self, hidden: Hidden) -> None:
        """Keep a role from some fields of a space's memories, in place of those it was kept from.

        No fields show it everything again. That role then has a copy of its own of what it may
        see, told without those fields, which is made here for what is stored already: about the
        time of storing it anew. Vectors are pending until :meth:`flush`.

        Raises:
            UnknownSpaceError: If the space is not there.
        """
        self._indexer.hide(hidden)

    def people(self, person_id: str | None = None) -> list[Person]:
        """List the people, by id; for a person, who may enter a space that they may enter too.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self._store.household() as household:
            if person_id is None:
                return household.people()
            return accessible_spaces.people(household, person_id, self._wall_clock())

    def spaces(self, person_id: str | None = None) -> list[Space]:
        """List the spaces, by id; for a person, those they may enter now.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self._store.household() as household:
            if person_id is None:
                return household.spaces()
            return accessible_spaces.spaces(household, person_id, self._wall_clock())

    def grants(self) -> list[Grant]:
        """List who may enter which space."""
        with self._store.household() as household:
            return household.grants(self._store.zone)

    def guardians(self) -> dict[str, tuple[str, ...]]:
        """Name each child's guardians, by id."""
        with self._store.household() as household:
            return household.guardians()

    def hidden(self) -> list[Hidden]:
        """List what roles are kept from."""
        with self._store.household() as household:
            return household.hidden()

    def rooms(self, person_id: str | None) -> list[Room]:
        """List the spaces a person may enter, what they are there, and who else may.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self._store.household() as household:
            return accessible_spaces.rooms(
                household, person_id, self._wall_clock(), self._store.zone
            )

    def audit(self, person_id: str, *, of: str | None = None, limit: int = 100) -> list[AuditEntry]:
        """Tell a space's owner who recalled what of it, the newest first; ids, and no words.

        An owner is told of the spaces they own, and of nothing that was recalled elsewhere.

        Args:
            person_id: Who wants to know.
            of: Only what this person asked; everybody, when left out.
            limit: Entries wanted, 1 or more.

        Raises:
            InvalidRequestError: If this person owns no space.
            UnknownPersonError: If there is no such person.
        """
        return self._audit.read(person_id, of, limit)

    def keep_audit(self, days: int) -> None:
        """Set how many days the log of recalls goes back: 30 at first; 0 deletes it for good.

        Raises:
            InvalidRequestError: If ``days`` is below 0.
        """
        self._audit.keep(days)
