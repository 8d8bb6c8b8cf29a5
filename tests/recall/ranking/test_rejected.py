"""What a person rejected comes last for the like questions, and for no other question or person."""

from __future__ import annotations

import contextlib
import datetime as dt
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from family_recall.recall.ranking.rejected import LIKE, is_like, sketch_of
from family_recall.store.feedback import QuestionSketch
from tests.conftest import HOME, found, move_in, recall, written

MEMORIES = {
    "alarm": "The alarm code is 4402",
    "wifi": "The wifi code is 8812",
    "garage": "The garage opens with code 1200",
    "appointment": "The dentist is on Tuesday at nine",
    "dentist": "Dr Mehta is our dentist",
    "mum": "Mum is allergic to nuts",
    "dad": "Dad is allergic to shellfish",
    "teacher": "Mrs Lund is Mia's teacher",
    "boiler": "The boiler cost 2300 pounds",
    "fridge": "The fridge cost 900 pounds",
    "key": "The spare key is under the blue pot",
    "shoes": "Leo wears shoes of size 31",
}
ALIKE = (
    ("alarm", "What's the alarm code?", "What is the code of the alarm?"),
    ("alarm", "What's the alarm code?", "what's the alarm code again"),
    ("dentist", "Who is our dentist?", "What's our dentist called?"),
    ("dad", "What is dad allergic to?", "which allergies does dad have"),
    ("teacher", "Who is Mia's teacher?", "what is the name of Mia's teacher"),
    ("boiler", "How much did the boiler cost?", "what did we pay for the boiler"),
    ("key", "Where is the spare key?", "where did we hide the spare key"),
    ("shoes", "What size shoes does Leo wear?", "what is Leo's shoe size"),
    ("wifi", "What's the wifi code?", "code for the wifi please"),
    ("appointment", "When is the dentist?", "what day is the dentist"),
)
"""What is rejected, for which question, and the same in other words."""

OTHERS = (
    ("alarm", "What's the wifi code?", "What's the alarm code?"),
    ("wifi", "What's the alarm code?", "What's the wifi code?"),
    ("garage", "What's the alarm code?", "What's the garage code?"),
    ("dentist", "When is the dentist?", "Who is our dentist?"),
    ("appointment", "Who is our dentist?", "When is the dentist?"),
    ("mum", "What is dad allergic to?", "What is mum allergic to?"),
    ("dad", "What is mum allergic to?", "What is dad allergic to?"),
    ("fridge", "How much did the boiler cost?", "How much did the fridge cost?"),
    ("boiler", "How much did the fridge cost?", "How much did the boiler cost?"),
    ("teacher", "Who is our dentist?", "Who is Mia's teacher?"),
    ("shoes", "Where is the spare key?", "What size shoes does Leo wear?"),
)
"""What is rejected, for a question it does not answer, and a near question that it does answer."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Return a household with the shipped models, in which nothing is rejected yet."""
    path: Path = tmp_path_factory.mktemp("rejected") / "family.db"
    with FamilyRecall.open(path, timezone="UTC") as opened:
        move_in(opened)
        for doc_id, text in MEMORIES.items():
            opened.remember(text, space_id=HOME, doc_id=doc_id, author="rajesh")
        opened.warmup()
        yield opened


def reject(home: FamilyRecall, question: str, doc_id: str) -> None:
    """Have Priya say that a memory is not what she asked for."""
    done = home.feedback(recall(home, question, "priya"), doc_id, accepted=False, person_id="priya")
    assert done.kept
    assert "comes last" in done.effect


