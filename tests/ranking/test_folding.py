"""Folding: near copies stand behind one of them, and older facts behind newer ones."""

from __future__ import annotations

from family_recall import FamilyRecall
from tests.conftest import found, recall, remember

BINS = "The green bins go out on Thursday evening before eight"


def test_near_copies_are_folded_and_counted(home: FamilyRecall) -> None:
    """The same words by the same author on another day, and with one word more."""
    remember(home, BINS, doc_id="first", author="Priya", occurred_at="2025-03-01")
    remember(home, BINS + "!", doc_id="again", author="Priya", occurred_at="2025-04-01")
    remember(home, BINS, doc_id="other", author="Rajesh", occurred_at="2025-03-01")
    remember(home, "The green bins are full of leaves again", doc_id="leaves", author="Priya")

    answer = recall(home, "When do the green bins go out?", "rajesh")
    by_id = {result.doc_id: result for result in answer.results}
    own, copy = ("first", "again") if "first" in by_id else ("again", "first")

    assert copy not in by_id
    assert by_id[own].copies == (copy,)
    assert {"other", "leaves"} <= set(by_id)
    assert by_id["other"].copies == ()


def test_a_folded_memory_can_be_explained(home: FamilyRecall) -> None:
    """It says so, and names the rank of the one that stands for it."""
    remember(home, BINS, doc_id="first", author="Priya", occurred_at="2025-03-01")
    remember(home, BINS + "!", doc_id="again", author="Priya", occurred_at="2025-04-01")
    question = "When do the green bins go out?"
    own = recall(home, question, "rajesh").results[0]

    told = home.explain(question, own.copies[0], None)

    assert told.verdict == "folded"
    assert told.rank == 1
    assert "near copy" in told.lines()[0]


def test_short_words_are_no_copies(home: FamilyRecall) -> None:
    """Who says yes every day has said it every day."""
    for at in range(3):
        remember(home, "Yes, please do", doc_id=f"yes-{at}", author="Mia",
                 occurred_at=f"2025-03-0{at + 1}")  # fmt: skip

    assert {"yes-0", "yes-1", "yes-2"} <= set(found(recall(home, "yes please do", "rajesh")))


def test_nothing_is_deleted(home: FamilyRecall) -> None:
    """Every copy is still in the file, and comes up where the other one may not be seen."""
    remember(home, BINS, "private:priya", doc_id="mine", author="Priya")
    remember(home, BINS + "!", doc_id="ours", author="Priya")

    both = recall(home, "green bins out Thursday?", "priya")
    alone = recall(home, "green bins out Thursday?", "rajesh")

    assert sum(doc_id in {"mine", "ours"} for doc_id in found(both)) == 1
    assert "ours" in found(alone)
    assert all("mine" not in result.copies for result in alone.results)


def test_the_newer_of_two_facts_holds(home: FamilyRecall) -> None:
    """The older is flagged with what outdates it, whatever order they were told in."""
    told = [("2024-01-01", "oak-1", "plum"), ("2025-01-01", "oak-2", "fig"), (None, "oak-0", "fig")]
    for since, doc_id, value in told:
        remember(home, f"The wifi password at home is {value}", doc_id=doc_id, kind="fact",
                 author="Priya", fact_key="wifi_password", fact_value=value, valid_from=since,
                 occurred_at=since or "2023-01-01")  # fmt: skip

    answer = recall(home, "What is the wifi password?", "rajesh")
    by_id = {result.doc_id: result.outdated_by for result in answer.results}

    assert by_id["oak-1"] == "oak-2"
    assert by_id["oak-2"] is None
    assert answer.facts["wifi_password"] == "fig"  # noqa: S105 - a story, no secret


def test_two_birthdays_are_two_peoples(home: FamilyRecall) -> None:
    """The same key with another value is no contradiction where it says it of somebody else."""
    for name, value in (("Priya", "3 May"), ("Arjun", "9 June")):
        remember(home, f"{name}'s birthday is on {value}", doc_id=name, kind="fact",
                 fact_key="birthday", fact_value=value)  # fmt: skip

    answer = recall(home, "When is the birthday?", "rajesh")

    assert all(result.outdated_by is None for result in answer.results)
