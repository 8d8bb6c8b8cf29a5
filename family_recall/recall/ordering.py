"""The stages that reorder a ranking: deduplicate, rerank, diversify and reject."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from family_recall.deadline import stopped_by
from family_recall.encoders.base import PairScorer
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking import reranker
from family_recall.recall.ranking.deduplication import collapse_duplicates
from family_recall.recall.ranking.diversify import (
    maximal_marginal_relevance,
    normalised,
    word_jaccard,
)
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.rejected import (
    question_hash,
    rejected_rows,
    set_last,
    sketch_of,
)
from family_recall.recall.ranking.reranker import first_was_read
from family_recall.recall.runner import Runner, question_tokens
from family_recall.store.ids import among
from family_recall.types import FloatArray


def deduplicate(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Collapse near copies into the best of them, and count them."""
    n, top_k = len(ranking), context.request.ctx.top_k
    if not run.can_start("deduplicate", n):
        return ranking
    stops: list[None] = []  # one for each call of the alarm

    def collapse() -> Ranking:
        with stopped_by(lambda: stops.append(None)):
            return collapse_duplicates(ranking, top_k, lambda: bool(stops))

    distinct = run.run("deduplicate", n, collapse, ranking)
    if stops:
        run.trace.skip("deduplicate", "stopped", "no time to look for more near copies", n)
    run.trace.counts["duplicates"] = sum(map(len, distinct.duplicates.values()))
    return distinct