@pytest.mark.parametrize(("doc_id", "question", "again"), ALIKE)
def test_a_rejected_memory_comes_last_for_the_same_in_other_words(
    home: FamilyRecall, doc_id: str, question: str, again: str
) -> None:
    """At once, for her alone, with a reason that adds up; and undone to the last bit."""
    asked = (question, again)
    before = [written(recall(home, one, who)) for one in asked for who in ("priya", "rajesh")]
    assert found(recall(home, again, "priya"))[0] == doc_id
    reject(home, question, doc_id)
    try:
        for one in asked:
            answer = recall(home, one, "priya", top_k=50)
            last = answer.results[-1]
            assert (last.doc_id, answer.trace.decisions.get("rejected") is None) == (doc_id, False)
            assert last.confidence < 0.05
            assert "rejected" in last.features
            for result in answer.results:
                amounts = sum(part.amount for part in result.contributions)
                assert result.score == pytest.approx(amounts, abs=1e-6)
            aloud = recall(home, one, "priya", aloud=True)
            assert found(aloud)[0] == doc_id  # what is private is not told by what is missing
        answer = recall(home, question, "priya")
        assert answer.status != "ok" or answer.results[0].confidence < answer.confidence + 1e-9
        others = [written(recall(home, one, "rajesh")) for one in asked]
        assert others == before[1::2]
    finally:
        assert home.learning.undo(person_id="priya") == 1
    assert [
        written(recall(home, one, who)) for one in asked for who in ("priya", "rajesh")
    ] == before


@pytest.mark.parametrize(("doc_id", "question", "other"), OTHERS)
def test_what_was_rejected_still_answers_another_question(
    home: FamilyRecall, doc_id: str, question: str, other: str
) -> None:
    """However near the two questions are, the one it does answer keeps its answer, to the bit."""
    before = written(recall(home, other, "priya"))
    reject(home, question, doc_id)
    try:
        answer = recall(home, other, "priya")
        assert found(answer)[0] == doc_id
        assert written(answer) == before
    finally:
        home.learning.undo(person_id="priya")


def test_what_is_left_is_no_surer_than_before(home: FamilyRecall) -> None:
    """The second result becomes the first, and answers for itself, but never as sure."""
    before = recall(home, "Who is our dentist?", "priya")
    reject(home, "Who is our dentist?", "dentist")
    try:
        after = recall(home, "Who is our dentist?", "priya")
        assert after.results[0].doc_id == before.results[1].doc_id
        assert before.results[1].confidence <= after.confidence <= before.confidence
        assert after.status != "ok"
        assert after.answerable == after.confidence
    finally:
        home.learning.undo(person_id="priya")


def test_the_later_word_counts(home: FamilyRecall) -> None:
    """Accepted for the like, it is in its place again; feedback that is only implied moves none."""
    first = found(recall(home, "What's the alarm code?", "priya"))
    reject(home, "What's the alarm code?", "alarm")
    asked = recall(home, "What is the code of the alarm?", "priya")
    home.feedback(asked, "alarm", accepted=True, person_id="priya")
    assert found(recall(home, "What's the alarm code?", "priya")) == first
    asked = recall(home, "What's the alarm code?", "priya")
    home.feedback(asked, "alarm", accepted=False, weight=0.5, person_id="priya")
    assert found(recall(home, "What's the alarm code?", "priya")) == first
    assert home.learning.undo(3, person_id="priya") == 3


def test_how_well_the_two_conditions_tell_questions_apart(home: FamilyRecall) -> None:
    """The figures beside LIKE: the vector alone takes most near questions for the same."""
    with home._engine.store.snapshot() as snapshot:
        static = home._engine.models.static()

        def cosine(one: str, other: str) -> float:
            a, b = (sketch_of(text, snapshot, static).vector for text in (one, other))
            assert a is not None
            assert b is not None
            return float(a.dot(b))

        assert sum(cosine(one, other) >= LIKE for _, one, other in ALIKE) == len(ALIKE)
        assert sum(cosine(one, other) >= LIKE for _, one, other in OTHERS) > len(OTHERS) / 2


def test_without_a_static_embedder_the_same_words_are_the_same_question() -> None:
    """And a sketch of another embedder is compared by its words, not by its numbers."""
    one = QuestionSketch(None, None, frozenset({1, 2}), frozenset())
    same = QuestionSketch("other", None, frozenset({2, 1}), frozenset({"time"}))
    less = QuestionSketch(None, None, frozenset({1}), frozenset())

    assert is_like(one, same)
    assert not is_like(one, less)


