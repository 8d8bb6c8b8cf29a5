"""Memories by page, and one in detail."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from family_recall import FamilyRecall, Grant, RecallContext, Relation
from family_recall.errors import InvalidRequestError
from tests.conftest import HOME, Wall, remember


def test_days_are_both_included(home: FamilyRecall) -> None:
    """Two stories lie between the first and the tenth of June, the ends counted."""
    ctx = RecallContext("rajesh")
    first, last = dt.date(2025, 6, 1), dt.date(2025, 6, 10)

    def ids(**days: Any) -> list[str | None]:
        return [version.memory.doc_id for version in home.memories.page(ctx, **days).memories]

    assert ids(first=first, last=last) == ["grandma", "cake"]
    assert ids(first=first, last=last - dt.timedelta(days=1)) == ["cake"]
    assert ids(last=first - dt.timedelta(days=1)) == ["goa", "dates", "march"]


def test_one_memory_comes_with_versions_and_links(home: FamilyRecall, wall: Wall) -> None:
    """Its versions, its entities, their relations, and its neighbours in the session."""
    wall.tick(hours=1)
    remember(home, "I told Priya we can do April", doc_id="march", author="Rajesh",
             session_id="talk-1", occurred_at="2025-02-01T18:00")  # fmt: skip
    home.relations.add(Relation("Rajesh", "married to", "Priya", HOME))

    detail = home.memories.get("march", RecallContext("priya"))

    assert detail.current.memory.text == "I told Priya we can do April"
    assert [version.memory.text for version in detail.earlier] == [
        "I told Priya we can do March for vacation"
    ]
    assert detail.earlier[0].replaced_at == detail.current.recorded_at
    assert set(detail.entities) == {("Rajesh Rao", "author"), ("Priya Rao", "mention")}
    assert detail.relations == (Relation("Rajesh Rao", "married to", "Priya Rao", HOME),)
    assert [(kind, version.memory.doc_id) for kind, version in detail.links] == [("next", "dates")]


def test_a_memory_that_is_no_longer_true_is_listed(home: FamilyRecall) -> None:
    """What was true for a time only is listed, so that it can be corrected."""
    remember(home, "The boiler code is 7", doc_id="code", valid_until="2025-06-01")

    listed = home.memories.page(RecallContext("rajesh"), limit=100).memories

    assert "code" in [version.memory.doc_id for version in listed]
    assert home.memories.get("code", RecallContext("rajesh")).current.memory.valid_until is not None


def test_browsing_is_in_the_audit_log(home: FamilyRecall) -> None:
    """An owner sees who browsed their space, and what they were shown."""
    home.spaces.grant(Grant("priya", HOME, "owner"))
    home.memories.get("key", RecallContext("rajesh"))
    home.memories.page(RecallContext("mia"), limit=2)

    entries = home.audit.entries("priya")

    assert [(entry.call, entry.person_id) for entry in entries] == [
        ("look", "mia"),
        ("look", "rajesh"),
    ]
    assert entries[1].memories == ((HOME, "key"),)
    assert len(entries[0].memories) == 2


@pytest.mark.parametrize(("offset", "limit"), [(-1, 50), (0, 0), (0, 1001)])
def test_pages_have_bounds(home: FamilyRecall, offset: int, limit: int) -> None:
    """Another offset or limit is refused, with the bounds."""
    with pytest.raises(InvalidRequestError, match="limit from 1 to 1000"):
        home.memories.page(RecallContext("rajesh"), offset=offset, limit=limit)
