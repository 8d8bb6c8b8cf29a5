"""A person's own ranking profile: the shipped one with what was learned from their feedback."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import msgspec

from family_recall.recall.dataflow import Profile
from family_recall.recall.ranking.calibration import Certainty
from family_recall.store.logs.feedback import LearningStep

LEARNING_PROFILE = "default"
"""The one profile that learns; those of the designs stay as their documents have them."""

SMALLEST_RATIO, LARGEST_RATIO = 1 / 3, 3.0
"""A learned weight lies between a third of the shipped one and three times it."""

LARGEST_DISTANCE = 1.0
"""Of all weights together: the root of the summed squares of ``learned / shipped − 1``."""

SMALLEST_SLOPE, LARGEST_SLOPE = 0.8, 1.25
"""What a shipped calibration's logits may be multiplied by; above 0, so order is kept."""

LARGEST_FALL, LARGEST_RISE = 0.5, 0.2
"""What may be taken from such a logit or added to it: 0.50 becomes 0.38 or 0.55 at most.

Less is added, since questions that got no right answer are judged less often than the others.
"""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PersonalProfile(Profile):
    """The shipped profile with one person's weights, and how its calibration is adjusted."""

    slope_ratio: float = 1.0
    offset_shift: float = 0.0


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
    values = {field.name: getattr(shipped, field.name) for field in dataclasses.fields(Profile)}
    values["weights"] = step.weights
    return PersonalProfile(**values, slope_ratio=step.slope_ratio, offset_shift=step.offset_shift)


def personal_certainty(shipped: Certainty, profile: Profile) -> Certainty:
    """Return how sure an answer is, as a person's feedback on first results adjusts it."""
    if not isinstance(profile, PersonalProfile):
        return shipped
    return msgspec.structs.replace(shipped, slope=profile.slope_ratio, shift=profile.offset_shift)


def is_bounded(step: LearningStep) -> bool:
    """Return whether a step keeps every promise: ratios, distance, signs and calibration."""
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
    return (
        math.sqrt(squares) <= LARGEST_DISTANCE + _ROUNDING
        and SMALLEST_SLOPE <= step.slope_ratio <= LARGEST_SLOPE
        and -LARGEST_FALL <= step.offset_shift <= LARGEST_RISE
    )
