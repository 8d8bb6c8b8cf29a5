"""What a question prepares for, and the kind of remark that bears on it without its words.

Who plans a present wants to know of a wish; who cooks, of an allergy; who takes somebody along, of
a fear. Each occasion lists the words of such questions and, in everyday words, what people say that
matters then. The remarks are compared with memories by meaning.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from family_recall.store.text.full_text import split

_ABOUT_THE_PAST = re.compile(r"^\W*(?:who|whose|when|was|were|had)\b|\bdid\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Occasion:
    """One occasion: stems of words that ask for it, and remarks that bear on it."""

    asked: frozenset[str]
    remarks: tuple[str, ...]


@functools.cache
def occasions() -> Mapping[str, Occasion]:
    """Return all occasions by name."""
    text = (
        resources.files("family_recall.recall.question")
        .joinpath("occasions.json")
        .read_text("utf-8")
    )
    return {
        name: Occasion(
            frozenset(stem for _, stem in split(record["asked"])), tuple(record["remarks"])
        )
        for name, record in json.loads(text).items()
    }


def occasions_of(question: str, terms: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the names of the occasions that a question prepares for.

    A question about the past prepares for nothing, nor does one that begins with who or when.

    >>> occasions_of("What shall I cook for Lia?", (("cook", "cook"), ("Lia", "lia")))
    ('food',)
    >>> occasions_of("Who did cook for Lia?", (("cook", "cook"), ("Lia", "lia")))
    ()
    """
    stems = {stem for _, stem in terms}
    named = tuple(name for name, each in occasions().items() if not each.asked.isdisjoint(stems))
    return () if named and _ABOUT_THE_PAST.search(question) else named
