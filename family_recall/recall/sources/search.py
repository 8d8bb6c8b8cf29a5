"""The stages that find memories: by identifiers, words, meaning, time, focus and person.

Each returns a `Run` of memories, best first. Words always run. A stage that fails leaves the others
to answer, and the trace says so.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from msgspec.structs import replace

from family_recall.english import BITS, Statement
from family_recall.recall.dataflow import QueryContext, Run
from family_recall.recall.question.planner import POSSIBLE
from family_recall.recall.runner import Runner
from family_recall.recall.understanding import encode, is_encoded_at_once
from family_recall.store.memory_queries import Rows
from family_recall.store.timeline_queries import OWN
from family_recall.threads import Workers

MOST_IN_PERIOD = 2000
"""Of a period with more memories than this, words and vectors find what was asked about."""

NEXT, LAST_OF_SESSION, LINKED, SHARED = 0.9, 0.4, 0.7, 0.6
"""Nearness to the focus: of the next memory of its session, the least within that session, of a
memory linked to it directly, and of one that mentions all that the focus mentions."""

_AROUND = 12  # memories of its session before and after the focus
_SHARING = 48  # edges out of each thing that the focus mentions


def identifiers(run: Runner, context: QueryContext) -> Run:
    """Look up what the question quotes, if it quotes anything."""
    nothing = Run.empty("identifier")
    if not context.plan.identifiers or run.is_disabled("identifiers"):
        return nothing
    return run.run("identifiers", 0, lambda: look_up_identifiers(context), nothing)


def look_up_identifiers(context: QueryContext) -> Run:
    """Return the memories that hold an identifier of the question.

    Whole matches score 1, partial ones 0.5; the newest first within a score.
    """
    k = context.pool_size(context.config.lexical_pool)
    hits = context.snapshot.identified(context.plan.identifiers, context.scope, k)
    return Run("identifier", hits.ids, hits.scores)


def words_while_encoding(
    run: Runner, context: QueryContext, executor: Workers
) -> tuple[Run, QueryContext]:
    """Search words on this thread, which has the snapshot, while another encodes the question.

    SQLite and ONNX Runtime both release the interpreter's lock.
    """
    why = ""
    if not context.request.query_text.strip():
        why = "the question is empty"
    elif context.plan.about_focus:
        why = "it asks about the focus, whose words are searched"
    if why:
        run.trace.skip("embed", "not_needed", why)
    if why or not run.is_weighed("embed", context.profile):
        return words(run, context), context
    words_ms = run.costs.expected_ms("lexical", _matches(context))
    if words_ms < run.config.hand_over_ms or is_encoded_at_once(run, context):
        # Handing over to a thread and back would take longer than it saves.
        return words(run, context), encode(run, context)
    encoded = executor.begin(encode, run, context)
    return words(run, context), encoded()


def words(run: Runner, context: QueryContext) -> Run:
    """Search words, by the BM25 of each visible shard; the rarest alone if time is short."""
    nothing, config = Run.empty("lexical"), context.config
    if run.is_disabled("lexical"):
        return nothing
    wanted = _matches(context)
    n = run.cut("lexical", wanted, "no time for words that many hold")
    if n < wanted:
        config = dataclasses.replace(config, lexical_matches=n)
        context = replace(context, config=config)
    # Nothing answers without words: they have some time of their own, however short the budget.
    grace_ms = run.config.words_grace_ms
    pool_size = context.pool_size(config.lexical_pool)

    def match() -> Run:
        rare, common = chosen_words(context)
        weights = config.column_weights
        hits = context.snapshot.match(rare, common, context.scope, pool_size, weights)
        order = np.lexsort((hits.ids, -hits.scores))
        return Run("lexical", hits.ids[order], hits.scores[order])

    return run.run("lexical", n, match, nothing, at_least_ms=grace_ms)


def chosen_words(context: QueryContext) -> tuple[list[str], list[str]]:
    """Choose which of the question's words to look up: (rare, common), in their order.

    Words that occur nowhere in scope are left out; of very many words the rarest are chosen, so
    that a question of any length costs the same. Words that more than a share of a large store
    holds are common; if all are, the rarest is looked up as a rare one. If the words together
    match more memories than can be read in time, the most common are left out: ranking counts
    them again in the candidates.
    """
    config, plan = context.config, context.plan
    frequency = plan.statistics.document_frequency.tolist()
    occurring = [word for word, n in enumerate(frequency) if n > 0]
    chosen = sorted(occurring, key=frequency.__getitem__)[: config.max_question_words]
    n_matches = itertools.accumulate([frequency[word] for word in chosen])
    n_affordable = sum([n <= config.lexical_matches for n in n_matches])
    chosen = chosen[: max(n_affordable, 1)]
    limit = max(config.common_share * plan.statistics.n_memories, config.common_memories)
    rare = sorted([word for word in chosen if frequency[word] <= limit])
    common = sorted([word for word in chosen if frequency[word] > limit])
    if not rare and common:
        rarest = chosen[0]
        rare, common = [rarest], [word for word in common if word != rarest]
    words = [word for word, _ in plan.terms]
    return [words[at] for at in rare], [words[at] for at in common]


def vector(run: Runner, context: QueryContext) -> Run:
    """Search the nearest neighbours of the question's vector, if it was encoded."""
    nothing = Run.empty("vector")
    snapshot, scope, model_id = context.snapshot, context.scope, context.model_id
    n = snapshot.n_current(scope)
    # Before anything else, since counting the pending vectors may have to read them.
    if not run.can_start("vector", n):
        return nothing
    run.trace.counts["vectors_pending"] = run.look_up(
        "vector", lambda: snapshot.n_pending(model_id, scope), -1
    )
    question = context.question
    if question is None or model_id is None:
        return nothing

    def nearest() -> Run:
        k = context.pool_size(context.config.vector_pool)
        hits = snapshot.nearest(question.pooled, model_id, scope, k)
        return Run("vector", hits.ids, hits.scores)

    return run.run("vector", n, nearest, nothing)


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


