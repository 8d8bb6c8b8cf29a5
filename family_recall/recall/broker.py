"""The read path on one screen: admit a request, plan, search, fuse, rank, answer."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from msgspec.structs import replace

from family_recall.access import policy
from family_recall.config import RecallConfig
from family_recall.encoders.loader import Models
from family_recall.english import Question
from family_recall.errors import StoreError
from family_recall.recall import ordering, replying, scoring, searching, superseding
from family_recall.recall.answer import Ranked, explanation, make_answer
from family_recall.recall.dataflow import NO_GRAPH, QueryContext, QueryPlan, Ranking, Run, mode_of
from family_recall.recall.explain import Explanation, Inspection
from family_recall.recall.gate import Gate
from family_recall.recall.near_misses import near_misses
from family_recall.recall.question import planner
from family_recall.recall.ranking import calibration
from family_recall.recall.ranking.deduplication import lacks_distinct_results, without
from family_recall.recall.ranking.evidence import evidence
from family_recall.recall.ranking.focus import first_is_near_focus
from family_recall.recall.ranking.fusion import reciprocal_rank_fusion
from family_recall.recall.ranking.learned_weights import personal_profile
from family_recall.recall.ranking.opening import recent_first
from family_recall.recall.ranking.profiles import (
    OPENING,
    QUOTED,
    for_breadth,
    for_mode,
    requested_profile,
)
from family_recall.recall.ranking.reranker import first_was_read
from family_recall.recall.rejecting import set_rejected_last
from family_recall.recall.runner import Runner
from family_recall.recall.scoring import Candidates
from family_recall.recall.sources.search import evidence_of_relations, opening_runs
from family_recall.recall.trace import TraceBuilder
from family_recall.recall.uncovered import uncovered
from family_recall.recall.understanding import describe, opening_plan, understand
from family_recall.store.snapshot import Snapshot
from family_recall.store.store import Store
from family_recall.types import Answer, RecallRequest, Region, Scope, Understanding

Refinement = Callable[[Runner, QueryContext, Ranking], Ranking]
"""A stage that takes a ranking and returns it in a better order."""


class _Recall(msgspec.Struct, frozen=True):
    """One request that was admitted, with the file and the runner that answer it."""

    request: RecallRequest
    now: dt.datetime
    wall_s: float
    snapshot: Snapshot
    run: Runner


@dataclass(frozen=True, slots=True)
class Broker:
    """Answers requests from one store. Safe to share between threads.

    ``known_damage`` returns what is wrong with the file, which every answer reports.
    ``refinements`` reorder the candidates, one after the other.

    Each method takes ``now``, the moment the question is asked from, which a caller may set, and
    ``wall_s``, the time it really is, by which grants expire. None raises because time ran out or
    a model is missing. All raise :class:`InvalidRequestError` for an unknown profile, and
    :class:`UnknownPersonError` or :class:`UnknownSpaceError` where the person or the space does not
    exist or is not accessible to this person.
    """

    store: Store
    models: Models
    config: RecallConfig
    gate: Gate
    executor: concurrent.futures.Executor
    known_damage: Callable[[], str | None] = lambda: None
    refinements: tuple[Refinement, ...] = (
        ordering.rerank,
        replying.promote_replies,
        superseding.supersede,
        ordering.read_first,
        ordering.diversify,
    )

    def recall(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        asked_at_s: float | None = None,
    ) -> Answer:
        """Answer a request; one that asks what a conversation begins with gets :meth:`opening`.

        Its budget counts from ``asked_at_s`` by the gate's clock; from now, when left out.
        """
        if Question(request.query_text).opens_conversation:
            return self.opening(request, now, wall_s, asked_at_s)
        with self._started(request, now, wall_s, asked_at_s) as recall:
            _, answer = self._answer(recall)
            return answer

    def inspect(self, request: RecallRequest, now: dt.datetime, wall_s: float) -> Inspection:
        """Answer a request, and explain for what came close why it is not in the answer."""
        with self._started(request, now, wall_s) as recall:
            ranked, answer = self._answer(recall)
            return Inspection(answer, near_misses(ranked, answer))

    def opening(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        asked_at_s: float | None = None,
    ) -> Answer:
        """Return what a conversation begins with: recent sessions, and what lasts."""
        with self._started(request, now, wall_s, asked_at_s) as recall:
            run, context = recall.run, self._admit(recall)
            plan = opening_plan(run, context, self.store.zone)
            context = replace(context, profile=OPENING, plan=plan)
            pool = reciprocal_rank_fusion(opening_runs(context), rrf_k=OPENING.rrf_k)
            ranking = ordering.diversify(run, context, scoring.score(run, context, pool))
            ranking = recent_first(ranking, recall.request.ctx.top_k)
            # Nothing was asked, so nothing can be the wrong answer.
            ranked = Ranked(context, pool, NO_GRAPH, ranking, calibration.certain(1.0))
            return make_answer(ranked, now, run.trace)

    def explain(
        self, request: RecallRequest, doc_id: str, now: dt.datetime, wall_s: float
    ) -> Explanation:
        """Explain why a memory is in the answer to a request, or why not.

        Raises:
            UnknownMemoryError: If the request may not see such a memory, or there is none.
            StoreError: If it is damaged in the file, and so is in no answer.
        """
        with self._started(request, now, wall_s) as recall:
            run, snapshot = recall.run, recall.snapshot
            ranked = self._rank(recall)
            answer = make_answer(ranked, now, run.trace)
            memory = snapshot.find(doc_id, ranked.context.scope)
            if not memory.intact:
                raise StoreError(
                    f"{doc_id!r} is damaged in the file, so no answer holds it; family-recall "
                    "doctor --repair removes it"
                )
            ranking = without(ranked.ranking, np.array(sorted(snapshot.damaged), np.int64))
            ranked = replace(ranked, ranking=ranking)
            if memory.id not in ranking.rows.ids:
                pool = ranked.pool
                probe = replace(
                    pool, ids=np.append(pool.ids, memory.id), rrf=np.append(pool.rrf, 0.0)
                )
                ranking = scoring.score(run, ranked.context, probe)
            return explanation(memory.id, memory.memory.space_id, ranking, ranked, answer)

    def understand(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        region: Region | None = None,
    ) -> Understanding:
        """Return what a question is understood to ask, searching for nothing."""
        with self._started(request, now, wall_s) as recall:
            plan = self._admit(recall, region).plan
        return planner.understanding(request.query_text, plan, self.store.zone)

    def _answer(self, recall: _Recall) -> tuple[Ranked, Answer]:
        ranked = self._affordable(recall.run, self._rank(recall))
        with recall.run.priced_as("answer") as stretch:
            answer = make_answer(ranked, recall.now, recall.run.trace)
            stretch.n_in = len(answer.results)
        recall.run.learn_rest()
        return ranked, answer

    def _affordable(self, run: Runner, ranked: Ranked) -> Ranked:
        """Ask for as many results as the time left pays for, a page of them at least."""
        ctx = ranked.context.request.ctx
        n = min(ctx.top_k, len(ranked.ranking.order))
        affordable = max(run.admitted.affordable("answer"), self.config.usual_top_k)
        if n <= affordable:
            return ranked
        run.trace.skip("answer", "no_time", f"no time for more than {affordable}", n - affordable)
        ctx = dataclasses.replace(ctx, top_k=affordable)
        request = dataclasses.replace(ranked.context.request, ctx=ctx)
        context = replace(ranked.context, request=request)
        return replace(ranked, context=context)

    def _rank(self, recall: _Recall) -> Ranked:
        ranked = self._rank_for_anybody(recall)
        # Last, so that what a rejection makes the first is no surer than it was before.
        ranking = set_rejected_last(recall.run, ranked.context, ranked.ranking)
        if ranking is ranked.ranking:
            return ranked
        return replace(ranked, ranking=ranking)

    def _rank_for_anybody(self, recall: _Recall) -> Ranked:
        """Rank without what the asker rejected before."""
        run, context = recall.run, self._admit(recall)
        describe(run.trace, context, self.store.zone)
        quoted = searching.identifiers(run, context)
        if len(quoted) and quoted.scores[0] == 1.0:
            return self._fast_path(run, context, quoted)
        words, context = searching.words_while_encoding(run, context, self.executor)
        candidates = self._candidates(run, context, words, quoted)
        candidates = self._widened(run, context, candidates, quoted)
        ranking = candidates.ranking
        ordering.reserve_diversity(run, context)
        for refine in self.refinements:
            ranking = refine(run, context, ranking)
        return self._judged(run, context, candidates, ranking)

    def _candidates(
        self, run: Runner, context: QueryContext, words: Run, quoted: Run
    ) -> Candidates:
        """Search, fuse, score and deduplicate, as many as the context has room for."""
        vectors = searching.vector(run, context)
        rrf_k = context.profile.rrf_k
        seeds = reciprocal_rank_fusion([words, vectors], rrf_k=rrf_k)
        graph = searching.graph(run, context, seeds)
        replies = replying.find_replies(run, context, seeds)
        with run.priced_as("score") as stretch:
            with run.trace.span("fusion", len(seeds.ids) + len(graph.run)) as span:
                runs = [words, vectors, graph.run, quoted, replies]
                runs = searching.with_focus(run, context, runs)
                if context.plan.relation_evidence:
                    runs.append(evidence_of_relations(context))
                runs.append(searching.timeline(run, context))
                limit = scoring.affordable_pool(run, context)
                about = searching.about(run, context)
                if len(about):
                    # What is not about them is no part of the answer, however near in meaning.
                    run.trace.decisions["about"] = "what is not about them is left out"
                    runs = [*(other.within(about) for other in runs), about]
                pool = reciprocal_rank_fusion(runs, rrf_k=rrf_k, limit=limit, graph_bias=graph.bias)
                span.n_out = stretch.n_in = len(pool.ids)
            ranking = scoring.score(run, context, pool)
            return Candidates(pool, graph, ordering.deduplicate(run, context, ranking))

    def _widened(
        self, run: Runner, context: QueryContext, candidates: Candidates, quoted: Run
    ) -> Candidates:
        """Search once more, for more, if duplicates leave little room and time is left."""
        room = context.pool_size(context.config.candidate_pool)
        if not lacks_distinct_results(candidates.ranking, room):
            return candidates
        if not ordering.may_find_more(candidates.pool, context):
            return candidates
        run.trace.decisions["widen"] = "near copies left little room for others"
        wider = ordering.wider(context)
        n = min(wider.config.candidate_pool, context.plan.statistics.n_memories)
        if not run.can_start("widen", n):
            return candidates

        def search() -> Candidates:
            return self._candidates(run, wider, searching.lexical(run, wider), quoted)

        return run.run("widen", n, search, candidates)

    def _fast_path(self, run: Runner, context: QueryContext, quoted: Run) -> Ranked:
        """Rank what holds the identifiers that a question quotes: no vectors, no cross-encoder."""
        run.trace.decisions["identifiers"] = "what is quoted was found: nothing else is searched"
        for stage in ("embed", "vector", "graph", "rerank"):
            detail = "the question quotes an identifier that was found"
            run.trace.skip(stage, "not_needed", detail)
        context = replace(context, profile=QUOTED)
        quoted = quoted.where(quoted.scores == 1.0)
        pool = reciprocal_rank_fusion([quoted], rrf_k=context.profile.rrf_k)
        ranking = ordering.deduplicate(run, context, scoring.score(run, context, pool))
        return Ranked(context, pool, NO_GRAPH, ranking, calibration.usually("identifier"))

    def _judged(
        self, run: Runner, context: QueryContext, candidates: Candidates, ranking: Ranking
    ) -> Ranked:
        """Return a ranking with how sure it is: by its evidence, unless something else decides."""
        pool, unsaid = candidates.pool, tuple[str, ...]()
        if context.plan.about_time_alone:
            certainty = calibration.usually("time")
        elif context.plan.about_focus and first_is_near_focus(ranking):
            certainty = calibration.usually("focus")
        elif pool.runs.get("about"):
            certainty = calibration.usually("about")
        elif not len(ranking):
            certainty = calibration.certain(0.0)
        else:
            encoder = self.models.encoder(0.0)
            token_ids = None if encoder is None else encoder.token_ids
            unsaid = run.look_up(
                "mentions", lambda: uncovered(context, ranking, token_ids), tuple[str, ...]()
            )
            fitted = calibration.find_calibration(
                context.profile.calibrated_as or context.profile.name,
                context.kind,
                reranked=first_was_read(ranking),
            )
            known = evidence(context, pool, ranking, says_all=not unsaid)
            certainty = fitted.certainty(known)
        return Ranked(context, pool, candidates.graph, ranking, certainty, unsaid)

    def _admit(self, recall: _Recall, region: Region | None = None) -> QueryContext:
        """Decide what the request may see and how it is ranked, and plan what to look for."""
        request, snapshot, now = recall.request, recall.snapshot, recall.now
        profile = requested_profile(request.ctx, self.config.weights)
        if not request.ctx.aloud:  # what was learned rests on private memories, too
            profile = personal_profile(profile, snapshot.learned(request.ctx.person_id))
        zone, now_s = self.store.zone, now.timestamp()
        scope = policy.scope_in(snapshot, request.ctx, wall_s=recall.wall_s, zone=zone, now_s=now_s)
        region = region or self.store.region
        plan = understand(recall.run, request, scope, snapshot, now=now, region=region)
        scope = _scope_in_time(scope, plan, request)
        fixed, mode = self.config.weights, mode_of(request, plan)
        return QueryContext(
            request=request,
            scope=scope,
            plan=plan,
            profile=for_breadth(for_mode(profile, mode, fixed), plan.breadth, fixed),
            snapshot=snapshot,
            deadline=recall.run.admitted.deadline,
            config=self.config,
            now_s=now_s,
        )

    @contextlib.contextmanager
    def _started(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        asked_at_s: float | None = None,
    ) -> Iterator[_Recall]:
        """Admit a request, and open the file for it."""
        admitted = self.gate.admitted(request, asked_at_s)
        waited_s = 0.0 if asked_at_s is None else self.gate.clock() - asked_at_s
        # First the file: it refuses a forked process, where the gate's lock may be held for good.
        with self.store.snapshot((request.ctx.person_id,)) as snapshot, admitted:
            admitted.yield_to_urgent()
            trace = TraceBuilder(
                admitted.deadline, gate=admitted.admission(), request=admitted.request
            )
            if (damage := self.known_damage()) is not None:
                trace.degrade("file", "damaged", damage)
            queued_ms = waited_s * 1000.0
            run = Runner(self.config, admitted, trace, self.models, snapshot.interrupt, queued_ms)
            yield _Recall(admitted.request, now, wall_s, snapshot, run)


def _scope_in_time(scope: Scope, plan: QueryPlan, request: RecallRequest) -> Scope:
    """Ask for what was true in the time a question names, or for what lies in it and no more."""
    if plan.timespan_s is None:
        return scope
    if request.ctx.as_of is None:
        certain = plan.timespan_certainty >= planner.LIKELY
        scope = policy.valid_in(scope, plan.timespan_s, certain=certain)
    return policy.within(scope, plan.timespan_s) if plan.about_time_alone else scope
