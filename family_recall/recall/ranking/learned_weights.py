"""A person's own ranking profile: the shipped one with what was learned from their feedback."""

from __future__ import annotations

import dataclasses
import math

from family_recall.recall.dataflow import Profile
from family_recall.store.feedback import LearningStep

LEARNING_PROFILE = "default"
"""The one profile that learns; those of the designs stay as their documents have them."""

SMALLEST_RATIO, LARGEST_RATIO = 1 / 3, 3.0
"""A learned weight lies between a third of the shipped one and three times it."""

LARGEST_DISTANCE = 1.0
"""Of all weights together: the root of the summed squares of ``learned / shipped − 1``."""

_ROUNDING = 1e-9


def personal_profile(shipped: Profile, step: LearningStep | None) -> Profile:
    """Return the profile that a person's questions are ranked by.

    The shipped one if nothing was learned, if it was learned against other weights than are
    shipped now, or if what the file says is out of bounds.
    """
    if (
        step is None
        or shipped.name != LEARNING_PROFILE
        or step.shipped != dict(shipped.weights)
        or not is_bounded(step)
    ):
        return shipped
    return dataclasses.replace(shipped, weights=step.weights)


def is_bounded(step: LearningStep) -> bool:
    """Return whether a step keeps every promise: ratios, distance and signs."""
    if step.weights.keys() != step.shipped.keys():
        return False
    squares = 0.0
    for name, shipped in step.shipped.items():
        weight = step.weights[name]
        if shipped == 0.0:
            if weight != 0.0:
                return False
            continue
        ratio = weight / shipped
        if not SMALLEST_RATIO - _ROUNDING <= ratio <= LARGEST_RATIO + _ROUNDING:
            return False
        squares += (ratio - 1.0) ** 2
    return math.sqrt(squares) <= LARGEST_DISTANCE + _ROUNDING
