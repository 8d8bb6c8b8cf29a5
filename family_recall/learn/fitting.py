"""Fit bounded ratios of the shipped weights to feedback, and measure whether they rank better.

Deterministic: no clock, no randomness.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from family_recall.learn.samples import Doubles, Pairs
from family_recall.recall.ranking.profiles import (
    LARGEST_DISTANCE,
    LARGEST_RATIO,
    SMALLEST_RATIO,
)
from family_recall.types.records import Record

SHARPNESS = 10.0
"""A lead of 0.1 in score means odds of e to 1 that the leader is preferred."""

PULL = 8.0
"""Strength of the shipped weights, in units of feedback: doubling one weight costs half of it."""

SPLITS = 5
"""Folds of the cross-validation, by question."""

MIN_QUESTIONS = 10
"""Questions with feedback before a first step: two per fold."""

_STEPS = 30
_KEEP_SCALE = 1e4


def fit_ratios(pairs: Pairs) -> Doubles:
    """Fit the ratio for each shipped weight: shape (f,), 1 where nothing was learned.

    Minimises ``Σ ω·log(1 + e^(−10·d·r)) + PULL/2·Σ(r − 1)²`` over the ratios r by Newton's method,
    d being a pair's difference in weighted features, so that ``d·r`` is its difference in score.
    The mean score of first results is held constant, since confidence depends on it. Ratios are
    then clipped to their bounds and scaled to the distance allowed.

    Source: Burges et al., *Learning to rank using gradient descent* (RankNet), ICML 2005,
    doi:10.1145/1102351.1102363.
    """
    n = len(pairs.means)
    differences = pairs.differences * SHARPNESS
    held = pairs.means / max(float(np.linalg.norm(pairs.means)), 1e-12)
    base = PULL * np.eye(n) + _KEEP_SCALE * np.outer(held, held)

    moved = np.zeros(n)
    for _ in range(_STEPS):
        wrong = 1.0 / (1.0 + np.exp(np.clip(differences @ (1.0 + moved), -40.0, 40.0)))
        gradient = base @ moved - differences.T @ (pairs.weights * wrong)
        curve = pairs.weights * wrong * (1.0 - wrong)
        hessian = base + differences.T @ (differences * curve[:, None])
        change = np.linalg.solve(hessian, gradient)
        # Steps of length 1 at most.
        moved = moved - change / max(1.0, float(np.linalg.norm(change)))
        if float(np.abs(change).max(initial=0.0)) < 1e-10:
            break
    return bounded(moved)


def bounded(moved: Doubles) -> Doubles:
    """Return ratios within bounds and distance, given their differences from 1."""
    inside = np.clip(np.nan_to_num(moved), SMALLEST_RATIO - 1.0, LARGEST_RATIO - 1.0)
    distance = float(np.linalg.norm(inside))
    ratios: Doubles = 1.0 + inside * min(1.0, LARGEST_DISTANCE / max(distance, 1e-12))
    return ratios


def pairwise_loss(pairs: Pairs, ratios: Doubles) -> float:
    """Return the mean logistic loss of the pairs; 0.0 for none."""
    if not len(pairs):
        return 0.0
    losses = np.logaddexp(0.0, -SHARPNESS * (pairs.differences @ ratios))
    return float(pairs.weights @ losses / pairs.weights.sum())


def pairwise_accuracy(pairs: Pairs, ratios: Doubles) -> float:
    """Return the weighted share of pairs in the preferred order; ties count half; 1.0 for none."""
    if not len(pairs):
        return 1.0
    right = (np.sign(pairs.differences @ ratios) + 1.0) / 2.0
    return float(pairs.weights @ right / pairs.weights.sum())


class Guard(Record, frozen=True):
    """How a step ranks the feedback it was fitted to.

    ``held_out_*`` are cross-validated, with the shipped and the fitted weights; ``replay_*`` are
    over all feedback, with the weights before and after the step. Accuracy is the share of
    preferences in the right order, loss the mean logistic loss. The step is ``kept`` if no
    accuracy fell and each loss fell.
    """

    kept: bool
    questions: int
    pairs: int
    held_out_accuracy_shipped: float
    held_out_accuracy: float
    held_out_loss_shipped: float
    held_out_loss: float
    replay_accuracy_before: float
    replay_accuracy: float
    replay_loss_before: float
    replay_loss: float


def replay(pairs: Pairs, before: Doubles, step: Doubles) -> Guard:
    """Measure a step on all feedback, and its fit on held-out questions.

    ``before`` and ``step`` are ratios (f,), before and after the step.
    """
    shipped = np.ones_like(before)
    splits = pairs.questions % SPLITS
    fits = [
        (pairs.of(splits == split), fit_ratios(pairs.of(splits != split)))
        for split in range(SPLITS)
    ]
    total = float(pairs.weights.sum())

    def held_out(measure: Callable[[Pairs, Doubles], float], *, fitted: bool) -> float:
        return sum(
            float(part.weights.sum()) / total * measure(part, ratios if fitted else shipped)
            for part, ratios in fits
            if len(part)
        )

    measured = {}
    for name, measure in (("accuracy", pairwise_accuracy), ("loss", pairwise_loss)):
        measured[f"held_out_{name}_shipped"] = held_out(measure, fitted=False)
        measured[f"held_out_{name}"] = held_out(measure, fitted=True)
        measured[f"replay_{name}_before"] = measure(pairs, before)
        measured[f"replay_{name}"] = measure(pairs, step)
    n_questions = len(np.unique(pairs.questions))
    kept = (
        n_questions >= MIN_QUESTIONS
        and measured["held_out_accuracy"] >= measured["held_out_accuracy_shipped"]
        and measured["held_out_loss"] < measured["held_out_loss_shipped"]
        and measured["replay_accuracy"] >= measured["replay_accuracy_before"]
        and measured["replay_loss"] < measured["replay_loss_before"]
    )
    return Guard(kept=kept, questions=n_questions, pairs=len(pairs), **measured)
