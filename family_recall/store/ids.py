"""Row ids as arrays: what a search finds, and which ids are in scope."""

from __future__ import annotations

import functools

import msgspec
import numpy as np

from family_recall.store.file.schema import PARTITION_SHIFT
from family_recall.types import BoolArray, FloatArray, IdArray, Scope

NO_IDS: IdArray = np.zeros(0, np.int64)


class Hits(msgspec.Struct, frozen=True):
    """What one search found, best first: ``ids`` (n,) and ``scores`` (n,), higher is better."""

    ids: IdArray
    scores: FloatArray


def among(ids: IdArray, known: IdArray) -> BoolArray:
    """Whether each of some ids (n,) is among others: shape (n,).

    The result of `np.isin`, which takes 40 µs for the hundred ids of a recall; this takes 6.
    """
    if not len(known):
        return np.zeros(len(ids), np.bool_)
    known = np.sort(known)
    is_known: BoolArray = known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids
    return is_known


def in_scope(nodes: IdArray, scope: Scope) -> IdArray:
    """Return the nodes, of memories or entities, that are of the scope's partitions."""
    is_visible = _is_visible(scope.partitions).take(np.abs(nodes) >> PARTITION_SHIFT, mode="clip")
    visible: IdArray = nodes[is_visible]
    return visible


@functools.lru_cache(maxsize=64)
def _is_visible(partitions: tuple[int, ...]) -> BoolArray:
    """Return a table by partition number; its last entry, False, is that of every greater one."""
    is_visible = np.zeros(max(partitions, default=0) + 2, np.bool_)
    is_visible[list(partitions)] = True
    return is_visible
