"""The read path on one screen: admit a request, plan, search, fuse, rank, answer."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from family_recall.access import policy
from family_recall.config import RecallConfig
from family_recall.deadline import Deadline
from family_recall.encoders.base import batch_size_of, scores_of
from family_recall.encoders.loader import Models
from family_recall.english import Question
from family_recall.english.follow_up import standalone
from family_recall.english.parts import parts_of
from family_recall.english.text import Words
from family_recall.errors import ClosedError, FamilyRecallError, StoreError
from family_recall.recall import candidates
from family_recall.recall.answer import make_answer
from family_recall.recall.candidates import Ranked, reciprocal_rank_fusion, score
from family_recall.recall.coverage import uncovered
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.explanation import Explanation, Inspection, explanation, near_misses
from family_recall.recall.gate import Gate
from family_recall.recall.question import planner
from family_recall.recall.ranking import calibration
from family_recall.recall.ranking.distinct import diversify, recent_first, without
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.later import read_later
from family_recall.recall.ranking.owners import set_others_back
from family_recall.recall.ranking.profiles import OPENING
from family_recall.recall.ranking.ranker import rescored, takes_over
from family_recall.recall.ranking.rejected import set_rejected_last
from family_recall.recall.ranking.replies import promote_replies
from family_recall.recall.ranking.reranker import first_was_read, read_first, rerank
from family_recall.recall.ranking.supersession import next_first, supersede
from family_recall.recall.runner import Runner
from family_recall.recall.sources import search as searching
from family_recall.recall.understanding import as_opening, understand
from family_recall.store.store import Store
from family_recall.threads import Workers
from family_recall.types import Answer, RecallContext, RecallRequest, Region, Understanding

log = logging.getLogger("family_recall")

Refinement = Callable[[Runner, QueryContext, Ranking], Ranking]
"""A stage that takes a ranking and returns it in a better order."""

_WARM_UP_QUESTIONS = (
    "Where is the key?",
    (
        "What did we say about the holiday by the sea in summer, the house with the garden, and "
        "who was going to bring the tent, the stove and the two blue bicycles along?"
    ),
    "When does grandma come?",
    "Who has the tickets?",
    "What is for dinner on Sunday?",
)
"""Invented, and asked by nobody: nothing of the household is used."""

NEAR_FOCUS = 0.3
"""Nearness from which a candidate belongs to what is being talked about."""


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
    executor: Workers
    known_damage: Callable[[], str | None] = lambda: None
    refinements: tuple[Refinement, ...] = (
        rerank,
        promote_replies,
        supersede,
        set_others_back,
        read_later,
        read_first,
        next_first,
        diversify,
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
        request = self._alone(request, wall_s)
        parts = self._parts(request, now, wall_s, asked_at_s)
        with self._started(request, asked_at_s) as run:
            answer = make_answer(self._ranked(run, now, wall_s, parts), now, run.trace)
            run.finish()
            return answer

    def inspect(self, request: RecallRequest, now: dt.datetime, wall_s: float) -> Inspection:
        """Answer a request, and explain for what came close why it is not in the answer."""
        request = self._alone(request, wall_s)
        parts = self._parts(request, now, wall_s)
        with self._started(request) as run:
            ranked = self._ranked(run, now, wall_s, parts)
            answer = make_answer(ranked, now, run.trace)
            run.finish()
            return Inspection(answer, near_misses(ranked, answer))

    def opening(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        asked_at_s: float | None = None,
    ) -> Answer:
        """Return what a conversation begins with: what is ahead, recent sessions, what lasts."""
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        days_s = (today.timestamp(), (today + dt.timedelta(days=2)).timestamp())
        with self._started(request, asked_at_s) as run:
            context = as_opening(run, understand(run, self.store, now, wall_s), self.store.zone)
            runs = searching.opening_runs(context, days_s)
            pool = reciprocal_rank_fusion(runs, rrf_k=OPENING.rrf_k)
            ranking = diversify(run, context, score(run, context, pool))
            no_moments: dict[int, float] = {}
            ahead = run.look_up(
                "times",
                lambda: searching.moments_ahead(context, ranking.rows, days_s),
                no_moments,
            )
            ranking = recent_first(ranking, run.request.ctx.top_k, ahead)
            # Nothing was asked, so nothing can be the wrong answer.
            ranked = Ranked(context, pool, ranking, calibration.certain(1.0))
            return make_answer(ranked, now, run.trace)

    def explain(
        self, request: RecallRequest, doc_id: str, now: dt.datetime, wall_s: float
    ) -> Explanation:
        """Explain why a memory is in the answer to a request, or why not.

        Raises:
            UnknownMemoryError: If the request may not see such a memory, or there is none.
            StoreError: If it is damaged in the file, and so is in no answer.
        """
        request = self._alone(request, wall_s)
        parts = self._parts(request, now, wall_s)
        with self._started(request) as run:
            ranked, snapshot = self._ranked(run, now, wall_s, parts), run.snapshot
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
                ranking = score(run, ranked.context, probe)
            return explanation(memory.id, memory.memory.space_id, ranking, ranked, answer)

    def understand(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        region: Region | None = None,
    ) -> Understanding:
        """Return what a question is understood to ask, searching for nothing."""
        request = self._alone(request, wall_s)
        with self._started(request) as run:
            plan = understand(run, self.store, now, wall_s, region).plan
        return planner.understanding(request.query_text, plan, self.store.zone)

    def warm_up(self, now: dt.datetime, wall_s: float) -> None:
        """Run models and recalls, so that the first question finds loaded models and true prices.

        For ``warm_up_ms`` of the configuration at most, and until the models are closed.

        Raises:
            ClosedError: If the household is closed meanwhile.
        """
        deadline = Deadline.after(self.config.warm_up_ms, self.gate.clock)
        models = self.models
        embedders, scorer = (models.static(), models.wait()), models.scorer()
        try:
            # The first runs are slow, and set no price: on a short and on a long text.
            for text in _WARM_UP_QUESTIONS[:2]:
                for embedder in embedders:
                    if embedder is not None:
                        embedder.encode_question(text)
                if scorer is not None:
                    scores_of(scorer, text, [text] * batch_size_of(scorer))
            for number in range(self.config.warm_up_recalls):
                left_ms = deadline.remaining_ms()
                if left_ms <= 0.0 or models.closed:
                    break
                # Other words each time, so that no cache knows the question.
                question = f"{number} {_WARM_UP_QUESTIONS[number % len(_WARM_UP_QUESTIONS)]}"
                ctx = RecallContext(time_budget_ms=max(left_ms, 1.0))
                self.recall(RecallRequest(question, ctx), now, wall_s)
        except ClosedError:
            raise
        except FamilyRecallError as error:
            log.debug("warming up ended early", exc_info=error)

    def _alone(self, request: RecallRequest, wall_s: float) -> RecallRequest:
        """Return a request with a follow-up as the question it means."""
        ctx, names = request.ctx, set[str]()
        if not ctx.previous:
            return request
        words = [*Words.of(request.query_text).plain, *Words.of(ctx.previous).plain]
        words += [word.removesuffix("s") for word in words]  # *and toms*
        with self.store.snapshot((ctx.person_id,)) as snapshot:
            scope = policy.scope_of(snapshot, ctx, wall_s=wall_s, zone=self.store.zone)
            try:
                names = {alias for alias, _ in snapshot.entities_in(words, scope)}
            except Exception as error:  # names with a capital are read without them
                log.debug("names in a follow-up were not looked up", exc_info=error)
        question = standalone(request.query_text, ctx.previous, names)
        return dataclasses.replace(request, query_text=question)

    @contextlib.contextmanager
    def _started(self, request: RecallRequest, asked_at_s: float | None = None) -> Iterator[Runner]:
        """Admit a request, and open the file for it."""
        admitted = self.gate.admit(request, asked_at_s)
        # First the file: it refuses a forked process, where the gate's lock may be held for good.
        with (
            self.store.snapshot((request.ctx.person_id,)) as snapshot,
            self.gate.running(admitted),
        ):
            run = Runner(self.config, self.gate, admitted, self.models, snapshot)
            if (damage := self.known_damage()) is not None:
                run.trace.degrade("file", "damaged", damage)
            yield run

    def _parts(
        self,
        request: RecallRequest,
        now: dt.datetime,
        wall_s: float,
        asked_at_s: float | None = None,
    ) -> tuple[Answer, ...]:
        """Answer each of the questions that are in one; none where it is one, or none is answered.

        They and the whole, which is asked after them, share its time evenly.
        """
        questions = parts_of(request.query_text)
        if len(questions) == 1:
            return ()
        deadline = Deadline.after(request.ctx.time_budget_ms, self.gate.clock, since_s=asked_at_s)
        answers = []
        for done, question in enumerate(questions):
            left_ms = max(deadline.remaining_ms() / (len(questions) + 1 - done), 1.0)
            ctx = dataclasses.replace(request.ctx, previous=None, time_budget_ms=left_ms)
            part = dataclasses.replace(request, query_text=question, ctx=ctx)
            with self._started(part) as run:
                answers.append(make_answer(self._ranked(run, now, wall_s), now, run.trace))
                run.finish()
        return tuple(answers) if any(answer.best for answer in answers) else ()

    def _ranked(
        self, run: Runner, now: dt.datetime, wall_s: float, parts: tuple[Answer, ...] = ()
    ) -> Ranked:
        """Find and rank what answers, and say how sure that is.

        What answers one of the ``parts`` stands first, in their order.
        """
        context = understand(run, self.store, now, wall_s)
        quoted = searching.identifiers(run, context)
        if len(quoted) and quoted.scores[0] == 1.0:
            ranked = candidates.quoted_alone(run, context, quoted)
        else:
            words, context = searching.words_while_encoding(run, context, self.executor)
            ranked = candidates.search(run, context, words, quoted)
            ranked = candidates.gather(run, candidates.widen(run, ranked, quoted))
            ranking = ranked.ranking
            for refine in self.refinements:
                ranking = refine(run, ranked.context, ranking)
            ranked = self._with_certainty(run, replace(ranked, ranking=ranking))
        if parts and ranked.context.plan.strategy != "TIMELINE":
            ranked = _parts_first(ranked, parts)
        ranking = set_rejected_last(run, ranked.context, ranked.ranking)
        if ranking is not ranked.ranking and ranked.certainty.decided_by == "score":
            # What is left answers for itself, but no surer than what was rejected.
            left = self._with_certainty(run, replace(ranked, ranking=ranking))
            least = min(left.certainty.logit, ranked.certainty.logit)
            ranked = replace(left, certainty=replace(left.certainty, logit=least))
        # As many results as the time left pays for, a page of them at least.
        ctx = ranked.context.request.ctx
        n, page = min(ctx.top_k, len(ranking)), self.config.usual_top_k
        granted = run.cut("answer", n, "no time for more", at_least=page)
        if granted == n:
            return replace(ranked, ranking=ranking)
        request = dataclasses.replace(run.request, ctx=dataclasses.replace(ctx, top_k=granted))
        return replace(ranked, ranking=ranking, context=replace(ranked.context, request=request))

    def _with_certainty(self, run: Runner, ranked: Ranked) -> Ranked:
        """Say how sure a ranking is: by its evidence, unless something else decides."""
        context, pool, ranking = ranked.context, ranked.pool, ranked.ranking
        nearness = ranking.features[ranking.order[:1], INDEX["near_focus"]]
        if context.plan.about_time_alone:
            return replace(ranked, certainty=calibration.usually("time"))
        if context.plan.about_focus and (nearness >= NEAR_FOCUS).any():
            return replace(ranked, certainty=calibration.usually("focus"))
        if pool.runs.get("about"):
            return replace(ranked, certainty=calibration.usually("about"))
        if not len(ranking):
            return ranked
        encoder = self.models.encoder(0.0)
        token_ids = None if encoder is None else encoder.token_ids
        nothing: tuple[str, ...] = ()
        unsaid = run.look_up("mentions", lambda: uncovered(context, ranking, token_ids), nothing)
        fitted = calibration.find_calibration(
            context.profile.calibrated_as or context.profile.name,
            context.kind,
            reranked=first_was_read(ranking),
        )
        known = calibration.evidence(context, pool, ranking, says_all=not unsaid)
        return replace(ranked, certainty=fitted.certainty(known), uncovered=unsaid)


def _parts_first(ranked: Ranked, parts: tuple[Answer, ...]) -> Ranked:
    """Place what answers each part first, in their order; nothing where one memory answers all."""
    ranking = ranked.ranking
    at = {ranking.rows.doc_ids[row]: row for row in ranking.order.tolist()}
    firsts = [part.best.doc_id for part in parts if part.best is not None]
    rows = [at[first] for first in dict.fromkeys(firsts) if first in at][::-1]
    above = [*ranking.order[:1].tolist(), *rows]
    if above == rows * 2:
        return ranked
    # All stand in the order of their scores again; whose fact a first one tells was asked by its
    # part.
    owned = {row: owner for row, owner in ranking.owned.items() if row not in rows}
    ranking = takes_over(ranking, zip(rows, above, strict=False))
    ranking = replace(rescored(ranking, ranking.features), rank_by_score={}, owned=owned)
    return replace(ranked, ranking=ranking, parts=parts)
