"""Short ids say nothing of memories that somebody may not see."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Memory, Person, Space
from family_recall.errors import UnknownPersonError
from family_recall.types.short_ids import SHORTEST

IDS = st.lists(st.text("ab", min_size=24, max_size=24), min_size=2, max_size=8, unique=True)
"""Such as the library makes."""


def open_household(path: Path) -> FamilyRecall:
    """Return a household of alice and bob, each with a private space."""
    home = FamilyRecall.open(path)
    for person_id in ("alice", "bob"):
        home.people.add(Person(person_id, person_id.title()))
        home.spaces.add(Space(f"private:{person_id}", "private"))
        home.spaces.grant(Grant(person_id, f"private:{person_id}", "owner"))
    return home


def keep(home: FamilyRecall, person_id: str, *doc_ids: str) -> None:
    """Store memories in a person's private space."""
    home.remember_many(
        [Memory("a note", f"private:{person_id}", doc_id=doc_id) for doc_id in doc_ids],
        embed="later",
    )


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(IDS, IDS)
def test_what_others_keep_private_changes_no_short_id(
    tmp_path_factory: pytest.TempPathFactory, own: list[str], others: list[str]
) -> None:
    """Alice's ids are as short, and mean the same, whatever ids bob's private memories have."""
    with open_household(tmp_path_factory.mktemp("home") / "family.db") as home:
        keep(home, "alice", *own)
        before = home.memories.ids("alice")
        shorts = [before.short(doc_id) for doc_id in own]
        keep(home, "bob", *others)
        after = home.memories.ids("alice")

        assert [after.short(doc_id) for doc_id in own] == shorts
        assert [after.find(short) for short in shorts] == own
        for doc_id in set(others) - set(own):
            # As it is; or, where it begins an id of hers, that: none of bob's is found.
            assert after.find(doc_id) in {doc_id, *own}
            assert after.short(doc_id) == doc_id


def test_bands_and_removed_memories_count_for_nothing(tmp_path: Path) -> None:
    """Neither a band that a child may not see, nor what was forgotten or replaced elsewhere."""
    with open_household(tmp_path / "family.db") as home:
        home.spaces.add(Space("shared:household", "shared"))
        home.spaces.grant(Grant("alice", "shared:household", "owner"))
        home.spaces.grant(Grant("bob", "shared:household", "child"))
        one, red, gone = (f"{n:0>24}" for n in ("1", "2", "3"))
        for doc_id, band in ((one, "green"), (red, "red"), (gone, "green")):
            home.remember("a note", doc_id=doc_id, space_id="shared:household", band=band)
        home.forget(gone, person_id="alice")

        assert home.memories.ids("bob").short(one) == one[:SHORTEST]
        assert home.memories.ids("bob").find("000000") == one
        assert home.memories.ids("alice").short(one) == one
        assert home.memories.ids("alice").find(gone) == gone
        with pytest.raises(UnknownPersonError):
            home.memories.ids("nobody")
