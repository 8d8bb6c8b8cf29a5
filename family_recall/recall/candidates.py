"""Candidates: what the searches found, fused and scored; and what is searched for again."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from family_recall.recall.dataflow import QueryContext, Run
from family_recall.recall.ranking import calibration
from family_recall.recall.ranking.distinct import deduplicate
from family_recall.recall.ranking.profiles import QUOTED
from family_recall.recall.ranking.replies import find_replies
from family_recall.recall.runner import Runner
from family_recall.recall.scoring import Ranked, affordable_pool, reciprocal_rank_fusion, score
from family_recall.recall.sources import search as searching
from family_recall.recall.sources.graph import graph

FEWEST_DISTINCT = 0.5
"""Share of the candidate pool below which copies have displaced other candidates."""

N_EXEMPLARS = 4
"""Best candidates that a list is gathered around: of 2, 3, 4, 6 and 8 the best on 91 lists."""

FEWEST_EXEMPLARS = 2
"""Fewer say nothing about what they have in common."""


def search(run: Runner, context: QueryContext, words: Run, quoted: Run) -> Ranked:
    """Search, fuse, score and deduplicate, as many as the context has room for."""
    rrf_k = context.profile.rrf_k
    vectors = searching.vector(run, context)
    seeds = reciprocal_rank_fusion([words, vectors], rrf_k=rrf_k)
    links = graph(run, context, seeds)
    replies = find_replies(run, context, seeds)
    runs = [words, vectors, links.run, quoted, replies]
    runs = searching.with_focus(run, context, runs)
    if context.plan.relation_evidence:
        runs.append(searching.evidence_of_relations(context))
    runs.append(searching.timeline(run, context))
    about = searching.about(run, context)
    if len(about):
        # What is not about them is no part of the answer, however near in meaning.
        run.trace.decisions["about"] = "what is not about them is left out"
        runs = [*(other.within(about) for other in runs), about]
    with run.trace.span("fusion", len(seeds.ids) + len(links.run)) as span:
        limit = affordable_pool(run, context)
        pool = reciprocal_rank_fusion(runs, rrf_k=rrf_k, limit=limit, graph=links)
        span.n_out = len(pool.ids)
    ranking = score(run, context, pool)
    return Ranked(context, pool, deduplicate(run, context, ranking))


def widen(run: Runner, ranked: Ranked, quoted: Run) -> Ranked:
    """Search once more, for more, if duplicates leave little room and time is left."""
    context, config = ranked.context, run.config
    room = context.pool_size(config.candidate_pool)
    is_full = any(
        len(ranked.pool.runs[source]) >= context.pool_size(size)
        for source, size in (("lexical", config.lexical_pool), ("vector", config.vector_pool))
    )
    ranking = ranked.ranking
    if not is_full or not ranking.duplicates or len(ranking) >= FEWEST_DISTINCT * room:
        return ranked
    run.trace.decisions["widen"] = "near copies left little room for others"
    wider = replace(context, pool_factor=config.wider_pool)
    n = min(wider.pool_size(config.candidate_pool), context.plan.statistics.n_memories)
    if not run.can_start("widen", n):
        return ranked

    def again() -> Ranked:
        return search(run, wider, searching.words(run, wider), quoted)

    return replace(run.run("widen", n, again, ranked), context=context)


def quoted_alone(run: Runner, context: QueryContext, quoted: Run) -> Ranked:
    """Rank what holds the identifiers that a question quotes: no vectors, no cross-encoder."""
    run.trace.decisions["identifiers"] = "what is quoted was found: nothing else is searched"
    for stage in ("embed", "vector", "graph", "rerank"):
        detail = "the question quotes an identifier that was found"
        run.trace.skip(stage, "not_needed", detail)
    context = replace(context, profile=QUOTED)
    quoted = quoted.where(quoted.scores == 1.0)
    pool = reciprocal_rank_fusion([quoted], rrf_k=context.profile.rrf_k)
    ranking = deduplicate(run, context, score(run, context, pool))
    return Ranked(context, pool, ranking, calibration.usually("identifier"))


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

    def around_them() -> Ranked:
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
            limit=2 * affordable_pool(run, context),
            graph=pool.graph,
        )
        around = replace(context, exemplars=exemplars)
        scored = deduplicate(run, around, score(run, around, wider))
        return replace(ranked, context=around, pool=wider, ranking=scored)

    return run.run("gather", n, around_them, ranked)
