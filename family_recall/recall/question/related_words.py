"""Words of like meaning as those of a question: *faucet* for *tap*, *vaccination* for *jab*.

They add to a score a little, and are no words of the question: nothing is called an answer for
them alone. The table is made by `tools/fit/related_words.py` from a list written by hand.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from importlib import resources

from family_recall.recall.dataflow import RelatedWord
from family_recall.store.word_search import WordStatistics

MOST_WORDS = 32
"""Words of like meaning that are looked up, so that a question of any length costs the same."""


@functools.cache
def table() -> Mapping[str, tuple[str, ...]]:
    """Return the stems of like meaning by stem."""
    text = (
        resources.files("family_recall.english").joinpath("related_words.json").read_text("utf-8")
    )
    return {stem: tuple(others.split()) for stem, others in json.loads(text).items()}


def of_terms(terms: Sequence[tuple[str, str]]) -> list[tuple[int, str]]:
    """Return (number of the term, stem) of words of like meaning, but for the question's own.

    >>> of_terms((("jab", "jab"), ("priya", "priya")))[:1]
    [(0, 'vaccin')]
    """
    known = table()
    own = {stem for _, stem in terms}
    pairs = [
        (number, other)
        for number, (_, stem) in enumerate(terms)
        for other in known.get(stem, ())
        if other not in own
    ]
    return pairs[:MOST_WORDS]


def separate(
    counted: WordStatistics, n_terms: int, related: Sequence[tuple[int, str]]
) -> tuple[WordStatistics, tuple[RelatedWord, ...]]:
    """Separate the counts of a question's own terms from those of words of like meaning.

    Args:
        counted: Of the terms, and then of ``related``; of the terms alone where that failed.
        n_terms: How many terms the question has.
        related: What :func:`of_terms` returned.

    Returns:
        The statistics of the terms, and the words of like meaning that occur in scope.
    """
    frequency = counted.document_frequency
    if len(frequency) == n_terms:
        return counted, ()
    words = zip(related, frequency[n_terms:].tolist(), strict=True)
    return (
        WordStatistics(counted.n_memories, counted.n_words, frequency[:n_terms]),
        tuple(RelatedWord(term, stem, n) for (term, stem), n in words if n > 0),
    )
