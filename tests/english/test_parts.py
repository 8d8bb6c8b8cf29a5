"""Two questions in one are told from one question with *and* in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.english.parts import parts_of


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("what's the gate code and the router password?",
         ("what's the gate code?", "what's the router password?")),
        ("the gate code and my shoe size?", ("the gate code?", "my shoe size?")),
        ("where are the skates and the sledge", ("where are the skates?", "where are the sledge?")),
        ("what's the alarm code and the wifi password at Gran's?",
         ("what's the alarm code at Gran's?", "what's the wifi password at Gran's?")),
        ("when is the recital and who collects Ines?",
         ("when is the recital?", "who collects Ines?")),
        ("hey, how much was the boiler? And where is the spare key?",
         ("how much was the boiler?", "where is the spare key?")),
    ],
)  # fmt: skip
def test_two_questions_are_told_apart(question: str, parts: tuple[str, str]) -> None:
    """Each stands alone, with what both of them share."""
    assert parts_of(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "where is the salt and pepper mill?",
        "Tom and Lena's school?",
        "when do we pick up and drop off?",
        "what's the plan for the kids and the dog?",
        "what's the difference between the red and the blue bin?",
        "when is the recital and where?",
        "who has the drill and when did he take it?",
        "when is bin day, and which bins?",
        "what did Tom and the boys say?",
        "what's Mum's and Dad's anniversary?",
        "the cat is ill and what now?",
    ],
)
def test_one_question_stays_whole(question: str) -> None:
    """Nor is one split whose second half is about what the first one names."""
    assert parts_of(question) == (question,)


@given(st.text(alphabet="what's when who the and code ,?\n'’&é", max_size=320))
def test_any_text_is_split_into_its_own_words(text: str) -> None:
    """Whatever is asked: nothing raises, and no part says what the text does not."""
    parts = parts_of(text)
    assert len(parts) in (1, 2)
    for part in parts:
        assert set(part) <= {*text, "?"}
        assert len(part) <= len(text) + 1