def search_timeline(context: QueryContext) -> Run:
    """Return as many as fit the candidate pool: the most important first, then the newest."""
    occurred = context.snapshot.occurred(context.scope)
    best = np.lexsort((-occurred.ids, -occurred.moments_s, -occurred.importance))
    best = best[: context.pool_size(context.config.candidate_pool)]
    return Run("timeline", occurred.ids[best], occurred.importance[best])


def search_period(context: QueryContext) -> Run:
    """Return what lies in the time named beside a topic: the nearest in meaning first.

    Without vectors the newest come first. A period that holds more than `MOST_IN_PERIOD` gives
    nothing: there a topic says more than the time does.
    """
    span, snapshot = context.plan.timespan_s, context.snapshot
    nothing = Run.empty("timeline")
    if span is None:
        return nothing
    ids = snapshot.lying_in(span, context.scope, MOST_IN_PERIOD + 1)
    if context.plan.other_timespan_s is not None:
        other = snapshot.lying_in(context.plan.other_timespan_s, context.scope, MOST_IN_PERIOD + 1)
        ids = np.union1d(ids, other)
    if len(ids) > MOST_IN_PERIOD:
        return nothing
    nearness = np.arange(len(ids), dtype=np.float32)  # ascending by id
    if context.question is not None and context.model_id is not None:
        cosines = snapshot.cosines(context.question.pooled, context.model_id, ids, context.scope)
        nearness = np.nan_to_num(cosines, nan=-1.0)
    best = np.lexsort((-ids, -nearness))[: context.config.period_pool]
    return Run("timeline", ids[best], nearness[best].astype(np.float32))


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


def near_focus(context: QueryContext) -> Run:
    """Return the memories near the one that is being talked about, nearest first.

    Nearness is in [0, 1]. The focus itself has 1, and is left out where the question asks for more
    than it says; in its session each memory further away has 0.9 of the one before, and 0.4 at
    least. What is linked to it directly has 0.7. A memory that mentions what the focus mentions has
    0.6 of its share in that, where each entity weighs 1 / √(its links). Ties go to the later one.
    """
    focus, plan = context.plan.focus_id, context.plan
    if focus is None:
        return Run.empty("focus")
    nearness: dict[int, float] = {}

    def add(memory: int, value: float) -> None:
        nearness[memory] = max(value, nearness.get(memory, 0.0))

    for before in (True, False):
        around = context.snapshot.session_around(focus, context.scope, _AROUND, before=before)
        for distance, memory in enumerate(around.tolist(), start=1):
            add(memory, max(NEXT**distance, LAST_OF_SESSION))
    edges = context.snapshot.edges(
        np.array([focus], np.int64), context.scope, context.config.graph_cap
    )
    for dst, kind in zip(edges.dst, edges.kinds, strict=True):
        if dst > 0 and kind != "next":
            add(dst, LINKED)
    for memory, share in _sharing(context).items():
        add(memory, SHARED * share)
    nearness.pop(focus, None)
    if plan.about_focus != "more":
        nearness[focus] = 1.0
    ids = sorted(nearness, key=lambda memory: (-nearness[memory], -memory))
    scores = [nearness[memory] for memory in ids]
    return Run("focus", np.array(ids, np.int64), np.array(scores, np.float32))


