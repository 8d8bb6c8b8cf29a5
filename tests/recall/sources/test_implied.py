"""Remarks that bear on what a question prepares for, and share no word with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from family_recall import Answer, FamilyRecall, Result
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoding
from tests.conftest import TinyEncoder, found, move_in, open_home, recall, remember

ALLERGY = "I can't eat that, I am allergic to it"
"""All but the words of a remark: what the tests' encoder takes for the same meaning."""

QUESTION = "what shall we cook for Priya on Friday?"


class Counting(TinyEncoder):
    """Counts the memories it encodes."""

    def __init__(self) -> None:
        """Start at none."""
        super().__init__()
        self.n_encoded = 0

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode, and count."""
        self.n_encoded += len(texts)
        return super().encode_memories(texts)


def tell(home: FamilyRecall) -> None:
    """Store the same remark of two people, and what has the question's words."""
    move_in(home)
    remember(home, ALLERGY, author="priya", doc_id="hers")
    remember(home, ALLERGY, author="rajesh", doc_id="his")
    for day in range(12):
        remember(home, f"on Friday number {day} the fence needs paint", doc_id=f"fence-{day}")


def implied(answer: Answer) -> dict[str, float]:
    """Return the value of the feature by memory."""
    return {result.doc_id: result.features.get("implied", 0.0) for result in answer.results}


def by_id(answer: Answer, doc_id: str) -> Result:
    """Return one result."""
    return next(result for result in answer.results if result.doc_id == doc_id)


def test_the_remark_of_who_is_named_is_preferred(path: Path) -> None:
    """What others said word for word the same bears on nothing; the score is a sum with it."""
    with open_home(path) as home:
        tell(home)
        answer = recall(home, QUESTION, "mia", top_k=20)

    values = implied(answer)
    assert values["hers"] > 0.7
    assert values["his"] == 0.0
    assert "implied" in answer.trace.runs
    reasons = {part.feature: part.amount for part in by_id(answer, "hers").contributions}
    assert reasons["implied"] == pytest.approx(values["hers"] * 0.12, abs=1e-4)
    assert sum(reasons.values()) == pytest.approx(by_id(answer, "hers").score)


def test_where_nobody_is_named_anybody_may_be_meant(path: Path) -> None:
    """Both remarks count half, and alike but for the name that is encoded with them."""
    with open_home(path) as home:
        tell(home)
        values = implied(recall(home, "what shall we cook on Friday?", "mia", top_k=20))

    assert values["hers"] == pytest.approx(values["his"], abs=0.05)
    assert 0.3 < values["hers"] <= 0.5


def test_a_question_that_prepares_for_nothing_searches_no_remarks(path: Path) -> None:
    """It costs nothing, and nothing of it shows."""
    with open_home(path) as home:
        tell(home)
        answer = recall(home, "what did we cook for Priya?", "mia")

    assert "implied" not in answer.trace.runs
    assert "occasions" not in {span.stage for span in answer.trace.spans}
    assert not any("implied" in reason for result in answer.results for reason in result.reasons)


def test_it_can_be_left_out(path: Path) -> None:
    """The trace says so, and the order is that of the rest."""
    config = RecallConfig(leave_out=frozenset({"occasions"}))
    with open_home(path, config=config) as home:
        tell(home)
        answer = recall(home, QUESTION, "mia")

    assert ("occasions", "disabled") in {(skip.stage, skip.reason) for skip in answer.trace.skips}
    assert set(implied(answer).values()) == {0.0}


def test_without_a_model_words_answer(path: Path) -> None:
    """There is nothing to compare a remark with."""
    with open_home(path, encoder=None) as home:
        tell(home)
        answer = recall(home, QUESTION, "mia")

    assert found(answer)
    assert "implied" not in answer.trace.runs


def test_the_remarks_are_encoded_once(path: Path) -> None:
    """The second question finds their vectors made, and gets the same answer."""
    counting = Counting()
    with open_home(path, encoder=counting) as home:
        tell(home)
        home.flush()
        stored = counting.n_encoded
        first = found(recall(home, QUESTION, "mia"))
        made = counting.n_encoded - stored
        second = found(recall(home, QUESTION, "mia"))

    assert made > 0
    assert counting.n_encoded - stored == made
    assert first == second


def test_a_remark_out_of_scope_is_not_found(path: Path) -> None:
    """Told in private, it bears on no question of others, and moves no score of theirs."""
    written = []
    for private in ("the fence again", ALLERGY):
        with open_home(path.with_name(f"{len(private)}.db")) as home:
            tell(home)
            remember(home, private, "private:priya", author="priya", doc_id="private")
            answer = recall(home, QUESTION, "mia", top_k=20)
            written.append([(result.doc_id, result.score) for result in answer.results])
            assert "private" not in found(answer)
            assert recall(home, QUESTION, "priya", top_k=20).trace.runs["implied"]

    assert written[0] == written[1]


def test_designed_profiles_do_without(path: Path) -> None:
    """They weigh what their documents say, and search for no more."""
    with open_home(path) as home:
        tell(home)
        answer = recall(home, QUESTION, "mia", profile="annie")

    assert "implied" not in answer.trace.runs
