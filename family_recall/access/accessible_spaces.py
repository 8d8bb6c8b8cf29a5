"""Rooms: who asks in; the spaces they may enter, and whom they meet there, out.

Each takes one view of the household's tables, so that all it says was true at one moment.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter

from family_recall.access import policy
from family_recall.stores.access.household import Household
from family_recall.types import AccessibleSpace, Person, RecallContext, Space


def people(household: Household, person_id: str, wall_s: float) -> list[Person]:
    """List who may enter a space that somebody may enter too, by id; themselves among them.

    Raises:
        UnknownPersonError: If there is no such person.
    """

    def spaces_of(one: str) -> set[str]:
        return set(policy.entered(household.access(one), wall_s))

    shared = spaces_of(person_id)
    return [
        person
        for person in household.people()
        if person.person_id == person_id or shared & spaces_of(person.person_id)
    ]


def spaces(household: Household, person_id: str, wall_s: float) -> list[Space]:
    """List the spaces somebody may enter, by id.

    Raises:
        UnknownPersonError: If there is no such person.
    """
    entered = policy.entered(household.access(person_id), wall_s)
    return [space for space in household.spaces() if space.space_id in entered]


def rooms(
    household: Household, person_id: str | None, wall_s: float, zone: dt.tzinfo
) -> list[AccessibleSpace]:
    """List the spaces somebody may enter, with what they are there and who else may, by id.

    Raises:
        UnknownPersonError: If there is no such person.
    """
    everywhere = RecallContext(person_id=person_id)
    seen = set(policy.scope_in(household, everywhere, wall_s=wall_s, zone=zone).partitions)
    counts: Counter[str] = Counter()
    for partition in household.every_partition():
        if partition.no in seen:
            counts[partition.space_id] += partition.n_current
    known = {person.person_id: person for person in household.people()}
    hidden = {(one.space_id, one.role): one.fields for one in household.hidden()}
    inside: dict[str, list[tuple[Person, str]]] = {}
    for grant in household.grants(zone):
        if grant.expires_at is None or grant.expires_at.timestamp() > wall_s:
            inside.setdefault(grant.space_id, []).append((known[grant.person_id], grant.role))
    named = {space.space_id: space for space in household.spaces()}
    return [
        AccessibleSpace(
            space=named[one.space_id],
            role=one.role,
            bands=policy.CLEARANCE[one.role],
            hidden=hidden.get((one.space_id, one.role), ()),
            n_memories=counts[one.space_id],
            people=tuple(inside.get(one.space_id, ())),
        )
        for one in policy.entered(household.access(person_id), wall_s).values()
    ]
