"""Turn a finished ranking into an answer: results with reasons, facts, a timeline, a trace."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from msgspec.structs import replace

from family_recall.english.times import counts_from_its_day
from family_recall.recall.candidates import Ranked
from family_recall.recall.coverage import stated_facts
from family_recall.recall.dataflow import Pool, QueryContext, Ranking, Run
from family_recall.recall.explanation import rationales
from family_recall.recall.question.related import facts_of, related_confidence
from family_recall.recall.ranking.calibration import (
    ANOTHERS,
    DOUBTED,
    completeness,
    list_model,
    status_of,
)
from family_recall.recall.ranking.distinct import without
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import contributions
from family_recall.recall.ranking.rejected import REJECTED, rejected_among
from family_recall.recall.ranking.reranker import best_passages, first_was_read
from family_recall.recall.runner import TraceBuilder
from family_recall.store.memories import MemoryRow, epoch_s
from family_recall.store.memory_queries import Rows
from family_recall.store.passages import MOST_CHARS
from family_recall.store.scope_sql import among
from family_recall.store.words import find_stems
from family_recall.types import Answer, FloatArray, Hit, IdArray, RepliedTo, Result, parse_moment
from family_recall.types.answer import Change
from family_recall.types.records import later
from family_recall.types.timeline import Period, periods

_SEARCHES = frozenset(("lexical", "vector"))
"""Stages without which it is not known that nothing stored answers."""
_RESULTS_AT_ONCE = 8  # between two looks at the clock
LATE_MS = 10.0
"""Milliseconds past its budget from which an answer that waited says that it is late."""


def make_answer(ranked: Ranked, now: dt.datetime, trace: TraceBuilder) -> Answer:
    """Turn the best of a ranking into results with reasons, and freeze the trace."""
    context, plan, ctx = ranked.context, ranked.context.plan, ranked.context.request.ctx
    with trace.span("answer", len(ranked.ranking)) as span:
        ranked, by_id = _loaded(ranked, trace)
        ranking, certainty = ranked.ranking, ranked.certainty
        rejected = rejected_among(ranking, ranking.order)
        some_rejected = bool(rejected.any())
        chosen = ranking.order[: ctx.top_k]
        if len(by_id) < len(chosen):
            chosen = chosen[among(ranking.rows.ids[chosen], np.array([*by_id], np.int64))]
        moments: dict[int, float] = {}
        if some_rejected and (plan.strategy == "TIMELINE" or plan.breadth == "about"):
            # In the order of time, or among all that is known, the last place says little.
            chosen = chosen[~rejected_among(ranking, chosen)]
        if plan.strategy == "TIMELINE":
            moments = _moments(context)
            chosen = _in_order_of_time(moments, ranking, chosen)
        if n_damaged := len(context.snapshot.damaged):
            detail = f"{n_damaged} damaged in the file; family-recall doctor"
            trace.degrade("memories", "damaged", detail)
        confidence = _confidence(ranked, chosen, some_rejected=some_rejected)
        results = _results(ranked, by_id, chosen, confidence, trace, now)
        chosen = chosen[: len(results)]
        span.n_out = len(results)
        trace.counts["candidates"] = len(ranking.rows)
        trace.counts["visible"] = context.snapshot.n_current(context.scope)
        best = max((result.confidence for result in results), default=0.0)
        best = max(best, related_confidence(plan.relations))
        # Where something was rejected, what was thought to answer it may be just that.
        answerable = certainty.answerable if results and not some_rejected else 0.0
        status = status_of(best)
        searches = _SEARCHES | ({"embed"} if context.kind == "words" else set())
        if status == "no_match" and any(
            skip.hurried and skip.stage in searches for skip in trace.skips
        ):
            status = "weak"
            trace.degrade("search", "no_time", "no time for it: more may be stored")
        facts: dict[str, str] = {}
        if status != "no_match":
            stated = stated_facts(context, ranking, by_id, now.tzinfo, is_sure=status == "ok")
            facts = facts_of(plan.relations) | stated
        trace.say_if_late(LATE_MS)
    return Answer(
        query_text=context.request.query_text,
        results=results,
        status=status,
        confidence=best,
        answerable=max(answerable, best),
        uncovered=_uncovered(ranked) if results else (),
        parts=ranked.parts,
        strategy=plan.strategy,
        mode=context.mode,
        profile=ctx.profile,
        now=now,
        as_of=dt.datetime.fromtimestamp(context.scope.as_of_s, now.tzinfo),
        known_at=ctx.known_at,
        used_time_ms=round(trace.deadline.elapsed_ms(), 3),
        degraded=tuple(trace.degraded),
        trace=trace.build(
            results,
            hits={
                source: later(functools.partial(_hits, run, ranking.rows))
                for source, run in ranked.pool.runs.items()
            },
            weights={
                name: weight
                for name, weight in zip(INDEX, ranking.weights.tolist(), strict=True)
                if weight
            },
            decided_by=certainty.decided_by,
            evidence={name: round(value, 6) for name, value in certainty.evidence.items()},
        ),
        facts=facts,
        timeline=_timeline(context, moments, ranking.rows.ids[chosen], results, now),
        relations=plan.relations,
        changed=_changes(ranking, chosen, now.tzinfo),
        completeness=_completeness(ranked, len(results)),
    )


def _confidence(ranked: Ranked, chosen: IdArray, *, some_rejected: bool) -> FloatArray:
    """Return how sure it is that each chosen row answers: (n,)."""
    ranking, parts = ranked.ranking, ranked.parts
    confidence = ranked.certainty.confidences(ranking.score[chosen])
    for part in parts:
        if part.best is not None:
            is_first = [ranking.rows.doc_ids[row] == part.best.doc_id for row in chosen.tolist()]
            confidence = np.where(is_first, np.float32(part.confidence), confidence)
    if some_rejected:
        confidence = np.where(
            rejected_among(ranking, chosen), np.minimum(confidence, REJECTED), confidence
        )
    # The alarm code, and not that of the office; or one of two that are asked for.
    unsaid = any(part.status != "ok" for part in parts) if parts else bool(ranked.uncovered)
    if unsaid or some_rejected:
        confidence = np.minimum(confidence, np.float32(DOUBTED))
    owned = [ranking.owned.get(row) for row in chosen.tolist()]
    is_anothers = np.array([each is not None and each.is_elsewhere for each in owned], np.bool_)
    if owned and owned[0] is not None and owned[0].telling == "another day's":
        is_anothers[:] = True  # nothing below it comes near
    return np.where(is_anothers, np.minimum(confidence, ANOTHERS), confidence)


def _results(
    ranked: Ranked,
    by_id: Mapping[int, MemoryRow],
    chosen: IdArray,
    confidence: FloatArray,
    trace: TraceBuilder,
    now: dt.datetime,
) -> tuple[Result, ...]:
    """Make the first page of results, and more of them until the time is up."""
    context, ranking, zone = ranked.context, ranked.ranking, now.tzinfo or dt.UTC
    doc_ids, page, n = ranking.rows.doc_ids, context.config.usual_top_k, len(chosen)
    paths = rationales(context, ranked.pool.graph, ranking, chosen)
    sources = _sources(ranked.pool, by_id.keys())
    stored = [by_id[memory] for memory in ranking.rows.ids[chosen].tolist()]
    n_without = 0

    def is_over() -> bool:
        nonlocal n_without
        is_late = trace.deadline.remaining_ms() <= 0.0
        n_without += is_late
        return is_late

    passages = best_passages(context, {memory.id: memory.text for memory in stored}, is_over)
    if n_without:
        trace.skip("answer", "stopped", "no time to look for more best passages", n_without)
    replied_to = _replied_to(ranked, chosen)
    stems = frozenset([stem for _, stem in context.plan.terms])
    weights, features = ranking.weights, ranking.features
    scores = np.vecdot(features[chosen].astype(np.float64), weights)
    columns = zip(stored, chosen.tolist(), scores.tolist(), confidence.tolist(), strict=True)
    results: list[Result] = []
    for memory, row, score, probability in columns:
        done = len(results)
        if (
            done >= page
            and (done - page) % _RESULTS_AT_ONCE == 0
            and trace.deadline.remaining_ms() <= 0.0
        ):
            trace.skip("answer", "stopped", f"no time for more than {done} results", n - done)
            break
        best, successor = passages.get(memory.id), ranking.superseded_by.get(row)
        words = functools.partial(find_stems, memory.text[:MOST_CHARS], stems)
        result = Result(
            rank=done + 1,
            doc_id=memory.doc_id,
            score=score,
            confidence=probability,
            text=memory.text,
            space_id=memory.space_id,
            kind=memory.kind,
            author=memory.author,
            title=memory.title,
            session_id=memory.session_id,
            url=memory.url,
            section=memory.section,
            occurred_at=memory.occurred_at,
            superseded=memory.superseded_s is not None,
            source=sources[memory.id],
            contributions=later(functools.partial(contributions, features[row], weights)),
            highlights=(best.passage,) if best else later(words),
            passage=best.passage if best else None,
            sentence=best.sentence if best else None,
            rationale=paths.get(memory.id),
            fact_key=memory.fact_key,
            fact_value=memory.fact_value,
            superseded_by=None if successor is None else doc_ids[successor.row],
            superseded_because=None if successor is None else successor.reason,
            copies=tuple([doc_ids[copy] for copy in ranking.duplicates.get(row, ())]),
            author_name=memory.author_name,
            reply_to=replied_to.get(row),
            rank_by_score=ranking.rank_by_score.get(row),
            whose=_whose(ranking, row),
            day=_day_of(memory, zone),
        )
        results.append(result)
    return tuple(results)


def _day_of(memory: MemoryRow, zone: dt.tzinfo) -> str | None:
    """Return the local day on which a memory occurred: the anchor of *yesterday* in its text.

    Of a text that has such words and no moment, the day on which it was recorded.
    """
    moment_s = epoch_s(parse_moment(memory.occurred_at, "occurred_at"), zone)
    if moment_s is None and counts_from_its_day(memory.text):
        moment_s = memory.recorded_s
    if moment_s is None:
        return None
    return dt.datetime.fromtimestamp(moment_s, zone).date().isoformat()


def _whose(ranking: Ranking, row: int) -> str | None:
    """Return whose fact a row tells, where the question asks of somebody else."""
    owned = ranking.owned.get(row)
    return owned.whose if owned is not None and owned.telling == "another's" else None


def _uncovered(ranked: Ranked) -> tuple[str, ...]:
    """Return what the question names and is not answered."""
    if not ranked.parts:
        return ranked.uncovered
    unsaid = [
        part.uncovered or (() if part.best else (part.query_text.rstrip("?"),))
        for part in ranked.parts
    ]
    return tuple(dict.fromkeys(itertools.chain.from_iterable(unsaid)))


def _hits(run: Run, rows: Rows) -> list[Hit]:
    """Return which of the candidates a source found, best first."""
    doc_ids = dict(zip(rows.ids.tolist(), rows.doc_ids, strict=True))
    found = zip(run.ids.tolist(), run.scores.tolist(), strict=True)
    return [
        Hit(doc_ids[memory], rank, score)
        for rank, (memory, score) in enumerate(found, start=1)
        if memory in doc_ids
    ]


def _loaded(ranked: Ranked, trace: TraceBuilder) -> tuple[Ranked, dict[int, MemoryRow]]:
    """Load the best of a ranking, by row id; where one is damaged, the next moves up.

    When the time is up, long texts are left out, but for the first.
    """
    context, is_over = ranked.context, False

    def is_enough(n: int) -> bool:
        nonlocal is_over
        is_over = n > 0 and trace.deadline.remaining_ms() <= 0.0
        return is_over

    while True:
        ranking = ranked.ranking
        wanted = ranking.rows.ids[ranking.order[: context.request.ctx.top_k]]
        loaded = context.snapshot.memories(wanted, context.scope, is_enough)
        by_id = {memory.id: memory for memory in loaded}
        if is_over:
            n_left = len(wanted) - len(by_id)
            trace.skip("answer", "stopped", "no time for more of these long texts", n_left)
        if is_over or len(by_id) == len(wanted):
            return ranked, by_id
        gone = wanted[~among(wanted, np.array(list(by_id), np.int64))]
        ranked = replace(ranked, ranking=without(ranking, gone))


def _completeness(ranked: Ranked, n_results: int) -> float | None:
    """Return the share of what was asked for that is in the results; None for one thing."""
    context, ranking = ranked.context, ranked.ranking
    if ranked.pool.runs.get("about"):
        n_rejected = int(rejected_among(ranking, ranking.order).sum())
        return n_results / max(len(ranking) - n_rejected, 1)
    if not context.asks_for_list:
        return None
    model = list_model(reranked=first_was_read(ranking))
    return completeness(ranking.score[ranking.order], n_results, model)


def _changes(ranking: Ranking, shown: IdArray, zone: dt.tzinfo | None) -> tuple[Change, ...]:
    """Return what was replaced among the rows shown, in their order."""
    doc_ids = ranking.rows.doc_ids
    return tuple(
        Change(
            doc_id=doc_ids[row],
            replaced_by=doc_ids[successor.row],
            since=dt.datetime.fromtimestamp(successor.since_s, zone).isoformat(),
            reason=successor.reason,
        )
        for row in shown.tolist()
        if (successor := ranking.superseded_by.get(row)) is not None
    )


def _moments(context: QueryContext) -> dict[int, float]:
    """Return the moment of everything that lies in the time asked about, by row id.

    That of an appointment is when it takes place, and not when it was told.
    """
    occurred = context.snapshot.occurred(context.scope)
    return dict(zip(occurred.ids.tolist(), occurred.moments_s.tolist(), strict=True))


def _in_order_of_time(moments: Mapping[int, float], ranking: Ranking, chosen: IdArray) -> IdArray:
    """Sort chosen rows by their moments."""
    occurred = ranking.rows.occurred_s[chosen].tolist()
    ids = ranking.rows.ids[chosen].tolist()
    in_time = [moments.get(memory, moment) for memory, moment in zip(ids, occurred, strict=True)]
    return chosen[np.argsort(in_time, kind="stable")]


def _timeline(
    context: QueryContext,
    moments: Mapping[int, float],
    ids: IdArray,
    results: Sequence[Result],
    now: dt.datetime,
) -> tuple[Period, ...]:
    """Return the days, weeks or months of the time asked about, up to now or of what is to come.

    ``ids`` (n,) are the row ids of the ``results``.
    """
    if context.plan.timespan_s is None or not moments:
        return ()
    start, end = context.plan.timespan_s
    start = max(start, min(moments.values())) if math.isinf(start) else start
    last = max(min(end, now.timestamp()), max(moments.values()) + 1.0)
    if not math.isinf(end):
        last = end if context.plan.ahead else min(last, end)

    def day(moment_s: float) -> dt.date:
        return dt.datetime.fromtimestamp(moment_s, now.tzinfo).date()

    dated = [
        (day(moments[memory]), result.doc_id)
        for memory, result in zip(ids.tolist(), results, strict=True)
        if memory in moments
    ]
    return periods(day(start), day(last - 1.0), map(day, moments.values()), dated)


def _replied_to(ranked: Ranked, chosen: IdArray) -> dict[int, RepliedTo]:
    """Return what each chosen row replies to, where that is known and intact."""
    ranking, context = ranked.ranking, ranked.context
    reply_to = {row: ranking.reply_to[row] for row in chosen.tolist() if row in ranking.reply_to}
    if not reply_to:
        return {}
    ids = ranking.rows.ids[sorted(set(reply_to.values()))]
    left_ms = context.deadline.remaining_ms
    questions_asked = context.snapshot.memories(ids, context.scope, lambda _: left_ms() <= 0.0)
    loaded = {memory.id: memory for memory in questions_asked}
    questions = {row: loaded.get(int(ranking.rows.ids[of])) for row, of in reply_to.items()}
    return {
        row: RepliedTo(memory.doc_id, memory.text, memory.author)
        for row, memory in questions.items()
        if memory is not None
    }


def _sources(pool: Pool, memories: AbstractSet[int]) -> dict[int, str]:
    """Return the source that ranked each of some candidates best."""
    best: dict[int, tuple[int, str]] = {}
    for name, run in pool.runs.items():
        ranks = dict(zip(run.ids.tolist(), itertools.count(), strict=False))
        for memory in ranks.keys() & memories:
            rank = ranks[memory]
            if memory not in best or rank < best[memory][0]:
                best[memory] = (rank, name)
    return {memory: name for memory, (_, name) in best.items()}
