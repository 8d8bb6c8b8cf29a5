"""Candidates: what the searches found, fused and scored; and what is searched for again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from family_recall.deadline import has_stopped
from family_recall.recall.dataflow import (
    NO_GRAPH,
    GraphRun,
    Pool,
    QueryContext,
    Ranking,
    Run,
    inner_products,
)
from family_recall.recall.ranking import calibration
from family_recall.recall.ranking.calibration import Certainty, certain
from family_recall.recall.ranking.distinct import deduplicate
from family_recall.recall.ranking.features import compute
from family_recall.recall.ranking.profiles import QUOTED
from family_recall.recall.ranking.ranker import scored, weights_of
from family_recall.recall.ranking.replies import find_replies
from family_recall.recall.ranking.temporal import NO_MENTIONS
from family_recall.recall.runner import Runner
from family_recall.recall.sources import search as searching
from family_recall.recall.sources.graph import graph
from family_recall.store.memory_queries import Rows
from family_recall.store.passages import MOST_IN_PASSAGES
from family_recall.store.scope_sql import among
from family_recall.store.vector_search import TokenVectors
from family_recall.store.words import stem_number
from family_recall.types import Answer, FloatArray

FEWEST_DISTINCT = 0.5
"""Share of the candidate pool below which copies have displaced other candidates."""

N_EXEMPLARS = 4
"""Best candidates that a list is gathered around: of 2, 3, 4, 6 and 8 the best on 91 lists."""

_WORDS_AT_ONCE = 16_000  # of long texts that are compared between two looks at the clock, in 6 ms

TURN_BEFORE = 0.2
"""Share of the turn before it in what the vector of a turn says."""

FEWEST_EXEMPLARS = 2
"""Fewer say nothing about what they have in common."""


class Ranked(msgspec.Struct, frozen=True):
    """A ranking with what it was made from, and how sure it is.

    ``uncovered`` names what the question names and the first candidate says nothing about;
    ``parts`` answers the questions that are in one, if any of them is answered.
    """

    context: QueryContext
    pool: Pool
    ranking: Ranking
    certainty: Certainty = certain(0.0)
    uncovered: tuple[str, ...] = ()
    parts: tuple[Answer, ...] = ()


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
        limit = _limit(run, context)
        pool = reciprocal_rank_fusion(runs, rrf_k=rrf_k, limit=limit, graph=links)
        span.n_out = len(pool.ids)
    ranking = score(run, context, pool)
    return Ranked(context, pool, deduplicate(run, ranking))


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
    ranking = deduplicate(run, score(run, context, pool))
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
            limit=2 * _limit(run, context),
            graph=pool.graph,
        )
        around = replace(context, exemplars=exemplars)
        scored = deduplicate(run, score(run, around, wider))
        return replace(ranked, context=around, pool=wider, ranking=scored)

    return run.run("gather", n, around_them, ranked)


def reciprocal_rank_fusion(
    runs: Sequence[Run], *, rrf_k: int, limit: int | None = None, graph: GraphRun = NO_GRAPH
) -> Pool:
    """Fuse runs by rank alone: ``Σ 1 / (k + rank)``, ranks counted from 1.

    A memory several sources find outranks one that a single source puts first: with k = 60,
    ranks 1, 2 and 2 give 0.0487 and a lone rank 1 gives 0.0164.

    Args:
        runs: At most one per source; ids are unique within a run.
        rrf_k: Smooths the difference between ranks, 1 or more.
        limit: Size of the pool; all candidates, when left out.
        graph: What the graph found, which the pool carries along.

    Returns:
        The pool, best first; ties go to the lower id.

    Source: Cormack, Clarke & Büttcher, SIGIR 2009, doi:10.1145/1571941.1572114.
    """
    share = 1.0 / (rrf_k + np.arange(1.0, 1 + max(map(len, runs))))
    shares = np.concatenate([share[: len(run)] for run in runs])
    ids = np.concatenate([run.ids for run in runs])
    order = ids.argsort(kind="stable")
    ids = ids[order]
    first = np.append(ids[:1] == ids[:1], ids[1:] != ids[:-1]).nonzero()[0]  # of each id
    fused = np.add.reduceat(shares[order], first)
    best = (-fused).argsort(kind="stable")[:limit]  # ties by id, as `ids` ascends
    return Pool(
        ids=ids[first[best]],
        rrf=fused[best].astype(np.float32),
        runs={run.source: run for run in runs},
        graph=graph,
    )


def _limit(run: Runner, context: QueryContext) -> int:
    """Return how many candidates to score: all there is room for, or those that time pays for."""
    wanted, least = context.pool_size(run.config.candidate_pool), run.config.fewest_candidates
    return run.cut("score", wanted, "no time for more", at_least=least)


def score(run: Runner, context: QueryContext, pool: Pool) -> Ranking:
    """Load the candidates, compare them with the question, and order them.

    A candidate that is gone has no row. What candidates mention is looked up where the question
    names it and the profile weighs it.
    """
    snapshot, scope, plan = context.snapshot, context.scope, context.plan
    with run.trace.span("load", len(pool.ids)) as span:
        stems = [stem for _, stem in plan.terms] + [word.stem for word in plan.related_words]
        rows = snapshot.rows(pool.ids, scope, [*map(stem_number, stems)])
        n = span.n_out = len(rows)
    cosines: FloatArray | None = None
    question, model_id = context.question, context.model_id
    if question is not None and model_id is not None:
        with run.trace.span("cosines", n) as span:
            span.n_out = n
            cosines = run.look_up(
                "cosines",
                lambda: _cosines(context, question.pooled, model_id, rows),
                None,
            )
    closest = late_interaction(run, context, rows)
    with run.trace.span("features", n) as span:
        span.n_out = n
        weighs = context.profile.weights.get
        mentions: list[tuple[int, int]] = []
        entities = [entity.id for entity in plan.entities]
        if entities and n and weighs("entities"):
            mentions = run.look_up(
                "mentions", lambda: snapshot.mentions(rows.ids, entities, scope), mentions
            )
        times = NO_MENTIONS
        if plan.timespan_s is not None and weighs("temporal_match"):
            times = run.look_up("times", lambda: snapshot.mentioned_times(rows.ids, scope), times)
        weights = context.question_weights
        matched = None if closest is None or weights is None else max_sim(closest, weights)
        values = compute(pool, rows, matched, cosines, mentions, context, times)
    with run.trace.span("rank", n) as span:
        span.n_out = n
        feature_weights = weights_of(context.profile)
        total, order = scored(rows, values, feature_weights)
        return Ranking(rows, values, feature_weights, total, order, closest=closest)


def _cosines(context: QueryContext, question: FloatArray, model_id: str, rows: Rows) -> FloatArray:
    """Return the cosine of each row with the question (n,), NaN without a vector.

    Of a turn of a session, that of its vector with a share of the turn before: *a fortnight, he
    said* tells nothing of what it is about.
    """
    snapshot, scope = context.snapshot, context.scope
    is_turn = rows.contexts > 0
    if not is_turn.any():
        return context.above_level(snapshot.cosines(question, model_id, rows.ids, scope))
    contexts = np.unique(rows.contexts)  # before those of the rows, which the snapshot keeps
    before = snapshot.bodies(model_id, contexts, scope)[contexts.searchsorted(rows.contexts)]
    cosines = snapshot.cosines(question, model_id, rows.ids, scope)
    bodies = snapshot.bodies(model_id, rows.ids, scope)
    if not bodies.shape[1] == before.shape[1] == len(question):  # none of some has a vector
        return context.above_level(cosines)
    mixed = bodies + TURN_BEFORE * before
    norm = np.sqrt(np.vecdot(mixed, mixed))
    in_talk = np.vecdot(mixed, question) / np.maximum(norm, 1e-9)
    return context.above_level(np.where(is_turn & ~np.isnan(cosines), in_talk, cosines))


def late_interaction(run: Runner, context: QueryContext, rows: Rows) -> FloatArray | None:
    """Match the question's tokens with each candidate's, (n, q); None if that did not run."""
    question, model_id, weights = context.question, context.model_id, context.question_weights
    n = len(rows)
    if question is not None and question.tokens.shape[1] == 0:
        run.trace.skip("late_interaction", "no_model", f"{model_id} has no token vectors", n)
        return None
    if question is None or model_id is None or weights is None:
        return None
    if not run.can_start("late_interaction", n):
        return None

    def match() -> FloatArray:
        snapshot, scope = context.snapshot, context.scope
        is_long = among(rows.ids, snapshot.long_among(model_id, rows.ids, scope))
        # The short ones first, together with as many long ones as may be compared at once.
        order = is_long.argsort(kind="stable")
        n_words = np.where(is_long, np.minimum(rows.n_words, MOST_IN_PASSAGES), 0)[order].cumsum()
        ends = n_words.searchsorted(np.arange(_WORDS_AT_ONCE, n_words[-1:].sum(), _WORDS_AT_ONCE))
        closest = np.full((n, len(question.tokens)), np.nan, np.float32)
        for start, end in itertools.pairwise([0, *ends.tolist(), n]):
            if start and has_stopped():
                detail = "no time for more long texts"
                run.trace.skip("late_interaction", "stopped", detail, n - start)
                break
            at = np.sort(order[start:end])
            tokens = snapshot.token_vectors(model_id, rows.ids[at], scope)
            closest[at] = closest_tokens(question.tokens, weights, tokens, len(at))
        return np.maximum(context.above_level(closest), 0.0)

    return run.run("late_interaction", n, match, None)


def closest_tokens(
    question: FloatArray, weights: FloatArray, tokens: TokenVectors, n_rows: int
) -> FloatArray:
    """Return the cosine of each question token and the closest token of each memory.

    Of a long memory, that of its beginning or of the passage that matches best.

    Args:
        question: Shape (q, d), unit rows.
        weights: Shape (q,), the weight of each question token, 0 or more.
        tokens: The memories' token vectors, unit rows of the same d.
        n_rows: Number of memories.

    Returns:
        Shape (n_rows, q), in [0, 1], negative cosines as 0; NaN for a memory without token vectors.
    """
    closest = np.full((n_rows, len(question)), np.nan, np.float32)
    if not len(tokens.rows):
        return closest
    products = np.maximum.reduceat(inner_products(question, tokens.vectors), tokens.starts, axis=1)
    products = np.minimum(np.maximum(products, 0.0), 1.0)
    rows = tokens.rows
    if (rows[1:] <= rows[:-1]).any():  # passages: the best of each memory is written last
        worst_first = weights.dot(products).argsort(kind="stable")
        rows, products = rows[worst_first], products[:, worst_first]
    closest[rows] = products.T
    return closest


def max_sim(closest: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean, over question tokens, of the cosine of the closest token.

    ``Σ w·max(0, max cos) / Σ w``: shape (n,), in [0, 1]; NaN for a memory without token vectors,
    and all NaN if all weights are 0.

    Source: Khattab & Zaharia, ColBERT, SIGIR 2020, doi:10.1145/3397271.3401075, with weights.
    """
    total = float(weights.sum())
    if total <= 0.0:
        return np.full(len(closest), np.nan, np.float32)
    with np.errstate(invalid="ignore"):  # what has no tokens is NaN
        scores: FloatArray = np.minimum(closest.dot(weights) / np.float32(total), np.float32(1.0))
    return scores
