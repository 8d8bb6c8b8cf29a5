"""What came close to an answer and is not in it, and why."""

from __future__ import annotations

import numpy as np

from family_recall.recall.answer import Ranked, explanation
from family_recall.recall.explain import NearMiss
from family_recall.types import Answer, IdArray

RUN_LENGTH = 20
"""How far down what a source found is looked at."""
BELOW = 5
"""Memories listed past the last result, and as many duplicates."""
FROM_EACH_RUN = 2
"""Of the best that a source found and that was not returned, how many are listed."""


def near_misses(ranked: Ranked, answer: Answer) -> tuple[NearMiss, ...]:
    """Explain for each memory that came close to an answer why it is not in it, closest first.

    These are the next ones of the ranking, the duplicates of results, and the first of what each
    source found, all read off the ranking that the answer was made from.
    """
    context = ranked.context
    missed = [
        NearMiss(explanation(row.id, row.space_id, ranked.ranking, ranked, answer), row.text)
        for row in context.snapshot.memories(_closest(ranked), context.scope)
    ]
    return tuple(sorted(missed, key=lambda miss: (miss.explanation.rank, miss.doc_id)))


def _closest(ranked: Ranked) -> IdArray:
    """Return the row ids of what came closest, none twice."""
    ranking, top_k = ranked.ranking, ranked.context.request.ctx.top_k
    ids = ranking.rows.ids
    returned = ranking.order[:top_k].tolist()
    copies = [copy for row in returned for copy in ranking.duplicates.get(row, ())][:BELOW]
    candidates = set(ids.tolist()) - set(ids[[*returned, *copies]].tolist())
    from_runs = [
        memory
        for run in ranked.pool.runs.values()
        for memory in [m for m in run.ids[:RUN_LENGTH].tolist() if m in candidates][:FROM_EACH_RUN]
    ]
    below = ids[[*ranking.order[top_k : top_k + BELOW].tolist(), *copies]].tolist()
    return np.array(list(dict.fromkeys([*below, *from_runs])), np.int64)
