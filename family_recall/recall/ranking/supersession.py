"""Whether a newer memory replaces an older one as the answer to one question.

Two memories are *rivals* where both answer the question and answer it differently: another code,
another day, "moved to", "no longer". Likeness alone cannot tell rivals from two facts about two
things, and age alone cannot either, so a pair is compared in :data:`FEATURES` and a logistic model
decides, at a threshold that retires next to no memory wrongly.

Source: the model is fitted by ``python -m tools.fit.supersession`` on scenarios of our own.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from family_recall.english import BITS, Question, Statement, Values

CHANGED, RENEWED, STOPPED, FOR_NOW = (
    BITS[name] for name in ("changed", "renewed", "stopped", "for_now")
)
DAY_S = 86_400.0
SPEAKS_OF_IT = 0.4
"""Share of the question's words, by rarity, from which two memories speak of just what is asked."""

FEATURES = (
    "bias", "both_cover", "newer_near", "shared_words", "cosine", "value_differs", "says_change",
    "stopped_state", "for_now", "gap", "newer_long", "asks_event", "asks_all",
)  # fmt: skip
"""What a pair is compared in, in the order of the model's weights."""

LIKELY = 0.7
"""Probability from which the newer is placed above the older; to say that it replaces it takes the
model's ``threshold``. Where nothing changed, the one costs the right answer its first place."""

_A_YEAR = 1.0  # in ``gap``
_GAP = FEATURES.index("gap")
_SAYS_CHANGE, _DIFFERS = FEATURES.index("says_change"), FEATURES.index("value_differs")


@dataclass(frozen=True, slots=True)
class Stated:
    """What the test reads of one memory.

    Attributes:
        statement: Its text, read.
        author: Who wrote it.
        said_s: When, in epoch seconds.
        cues: The bits of its cues.
        stems: The numbers of its content stems that the question lacks.
        covered: The numbers of the question's stems that it holds.
        near: Its closeness to the question in meaning, in [0, 1].
        values: Its values of the kinds asked for.
    """

    statement: Statement
    author: str | None
    said_s: float
    cues: int
    stems: frozenset[int]
    covered: frozenset[int]
    near: float
    values: Values


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of :data:`FEATURES`, and the probability from which the older surely is replaced."""

    weights: tuple[float, ...]
    threshold: float

    def probability(self, features: Sequence[float]) -> float:
        """Return how probably the newer of a pair with these features replaces the older."""
        logit = sum([w * x for w, x in zip(self.weights, features, strict=True)])
        return 1.0 / (1.0 + math.exp(-min(max(logit, -40.0), 40.0)))


@functools.cache
def model() -> Model:
    """Load the fitted model."""
    text = resources.files("family_recall.recall.ranking").joinpath("supersession.json").read_text()
    record = json.loads(text)
    return Model(tuple(record["weights"][name] for name in FEATURES), record["threshold"])


def pair_features(
    question: Question, rarity: Mapping[int, float], older: Stated, newer: Stated, cosine: float
) -> tuple[float, ...]:
    """Compare two memories that a question found: :data:`FEATURES`, each in [0, 1] or near it.

    Args:
        question: What is asked.
        rarity: Of each of its stems, by number.
        older: What was said first.
        newer: What was said later.
        cosine: Of their vectors.
    """
    both = sum([rarity[stem] for stem in newer.covered & older.covered])
    both_cover = both / (sum(rarity.values()) or 1.0)
    fewer = min(len(older.stems), len(newer.stems))
    differs = values_differ(older.values, newer.values)
    gap_days = max(newer.said_s - older.said_s, 0.0) / DAY_S
    gap = min(math.log1p(gap_days) / math.log(366.0), 1.2)
    # "I" is somebody else where somebody else says it.
    if differs and (older.author == newer.author or not newer.statement.speaks_of_self):
        if is_repeated(older, newer):
            cosine, gap = 1.0, _A_YEAR  # but for the value they are one sentence, however soon
        elif newer.cues & CHANGED and both_cover >= SPEAKS_OF_IT:
            gap = _A_YEAR
    return (
        1.0,
        both_cover,
        newer.near,
        len(older.stems & newer.stems) / fewer if fewer else 0.0,
        cosine,
        float(differs),
        float(newer.cues & (CHANGED | RENEWED | STOPPED) != 0),
        both_cover if newer.cues & STOPPED and question.asks_state else 0.0,
        float(newer.cues & FOR_NOW != 0),
        gap,
        min(len(newer.statement.text) / 300.0, 2.0),
        float(question.asks_event),
        float(question.asks_all),
    )


def may_replace(features: Sequence[float]) -> bool:
    """Return whether anything speaks for a change: another value, or a word for it."""
    return bool(features[_DIFFERS] or features[_SAYS_CHANGE])


def probability(features: Sequence[float], *, has_changed: bool = False) -> float:
    """Return how probably the newer of a pair with these features replaces the older.

    ``has_changed``: whether the question says that something did; then it says nothing against
    that if little time lies between the two, as between a code and the next one on the same day.
    """
    if has_changed:
        features = (*features[:_GAP], _A_YEAR, *features[_GAP + 1 :])
    return model().probability(features)


def reason(newer: Stated, features: Sequence[float]) -> str:
    """Return in words what speaks for a change."""
    if newer.cues & CHANGED:
        return "says that it changed"
    if newer.cues & STOPPED:
        return "says that it ended"
    return "states another value" if features[_DIFFERS] else "says how it is now"


def values_differ(before: Values, after: Values) -> bool:
    """Return whether two texts have values of one kind and do not agree in them.

    They agree where a kind has a value in common, or two names of places share a word; in names
    where the newer has no other, and in numbers where one of the two texts has no other.
    """
    for kind in before.keys() & after.keys():
        if kind == "place":
            differ = _words(before[kind]).isdisjoint(_words(after[kind]))
        elif kind == "name":
            differ = bool(after[kind] - before[kind])
        elif kind == "number":
            differ = not (after[kind] <= before[kind] or before[kind] <= after[kind])
        else:
            differ = before[kind].isdisjoint(after[kind])
        if differ:
            return True
    return False


def is_repeated(older: Stated, newer: Stated) -> bool:
    """Return whether two memories say the same of what is asked, but for their values.

    *The code is 4711*, and then *the code is 8302 from today*.
    """
    return older.covered <= newer.covered and all(
        one.statement.repeats(other.statement, one.values)
        for one, other in ((newer, older), (older, newer))
    )


def _words(values: Iterable[str]) -> set[str]:
    return {word for value in values for word in value.split()}
