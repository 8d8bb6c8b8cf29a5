"""The words of long memories by passage: counted where the index would, and outside of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import Memory
from family_recall.store.passages import MOST_PASSAGES, count_in_passages, passages
from family_recall.store.words import split
from tests.conftest import HOME, TinyEncoder, found, move_in, open_home, recall

FILLER = "We swept the yard and had rolls before the others came. "


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(["otters swim. ", "An otter! ", "café Zoë ", "梨 ", FILLER]), max_size=300
    ).map("".join)
)
def test_words_outside_a_passage_are_those_of_the_text_without_it(text: str) -> None:
    """Each count is that of the text less the passage, for every stem and all words."""
    stems = ["otter", "cafe", "swim", "nothing"]
    counted = count_in_passages([(7, text)], stems)
    spans = passages(text)

    assert counted.memories.tolist() == [7] * len(spans)
    whole = [stem for _, stem in split(text)]
    for (start, end), n_words, counts in zip(spans, counted.n_words, counted.counts, strict=True):
        inside = [stem for _, stem in split(text[start:end])]
        assert n_words == len(whole) - len(inside)
        assert counts.tolist() == [whole.count(stem) - inside.count(stem) for stem in stems]


def test_a_text_without_end_is_not_counted() -> None:
    """Neither is a short one: both have the words they have as a whole."""
    endless = FILLER * 12 * MOST_PASSAGES
    counted = count_in_passages([(1, FILLER), (2, endless)], ["yard"])

    assert len(passages(endless)) == MOST_PASSAGES
    assert (len(counted.memories), counted.counts.shape) == (0, (0, 1))


def test_a_word_in_a_long_memory_counts_as_in_a_passage_of_it(path: Path) -> None:
    """By hand: f = 1 and |d| that of the passage, not of all 600 words; and no more than that."""
    fact = "The plumber left his ladder there. "
    long = FILLER * 35 + fact + FILLER * 20
    with open_home(path, encoder=TinyEncoder()) as home:
        move_in(home)
        home.remember(Memory(long, HOME, doc_id="long"))
        for number in range(9):
            home.remember(Memory(f"A note about nothing much, number {number}", HOME))
        answer = recall(home, "plumber", "mia", profile="family_os")

    n_words = len(long.split())
    average = (n_words + 9 * 7) / 10
    holding = [span for span in passages(long) if "plumber" in long[span[0] : span[1]]]
    shortest = min(len(long[start:end].split()) for start, end in holding)
    length = 1.2 * (1 - 0.75 + 0.75 * shortest / average)
    assert found(answer)[0] == "long"
    # Divided by what is attainable, idf and k1 + 1 are gone: f / (f + length).
    assert answer.results[0].features["bm25"] == pytest.approx(1 / (1 + length), abs=1e-4)
    assert 1 / (1 + length) > 2 * 1 / (1 + 1.2 * (0.25 + 0.75 * n_words / average))
