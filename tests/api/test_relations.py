"""Who may relate and remove a relation, and what removing leaves."""

from __future__ import annotations

import dataclasses
import datetime as dt
from pathlib import Path

import pytest

from family_recall import FamilyRecall, Grant, Hidden, RecallContext, Relation, Space
from family_recall.errors import (
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
    UnknownMemoryError,
    UnknownSpaceError,
)
from tests.conftest import HOME, Wall, move_in, open_home, recall, remember, written

PRIVATE = "private:rajesh"
COACH = Relation("Elena", "coach of", "Rajesh", HOME, evidence=("coach",))
QUESTIONS = (
    "who is Elena?",
    "where is the spare key?",
    "what did Priya tell Mia?",
    "Rajesh's coach",
)


@pytest.fixture
def household(home: FamilyRecall) -> FamilyRecall:
    """Store a memory of Rajesh and one of Priya in a space that nobody owns."""
    remember(home, "Elena coaches me at the pool", doc_id="coach", author="rajesh",
             labels=("pool",), importance=0.7)  # fmt: skip
    remember(home, "Elena is at the pool on Mondays", doc_id="mondays", author="Priya")
    return home


def answers(home: FamilyRecall, *people: str) -> list[str]:
    """Ask all questions, and list entities and relations, as some people see them."""
    return [
        text
        for person in people or ("rajesh", "mia")
        for text in (
            *(written(recall(home, question, person, top_k=50)) for question in QUESTIONS),
            repr(home.memories.entities(RecallContext(person))),
            repr(home.relations.all(RecallContext(person))),
            repr(home.memories.get("coach", RecallContext(person))),
        )
    ]


def test_a_person_relates_with_their_own_evidence(household: FamilyRecall) -> None:
    """With another's memory, without any, or with a hidden one, only an owner may."""
    household.relations.add(COACH, person_id="rajesh")
    assert [relation.evidence for relation in household.relations.all(RecallContext("mia"))] == [
        ("coach",)
    ]

    for evidence, error in (((), NotTheirsError), (("mondays",), NotTheirsError),
                            (("nothing",), UnknownMemoryError)):  # fmt: skip
        relation = dataclasses.replace(COACH, relation="knows", evidence=evidence)
        with pytest.raises(error):
            household.relations.add(relation, person_id="rajesh")
    relation = dataclasses.replace(COACH, relation="knows", evidence=())
    with pytest.raises(InvalidMemoryError, match="'black' is not open to you"):
        household.relations.add(dataclasses.replace(relation, band="black"), person_id="rajesh")
    with pytest.raises(InvalidMemoryError, match="for the guardians of 'mia'"):
        household.relations.add(
            dataclasses.replace(relation, guardians_of="mia"), person_id="rajesh"
        )
    with pytest.raises(UnknownSpaceError):
        household.relations.add(
            dataclasses.replace(relation, space_id="private:priya"), person_id="rajesh"
        )
    assert len(household.relations.all(RecallContext("priya"))) == 1
    household.relations.add(dataclasses.replace(relation, space_id=PRIVATE), person_id="rajesh")
    household.spaces.grant(Grant("mia", HOME, "owner"))
    household.relations.add(dataclasses.replace(relation, evidence=("mondays",)), person_id="mia")


def test_a_relation_of_others_is_neither_replaced_nor_removed(household: FamilyRecall) -> None:
    """Only the author of all its evidence, or an owner, may."""
    both = dataclasses.replace(COACH, evidence=("coach", "mondays"))
    household.relations.add(both)
    before = household.relations.all(RecallContext("rajesh"))

    for person in ("rajesh", "priya", "mia"):
        assert not household.relations.may_remove(both, person_id=person)
        with pytest.raises(NotTheirsError, match="what others said"):
            household.relations.remove(both, person_id=person)
    with pytest.raises(NotTheirsError, match="what others said"):
        household.relations.add(COACH, person_id="rajesh")
    assert household.relations.all(RecallContext("rajesh")) == before
    household.spaces.grant(Grant("mia", HOME, "owner"))
    assert household.relations.may_remove(both, person_id="mia")
    assert household.relations.remove(both, person_id="mia")
    assert not household.relations.may_remove(both, person_id="mia")
    assert not household.relations.remove(both, person_id="mia")


