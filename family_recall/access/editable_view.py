"""What one person sees and may edit, within one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from family_recall.access import policy
from family_recall.access.rights import Rights, rights_of
from family_recall.errors import (
    InvalidRequestError,
    NotTheirsError,
    StoreError,
    UnknownMemoryError,
)
from family_recall.store.listing import Listings
from family_recall.store.memories import StoredMemory
from family_recall.types import RecallContext, Scope


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
        scope=policy.scope_in(household, ctx, wall_s=wall_s, zone=zone),
    )
