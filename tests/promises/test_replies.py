"""Promise: a stored question is no answer, and a reply stands before what it replies to."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.english import Statement
from tests.conftest import TinyEncoder, move_in, open_home, recall, remember

_THINGS = ("kite", "oboe", "ladder")
_ASKED = ("where is the {}", "whens the {} lesson?", "who has the {}", "what did the {} cost?")
_SAID = ("the {} is in the shed", "tuesday i think", "no, thursday", "dunno", "ninety", "me",
         "I booked the {} lesson")  # fmt: skip
_turns = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(_ASKED + _SAID), st.sampled_from(_THINGS)),
    max_size=8,
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(_turns, st.sampled_from(_ASKED[:2]), st.sampled_from(_THINGS), st.booleans())
def test_a_stored_question_is_no_answer(
    turns: list[tuple[str, str, str]], question: str, thing: str, with_vectors: bool
) -> None:
    """Whatever was said, a mere question comes first only where nothing else is, and is never ok.

    Scores stay the sums of their reasons, in order; each reply stands above its question.
    """
    encoder = TinyEncoder() if with_vectors else None
    with (
        tempfile.TemporaryDirectory() as folder,
        open_home(Path(folder) / "family.db", encoder=encoder) as home,
    ):
        move_in(home)
        for at, (author, text, named) in enumerate(turns):
            remember(home, text.format(named), author=author, session_id="s", doc_id=f"t{at}",
                     occurred_at=f"2025-05-01T10:{at:02}")  # fmt: skip
        answer = recall(home, question.format(thing), "mia", top_k=20)

    by_score = sorted(answer.results, key=lambda result: result.rank_by_score or result.rank)
    scores = [result.score for result in by_score]
    assert scores == sorted(scores, reverse=True)
    places = {result.doc_id: result.rank for result in answer.results}
    for result in answer.results:
        assert result.score == pytest.approx(sum(part.amount for part in result.contributions))
        if result.reply_to is not None and "inherited" in result.features:
            assert result.rank < places[result.reply_to.doc_id]
    only_ask = ["only_asks" in Statement(result.text).cues for result in answer.results]
    if only_ask and only_ask[0]:
        assert answer.status != "ok"
        assert all(only_ask)
