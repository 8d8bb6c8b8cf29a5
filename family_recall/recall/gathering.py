"""The stage that gathers all of a list around the best that the question finds."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from family_recall.recall import ordering, scoring
from family_recall.recall.dataflow import Run
from family_recall.recall.ranking.fusion import reciprocal_rank_fusion
from family_recall.recall.runner import Runner
from family_recall.recall.scoring import Ranked

N_EXEMPLARS = 4
"""Best candidates that a list is gathered around: of 2, 3, 4, 6 and 8 the best on 91 lists."""

FEWEST_EXEMPLARS = 2
"""Fewer say nothing about what they have in common."""


def gather(run: Runner, ranked: Ranked) -> Ranked:
    """Search a list's question again for what is like its best, and rank all by that likeness too.

    A list names its kind (*all our injuries*), and what belongs to it often shares no word with
    that: *nailgunned me thumb*. But it is like the few that the question does find. Anything but a
    list that was compared by the transformer stays as it is.

    Source: pseudo-relevance feedback with document vectors, after Rocchio 1971.
    """
    context, pool, ranking = ranked.context, ranked.pool, ranked.ranking
    exemplars = ranking.rows.ids[ranking.order[:N_EXEMPLARS]]
    model_id, n = context.model_id, 2 * len(pool.ids)
    if not context.asks_for_list or model_id is None or len(exemplars) < FEWEST_EXEMPLARS:
        return ranked
    if not run.can_start("gather", n):
        return ranked

    def search() -> Ranked:
        bodies = context.snapshot.bodies(model_id, exemplars, context.scope)
        bodies = bodies[bodies.any(axis=1)]
        if len(bodies) < FEWEST_EXEMPLARS:
            return ranked
        centre = bodies.mean(axis=0)
        centre /= max(float(np.linalg.norm(centre)), 1e-12)
        k = context.pool_size(context.config.vector_pool)
        hits = context.snapshot.nearest(centre, model_id, context.scope, k)
        wider = reciprocal_rank_fusion(
            [*pool.runs.values(), Run("alike", hits.ids, hits.scores)],
            rrf_k=context.profile.rrf_k,
            limit=2 * scoring.affordable_pool(run, context),
            graph_bias=pool.graph_bias,
        )
        around = replace(context, exemplars=exemplars)
        scored = ordering.deduplicate(run, around, scoring.score(run, around, wider))
        return replace(ranked, context=around, pool=wider, ranking=scored)

    return run.run("gather", n, search, ranked)
