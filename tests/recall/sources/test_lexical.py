"""The words a question is looked up by: bounded, whatever it says and however much is stored."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from family_recall.config import RecallConfig
from family_recall.recall.sources.search import chosen_words
from family_recall.store.word_search import WordStatistics


def asked(frequency: list[int], n_memories: int) -> Any:
    """Ask for words w0, w1 … that so many memories hold."""
    words = tuple((f"w{at}", f"w{at}") for at in range(len(frequency)))
    statistics = WordStatistics(n_memories, 20 * n_memories, np.array(frequency, np.int64))
    plan = SimpleNamespace(terms=words, statistics=statistics)
    return SimpleNamespace(config=RecallConfig(), plan=plan)


@given(st.lists(st.integers(0, 1_000_000), max_size=200))
def test_what_is_read_is_bounded_whatever_is_asked(frequency: list[int]) -> None:
    """Of a million memories at most 200,000 are read for holding a word, or one word's."""
    rare, common = chosen_words(asked(frequency, 1_000_000))
    read = sum(frequency[int(word[1:])] for word in (*rare, *common))

    occurring = [n for n in frequency if n]
    assert read <= max(200_000, min(occurring, default=0))
    assert bool(rare) == bool(occurring)
    assert len(rare) + len(common) <= 48


def test_the_rarest_are_kept() -> None:
    """Left out is what most memories hold; 1 % of a million is common, and finds nothing alone."""
    rare, common = chosen_words(asked([180_000, 5, 9_000, 15_000, 400], 1_000_000))

    assert (rare, common) == (["w1", "w2", "w4"], ["w3"])


def test_an_everyday_question_keeps_all_its_words() -> None:
    """Of a hundred thousand memories, four words and a name half of them hold."""
    rare, common = chosen_words(asked([50_000, 300, 800, 950, 12], 100_000))

    assert (rare, common) == (["w1", "w2", "w3", "w4"], ["w0"])
