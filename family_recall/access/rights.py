"""What one person may store, edit and forget.

A person may correct and forget their own memories, those in their private space, and all in a
space they own. They may write in any space they may enter, memories that they could see there, and
only in their own name unless they own the space.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from family_recall.access import policy
from family_recall.english.text import normalise
from family_recall.errors import (
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
    StoreError,
    UnknownMemoryError,
    UnknownSpaceError,
)
from family_recall.store.file.schema import partition_of
from family_recall.store.household import Access, Household
from family_recall.store.listing import Listings
from family_recall.store.memories import StoredMemory
from family_recall.store.versions import Version
from family_recall.types import Memory, Person, RecallContext, Scope


@dataclass(frozen=True, slots=True)
class Rights:
    """What one person may store, edit and forget.

    Args:
        person_id: The person.
        names: Normalised names of this person that nobody else here has.
        entered: The spaces they may enter now, by id.
        children: The children whose guardian they are.
        own_spaces: The spaces in which they may edit everything.
        visible_partitions: The partitions they see, redacted views included.
        unredacted_partitions: The same, with the memories behind redacted views instead.
        hidden: By space, the fields that are hidden from them.
    """

    person_id: str
    names: frozenset[str]
    entered: Mapping[str, Access]
    children: Collection[str]
    own_spaces: frozenset[str]
    visible_partitions: frozenset[int]
    unredacted_partitions: frozenset[int]
    hidden: Mapping[str, frozenset[str]]

    def may_edit(self, space_id: str, author: str | None) -> bool:
        """Return whether they may correct and forget an author's memories in a space."""
        return space_id in self.own_spaces or self.is_author(author)

    def may_replace(self, version: Version) -> bool:
        """Return whether they see all of a version, and may edit it."""
        return self.sees(version) and self.may_edit(version.space_id, version.author)

    def sees(self, version: Version) -> bool:
        """Return whether they see a version, or a redacted view of one."""
        return partition_of(version.id) in self.visible_partitions

    def is_author(self, author: str | None) -> bool:
        """Return whether an author, as written, is this person."""
        return author is not None and (author == self.person_id or normalise(author) in self.names)

    def check_space(self, space_id: str) -> None:
        """Check that they may enter a space.

        Raises:
            UnknownSpaceError: If they may not, or there is none.
        """
        if space_id not in self.entered:
            raise UnknownSpaceError(
                f"there is no space {space_id!r}, or not for this person", space_id
            )

    def check_band(self, space_id: str, band: str) -> None:
        """Check that they see a band of a space.

        Raises:
            InvalidMemoryError: If they do not.
        """
        role = self.entered[space_id].role
        if not policy.opens(role, band):
            raise InvalidMemoryError(
                f"band {band!r} is not open to you in {space_id!r}, where you are {role}; "
                f"choose among {', '.join(policy.CLEARANCE[role])}"
            )

    def admitted(self, memory: Memory) -> Memory:
        """Return a memory as this person stores it, in their name if it has no author.

        Raises:
            UnknownSpaceError: If they may not enter the space, or there is none.
            InvalidMemoryError: If they could not see the memory.
            NotTheirsError: If it is in another person's name.
        """
        space_id, child = memory.space_id, memory.guardians_of
        self.check_space(space_id)
        self.check_band(space_id, memory.band)
        if child is not None and child not in self.children:
            raise InvalidMemoryError(
                f"it is for the guardians of {child!r}, and you are none of them"
            )
        if memory.author is None:
            return dataclasses.replace(memory, author=self.person_id)
        if not self.may_edit(space_id, memory.author):
            raise NotTheirsError(
                f"only an owner of {space_id!r} may store there what {memory.author!r} said; "
                "leave author out"
            )
        return memory

    def check_replaced(self, current: Memory) -> None:
        """Check that they may edit a memory, and see all of it.

        Raises:
            NotTheirsError: If not, with the same message in each case.
        """
        space_id, child = current.space_id, current.guardians_of
        sees_it = policy.opens(self.entered[space_id].role, current.band) and (
            child is None or child in self.children
        )
        if not sees_it or not self.may_edit(space_id, current.author) or self.hidden.get(space_id):
            raise NotTheirsError(f"{current.doc_id!r} in {space_id!r} is not yours to replace")


