"""Turn scores and other evidence into probabilities, and these into the status of an answer."""

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
import numpy.typing as npt
from msgspec.structs import replace

from family_recall.recall.dataflow import Kind
from family_recall.recall.ranking.evidence import CLEAR
from family_recall.types import FloatArray, Status

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

RERANKED = "_reranked"
"""Suffix of the constants fitted on answers whose first result the cross-encoder has read."""


@dataclass(frozen=True, slots=True)
class Platt:
    """``1 / (1 + e^−(slope·score + offset))``; slope 0 or more keeps the order of scores.

    Source: Platt 1999, *Probabilistic outputs for support vector machines*.
    """

    slope: float
    offset: float

    def __call__(self, score: npt.NDArray[np.floating]) -> FloatArray:
        """Return the probability (n,) of each score (n,)."""
        logit = np.clip(self.slope * score.astype(np.float64) + self.offset, -40.0, 40.0)
        return (1.0 / (1.0 + np.exp(-logit))).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a path of recall makes of scores and of the other evidence.

    Attributes:
        platt: The probability that a first result answers, by its score alone.
        first: The weight of each of `EVIDENCE`, and the ``intercept``, in the logit that the first
            result answers; those of ``score``, ``clear`` and ``lead`` are 0 or more, so that order
            is kept.
        stored: The same in the logit that anything stored answers.
    """

    platt: Platt
    first: Mapping[str, float]
    stored: Mapping[str, float]

    def certainty(self, evidence: Mapping[str, float]) -> Certainty:
        """Return how sure an answer with this evidence is."""
        stored = 1.0 / (1.0 + math.exp(-min(max(logit_of(self.stored, evidence), -40.0), 40.0)))
        return Certainty(logit_of(self.first, evidence), stored, self.first, evidence=evidence)


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


def logit_of(weights: Mapping[str, float], evidence: Mapping[str, float]) -> float:
    """Return the weighted sum of evidence, and the intercept."""
    return weights["intercept"] + sum([weights[name] * evidence[name] for name in evidence])


def status_of(confidence: float) -> Status:
    """Return the status that costs least, of an answer that is right with this probability."""
    if confidence >= OK_FROM:
        return "ok"
    return "no_match" if confidence < WEAK_FROM else "weak"


def fit_platt(
    scores: npt.NDArray[np.floating], relevant: npt.NDArray[np.bool_], *, steps: int = 100
) -> Platt:
    """Fit slope and offset by maximum likelihood on smoothed targets.

    Targets are (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2), as in Platt's paper; Newton's method with
    backtracking. If the slope would reverse the order, it is 0 and only the offset is fitted.

    Args:
        scores: Shape (n,).
        relevant: Shape (n,), whether each was right.
        steps: Newton steps at most.

    Source: Lin, Lin & Weng 2007, doi:10.1007/s10994-007-5018-6.
    """
    x = scores.astype(np.float64)
    positives, negatives = int(relevant.sum()), int((~relevant).sum())
    target = np.where(relevant, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(at: npt.NDArray[np.float64]) -> float:
        logit = at[0] * x + at[1]
        return float(np.sum(np.logaddexp(0.0, logit) - target * logit))

    at = np.array([0.0, np.log((positives + 1) / (negatives + 1))])
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-np.clip(at[0] * x + at[1], -40.0, 40.0)))
        gradient = np.array([np.sum((p - target) * x), np.sum(p - target)])
        curve = p * (1 - p)
        hessian = np.array(
            [[np.sum(curve * x * x), np.sum(curve * x)], [np.sum(curve * x), np.sum(curve)]]
        ) + 1e-9 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        scale = 1.0
        while loss(at - scale * step) > loss(at) and scale > 1e-8:
            scale /= 2
        at = at - scale * step
        if float(np.abs(scale * step).max()) < 1e-9:
            break
    if at[0] <= 0.0:
        mean = float(target.mean())
        return Platt(0.0, float(np.log(mean / (1.0 - mean))))
    return Platt(float(at[0]), float(at[1]))


@functools.cache
def calibrations() -> Mapping[tuple[str, Kind, bool], Calibration]:
    """Load the fitted constants of ``calibration.json``.

    The key is (profile name, kind, whether the cross-encoder read the first result). Profiles
    that do not weigh the cross-encoder have no reranked constants.
    """
    kinds: tuple[Kind, ...] = get_args(Kind)
    return {
        (profile, kind, reranked): Calibration(
            Platt(entry["slope"], entry["offset"]), entry["first"], entry["stored"]
        )
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
    return Certainty(math.log(p / (1.0 - p)), p)


def usually(path: DecidedBy) -> Certainty:
    """Return how often the first result is right where something else than a score decides."""
    return replace(certain(_record()["paths"][path]["right"]), decided_by=path)


@functools.cache
def _record() -> dict[str, Any]:
    text = resources.files("family_recall.recall.ranking").joinpath("calibration.json").read_text()
    record: dict[str, Any] = json.loads(text)
    return record


@dataclass(frozen=True, slots=True)
class ListModel:
    """What the scores of a list mean.

    Attributes:
        intercept: Of the logit that a candidate belongs, with …
        per_score: … what it gains by a score of 1, and …
        per_log_rank: … by each factor e of its rank.
        unseen: What belongs and is no candidate, as a share of what belongs and is one.
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


@functools.cache
def list_model(*, reranked: bool = False) -> ListModel:
    """Load the fitted constants of ``list_model.json``, for lists that were reranked or not."""
    text = resources.files("family_recall.recall.ranking").joinpath("list_model.json").read_text()
    record = json.loads(text)["models"]["reranked" if reranked else "ranked"]
    return ListModel(
        intercept=record["intercept"],
        per_score=record["per_score"],
        per_log_rank=record["per_log_rank"],
        unseen=record["unseen"],
    )
