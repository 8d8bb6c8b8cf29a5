"""A scope is decided once, from who asks, where, and what the filters narrow it to."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from family_recall import Grant, Hidden, Memory, RecallContext
from family_recall.access.policy import CLEARANCE, owned_by, scope_of, view_of
from family_recall.errors import InvalidRequestError, UnknownSpaceError
from family_recall.store.household import Access, Partition
from family_recall.types import BANDS, ROLES, Scope
from tests.conftest import NOW

SPACES = ("home", "club", "mine")
PARTITIONS = tuple(
    Partition(at * 4 + band, space, name, 1, 0, 1, 0, 0, 0)
    for at, space in enumerate(SPACES)
    for band, name in enumerate(BANDS)
)
ACCESS = (
    Access("home", "shared", "adult", None),
    Access("club", "shared", "guest", None),
    Access("mine", "private", "owner", None),
)


class Source(NamedTuple):
    """What a scope is decided from."""

    spaces: Sequence[Access]
    partitions: Sequence[Partition]

    def access(self, person_id: str | None) -> Sequence[Access]:  # noqa: ARG002
        """Return the spaces, whoever asks."""
        return self.spaces

    def every_partition(self) -> Sequence[Partition]:
        """Return the partitions."""
        return self.partitions

    def expired(self, wall_s: float) -> tuple[tuple[str, float], ...]:  # noqa: ARG002
        """Return nothing: no memory expires."""
        return ()


def scope(access: tuple[Access, ...] = ACCESS, **ctx: Any) -> Scope:
    """Decide a scope at noon."""
    source = Source(access, PARTITIONS)
    return scope_of(source, RecallContext("ana", **ctx), wall_s=NOW.timestamp(), zone=dt.UTC)


@pytest.mark.parametrize(
    ("space_id", "partitions"),
    [(None, (0, 1, 2, 4, 8, 9, 10, 11)), ("home", (0, 1, 2)), ("club", (4,)),
     ("mine", (0, 1, 2, 4, 8, 9, 10, 11))],
)  # fmt: skip
def test_where_one_asks_decides_what_is_open(
    space_id: str | None, partitions: tuple[int, ...]
) -> None:
    """A shared space answers alone, a private one with the shared, and no space means all."""
    assert scope(space_id=space_id).partitions == partitions


def test_each_wider_role_opens_more() -> None:
    """Guests, children and devices see green; adults all but black; owners all."""
    assert set(CLEARANCE["guest"]) < set(CLEARANCE["adult"]) < set(CLEARANCE["owner"])
    assert CLEARANCE["child"] == CLEARANCE["device"] == CLEARANCE["guest"] == ("green",)
    assert "black" not in CLEARANCE["adult"]
    assert tuple(CLEARANCE) == ROLES
    for role in CLEARANCE:
        Grant("priya", "home", role)
    with pytest.raises(InvalidRequestError):
        Grant("priya", "home", "")


@pytest.mark.parametrize(("seconds", "open_"), [(-1, False), (0, False), (1, True)])
def test_access_ends_when_it_expires(seconds: float, open_: bool) -> None:
    """The moment of expiry is already outside."""
    access = (Access("home", "shared", "adult", NOW.timestamp() + seconds),)

    assert bool(scope(access).partitions) is open_
    if not open_:
        with pytest.raises(UnknownSpaceError):
            scope(access, space_id="home")


def test_leaving_shared_spaces_out_narrows() -> None:
    """allow_shared=False leaves the private spaces, and nothing when asked in a shared one."""
    assert scope(filters={"allow_shared": False}).partitions == (8, 9, 10, 11)
    assert scope(filters={"allow_shared": False}, space_id="home").partitions == ()


def test_a_mode_narrows_the_kinds() -> None:
    """Knowledge means chunks alone, neural everything else; with no kind left, nothing is open."""
    assert scope(mode="knowledge").filters.kinds == ("chunk",)
    assert "chunk" not in scope(mode="neural").filters.kinds
    assert scope(mode="neural", filters={"kinds": ["fact", "chunk"]}).filters.kinds == ("fact",)
    assert scope(mode="knowledge", filters={"kinds": ["fact"]}).partitions == ()


def test_moments_are_read_in_the_households_zone() -> None:
    """Naive moments mean the household's zone; without as_of, what is true now counts."""
    zone = dt.timezone(dt.timedelta(hours=2))
    ctx = RecallContext("ana", as_of="2025-01-01", filters={"after": "2025-01-01"})  # type: ignore[arg-type]  # as JSON has it
    decided = scope_of(Source(ACCESS, PARTITIONS), ctx, wall_s=NOW.timestamp(), zone=zone)
    new_year = dt.datetime(2024, 12, 31, 22, tzinfo=dt.UTC)

    assert decided.as_of_s == new_year.timestamp()
    assert decided.filters.after == new_year
    assert scope().as_of_s == NOW.timestamp()
    assert scope().known_at_s is None


