"""The read path on one screen: a request in; admit, plan, find, fuse, rank, answer."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from family_recall.access import policy
from family_recall.config import RecallConfig
from family_recall.dataflow import NO_GRAPH, QueryContext, QueryPlan, Run
from family_recall.encoders.loader import Models
from family_recall.errors import StoreError
from family_recall.pipeline.answer import answer, explanation
from family_recall.pipeline.explain import Explanation, Inspection
from family_recall.pipeline.gate import Gate
from family_recall.pipeline.near_misses import missed
from family_recall.pipeline.steps import Found, Ranked, Steps
from family_recall.pipeline.trace import TraceBuilder
from family_recall.query import planner
from family_recall.ranking import calibration
from family_recall.ranking.deduplication import without
from family_recall.ranking.fusion import reciprocal_rank_fusion
from family_recall.ranking.learned_weights import personal_calibration, personal_profile
from family_recall.ranking.profiles import OPENING, QUOTED, find_profile, reweighed
from family_recall.ranking.reranker import first_was_read
from family_recall.sources.opening import opening_runs
from family_recall.stores.read.snapshot import SqliteSnapshot
from family_recall.stores.store import Store
from family_recall.types import Answer, RecallRequest, Region, Understanding

QUOTED_CERTAINTY = 0.95
"""Confidence that a memory with exactly the identifier a question quotes is what it wants."""


@dataclass(frozen=True, slots=True)
class Broker:
    """Answers requests from one store. Safe to share between threads.

    ``noticed`` says what is known to be wrong with the file; every answer tells it.
    """

    store: Store
    models: Models
    config: RecallConfig
    gate: Gate
    executor: concurrent.futures.Executor
    noticed: Callable[[], str | None] = lambda: None

    def recall(self, request: RecallRequest, now: dt.datetime, wall_s: float) -> Answer:
        """Answer a request; never raises because time ran out or a model is missing.

        ``now`` is the moment the question is asked from, which a caller may set; ``wall_s`` is
        the time it really is, by which grants expire.

        Raises:
            InvalidRequestError: If it names a profile there is not.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If who asks, where, or
                the focus is not there, or not for this person.
        """
        with self._asked(request) as (asked, snapshot, steps):
            _, told = self._answered(asked, now, wall_s, snapshot, steps)
            return told

    def inspect(self, request: RecallRequest, now: dt.datetime, wall_s: float) -> Inspection:
        """Answer a request, and say of what came close why it is not in the answer.

        Raises:
            As :meth:`recall`.
        """
        with self._asked(request) as (asked, snapshot, steps):
            ranked, told = self._answered(asked, now, wall_s, snapshot, steps)
            return Inspection(told, missed(ranked, told))

    def opening(self, request: RecallRequest, now: dt.datetime, wall_s: float) -> Answer:
        """Give what a conversation begins with: recent talk, and what lasts.

        Raises:
            As :meth:`recall`.
        """
        with self._asked(request) as (asked, snapshot, steps):
            context = self._admit(asked, now, wall_s, snapshot, steps)
            context = dataclasses.replace(context, profile=OPENING, plan=QueryPlan())
            pool = reciprocal_rank_fusion(opening_runs(context), rrf_k=OPENING.rrf_k)
            ranking = steps.diversify(steps.score(context, pool), context)
            # Nothing was asked, so nothing can be the wrong answer.
            given = Ranked(context, pool, NO_GRAPH, ranking, calibration.certain(1.0))
            return answer(given, now, steps.trace)

    def explain(
        self, request: RecallRequest, doc_id: str, now: dt.datetime, wall_s: float
    ) -> Explanation:
        """Say why a memory is in the answer to a request, or why not.

        Raises:
            UnknownMemoryError: If the request may not see such a memory, or there is none.
            StoreError: If it is damaged in the file, and so is in no answer.
        """
        with self._asked(request) as (asked, snapshot, steps):
            ranked = self._rank(asked, now, wall_s, snapshot, steps)
            given = answer(ranked, now, steps.trace)
            memory = snapshot.find(doc_id, ranked.context.scope)
            if not memory.intact:
                raise StoreError(
                    f"{doc_id!r} is damaged in the file, so no answer holds it; family-recall "
                    "doctor --repair takes it out"
                )
            ranking = without(ranked.ranking, np.array(sorted(snapshot.damaged), np.int64))
            ranked = dataclasses.replace(ranked, ranking=ranking)
            if memory.id not in ranking.rows.ids:
                pool = ranked.pool
                probe = dataclasses.replace(
                    pool, ids=np.append(pool.ids, memory.id), rrf=np.append(pool.rrf, 0.0)
                )
                ranking = steps.score(ranked.context, probe)
            return explanation(memory, ranking, ranked, given)

    def understand(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        region: Region | None = None,
    ) -> Understanding:
        """Say what a question is understood to ask, searching for nothing.

        Raises:
            As :meth:`recall`.
        """
        with self._asked(request) as (asked, snapshot, steps):
            plan = self._admit(asked, now, wall_s, snapshot, steps, region).plan
        return planner.understanding(request.query_text, plan, self.store.zone)

    def _answered(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        snapshot: SqliteSnapshot,
        steps: Steps,
    ) -> tuple[Ranked, Answer]:
        ranked = self._rank(request, now, wall_s, snapshot, steps)
        with steps.charged("finish") as stretch:
            told = answer(ranked, now, steps.trace)
            stretch.n_in = len(told.results)
        steps.charge_the_rest()
        return ranked, told

    def _rank(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        snapshot: SqliteSnapshot,
        steps: Steps,
    ) -> Ranked:
        context = self._admit(request, now, wall_s, snapshot, steps)
        quoted = steps.identifiers(context)
        if len(quoted) and quoted.scores[0] == 1.0:
            return self._fast_path(context, quoted, steps)
        lexical, context = steps.words_while_encoding(context)
        found = self._found(context, lexical, quoted, steps)
        found = steps.widen(
            found, context, lambda wide: self._found(wide, steps.lexical(wide), quoted, steps)
        )
        ranking = steps.rerank(found.ranking, context)
        ranking = steps.diversify(ranking, context)
        if context.plan.about_time_alone:
            fitted = calibration.certain(context.plan.timespan_certainty)
        else:
            fitted = calibration.find_calibration(
                context.profile.calibrated_as or context.profile.name,
                context.kind,
                reranked=first_was_read(ranking),
            )
            fitted = personal_calibration(fitted, context.profile)
        return Ranked(context, found.pool, found.graph, ranking, fitted)

    def _found(self, context: QueryContext, lexical: Run, quoted: Run, steps: Steps) -> Found:
        """Find, fuse, order and fold, as many as the context has room for."""
        vector = steps.vector(context)
        rrf_k = context.profile.rrf_k
        found = reciprocal_rank_fusion([lexical, vector], rrf_k=rrf_k)
        graph = steps.graph(context, found)
        with steps.charged("score") as stretch:
            with steps.trace.span("fusion", len(found.ids) + len(graph.run)) as span:
                pool = reciprocal_rank_fusion(
                    [lexical, vector, graph.run, quoted, *self._occurred(context, steps)],
                    rrf_k=rrf_k,
                    limit=steps.room(context),
                )
                pool = dataclasses.replace(pool, graph_bias=graph.bias)
                span.n_out = stretch.n_in = len(pool.ids)
            return Found(pool, graph, steps.fold(steps.score(context, pool), context))

    def _fast_path(self, context: QueryContext, quoted: Run, steps: Steps) -> Ranked:
        """Rank what holds the identifiers a question quotes: no vectors, no second reading."""
        for stage in ("embed", "vector", "graph", "rerank"):
            steps.trace.skip(
                stage, "not_needed", "the question quotes an identifier that was found"
            )
        context = dataclasses.replace(context, profile=QUOTED)
        whole = quoted.scores == 1.0
        quoted = Run(quoted.source, quoted.ids[whole], quoted.scores[whole])
        pool = reciprocal_rank_fusion([quoted], rrf_k=context.profile.rrf_k)
        sure = calibration.certain(QUOTED_CERTAINTY)
        ranking = steps.fold(steps.score(context, pool), context)
        return Ranked(context, pool, NO_GRAPH, ranking, sure)

    def _occurred(self, context: QueryContext, steps: Steps) -> list[Run]:
        return [steps.timeline(context)] if context.plan.about_time_alone else []

    def _admit(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        snapshot: SqliteSnapshot,
        steps: Steps,
        region: Region | None = None,
    ) -> QueryContext:
        profile = find_profile(request.ctx.profile, request.ctx.mode)
        if self.config.weights:
            profile = reweighed(profile, self.config.weights)
        profile = personal_profile(profile, snapshot.learned(request.ctx.person_id))
        scope = policy.scope_in(
            snapshot, request.ctx, wall_s=wall_s, zone=self.store.zone, now_s=now.timestamp()
        )
        plan = steps.plan(request, scope, snapshot, now, region or self.store.region)
        if plan.about_time_alone and plan.timespan_s is not None:
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

    @contextlib.contextmanager
    def _asked(
        self, request: RecallRequest
    ) -> Iterator[tuple[RecallRequest, SqliteSnapshot, Steps]]:
        """Let a request through the gate, and open the file for it: the request as it may be."""
        with self.gate.admitted(request) as admitted, self.store.snapshot() as snapshot:
            admitted.yield_to_urgent()
            trace = TraceBuilder(admitted.deadline, gate=admitted.admission())
            if (damage := self.noticed()) is not None:
                trace.degrade("file", "damaged", damage)
            steps = Steps(
                config=self.config,
                admitted=admitted,
                trace=trace,
                interrupt=snapshot.interrupt,
                models=self.models,
                executor=self.executor,
            )
            yield admitted.request, snapshot, steps
