"""Words of like meaning as those of a question: *faucet* for *tap*, *vaccination* for *jab*.

They add to a score a little, and are no words of the question: nothing is called an answer for
them alone. The table is made by `tools/fit/related_words.py` from a list written by hand.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from importlib import resources

MOST_WORDS = 32
"""Words of like meaning that are looked up, so that a question of any length costs the same."""


@functools.cache
def table() -> Mapping[str, tuple[str, ...]]:
    """Return the stems of like meaning by stem."""
    file = resources.files("family_recall.english").joinpath("related_words.json")
    record: dict[str, str] = json.loads(file.read_text("utf-8"))
    return {stem: tuple(others.split()) for stem, others in record.items()}


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
