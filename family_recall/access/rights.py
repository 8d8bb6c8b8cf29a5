"""What one person may store, edit and forget, among what they may see.

A person may correct and forget what they said, what lies in a private space of their own, and
whatever lies in a space they own. They may write wherever they may enter, what they could then
see, and in a space that is not theirs in their own name only.
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
from family_recall.store.household import Access, Household
from family_recall.store.listing import Listings
from family_recall.store.memories import StoredMemory
from family_recall.types import Memory, Person, RecallContext, Scope


@dataclass(frozen=True, slots=True)
class Rights:
    """What one person may store, edit and forget.

    Args:
        person_id: The person.
        names: Normalised names that mean this person and nobody else here.
        entered: The spaces they may enter now, by id.
        children: Whose guardian they are.
        own_spaces: Spaces in which everything is theirs to edit.
        visible_partitions: What they are shown, redacted views among it.
        unredacted_partitions: The memories themselves behind what they are shown.
        hidden: By space, the fields of its memories that are hidden from them.
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
        """Whether what an author said in a space is theirs to correct and to forget."""
        return space_id in self.own_spaces or self.is_author(author)

    def is_author(self, author: str | None) -> bool:
        """Whether an author, as written, is this person."""
        return author is not None and (author == self.person_id or normalise(author) in self.names)

    def check_band(self, space_id: str, band: str) -> None:
        """Refuse a band of a space that they do not see.

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
        """Return a memory as this person stores it: in their name, where no author is set.

        Raises:
            UnknownSpaceError: If the space is not there, or not for this person.
            InvalidMemoryError: If they could not see it.
            NotTheirsError: If it is in another's name.
        """
        space_id, child = memory.space_id, memory.guardians_of
        if space_id not in self.entered:
            raise UnknownSpaceError(
                f"there is no space {space_id!r}, or not for this person", space_id
            )
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
        """Refuse to replace a memory that is another's, or that they see none or a part of.

        Raises:
            NotTheirsError: In these cases, in the same words for each.
        """
        space_id, child = current.space_id, current.guardians_of
        sees_it = policy.opens(self.entered[space_id].role, current.band) and (
            child is None or child in self.children
        )
        if not sees_it or not self.may_edit(space_id, current.author) or self.hidden.get(space_id):
            raise NotTheirsError(
                f"{current.doc_id!r} in {space_id!r} is not yours to replace; nothing was stored"
            )


def rights_of(household: Household, person_id: str | None, *, wall_s: float) -> Rights:
    """Decide what a person may store, edit and forget, in every space they may enter.

    Raises:
        InvalidRequestError: If no person is named.
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
        children={child for child, theirs in household.guardians().items() if person_id in theirs},
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
    """Return the normalised names that mean this person and nobody else here."""
    own: set[str] = set()
    others: set[str] = set()
    for person in everyone:
        names = own if person.person_id == person_id else others
        names.add(normalise(person.person_id))
        for name in (person.name, *person.aliases):
            whole = normalise(name)
            names |= {whole, whole.split(" ", maxsplit=1)[0]}
    return frozenset(own - others - {""})


@dataclass(frozen=True, slots=True)
class EditableView:
    """What one person sees and may edit, from one space if one is named."""

    listings: Listings
    space_id: str | None
    rights: Rights
    scope: Scope

    def memory(self, doc_id: str) -> StoredMemory:
        """Return the current version of a memory as they see it.

        Raises:
            InvalidRequestError: If several spaces have one of that id, and none is named.
            UnknownMemoryError: If there is none that they may see.
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
        """Whether a memory they see is theirs to edit, even if its author is hidden from them."""
        author = self._unredacted(visible).memory.author
        return self.rights.may_edit(visible.memory.space_id, author)

    def editable(self, visible: StoredMemory, fields: Iterable[str]) -> StoredMemory:
        """Return the unredacted memory behind what they see, where they may change these fields.

        Raises:
            NotTheirsError: If it is another's, or a field is hidden from them.
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
    """Decide what a person sees and may edit, from one space if one is named.

    Raises:
        InvalidRequestError: If no person is named.
        UnknownPersonError, UnknownSpaceError: If one is not there, or not for this person.
    """
    household = listings.household
    ctx = RecallContext(person_id=person_id, space_id=space_id)
    return EditableView(
        listings=listings,
        space_id=space_id,
        rights=rights_of(household, person_id, wall_s=wall_s),
        scope=policy.scope_of(household, ctx, wall_s=wall_s, zone=zone),
    )
