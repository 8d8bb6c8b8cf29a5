"""The named profiles: one ranker, six sets of weights and constants."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from family_recall.errors import InvalidRequestError
from family_recall.recall.dataflow import Profile
from family_recall.recall.ranking.features import INDEX
from family_recall.store.feedback import LearningStep
from family_recall.types import Breadth, RecallContext

_EVERGREEN = frozenset({"identity", "family"})

_STATED = (
    Profile(
        name="family_os",
        source="P01 Recall & P17 QoS: bm25, cosine as in its worked response; the others are ours",
        weights={
            "bm25": 1.00, "cosine": 1.10, "recency": 0.30, "personalization": 0.20,
            "affect_compat": 0.10, "entities": 0.15, "near_focus": 0.30, "length": 0.10,
            "source_prior": 0.10, "rrf_raw": 1.00, "cross_encoder": 0.80,
        },
        mmr_lambda=0.35,
        half_life_days=14 * math.log(2),  # exp(−age/τ) with τ = 14 days
    ),
    Profile(
        name="annie",
        source="hybrid retrieval: RRF times a 30-day half-life, floor 0.3 for what is evergreen",
        weights={"rrf_decayed": 1.0},
        mmr_lambda=0.7,
        half_life_days=30.0,
        evergreen=_EVERGREEN,
        evergreen_floor=0.3,
    ),
    Profile(
        name="three_tier",
        source="three-tier memory: six weights as written; what they leave of 1 is the tier's",
        weights={
            "cosine": 0.40, "recency": 0.20, "importance": 0.15, "temporal_match": 0.10,
            "emotion": 0.05, "identity": 0.05, "tier_share": 0.05,
        },
        mmr_lambda=1.0,
    ),
    Profile(
        name="ppr",
        source="unified PPR: 0.40 vector + 0.15 words + 0.45 PageRank",
        weights={"cosine": 0.40, "bm25": 0.15, "ppr": 0.45},
        mmr_lambda=1.0,
    ),
    Profile(
        name="neural",
        source="neural design: vector, lexical, graph, recency and importance, and reranked",
        weights={
            "cosine": 0.40, "bm25": 0.25, "graph_bias": 0.15, "recency": 0.10, "importance": 0.10,
            "cross_encoder": 0.30,
        },
        mmr_lambda=1.0,
    ),
)  # fmt: skip


_CHUNKS = Profile(
    name="ppr",
    source="unified PPR, code search variant: fused ranks alone, no graph",
    weights={"rrf_raw": 1.0},
    mmr_lambda=1.0,
    walks_graph=False,
    calibrated_as="annie",
)
"""The variant of ``ppr`` for a search in chunks alone, which have no graph."""

QUOTED = Profile(
    name="identifier",
    source="questions that quote an identifier: how exactly a memory holds it, then its words",
    weights={"identifier": 1.0, "bm25": 0.1, "recency": 0.01},
    mmr_lambda=1.0,
)
"""Internal: ranks the memories that hold a quoted identifier."""


_BY_MODE: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "knowledge": {"cosine": 0.30, "bm25": 0.35, "in_mode": 0.10},
        "neural": {"cosine": 0.65, "bm25": 0.0, "in_mode": 0.10},
    }
)
"""What the neural design weighs otherwise in a mode: chunks by words as by vectors, observations by
vectors alone, words only finding them. The kinds of the mode gain, asked for or guessed."""
_ABOUT = MappingProxyType({"concerns": 1.0, "identity": 0.2})
"""What a question about somebody weighs beside any profile."""
_LIST = MappingProxyType({"belongs": 0.4})
"""What a list weighs beside the default profile: 0.4 is the best of 0.1 to 0.8 on 91 lists."""


OPENING = Profile(
    name="opening",
    source="hybrid retrieval, start of a conversation: recent conversations and key facts",
    weights={"recency": 0.5, "importance": 0.3, "identity": 0.2},
    mmr_lambda=0.7,
    half_life_days=7.0,
    evergreen=frozenset({"identity", "family", "health", "milestone"}),
    evergreen_floor=0.3,
)
"""Internal: ranks what a conversation begins with."""


@functools.cache
def profiles() -> Mapping[str, Profile]:
    """Return all profiles by name: the designs' five, and the measured ``default``."""
    text = (
        resources.files("family_recall.recall.ranking").joinpath("default_profile.json").read_text()
    )
    record = json.loads(text)
    default = Profile(
        name="default",
        source=record["source"],
        weights=MappingProxyType(record["weights"]),
        mmr_lambda=record["mmr_lambda"],
        rrf_k=record["rrf_k"],
    )
    by_name = {profile.name: profile for profile in (default, *_STATED)}
    for profile in by_name.values():
        unknown = set(profile.weights) - set(INDEX)
        if unknown:
            raise InvalidRequestError(
                f"profile {profile.name} weighs {sorted(unknown)}; features are {sorted(INDEX)}"
            )
    return MappingProxyType(by_name)


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


def for_mode(profile: Profile, mode: str, fixed: Mapping[str, float]) -> Profile:
    """Return a profile as it ranks in a mode, of which ``neural`` alone makes a difference.

    ``fixed`` are weights that a configuration has set, which stay as they are.
    """
    if profile.name != "neural" or mode not in _BY_MODE:
        return profile
    return reweighed(profile, {**_BY_MODE[mode], **fixed})


def for_breadth(profile: Profile, breadth: Breadth, fixed: Mapping[str, float]) -> Profile:
    """Return a profile as it ranks questions of a breadth.

    ``fixed`` are weights that a configuration has set, which stay as they are. A design's profile
    ranks a list as any other question.
    """
    if breadth == "about":
        return reweighed(profile, {**_ABOUT, **fixed})
    if breadth == "all" and profile.name == "default":
        return reweighed(profile, {**_LIST, **fixed})
    return profile


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
