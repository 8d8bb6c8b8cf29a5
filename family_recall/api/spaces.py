"""The spaces of a household, the grants to enter them, and fields hidden by role."""

from __future__ import annotations

import itertools
from collections import Counter

from family_recall.access import policy
from family_recall.api.arguments import Part
from family_recall.store.memories import epoch_s
from family_recall.types import AccessibleSpace, Grant, Hidden, Person, RecallContext, Space


class Spaces(Part):
    """The spaces of a household, the grants to enter them, and fields hidden by role."""

    def add(self, space: Space) -> None:
        """Add or change a space."""
        with self._engine.store.writing() as writing:
            named = {known.space_id: known.name for known in writing.household.spaces()}
            if named.get(space.space_id) not in {None, space.name}:
                writing.erasure_log.set_rewrite_due()
            writing.household.put_space(space)
        self._engine.clean()

    def all(self, person_id: str | None = None) -> list[Space]:
        """List the spaces by id; with ``person_id`` those the person may enter now.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self._engine.store.reading() as tables:
            spaces = tables.household.spaces()
            if person_id is None:
                return spaces
            access = tables.household.access(person_id)
            entered = policy.entered(access, self._engine.wall_clock())
            return [space for space in spaces if space.space_id in entered]

    def private(self, person_id: str) -> str:
        """Return the private space of a person that nobody else may enter, made if there is none.

        It is ``private:`` and their id; with a number, where a space of that name has been
        somebody's: nobody inherits one.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self._engine.store.writing() as writing:
            household = writing.household
            access = household.access(person_id)
            alone = household.alone_in(person_id)
            owned = {
                entry.space_id
                for entry in policy.entered(access, self._engine.wall_clock()).values()
                if entry.role == "owner" and entry.space_id in alone
            }
            name = f"private:{person_id}"
            if owned:
                return name if name in owned else min(owned)
            names = (f"{name}-{n}" if n else name for n in itertools.chain([0], itertools.count(2)))
            space_id = next(name for name in names if household.is_unused(name))
            household.put_space(Space(space_id, "private"))
            household.put_grant(Grant(person_id, space_id, "owner"), None)
            return space_id

    def accessible(self, person_id: str | None) -> list[AccessibleSpace]:
        """List the spaces a person may enter by id, with their role and who else may enter.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        wall_s, zone = self._engine.wall_clock(), self._engine.store.zone
        with self._engine.store.reading() as tables:
            household = tables.household
            ctx = RecallContext(person_id=person_id)
            scope = policy.scope_of(household, ctx, wall_s=wall_s, zone=zone)
            counts: Counter[str] = Counter()
            for partition in household.every_partition():
                if partition.no in scope.partitions:
                    counts[partition.space_id] += partition.n_current
            spaces = {space.space_id: space for space in household.spaces()}
            people = {person.person_id: person for person in household.people()}
            hidden = {(entry.space_id, entry.role): entry.fields for entry in household.hidden()}
            granted: dict[str, list[tuple[Person, str]]] = {}
            for grant in household.grants(zone):
                if grant.expires_at is None or grant.expires_at.timestamp() > wall_s:
                    person = people[grant.person_id]
                    granted.setdefault(grant.space_id, []).append((person, grant.role))
            return [
                AccessibleSpace(
                    space=spaces[entry.space_id],
                    role=entry.role,
                    bands=policy.CLEARANCE[entry.role],
                    hidden=hidden.get((entry.space_id, entry.role), ()),
                    n_memories=counts[entry.space_id],
                    people=tuple(granted.get(entry.space_id, ())),
                )
                for entry in policy.entered(household.access(person_id), wall_s).values()
            ]

    def grant(self, grant: Grant) -> None:
        """Allow a person to enter a space, or change their role there.

        Raises:
            UnknownPersonError, UnknownSpaceError: If one of them does not exist.
        """
        with self._engine.store.writing() as writing:
            writing.household.put_grant(grant, epoch_s(grant.expires_at, self._engine.store.zone))
            person = writing.household.person(grant.person_id)
            if person is not None:
                self._engine.indexer.writer(writing).linker.link_earlier(person)

    def revoke(self, person_id: str, space_id: str) -> bool:
        """Remove a person's grant for a space; return False if they had none.

        Raises:
            UnknownPersonError, UnknownSpaceError: If one of them does not exist.
        """
        with self._engine.store.writing() as writing:
            return writing.household.remove_grant(person_id, space_id)

    def grants(self) -> list[Grant]:
        """List the grants."""
        with self._engine.store.reading() as tables:
            return tables.household.grants(self._engine.store.zone)

    def hide(self, hidden: Hidden) -> None:
        """Hide fields of a space's memories from a role, replacing those hidden before.

        Without fields the role sees everything again. A redacted view is stored for the role: a
        copy of the memories without those fields. Copying takes about as long as storing did;
        vectors are pending until ``home.flush``.

        Raises:
            UnknownSpaceError: If there is no such space.
        """
        with self._engine.store.writing() as writing:
            self._engine.indexer.writer(writing).hide(hidden)

    def hidden(self) -> list[Hidden]:
        """List the hidden fields by space and role."""
        with self._engine.store.reading() as tables:
            return tables.household.hidden()
