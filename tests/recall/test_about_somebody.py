"""Questions for whatever is known about somebody: facts, milestones, relations and mentions."""

from __future__ import annotations

import pytest

from family_recall import FamilyRecall, Relation
from tests.conftest import HOME, found, recall, remember


@pytest.fixture
def known(home: FamilyRecall) -> FamilyRecall:
    """A household that knows something of its people."""
    facts = {
        "allergy": ("Priya is allergic to penicillin", "allergy", "penicillin"),
        "blood": ("Priya's blood group is A negative", "blood_group", "A negative"),
        "boiler": ("The boiler's pressure is 1.4 bar", "boiler_pressure", "1.4 bar"),
    }
    for doc_id, (text, key, value) in facts.items():
        remember(
            home, text, doc_id=doc_id, author="rajesh", kind="fact",
            fact_key=key, fact_value=value,
        )  # fmt: skip
    remember(home, "I broke my arm at nine", doc_id="arm", author="priya", kind="milestone")
    remember(home, "Priya sang at the choir", doc_id="choir", author="mia")
    remember(home, "The plums are ripe", doc_id="plums", author="mia")
    return home


def test_about_somebody_are_facts_milestones_and_mentions(known: FamilyRecall) -> None:
    """Facts that name her and her own milestone before what merely mentions her, and no more."""
    answer = recall(known, "What do you know about Priya?", "rajesh")

    assert answer.status == "ok"
    assert set(found(answer)[:3]) == {"allergy", "blood", "arm"}
    assert "choir" in found(answer)[3:]
    assert not {"plums", "boiler"} & set(found(answer))
    assert answer.facts == {"allergy": "penicillin", "blood_group": "A negative"}


def test_about_me_is_about_the_asker(known: FamilyRecall) -> None:
    """The same household, asked by Priya, by Rajesh and by an unknown voice."""
    priya = recall(known, "What do you know about me?", "priya")
    rajesh = recall(known, "What do you know about me?", "rajesh")

    assert set(found(priya)[:3]) == {"allergy", "blood", "arm"}
    assert "arm" not in found(rajesh)
    assert recall(known, "What do you know about me?").completeness is None


def test_about_the_family_is_all_that_lasts(known: FamilyRecall) -> None:
    """Every fact and milestone in scope, and who is what to whom; never ``no_match``."""
    known.relations.add(Relation("Rajesh", "married to", "Priya", HOME))

    answer = recall(known, "Tell me about my family", "rajesh")

    assert answer.status == "ok"
    assert set(found(answer)) == {"allergy", "blood", "boiler", "arm", "key"}
    assert [relation.phrase for relation in answer.relations] == ["married to"]
    assert set(answer.facts) == {"allergy", "blood_group", "boiler_pressure"}


def test_a_relation_alone_is_something_known(known: FamilyRecall) -> None:
    """No memory mentions Leela, but one says where she lives; another relation has none."""
    remember(known, "They found a flat with a view of the hill", doc_id="flat")
    known.relations.add(Relation("Leela", "lives in", "Pune", HOME, evidence=("flat",)))
    known.relations.add(Relation("Vikram", "brother of", "Priya", HOME))

    leela = recall(known, "What do you know about Leela?", "rajesh")
    vikram = recall(known, "Tell me about Vikram", "rajesh")

    assert (leela.status, found(leela)) == ("ok", ["flat"])
    assert [relation.object for relation in leela.relations] == ["Pune"]
    assert vikram.status == "ok"
    assert vikram.relations[0].answers


def test_how_much_of_it_all_is_shown(known: FamilyRecall) -> None:
    """Two of all that are about her; and with room for all of them, all."""
    two = recall(known, "What do you know about Priya?", "rajesh", top_k=2)
    everything = recall(known, "What do you know about Priya?", "rajesh", top_k=50)

    assert two.completeness == 2 / len(everything)
    assert everything.completeness == 1.0


def test_nothing_of_another_space_is_known(known: FamilyRecall) -> None:
    """A fact about Priya in her private space is hers."""
    remember(
        known, "Priya saves for a boat", "private:priya", doc_id="boat", author="priya",
        kind="fact", fact_key="savings", fact_value="boat",
    )  # fmt: skip

    rajesh = recall(known, "What do you know about Priya?", "rajesh")
    priya = recall(known, "What do you know about me?", "priya")

    assert "boat" not in found(rajesh)
    assert "savings" not in rajesh.facts
    assert "boat" in found(priya)


def test_the_score_is_the_sum_of_its_reasons(known: FamilyRecall) -> None:
    """In the default profile and in a design's."""
    for profile in ("default", "family_os"):
        for result in recall(known, "Tell me about Priya", "rajesh", profile=profile):
            assert result.features["concerns"] > 0.0
            assert result.score == pytest.approx(sum(part.amount for part in result.contributions))
