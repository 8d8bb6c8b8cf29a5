"""Decide what a request may see, once, from who asks and in which space."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from family_recall.errors import UnknownSpaceError
from family_recall.store.household import Access, Household, Partition
from family_recall.store.memories import epoch_s
from family_recall.types import (
    BANDS,
    KINDS,
    Filters,
    Hidden,
    Memory,
    Person,
    RecallContext,
    Scope,
    kinds_of,
)

CLEARANCE = {
    "owner": BANDS,
    "adult": BANDS[:3],
    "child": BANDS[:1],
    "guest": BANDS[:1],
    "device": BANDS[:1],
}
"""Bands that each role may see in a space."""


class ScopeSource(Protocol):
    """The data that a scope depends on, in one snapshot of the file."""

    def access(self, person_id: str | None) -> Sequence[Access]:
        """List the spaces a person may enter; ``UnknownPersonError`` if there is no such person."""
        ...

    def every_partition(self) -> Sequence[Partition]:
        """List all partitions of the file."""
        ...

    def expired(self, wall_s: float) -> tuple[tuple[str, float], ...]:
        """Return, for each category with a rule, the moment before which memories have expired."""
        ...


def entered(access: Iterable[Access], wall_s: float) -> dict[str, Access]:
    """Return the spaces that may be entered now, by id.

    A grant that has not expired overrides the role without a grant.
    """
    ungranted, granted = dict[str, Access](), dict[str, Access]()
    for entry in access:
        if entry.expires_s is None:
            ungranted[entry.space_id] = entry
        elif entry.expires_s > wall_s:
            granted[entry.space_id] = entry
    return ungranted | granted


def scope_of(
    source: ScopeSource,
    ctx: RecallContext,
    *,
    wall_s: float,
    zone: dt.tzinfo,
    now_s: float | None = None,
) -> Scope:
    """Decide what a request may see of a file.

    A question in a shared space is answered from that space alone, since others may be listening;
    in a private space, also from shared ones; without a space, from every space the person may
    enter. An answer spoken aloud uses shared spaces only. In each space the role decides the
    bands. Memories for a child's guardians are visible to them alone, whatever the role. A role
    with hidden fields sees its redacted view instead of the space.

    ``now_s`` is when the request is made; ``wall_s``, the real time, when left out. Grants and
    memories expire by ``wall_s``.

    Raises:
        UnknownPersonError, UnknownSpaceError: If the person or space does not exist, or the
            person may not enter it.
    """
    spaces = entered(source.access(ctx.person_id), wall_s)
    own = None if ctx.space_id is None else spaces.get(ctx.space_id)
    if ctx.space_id is not None and own is None:
        raise UnknownSpaceError(
            f"there is no space {ctx.space_id!r}, or not for this person; "
            "ask with space_id=None for every space the person may enter",
            ctx.space_id,
        )

    def answers(entry: Access) -> bool:
        if entry.space_kind == "private":
            return own in {None, entry} and not ctx.aloud
        return ctx.filters.allow_shared and (
            own in {None, entry} or (own is not None and own.space_kind == "private")
        )

    spaces = {space_id: entry for space_id, entry in spaces.items() if answers(entry)}
    partitions, filters = source.every_partition(), _narrowed(ctx, zone)
    as_of_s = epoch_s(ctx.as_of, zone)
    if as_of_s is None:
        as_of_s = wall_s if now_s is None else now_s
    return Scope(
        person_id=ctx.person_id,
        partitions=() if filters is None else visible(ctx.person_id, spaces, partitions),
        as_of_s=as_of_s,
        known_at_s=epoch_s(ctx.known_at, zone),
        filters=filters or ctx.filters,
        expired=source.expired(wall_s),
    )


def visible(
    person_id: str | None,
    spaces: Mapping[str, Access],
    partitions: Iterable[Partition],
    *,
    unredacted: bool = False,
) -> tuple[int, ...]:
    """List the numbers of the partitions that a person sees.

    Args:
        person_id: The person; None for an unknown voice.
        spaces: The spaces they enter, by id.
        partitions: All partitions of the file.
        unredacted: Whether to list the memories behind a redacted view instead of the view.
    """
    return tuple(
        partition.no
        for partition in partitions
        if (entry := spaces.get(partition.space_id)) is not None
        and opens(entry.role, partition.band)
        and partition.redacted_view == (0 if unredacted else entry.redacted_view)
        and (partition.guardians is None or person_id in partition.guardians)
    )


def owned_by(
    person_id: str, access: Iterable[Access], partitions: Iterable[Partition], wall_s: float
) -> dict[int, str]:
    """Return the space_id of each partition that a person owns, by partition number.

    An owner owns memories for a child's guardians only as one of them. An empty space gets a
    number that no partition has.
    """
    owned = {entry.space_id for entry in entered(access, wall_s).values() if entry.role == "owner"}
    space_ids = {
        partition.no: partition.space_id
        for partition in partitions
        if partition.space_id in owned
        and partition.redacted_view == 0
        and (partition.guardians is None or person_id in partition.guardians)
    }
    empty = sorted(owned - set(space_ids.values()))
    return space_ids | {-at: space_id for at, space_id in enumerate(empty)}


def visitors(household: Household, wall_s: float) -> dict[str, set[str]]:
    """Return the people who may enter each space now."""
    enter: dict[str, set[str]] = {space.space_id: set() for space in household.spaces()}
    for person in household.people():
        for space_id in entered(household.access(person.person_id), wall_s):
            enter[space_id].add(person.person_id)
    return enter


def known_people(household: Household, person_id: str | None, wall_s: float) -> list[Person]:
    """List the people who share a space with a person; everybody for None.

    Raises:
        UnknownPersonError: If there is no such person.
    """
    if person_id is None:
        return household.people()
    household.person_no(person_id)
    known = {person_id}.union(
        *(people for people in visitors(household, wall_s).values() if person_id in people)
    )
    return [person for person in household.people() if person.person_id in known]


def moving_into(household: Household, space_id: str, wall_s: float) -> frozenset[str]:
    """List the spaces out of which a source may move what it says into a space.

    These are the space itself, and those not private that everybody may enter who may enter it:
    nothing leaves another's private space, nor a room for fewer people.
    """
    enter = visitors(household, wall_s)
    here = enter.get(space_id, set())
    return frozenset(
        space.space_id
        for space in household.spaces()
        if space.space_id == space_id
        or (
            space.kind != "private"
            and here <= enter[space.space_id]
            and (here or not enter[space.space_id])
        )
    )


def opens(role: str, band: str) -> bool:
    """Whether a role may see a band."""
    return band in CLEARANCE[role]


def view_of(memory: Memory, hidden: Hidden) -> Memory | None:
    """Return a memory without a role's hidden fields; None if the role does not see its band."""
    return hidden.without(memory) if opens(hidden.role, memory.band) else None


def _narrowed(ctx: RecallContext, zone: dt.tzinfo) -> Filters | None:
    """Narrow the kinds by the mode; None if mode and kinds exclude everything."""
    filters = ctx.filters
    if ctx.mode != "hybrid":
        searched = kinds_of(ctx.mode)
        kinds = tuple(kind for kind in filters.kinds or KINDS if kind in searched)
        if not kinds:
            return None
        filters = dataclasses.replace(filters, kinds=kinds)
    after, before = (
        moment if moment is None or moment.tzinfo else moment.replace(tzinfo=zone)
        for moment in (filters.after, filters.before)
    )
    if after is filters.after and before is filters.before:
        return filters
    return dataclasses.replace(filters, after=after, before=before)
