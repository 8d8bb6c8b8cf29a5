"""Relations as answers: who is what to whom, asked from either end, as each person may see it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from family_recall import (
    Answer,
    FamilyRecall,
    Grant,
    Hidden,
    Memory,
    RecallContext,
    Relation,
    Space,
)
from family_recall.apps.demo import nairs
from family_recall.config import RecallConfig
from family_recall.recall.ranking.calibration import status_of
from tests.conftest import HOME, NOW, move_in, open_home, recall, remember

TOWN = (
    ("Rajesh", "works for", "Tessel"),
    ("Rajesh", "lives in", "Utrecht"),
    ("Priya", "lives in", "Utrecht"),
    ("Otto", "teacher of", "Mia"),
    ("Priya", "has doctor", "Dr Vos"),
    ("Dr Blom", "dentist of", "Mia"),
    ("Mia", "goes to", "Beatrix School"),
    ("Hanna", "swimming coach of", "Mia"),
    ("Blue bike", "OWNED_BY", "Otto"),
    ("Hanna", "former neighbour of", "Priya"),
    ("Hanna", "knows", "Otto"),
    ("Rajesh", "married to", "Priya"),
    ("Mia", "daughter of", "Priya"),
    ("Vikram", "brother of", "Priya"),
    ("Leela", "married to", "Vikram"),
    ("Leela", "lives in", "Delft"),
    ("Priya", "owns", "Biscuit"),
    ("Biscuit", "is a", "dog"),
)


def tell(home: FamilyRecall, *relations: tuple[str, str, str], **fields: Any) -> None:
    """Store relations between names, in the shared space unless ``space_id`` says otherwise."""
    for subject, relation, object_ in relations:
        home.relations.add(Relation(subject, relation, object_, **{"space_id": HOME, **fields}))


def answered(answer: Answer) -> set[str]:
    """Return the ends that relations answer a question with."""
    return {r.asked_for for r in answer.relations if r.answers and r.asked_for is not None}


def sentences(answer: Answer) -> list[str]:
    """Return the relations that answer a question, in words."""
    return [str(relation) for relation in answer.relations if relation.answers]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Open a household with relations of many kinds, and no memory at all."""
    with open_home(tmp_path_factory.mktemp("town") / "family.db", encoder=None) as home:
        move_in(home)
        tell(home, *TOWN)
        yield home


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Open the household of the demo, without models."""
    path = tmp_path_factory.mktemp("demo") / "family.db"
    with open_home(path, encoder=None) as home:
        nairs.move_in(home)
        yield home


@pytest.mark.parametrize(
    ("question", "names"),
    [
        # Rajesh married to Priya
        ("Who is Rajesh married to?", {"Priya"}),
        ("Who is Priya married to?", {"Rajesh"}),
        # Arjun and Mira, children of Rajesh and Priya
        ("Who are Arjun's parents?", {"Rajesh", "Priya"}),
        ("Who is Mira's father?", {"Rajesh"}),
        ("Who is Arjun's mother?", {"Priya"}),
        ("Whose child is Mira?", {"Rajesh", "Priya"}),
        ("Who are Rajesh's children?", {"Arjun", "Mira"}),
        ("Who are the kids of Priya?", {"Arjun", "Mira"}),
        # Kamala mother of Priya
        ("Who is Priya's mother?", {"Kamala"}),
        ("Who is the mother of Priya?", {"Kamala"}),
        ("Who is Kamala's daughter?", {"Priya"}),
        ("Who is Kamala the mother of?", {"Priya"}),
        # Vikram brother of Priya
        ("Who is Priya's brother?", {"Vikram"}),
        ("Who is Vikram's sister?", {"Priya"}),
        # Leela married to Vikram
        ("Who is Vikram's wife?", {"Leela"}),
        ("Who is Leela married to?", {"Vikram"}),
        ("Who did Leela marry?", {"Vikram"}),
        # Rajesh plans vacation with Priya
        ("Who does Rajesh plan vacations with?", {"Priya"}),
        ("Who plans vacation with Priya?", {"Rajesh"}),
        # Leela lives in Pune
        ("Where does Leela live?", {"Pune"}),
        ("Who lives in Pune?", {"Leela"}),
    ],
)
@pytest.mark.parametrize("person", nairs.ROLES)
def test_every_relation_of_the_demo_answers_from_either_end(
    demo: FamilyRecall, question: str, names: set[str], person: str
) -> None:
    """Everybody of the household hears the same answer, ok if the relation is sure enough."""
    answer = demo.recall(question, RecallContext(person, now=nairs.NOW, time_budget_ms=60_000))

    assert answered(answer) == names
    assert answer.status == status_of(answer.confidence) != "no_match"
    assert names <= {name for value in answer.facts.values() for name in value.split(", ")}


@pytest.mark.parametrize(
    ("person", "question", "names"),
    [
        ("rajesh", "Who is my wife?", {"Priya"}),
        ("rajesh", "what's my wife's name", {"Priya"}),
        ("rajesh", "Who are my kids?", {"Arjun", "Mira"}),
        ("rajesh", "Who is my mother-in-law?", {"Kamala"}),
        ("rajesh", "Who do I plan vacation with?", {"Priya"}),
        ("priya", "who is my husband", {"Rajesh"}),
        ("priya", "Who is my mother?", {"Kamala"}),
        ("priya", "Tell me who my brother is", {"Vikram"}),
        ("priya", "What is my brother's wife called?", {"Leela"}),
        ("priya", "Where does my brother's wife live?", {"Pune"}),
        ("priya", "Who plans vacation with me?", {"Rajesh"}),
        ("arjun", "Who is my dad?", {"Rajesh"}),
        ("arjun", "Who's my sister?", {"Mira"}),
        ("arjun", "who are our parents", {"Rajesh", "Priya"}),
        ("mira", "Who is my brother?", {"Arjun"}),
        ("mira", "Who is my grandma?", {"Kamala"}),
        ("mira", "Who is my uncle?", {"Vikram"}),
        ("kamala", "Who is my daughter?", set()),
        ("vikram", "Who is my wife?", set()),
        (None, "Who is my wife?", set()),
    ],
)
def test_my_is_the_askers(
    demo: FamilyRecall, person: str | None, question: str, names: set[str]
) -> None:
    """Who may enter no space, or is not known, hears of nobody."""
    answer = demo.recall(question, RecallContext(person, now=nairs.NOW, time_budget_ms=60_000))

    assert answered(answer) == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Where do I live?", {"Utrecht"}),
        ("Who lives in Utrecht?", {"Rajesh Rao", "Priya Rao"}),
        ("What is Leela's address?", {"Delft"}),
        ("Who do I work for?", {"Tessel"}),
        ("Where does Rajesh work?", {"Tessel"}),
        ("What's my job?", {"Tessel"}),
        ("Who works for Tessel?", {"Rajesh Rao"}),
        ("Who is Mia's teacher?", {"Otto"}),
        ("Who teaches Mia?", {"Otto"}),
        ("Who teaches my wife's daughter?", {"Otto"}),
        ("Which school does my wife's daughter go to?", {"Beatrix School"}),
        ("Who is my wife's daughter's swimming coach?", {"Hanna"}),
        ("Who is Otto the teacher of?", {"Mia"}),
        ("Who does Otto teach?", {"Mia"}),
        ("What is Mia's teacher called?", {"Otto"}),
        ("Who is Mia's coach?", {"Hanna"}),
        ("Who is the former neighbour of Priya?", {"Hanna"}),
        ("Who is Priya's doctor?", {"Dr Vos"}),
        ("Who is Mia's dentist?", {"Dr Blom"}),
        ("Which school does Mia go to?", {"Beatrix School"}),
        ("Where does Mia go to school?", {"Beatrix School"}),
        ("Who goes to Beatrix School?", {"Mia"}),
        ("Who owns the blue bike?", {"Otto"}),
        ("What does Otto own?", {"Blue bike"}),
        ("Who owns Biscuit?", {"Priya Rao"}),
        ("Who is Biscuit's owner?", {"Priya Rao"}),
        ("Who knows Hanna?", {"Otto"}),
        ("Who was Priya's neighbour before?", {"Hanna"}),
    ],
)
def test_a_relation_answers_by_its_own_words(
    town: FamilyRecall, question: str, names: set[str]
) -> None:
    """Stored words and asked ones mean the same; no memory is stored, and the answer is ok."""
    answer = recall(town, question, "rajesh")

    assert answered(answer) == names
    assert answer.status == "ok"
    assert len(answer) == 0


@pytest.mark.parametrize(
    "question",
    [
        "Who teaches Otto?",
        "Who is Otto's teacher?",
        "Who does Tessel work for?",
        "Who is my husband's sister?",
        "Where does Leela live with her cat?",
        "Who does Leela live with?",
        "Why does Leela live in Delft?",
        "When did Leela move to Delft?",
        "When did Leela marry Vikram?",
        "Who doesn't live in Utrecht?",
        "Does Leela live in Utrecht?",
        "What does my wife like for breakfast?",
        "What did Leela say about Delft?",
        "Who told my wife?",
        "Is Mia my wife?",
        "What did my doctor do?",
        "Where is Mia's teacher?",
        "Who is Priya's neighbour?",
        "What is Leela's phone number?",
        "How does Rajesh like work?",
        "vacation",
        "",
    ],
)
def test_a_question_for_more_or_for_something_else_is_not_answered(
    town: FamilyRecall, question: str
) -> None:
    """Neither the wrong end, nor a relation that tells less than was asked, answers."""
    answer = recall(town, question, "rajesh")

    assert sentences(answer) == []
    assert answer.facts == {}
    assert answer.status == "no_match"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Does Leela live in Delft?", ["Leela lives in Delft"]),
        ("Is Priya my wife?", ["Rajesh Rao married to Priya Rao"]),
        ("Is Leela married to Vikram?", ["Leela married to Vikram"]),
        ("Who is Leela?", ["Leela lives in Delft", "Leela married to Vikram"]),
        (
            "How is Leela related to me?",
            [
                "Leela married to Vikram",
                "Rajesh Rao married to Priya Rao",
                "Vikram brother of Priya Rao",
            ],
        ),
        (
            "Who is Vikram to me?",
            ["Rajesh Rao married to Priya Rao", "Vikram brother of Priya Rao"],
        ),
    ],
)
def test_a_question_that_names_both_ends_or_one_alone(
    town: FamilyRecall, question: str, expected: list[str]
) -> None:
    """By yes or no, all that is known of one, or the way from one to the other."""
    answer = recall(town, question, "rajesh")

    assert sorted(sentences(answer)) == expected
    assert answer.status == "ok"
    assert answer.facts == {}


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """Open a household that has told nothing yet."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        yield home


