"""Reciprocal rank fusion of several runs into one pool of candidates."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from family_recall.recall.dataflow import Pool, Run
from family_recall.types import IdArray

_NO_IDS: IdArray = np.zeros(0, np.int64)
_NO_SHARES = np.zeros(0)
_RANKS = 4_096  # whose shares are computed at once


def reciprocal_rank_fusion(
    runs: Sequence[Run],
    *,
    rrf_k: int,
    limit: int | None = None,
    graph_bias: Mapping[int, float] = MappingProxyType({}),
) -> Pool:
    """Fuse runs by rank alone: ``Σ 1 / (k + rank)``, ranks counted from 1.

    A memory several sources find outranks one that a single source puts first: with k = 60,
    ranks 1, 2 and 2 give 0.0487 and a lone rank 1 gives 0.0164.

    Args:
        runs: At most one per source; ids are unique within a run.
        rrf_k: Smooths the difference between ranks, 1 or more.
        limit: Size of the pool; all candidates, when left out.
        graph_bias: What the graph adds to some memories, which the pool carries along.

    Returns:
        The pool, best first; ties go to the lower id.

    Source: Cormack, Clarke & Büttcher, SIGIR 2009, doi:10.1145/1571941.1572114.
    """
    found = [run.ids for run in runs if len(run)]
    ids = np.concatenate([_NO_IDS, *found])
    shares = _shares(rrf_k, 1 + max(map(len, found), default=0) // _RANKS)
    order = ids.argsort(kind="stable")
    ordered = ids[order]
    is_first = np.empty(len(ids), np.bool_)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    first = is_first.nonzero()[0]
    unique = ordered[first]
    share = np.concatenate([_NO_SHARES, *[shares[: len(each)] for each in found]])
    fused = np.add.reduceat(share[order], first)
    best = (-fused).argsort(kind="stable")[:limit]  # ties by id, as `unique` ascends
    return Pool(
        ids=unique[best],
        rrf=fused[best].astype(np.float32),
        runs={run.source: run for run in runs},
        graph_bias=graph_bias,
    )


@functools.lru_cache(maxsize=16)
def _shares(rrf_k: int, n: int) -> npt.NDArray[np.float64]:
    """Return what each of the first n · 4,096 ranks adds to a memory."""
    shares = 1.0 / (rrf_k + np.arange(1.0, n * _RANKS + 1))
    shares.setflags(write=False)
    return shares
