"""Breadth: whether a question asks for one thing, for all of a kind, or for all about somebody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall import understand
from family_recall.english.breadth import MAX_CHARS, is_about_somebody, read_breadth


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Everything we lent out", "we lent out"),
        ("all that we lent out", "that we lent out"),
        ("every book she borrowed", "book she borrowed"),
        ("Every time the boiler failed", "the boiler failed"),
        ("all of the dentists we tried", "dentists we tried"),
        ("List all the codes, please", "codes"),
        ("Can you give me a list of our plumbers?", "our plumbers?"),
        ("tell me all the birthdays", "birthdays"),
        ("which of the cousins can't eat nuts", "the cousins can't eat nuts"),
        ("who all is coming on Sunday?", "is coming on Sunday?"),
        ("the names of all the cats", "cats"),
        ("the cars we drove, all of them", "the cars we drove"),
        ("How many times has Mia fallen off?", "Mia fallen off?"),
        ("how often did the boiler fail", "the boiler fail"),
    ],
)
def test_a_list_is_asked_for_in_many_words(question: str, topic: str) -> None:
    """And what is searched for are not the words that only ask for it."""
    asked = read_breadth(question)

    assert (asked.breadth, asked.topic) == ("all", topic)


@pytest.mark.parametrize(
    "question",
    [
        "which cousins can't eat nuts",
        "What schools did Mia go to?",
        "which plumbers have we had",
    ],
)
def test_a_plural_asks_for_all_of_a_kind(question: str) -> None:
    """*Which cousins* are several; the question keeps its words."""
    asked = read_breadth(question)

    assert (asked.breadth, asked.topic) == ("all", question)


@pytest.mark.parametrize(
    "question",
    [
        "Where is the ladder?",
        "Why is he tired all the time?",
        "all the time he is late, why",
        "is everyone ok?",
        "What does she take every morning?",
        "every day at eight, what do I take?",
        "Which days does she work?",
        "How often does she take it?",
        "What size are Mia's boots?",
        "What's the bus number?",
        "do they know each other's names",
        "",
        "all",
    ],
)
def test_other_questions_ask_for_one_thing(question: str) -> None:
    """*All the time* and *every morning* ask for no list, nor does a plural that is one answer."""
    assert read_breadth(question).breadth == "one"


@pytest.mark.parametrize(
    ("question", "whom"),
    [
        ("What do you know about me?", "me?"),
        ("Tell me about my family", "my family"),
        ("what can you tell me about Leela", "Leela"),
        ("Tell me everything you know about my sister Leela", "my sister Leela"),
        ("who am I?", "I?"),
    ],
)
def test_a_question_about_somebody_says_whom(question: str, whom: str) -> None:
    """Whatever is known of them is asked for."""
    asked = read_breadth(question)

    assert (asked.breadth, asked.topic) == ("about", whom)
    assert is_about_somebody(whom, ("leela", "my sister"))
    assert understand(question).breadth == "about"


def test_about_a_thing_is_no_question_about_somebody() -> None:
    """Leela's wedding is not Leela; everything about it is a list of its own."""
    wedding = read_breadth("tell me about Leela's wedding")
    boiler = read_breadth("everything about the boiler")

    assert not is_about_somebody(wedding.topic, ("leela",))
    assert (wedding.otherwise, boiler.otherwise) == ("one", "all")


@given(st.text(max_size=MAX_CHARS + 50))
def test_any_text_has_a_breadth(question: str) -> None:
    """And a topic that is not empty unless the question is; a long one asks for one thing."""
    asked = read_breadth(question)

    assert asked.topic or not question
    assert len(question) <= MAX_CHARS or asked.breadth == "one"
