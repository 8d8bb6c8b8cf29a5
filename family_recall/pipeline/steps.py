"""Steps: each runs one stage if there is time and a model for it, and says so if not.

Words always run. A step that fails leaves the others to answer, and the answer says so.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import datetime as dt
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from family_recall.dataflow import (
    NO_GRAPH,
    GraphRun,
    Pool,
    QueryContext,
    QueryPlan,
    Ranking,
    Run,
)
from family_recall.pipeline.gate import question_tokens
from family_recall.pipeline.question_encoding import Embedding, routing_encoder
from family_recall.pipeline.runner import AFTER_GRAPH, AFTER_SOURCES, AFTER_STATIC
from family_recall.pipeline.trace import Measured
from family_recall.query import planner
from family_recall.ranking import features
from family_recall.ranking.calibration import Calibration
from family_recall.ranking.deduplication import collapse_duplicates, lacks_distinct_results
from family_recall.ranking.diversify import (
    maximal_marginal_relevance,
    normalised,
    word_jaccard,
)
from family_recall.ranking.late_interaction import max_sim
from family_recall.ranking.ranker import rank
from family_recall.ranking.reranker import rerank
from family_recall.sources.graph import walk_graph
from family_recall.sources.identifier import look_up_identifiers
from family_recall.sources.lexical import search_words
from family_recall.sources.timeline import search_timeline
from family_recall.sources.vector import search_vectors
from family_recall.stores.records import Rows, Snapshot, among
from family_recall.types import FloatArray, RecallRequest, Region, Scope

_UNDERSTANDING = frozenset({"time", "routing"})  # what a plan can do without


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates in a first order, with the pool and the graph they came from."""

    pool: Pool
    graph: GraphRun
    ranking: Ranking


