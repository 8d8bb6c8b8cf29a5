"""The linear ranker: a weighted sum of features, with its exact reasons."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from family_recall.recall.dataflow import Profile, Ranking, by_score
from family_recall.recall.ranking.features import FOR_SOME, INDEX, weight_of
from family_recall.store.memory_queries import Rows
from family_recall.types import Contribution, FloatArray, IdArray

_NAMES = tuple(INDEX)


def scored(rows: Rows, features: FloatArray, weights: FloatArray) -> tuple[FloatArray, IdArray]:
    """Return ``Σ weight × feature`` of each candidate, and their order by it; ties by doc_id."""
    # Unlike @, dot does not check the floating-point flags that BLAS may leave.
    score: FloatArray = features.dot(weights)
    return score, by_score(score, rows.doc_ids)


def rescored(ranking: Ranking, features: FloatArray) -> Ranking:
    """Return a ranking in the order of the scores of other features; who has no place has none."""
    score, order = scored(ranking.rows, features, ranking.weights)
    if len(order) > len(ranking.order):
        order = order[np.isin(order, ranking.order)]
    return replace(ranking, features=features, score=score, order=order)


@functools.lru_cache(maxsize=16)
def weights_of(profile: Profile) -> FloatArray:
    """Return a profile's weights in the order of ``FEATURES``: shape (f,)."""
    weights = np.array([weight_of(name, profile.weights) for name in _NAMES], np.float32)
    weights.setflags(write=False)
    return weights


def contributions(features: FloatArray, weights: FloatArray) -> tuple[Contribution, ...]:
    """Split the score of one candidate into its weighted features, largest part first.

    Features of weight 0 are left out, and those for some candidates alone where they are 0; the
    rest add up to the score.

    Args:
        features: Its features (f,) in the order of ``FEATURES``.
        weights: Their weights (f,).
    """
    parts = [
        (-abs(value * weight), name, value, weight)
        for name, value, weight in zip(_NAMES, features.tolist(), weights.tolist(), strict=True)
        if weight and (value != 0.0 or name not in FOR_SOME)
    ]
    parts.sort()
    return tuple([Contribution(*part[1:]) for part in parts])


MARGIN = 1e-5
"""Score by which a candidate stands above the one it is placed above: less than a reason weighs,
and a hundred times what is lost when a sum is rounded."""

_CLOSE = MARGIN / 2


def takes_over(ranking: Ranking, moves: Iterable[tuple[int, int]]) -> Ranking:
    """Place rows directly above other rows.

    Args:
        ranking: Candidates in the order of their scores.
        moves: (row, the row it goes above), carried out one after the other. A row that stands
            above the other one already stays where it is; so does one that is in no place of the
            order, such as a near copy.

    Returns:
        The ranking with those rows moved, each by the least ``inherited`` that puts it there, and
        the same ranking if nothing moved. Of two rows placed above the same one the later stands
        above the earlier.
    """
    score = ranking.score.astype(np.float64)
    placed = set(ranking.order.tolist())
    inherited: dict[int, float] = {}
    for row, above in moves:
        if row == above or not {row, above} <= placed or score[row] > score[above]:
            continue
        target = _free_score_above(score[ranking.order], float(score[above]))
        inherited[row] = inherited.get(row, 0.0) + target - float(score[row])
        score[row] = target
    if not inherited:
        return ranking
    features = ranking.features.copy()
    for row, missing in inherited.items():
        features[row, INDEX["inherited"]] += np.float32(missing)
    return rescored(ranking, features)


def _free_score_above(scores: npt.NDArray[np.float64], of: float) -> float:
    """Return the least score above another one that no candidate has, within rounding."""
    target = of + MARGIN
    for other in np.sort(scores[scores > of]).tolist():
        if other > target + _CLOSE:
            break
        if other > target - _CLOSE:
            target = other + MARGIN
    return target