def test_a_hidden_relation_reads_as_missing(household: FamilyRecall) -> None:
    """A relation of a closed band, or of a space that is another's."""
    household.relations.add(Relation("Mia", "owes", "Otto", HOME, band="red"))
    relation = Relation("Mia", "owes", "Otto", "private:priya")
    household.relations.add(relation)
    household.spaces.grant(Grant("mia", HOME, "child"))

    assert not household.relations.remove(
        dataclasses.replace(relation, space_id=HOME, band="red"), person_id="mia"
    )
    with pytest.raises(UnknownSpaceError):
        household.relations.remove(relation, person_id="mia")
    with pytest.raises(InvalidRequestError, match="person_id must be text, got None"):
        household.relations.remove(relation, person_id=None)  # type: ignore[arg-type]  # as a host may pass it on
    assert household.relations.may_remove(relation, person_id="priya")


@pytest.mark.parametrize("named", [("Elena", "Rajesh"), ("elena", "RAJ"), ("Elena", "Rajesh Rao")])
@pytest.mark.parametrize("hidden", ["never", "before", "after"])
def test_a_removed_relation_leaves_no_trace(
    tmp_path: Path, named: tuple[str, str], hidden: str
) -> None:
    """For every role, also one with a redacted view; also after a rebuild and an import."""
    wall, hide_author = Wall(), Hidden(HOME, "child", ("author",))
    subject, object_ = named
    with open_home(tmp_path / "family.db", wall=wall) as home:
        move_in(home)
        home.spaces.grant(Grant("mia", HOME, "child"))
        remember(home, "Elena coaches me at the pool", doc_id="coach", author="rajesh")
        remember(home, "Raj met Elena Costa", doc_id="met", author="Elena Costa")
        if hidden != "never":
            home.spaces.hide(hide_author)
            home.flush()
        before = answers(home)
        if hidden == "after":
            home.spaces.hide(Hidden(HOME, "child", ()))
        wall.tick(minutes=1)
        home.relations.add(COACH, person_id="rajesh")
        if hidden == "after":
            home.spaces.hide(hide_author)
        assert all(
            len(home.relations.all(person_id=person_id)) == 1 for person_id in ("rajesh", "mia")
        )

        relation = dataclasses.replace(COACH, subject=subject, object=object_)
        assert home.relations.remove(relation, person_id="rajesh")

        wall.now_s -= 60
        home.flush()
        assert home.maintenance.stats()["relations"] == 0
        assert answers(home) == before
        home.maintenance.rebuild()
        assert answers(home) == before
        exports = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
        home.maintenance.export_to(exports[0])
        with open_home(tmp_path / "new.db", wall=wall) as new:
            new.maintenance.import_from(exports[0])
            new.flush()
            new.maintenance.export_to(exports[1])
            assert answers(new) == before
        assert exports[0].read_bytes() == exports[1].read_bytes()


def test_of_two_with_one_name_only_the_named_one_is_removed(household: FamilyRecall) -> None:
    """As it is listed, or as it was added; from the moment it was added for."""
    since = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    for subject, start in (("Fahim Khan", None), ("Fahim Ali", None), ("Fahim Khan", since)):
        household.relations.add(Relation(subject, "friend of", "Otto", HOME, valid_from=start))
    household.spaces.grant(Grant("priya", HOME, "owner"))

    def left() -> list[tuple[str, bool]]:
        listed = household.relations.all(RecallContext("priya"))
        return [(relation.subject, relation.valid_from is None) for relation in listed]

    listed = household.relations.all(RecallContext("priya"))
    assert household.relations.remove(listed[2], person_id="priya")
    assert left() == [("Fahim Khan", True), ("Fahim Ali", True)]
    assert household.relations.remove(listed[0], person_id="priya")
    assert left() == [("Fahim Ali", True)]


def test_a_private_space_belongs_to_its_only_member(home: FamilyRecall) -> None:
    """What lies where nobody else may enter is theirs to edit, whatever its author."""
    home.spaces.add(Space("private:mia", "private"))
    home.spaces.grant(Grant("mia", "private:mia", "adult"))
    remember(home, "Otto is nice", "private:mia", doc_id="nice", author="Priya")

    home.correct("nice", person_id="mia", text="Otto is very nice")
    home.relations.add(Relation("Otto", "friend of", "Mia", "private:mia"), person_id="mia")

    assert home.memories.get("nice", person_id="mia").current.memory.text == "Otto is very nice"
    assert home.relations.remove(
        Relation("Otto", "friend of", "Mia", "private:mia"), person_id="mia"
    )
