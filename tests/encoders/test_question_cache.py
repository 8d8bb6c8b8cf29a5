"""Remembered questions: each person's own, no more than so many, gone when they are forgotten."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from family_recall import Memory
from family_recall.encoders.base import Encoding
from family_recall.encoders.question_cache import QuestionCache
from tests.conftest import TinyEncoder, engine_of, move_in, open_home, recall, stories


def encoding(value: float) -> Encoding:
    """Make an encoding that can be told from others."""
    return Encoding(np.full(4, value, np.float32), np.zeros((0, 0), np.float32),
                    np.zeros(0, np.int64))  # fmt: skip


def test_what_is_known_is_known_by_person_model_and_text() -> None:
    """A question is only the same for the same person, model and text, to the letter."""
    known, first = QuestionCache(), encoding(1.0)
    known.put("mia", "model/1", "where?", first)

    assert known.get("mia", "model/1", "where?") is first
    for other in (("raj", "model/1", "where?"), (None, "model/1", "where?"),
                  ("mia", "model/2", "where?"), ("mia", "model/1", "Where?")):  # fmt: skip
        assert known.get(*other) is None


def test_the_one_not_asked_for_longest_goes_first() -> None:
    """Of three places, the fourth question takes that of the one that was not asked again."""
    known = QuestionCache(max_questions=3)
    for n in range(3):
        known.put("mia", "m", f"q{n}", encoding(n))
    known.get("mia", "m", "q0")
    known.put("mia", "m", "q3", encoding(3.0))

    assert [known.get("mia", "m", f"q{n}") is not None for n in range(4)] == [
        True, False, True, True,
    ]  # fmt: skip
    assert len(known) == 3


def test_what_others_ask_evicts_nothing() -> None:
    """However much Raj asks, Mia's question is as fast as before; a whole person goes at most."""
    known, first = QuestionCache(max_questions=3, max_people=2), encoding(1.0)
    known.put("mia", "m", "where?", first)
    for n in range(10):
        known.put("raj", "m", f"q{n}", encoding(n))
        assert known.get("mia", "m", "where?") is first
    known.put("elena", "m", "where?", encoding(2.0))

    assert known.get("raj", "m", "q9") is None
    assert len(known) == 2


def test_nothing_is_cached_for_a_stranger() -> None:
    """The next one who is not known may be somebody else, who would notice what was asked."""
    known = QuestionCache()
    known.put(None, "m", "where?", encoding(1.0))

    assert known.get(None, "m", "where?") is None
    assert len(known) == 0


def test_no_text_is_kept() -> None:
    """There is only a hash of a question in memory."""
    known = QuestionCache()
    known.put("mia", "m", "a secret question", encoding(1.0))

    assert "secret" not in repr(known.__dict__)


def test_a_question_is_read_once_for_each_person(path: Path) -> None:
    """Asked again by the same person the model does not run; by another, it does."""
    read: list[str] = []

    class Counting(TinyEncoder):
        def encode_question(self, text: str) -> Encoding:
            read.append(text)
            return super().encode_question(text)

    with open_home(path, encoder=Counting()) as home:
        move_in(home)
        home.remember_many(stories())
        for person in ("priya", "priya", "mia", "mia"):
            recall(home, "where is the key?", person)
        assert read.count("where is the key?") == 2
        home.close()
        assert len(engine_of(home).models.questions) == 0


def test_forgetting_a_memory_forgets_the_questions(path: Path) -> None:
    """What is forgotten from the file is not kept in what somebody asked about it."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        mine = home.remember(Memory("my own secret", "private:priya", author="Priya")).doc_id
        recall(home, "what is my secret?", "priya")
        assert len(engine_of(home).models.questions) == 1
        home.forget(mine, person_id="priya")

        assert len(engine_of(home).models.questions) == 0
