"""Guards a learning step: it is kept only if the person's own feedback is ranked no worse by it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from family_recall.learn.fitting import (
    fit_calibration,
    fit_ratios,
    pairwise_accuracy,
    pairwise_loss,
    surprise,
)
from family_recall.learn.samples import Doubles, Ints, Pairs

SPLITS = 5
"""Cross-validation: every fifth question is held out of a fit, in turn."""

MIN_QUESTIONS = 10
"""Questions with feedback before a first step: two a split."""


@dataclass(frozen=True, slots=True)
class Guard:
    """How a step ranks the feedback it was fitted to.

    ``held_out_*`` are over questions that the fit had not seen, by the shipped weights and by
    those fitted without them; ``replay_*`` over all feedback, by the weights so far and by those
    of the step. Accuracy is the share of preferences in the right order, loss the mean logistic
    one.
    """

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

    @property
    def kept(self) -> bool:
        """Whether nothing measured got worse, and something better."""
        return (
            self.questions >= MIN_QUESTIONS
            and self.held_out_accuracy >= self.held_out_accuracy_shipped
            and self.held_out_loss < self.held_out_loss_shipped
            and self.replay_accuracy >= self.replay_accuracy_before
            and self.replay_loss < self.replay_loss_before
        )

    def to_json(self) -> dict[str, Any]:
        """Return every figure, and whether the step is kept."""
        return {"kept": self.kept, **asdict(self)}


def replay(pairs: Pairs, before: Doubles, step: Doubles) -> Guard:
    """Measure a step on all feedback, and its fit on held-out questions.

    Args:
        pairs: The feedback.
        before: Ratios (f,) of the weights so far.
        step: Ratios (f,) of the step.
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

    return Guard(
        questions=len(np.unique(pairs.questions)),
        pairs=len(pairs),
        held_out_accuracy_shipped=held_out(pairwise_accuracy, fitted=False),
        held_out_accuracy=held_out(pairwise_accuracy, fitted=True),
        held_out_loss_shipped=held_out(pairwise_loss, fitted=False),
        held_out_loss=held_out(pairwise_loss, fitted=True),
        replay_accuracy_before=pairwise_accuracy(pairs, before),
        replay_accuracy=pairwise_accuracy(pairs, step),
        replay_loss_before=pairwise_loss(pairs, before),
        replay_loss=pairwise_loss(pairs, step),
    )


def calibration_generalises(
    logits: Doubles, right: Doubles, weights: Doubles, questions: Ints
) -> bool:
    """Return whether adjusting the calibration predicts unseen first results better.

    By more than one standard error of the mean difference in surprise.
    """
    gains = np.zeros_like(logits)
    for split in range(SPLITS):
        out = questions % SPLITS == split
        if not out.any() or out.all():
            continue
        ratio, shift = fit_calibration(logits[~out], right[~out], weights[~out])
        shipped = surprise(logits[out], right[out])
        gains[out] = weights[out] * (shipped - surprise(ratio * logits[out] + shift, right[out]))
    return float(gains.mean()) > float(gains.std()) / math.sqrt(len(gains))