@dataclass(frozen=True, slots=True)
class Ranked:
    """A finished ranking, with what it was made from."""

    context: QueryContext
    pool: Pool
    graph: GraphRun
    ranking: Ranking
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class Steps(Embedding):
    """The stages of one recall."""

    executor: concurrent.futures.Executor

    def plan(
        self,
        request: RecallRequest,
        scope: Scope,
        snapshot: Snapshot,
        now: dt.datetime,
        region: Region,
    ) -> QueryPlan:
        """Understand the question; what cannot be looked up is left out of the plan."""
        static = self.models.static(self.wait_ms())
        leave_out = self.config.leave_out
        tail_ms = self.admitted.tail_ms("lexical", "embed_static", *AFTER_STATIC)
        why = self.admitted.refusal("plan", tail_ms=tail_ms)
        if why is not None:
            # What a question is after, and when, is a matter of order; words find all the same.
            leave_out |= _UNDERSTANDING
            for stage in sorted(_UNDERSTANDING):
                self.trace.skip(stage, why.reason, why.detail)
        with self.trace.span("plan") as span:
            plan = planner.plan(
                request,
                scope,
                snapshot,
                now=now,
                region=region,
                encode=routing_encoder(static),
                guarded=self._guarded,
                leave_out=leave_out,
            )
        if why is None:
            self.admitted.observe("plan", 0, span.ms)
        return plan

    def identifiers(self, context: QueryContext) -> Run:
        """Look up what the question quotes, if it quotes anything."""
        nothing = _no_run("identifier")
        if not context.plan.identifiers or self._left_out("identifiers"):
            return nothing
        return self._attempt("identifier", 0, lambda _: look_up_identifiers(context), nothing)

    def timeline(self, context: QueryContext) -> Run:
        """Give what occurred in the time the question asks about."""
        return self._attempt("timeline", 0, lambda _: search_timeline(context), _no_run("timeline"))

    def words_while_encoding(self, context: QueryContext) -> tuple[Run, QueryContext]:
        """Search words on another thread while this one encodes the question.

        SQLite and ONNX Runtime both let go of the interpreter's lock. The snapshot belongs to
        the other thread until it is done.
        """
        self.admitted.yield_to_urgent()
        if not context.request.query_text.strip():
            self.trace.skip("embed", "not_needed", "the question is empty")
            return self.lexical(context), context
        if self._is_found_at_once(context) or self.is_encoded_at_once(context):
            # Handing over to a thread and back would be the dearest part.
            return self.lexical(context), self.encoded(context)
        words = self.executor.submit(self.lexical, context)
        context = self.encoded(context)
        return words.result(), context

    def lexical(self, context: QueryContext) -> Run:
        """Search words; the rarest alone where there is no time for all."""
        nothing = _no_run("lexical")
        if self._left_out("lexical"):
            return nothing
        n = _matches(context)
        affordable = self.admitted.affordable("lexical", self.admitted.tail_ms(*AFTER_SOURCES))
        if affordable < n:
            self.trace.skip(
                "lexical", "no_time", "no time for words that many hold", n - affordable
            )
            config = dataclasses.replace(context.config, lexical_matches=affordable)
            context, n = dataclasses.replace(context, config=config), affordable
        return self._attempt(
            "lexical", n, lambda _: search_words(context), nothing, after=AFTER_SOURCES
        )

    def vector(self, context: QueryContext) -> Run:
        """Search vectors, if the question was encoded."""
        nothing = _no_run("vector")
        n = sum(partition.n_current for partition in context.snapshot.partitions(context.scope))
        # First of all: what counts the vectors may have to read them.
        if self._refused("vector", n, after=AFTER_SOURCES):
            return nothing
        self.trace.counts["vectors_pending"] = self._guarded(
            "vector", lambda: context.snapshot.n_pending(context.model_id, context.scope), -1
        )
        question, model_id = context.question, context.model_id
        if question is None or model_id is None:
            return nothing
        return self._attempt(
            "vector",
            n,
            lambda _: search_vectors(context, question, model_id),
            nothing,
            after=AFTER_SOURCES,
        )

    def graph(self, context: QueryContext, found: Pool) -> GraphRun:
        """Spread from what was found, and hand over what else that makes likely."""
        nothing = NO_GRAPH
        if not context.profile.walks_graph:
            self.trace.skip("graph", "zero_weight", "the profile does without it", len(found.ids))
            return nothing
        if self._refused("graph", len(found.ids), after=AFTER_GRAPH):
            return nothing

        def spread(_: Measured) -> GraphRun:
            reached = walk_graph(context, found.ids, found.rrf)
            new = ~among(reached.run.ids, found.ids)
            kept = ~new | (np.cumsum(new) <= context.config.graph_pool)
            run = Run("graph", reached.run.ids[kept], reached.run.scores[kept])
            return dataclasses.replace(reached, run=run)

        return self._attempt("graph", len(found.ids), spread, nothing, after=AFTER_SOURCES)

    def score(self, context: QueryContext, pool: Pool) -> Ranking:
        """Load the candidates, compute their features, and order them by the linear score."""
        with self.trace.span("load", len(pool.ids)) as span:
            rows = context.snapshot.rows(pool.ids, context.scope)
            span.n_out = len(rows)
        ids, snapshot = rows.ids, context.snapshot
        cosines: FloatArray | None = None
        closest: FloatArray | None = None
        question, model_id, weights = context.question, context.model_id, context.question_weights
        if question is not None and model_id is not None:
            cosines = self._guarded(
                "vector",
                lambda: snapshot.cosines(question.pooled, model_id, ids, context.scope),
                None,
            )
        if question is not None and question.tokens.shape[1] == 0:
            detail = f"{model_id} has no token vectors"
            self.trace.skip("late_interaction", "no_model", detail, len(rows))
        elif question is not None and model_id is not None and weights is not None:

            def late(_: Measured) -> FloatArray:
                tokens = snapshot.token_vectors(model_id, ids, context.scope)
                return max_sim(question.tokens, weights, tokens, len(rows))

            if not self._refused("late_interaction", len(rows)):
                closest = self._attempt("late_interaction", len(rows), late, None)
        with self.trace.span("rank", len(rows)) as span:
            values = features.compute(
                pool, rows, closest, cosines, self._mentions(rows, context), context
            )
            ranking = rank(rows, values, context.profile)
            span.n_out = len(ranking)
        return ranking

    def rerank(self, ranking: Ranking, context: QueryContext) -> Ranking:
        """Let the cross-encoder read the best candidates, as far as time goes."""
        n = min(len(ranking), self.config.rerank_pool)
        scorer = self.models.scorer()
        if not context.request.ctx.allow_cross_encoder:
            self.trace.skip("rerank", "disabled", "not allowed by the request", n)
            return ranking
        if scorer is None:
            self.trace.skip("rerank", "no_model", self.models.why_no_scorer, n)
            return ranking
        shortest = question_tokens(context.request.query_text)
        if n == 0 or self._refused("rerank", shortest):
            return ranking
        tail_ms = self.admitted.tail_ms("finish")

        def affordable(n_tokens: int) -> bool:
            self.admitted.yield_to_urgent()
            return self.admitted.refusal("rerank", n_tokens, tail_ms=tail_ms) is None

        def read() -> Ranking:
            with self.trace.span("rerank", n) as span:
                reranked, done = rerank(
                    ranking,
                    context,
                    scorer,
                    affordable,
                    learn=lambda n_tokens, ms: self.admitted.observe("rerank", n_tokens, ms),
                    stopped=lambda: guard.fired,
                )
                span.n_in = span.n_out = done
            if done < n:
                self.trace.skip("rerank", "no_time", "no time for more pairs", n - done)
            return reranked

        stop_s, started_ms = context.deadline.moment_s(tail_ms), context.deadline.elapsed_ms()
        with self.admitted.alarm.guard(stop_s, self.interrupt) as guard:
            try:
                return read()
            except Exception as error:  # noqa: BLE001 - whatever fails, the others stand as ranked
                self._given_up("rerank", n, error, since_ms=started_ms, stopped=guard.fired)
                return ranking

    def room(self, context: QueryContext) -> int:
        """Say how many candidates to score: all there is room for, or those that time pays for."""
        wanted = context.room(context.config.candidate_pool)
        affordable = self.admitted.affordable("score", self.admitted.tail_ms("finish"))
        given = min(wanted, max(affordable, self.config.fewest_candidates))
        if given < wanted:
            left = max(self.admitted.deadline.remaining_ms(), 0.0)
            detail = f"no time for more, {left:.1f} ms left"
            self.trace.skip("score", "no_time", detail, wanted - given)
        return given

    def fold(self, ranking: Ranking, context: QueryContext) -> Ranking:
        """Put copies behind one of them, and count them."""
        if self._refused("deduplicate", len(ranking)):
            return ranking
        wanted = context.request.ctx.top_k
        distinct = self._attempt(
            "deduplicate", len(ranking), lambda _: collapse_duplicates(ranking, wanted), ranking
        )
        self.trace.counts["duplicates"] = sum(map(len, distinct.duplicates.values()))
        return distinct

    def widen(
        self, found: Found, context: QueryContext, search: Callable[[QueryContext], Found]
    ) -> Found:
        """Search again for more, as long as copies leave no room for others and time is left.

        Nobody searches again who has found all there is.
        """
        config, n_visible = self.config, context.plan.statistics.n_memories
        room = context.room(config.candidate_pool)
        for times in config.wider_pools:
            sizes = {"lexical": context.config.lexical_pool, "vector": context.config.vector_pool}
            more = any(len(found.pool.runs[name]) >= context.room(k) for name, k in sizes.items())
            n = min(times * config.candidate_pool, n_visible)
            if (
                not more
                or not lacks_distinct_results(found.ranking, room)
                or self._refused("widen", n)
            ):
                break
            context = dataclasses.replace(
                context,
                config=dataclasses.replace(
                    config,
                    lexical_pool=times * config.lexical_pool,
                    vector_pool=times * config.vector_pool,
                    candidate_pool=times * config.candidate_pool,
                ),
            )
            found = self._attempt("widen", n, functools.partial(_searched, search, context), found)
        return found

    def diversify(self, ranking: Ranking, context: QueryContext) -> Ranking:
        """Choose results that are unlike each other, if the profile or request wants that."""
        asked = context.request.ctx.mmr_lambda
        mmr_lambda = context.profile.mmr_lambda if asked is None else asked
        top_k = context.request.ctx.top_k
        pool = ranking.order[: max(top_k, self.config.mmr_pool)]
        if mmr_lambda == 1.0 or len(pool) < 2:
            return ranking
        if self._refused("diversify", len(pool)):
            return ranking

        def pick(_: Measured) -> Ranking:
            ids = ranking.rows.ids[pool]
            similarity = (
                None
                if context.model_id is None
                else context.snapshot.similarities(context.model_id, ids, context.scope)
            )
            if similarity is None:
                similarity = word_jaccard(ranking.rows)[np.ix_(pool, pool)]
            picks = maximal_marginal_relevance(
                normalised(ranking.score[pool]), similarity, mmr_lambda=mmr_lambda, top_k=top_k
            )
            rest = np.setdiff1d(np.arange(len(pool)), picks)
            order = np.concatenate([pool[picks], pool[rest], ranking.order[len(pool) :]])
            return dataclasses.replace(ranking, order=order)

        return self._attempt("diversify", len(pool), pick, ranking)

    def _mentions(self, rows: Rows, context: QueryContext) -> list[tuple[int, int]]:
        """Give which candidates mention what the question names, if the profile weighs that."""
        entities = [entity.id for entity in context.plan.entities]
        if not entities or not len(rows) or "entities" not in context.profile.weights:
            return []
        return self._guarded(
            "mentions", lambda: context.snapshot.mentions(rows.ids, entities, context.scope), []
        )

    def _is_found_at_once(self, context: QueryContext) -> bool:
        """Whether searching words takes no longer than is worth hiding."""
        words_ms = self.admitted.expected_ms("lexical", _matches(context))
        return words_ms < self.config.hand_over_ms


def _searched(search: Callable[[QueryContext], Found], context: QueryContext, _: Measured) -> Found:
    return search(context)


def _matches(context: QueryContext) -> int:
    """Count, word by word, the memories that hold what is searched for."""
    return int(context.plan.statistics.document_frequency.sum())


def _no_run(source: str) -> Run:
    return Run(source, np.zeros(0, np.int64), np.zeros(0, np.float32))
