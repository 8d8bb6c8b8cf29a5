"""The stages that find memories: by identifiers, words, meaning, links and time.

Words always run. A stage that fails leaves the others to answer, and the trace says so.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses

import numpy as np
from msgspec.structs import replace

from family_recall.recall.dataflow import NO_GRAPH, GraphRun, Pool, QueryContext, Run
from family_recall.recall.question.planner import POSSIBLE
from family_recall.recall.ranking import bm25
from family_recall.recall.runner import Runner
from family_recall.recall.sources.graph import walk_graph
from family_recall.recall.sources.search import (
    look_up_identifiers,
    near_focus,
    search_about,
    search_period,
    search_timeline,
    search_vectors,
    search_words,
)
from family_recall.recall.understanding import encode, is_encoded_at_once
from family_recall.store.ids import among


def identifiers(run: Runner, context: QueryContext) -> Run:
    """Look up what the question quotes, if it quotes anything."""
    nothing = Run.empty("identifier")
    if not context.plan.identifiers or run.is_disabled("identifiers"):
        return nothing
    return run.run("identifiers", 0, lambda: look_up_identifiers(context), nothing)


def words_while_encoding(
    run: Runner, context: QueryContext, executor: concurrent.futures.Executor
) -> tuple[Run, QueryContext]:
    """Search words on this thread, which has the snapshot, while another encodes the question.

    SQLite and ONNX Runtime both release the interpreter's lock.
    """
    if not context.request.query_text.strip():
        run.trace.skip("embed", "not_needed", "the question is empty")
        return lexical(run, context), context
    if context.plan.about_focus:
        run.trace.skip("embed", "not_needed", "it asks about the focus, whose words are searched")
        return lexical(run, context), context
    if not run.is_weighed("embed", context.profile):
        return lexical(run, context), context
    words_ms = run.costs.expected_ms("lexical", _matches(context))
    if words_ms < run.config.hand_over_ms or is_encoded_at_once(run, context):
        # Handing over to a thread and back would take longer than it saves.
        return lexical(run, context), encode(run, context)
    encoded = executor.submit(encode, run, context)
    return lexical(run, context), encoded.result()


def lexical(run: Runner, context: QueryContext) -> Run:
    """Search words; the rarest alone where there is no time for all."""
    nothing = Run.empty("lexical")
    if run.is_disabled("lexical"):
        return nothing
    n = _matches(context)
    affordable = run.affordable("lexical")
    if affordable < n:
        detail = "no time for words that many hold"
        run.trace.skip("lexical", "no_time", detail, n - affordable)
        config = dataclasses.replace(context.config, lexical_matches=affordable)
        context, n = replace(context, config=config), affordable
    # Nothing answers without words: they have some time of their own, however short the budget.
    grace_ms = run.config.words_grace_ms
    return run.run("lexical", n, lambda: search_words(context), nothing, at_least_ms=grace_ms)


def vector(run: Runner, context: QueryContext) -> Run:
    """Search vectors, if the question was encoded."""
    nothing = Run.empty("vector")
    n = context.snapshot.n_current(context.scope)
    # Before anything else, since counting the pending vectors may have to read them.
    if not run.can_start("vector", n):
        return nothing
    run.trace.counts["vectors_pending"] = run.look_up(
        "vector", lambda: context.snapshot.n_pending(context.model_id, context.scope), -1
    )
    question, model_id = context.question, context.model_id
    if question is None or model_id is None:
        return nothing
    return run.run("vector", n, lambda: search_vectors(context, question, model_id), nothing)


def graph(run: Runner, context: QueryContext, pool: Pool) -> GraphRun:
    """Spread from what words and vectors found, and add what that makes likely."""
    n = len(pool.ids)
    if not run.is_weighed("graph", context.profile, n):
        return NO_GRAPH

    def walk() -> GraphRun:
        reached = walk_graph(context, starts(context, pool))
        new = ~among(reached.run.ids, pool.ids)
        if np.count_nonzero(new) <= context.config.graph_pool:
            return reached
        within = ~new | (np.cumsum(new) <= context.config.graph_pool)
        return replace(reached, run=reached.run.where(within))

    return run.run("graph", n, walk, NO_GRAPH) if run.can_start("graph", n) else NO_GRAPH


def starts(context: QueryContext, pool: Pool) -> dict[int, float]:
    """Return how strongly a walk starts from the best of a pool, in (0, 1].

    Relevance, times the fused score as a share of the highest. Relevance is the higher of the
    cosine and the share of the question's words, where 1 is a memory of mean length that has each
    of them once; what has too little of it is left out. The fused score alone does not know
    relevance: the best of a nonsense question has as high a one as any other.
    """
    config, words = context.config, context.plan.statistics
    best = pool.ids[: config.graph_seeds].tolist()
    cosines, scores = (
        dict(zip(pool.runs[source].ids.tolist(), pool.runs[source].scores.tolist(), strict=True))
        for source in ("vector", "lexical")
    )
    full = bm25.fts5_score_of_each_word_once(words)
    shares = (pool.rrf[: len(best)] / pool.rrf[:1]).tolist()  # the first has the highest
    strengths = {}
    for memory, share in zip(best, shares, strict=True):
        strength = min(max(cosines.get(memory, 0.0), scores.get(memory, 0.0) / full), 1.0)
        if strength >= config.graph_least_relevance:
            strengths[memory] = strength * share
    return strengths


def timeline(run: Runner, context: QueryContext) -> Run:
    """Find what lies in the time that the question asks about, if it asks about one."""
    nothing = Run.empty("timeline")
    if context.plan.timespan_s is None:
        return nothing
    if context.plan.about_time_alone:
        return run.run("timeline", 0, lambda: search_timeline(context), nothing)
    n = context.config.period_pool
    if context.plan.timespan_certainty < POSSIBLE or not run.is_weighed("period", context.profile):
        return nothing
    if not run.can_start("period", n):
        return nothing
    return run.run("period", n, lambda: search_period(context), nothing)


def with_focus(run: Runner, context: QueryContext, runs: list[Run]) -> list[Run]:
    """Return the runs with one of what is near the focus, if there is one.

    A question for more than the focus says is not answered by it.
    """
    focus = context.plan.focus_id
    if focus is None or not (context.plan.about_focus or run.is_weighed("focus", context.profile)):
        return runs
    if not run.can_start("focus"):
        return runs
    near = run.run("focus", 0, lambda: near_focus(context), Run.empty("focus"))
    if context.plan.about_focus == "more":
        runs = [found.where(found.ids != focus) for found in runs]
    return [*runs, near]


def about(run: Runner, context: QueryContext) -> Run:
    """Find what is known of those that the question asks all about, if it does."""
    if context.plan.breadth != "about":
        return Run.empty("about")
    return run.run("about", 0, lambda: search_about(context), Run.empty("about"))


def _matches(context: QueryContext) -> int:
    """Count, word by word, the memories that hold what is searched for."""
    return sum(context.plan.statistics.document_frequency.tolist())
