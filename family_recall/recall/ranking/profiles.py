"""The named profiles: one ranker, six sets of weights and constants."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType
from typing import Any

import msgspec

from family_recall.errors import InvalidRequestError
from family_recall.recall.dataflow import Profile
from family_recall.recall.ranking.features import INDEX
from family_recall.store.feedback import LearningStep
from family_recall.types import Breadth, RecallContext

_ABOUT = MappingProxyType({"concerns": 1.0, "identity": 0.2})
"""What a question about somebody weighs beside any profile."""
_LIST = MappingProxyType({"belongs": 0.4})
"""What a list weighs beside the default profile: 0.4 is the best of 0.1 to 0.8 on 91 lists."""


def _read(name: str) -> dict[str, Any]:
    text = resources.files("family_recall.recall.ranking").joinpath(name).read_text("utf-8")
    record: dict[str, Any] = json.loads(text)
    return record


_RECORD = _read("profiles.json")
_CHUNKS, QUOTED, OPENING = (
    msgspec.convert(_RECORD["internal"][name], Profile)
    for name in ("chunks", "identifier", "opening")
)
"""The variant of ``ppr`` for a search in chunks alone, which have no graph; what ranks memories
that hold a quoted identifier; and what ranks what a conversation begins with."""


@functools.cache
def profiles() -> Mapping[str, Profile]:
    """Return all profiles by name: the designs' five, and the measured ``default``."""
    default = {"name": "default", **_read("default_profile.json")}
    records = msgspec.convert([default, *_RECORD["stated"]], list[Profile])
    return MappingProxyType({profile.name: profile for profile in records})


def find_profile(name: str, mode: str = "hybrid") -> Profile:
    """Return a profile by name; ``ppr`` in mode ``knowledge`` is its variant for chunks.

    Raises:
        InvalidRequestError: If there is no profile of that name.
    """
    if name not in profiles():
        raise InvalidRequestError(
            f"profile must be one of {', '.join(sorted(profiles()))}, got {name!r}"
        )
    return _CHUNKS if (name, mode) == ("ppr", "knowledge") else profiles()[name]


def requested_profile(ctx: RecallContext, weights: Mapping[str, float]) -> Profile:
    """Return the profile that a request names, with a configuration's own weights.

    Raises:
        InvalidRequestError: If there is no profile of that name, or a name is not a feature.
    """
    profile = find_profile(ctx.profile, ctx.mode)
    return reweighed(profile, weights) if weights else profile


def reweighed(profile: Profile, weights: Mapping[str, float]) -> Profile:
    """Return a profile with other weights for some features; 0 removes a feature.

    Raises:
        InvalidRequestError: If a name is not a feature.
    """
    if unknown := sorted(set(weights) - set(INDEX)):
        raise InvalidRequestError(
            f"weights must name features ({', '.join(INDEX)}), got {unknown[0]!r}"
        )
    return dataclasses.replace(profile, weights={**profile.weights, **weights})


def for_question(
    profile: Profile, mode: str, breadth: Breadth, fixed: Mapping[str, float]
) -> Profile:
    """Return a profile as it ranks questions of a mode and a breadth.

    In a mode the profile ``neural`` weighs otherwise: chunks by words as by vectors, observations
    by vectors alone, words only finding them; the kinds of the mode gain. A design's profile ranks
    a list as any other question. ``fixed`` are weights that a configuration has set, which stay.
    """
    changes: dict[str, float] = {}
    if profile.name == "neural":
        changes |= _RECORD["modes_of_neural"].get(mode, {})
    if breadth == "about":
        changes |= _ABOUT
    elif breadth == "all" and profile.name == "default":
        changes |= _LIST
    return reweighed(profile, {**changes, **fixed}) if changes else profile


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
    pairs = [(step.weights[name], shipped) for name, shipped in step.shipped.items()]
    ratios = [weight / shipped for weight, shipped in pairs if shipped]
    return (
        all(weight == 0.0 for weight, shipped in pairs if not shipped)
        and all(SMALLEST_RATIO - _ROUNDING <= r <= LARGEST_RATIO + _ROUNDING for r in ratios)
        and math.hypot(*[ratio - 1.0 for ratio in ratios]) <= LARGEST_DISTANCE + _ROUNDING
    )
