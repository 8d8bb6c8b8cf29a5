"""The facts of an answer: the current ones that the question concerns, not of its results alone."""

from __future__ import annotations

from family_recall import FamilyRecall
from tests.conftest import recall, remember


def state(home: FamilyRecall, key: str, value: str, text: str, **fields: str) -> None:
    """Store a fact."""
    remember(home, text, kind="fact", fact_key=key, fact_value=value, **fields)


def test_facts_past_the_results_are_told(home: FamilyRecall) -> None:
    """One result is wanted, and both codes of doors are facts; the code of the bank is none."""
    state(home, "front_code", "4711", "The door code of the front door is 4711")
    state(home, "side_code", "0815", "The door code of the side door is 0815")
    state(home, "bank_pin", "9999", "The bank card has another PIN, 9999")

    answer = recall(home, "What is the door code?", "rajesh", top_k=1)

    assert len(answer) == 1
    assert answer.facts == {"front_code": "4711", "side_code": "0815"}


def test_the_newer_of_two_facts_of_a_key_is_told(home: FamilyRecall) -> None:
    """No matter which is the better result, and who said it."""
    state(
        home, "gate_code", "1111", "The gate code, the code of the gate, is 1111",
        occurred_at="2025-01-01", author="priya",
    )  # fmt: skip
    state(
        home, "gate_code", "2222", "Gate code changed to 2222",
        occurred_at="2025-05-01", author="rajesh",
    )  # fmt: skip

    assert recall(home, "What is the gate code?", "rajesh").facts == {"gate_code": "2222"}


def test_a_fact_that_no_longer_holds_is_not_told(home: FamilyRecall) -> None:
    """Nor one that does not hold yet."""
    state(home, "pool_code", "1", "The pool code is 1", valid_until="2025-01-01")
    state(home, "pool_gate", "2", "The pool code of the gate is 2", valid_from="2026-01-01")

    assert recall(home, "What is the pool code?", "rajesh").facts == {}


def test_a_question_for_no_fact_has_none(home: FamilyRecall) -> None:
    """What was talked about is no list of facts."""
    state(home, "gate_code", "1111", "The gate code is 1111")

    assert recall(home, "What did we talk about when the gate came up?", "rajesh").facts == {}


def test_what_somebody_wrote_is_no_fact_about_them(home: FamilyRecall) -> None:
    """Priya wrote both down; a question about her concerns what is said of her."""
    state(home, "allergy", "hazelnuts", "Priya is allergic to hazelnuts", author="priya")
    state(home, "bin_day", "Tuesday", "The bins go out on Tuesday", author="priya")

    assert recall(home, "What is Priya allergic to?", "rajesh").facts == {"allergy": "hazelnuts"}


def test_another_fact_about_somebody_does_not_concern_what_is_asked_of_them(
    home: FamilyRecall,
) -> None:
    """Her name is in both, and only one says what she is allergic to; alone, it concerns all."""
    state(home, "allergy", "hazelnuts", "Priya is allergic to hazelnuts")
    state(home, "blood_group", "A positive", "Priya has blood group A positive")

    assert recall(home, "What is Priya allergic to?", "rajesh").facts == {"allergy": "hazelnuts"}
    assert set(recall(home, "Who is Priya?", "rajesh").facts) == {"allergy", "blood_group"}
