"""The read path on one screen: a request in; admit, plan, find, fuse, rank, answer."""

from __future__ import annotations

import concurrent.futures
import datetime as dt
from dataclasses import dataclass

import numpy as np

from family_recall import policy
from family_recall.broker.answering import answer, explanation
from family_recall.broker.steps import Ranked, Steps
from family_recall.config import RecallConfig
from family_recall.deadline import Clock, Deadline
from family_recall.encoders.loader import Models
from family_recall.explain import Explanation
from family_recall.qos_gate import Costs
from family_recall.ranking import calibration
from family_recall.ranking.fusion import reciprocal_rank_fusion
from family_recall.ranking.profiles import find_profile
from family_recall.ranking.reranker import first_was_read
from family_recall.stage import Pool, QueryContext
from family_recall.stores.snapshot import SqliteSnapshot
from family_recall.stores.store import Store
from family_recall.trace import TraceBuilder
from family_recall.types import Answer, RecallRequest


@dataclass(frozen=True, slots=True)
class Broker:
    """Answers requests from one store. Safe to share between threads."""

    store: Store
    models: Models
    config: RecallConfig
    costs: Costs
    executor: concurrent.futures.Executor
    clock: Clock

    def recall(self, request: RecallRequest, now: dt.datetime, wall_s: float) -> Answer:
        """Answer a request; never raises because time ran out or a model is missing.

        ``now`` is the moment the question is asked from, which a caller may set; ``wall_s`` is
        the time it really is, by which grants expire.

        Raises:
            InvalidRequestError: If it names a profile there is not.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If who asks, where, or
                the focus is not there, or not for this person.
        """
        steps = self._steps(request)
        with self.store.snapshot() as snapshot:
            ranked = self._rank(request, now, wall_s, snapshot, steps)
            return answer(ranked, now, steps.trace)

    def explain(
        self, request: RecallRequest, doc_id: str, now: dt.datetime, wall_s: float
    ) -> Explanation:
        """Say why a memory is in the answer to a request, or why not.

        Raises:
            UnknownMemoryError: If the request may not see such a memory, or there is none.
        """
        steps = self._steps(request)
        with self.store.snapshot() as snapshot:
            ranked = self._rank(request, now, wall_s, snapshot, steps)
            given = answer(ranked, now, steps.trace)
            memory = snapshot.find(doc_id, ranked.context.scope)
            ranking = ranked.ranking
            if memory.id not in ranking.rows.ids:
                pool = ranked.pool
                probe = Pool(np.append(pool.ids, memory.id), np.append(pool.rrf, 0.0), pool.runs)
                ranking = steps.score(ranked.context, probe)
            return explanation(memory, ranking, ranked, given)

    def _rank(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        snapshot: SqliteSnapshot,
        steps: Steps,
    ) -> Ranked:
        context = self._admit(request, now, wall_s, snapshot, steps)
        lexical, context = steps.words_while_encoding(context)
        vector = steps.vector(context)
        rrf_k = context.profile.rrf_k
        found = reciprocal_rank_fusion([lexical, vector], rrf_k=rrf_k)
        graph = steps.graph(context, found)
        with steps.trace.span("fusion", len(found.ids) + len(graph.run)) as span:
            pool = reciprocal_rank_fusion(
                [lexical, vector, graph.run],
                rrf_k=rrf_k,
                limit=context.room(self.config.candidate_pool),
            )
            span.n_out = len(pool.ids)
        ranking = steps.score(context, pool)
        ranking = steps.rerank(ranking, context)
        ranking = steps.diversify(ranking, context)
        if context.plan.strategy == "timeline":
            fitted = calibration.certain(context.plan.timespan_certainty)
        else:
            fitted = calibration.find_calibration(
                context.profile.name, context.kind, reranked=first_was_read(ranking)
            )
        return Ranked(context, pool, graph, ranking, fitted)

    def _admit(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        snapshot: SqliteSnapshot,
        steps: Steps,
    ) -> QueryContext:
        profile = find_profile(request.ctx.profile)
        scope = policy.scope_of(
            request.ctx,
            snapshot.access(request.ctx.person_id),
            snapshot.every_partition(),
            now_s=now.timestamp(),
            wall_s=wall_s,
            zone=self.store.zone,
        )
        plan = steps.plan(request, scope, snapshot, now)
        if plan.strategy == "timeline" and plan.timespan_s is not None:
            scope = policy.within(scope, plan.timespan_s, self.store.zone)
        return QueryContext(
            request=request,
            scope=scope,
            plan=plan,
            profile=profile,
            snapshot=snapshot,
            deadline=steps.trace.deadline,
            config=self.config,
            now_s=now.timestamp(),
        )

    def _steps(self, request: RecallRequest) -> Steps:
        deadline = Deadline.after(request.ctx.time_budget_ms, self.clock)
        return Steps(self.models, self.config, self.costs, self.executor, TraceBuilder(deadline))
