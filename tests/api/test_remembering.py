"""Remembering, superseding and moments: what is stored is found, and only while it is true."""

from __future__ import annotations

import dataclasses
import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from family_recall import (
    FamilyRecall,
    Memory,
    RecallContext,
    Relation,
)
from family_recall.errors import (
    UnknownMemoryError,
)
from tests.conftest import (
    HOME,
    TinyEncoder,
    Wall,
    found,
    move_in,
    open_home,
    recall,
    remember,
    written,
)


def test_remembering_the_same_again_changes_nothing(home: FamilyRecall) -> None:
    """The same doc_id with the same content is unchanged; without a doc_id it is a duplicate."""
    memory = Memory("Otto is our plumber", HOME, doc_id="otto", author="Priya")
    first = home.remember(memory)
    before = home.maintenance.stats()
    again = home.remember(memory)
    nameless = home.remember(dataclasses.replace(memory, doc_id=None))

    assert (first.doc_id, first.outcome) == ("otto", "created")
    assert (again.doc_id, again.outcome) == ("otto", "unchanged")
    assert (nameless.doc_id, nameless.outcome) == ("otto", "duplicate")
    assert home.maintenance.stats() == before


def test_other_content_supersedes(home: FamilyRecall, wall: Wall) -> None:
    """The same doc_id with other content is the current version; the old one is no longer found."""
    remember(home, "Otto is our plumber", doc_id="plumber")
    wall.tick(days=1)
    outcome = home.remember(Memory("Hanna is our plumber", HOME, doc_id="plumber")).outcome
    answer = recall(home, "who is our plumber? Otto?", "mia", top_k=50)

    assert outcome == "updated"
    assert [result.text for result in answer.results if result.doc_id == "plumber"] == [
        "Hanna is our plumber"
    ]
    assert home.maintenance.stats()["superseded"] == 1
    with pytest.raises(UnknownMemoryError):
        home.explain("Otto", "otto", RecallContext("mia"))


def test_what_was_believed_then_is_still_known(home: FamilyRecall, wall: Wall) -> None:
    """known_at in the past relines the version of that day, flagged where it was replaced."""
    recorded_at = wall.tick(days=1)
    remember(home, "Otto is our plumber", doc_id="plumber")
    wall.tick(days=9)
    remember(home, "Hanna is our plumber", doc_id="plumber")
    ask: dict[str, Any] = {"person_id": "mia", "top_k": 50, "now": wall.tick(days=1)}

    def plumbers(**ctx: Any) -> list[tuple[str, bool]]:
        answer = recall(home, "who is our plumber?", **ask, **ctx)
        return [(r.text, r.superseded) for r in answer.results if r.doc_id == "plumber"]

    assert plumbers() == [("Hanna is our plumber", False)]
    assert plumbers(known_at=recorded_at) == [("Otto is our plumber", True)]
    assert plumbers(known_at=recorded_at + dt.timedelta(days=9)) == [
        ("Hanna is our plumber", False)
    ]
    assert plumbers(known_at=recorded_at - dt.timedelta(seconds=1)) == []


@pytest.mark.parametrize("encoder", [TinyEncoder(), None], ids=["vectors", "words"])
def test_only_what_was_true_then_is_found(path: Path, encoder: TinyEncoder | None) -> None:
    """as_of keeps valid_from ≤ moment < valid_until, by words and by vectors alike."""
    with open_home(path, encoder=encoder) as home:
        move_in(home)
        for year in (2023, 2024, 2025):
            remember(home, f"Our school holidays plan of {year}", doc_id=f"plan-{year}",
                     valid_from=dt.datetime(year, 1, 1, tzinfo=dt.UTC),
                     valid_until=dt.datetime(year + 1, 1, 1, tzinfo=dt.UTC))  # fmt: skip
        remember(home, "A school plan for always", doc_id="always")

        def plans(as_of: str | None) -> set[str]:
            return set(found(recall(home, "school holidays plan", "mia", as_of=as_of, top_k=50)))

        assert plans(None) == {"plan-2025", "always"}
        assert plans("2024-01-01T00:00+00:00") == {"plan-2024", "always"}
        assert plans("2023-12-31T23:59:59+00:00") == {"plan-2023", "always"}
        assert plans("2030-01-01T00:00+00:00") == {"always"}


def test_a_relation_holds_while_it_is_valid(path: Path) -> None:
    """An edge leads somewhere only as_of a moment at which its relation was true."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Hanna fixed the tap", author="Hanna", doc_id="tap")
        home.relations.add(Relation("Otto", "works with", "Hanna", HOME,
                             valid_from=dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
                             valid_until=dt.datetime(2025, 1, 1, tzinfo=dt.UTC)))  # fmt: skip

        def reached(as_of: str) -> bool:
            return found(recall(home, "Otto?", "mia", as_of=as_of, profile="ppr")) == ["tap"]

        assert reached("2024-06-01")
        assert not reached("2025-06-01")
        assert not reached("2023-06-01")


def test_the_words_of_the_memory_before_find_the_next(path: Path) -> None:
    """In a session, a memory is found by the words of the one before it, in any order stored."""
    lines = ["Shall we paint the fence?", "Yes, on Saturday", "Green then"]
    ordered: list[list[str]] = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]):
        with open_home(path.with_name(f"{order}.db"), encoder=None) as home:
            move_in(home)
            for at in order:
                remember(home, lines[at], doc_id=f"line-{at}", session_id="fence", author="Priya",
                         occurred_at=dt.datetime(2025, 5, 1, 10, at, tzinfo=dt.UTC))  # fmt: skip
            answer = recall(home, "fence", "mia")
            ordered.append(list(answer.trace.runs["lexical"]))
            incremental = written(answer)
            home.maintenance.rebuild()
            assert written(recall(home, "fence", "mia")) == incremental

    assert ordered == [["line-0", "line-1"]] * 4