def test_what_was_valid_then_answers_a_question_about_then(home: FamilyRecall) -> None:
    """The newest answers, unless a year, or *before*, asks for an older one."""
    moved = dt.datetime(2023, 8, 1, tzinfo=dt.UTC)
    tell(home, ("Rajesh", "lives in", "Kyiv"), valid_from=dt.datetime(2015, 1, 1, tzinfo=dt.UTC),
         valid_until=moved)  # fmt: skip
    tell(home, ("Rajesh", "lives in", "Utrecht"), valid_from=moved)

    assert answered(recall(home, "Where do I live?", "rajesh")) == {"Utrecht"}
    assert answered(recall(home, "Where did I live in March 2020?", "rajesh")) == {"Kyiv"}
    assert answered(recall(home, "Where did I live before?", "rajesh")) == {"Kyiv"}
    tell(home, ("Otto", "teacher of", "Mia"), ("Priya", "mother of", "Mia"))
    assert answered(recall(home, "Who was Mia's teacher in 2020?", "rajesh")) == set()
    assert answered(recall(home, "Who was Mia's mother in 2020?", "rajesh")) == {"Priya Rao"}
    long = recall(home, "How long have I lived in Utrecht?", "rajesh")
    assert sentences(long) == ["Rajesh Rao lives in Utrecht (since 2023-08-01)"]


