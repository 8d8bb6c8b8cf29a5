"""What one person may store: where, in which band, in whose name and in place of what."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from family_recall.access import policy
from family_recall.access.rights import Rights, rights_of
from family_recall.errors import InvalidMemoryError, NotTheirsError, UnknownSpaceError
from family_recall.store.access.household import Access, Household
from family_recall.types import Memory


@dataclass(frozen=True, slots=True)
class Writer:
    """A person who stores memories, and what they may enter within one transaction.

    Args:
        rights: What they may edit.
        entered: The spaces they may enter now, by id.
        children: Whose guardian they are.
    """

    rights: Rights
    entered: Mapping[str, Access]
    children: Collection[str]

    def admitted(self, memory: Memory) -> Memory:
        """Return a memory as this person stores it: in their name, where no author is set.

        They may write wherever they may enter, what they could then see, and in a space that is
        not theirs in their own name only.

        Raises:
            UnknownSpaceError: If the space is not there, or not for this person.
            InvalidMemoryError: If they could not see it.
            NotTheirsError: If it is in another's name.
        """
        space_id, band, child = memory.space_id, memory.band, memory.guardians_of
        if space_id not in self.entered:
            raise UnknownSpaceError(
                f"there is no space {space_id!r}, or not for this person", space_id
            )
        policy.check_band(space_id, self.entered[space_id].role, band)
        if child is not None and child not in self.children:
            raise InvalidMemoryError(
                f"it is for the guardians of {child!r}, and you are none of them"
            )
        if memory.author is None:
            return dataclasses.replace(memory, author=self.rights.person_id)
        if not self.rights.may_edit(space_id, memory.author):
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
        space_id = current.space_id
        if (
            not policy.opens(self.entered[space_id].role, current.band)
            or (current.guardians_of is not None and current.guardians_of not in self.children)
            or not self.rights.may_edit(space_id, current.author)
            or self.rights.hidden.get(space_id)
        ):
            raise NotTheirsError(
                f"{current.doc_id!r} in {space_id!r} is not yours to replace; nothing was stored"
            )


def writer_of(household: Household, person_id: str, *, wall_s: float) -> Writer:
    """Decide what a person may store.

    Raises:
        UnknownPersonError: If there is no such person.
    """
    return Writer(
        rights=rights_of(household, person_id, wall_s=wall_s),
        entered=policy.entered(household.access(person_id), wall_s),
        children={child for child, theirs in household.guardians().items() if person_id in theirs},
    )
