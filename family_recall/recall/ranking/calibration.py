"""How sure an answer is: what is known of it, as probabilities, and these as its status.

A score alone does not tell: a question about what was never stored is asked in the words of what
was, and its best memory scores like an answer.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, get_args

import msgspec
import numpy as np
from msgspec.structs import replace

from family_recall.english import BITS
from family_recall.recall.dataflow import Kind, Pool, QueryContext, Ranking
from family_recall.recall.ranking.bm25 import covers, question_weights
from family_recall.recall.ranking.features import INDEX
from family_recall.types import FloatArray, Status

EVIDENCE: Mapping[str, str] = {
    "score": "of the first result",
    "clear": "the same, where it is below 0.5: above, more of it tells little more",
    "lead": "of its score over the next, but for what it replaces or is replaced by; all of it "
    "where there is none",
    "words": "the share of the question's words that it holds, by how rare they are",
    "words_of_few": "the share that the first five hold together",
    "closeness": "how close its tokens come to the question's",
    "farthest": "how close they come to the one of the question's rarest that is farthest",
    "said": "1 where it says something of all that the question names",
    "words_first": "1 where the search for words has it first",
    "meaning_first": "1 where the search for meaning has it first",
    "reading": "how surely it answers, as the cross-encoder read it",
    "best_reading": "the same of the best that was read",
    "outdated": "how probably it is not how it is now, by what was said later",
    "asks": "1 where it only asks",
    "list": "1 where all of a kind is asked for",
}
"""What is known of an answer, each with its meaning; all but ``score``, ``clear`` and ``lead`` in
[0, 1]."""

CLEAR = 0.5
"""The score above which an answer is hardly surer."""

_FEW = 5
_RARE = 0.6
"""Share of the rarest token's weight from which a token counts as rare."""
_READ = INDEX["cross_encoder"]
_ROUNDING = 1e-6

DecidedBy = Literal["time", "identifier", "focus", "about"]
"""What decides an answer where scores do not: that it was said in the time asked for, holds the
identifier quoted, is near what is being talked about, or is about whom is asked about."""

TOLD_WRONG, NOT_TOLD = 3.0, 1.0
"""What it costs to tell as certain what is wrong, and to say only "I think" of what is right."""
DENIED, GUESSED = 3.0, 1.0
"""What it costs to say that nothing is stored where the first result is right, and to say
"I think" of one that is wrong."""

OK_FROM = TOLD_WRONG / (TOLD_WRONG + NOT_TOLD)
"""The confidence from which telling an answer costs less than doubting it: 0.75."""
DOUBTED = OK_FROM - 0.01
"""The highest confidence of an answer that says nothing of something the question names."""
WEAK_FROM = GUESSED / (GUESSED + DENIED)
"""The confidence below which denying an answer costs less than guessing: 0.25."""
LIKELY_FROM = 0.28
"""The confidence from which what may be outdated is doubted, and not denied for that."""
ANOTHERS = np.float32(WEAK_FROM - 0.05)
"""The highest confidence of what tells of somebody else than is asked about."""

RERANKED = "_reranked"
"""Suffix of the constants fitted on answers whose first result the cross-encoder has read."""


def evidence(
    context: QueryContext, pool: Pool, ranking: Ranking, *, says_all: bool
) -> dict[str, float]:
    """Return the value of each of :data:`EVIDENCE`, for a ranking that is not empty.

    ``says_all``: whether the first candidate says something of all that the question names.
    """
    order = ranking.order
    first = int(order[0])
    rivals = _rivals_of(ranking, first)
    score = float(ranking.score[first])
    others = [row for row in order[: len(rivals) + 1].tolist() if row not in rivals]
    few = order[:_FEW]
    weights = question_weights(context)
    rarity = np.array(list(weights.values()), np.float32)
    total = max(float(rarity.sum()), 1e-9)
    held = covers(ranking.rows, weights, few)
    closeness, farthest = _closeness(context, ranking, first)
    read = ranking.features[order, _READ]
    memory = int(ranking.rows.ids[first])
    return {
        "score": score,
        "clear": min(score, CLEAR),
        "lead": score - (float(ranking.score[others[0]]) if others else 0.0),
        "words": float(rarity[held[0]].sum()) / total,
        "words_of_few": float(rarity[held.any(axis=0)].sum()) / total,
        "closeness": closeness,
        "farthest": farthest,
        "said": float(says_all),
        "words_first": _is_first(pool, "lexical", memory),
        "meaning_first": _is_first(pool, "vector", memory),
        "reading": float(read[0]),
        "best_reading": float(read.max()),
        "outdated": ranking.outdated,
        "asks": float((ranking.rows.cues[first] & BITS["only_asks"]) != 0),
        "list": float(context.asks_for_list),
    }


