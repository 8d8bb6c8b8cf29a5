"""The stages that understand a question: what it may see and looks for, and its vectors."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from family_recall.access import policy
from family_recall.encoders.base import Encoder, Encoding, level_of
from family_recall.english.text import normalise
from family_recall.recall.dataflow import QueryContext, QueryPlan, mode_of
from family_recall.recall.question import planner
from family_recall.recall.question.related import Related, relations_of_asker
from family_recall.recall.ranking.bm25 import inverse_document_frequency
from family_recall.recall.ranking.profiles import (
    OPENING,
    for_question,
    personal_profile,
    requested_profile,
)
from family_recall.recall.runner import Runner, question_tokens
from family_recall.store.store import Store
from family_recall.types import FloatArray, Region, Scope, Skip

_WITHOUT_TIME = ("routing", "time", "relations")
"""What a plan does without where it cannot be paid for: words find without it."""


def understand(
    run: Runner, store: Store, now: dt.datetime, wall_s: float, region: Region | None = None
) -> QueryContext:
    """Decide what a request may see and how it is ranked, and plan what to look for.

    What cannot be looked up is left out of the plan. The trace shows what was understood.
    """
    request, snapshot, config, zone = run.request, run.snapshot, run.config, store.zone
    ctx, now_s = request.ctx, now.timestamp()
    profile = requested_profile(ctx, config.weights)
    if not ctx.aloud:  # what was learned rests on private memories, too
        profile = personal_profile(profile, snapshot.learned(ctx.person_id))
    scope = policy.scope_of(snapshot, ctx, wall_s=wall_s, zone=zone, now_s=now_s)
    plan = _plan(run, scope, now, region or store.region)
    run.trace.understanding = functools.partial(
        planner.understanding, request.query_text, plan, zone
    )
    if plan.timespan_s is not None:
        if ctx.as_of is None:  # what was true in that time
            readings = [plan.timespan_s, plan.other_timespan_s or plan.timespan_s]
            start_s, end_s = min(readings)[0], max(end for _, end in readings)
            if plan.timespan_certainty < planner.LIKELY:
                # What is true between that time and now counts as well.
                start_s, end_s = min(start_s, scope.as_of_s), max(end_s, scope.as_of_s)
            scope = dataclasses.replace(scope, valid_s=(start_s, end_s))
        if plan.about_time_alone:
            others = (plan.other_timespan_s,) if plan.other_timespan_s else ()
            scope = dataclasses.replace(scope, lies_in_s=(plan.timespan_s, *others))
        run.trace.decisions["time"] = (
            "nothing else is asked: only what lies in that time is searched"
            if plan.about_time_alone
            else "more is asked: what lies outside that time may answer, too"
        )
    profile = for_question(profile, mode_of(request, plan), plan.breadth, config.weights)
    return QueryContext(
        request=request,
        scope=scope,
        plan=plan,
        profile=profile,
        snapshot=snapshot,
        deadline=run.deadline,
        config=config,
        now_s=now_s,
    )


def _plan(run: Runner, scope: Scope, now: dt.datetime, region: Region) -> QueryPlan:
    static = run.models.static(_static_wait_ms(run))
    if static is None and (fault := run.models.fault("static_embedder")) is not None:
        run.trace.degraded.append(f"embed_static: {fault}")
    leave_out = run.config.leave_out
    refusal = run.refusal("plan")
    if refusal is not None:
        run.costs.count_refusal("plan")
        leave_out |= set(_WITHOUT_TIME)
        for stage in _WITHOUT_TIME:
            run.trace.skip(stage, refusal.reason, refusal.detail)
    with run.trace.span("plan") as span:
        plan = planner.plan(
            run.request,
            scope,
            run.snapshot,
            now=now,
            region=region,
            encode=routing_encoder(static),
            guarded=run.look_up,
            leave_out=leave_out,
        )
    focus = run.request.ctx.focus_event_id
    if focus is not None and plan.focus_id is None and not run.is_disabled("focus"):
        run.trace.skip("focus", "not_found", "no such memory that this request may see")
    if refusal is None:
        run.costs.observe("plan", 0, span.ms)
    return plan


def as_opening(run: Runner, context: QueryContext, zone: dt.tzinfo) -> QueryContext:
    """Ask for what a conversation begins with: all facts, and the asker's relations."""
    run.trace.understanding = None  # nothing was asked
    own = Related()
    if "relations" not in run.config.leave_out:
        scope, snapshot = context.scope, context.snapshot
        own = run.look_up("relations", lambda: relations_of_asker(scope, snapshot, zone), own)
    plan = QueryPlan(relations=own.relations, breadth="about")
    return replace(context, profile=OPENING, plan=plan)


