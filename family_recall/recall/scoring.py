"""The stages that put a pool of candidates in order by their linear score."""

from __future__ import annotations

import msgspec

from family_recall.recall.dataflow import GraphRun, Pool, QueryContext, Ranking
from family_recall.recall.ranking.calibration import Certainty, certain
from family_recall.recall.ranking.features import compute
from family_recall.recall.ranking.late_interaction import closest_tokens, max_sim
from family_recall.recall.ranking.ranker import rank
from family_recall.recall.ranking.temporal import NO_MENTIONS
from family_recall.recall.runner import Runner
from family_recall.store.memory_queries import Rows
from family_recall.types import FloatArray


class Ranked(msgspec.Struct, frozen=True):
    """A ranking with what it was made from, and how sure it is.

    ``uncovered`` names what the question names and the first candidate says nothing about.
    """

    context: QueryContext
    pool: Pool
    graph: GraphRun
    ranking: Ranking
    certainty: Certainty = certain(0.0)
    uncovered: tuple[str, ...] = ()


def score(run: Runner, context: QueryContext, pool: Pool) -> Ranking:
    """Load the candidates, compare them with the question, and order them.

    A candidate that is gone has no row.
    """
    snapshot, scope = context.snapshot, context.scope
    with run.trace.span("load", len(pool.ids)) as span:
        rows = snapshot.rows(pool.ids, scope)
        n = span.n_out = len(rows)
    cosines: FloatArray | None = None
    question, model_id = context.question, context.model_id
    if question is not None and model_id is not None:
        with run.trace.span("cosines", n) as span:
            span.n_out = n
            cosines = run.look_up(
                "cosines",
                lambda: snapshot.cosines(question.pooled, model_id, rows.ids, scope),
                None,
            )
    closest = late_interaction(run, context, rows)
    with run.trace.span("features", n) as span:
        span.n_out = n
        values = features(run, context, pool, rows, cosines, closest)
    with run.trace.span("rank", n) as span:
        ranking = rank(rows, values, context.profile, closest)
        span.n_out = len(ranking)
    return ranking


def affordable_pool(run: Runner, context: QueryContext) -> int:
    """Return how many candidates to score: all there is room for, or those that time pays for."""
    wanted = context.pool_size(context.config.candidate_pool)
    size = min(wanted, max(run.affordable("score"), run.config.fewest_candidates))
    if size < wanted:
        left_ms = max(run.deadline.remaining_ms(), 0.0)
        detail = f"no time for more, {left_ms:.1f} ms left"
        run.trace.skip("score", "no_time", detail, wanted - size)
    return size


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
        tokens = context.snapshot.token_vectors(model_id, rows.ids, context.scope)
        return closest_tokens(question.tokens, weights, tokens, n)

    return run.run("late_interaction", n, match, None)


def features(
    run: Runner,
    context: QueryContext,
    pool: Pool,
    rows: Rows,
    cosines: FloatArray | None,
    closest: FloatArray | None,
) -> FloatArray:
    """Compute what speaks for each candidate: shape (n, f), in the order of ``FEATURES``.

    What candidates mention is looked up where the question names it and the profile weighs it.
    """
    snapshot, scope, plan = context.snapshot, context.scope, context.plan
    weighs = context.profile.weights.get
    mentions: list[tuple[int, int]] = []
    entities = [entity.id for entity in plan.entities]
    if entities and len(rows) and weighs("entities"):
        mentions = run.look_up(
            "mentions", lambda: snapshot.mentions(rows.ids, entities, scope), mentions
        )
    times = NO_MENTIONS
    if plan.timespan_s is not None and weighs("temporal_match"):
        times = run.look_up("times", lambda: snapshot.mentioned_times(rows.ids, scope), times)
    weights = context.question_weights
    matched = None if closest is None or weights is None else max_sim(closest, weights)
    return compute(pool, rows, matched, cosines, mentions, context, times)
