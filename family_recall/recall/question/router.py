"""Route a question to the strategy that fits what it asks for.

The evidence of word rules and of the cosine to the prototype questions of ``prototypes.json`` is
added up. Without an encoder the rules decide alone.

* ``FACTUAL`` asks for a fact: a name, a birthday, where the key is.
* ``EPISODIC`` asks for what was said, done or arranged.
* ``MILESTONE`` asks about a life event: a birth, a wedding, a move.
* ``TIMELINE`` asks for everything of a stretch of time.
* ``HYBRID`` asks broadly, or is undecided.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from family_recall.english.routing import STRATEGIES, TIMELINE, Wording, prototype_questions
from family_recall.english.times import Timespan
from family_recall.types import FloatArray, Mode, Strategy

Encode: TypeAlias = Callable[[str], FloatArray]

MIN_CONFIDENCE = 0.4
"""Below this confidence the strategy is ``HYBRID``."""

MIN_COSINE = 0.45
"""A question without a matching rule and below this cosine to every prototype is noise."""

MAX_ENCODERS = 4
"""Encoders whose prototype vectors are cached."""

TOP_PROTOTYPES = 3
"""Best prototypes of a strategy whose cosines are averaged."""

_SHARES: tuple[tuple[Strategy, tuple[float, float, float]], ...] = (
    ("FACTUAL", (0.8, 0.1, 0.1)),
    ("EPISODIC", (0.1, 0.1, 0.8)),
    ("MILESTONE", (0.1, 0.8, 0.1)),
    ("TIMELINE", (0.0, 0.3, 0.7)),
    ("HYBRID", (0.33, 0.33, 0.34)),
)
TIER_WEIGHTS: Mapping[Strategy, Mapping[str, float]] = MappingProxyType(
    {
        strategy: MappingProxyType(dict(zip(("facts", "milestones", "episodes"), of, strict=True)))
        for strategy, of in _SHARES
    }
)
"""Share of each tier in an answer."""

_RULE_WEIGHT = 4.0
_COSINE_WEIGHT = 9.0
"""Both in nats, per unit of a rule and of a cosine."""


class Route(NamedTuple):
    """How to search for an answer.

    Attributes:
        strategy: What the question asks for.
        confidence: Probability of the strategy in [0, 1]; 0 for a question without any evidence.
            Below `MIN_CONFIDENCE` the strategy is ``HYBRID``.
        mode: ``knowledge`` for a question that quotes an identifier, ``neural`` for one about
            happenings, decisions or a summary, else ``hybrid``.
        tier_weights: Share of ``facts``, ``milestones`` and ``episodes``; they sum to 1.
    """

    strategy: Strategy
    confidence: float
    mode: Mode
    tier_weights: Mapping[str, float]


UNROUTED = Route("HYBRID", 0.0, "hybrid", TIER_WEIGHTS["HYBRID"])
"""The route of a question without any evidence."""


def route(
    question: str,
    *,
    timespan: Timespan | None,
    quotes_identifier: bool,
    encode: Encode | None,
) -> Route:
    """Route a question. Any string is valid; only the beginning of a long one is read.

    Args:
        question: The question; ``timespan`` holds offsets into it.
        timespan: The time it is about.
        quotes_identifier: Whether it quotes an identifier.
        encode: Returns the unit vector of a short text; None uses the rules alone. Must be
            hashable and stable per encoder: the prototypes' vectors are cached by it, for the
            last `MAX_ENCODERS`.
    """
    wording = Wording.of(question, None if timespan is None else timespan.matched)
    rules = wording.scores(is_a_day=_is_a_day(timespan))
    strategy: Strategy = "HYBRID"
    confidence = 0.0
    logits = _RULE_WEIGHT * np.array(rules, np.float32)
    has_evidence = any(rules)
    if encode is not None and wording.plain:
        cosines, best = _prototype_cosines(wording.neutral, encode)
        logits += _COSINE_WEIGHT * cosines
        has_evidence = has_evidence or best >= MIN_COSINE
    if has_evidence:
        if not wording.has_time:
            logits[TIMELINE] = -np.inf
        odds = np.exp(logits - logits.max())
        best_at = int(odds.argmax())
        confidence = float(odds[best_at] / odds.sum())
        if confidence >= MIN_CONFIDENCE:
            strategy = STRATEGIES[best_at]
    return Route(
        strategy=strategy,
        confidence=confidence,
        mode="knowledge" if quotes_identifier else wording.mode,
        tier_weights=TIER_WEIGHTS[strategy],
    )


def _is_a_day(timespan: Timespan | None) -> bool:
    if timespan is None or timespan.start is None or timespan.end is None:
        return False
    return (timespan.end - timespan.start).total_seconds() <= 25 * 3600


def _prototype_cosines(neutral: str, encode: Encode) -> tuple[FloatArray, float]:
    """Return each strategy's mean of its `TOP_PROTOTYPES` best cosines, and the best of all."""
    prototypes, firsts = _prototypes(encode)
    # einsum adds in a fixed order; a matrix product may not.
    cosines = np.einsum("nd,d->n", prototypes, encode(neutral))
    groups = [cosines[a:b] for a, b in itertools.pairwise(firsts)]
    nearest = [np.sort(group)[-TOP_PROTOTYPES:].mean() for group in groups]
    return np.array(nearest, np.float32), float(cosines.max())


def encode_prototypes(encode: Encode | None) -> None:
    """Encode the prototypes now (about 10 ms), so that the first question need not wait."""
    if encode is not None:
        _prototypes(encode)


@functools.lru_cache(maxsize=MAX_ENCODERS)
def _prototypes(encode: Encode) -> tuple[FloatArray, tuple[int, ...]]:
    """Encode the prototypes: shape (n, dim), and the bounds of each strategy's rows."""
    groups = prototype_questions().values()
    vectors = np.stack([encode(question) for group in groups for question in group])
    vectors.setflags(write=False)
    return vectors, (0, *itertools.accumulate(map(len, groups)))