def encode(run: Runner, context: QueryContext) -> QueryContext:
    """Encode the question: by the transformer if it is ready and affordable, else the static one.

    The trace says which it was, and why it was not the other.
    """
    static = run.models.static(_static_wait_ms(run))
    encoder, stage = run.models.encoder(0.0), "embed"
    if encoder is None or _cached(run, context, encoder) is None:
        encoder = _transformer(run, context, static)
    encoding = None if encoder is None else _encoded(run, context, encoder, stage)
    if encoding is None and static is not None and run.can_start("embed_static"):
        encoder, stage = static, "embed_static"
        encoding = _encoded(run, context, static, stage)
    if encoder is None or encoding is None:
        return context
    run.trace.embedder = encoder.model_id
    context = replace(
        context,
        model_id=encoder.model_id,
        question=encoding,
        level=level_of(encoder),
        kind="static",
    )
    if stage == "embed_static":
        return context
    weigh = functools.partial(token_weights, encoder, encoding, context.plan)
    return replace(context, kind="full", question_weights=run.run("weigh", 0, weigh, None))


def is_encoded_at_once(run: Runner, context: QueryContext) -> bool:
    """Whether the transformer will not run: its answer is cached, or it has no time."""
    encoder = run.models.encoder(0.0)
    if encoder is not None and _cached(run, context, encoder) is not None:
        return True
    return _refusal_to_encode(run, context) is not None


def token_weights(encoder: Encoder, encoding: Encoding, plan: QueryPlan) -> FloatArray:
    """Weigh the question's tokens by how rare they are: in English, and for names at home.

    A name is rare in English and common at home, so its tokens weigh no more than its idf in the
    visible memories. A word that begins with a capital is taken for a name.
    """
    weights = encoder.token_weights(encoding.token_ids)
    names = plan.name_words
    named = [
        (at, word)
        for at, (word, _) in enumerate(plan.terms)
        if word[0].isupper() or (names and normalise(word) in names)
    ]
    if named:
        at_home = inverse_document_frequency(plan.statistics)
        for at, word in named:
            tokens = (encoding.token_ids[:, None] == encoder.token_ids(word)).any(axis=1)
            weights[tokens] = np.minimum(weights[tokens], at_home[at])
    return weights


def _encoded(run: Runner, context: QueryContext, encoder: Encoder, stage: str) -> Encoding | None:
    """Encode the question by one embedder, unless that is cached; None should it fail."""
    text, person_id = context.searched_text, context.request.ctx.person_id
    n = question_tokens(text) if stage == "embed" else 0
    encoding = _cached(run, context, encoder)
    if encoding is not None:
        with run.trace.span(stage, n) as span:
            span.n_out = n
        return encoding
    encoding = run.run(stage, n, lambda: encoder.encode_question(text), None)
    if encoding is not None:
        run.models.questions.put(person_id, encoder.model_id, text, encoding)
    return encoding


def _transformer(run: Runner, context: QueryContext, static: Encoder | None) -> Encoder | None:
    """Return the transformer if there is time for it; where not, the trace says why."""
    instead = "" if static is None else f"; {static.model_id} is asked instead"
    refusal = _refusal_to_encode(run, context)
    if refusal is not None:
        run.refuse(refusal, detail=instead, left_out=0)
        return None
    # Half of the time is left for what follows, should the model not come.
    embed_ms = run.costs.expected_ms("embed", question_tokens(context.searched_text))
    wait_ms = (run.deadline.remaining_ms() - embed_ms) / 2.0
    if static is not None and wait_ms < run.config.embedder_load_ms:
        wait_ms = 0.0
    encoder = run.models.encoder(min(wait_ms, run.config.load_wait_ms))
    if encoder is None:
        stage = "vector" if static is None else "embed"
        run.trace.degrade(stage, "no_model", (run.models.why or "no model") + instead)
    return encoder


def _cached(run: Runner, context: QueryContext, encoder: Encoder) -> Encoding | None:
    """Return the question as an embedder has encoded it for this person, if it has."""
    person_id = context.request.ctx.person_id
    return run.models.questions.get(person_id, encoder.model_id, context.searched_text)


def _refusal_to_encode(run: Runner, context: QueryContext) -> Skip | None:
    """Return why the transformer cannot be paid for, beside the search for words that it hides."""
    expected_ms = run.costs.expected_ms
    beside_ms = max(expected_ms("lexical") - expected_ms("embed"), 0.0)
    return run.refusal("embed", question_tokens(context.searched_text), beside_ms=beside_ms)


def _static_wait_ms(run: Runner) -> float:
    """Return how long to wait for the static embedder: half of the time left, or less."""
    return min(run.deadline.remaining_ms() / 2.0, run.config.load_wait_ms)


def routing_encoder(static: Encoder | None) -> Callable[[str], FloatArray] | None:
    """Return what encodes short texts for the router: the same object for the same model."""
    # Encoders are hashed by identity; a protocol cannot say so.
    return None if static is None else _pooled_by(static)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4)
def _pooled_by(encoder: Encoder) -> Callable[[str], FloatArray]:
    return lambda text: encoder.encode_question(text).pooled
