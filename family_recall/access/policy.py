"""What a request may see: decided once from who asks and from where, and never widened."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from family_recall.errors import UnknownSpaceError
from family_recall.store.household import Access, Partition
from family_recall.store.memories import epoch_s
from family_recall.types import (
    BANDS,
    KINDS,
    Filters,
    Hidden,
    Memory,
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
"""Bands each role may see in a space."""


class ScopeSource(Protocol):
    """What a scope is decided from, in one view of the file."""

    def access(self, person_id: str | None) -> Sequence[Access]:
        """List the spaces a person may enter; ``UnknownPersonError`` if there is no such person."""
        ...

    def every_partition(self) -> Sequence[Partition]:
        """List all partitions of the file."""
        ...

    def expired(self, wall_s: float) -> tuple[tuple[str, float], ...]:
        """Return, for each category with a rule, the moment before which its memories expired."""
        ...


def entered(access: Iterable[Access], wall_s: float) -> dict[str, Access]:
    """Return the spaces that may be entered now, by id; a grant ends at the moment it expires.

    Until then it overrides what its holder is in that space without one.
    """
    without, granted = dict[str, Access](), dict[str, Access]()
    for entry in access:
        if entry.expires_s is None:
            without[entry.space_id] = entry
        elif entry.expires_s > wall_s:
            granted[entry.space_id] = entry
    return without | granted


def scope_of(
    source: ScopeSource,
    ctx: RecallContext,
    *,
    wall_s: float,
    zone: dt.tzinfo,
    now_s: float | None = None,
) -> Scope:
    """Decide what a request may see of a file.

    A shared space answers from itself alone, since others may be listening; a private space
    adds the shared ones; no space means every space the person may enter. What is said aloud
    comes from shared spaces only, wherever it is asked. Of a space, a role
    opens its bands; what is for a child's guardians is for nobody else, whatever their role; and
    a role from which fields are hidden sees its redacted view in place of the space.

    ``now_s`` is the moment the request is asked from, ``wall_s`` when left out; grants and
    memories expire by ``wall_s``, the real time.

    Raises:
        UnknownPersonError, UnknownSpaceError: If who asks, or where, is not there, or not for
            this person.
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
    usual_s = wall_s if now_s is None else now_s
    return Scope(
        person_id=ctx.person_id,
        partitions=() if filters is None else visible(ctx.person_id, spaces, partitions),
        as_of_s=usual_s if as_of_s is None else as_of_s,
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
    """List the partitions that a person sees of the spaces they enter, by number.

    Args:
        person_id: The person; None for somebody unknown.
        spaces: What they enter, by space id.
        partitions: All of the file.
        unredacted: Whether the memories behind a redacted view are listed, in place of the view.
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

    What is for a child's guardians belongs to an owner who is one. An empty space stands under a
    number that no partition has.
    """
    owned = {entry.space_id for entry in entered(access, wall_s).values() if entry.role == "owner"}
    visible = {
        partition.no: partition.space_id
        for partition in partitions
        if partition.space_id in owned
        and partition.redacted_view == 0
        and (partition.guardians is None or person_id in partition.guardians)
    }
    empty = sorted(owned - set(visible.values()))
    return visible | {-at: space_id for at, space_id in enumerate(empty)}


def opens(role: str, band: str) -> bool:
    """Whether a role may see a band."""
    return band in CLEARANCE[role]


def view_of(memory: Memory, hidden: Hidden) -> Memory | None:
    """Return a memory as a role with hidden fields sees it; None in a band that it does not see."""
    return hidden.without(memory) if opens(hidden.role, memory.band) else None


def _narrowed(ctx: RecallContext, zone: dt.tzinfo) -> Filters | None:
    """Narrow the kinds by the mode; None when mode and kinds together exclude everything."""
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