def _rivals_of(ranking: Ranking, row: int) -> set[int]:
    """Return a row and those that state the same: what it replaces or is replaced by, by steps."""
    pairs = [(older, newer.row) for older, newer in ranking.superseded_by.items()]
    rivals, n = {row}, 0
    while n < len(rivals):
        n = len(rivals)
        rivals = rivals.union(*(pair for pair in pairs if not rivals.isdisjoint(pair)))
    return rivals


def _closeness(context: QueryContext, ranking: Ranking, row: int) -> tuple[float, float]:
    """Return how close a row's tokens come to the question's, and to the farthest rare one."""
    weights = context.question_weights
    if ranking.closest is None or weights is None or not (most := weights.max(initial=0.0)):
        return 0.0, 0.0
    closest: FloatArray = ranking.closest[row]
    if np.isnan(closest[0]):  # as all of them, where it has no tokens
        return 0.0, 0.0
    rare = weights >= _RARE * most
    return float(closest.dot(weights) / weights.sum()), float(closest[rare].min())


def _is_first(pool: Pool, source: str, memory: int) -> float:
    run = pool.runs.get(source)
    return float(run is not None and len(run) > 0 and int(run.ids[0]) == memory)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a path of recall makes of the evidence.

    ``first`` has the weight of each of `EVIDENCE`, and the ``intercept``, in the logit that the
    first result answers; those of ``score``, ``clear`` and ``lead`` are 0 or more, so that order is
    kept. ``stored`` has the same in the logit that anything stored answers.
    """

    first: Mapping[str, float]
    stored: Mapping[str, float]

    def certainty(self, evidence: Mapping[str, float]) -> Certainty:
        """Return how sure an answer with this evidence is."""
        first, stored = (
            weights["intercept"] + sum([weights[name] * evidence[name] for name in evidence])
            for weights in (self.first, self.stored)
        )
        if first - self.first["outdated"] * evidence["outdated"] >= _logit(LIKELY_FROM):
            first = max(first, _logit(WEAK_FROM) + _ROUNDING)
        answerable = 1.0 / (1.0 + math.exp(-min(max(stored, -40.0), 40.0)))
        return Certainty(first, answerable, self.first, evidence=evidence)


class Certainty(msgspec.Struct, frozen=True):
    """How sure one answer is.

    Attributes:
        logit: That the first result answers.
        answerable: The probability that anything stored answers.
        weights: What a result has less of than the first, by how much it lowers the logit; empty
            where no score decides, and all results are as sure as each other.
        decided_by: Whether it is by the score, or what else decided.
        evidence: What it is by, where the score decides.
    """

    logit: float
    answerable: float
    weights: Mapping[str, float] = msgspec.field(default_factory=dict)
    decided_by: Literal["score"] | DecidedBy = "score"
    evidence: Mapping[str, float] = msgspec.field(default_factory=dict)

    def confidences(self, score: FloatArray) -> FloatArray:
        """Return the probability that each result answers, by its score (n,), in any order.

        The first has the answer's logit. Each other one lacks the score that it is behind, and
        leads nothing: what the first is ahead speaks against all others.
        """
        if not self.weights:
            logit = np.full(len(score), self.logit)
        else:
            best, lead = self.evidence["score"], self.evidence["lead"]
            behind = np.minimum(score.astype(np.float64) - best, 0.0)
            unclear = np.minimum(score, CLEAR) - min(best, CLEAR)
            less = self.weights["score"] * behind + self.weights["clear"] * unclear
            led = (behind < 0.0) * (behind - lead)
            logit = self.logit + less + self.weights["lead"] * led
        probability: FloatArray = 1.0 / (1.0 + np.exp(-logit.clip(-40.0, 40.0)))
        return probability.astype(np.float32)


def status_of(confidence: float) -> Status:
    """Return the status that costs least, of an answer that is right with this probability."""
    if confidence >= OK_FROM:
        return "ok"
    return "no_match" if confidence < WEAK_FROM else "weak"


@functools.cache
def calibrations() -> Mapping[tuple[str, Kind, bool], Calibration]:
    """Load the fitted constants of ``calibration.json``.

    The key is (profile name, kind, whether the cross-encoder read the first result). Profiles
    that do not weigh the cross-encoder have no reranked constants.
    """
    kinds: tuple[Kind, ...] = get_args(Kind)
    return {
        (profile, kind, reranked): Calibration(entry["first"], entry["stored"])
        for profile, entries in _record()["profiles"].items()
        for kind in kinds
        for reranked in (False, True)
        if (entry := entries.get(kind + RERANKED * reranked)) is not None
    }


def find_calibration(profile: str, kind: Kind, *, reranked: bool = False) -> Calibration:
    """Return a profile's constants for a ranking by vectors of this kind.

    ``reranked``: whether the cross-encoder read the first result. A profile without reranked
    constants uses the same ones either way.
    """
    fitted = calibrations()
    return fitted.get((profile, kind, reranked)) or fitted[profile, kind, False]


def certain(probability: float) -> Certainty:
    """Return the same probability for every result: where scores do not decide."""
    p = min(max(probability, 1e-6), 1.0 - 1e-6)
    return Certainty(_logit(p), p)


def _logit(probability: float) -> float:
    return math.log(probability / (1.0 - probability))


def usually(path: DecidedBy) -> Certainty:
    """Return how often the first result is right where something else than a score decides."""
    return replace(certain(_record()["paths"][path]["right"]), decided_by=path)


@functools.cache
def _record(name: str = "calibration") -> dict[str, Any]:
    text = resources.files("family_recall.recall.ranking").joinpath(f"{name}.json").read_text()
    record: dict[str, Any] = json.loads(text)
    return record


@dataclass(frozen=True, slots=True)
class ListModel:
    """What the scores of a list mean: the logit that a candidate belongs to it.

    ``per_log_rank`` is what it gains by each factor e of its rank; ``unseen`` what belongs and is
    no candidate, as a share of what belongs and is one.
    """

    intercept: float
    per_score: float
    per_log_rank: float
    unseen: float


def completeness(score: FloatArray, n_shown: int, model: ListModel) -> float:
    """Estimate the share of a list that its first results hold.

    Args:
        score: Shape (n,), of all candidates, best first.
        n_shown: How many of them are results.
        model: What the scores mean.

    Returns:
        In [0, 1], below 1 as long as something is never found; 0 where nothing is shown.

    Two of four candidates as likely as each other, where nothing is ever missed:

    >>> even = ListModel(0.0, 0.0, 0.0, unseen=0.0)
    >>> completeness(np.zeros(4, np.float32), 2, even)
    0.5
    """
    if not n_shown or not len(score):
        return 0.0
    log_rank = np.log(np.arange(1, len(score) + 1))
    logit = model.intercept + model.per_score * score + model.per_log_rank * log_rank
    belongs = 1.0 / (1.0 + np.exp(-np.clip(logit, -40.0, 40.0)))
    return float(belongs[:n_shown].sum() / (belongs.sum() * (1.0 + model.unseen)))


def list_model(*, reranked: bool = False) -> ListModel:
    """Load the fitted constants of ``list_model.json``, for lists that were reranked or not."""
    record = _record("list_model")["models"]["reranked" if reranked else "ranked"]
    return ListModel(**{name: record[name] for name in ListModel.__slots__})