def test_of_two_places_only_the_newest_is_lived_in(home: FamilyRecall) -> None:
    """Where nobody said until when, what was told last replaces what was told before."""
    tell(home, ("Leela", "lives in", "Delft"))
    tell(home, ("Leela", "lives in", "Gouda"), valid_from=NOW - dt.timedelta(days=30))
    tell(home, ("Leela", "plays", "tennis"), ("Leela", "plays", "chess"))

    assert recall(home, "Where does Leela live?", "rajesh").facts in (
        {"Leela lives in": "Delft"}, {"Leela lives in": "Gouda"},
    )  # fmt: skip
    assert answered(recall(home, "What does Leela play?", "rajesh")) == {"tennis", "chess"}


def test_a_relation_is_answered_with_its_evidence_validity_and_confidence(
    home: FamilyRecall,
) -> None:
    """All that is stored of it comes with it, also as JSON, in the briefing and in words."""
    since = dt.datetime(2024, 2, 1, tzinfo=dt.UTC)
    doc_id = remember(home, "Leela's new flat is by the canal")
    tell(home, ("Leela", "lives in", "Delft"), confidence=0.8, valid_from=since, evidence=(doc_id,))
    answer = recall(home, "Where does Leela live?", "rajesh")

    (relation,) = answer.relations
    assert (relation.subject, relation.relation, relation.object) == ("Leela", "lives in", "Delft")
    assert (relation.space_id, relation.confidence, relation.evidence) == (HOME, 0.8, (doc_id,))
    assert relation.valid_from == "2024-02-01T00:00:00+00:00"
    assert relation.valid_until is None
    assert (relation.answers, relation.asked_for) == (True, "Delft")
    assert answer.facts == {"Leela lives in": "Delft"}
    assert answer.confidence >= 0.95 * 0.8
    assert answer.results[0].features["evidence"] == pytest.approx(0.8)
    assert Answer.from_json(answer.to_json()) == answer
    assert "- Leela -> Delft: lives in\n" in answer.briefing()
    assert "Leela lives in Delft (since 2024-02-01)" in str(answer)


