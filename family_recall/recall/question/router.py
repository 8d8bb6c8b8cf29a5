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
import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from family_recall.english.router_rules import (
    APOSTROPHE,
    EPISODIC,
    GENERAL_WORDS,
    HAPPENINGS,
    KEYWORD_BEGINNINGS,
    KEYWORD_OF,
    KEYWORDS,
    NAME,
    OPENING_PHRASE,
    OWNERSHIP,
    RECENT_TIME,
    ROUTING_RULES,
    SHORT_FORMS,
    SPEECH,
    STRATEGIES,
    TIMELINE,
    less_a_letter,
)
from family_recall.english.text import runs_in
from family_recall.english.times import Timespan
from family_recall.recall.question.identifiers import Identifier
from family_recall.types import FloatArray, Mode, Strategy

Encode: TypeAlias = Callable[[str], FloatArray]

MAX_ROUTED_CHARS = 300
"""Characters of a question that are routed; the rest is ignored."""

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
    identifiers: Sequence[Identifier],
    encode: Encode | None,
) -> Route:
    """Route a question. Any string is valid; only the beginning of a long one is read.

    Args:
        question: The question; ``timespan`` holds offsets into it.
        timespan: The time it is about.
        identifiers: The identifiers it quotes.
        encode: Returns the unit vector of a short text; None uses the rules alone. Must be
            hashable and stable per encoder: the prototypes' vectors are cached by it, for the
            last `MAX_ENCODERS`.
    """
    forms = _forms(question[:MAX_ROUTED_CHARS], timespan)
    rules = _rule_scores(forms, timespan)
    strategy: Strategy = "HYBRID"
    confidence = 0.0
    logits = _RULE_WEIGHT * np.array(rules, np.float32)
    has_evidence = any(rules)
    if encode is not None and forms.plain:
        cosines, best = _prototype_cosines(_neutral(forms.written), encode)
        logits += _COSINE_WEIGHT * cosines
        has_evidence = has_evidence or best >= MIN_COSINE
    if has_evidence:
        if not forms.has_time:
            logits[TIMELINE] = -np.inf
        odds = np.exp(logits - logits.max())
        best_at = int(odds.argmax())
        confidence = float(odds[best_at] / odds.sum())
        if confidence >= MIN_CONFIDENCE:
            strategy = STRATEGIES[best_at]
    return Route(
        strategy=strategy,
        confidence=confidence,
        mode=_mode(forms.plain, identifiers),
        tier_weights=TIER_WEIGHTS[strategy],
    )


class _Forms(NamedTuple):
    """A question in the forms that rules and prototypes are compared with.

    ``written`` is the question, where a time expression reads *that day*. ``plain`` and
    ``timeless`` are the question and that in lower case, without opening phrase and punctuation,
    a space before each word.
    """

    written: str
    plain: str
    timeless: str
    has_time: bool


def _forms(question: str, timespan: Timespan | None) -> _Forms:
    written = question
    for start, end in sorted(timespan.matched if timespan else (), reverse=True):
        if start < len(question):
            written = f"{written[:start]} that day {written[end:]}"
    plain = _plain(question)
    return _Forms(
        written=written,
        plain=plain,
        timeless=plain if written == question else _plain(written),
        has_time=timespan is not None or RECENT_TIME.search(plain) is not None,
    )


def _plain(question: str) -> str:
    lower = APOSTROPHE.sub("", _composed(question).casefold())
    plain = _without_opening(" ".join(map(_corrected, runs_in(lower))))
    return plain and f" {plain}"


def _neutral(written: str) -> str:
    """Return a text for the encoder: as it is worded, but with a name in place of others."""
    neutral = NAME.sub("Anna", _composed(written).replace("’", "'"))
    return _without_opening(" ".join(neutral.split()))


def _without_opening(text: str) -> str:
    opening = OPENING_PHRASE.match(text)
    return text if opening is None else text[opening.end() :]


def _composed(question: str) -> str:
    # One character can become eighteen, so the text is cut again.
    return unicodedata.normalize("NFKC", question)[:MAX_ROUTED_CHARS]


def _corrected(word: str) -> str:
    """Expand a short form, and correct one wrong letter of a keyword."""
    if not 6 <= len(word) <= 12 or word in KEYWORDS:
        return SHORT_FORMS.get(word, word)
    # Without any one letter it would begin otherwise than all keywords: so do most words.
    if KEYWORD_BEGINNINGS.isdisjoint((word[0] + word[:2], word[:3], word[0] * 2 + word[2])):
        return word
    near = (KEYWORD_OF.get(form) for form in (word, *less_a_letter(word)))
    return next((keyword for keyword in near if keyword and keyword[0] == word[0]), word)


def _rule_scores(forms: _Forms, timespan: Timespan | None) -> list[float]:
    """Return how strongly the words suggest each strategy, in [0, 1]."""
    scores = [0.0] * len(STRATEGIES)
    for strategy, weight, is_met in ROUTING_RULES:
        if weight > scores[strategy] and is_met(forms.timeless):
            scores[strategy] = weight
    if forms.has_time:
        rest = forms.timeless.replace("that day", " ").split()
        if GENERAL_WORDS.issuperset(rest) and not SPEECH.search(forms.timeless):
            scores = [0.0] * len(STRATEGIES)
            scores[EPISODIC if not rest and _is_a_day(timespan) else TIMELINE] = 1.0
    return scores


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


@functools.cache
def prototype_questions() -> Mapping[Strategy, tuple[str, ...]]:
    """Load ``prototypes.json``; a time reads *that day*, a name *Anna*."""
    file = resources.files("family_recall.recall.question").joinpath("prototypes.json")
    record = json.loads(file.read_text(encoding="utf-8"))
    return {strategy: tuple(record[strategy]) for strategy in STRATEGIES}


def _mode(plain: str, identifiers: Sequence[Identifier]) -> Mode:
    if identifiers:
        return "knowledge"
    if OWNERSHIP.search(plain):
        return "hybrid"
    return "neural" if HAPPENINGS.search(plain) else "hybrid"
