"""The stages for what was asked before: replies become candidates, and come before questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from family_recall.english import BITS
from family_recall.recall.dataflow import Pool, QueryContext, Ranking, Run
from family_recall.recall.ranking.echoes import withhold
from family_recall.recall.ranking.ranker import takes_over
from family_recall.recall.ranking.replies import TOLD, TURNS, Reply, answer_after, replies_to
from family_recall.recall.runner import Runner
from family_recall.types import IdArray

OPENER: Final = 0.8
"""Share of the best score that a memory has to have, for the turns after it to be compared."""

_EACH: Final = 2  # replies to one question that become candidates


def find_replies(run: Runner, context: QueryContext, pool: Pool) -> Run:
    """Find the replies to what is asked in the best of what words and vectors found."""
    nothing = Run.empty("replies")
    n = min(len(pool.ids), context.config.reply_pool)
    if n == 0 or context.plan.asked.asks_about_asking or not run.can_start("replies", n):
        return nothing

    def find() -> Run:
        best = pool.ids[:n]
        place = {question: at for at, question in enumerate(best.tolist())}
        found = [r for each in _replies(context, best, _openers(context)) for r in each[:_EACH]]
        found.sort(key=lambda reply: (place[reply.question], -reply.plausibility))
        ids = list(dict.fromkeys(reply.id for reply in found))
        scores = 1.0 / (1.0 + np.arange(len(ids), dtype=np.float32))
        return Run("replies", np.array(ids, np.int64), scores)

    return run.run("replies", n, find, nothing)


def promote_replies(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Place each reply directly above what it replies to, and withhold score from questions."""
    best = ranking.order[: context.config.reply_pool]
    if not len(best) or context.plan.asked.asks_about_asking:
        return ranking
    asks = ranking.rows.cues[best] & BITS["asks"] != 0
    if n_any := _openers(context):
        score = ranking.score[best]
        asks[:n_any] |= score[:n_any] >= OPENER * score[0]
    n = int(asks.sum())
    if n == 0 or not run.can_start("replies", n):
        return ranking
    return run.run("replies", n, lambda: _promoted(context, ranking, best[asks]), ranking)


def _promoted(context: QueryContext, ranking: Ranking, asking: IdArray) -> Ranking:
    """Carry out the moves from the last question to the first, so that each reply stays above."""
    rows = {memory: row for row, memory in enumerate(ranking.rows.ids.tolist())}
    replies = _replies(context, ranking.rows.ids[asking], len(asking))
    by_question = {rows[each[0].question]: each for each in replies if each}
    least = OPENER * ranking.score[ranking.order[0]]
    moves: list[tuple[int, int]] = []
    reply_to: dict[int, int] = {}
    for question in reversed(asking.tolist()):
        placed = [rows[r.id] for r in by_question.get(question, ()) if r.id in rows]
        reply_to |= dict.fromkeys(placed, question)
        # The turns after a question that is hardly like the one asked are in their own places.
        others = placed[1:] if ranking.score[question] >= least else ()
        moves += [(first, below) for first in placed[:1] for below in (question, *others)]
    promoted = takes_over(ranking, moves)
    return withhold(context, replace(promoted, reply_to=reply_to))


def _replies(context: QueryContext, ids: IdArray, n_any: int) -> list[Sequence[Reply]]:
    """Return the replies to each of some memories that ask, and to the first few, best first."""
    turns = context.snapshot.turns_after(ids, BITS["asks"], n_any, context.scope, TURNS)
    return [
        replies_to(after)
        if after[0].says & BITS["asks"]
        else answer_after(after, context.plan.asked)
        for after in turns.values()
        if after
    ]


def _openers(context: QueryContext) -> int:
    """Return how many of the best may leave open what the question asks for."""
    asked = context.plan.asked
    tells = asked.kinds & TOLD or asked.asks_who
    return context.config.openers if tells else 0
