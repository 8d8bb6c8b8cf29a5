"""Two questions in one are searched apart and answered apart."""

from __future__ import annotations

import itertools

import pytest

from family_recall import Answer, FamilyRecall, RecallContext
from tests.conftest import PLENTY_MS, found, recall, remember

BOTH = "What's the gate code and the router password?"


@pytest.fixture
def keys(home: FamilyRecall) -> FamilyRecall:
    """A household that keeps codes."""
    for doc_id, text in {
        "router": "The router password is plum-tree-9",
        "gate": "The gate code is 4471",
        "code": "Priya wrote code all day and forgot the gate of the garden",
        "cake": "Aunt Rosa bakes the walnut cake",
    }.items():
        remember(home, text, doc_id=doc_id, author="priya")
    return home


def test_the_first_results_answer_each(keys: FamilyRecall) -> None:
    """In the order asked; the results stay one ranking, whose scores are their reasons."""
    answer = recall(keys, BOTH, "rajesh")

    assert found(answer)[:2] == ["gate", "router"]
    assert [part.best and part.best.doc_id for part in answer.parts] == ["gate", "router"]
    assert [result.rank for result in answer] == list(range(1, len(answer) + 1))
    for one, other in itertools.pairwise(answer.results):
        assert one.score >= other.score
    for result in answer:
        assert result.score == pytest.approx(sum(part.amount for part in result.contributions))


def test_both_are_said(keys: FamilyRecall) -> None:
    """Aloud and in writing, with the rank by which each can be judged."""
    answer = recall(keys, BOTH, "rajesh")

    for said in (answer.spoken(), str(answer)):
        assert said.index("4471") < said.index("plum-tree-9")
    assert Answer.from_json(answer.to_json()).to_json() == answer.to_json()


def test_what_is_not_known_of_one_is_said(keys: FamilyRecall) -> None:
    """The other is answered; the answer to both is not ``ok``."""
    answer = recall(keys, "What's the gate code and who conducts Verdi operas?", "rajesh")

    gate, operas = answer.parts
    assert gate.best is not None
    assert operas.status == "no_match"
    assert answer.status == "weak"
    assert answer.uncovered == ("who conducts Verdi operas",)
    for said in (answer.spoken(), str(answer)):
        assert "4471" in said
        assert "Nothing stored answers that: “who conducts Verdi operas?”" in said


def test_each_may_be_about_another_person(home: FamilyRecall) -> None:
    """What tells of Rajesh is no fact of another where one part asks of him, and one of Priya."""
    remember(home, "Rajesh takes size 44 shoes", doc_id="his", author="priya")
    remember(home, "passport number of Priya: 66120", doc_id="hers", author="priya")

    answer = recall(home, "What's Rajesh's shoe size and Priya's passport number?", "rajesh")

    assert found(answer)[:2] == ["his", "hers"]
    assert [result.whose for result in answer.results[:2]] == [None, None]
    assert answer.status != "no_match"


def test_one_question_has_no_parts(keys: FamilyRecall) -> None:
    """Nor have two of which nothing stored answers either."""
    assert recall(keys, "What's the gate code?", "rajesh").parts == ()
    assert recall(keys, "When is Easter Monday and who sings at Whitsun?", "rajesh").parts == ()


def test_they_share_the_time_of_one(keys: FamilyRecall) -> None:
    """Two and the whole: a third for the first, half of what is left for the second."""
    context = RecallContext(person_id="rajesh", time_budget_ms=PLENTY_MS)
    answer = keys.recall(BOTH, context)

    requests = [part.trace.request for part in answer.parts]
    first, second = (request.ctx.time_budget_ms for request in requests if request is not None)
    assert first <= PLENTY_MS / 3
    assert second <= PLENTY_MS / 2
    assert answer.used_time_ms >= sum(part.used_time_ms for part in answer.parts)
