"""Missing: a finished ranking in, what came close to its answer and is not in it, and why, out."""

from __future__ import annotations

import numpy as np

from family_recall.pipeline.answer import RUN_LENGTH, explanation
from family_recall.pipeline.explain import Missed
from family_recall.pipeline.steps import Ranked
from family_recall.types import Answer, IdArray

BELOW = 5
"""Memories past the last result that are told of, and as many copies."""
FROM_EACH_RUN = 2
"""Of the best that a source found and that was not returned, how many are told of."""


def missed(ranked: Ranked, given: Answer) -> tuple[Missed, ...]:
    """Say of each memory that stood closest to an answer why it is not in it, the closest first.

    That is what comes next in the ranking, copies that stand behind a result, and the first of
    what each source found. All of it is read off the ranking that was answered from.
    """
    context = ranked.context
    told = [
        Missed(explanation(stored, ranked.ranking, ranked, given), stored.memory.text)
        for stored in context.snapshot.memories(_closest(ranked), context.scope)
    ]
    return tuple(sorted(told, key=lambda one: (one.explanation.rank, one.doc_id)))


def _closest(ranked: Ranked) -> IdArray:
    """Give the row ids of what came closest, none twice."""
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
