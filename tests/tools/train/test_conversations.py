"""tools/train/conversations.py: conversations and questions from cards."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.train.cards.loader import Card, Fact, read_cards
from tools.train.conversations import Conversations, first_person, session_of

if TYPE_CHECKING:
    from pathlib import Path

CARDS = read_cards()
SEEDS = st.integers(0, 2**32)


def card(**changes: object) -> dict[str, Any]:
    """Return a card of one fact, as its file has it."""
    fact = {
        "says": ["My {pet} is deaf."],
        "asks": ["Whose {pet} is deaf, {me}'s?"],
        "hints": ["H."],
    }
    return {
        "topic": "pets",
        "slots": {"pet": ["cat"]},
        "facts": [fact],
        "near": ["Hm?", "Ah."],
    } | changes


def written(folder: Path, *cards: dict[str, Any]) -> Path:
    """Write a file of cards."""
    path = folder / "some.jsonl"
    path.write_text("\n".join(json.dumps(card) for card in cards), "utf-8")
    return path


def test_no_sentence_dominates() -> None:
    """Nearly every line was written for one card alone."""
    lines = [
        text
        for each in CARDS
        for fact in each.facts
        for text in (*fact.says, *fact.asks, *fact.hints)
    ]
    repeated = len(lines) - len(set(lines))

    assert len(CARDS) >= 400
    assert len(lines) >= 15_000
    assert repeated <= 0.005 * len(lines)


@given(SEEDS)
def test_every_slot_is_filled_and_both_people_are_named(seed: int) -> None:
    """Nothing in braces is left in any line, whatever is drawn."""
    for group in Conversations(CARDS).draw(12, random.Random(seed)):
        for text in (group.query, group.positive or "", *group.negatives):
            assert not re.search(r"[{}]", text)


@given(SEEDS)
def test_what_answers_a_question_is_never_its_negative(seed: int) -> None:
    """Neither the line itself nor the same fact said in another way, by the same person."""
    for group in Conversations(CARDS).draw(24, random.Random(seed)):
        assert group.positive not in group.negatives
        assert not group.also & set(group.negatives)


@given(SEEDS)
def test_a_session_holds_every_fact_once_and_its_questions_point_at_it(seed: int) -> None:
    """Each key is a line's, and each fact of the card has questions."""
    rng = random.Random(seed)
    drawn = rng.choice(CARDS)
    session = session_of(drawn, "Ada", "Bo", rng)
    keys = [line.key for line in session.lines]

    assert len(session.lines) == len(drawn.facts) + len(drawn.near)
    assert len({key for _, _, key in session.questions}) == len(drawn.facts)
    assert {key for _, _, key in session.questions} <= set(keys)


def test_the_same_seed_draws_the_same_groups() -> None:
    """Training can be repeated."""
    source = Conversations(CARDS)

    assert source.draw(20, random.Random(5)) == source.draw(20, random.Random(5))
    assert source.draw(20, random.Random(5)) != source.draw(20, random.Random(6))


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        ("When did {me} lose {me}'s keys?", "When did I lose my keys?"),
        ("Does {me} like tea?", "do I like tea?".capitalize().replace(" i ", " I ")),
        ("What has {me} bought?", "What have I bought?"),
        ("Where is {me} going?", "Where am I going?"),
        ("Where is {me}'s passport?", "Where is my passport?"),
    ],
)
def test_a_question_about_oneself(ask: str, expected: str) -> None:
    """Verbs agree with the new subject."""
    assert first_person(ask) == expected


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"slots": {}}, r"slots \['pet'\] have no values"),
        ({"facts": [{"says": ["x"]}]}, "asks"),
    ],
)
def test_a_malformed_card_is_named_by_its_line(
    tmp_path: Path, changes: dict[str, object], complaint: str
) -> None:
    """The file, the line and what is wrong."""
    with pytest.raises(ValueError, match=rf"some.jsonl, line 2: not a card: .*{complaint}"):
        read_cards(written(tmp_path, card(), card(**changes)))


def test_a_file_without_cards_is_an_error(tmp_path: Path) -> None:
    """Never an empty source."""
    with pytest.raises(ValueError, match="no cards here"):
        read_cards(written(tmp_path))


def test_a_card_reads_as_it_was_written(tmp_path: Path) -> None:
    """All of it, in order."""
    fact = Fact(("My {pet} is deaf.",), ("Whose {pet} is deaf, {me}'s?",), ("H.",))

    assert read_cards(written(tmp_path, card())) == [
        Card("pets", {"pet": ["cat"]}, (fact,), ("Hm?", "Ah."))
    ]
