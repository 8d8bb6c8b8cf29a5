"""Calibrate scores into probabilities, and decide the status of an answer."""

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
    """A profile's map from scores to probabilities, and the thresholds of the status."""

    platt: Platt
    weak_below: float
    no_match_below: float

    def status(self, confidence: float) -> Status:
        """Return the status of an answer whose first result has this confidence."""
        if confidence < self.no_match_below:
            return "no_match"
        return "weak" if confidence < self.weak_below else "ok"


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
    """Return a profile's constants for a ranking by vectors of this kind.

    ``reranked``: whether the cross-encoder read the first result. A profile without reranked
    constants uses the same ones either way.
    """
    fitted = calibrations()
    return fitted.get((profile, kind, reranked)) or fitted[profile, kind, False]


def certain(probability: float) -> Calibration:
    """Return a calibration that gives every result the same probability.

    For questions that scores do not decide: if a question asks about a time alone, the only
    doubt is whether its time expression was understood.
    """
    p = min(max(probability, 1e-6), 1.0 - 1e-6)
    return Calibration(Platt(0.0, float(np.log(p / (1.0 - p)))), 0.0, 0.0)