def rerank(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Read the best candidates with the cross-encoder, as far as time allows."""
    n = min(len(ranking), run.config.rerank_pool)
    scorer = run.models.scorer()
    if not context.request.ctx.allow_cross_encoder:
        run.trace.skip("rerank", "disabled", "not allowed by the request", n)
        return ranking
    if not run.is_weighed("rerank", context.profile, n):
        return ranking
    if scorer is None:
        run.trace.skip("rerank", "no_model", run.models.why_no_scorer, n)
        is_wanted = "rerank" not in run.config.leave_out and not context.plan.about_time_alone
        if is_wanted and (fault := run.models.scorer_fault) is not None:
            run.trace.degraded.append(f"rerank: {fault}")
        return ranking
    if context.plan.about_time_alone:
        run.trace.skip("rerank", "not_needed", "the time asked for decides", n)
        return ranking
    shortest = question_tokens(context.searched_text)
    if n == 0 or not run.can_start("rerank", shortest, left_out=n):
        return ranking
    return _read_pairs(run, context, ranking, scorer, n)


def read_first(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Read the first candidate, where it was put there after the others were read."""
    scorer, features = run.models.scorer(), ranking.features
    was_read = features[:, INDEX["cross_encoder"]].any()
    if scorer is None or not was_read or first_was_read(ranking):
        return ranking
    if not run.can_start("rerank", question_tokens(context.searched_text), left_out=1):
        return ranking
    return _read_pairs(run, context, ranking, scorer, 1)


def diversify(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Choose results that are unlike each other, if the profile or the request wants that."""
    ctx = context.request.ctx
    mmr_lambda = context.profile.mmr_lambda if ctx.mmr_lambda is None else ctx.mmr_lambda
    rows = ranking.order[: max(ctx.top_k, run.config.mmr_pool)]
    n = len(rows)
    run.trace.decisions["diversify"] = f"λ = {mmr_lambda:g}"
    if mmr_lambda == 1.0 or n < 2 or not run.can_start("diversify", n):
        return ranking

    def pick() -> Ranking:
        similarity: FloatArray | None = None
        if context.model_id is not None:
            ids = ranking.rows.ids
            bodies = context.snapshot.bodies(context.model_id, ids, context.scope)[rows]
            similarity = bodies.dot(bodies.T)
        if similarity is None or not similarity.diagonal().all():  # one has no vector
            similarity = word_jaccard(ranking.rows)[np.ix_(rows, rows)]
        picks = maximal_marginal_relevance(
            normalised(ranking.score[rows]), similarity, mmr_lambda=mmr_lambda, top_k=ctx.top_k
        )
        ranks = {row: rank for rank, row in enumerate(rows.tolist(), start=1)}
        picked = list(dict.fromkeys([*rows[picks].tolist(), *ranks]))
        picked = _below_what_they_follow(ranking, picked, ranks)
        moved = {row: ranks[row] for rank, row in enumerate(picked, start=1) if ranks[row] != rank}
        order = np.concatenate([np.array(picked, np.int64), ranking.order[n:]])
        return replace(ranking, order=order, rank_by_score=moved)

    return run.run("diversify", n, pick, ranking)


def set_rejected_last(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Place what the asker rejected for a question like this behind all others.

    Aloud it counts for nothing, since what was rejected may be private. Where they rejected no
    candidate, nothing is encoded or compared.
    """
    person_id = context.request.ctx.person_id
    if person_id is None or context.request.ctx.aloud:
        return ranking
    verdicts = context.snapshot.verdicts(person_id)
    if not verdicts:
        return ranking
    memories = np.array([verdict.memory for verdict in verdicts], np.int64)
    if not among(ranking.rows.ids, memories).any():
        return ranking

    def put_last() -> Ranking:
        question = context.request.query_text
        asked = sketch_of(question, context.snapshot, run.models.static(0.0))
        hashed = question_hash(person_id, question)
        rows = rejected_rows(ranking, verdicts, asked, hashed)
        if rows:
            run.trace.decisions["rejected"] = "what the asker rejected for the like comes last"
        return set_last(ranking, rows)

    return run.look_up("rejected", put_last, ranking)


def _below_what_they_follow(
    ranking: Ranking, rows: list[int], ranks: Mapping[int, int]
) -> list[int]:
    """Keep questions below their replies, and what is outdated below what replaces it.

    Args:
        ranking: Before anything was picked.
        rows: In the order of the picks.
        ranks: Where each stood before.
    """
    pairs = [(row, successor.row) for row, successor in ranking.superseded_by.items()]
    pairs += [(asked, reply) for reply, asked in ranking.reply_to.items()]
    follows = {
        row: above
        for row, above in pairs
        if row in ranks and above in ranks and ranks[above] < ranks[row]
    }
    if not follows:
        return rows
    held, order = dict[int, list[int]](), list[int]()

    def place(row: int) -> None:
        order.append(row)
        for waiting in held.pop(row, ()):
            place(waiting)

    for row in rows:
        above = follows.get(row)
        if above is not None and above not in order:
            held.setdefault(above, []).append(row)
        else:
            place(row)
    return order


def _read_pairs(
    run: Runner, context: QueryContext, ranking: Ranking, scorer: PairScorer, n: int
) -> Ranking:
    """Read pairs until the time is up; each is priced by its own length, and learned at once."""
    start_ms = context.deadline.elapsed_ms()
    with run.alarm("rerank") as alarm:
        try:
            with run.trace.span("rerank", n) as span:
                reranked, n_read, matters = reranker.rerank(
                    ranking,
                    ranking.order[:n],
                    context,
                    scorer,
                    lambda n_tokens: run.refusal("rerank", n_tokens) is None,
                    learn=functools.partial(run.costs.observe, "rerank"),
                    stopped=lambda: alarm.fired,
                )
                span.n_in = span.n_out = n_read
        except Exception as error:  # noqa: BLE001 - whatever fails, the others stand as ranked
            run.give_up("rerank", n, error, start_ms, stopped=alarm.fired)
            return ranking
    ended = "all that it may read were read"
    if matters:
        ended = "no time for more pairs"
        run.trace.skip("rerank", "no_time", ended, n - n_read)
    elif n_read < n:
        ended = "no reading can change the first"
        run.trace.skip("rerank", "not_needed", ended, n - n_read)
    run.trace.decisions.setdefault("rerank", ended)
    return reranked
