"""The cross-encoder reads whether what was said later replaces the first candidate.

The test of pairs in :mod:`rivals` compares words, values and vectors. What is told in passing, as a
negation, or without its topic (*she fetched it back wednesday*) takes somebody who reads both.
"""

from __future__ import annotations

import os
from msgspec.structs import replace
import numpy as np

from family_recall.english import mask_of
from family_recall.recall.dataflow import QueryContext, Ranking, Successor
from family_recall.recall.ranking.ranker import takes_over
from family_recall.recall.ranking.reranker import probability, readings
from family_recall.recall.runner import Runner, question_tokens

MOST = int(os.environ.get("PR_MOST", "5"))
LIKELY = float(os.environ.get("PR_LIKELY", "0.6"))
SURE = float(os.environ.get("PR_SURE", "0.75"))
AMONG = 14
_ASKS = mask_of("only_asks")


def asked_of(question: str, older: str) -> str:
    """Return the question that a memory answers if it replaces an older one."""
    return f"{question} Before: {older}"


def read_rivals(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Read the first candidate with those said later, and place what replaces it above it."""
    scorer = run.models.scorer()
    question = context.plan.asked
    if os.environ.get("PR_OFF") or scorer is None or question.asks_event or question.asks_all or question.moment == "before" or context.plan.timespan_s is not None or not len(ranking.order):
        return ranking
    if not context.request.ctx.allow_cross_encoder:
        return ranking
    for _ in range(2):
        best = ranking.order[:AMONG]
        first = int(best[0])
        rows = ranking.rows
        later = (rows.occurred_s[best] > rows.occurred_s[first]) & ((rows.cues[best] & _ASKS) == 0)
        if rows.cues[first] & _ASKS:
            return ranking
        newer = best[later][:MOST].tolist()
        if not newer or not run.can_start("rerank", 2 * question_tokens(context.searched_text), left_out=len(newer)):
            return ranking
        texts = readings(context, ranking, [first, *newer])
        ids = rows.ids
        asked = asked_of(context.searched_text, texts[int(ids[first])])
        sure = {row: probability(2.0 * scorer.score(asked, texts[int(ids[row])])) for row in newer if int(ids[row]) in texts}
        likely = [row for row, p in sure.items() if p >= LIKELY]
        if not likely:
            return ranking
        newest = max(likely, key=lambda row: (sure[row] >= SURE, rows.occurred_s[row]))
        if os.environ.get("PR_LOG"):
            print("TAKEOVER", round(sure[newest], 2), context.searched_text, "|", texts[int(ids[first])], "|", texts[int(ids[newest])])
        moved = takes_over(ranking, [(newest, first)])
        if sure[newest] >= SURE:
            successors = dict(moved.superseded_by)
            successors[first] = Successor(newest, float(rows.occurred_s[newest]), "tells that it is no longer so")
            moved = replace(moved, superseded_by=successors)
        if moved is ranking:
            return ranking
        ranking = moved
    return ranking
