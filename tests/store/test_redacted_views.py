"""Redacted views: a role's copy of a space is as if its hidden fields had never been stored."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import apsw
import pytest

from family_recall import FamilyRecall, Grant, Hidden, Memory, Person, RecallContext, Relation
from family_recall.errors import UnknownMemoryError, UnknownPersonError, UnknownSpaceError
from family_recall.store.file import sql
from tests.conftest import HOME, NOW, Wall, found, move_in, open_home, recall, remember, written

FIELDS = ("author", "labels", "url", "session_id", "occurred_at")
QUESTIONS = ("what did Priya say of the key?", "https://a.example/goa", "pets", "who knows Fahim?")


def records(blank: bool) -> list[dict[str, Any]]:
    """Return the memories of these tests, with or without the hidden fields."""
    shown: list[dict[str, Any]] = [
        {"text": "The spare key is under the blue pot", "doc_id": "key", "author": "Priya",
         "session_id": "monday"},
        {"text": "The key is with Fahim Khan now", "doc_id": "key", "author": "Rajesh",
         "session_id": "monday", "labels": ("pets",)},
        {"text": "Goa in March it is", "doc_id": "goa", "url": "https://a.example/goa",
         "occurred_at": NOW - dt.timedelta(days=3)},
        {"text": "Priya fed the puppy", "doc_id": "puppy", "author": "Mia", "labels": ("pets",)},
        {"text": "Priya fed the puppy", "doc_id": "puppy", "author": "Fahim", "labels": ("pets",)},
        {"text": "The key code is 1234", "doc_id": "code", "band": "amber", "author": "Priya"},
    ]  # fmt: skip
    if blank:
        shown = [{k: v for k, v in one.items() if k not in FIELDS} for one in shown]
    return shown


def furnish(home: FamilyRecall, wall: Wall, *, blank: bool = False) -> None:
    """Store them, an hour apart, and that Fahim and Priya know each other."""
    move_in(home)
    home.people.add(Person("sitter", "Sitter"))
    home.spaces.grant(Grant("sitter", HOME, "guest"))
    wall.now_s = NOW.timestamp() - 86_400.0
    for one in records(blank):
        wall.tick(hours=1)
        home.remember(Memory(space_id=HOME, **one))
    home.relations.add(Relation("Fahim Khan", "knows", "Priya", HOME, evidence=("key",)))
    wall.now_s = NOW.timestamp()


def answers(home: FamilyRecall, **ctx: Any) -> list[str]:
    """Ask everything as the sitter; as known 22 hours ago, too."""
    then = NOW - dt.timedelta(hours=22)
    return [
        written(recall(home, question, "sitter", **ctx, **known))
        for question in QUESTIONS
        for known in ({}, {"known_at": then})
    ]


@pytest.mark.parametrize("when", ["before", "after", "instead of others"])
def test_a_view_is_the_same_whenever_fields_are_hidden(tmp_path: Path, when: str) -> None:
    """Hidden before the first memory, after the last, or in place of other fields: all the same.

    And the same as in a household whose memories never had those fields.
    """
    wall = Wall()
    with open_home(tmp_path / "plain.db", wall=wall) as home:
        furnish(home, wall, blank=True)
        expected = answers(home)
    with open_home(tmp_path / "redacted.db", wall=wall) as home:
        move_in(home)
        if when == "before":
            home.spaces.hide(Hidden(HOME, "guest", FIELDS))
        furnish(home, wall)
        if when != "before":
            if when != "after":
                home.spaces.hide(Hidden(HOME, "guest", ("title",)))
            home.spaces.hide(Hidden(HOME, "guest", FIELDS))
            home.flush()
        assert answers(home) == expected
        home.maintenance.rebuild()
        assert answers(home) == expected
        priya = recall(home, QUESTIONS[0], "priya", top_k=50)
        assert {result.author for result in priya.results} >= {"Rajesh", "Fahim"}
        assert home.maintenance.stats()["memories"] == 4
        assert home.spaces.hidden() == [Hidden(HOME, "guest", FIELDS)]


def test_hiding_no_field_deletes_the_view(tmp_path: Path) -> None:
    """With no field hidden a role sees the memories themselves, and its copy is gone."""
    wall = Wall()
    path = tmp_path / "family.db"
    with open_home(path, wall=wall) as home:
        furnish(home, wall)
        before, counts = answers(home), _counts(path)
        home.spaces.hide(Hidden(HOME, "guest", FIELDS))
        home.flush()
        assert _counts(path)["memory"] == 2 * counts["memory"] - 2  # puppy twice, code not at all
        home.spaces.hide(Hidden(HOME, "guest", ()))
        assert answers(home) == before
        assert _counts(path) == counts
        assert home.spaces.hidden() == []
        with pytest.raises(UnknownSpaceError):
            home.spaces.hide(Hidden("nowhere", "guest", FIELDS))


def test_evidence_is_for_the_same_guardians(tmp_path: Path) -> None:
    """A relation for a child's guardians rests on memories for them, and on no other."""
    with open_home(tmp_path / "family.db") as home:
        move_in(home)
        home.people.add_guardian("priya", "mia")
        remember(home, "Mia sees Dr. Roy", doc_id="doctor", guardians_of="mia")
        with pytest.raises(UnknownMemoryError, match=r"band 'green'$"):
            home.relations.add(Relation("Mia", "patient_of", "Dr. Roy", HOME, evidence=("doctor",)))
        home.relations.add(
            Relation("Mia", "patient_of", "Dr. Roy", HOME, evidence=("doctor",), guardians_of="mia")
        )
        with pytest.raises(UnknownPersonError, match="'zoe'"):
            remember(home, "x", guardians_of="zoe")
        assert home.understand("Dr. Roy", RecallContext("priya")).entities == ("Dr. Roy",)
        assert home.understand("Dr. Roy", RecallContext("rajesh")).entities == ()
        assert home.people.guardians() == {"mia": ("priya",)}
        assert home.people.remove_guardian("priya", "mia")
        assert not home.people.remove_guardian("priya", "mia")
        assert found(recall(home, "Dr. Roy", "priya")) == []


def test_a_memory_changed_to_be_for_guardians_is_seen_by_nobody_else(tmp_path: Path) -> None:
    """The same memory, marked afterwards, leaves the partition that everybody saw."""
    with open_home(tmp_path / "family.db") as home:
        move_in(home)
        home.people.add_guardian("priya", "mia")
        remember(home, "Mia sees Dr. Roy", doc_id="doctor")
        assert found(recall(home, "Dr. Roy", "mia")) == ["doctor"]
        remember(home, "Mia sees Dr. Roy", doc_id="doctor", guardians_of="mia")
        assert found(recall(home, "Dr. Roy", "priya")) == ["doctor"]
        for person_id in ("mia", "rajesh", None):
            assert found(recall(home, "Dr. Roy", person_id)) == []


def _counts(path: Path) -> dict[str, int]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    tables = ("memory", "partition", "word_count", "embedding", "vectors_1_rowids", "entity",
              "alias", "mention", "relation", "edge", "identifier", "mentioned_time",
              "redacted_view")  # fmt: skip
    return {table: int(sql.row(connection, f"SELECT count(*) FROM {table}")[0]) for table in tables}
