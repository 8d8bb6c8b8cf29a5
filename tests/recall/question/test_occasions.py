"""What a question prepares for, by its words and its tense."""

from __future__ import annotations

import pytest

from family_recall.english.text import search_terms
from family_recall.recall.question.occasions import occasions, occasions_of
from family_recall.store.text.full_text import split


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Any ideas for a present for Grandma?", ("gift",)),
        ("what flowers should I buy Leela", ("gift",)),
        ("what could we cook on Friday", ("food",)),
        ("is the circus a good idea for Mia?", ("outing",)),
        ("Uncle Ned stays on the couch, what should we know?", ("guest",)),
        ("where to for the next holiday with Dad", ("travel",)),
        ("what must we replace before we go camping", ("gear",)),
        ("should I bring a puppy home", ("pet",)),
        ("a birthday dinner for Vikram?", ("gift", "food")),
        ("what is the Wi-Fi password?", ()),
        ("", ()),
    ],
)
def test_the_words_of_a_question_say_what_it_prepares_for(
    question: str, expected: tuple[str, ...]
) -> None:
    """In any form: the words are compared as the index stems them."""
    assert occasions_of(question, search_terms(split(question))) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What did we cook for Leela?",
        "When is the birthday?",
        "Who gave Mia a present?",
        "was the movie any good",
        "what holiday did we like best",
    ],
)
def test_a_question_about_what_was_prepares_for_nothing(question: str) -> None:
    """Nor one that asks who or when: a remark says neither."""
    assert occasions_of(question, search_terms(split(question))) == ()


def test_every_occasion_has_words_and_remarks() -> None:
    """Remarks are what people say: sentences of a few words, none of them twice."""
    for occasion in occasions().values():
        assert occasion.asked
        assert len(set(occasion.remarks)) == len(occasion.remarks) > 0
        assert all(3 <= len(remark.split()) <= 12 for remark in occasion.remarks)