def partition(no: int, space: str, band: str = "green", **whose: Any) -> Partition:
    """Return a partition of one memory."""
    return Partition(no, space, band, 1, 0, 1, 0, 0, 0, **whose)


def test_a_guardian_needs_the_band_too() -> None:
    """What is for a child's guardians takes being one, and a role that opens the band."""
    ours = frozenset({"ana"})
    parts = (
        partition(1, "home", guardians=ours),
        partition(2, "home", guardians=frozenset({"ben"})),
        partition(3, "home", "black", guardians=ours),
        partition(4, "home"),
        partition(5, "home", guardians=frozenset()),
    )

    assert decided(parts, "ana", "adult") == (1, 4)
    assert decided(parts, "ana", "owner") == (1, 3, 4)
    assert decided(parts, "ben", "owner") == (2, 4)
    assert decided(parts, None, "guest") == (4,)


def test_a_role_sees_its_own_view_instead_of_the_space() -> None:
    """A role with hidden fields sees its redacted view alone, even while that is empty."""
    parts = (
        partition(1, "home"),
        partition(2, "home", redacted_view=7),
        partition(3, "home", redacted_view=8),
    )

    assert decided(parts, "ana", "adult") == (1,)
    assert decided(parts, "ana", "guest", redacted_view=7) == (2,)
    assert decided(parts, "ana", "guest", redacted_view=9) == ()


def decided(
    parts: tuple[Partition, ...], person: str | None, role: str, redacted_view: int = 0
) -> tuple[int, ...]:
    """Return the partitions that a role in one space opens."""
    source = Source([Access("home", "shared", role, None, redacted_view)], parts)
    ctx = RecallContext(person)
    return scope_of(source, ctx, wall_s=NOW.timestamp(), zone=dt.UTC).partitions


def test_an_owner_owns_the_partitions_of_their_spaces() -> None:
    """An owner owns the space, all bands of it, but not what is for other guardians or a view."""
    access = [
        Access("home", "shared", "owner", None),
        Access("club", "shared", "owner", NOW.timestamp()),
        Access("mine", "private", "owner", None),
        Access("pool", "shared", "adult", None),
    ]
    parts = (
        partition(1, "home"),
        partition(2, "home", "black"),
        partition(3, "home", guardians=frozenset({"ben"})),
        partition(4, "home", redacted_view=7),
        partition(5, "club"),
        partition(6, "pool"),
    )
    owned = owned_by("ana", access, parts, NOW.timestamp())

    assert {no for no in owned if no > 0} == {1, 2}
    assert set(owned.values()) == {"home", "mine"}


def test_a_redacted_view_is_a_memory_without_some_fields() -> None:
    """Hidden fields are as if left out; a band that the role does not open has no view."""
    told = Memory("The key", "home", author="Ana", labels=("pets",), importance=0.9)
    hidden = Hidden("home", "guest", ("labels", "author", "importance", "author"))

    assert view_of(told, hidden) == Memory("The key", "home")
    assert view_of(dataclasses.replace(told, band="amber"), hidden) is None
    with pytest.raises(InvalidRequestError, match="'text'"):
        Hidden("home", "guest", ("text",))
    with pytest.raises(InvalidRequestError, match="role must be one of"):
        Hidden("home", "king", ("author",))
