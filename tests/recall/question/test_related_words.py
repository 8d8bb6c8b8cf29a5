"""Words of like meaning as a question's: which they are, and what they change in an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall.english.text import MAX_RELATED_WORDS, related_table, related_words
from family_recall.store.words import split
from tests.conftest import found, move_in, open_home, recall, remember


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("faucet", "tap"),
        ("tap", "faucet"),
        ("stopcock", "mains"),
        ("jab", "vaccination"),
        ("fringe", "bangs"),
        ("nappies", "diapers"),
        ("handphone", "mobile"),
        ("brinjal", "aubergine"),
        ("chooks", "hens"),
        ("graduating", "passed"),
    ],
)
def test_what_people_call_a_thing_elsewhere_is_related(asked: str, stored: str) -> None:
    """Whatever the form of a word: the table holds stems."""
    ((_, asked_stem),), ((_, stored_stem),) = split(asked), split(stored)

    assert stored_stem in related_table()[asked_stem]


def test_a_word_is_not_related_to_itself_nor_to_another_one_of_the_question() -> None:
    """Who asks about the tap and the faucet has said both."""
    assert all(stem not in others for stem, others in related_table().items())
    pairs = related_words((("faucet", "faucet"), ("tap", "tap")))

    assert {"tap", "faucet"}.isdisjoint(stem for _, stem in pairs)


def test_a_long_question_looks_up_no_more_words_than_a_short_one() -> None:
    """All the words of the table at once."""
    assert len(related_words([(stem, stem) for stem in related_table()])) <= MAX_RELATED_WORDS


def test_another_word_for_the_same_comes_first(tmp_path: Path) -> None:
    """Both notes share a word with the question; one says what the electrician is called here."""
    with open_home(tmp_path / "family.db", encoder=None) as home:
        move_in(home)
        remember(home, "the baker charges ninety for the cake", doc_id="baker")
        remember(home, "the sparky charges ninety for the visit", doc_id="sparky")
        remember(home, "the barber charges ninety for the cut", doc_id="barber")
        answer = recall(home, "what does the electrician charge?", "mia")

    assert found(answer)[0] == "sparky"
    reasons = {part.feature: part.amount for part in answer.results[0].contributions}
    assert reasons["related_words"] > 0.0
    assert sum(reasons.values()) == pytest.approx(answer.results[0].score)
    assert "related_words" not in answer.results[1].features


def test_a_word_of_like_meaning_finds_nothing_by_itself(tmp_path: Path) -> None:
    """It is none of the question's words: without one of those, and without a model, no result."""
    with open_home(tmp_path / "family.db", encoder=None) as home:
        move_in(home)
        remember(home, "the sparky was here", doc_id="sparky")

        assert not recall(home, "electrician", "mia").results


def test_words_outside_the_scope_change_nothing(tmp_path: Path) -> None:
    """A private note full of the other word moves no score of somebody else's answer."""
    scores = []
    for private in ("nothing to see", "sparky sparky sparky electrician"):
        with open_home(tmp_path / f"{private[:3]}.db", encoder=None) as home:
            move_in(home)
            remember(home, "the sparky charges ninety", doc_id="sparky")
            remember(home, "the baker charges ninety", doc_id="baker")
            remember(home, private, space_id="private:rajesh", author="rajesh", doc_id="private")
            answer = recall(home, "what does the electrician charge?", "mia")
            scores.append([(result.doc_id, result.score) for result in answer.results])

    assert scores[0] == scores[1]
