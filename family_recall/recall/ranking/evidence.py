"""What speaks for an answer as a whole: that its first result answers, or that anything does.

A score alone does not tell: a question about what was never stored is asked in the words of what
was, and its best memory scores like an answer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from family_recall.english import BITS
from family_recall.recall.dataflow import Pool, QueryContext, Ranking
from family_recall.recall.ranking.bm25 import covers, question_weights
from family_recall.recall.ranking.features import INDEX
from family_recall.types import FloatArray

EVIDENCE: Mapping[str, str] = {
    "score": "of the first result",
    "clear": "the same, where it is below 0.5: above, more of it tells little more",
    "lead": "of its score over the next, but for what it replaces or is replaced by; all of it "
    "where there is none",
    "words": "the share of the question's words that it holds, by how rare they are",
    "words_of_few": "the share that the first five hold together",
    "closeness": "how close its tokens come to the question's",
    "farthest": "how close they come to the one of the question's rarest that is farthest",
    "said": "1 where it says something of all that the question names",
    "words_first": "1 where the search for words has it first",
    "meaning_first": "1 where the search for meaning has it first",
    "reading": "how surely it answers, as the cross-encoder read it",
    "best_reading": "the same of the best that was read",
    "asks": "1 where it only asks",
    "list": "1 where all of a kind is asked for",
}
"""What is known of an answer, each with its meaning; all but ``score``, ``clear`` and ``lead`` in
[0, 1]."""

CLEAR = 0.5
"""The score above which an answer is hardly surer."""

_FEW = 5
_RARE = 0.6
"""Share of the rarest token's weight from which a token counts as rare."""
_READ = INDEX["cross_encoder"]


def evidence(
    context: QueryContext, pool: Pool, ranking: Ranking, *, says_all: bool
) -> dict[str, float]:
    """Return the value of each of :data:`EVIDENCE`, for a ranking that is not empty.

    ``says_all``: whether the first candidate says something of all that the question names.
    """
    order = ranking.order
    first = int(order[0])
    rivals = _rivals_of(ranking, first)
    score = float(ranking.score[first])
    others = [row for row in order[: len(rivals) + 1].tolist() if row not in rivals]
    few = order[:_FEW]
    weights = question_weights(context)
    rarity = np.array(list(weights.values()), np.float32)
    total = max(float(rarity.sum()), 1e-9)
    held = covers(ranking.rows, weights, few)
    closeness, farthest = _closeness(context, ranking, first)
    read = ranking.features[order, _READ]
    memory = int(ranking.rows.ids[first])
    return {
        "score": score,
        "clear": min(score, CLEAR),
        "lead": score - (float(ranking.score[others[0]]) if others else 0.0),
        "words": float(rarity[held[0]].sum()) / total,
        "words_of_few": float(rarity[held.any(axis=0)].sum()) / total,
        "closeness": closeness,
        "farthest": farthest,
        "said": float(says_all),
        "words_first": _is_first(pool, "lexical", memory),
        "meaning_first": _is_first(pool, "vector", memory),
        "reading": float(read[0]),
        "best_reading": float(read.max()),
        "asks": float((ranking.rows.cues[first] & BITS["only_asks"]) != 0),
        "list": float(context.asks_for_list),
    }


def _rivals_of(ranking: Ranking, row: int) -> set[int]:
    """Return a row and those that state the same: what it replaces or is replaced by, by steps."""
    pairs = [(older, newer.row) for older, newer in ranking.superseded_by.items()]
    rivals, n = {row}, 0
    while n < len(rivals):
        n = len(rivals)
        rivals = rivals.union(*(pair for pair in pairs if not rivals.isdisjoint(pair)))
    return rivals


def _closeness(context: QueryContext, ranking: Ranking, row: int) -> tuple[float, float]:
    """Return how close a row's tokens come to the question's, and to the farthest rare one."""
    weights = context.question_weights
    if ranking.closest is None or weights is None or not (most := weights.max(initial=0.0)):
        return 0.0, 0.0
    closest: FloatArray = ranking.closest[row]
    if np.isnan(closest[0]):  # as all of them, where it has no tokens
        return 0.0, 0.0
    rare = weights >= _RARE * most
    return float(closest.dot(weights) / weights.sum()), float(closest[rare].min())


def _is_first(pool: Pool, source: str, memory: int) -> float:
    run = pool.runs.get(source)
    return float(run is not None and len(run) > 0 and int(run.ids[0]) == memory)


_NEAR = 0.3


def first_is_near_focus(ranking: Ranking) -> bool:
    """Whether the first candidate belongs to what is being talked about."""
    return bool(len(ranking)) and ranking.features[ranking.order[0], INDEX["near_focus"]] >= _NEAR
