"""Calibration: scores in, honest probabilities and a status out."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import get_args

import numpy as np
import numpy.typing as npt

from family_recall.dataflow import Kind
from family_recall.types import FloatArray, Status

RERANKED = "_reranked"
"""Ends the name of a kind whose first results the cross-encoder has read."""


@dataclass(frozen=True, slots=True)
class Platt:
    """``1 / (1 + e^−(slope·score + offset))``; slope 0 or more keeps the order of scores.

    Source: Platt 1999, *Probabilistic outputs for support vector machines*.
    """

    slope: float
    offset: float

    def __call__(self, score: npt.NDArray[np.floating]) -> FloatArray:
        """Give the probability (n,) of each score (n,)."""
        logit = np.clip(self.slope * score.astype(np.float64) + self.offset, -40.0, 40.0)
        return (1.0 / (1.0 + np.exp(-logit))).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a profile's scores read as probabilities, and where status changes."""

    platt: Platt
    weak_below: float
    no_match_below: float

    def status(self, confidence: float) -> Status:
        """Read a first result's confidence out."""
        if confidence < self.no_match_below:
            return "no_match"
        return "weak" if confidence < self.weak_below else "ok"


def fit_platt(
    scores: npt.NDArray[np.floating], relevant: npt.NDArray[np.bool_], *, steps: int = 100
) -> Platt:
    """Fit slope and offset by maximum likelihood on smoothed targets.

    Targets are (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2), as Platt has them; Newton's method with
    a step halved until it helps. Where the slope would turn the order round it is 0, and
    the offset alone is fitted.

    Args:
        scores: Shape (n,).
        relevant: Shape (n,), whether each was right.
        steps: At most so many Newton steps.

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
    """Give the fitted constants of ``calibration.json``.

    By profile name, kind, and whether the cross-encoder read: under ``full`` and
    ``full_reranked`` in the file. Profiles that do not weigh it have only the former.
    """
    text = resources.files("family_recall.ranking").joinpath("calibration.json").read_text()
    record = json.loads(text)
    kinds: tuple[Kind, ...] = get_args(Kind)
    return {
        (profile, kind, reranked): Calibration(
            Platt(entry["slope"], entry["offset"]), entry["weak_below"], entry["no_match_below"]
        )
        for profile, entries in record["profiles"].items()
        for kind in kinds
        for reranked in (False, True)
        if (entry := entries.get(kind + RERANKED * reranked)) is not None
    }


def find_calibration(profile: str, kind: Kind, *, reranked: bool = False) -> Calibration:
    """Find a profile's constants for a ranking with some, or without, vectors.

    ``reranked`` says whether the cross-encoder read the first result; a profile that does not
    weigh what it says has the same constants either way.
    """
    fitted = calibrations()
    return fitted.get((profile, kind, reranked)) or fitted[profile, kind, False]


def certain(probability: float) -> Calibration:
    """Give every result one probability, for questions that scores do not decide.

    What a question about nothing but a time asks for is settled by when it occurred; what is
    left unsure is whether the time was read rightly.
    """
    p = min(max(probability, 1e-6), 1.0 - 1e-6)
    return Calibration(Platt(0.0, float(np.log(p / (1.0 - p)))), 0.0, 0.0)
