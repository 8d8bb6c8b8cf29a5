"""Steps: each runs one stage if there is time and a model for it, and says so if not.

Words always run. A step that fails leaves the others to answer, and the answer says so.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import datetime as dt
import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder
from family_recall.encoders.loader import Models
from family_recall.qos_gate import Costs, refusal
from family_recall.query import planner
from family_recall.query.text import normalise
from family_recall.ranking import features
from family_recall.ranking.bm25 import inverse_document_frequency
from family_recall.ranking.calibration import Calibration
from family_recall.ranking.diversify import (
    maximal_marginal_relevance,
    normalised,
    word_jaccard,
)
from family_recall.ranking.late_interaction import max_sim
from family_recall.ranking.ranker import rank
from family_recall.ranking.reranker import rerank
from family_recall.sources import graph
from family_recall.sources.graph import GraphSource
from family_recall.sources.identifier import IdentifierSource
from family_recall.sources.lexical import LexicalSource
from family_recall.sources.timeline import TimelineSource
from family_recall.sources.vector import VectorSource
from family_recall.stage import (
    NO_GRAPH,
    GraphRun,
    Kind,
    Pool,
    QueryContext,
    QueryPlan,
    Ranking,
    Run,
)
from family_recall.stores.base import Rows, Snapshot
from family_recall.trace import Measured, TraceBuilder
from family_recall.types import FloatArray, RecallRequest, Region, Scope

log = logging.getLogger("family_recall")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A finished ranking, with what it was made from."""

    context: QueryContext
    pool: Pool
    graph: GraphRun
    ranking: Ranking
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class Steps:
    """The stages of one recall."""

    models: Models
    config: RecallConfig
    costs: Costs
    executor: concurrent.futures.Executor
    trace: TraceBuilder

    def plan(
        self,
        request: RecallRequest,
        scope: Scope,
        snapshot: Snapshot,
        now: dt.datetime,
        region: Region,
    ) -> QueryPlan:
        """Understand the question; what cannot be looked up is left out of the plan."""
        static = self.models.static(self._wait_ms())
        with self.trace.span("plan"):
            return planner.plan(
                request,
                scope,
                snapshot,
                now=now,
                region=region,
                encode=routing_encoder(static),
                guarded=self._guarded,
                leave_out=self.config.leave_out,
            )

    def identifiers(self, context: QueryContext) -> Run:
        """Look up what the question quotes, if it quotes anything."""
        nothing = _no_run("identifier")
        if not context.plan.identifiers:
            return nothing
        return self._attempt("identifier", 0, lambda _: IdentifierSource()(context), nothing)

    def timeline(self, context: QueryContext) -> Run:
        """Give what occurred in the time the question asks about."""
        return self._attempt(
            "timeline", 0, lambda _: TimelineSource()(context), _no_run("timeline")
        )

    def words_while_encoding(self, context: QueryContext) -> tuple[Run, QueryContext]:
        """Search words on another thread while this one encodes the question.

        SQLite and ONNX Runtime both let go of the interpreter's lock. The snapshot belongs to
        the other thread until it is done.
        """
        if not context.request.query_text.strip():
            self.trace.skip("embed", why="the question is empty")
            return self._lexical(context), context
        words = self.executor.submit(self._lexical, context)
        context = self._encoded(context)
        return words.result(), context

    def vector(self, context: QueryContext) -> Run:
        """Search vectors, if the question was encoded."""
        nothing = _no_run("vector")
        self.trace.counts["vectors_pending"] = self._guarded(
            "vector", lambda: context.snapshot.n_pending(context.model_id, context.scope), -1
        )
        if context.question is None or self._refused(context, "vector"):
            return nothing
        return self._attempt("vector", 0, lambda _: VectorSource()(context), nothing)

    def graph(self, context: QueryContext, found: Pool) -> GraphRun:
        """Spread from what was found, and hand over what else that makes likely."""
        nothing = NO_GRAPH
        if not context.profile.walks_graph:
            self.trace.skip("graph", n=len(found.ids), why="the profile does without it")
            return nothing
        if self._refused(context, "graph"):
            return nothing
        if not graph.is_warm() and context.deadline.remaining_ms() < self.config.graph_load_ms:
            self.trace.skip("graph", n=len(found.ids), why="igraph is still loading")
            return nothing

        def spread(_: Measured) -> GraphRun:
            reached = GraphSource()(context, found.ids, found.rrf)
            new = ~np.isin(reached.run.ids, found.ids)
            kept = ~new | (np.cumsum(new) <= context.config.graph_pool)
            run = Run("graph", reached.run.ids[kept], reached.run.scores[kept])
            return dataclasses.replace(reached, run=run)

        return self._attempt("graph", len(found.ids), spread, nothing)

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
            why = f"{model_id} has no token vectors"
            self.trace.skip("late_interaction", n=len(rows), why=why)
        elif question is not None and model_id is not None and weights is not None:

            def late(_: Measured) -> FloatArray:
                tokens = snapshot.token_vectors(model_id, ids, context.scope)
                return max_sim(question.tokens, weights, tokens, len(rows))

            if not self._refused(context, "late_interaction", len(rows)):
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
            self.trace.skip("rerank", n=n, why="not allowed by the request")
            return ranking
        if scorer is None:
            self.trace.skip("rerank", n=n, why=self.models.why_no_scorer)
            return ranking
        if n == 0 or self._refused(context, "rerank", 1):
            return ranking

        def read(span: Measured) -> Ranking:
            reranked, done = rerank(
                ranking,
                context,
                scorer,
                lambda dearest_ms: (
                    refusal(self.costs, context.deadline, "rerank", 1) is None
                    and dearest_ms < context.deadline.remaining_ms()
                ),
            )
            span.n_in = done
            if done < n:
                self.trace.skip("rerank", n=n - done, why="no time for more pairs")
            return reranked

        return self._attempt("rerank", n, read, ranking)

    def diversify(self, ranking: Ranking, context: QueryContext) -> Ranking:
        """Choose results that are unlike each other, if the profile or request wants that."""
        asked = context.request.ctx.mmr_lambda
        mmr_lambda = context.profile.mmr_lambda if asked is None else asked
        top_k = context.request.ctx.top_k
        pool = ranking.order[: max(top_k, self.config.mmr_pool)]
        if mmr_lambda == 1.0 or len(pool) < 2:
            return ranking
        if self._refused(context, "diversify", len(pool)):
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

    def _guarded(self, stage: str, run: Callable[[], _Result], otherwise: _Result) -> _Result:
        """Run part of a stage, and go on without it should it fail."""
        try:
            return run()
        except Exception as error:  # noqa: BLE001 - whatever fails, the other stages answer
            self._failed(stage, error)
            return otherwise

    def _failed(self, stage: str, error: Exception) -> None:
        log.warning("%s failed and was left out: %s", stage, type(error).__name__)
        log.debug("%s failed", stage, exc_info=error)
        self.trace.degrade(stage, f"failed ({type(error).__name__})")

    def _lexical(self, context: QueryContext) -> Run:
        nothing = _no_run("lexical")
        if self._left_out("lexical"):
            return nothing
        return self._attempt("lexical", 0, lambda _: LexicalSource()(context), nothing)

    def _encoded(self, context: QueryContext) -> QueryContext:
        """Encode the question: by the transformer if it is ready and affordable, else the static.

        Whichever it was is in the trace, and why it was not the other.
        """
        static = self.models.static(self._wait_ms())
        encoder = self._encoder(context, static)
        if encoder is not None:
            asked = self._asked(context, encoder, "embed", "full")
            if asked is not None:
                weights = self._attempt("weigh", 0, lambda _: token_weights(encoder, asked), None)
                return dataclasses.replace(asked, question_weights=weights)
        if static is None or self._refused(context, "embed_static"):
            return context
        return self._asked(context, static, "embed_static", "static") or context

    def _asked(
        self, context: QueryContext, encoder: Encoder, stage: str, kind: Kind
    ) -> QueryContext | None:
        """Encode the question by one embedder; None should it fail."""
        text = context.request.query_text
        encoding = self._attempt(stage, 0, lambda _: encoder.encode_question(text), None)
        if encoding is None:
            return None
        self.trace.embedder = encoder.model_id
        return dataclasses.replace(context, model_id=encoder.model_id, question=encoding, kind=kind)

    def _encoder(self, context: QueryContext, static: Encoder | None) -> Encoder | None:
        instead = "" if static is None else f"; {static.model_id} is asked instead"
        why = refusal(self.costs, context.deadline, "embed")
        if why is not None:
            self.trace.skip("embed", why=why + instead)
            return None
        wait_ms = context.deadline.remaining_ms() - self.costs.expected_ms("embed")
        if static is not None and wait_ms < self.config.embedder_load_ms:
            wait_ms = 0.0
        encoder = self.models.encoder(min(wait_ms, self.config.load_wait_ms))
        if encoder is None:
            stage = "vector" if static is None else "embed"
            self.trace.degrade(stage, (self.models.why or "no model") + instead)
        return encoder

    def _wait_ms(self) -> float:
        """How long to wait for the static embedder: half of what is left is for what follows."""
        return min(self.trace.deadline.remaining_ms() / 2.0, self.config.load_wait_ms)

    def _left_out(self, stage: str, n: int = 0) -> bool:
        if stage not in self.config.leave_out:
            return False
        self.trace.skip(stage, n=n, why="left out by the configuration")
        return True

    def _refused(self, context: QueryContext, stage: str, n: int = 0) -> bool:
        if self._left_out(stage, n):
            return True
        why = refusal(self.costs, context.deadline, stage, n)
        if why is not None:
            self.trace.skip(stage, n=n, why=why)
        return why is not None

    def _attempt(
        self, stage: str, n: int, run: Callable[[Measured], _Result], otherwise: _Result
    ) -> _Result:
        """Run a stage, learn its cost, and go on without it should it fail."""

        def timed() -> _Result:
            with self.trace.span(stage, n) as span:
                result = run(span)
                span.n_out = len(result) if isinstance(result, Run | Ranking) else span.n_in
            self.costs.observe(stage, span.n_in, span.ms)
            return result

        return self._guarded(stage, timed, otherwise)


