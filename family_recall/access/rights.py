"""Who may edit and forget what, among what :mod:`family_recall.access.policy` lets them see.

A person may correct and forget what they said, what lies in a private space of their own, and
whatever lies in a space they own.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from family_recall.access import policy
from family_recall.english.text import normalise
from family_recall.errors import InvalidRequestError
from family_recall.store.access.household import Household
from family_recall.types import Person, RecallContext


@dataclass(frozen=True, slots=True)
class Rights:
    """What one person may edit and forget.

    Args:
        person_id: The person.
        names: Normalised names that mean this person and nobody else here.
        own_spaces: Spaces in which everything is theirs to edit.
        visible_partitions: What they are shown, redacted views among it.
        unredacted_partitions: The memories themselves behind what they are shown.
        hidden: By space, the fields of its memories that are hidden from them.
    """

    person_id: str
    names: frozenset[str]
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


def rights_of(household: Household, person_id: str | None, *, wall_s: float) -> Rights:
    """Decide what a person may edit, in every space they may enter.

    Raises:
        InvalidRequestError: If no person is named.
        UnknownPersonError: If there is no such person.
    """
    if person_id is None:
        raise InvalidRequestError(
            "a memory is changed or forgotten on behalf of a person; got person_id=None"
        )
    access = policy.entered(household.access(person_id), wall_s).values()
    partitions = household.every_partition()
    ctx = RecallContext(person_id=person_id)
    visible, unredacted = (
        frozenset(
            policy.scope_of(
                ctx, entries, partitions, now_s=wall_s, wall_s=wall_s, zone=dt.UTC
            ).partitions
        )
        for entries in (access, [dataclasses.replace(entry, redacted_view=0) for entry in access])
    )
    owned = {entry.space_id for entry in access if entry.role == "owner"}
    roles = {(entry.space_id, entry.role) for entry in access}
    return Rights(
        person_id=person_id,
        names=unique_names_of(person_id, household.people()),
        own_spaces=frozenset(owned | household.alone_in(person_id)),
        visible_partitions=visible,
        unredacted_partitions=unredacted,
        hidden={
            hidden.space_id: frozenset(hidden.fields)
            for hidden in household.hidden()
            if (hidden.space_id, hidden.role) in roles
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