def rights_of(household: Household, person_id: str | None, *, wall_s: float) -> Rights:
    """Decide what a person may store, edit and forget in every space they may enter.

    Raises:
        InvalidRequestError: If ``person_id`` is None.
        UnknownPersonError: If there is no such person.
    """
    if person_id is None:
        raise InvalidRequestError(
            "a memory is changed or forgotten on behalf of a person; got person_id=None"
        )
    entered = policy.entered(household.access(person_id), wall_s)
    partitions = household.every_partition()
    owned = {space_id for space_id, entry in entered.items() if entry.role == "owner"}
    return Rights(
        person_id=person_id,
        names=unique_names_of(person_id, household.people()),
        entered=entered,
        children={child for child, adults in household.guardians().items() if person_id in adults},
        own_spaces=frozenset(owned | household.alone_in(person_id)),
        visible_partitions=frozenset(policy.visible(person_id, entered, partitions)),
        unredacted_partitions=frozenset(
            policy.visible(person_id, entered, partitions, unredacted=True)
        ),
        hidden={
            hidden.space_id: frozenset(hidden.fields)
            for hidden in household.hidden()
            if hidden.space_id in entered and entered[hidden.space_id].role == hidden.role
        },
    )


def unique_names_of(person_id: str, everyone: Sequence[Person]) -> frozenset[str]:
    """Return the normalised names of a person that nobody else here has."""
    own: set[str] = set()
    others: set[str] = set()
    for person in everyone:
        names = own if person.person_id == person_id else others
        names.add(normalise(person.person_id))
        for name in (person.name, *person.aliases):
            full_name = normalise(name)
            names |= {full_name, full_name.split(" ", maxsplit=1)[0]}
    return frozenset(own - others - {""})


@dataclass(frozen=True, slots=True)
class EditableView:
    """What one person sees and may edit, in one space or in all."""

    listings: Listings
    space_id: str | None
    rights: Rights
    scope: Scope

    def memory(self, doc_id: str) -> StoredMemory:
        """Return the current version of a memory as they see it.

        Raises:
            InvalidRequestError: If several spaces have that id, and none is named.
            UnknownMemoryError: If they see no such memory.
        """
        versions = [
            version
            for version in self.listings.versions_of(doc_id, self.scope)
            if version.superseded_s is None and self.space_id in {None, version.memory.space_id}
        ]
        if not versions:
            raise UnknownMemoryError(f"no memory {doc_id!r} that you can see")
        if len(versions) > 1:
            spaces = " and ".join(sorted(version.memory.space_id for version in versions))
            raise InvalidRequestError(f"{doc_id!r} is in {spaces}; choose one with space_id")
        return versions[0]

    def may_edit(self, visible: StoredMemory) -> bool:
        """Return whether they may edit a visible memory, even if its author is hidden."""
        author = self._unredacted(visible).memory.author
        return self.rights.may_edit(visible.memory.space_id, author)

    def editable(self, visible: StoredMemory, fields: Iterable[str]) -> StoredMemory:
        """Return the unredacted memory behind a visible one, if they may change these fields.

        Raises:
            NotTheirsError: If they may not edit it, or a field is hidden from them.
            StoreError: If it is damaged in the file.
        """
        doc_id, space_id = visible.memory.doc_id, visible.memory.space_id
        unredacted = self._unredacted(visible)
        if not self.rights.may_edit(space_id, unredacted.memory.author):
            raise NotTheirsError(
                f"{doc_id!r} may be corrected only by its author, or by an owner of "
                f"{space_id!r}; nothing was changed"
            )
        if not unredacted.intact:
            raise StoreError(
                f"{doc_id!r} is damaged in the file, and its other fields cannot be read; "
                "family-recall doctor says more, and --repair takes it out"
            )
        if hidden := sorted(set(fields) & self.rights.hidden.get(space_id, frozenset())):
            raise NotTheirsError(
                f"{', '.join(hidden)} is hidden from you in {space_id!r} and stays as it is; "
                "somebody who sees it may change it"
            )
        return unredacted

    def _unredacted(self, visible: StoredMemory) -> StoredMemory:
        return self.listings.unredacted(visible.memory.space_id, str(visible.memory.doc_id))


def editable_view(
    listings: Listings,
    person_id: str | None,
    space_id: str | None,
    *,
    wall_s: float,
    zone: dt.tzinfo,
) -> EditableView:
    """Decide what a person sees and may edit, in one space or, with None, in all.

    Raises:
        InvalidRequestError: If ``person_id`` is None.
        UnknownPersonError, UnknownSpaceError: If one does not exist, or they may not enter it.
    """
    household = listings.household
    ctx = RecallContext(person_id=person_id, space_id=space_id)
    return EditableView(
        listings=listings,
        space_id=space_id,
        rights=rights_of(household, person_id, wall_s=wall_s),
        scope=policy.scope_of(household, ctx, wall_s=wall_s, zone=zone),
    )
