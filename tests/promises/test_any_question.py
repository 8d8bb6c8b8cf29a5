"""Recall answers any text, and no character of a question is an operator."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from family_recall import Answer, FamilyRecall
from family_recall.english.text import STOP_WORDS
from tests.conftest import found, move_in, open_home, recall, remember, stories

HOSTILE = (
    "", " ", "\n\t", "?", '"', "'", '""""', "*", "key*", "^key", "-key", "+key", "key -pot",
    "key NOT pot", "key OR", "AND", "OR", "NOT", "NEAR", "NEAR(key pot, 2)",
    "body : key", "{body header} : key",
    "(key", "key)", "key\x00pot", "\x00", "\ud800", "key \udfff pot", "😀", "👩‍👩‍👧 key",
    "ﬁx the ｋｅｙ",
    "'; DROP TABLE memory; --", "%s %d {0}", "\\", "\u202ekey", "\ufeffkey", "e\u0301" * 50,
    "who am I?", "what was it", "the", "a" * 100_000, "key " * 25_000, "ключ 鍵 مفتاح กุญแจ",
    "1/0/0000", "32 February 2025", "in 99999999999 days", "9" * 400, "in the year 0", "²³",
    "last " * 200 + "week", "@", "http://", "a@b.c", "£$€", "\u0130stanbul", "\u00ad", "_",
    "__key__",
)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Open a household with stories."""
    with open_home(tmp_path_factory.mktemp("asked") / "family.db") as home:
        move_in(home)
        home.remember_many(stories())
        remember(home, "Salt and pepper, or sugar, not near", "private:rajesh", doc_id="operators")
        yield home


@contextlib.contextmanager
def note(text: str) -> Iterator[None]:
    """Add a text to an error raised inside the block."""
    try:
        yield
    except Exception as error:
        error.add_note(text)
        raise


def check(answer: Answer) -> None:
    """Check that an answer is whole: nothing failed, and it can be sent as JSON."""
    assert answer.degraded == ()
    assert len(set(found(answer))) == len(answer)
    assert Answer.from_json(json.loads(json.dumps(answer.to_json()))) == answer
    for result in answer.results:
        for start, end in result.highlights:
            assert 0 <= start < end <= len(result.text)


def test_a_hostile_question_is_a_question(home: FamilyRecall) -> None:
    """Quotes, operators, half characters and endless texts are asked like anything else."""
    for question in HOSTILE:
        with note(repr(question[:16])):
            check(recall(home, question, "rajesh"))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.text(max_size=60) | st.lists(st.sampled_from(HOSTILE[:50]), max_size=5).map(" ".join))
@example("\ud83d and me")
def test_any_text_is_a_question(home: FamilyRecall, question: str) -> None:
    """No text makes recall fail, and no stage of it."""
    check(recall(home, question, "rajesh"))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.text(st.characters(exclude_categories=("L", "N", "M", "Co", "Cs")), max_size=6))
def test_what_is_no_word_finds_no_word(home: FamilyRecall, noise: str) -> None:
    """Punctuation around a word changes nothing: the same memories are found by words."""
    plain = recall(home, "blue pot", "rajesh")
    noisy = recall(home, f"{noise} blue {noise} pot {noise}", "rajesh")

    assert noisy.trace.runs["lexical"] == plain.trace.runs["lexical"] == ("key",)


def test_an_empty_question_finds_nothing(home: FamilyRecall) -> None:
    """Nothing asked, nothing found, and no model run for it."""
    answer = recall(home, "  ", "rajesh")

    assert (answer.results, answer.status, answer.confidence) == ((), "no_match", 0.0)
    assert "embed" in {skip.stage for skip in answer.trace.skips}


def test_stop_words_alone_are_searched_for(home: FamilyRecall) -> None:
    """A question of nothing but everyday words still finds the memory that holds them."""
    assert {"under", "the"} <= STOP_WORDS
    assert "key" in recall(home, "under the", "rajesh").trace.runs["lexical"]


def test_a_very_long_question_finds_its_rarest_words(home: FamilyRecall) -> None:
    """Of twenty thousand words, the two that are known here are the ones searched for."""
    question = "blue pot " + " ".join(f"word{n}" for n in range(20_000))

    assert recall(home, question, "rajesh").trace.runs["lexical"] == ("key",)


def test_any_text_can_be_remembered_and_found(home: FamilyRecall) -> None:
    """Quotes, operators, NUL and emoji inside a memory do not hide its words."""
    for at, text in enumerate(HOSTILE):
        if text.strip() and not any("\ud800" <= ch <= "\udfff" for ch in text):
            remember(home, f"{text} tortoise{at}\x00 end{at}", "private:priya", doc_id=f"odd-{at}")
            answer = recall(home, f"tortoise{at}", "priya", profile="neural")
            assert f"odd-{at}" in answer.trace.runs["lexical"], text[:20]
            assert f"odd-{at}" in recall(home, f"end{at}", "priya").trace.runs["lexical"]
