"""Stored questions are no answers: score is withheld from them, by a declared feature.

A memory that asks and states nothing loses a share of its score. Where one that asks what the
question asks would still be first, it loses as much as puts it behind the best memory that states
something; with nothing else there, nearly all of its score, so that no answer is sure of it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from family_recall.english import BITS, mask_of_kinds
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import MARGIN, scored
from family_recall.recall.ranking.replies import TOLD
from family_recall.types import BoolArray

SHARE: Final = 0.15
"""Share of its score that a stored question loses."""

ALONE: Final = 0.1
"""Share of the best score that is left to it where there is nothing but questions."""

LONGEST: Final = 16
"""Words of a question that states nothing; a longer one takes much for granted, and so tells it."""

REPEATS: Final = 0.8
"""BM25 from which a memory has about all words of the question."""

ASKS_THE_SAME: Final = 0.85
"""Late interaction from which each word of the question has one of like meaning in a memory."""


def withhold(context: QueryContext, ranking: Ranking) -> Ranking:
    """Withhold score from the candidates that ask and state nothing.

    Returns:
        The ranking in the order of the new scores; the same one if none of them only asks.
    """
    order = ranking.order
    repeats = _repeats(ranking)
    short = ranking.rows.n_words <= LONGEST
    only_asks = (((ranking.rows.cues & BITS["only_asks"]) != 0) & (short | repeats))[order]
    if not only_asks.any():
        return ranking
    echoes = only_asks & ~_may_tell(context, ranking, repeats)[order]
    score = ranking.score[order].astype(np.float64)
    features = ranking.features.copy()
    features[order, INDEX["withheld"]] = withheld(score, only_asks, echoes).astype(np.float32)
    new_score, new_order = scored(ranking.rows, features, ranking.weights)
    if len(new_order) > len(order):
        new_order = new_order[np.isin(new_order, order)]
    return replace(ranking, features=features, score=new_score, order=new_order)


def withheld(
    score: npt.NDArray[np.float64], only_asks: BoolArray, echoes: BoolArray
) -> npt.NDArray[np.float64]:
    """Return how much of its score each candidate loses, (n,), 0 or more.

    Args:
        score: Shape (n,), best first.
        only_asks: Which of them ask and state nothing, (n,).
        echoes: Which of those ask what the question asks, (n,).
    """
    lost = np.where(only_asks, SHARE * np.maximum(score, 0.0), 0.0)
    if not echoes.any():
        return lost
    others = (score - lost)[~echoes]
    ceiling = float(others.max()) if len(others) else ALONE * max(float(score.max()), 0.0)
    # In their own order, each one a margin below the one before.
    ceilings = ceiling - MARGIN * np.cumsum(echoes)
    return np.where(echoes, np.maximum(lost, score - ceilings), lost)


def _may_tell(context: QueryContext, ranking: Ranking, repeats: BoolArray) -> BoolArray:
    """Whether a memory, in asking something else, may tell what the question asks for, (n,).

    *Who drives us on Friday?* tells when that is. One that repeats the question's words does not.
    """
    kinds = context.plan.asked.kinds & TOLD
    tells = (ranking.rows.cues & mask_of_kinds(kinds)) != 0
    may: BoolArray = tells & ~repeats
    return may


def _repeats(ranking: Ranking) -> BoolArray:
    """Whether a memory says all that the question says, in its words or in others, (n,)."""
    said: BoolArray = ranking.features[:, INDEX["bm25"]] >= REPEATS
    return said | (ranking.features[:, INDEX["maxsim"]] >= ASKS_THE_SAME)