def test_a_sketch_is_read_as_it_was_stored(home: FamilyRecall) -> None:
    """One byte a dimension: its cosine with itself is about 1; no word of it is there."""
    with home._engine.store.snapshot() as snapshot:
        sketch = sketch_of("Where is Grandma's ring?", snapshot, home._engine.models.static())
    text = sketch.to_text()
    again = QuestionSketch.from_text(text)

    assert sketch.vector is not None
    assert again.vector is not None
    assert float(again.vector.dot(sketch.vector)) == pytest.approx(1.0, abs=1e-3)
    assert (again.model_id, again.stems, again.kinds) == (
        sketch.model_id,
        sketch.stems,
        sketch.kinds,
    )
    assert "ring" not in text
    assert "grandma" not in text.lower()


@pytest.mark.parametrize(
    ("question", "again", "doc_id"),
    [
        ("Tell me all about Mia", "What do you know about Mia?", "teacher"),
        ("What happened in March 2025?", "what happened in march 2025", "fence"),
    ],
)
def test_what_is_rejected_of_a_list_is_left_out(question: str, again: str, doc_id: str) -> None:
    """Of all about somebody and of a time; for her alone, until it is undone."""
    with household() as home:
        before = [written(recall(home, question, who)) for who in ("priya", "rajesh")]
        assert doc_id in found(recall(home, again, "priya"))
        done = home.feedback(
            question, doc_id, accepted=False, person_id="priya", time_budget_ms=60_000
        )

        assert (done.kept, done.learned) == (True, False)
        assert done.effect == "it is left out for you from now on, of this list and others like it"
        for one in (question, again):
            answer = recall(home, one, "priya")
            assert doc_id not in found(answer)
            assert len(answer) > 0
        assert written(recall(home, question, "rajesh")) == before[1]
        assert home.explain(question, doc_id, person_id="priya").contributions
        assert home.learning.undo(person_id="priya") == 1
        assert written(recall(home, question, "priya")) == before[0]


def test_an_order_number_that_is_rejected_no_longer_answers() -> None:
    """Its only match is then what comes closest; others still get it as the answer."""
    with household() as home:
        question = "where is order 114-2233445-6677889?"
        assert recall(home, question, "priya").status == "ok"
        done = home.feedback(question, "order", accepted=False, person_id="priya")

        assert done.kept
        assert recall(home, question, "priya").status == "no_match"
        assert recall(home, question, "rajesh").status == "ok"
        home.feedback(question, "order", accepted=True, person_id="priya")
        assert recall(home, question, "priya").status == "ok"


def test_what_is_only_implied_of_a_list_is_not_kept() -> None:
    """Nothing could be learned from it, and only an explicit no leaves something out."""
    with household() as home:
        done = home.feedback(
            "Tell me all about Mia", "teacher", accepted=False, weight=0.5, person_id="priya"
        )

        assert not done.kept


@contextlib.contextmanager
def household() -> Iterator[FamilyRecall]:
    """Open a household of three memories about Mia, two of March 2025 and an order."""
    with (
        tempfile.TemporaryDirectory() as folder,
        FamilyRecall.open(Path(folder) / "family.db", timezone="UTC") as opened,
    ):
        move_in(opened)
        for doc_id, text, day in (
            ("teacher", "Mia's teacher is Mr Patel", "2025-04-11"),
            ("choir", "Mia sings in the choir", "2025-02-11"),
            ("shoes", "Mia wears shoes of size 34", "2025-01-11"),
            ("fence", "We painted the fence", "2025-03-08"),
            ("boiler", "The boiler was repaired", "2025-03-20"),
            ("order", "Order 114-2233445-6677889 is at the neighbour's", "2025-04-20"),
        ):
            at = dt.datetime.fromisoformat(day)
            opened.remember(text, space_id=HOME, doc_id=doc_id, author="rajesh", occurred_at=at)
        opened.warmup()
        yield opened
