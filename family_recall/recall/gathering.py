"""The stage that gathers all of a list around the best that the question finds."""

from __future__ import annotations

from family_recall.recall import ordering, scoring
from family_recall.recall.dataflow import QueryContext, Run
from family_recall.recall.ranking.belonging import N_EXEMPLARS, centre
from family_recall.recall.ranking.fusion import reciprocal_rank_fusion
from family_recall.recall.runner import Runner
from family_recall.recall.scoring import Candidates
from family_recall.types import IdArray
from family_recall.types.record import replace

FEWEST_EXEMPLARS = 2
"""Fewer say nothing about what they have in common."""


def gather(
    run: Runner, context: QueryContext, candidates: Candidates
) -> tuple[QueryContext, Candidates]:
    """Search for what is like the best candidates, and rank all of them by that likeness too.

    Where the question asks for no list, the profile does not weigh it, or nothing was compared by
    meaning, everything stays as it is.
    """
    unchanged = context, candidates
    n = min(2 * len(candidates.pool.ids), context.plan.statistics.n_memories)
    exemplars = candidates.ranking.rows.ids[candidates.ranking.order[:N_EXEMPLARS]]
    if context.plan.breadth != "all" or len(exemplars) < FEWEST_EXEMPLARS:
        return unchanged
    if not run.is_weighed("gather", context.profile, n):
        return unchanged
    model_id = context.model_id
    if model_id is None or context.kind != "full":
        run.trace.skip("gather", "no_model", "likeness counts by the transformer alone", n)
        return unchanged
    if not run.can_start("gather", n):
        return unchanged

    def search() -> tuple[QueryContext, Candidates]:
        around = replace(context, exemplars=exemplars)
        alike = _alike(around, model_id, exemplars)
        if not len(alike):
            return unchanged
        runs = [*candidates.pool.runs.values(), alike]
        limit = 2 * scoring.affordable_pool(run, around)
        pool = reciprocal_rank_fusion(runs, rrf_k=context.profile.rrf_k, limit=limit)
        pool = replace(pool, graph_bias=candidates.pool.graph_bias)
        ranking = ordering.deduplicate(run, around, scoring.score(run, around, pool))
        return around, Candidates(pool, candidates.graph, ranking)

    return run.run("gather", n, search, unchanged)


def _alike(context: QueryContext, model_id: str, exemplars: IdArray) -> Run:
    """Return the memories nearest to the middle of the exemplars; none if those lack vectors."""
    bodies = context.snapshot.bodies(model_id, exemplars, context.scope)
    bodies = bodies[bodies.any(axis=1)]
    if len(bodies) < FEWEST_EXEMPLARS:
        return Run.empty("alike")
    k = context.pool_size(context.config.vector_pool)
    hits = context.snapshot.nearest(centre(bodies), model_id, context.scope, k)
    return Run("alike", hits.ids, hits.scores)