def routing_encoder(static: Encoder | None) -> Callable[[str], FloatArray] | None:
    """Give what encodes short texts for the router: the same object for the same model."""
    # Encoders are hashed by identity; a protocol cannot say so.
    return None if static is None else _pooled_by(static)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4)
def _pooled_by(encoder: Encoder) -> Callable[[str], FloatArray]:
    return lambda text: encoder.encode_question(text).pooled


def token_weights(encoder: Encoder, context: QueryContext) -> FloatArray | None:
    """Weigh the question's tokens by how rare they are: in English, and for names at home.

    A name is rare in English and on everybody's lips at home, so its tokens weigh no more
    than its idf in the visible memories. What begins with a capital is taken for a name.
    """
    encoding = context.question
    if encoding is None:
        return None
    weights = encoder.token_weights(encoding.token_ids)
    spoken = {word for name in context.plan.names for word in name.split(" ")}
    at_home = inverse_document_frequency(context.plan.statistics)
    for (word, _), idf in zip(context.plan.terms, at_home, strict=True):
        if word[0].isupper() or normalise(word) in spoken:
            at = np.isin(encoding.token_ids, encoder.token_ids(word))
            weights[at] = np.minimum(weights[at], idf)
    return weights


def _no_run(source: str) -> Run:
    return Run(source, np.zeros(0, np.int64), np.zeros(0, np.float32))
