"""Place a candidate directly above another one, so that its score still is the sum of its reasons.

A stage that knows a reason for which one memory comes before another (it replaces it, or it is the
reply to it) does not change the order by itself: the candidate *inherits* the score it lacks,
through the declared feature ``inherited`` of weight 1. So contributions add up, order follows
score, and the confidence is that of the place it took.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from family_recall.recall.dataflow import Ranking
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import scored

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
    new_score, order = scored(ranking.rows, features, ranking.weights)
    if len(order) > len(ranking.order):
        order = order[np.isin(order, ranking.order)]
    return replace(ranking, features=features, score=new_score, order=order)


def _free_score_above(scores: npt.NDArray[np.float64], of: float) -> float:
    """Return the least score above another one that no candidate has, within rounding."""
    target = of + MARGIN
    for other in np.sort(scores[scores > of]).tolist():
        if other > target + _CLOSE:
            break
        if other > target - _CLOSE:
            target = other + MARGIN
    return target
