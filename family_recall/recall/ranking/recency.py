"""Half-life decay of a memory's recency, and what never fades wholly under a profile."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from family_recall.recall.dataflow import QueryContext
from family_recall.store.ids import among
from family_recall.store.memory_queries import Rows
from family_recall.types import BoolArray, FloatArray


def half_life_decay(
    age_days: npt.NDArray[np.float64],
    half_life_days: npt.NDArray[np.float64] | float,
    floor: npt.NDArray[np.float64] | float = 0.0,
) -> FloatArray:
    """Return ``max(floor, 2^(−age / half-life))``; an infinite half-life never fades.

    Ages below 0 (the future) count as 0.

    >>> half_life_decay(np.array([0.0, 30.0, 60.0]), 30.0).tolist()
    [1.0, 0.5, 0.25]
    """
    age = np.maximum(age_days, 0.0)
    return np.maximum(floor, np.exp2(-age / half_life_days)).astype(np.float32)


PLACE = "place"
"""The label of a memory that is about a place."""

_PLACE_KEY = re.compile(r"(?:^|_)(?:address|location|\w*place|city|town|village|country)$")
"""Keys of facts about a place: *home_address*, *birthplace*."""


def evergreen(rows: Rows, context: QueryContext) -> BoolArray:
    """Return which rows (n,) never fade wholly.

    Those of the profile's categories, such as ``identity`` and ``family``; those that state a
    relation, *Otto lives in Pune* as *Otto is married to Hanna*; and those about a place, by
    their label or the key of the fact they state.
    """
    categories = context.profile.evergreen
    flags = np.array([category in categories for category in rows.categories], np.bool_)
    if categories and len(rows):
        snapshot, scope = context.snapshot, context.scope
        flags |= among(rows.ids, snapshot.stating_relations(rows.ids, scope))
        keys = snapshot.keys_and_labels(rows.ids, scope)
        places = [memory for memory, key, labels in keys if _is_place(key, labels)]
        flags |= among(rows.ids, np.array(places, np.int64))
    return flags


def _is_place(fact_key: str | None, labels: tuple[str, ...]) -> bool:
    return PLACE in labels or (fact_key is not None and _PLACE_KEY.search(fact_key) is not None)
