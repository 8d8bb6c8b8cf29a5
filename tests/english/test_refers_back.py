"""Questions about what is being talked about."""

from __future__ import annotations

import pytest

from family_recall.english import Question


@pytest.mark.parametrize(
    "question", ["Tell me more", "what else?", "go on", "and then?", "What happened next?",
                 "tell me more about it", "any further details?"],
)  # fmt: skip
def test_a_question_for_more_names_no_topic(question: str) -> None:
    """It asks for what belongs to the focus, and not for the focus again."""
    assert Question(question).refers_back == "more"


@pytest.mark.parametrize("question", ["When was that?", "where?", "Who was there?", "why?"])
def test_a_question_about_it_asks_for_the_focus(question: str) -> None:
    """A question of stop words alone is about what is being talked about."""
    assert Question(question).refers_back == "it"


@pytest.mark.parametrize(
    "question", ["Tell me more about the boat", "Who am I?", "what are my details?", "",
                 "What happened next Tuesday?", "Who else likes olives?"],
)  # fmt: skip
def test_a_question_with_a_topic_is_about_that(question: str) -> None:
    """A topic of its own, the person who asks and a time are something else than the focus."""
    assert Question(question).refers_back == ""
