"""What a person taught, put to use: a profile and a learned step in, their profile out."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from family_recall.dataflow import Profile
from family_recall.ranking.calibration import Calibration, Platt
from family_recall.stores.logs.feedback import Learned

TAUGHT = "default"
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


@dataclass(frozen=True, slots=True)
class TaughtProfile(Profile):
    """The shipped profile with one person's weights; the last two bend its calibration."""

    slope_ratio: float = 1.0
    offset_shift: float = 0.0


def taught(shipped: Profile, learned: Learned | None) -> Profile:
    """Give the profile that a person's questions are ranked by.

    The shipped one where nothing was learned, where it was learned against other weights than
    are shipped now, or where what the file says lies outside the bounds.
    """
    if learned is None or shipped.name != TAUGHT or learned.shipped != dict(shipped.weights):
        return shipped
    if not is_bounded(learned):
        return shipped
    values = {field.name: getattr(shipped, field.name) for field in dataclasses.fields(Profile)}
    values["weights"] = learned.weights
    return TaughtProfile(
        **values, slope_ratio=learned.slope_ratio, offset_shift=learned.offset_shift
    )


def bent(fitted: Calibration, profile: Profile) -> Calibration:
    """Give a calibration as the person's judgements of first results bend it."""
    if not isinstance(profile, TaughtProfile):
        return fitted
    platt = Platt(
        profile.slope_ratio * fitted.platt.slope,
        profile.slope_ratio * fitted.platt.offset + profile.offset_shift,
    )
    return dataclasses.replace(fitted, platt=platt)


def is_bounded(learned: Learned) -> bool:
    """Whether a step keeps every promise: the box, the distance, the signs, the slope."""
    if learned.weights.keys() != learned.shipped.keys():
        return False
    squares = 0.0
    for name, shipped in learned.shipped.items():
        now = learned.weights[name]
        if shipped == 0.0:
            if now != 0.0:
                return False
            continue
        ratio = now / shipped
        if not SMALLEST_RATIO - _ROUNDING <= ratio <= LARGEST_RATIO + _ROUNDING:
            return False
        squares += (ratio - 1.0) ** 2
    return (
        math.sqrt(squares) <= LARGEST_DISTANCE + _ROUNDING
        and SMALLEST_SLOPE <= learned.slope_ratio <= LARGEST_SLOPE
        and -LARGEST_FALL <= learned.offset_shift <= LARGEST_RISE
    )