def test_the_memory_that_says_so_stands_first(home: FamilyRecall) -> None:
    """Evidence becomes a candidate without a word in common, and its feature is in its score."""
    for day in range(5):
        remember(home, f"Leela asked where we live, for the {day + 1}th time")
    says_so = remember(home, "The flat by the canal is hers now, finally")
    tell(home, ("Leela", "lives in", "Delft"), evidence=(says_so,))
    answer = recall(home, "Where does Leela live?", "rajesh")

    assert answer.best is not None
    assert answer.best.doc_id == says_so
    assert answer.best.features["evidence"] == 1.0
    assert answer.best.score == sum(part.amount for part in answer.best.contributions)
    assert all("evidence" not in result.features for result in answer.results[1:])
    other = recall(home, "Where does Leela live with her cat?", "rajesh")
    assert all("evidence" not in result.features for result in other)


def test_a_conversation_opens_with_who_is_who(home: FamilyRecall) -> None:
    """The asker's own relations are there before anything is asked; they answer nothing."""
    tell(home, ("Rajesh", "married to", "Priya"), ("Leela", "lives in", "Delft"))
    tell(home, ("Rajesh", "hides a telescope from", "Priya"), space_id="private:priya")
    answer = home.opening(person_id="rajesh", now=NOW)

    assert [str(relation) for relation in answer.relations] == ["Rajesh Rao married to Priya Rao"]
    assert not any(relation.answers for relation in answer.relations)
    assert "- Rajesh Rao -> Priya Rao: married to\n" in answer.briefing()
    assert home.opening(now=NOW).relations == ()


def test_a_doubtful_relation_does_not_answer(home: FamilyRecall) -> None:
    """Below one half nothing is believed; at 0.5 × 0.95 an answer is weak."""
    tell(home, ("Leela", "lives in", "Delft"), confidence=0.4)
    assert sentences(recall(home, "Where does Leela live?", "rajesh")) == []
    tell(home, ("Leela", "lives in", "Delft"), confidence=0.5)
    answer = recall(home, "Where does Leela live?", "rajesh")
    assert answer.status == "weak"
    assert answer.confidence == pytest.approx(0.95 * 0.5)


def test_a_relation_is_seen_where_its_space_is(home: FamilyRecall) -> None:
    """A private relation answers its owner alone; evidence that is hidden is not named."""
    tell(home, ("Leela", "lives in", "Delft"), space_id="private:priya")

    assert answered(recall(home, "Where does Leela live?", "priya")) == {"Delft"}
    for stranger in ("rajesh", None):
        answer = recall(home, "Where does Leela live?", stranger)
        assert (answer.relations, answer.facts, answer.status) == ((), {}, "no_match")


def test_a_redacted_view_answers_with_its_own_evidence(home: FamilyRecall) -> None:
    """A role from which a band is closed sees neither the relation nor that there is one."""
    home.spaces.add(Space("shared:club", "shared"))
    home.spaces.grant(Grant("mia", "shared:club", "child"))
    home.spaces.grant(Grant("rajesh", "shared:club", "owner"))
    home.spaces.hide(Hidden("shared:club", "child", ("author",)))
    home.remember(Memory("Otto took the goalkeepers on", "shared:club", doc_id="keeper",
                         author="rajesh"))  # fmt: skip
    tell(home, ("Otto", "coach of", "Mia"), space_id="shared:club", evidence=("keeper",))
    tell(home, ("Otto", "lives in", "Delft"), space_id="shared:club", band="red")

    for person in ("mia", "rajesh"):
        (relation,) = recall(home, "Who is Mia's coach?", person).relations
        assert (relation.asked_for, relation.evidence) == ("Otto", ("keeper",))
    assert answered(recall(home, "Where does Otto live?", "rajesh")) == {"Delft"}
    assert recall(home, "Where does Otto live?", "mia").relations == ()


def test_two_spaces_tell_one_relation(home: FamilyRecall) -> None:
    """What the shared and the private space both say is one relation, the surer one."""
    tell(home, ("Leela", "lives in", "Delft"), confidence=0.7)
    tell(home, ("Leela", "lives in", "Delft"), confidence=0.9, space_id="private:priya")

    (relation,) = recall(home, "Where does Leela live?", "priya").relations
    assert relation.confidence == 0.9


def test_a_recall_can_do_without_relations(path: Path) -> None:
    """Left out, they are not looked up, and the rest of the answer stays."""
    config = RecallConfig(leave_out=frozenset({"relations"}))
    with open_home(path, encoder=None, config=config) as home:
        move_in(home)
        tell(home, ("Leela", "lives in", "Delft"))
        remember(home, "Leela lives by the canal")
        answer = recall(home, "Where does Leela live?", "rajesh")

    assert (answer.relations, answer.facts) == ((), {})
    assert len(answer) == 1
