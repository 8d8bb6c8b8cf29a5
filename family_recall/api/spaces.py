"""Spaces, who may enter them, and which fields their roles do not see."""

from __future__ import annotations

from family_recall.access import accessible_spaces, policy
from family_recall.api.engine import Engine
from family_recall.stores.records import epoch_s
from family_recall.types import AccessibleSpace, Grant, Hidden, Space


class Spaces:
    """The spaces of a household, the grants to enter them, and fields hidden by role."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, space: Space) -> None:
        """Add a space, or change one that is there."""
        with self._engine.store.writing() as writing:
            writing.household.put_space(space)

    def all(self, person_id: str | None = None) -> list[Space]:
        """List the spaces, by id; for a person, those they may enter now.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self._engine.store.reading() as tables:
            if person_id is None:
                return tables.household.spaces()
            return accessible_spaces.spaces(tables.household, person_id, self._engine.wall_clock())

    def grant(self, grant: Grant) -> None:
        """Let a person into a space, or change their role there.

        Raises:
            InvalidRequestError: If there is no such role.
            UnknownPersonError, UnknownSpaceError: If one of the two is not there.
        """
        policy.check_role(grant.role)
        with self._engine.store.writing() as writing:
            writing.household.put_grant(grant, epoch_s(grant.expires_at, self._engine.store.zone))

    def revoke(self, person_id: str, space_id: str) -> bool:
        """Take a person's way into a space away; False where they had none.

        Raises:
            UnknownPersonError, UnknownSpaceError: If one of the two is not there.
        """
        with self._engine.store.writing() as writing:
            return writing.household.remove_grant(person_id, space_id)

    def grants(self) -> list[Grant]:
        """List who may enter which space."""
        with self._engine.store.reading() as tables:
            return tables.household.grants(self._engine.store.zone)

    def hide(self, hidden: Hidden) -> None:
        """Keep a role from some fields of a space's memories, in place of those it was kept from.

        No fields show it everything again. That role then has a copy of its own of what it may
        see, told without those fields, which is made here for what is stored already: about the
        time of storing it anew. Vectors are pending until :meth:`flush`.

        Raises:
            UnknownSpaceError: If the space is not there.
        """
        self._engine.indexer.hide(hidden)

    def hidden(self) -> list[Hidden]:
        """List what roles are kept from."""
        with self._engine.store.reading() as tables:
            return tables.household.hidden()

    def accessible(self, person_id: str | None) -> list[AccessibleSpace]:
        """List the spaces a person may enter, what they are there, and who else may.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self._engine.store.reading() as tables:
            return accessible_spaces.rooms(
                tables.household, person_id, self._engine.wall_clock(), self._engine.store.zone
            )
