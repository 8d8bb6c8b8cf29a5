"""Rights: who may mend and forget what. Seeing it comes first, by :mod:`family_recall.access.policy`.

A person may correct and forget what they said, what lies in a private space of their own, and
whatever lies in a space they own.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from family_recall.access import policy
from family_recall.errors import InvalidRequestError
from family_recall.query.text import normalise
from family_recall.stores.access.household import Household
from family_recall.types import Person, RecallContext


@dataclass(frozen=True, slots=True)
class Asker:
    """Somebody who wants something changed or forgotten, and how far they reach.

    ``seen`` are the partitions they are shown, which may be views without some fields; ``told``
    those of the memories themselves behind what they are shown.
    """

    person_id: str
    names: frozenset[str]
    own_spaces: frozenset[str]
    seen: frozenset[int]
    told: frozenset[int]

    def may_edit(self, space_id: str, author: str | None) -> bool:
        """Whether what an author said in a space is theirs to correct and to forget."""
        return space_id in self.own_spaces or self.said(author)

    def said(self, author: str | None) -> bool:
        """Whether an author as written is this person."""
        return author is not None and (author == self.person_id or normalise(author) in self.names)


def asker(household: Household, person_id: str | None, *, wall_s: float) -> Asker:
    """Decide how far somebody reaches, everywhere they may enter.

    Raises:
        InvalidRequestError: If nobody in particular asks.
        UnknownPersonError: If there is no such person.
    """
    if person_id is None:
        raise InvalidRequestError(
            "somebody must say so for a memory to be changed or forgotten; got person_id=None"
        )
    access = policy.entered(household.access(person_id), wall_s).values()
    partitions = household.every_partition()
    ctx = RecallContext(person_id=person_id)
    seen, told = (
        frozenset(
            policy.scope_of(
                ctx, entries, partitions, now_s=wall_s, wall_s=wall_s, zone=dt.UTC
            ).partitions
        )
        for entries in (access, [dataclasses.replace(one, redacted_view=0) for one in access])
    )
    owned = {one.space_id for one in access if one.role == "owner"}
    return Asker(
        person_id=person_id,
        names=names_of(person_id, household.people()),
        own_spaces=frozenset(owned | household.alone_in(person_id)),
        seen=seen,
        told=told,
    )


def names_of(person_id: str, everyone: Sequence[Person]) -> frozenset[str]:
    """Give the normalised names that are this person's and nobody else's here."""
    mine: set[str] = set()
    others: set[str] = set()
    for person in everyone:
        names = mine if person.person_id == person_id else others
        names.add(normalise(person.person_id))
        for name in (person.name, *person.aliases):
            whole = normalise(name)
            names |= {whole, whole.split(" ", maxsplit=1)[0]}
    return frozenset(mine - others - {""})
