"""The words of a sentence are the same, cut by themselves or as tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from family_recall.english.times.timespan import may_begin, may_name_a_time
from family_recall.english.times.tokens import LateTokens, tokens_of

_WORDS = st.sampled_from(
    "yestreday tommorow Wendsday wks lunch may This twenty five Priya's o'clock 19th 7:40 "
    "Zoë – (new) children. thrusday wknd".split()
)
_TEXTS = st.lists(_WORDS | st.text(max_size=6), max_size=8).map(" ".join)


@given(_TEXTS)
def test_words_are_those_of_the_tokens(text: str) -> None:
    """Misspellings, numbers and signs included."""
    assert LateTokens(text).words() == [token.word for token in tokens_of(text)]


@given(_TEXTS)
def test_a_text_whose_tokens_may_begin_a_time_may_name_one(text: str) -> None:
    """A text passed over without being cut holds no such token."""
    assert may_name_a_time(text) or not any(map(may_begin, tokens_of(text)))