def _sharing(context: QueryContext) -> dict[int, float]:
    """Return the share, in (0, 1], that memories have in what the focus mentions."""
    scope, snapshot = context.scope, context.snapshot
    shares: dict[int, float] = {}
    total = 0.0
    for same in context.plan.focus_mentions:
        nodes = np.array(same, np.int64)
        weight = 1.0 / float(np.sqrt(max(float(snapshot.degrees(nodes, scope).sum()), 1.0)))
        total += weight
        edges = snapshot.edges(nodes, scope, _SHARING)
        sharing = {
            dst
            for dst, kind in zip(edges.dst, edges.kinds, strict=True)
            if dst > 0 and kind == "mention"
        }
        for memory in sharing:
            shares[memory] = shares.get(memory, 0.0) + weight
    return {memory: share / total for memory, share in shares.items()}


def about(run: Runner, context: QueryContext) -> Run:
    """Find what is known of those that the question asks all about, if it does."""
    if context.plan.breadth != "about":
        return Run.empty("about")
    return run.run("about", 0, lambda: search_about(context), Run.empty("about"))


def search_about(context: QueryContext) -> Run:
    """Return facts, profiles and milestones about those asked about, then what mentions them.

    What they tell of themselves is about them, too: *I'm allergic to cashews*.

    About the family they are all facts, profiles and milestones in scope, the newest first.
    """
    k = context.pool_size(context.config.candidate_pool)
    snapshot, scope, plan = context.snapshot, context.scope, context.plan
    if plan.about_family:
        newest = snapshot.newest(scope, k, lasting=True)
        return Run("about", newest.ids[:k], np.ones(len(newest.ids[:k]), np.float32))
    entities = [entity.id for entity in plan.about]
    hits = snapshot.about(
        entities, scope, k, lambda text: Statement(text).speaks_of_self, BITS["of_self"]
    )
    # What says whom they are related to is about them, whether it names them or not.
    evidence = np.array(sorted(set(plan.relation_evidence) - set(hits.ids.tolist())), np.int64)
    said = np.full(len(evidence), OWN, np.float32)
    return Run("about", np.append(hits.ids, evidence), np.append(hits.scores, said))


def evidence_of_relations(context: QueryContext) -> Run:
    """Return the evidence of the relations that answer; the surest comes first."""
    sure = sorted(context.plan.relation_evidence.items(), key=lambda item: (-item[1], item[0]))
    ids = np.array([memory for memory, _ in sure], np.int64)
    return Run("relation", ids, np.array([confidence for _, confidence in sure], np.float32))


def opening_runs(context: QueryContext, days_s: tuple[float, float]) -> list[Run]:
    """Return the newest memories, the newest that last, and what lies in some days to come."""
    k, snapshot = context.pool_size(context.config.candidate_pool), context.snapshot
    newest = snapshot.newest(context.scope, k)
    lasting = snapshot.newest(context.scope, k, lasting=True)
    soon = snapshot.lying_in(days_s, context.scope, k)
    return [
        Run("newest", newest.ids, newest.scores),
        Run("lasting", lasting.ids, lasting.scores),
        Run("timeline", soon, np.ones(len(soon), np.float32)),
    ]


def moments_ahead(
    context: QueryContext, rows: Rows, days_s: tuple[float, float]
) -> dict[int, float]:
    """Return the rows that are still to come in some days, each with its moment.

    That at which it occurs, or the first that it mentions; what occurred earlier today has been.
    """
    start, end = days_s
    times = context.snapshot.mentioned_times(rows.ids, context.scope)
    inside = np.minimum(times.end_s, end) - np.maximum(times.start_s, start)
    mentioned = (inside >= 0.5 * (times.end_s - times.start_s)) & (times.end_s > context.now_s)
    at = np.searchsorted(rows.ids, times.ids[mentioned])
    moments = np.full(len(rows), np.inf)
    np.minimum.at(moments, at, np.maximum(times.start_s[mentioned], start))
    occurs = (rows.occurred_s >= context.now_s) & (rows.occurred_s < end)
    moments[occurs] = rows.occurred_s[occurs]
    ahead = np.flatnonzero(np.isfinite(moments))
    return dict(zip(ahead.tolist(), moments[ahead].tolist(), strict=True))


def _matches(context: QueryContext) -> int:
    """Count, word by word, the memories that hold what is searched for."""
    return sum(context.plan.statistics.document_frequency.tolist())
