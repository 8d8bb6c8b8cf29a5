"""The stage that turns a question into a plan of what to look for."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable

from family_recall.encoders.base import Encoder
from family_recall.recall.dataflow import QueryContext, QueryPlan
from family_recall.recall.question import planner
from family_recall.recall.question.related import Related, relations_of_asker
from family_recall.recall.runner import Runner
from family_recall.recall.trace import TraceBuilder
from family_recall.store.snapshot import Snapshot
from family_recall.types import FloatArray, RecallRequest, Region, Scope

_WITHOUT_TIME = (
    "routing",
    "time",
    "relations",
)  # what a plan does without where it cannot be paid for


def understand(
    run: Runner,
    request: RecallRequest,
    scope: Scope,
    snapshot: Snapshot,
    *,
    now: dt.datetime,
    region: Region,
) -> QueryPlan:
    """Understand the question; what cannot be looked up is left out of the plan.

    What a question is after, and when, is a matter of order: words find without it.
    """
    static = run.models.static(static_wait_ms(run))
    if static is None and (fault := run.models.static_fault) is not None:
        run.trace.degraded.append(f"embed_static: {fault}")
    leave_out = run.config.leave_out
    refusal = run.admitted.refusal("plan")
    if refusal is not None:
        run.admitted.count_refusal(refusal)
        leave_out |= set(_WITHOUT_TIME)
        for stage in _WITHOUT_TIME:
            run.trace.skip(stage, refusal.reason, refusal.detail)
    with run.trace.span("plan") as span:
        plan = planner.plan(
            request,
            scope,
            snapshot,
            now=now,
            region=region,
            encode=routing_encoder(static),
            guarded=run.look_up,
            leave_out=leave_out,
        )
    focus = request.ctx.focus_event_id
    if focus is not None and plan.focus_id is None and not run.is_disabled("focus"):
        run.trace.skip("focus", "not_found", "no such memory that this request may see")
    if refusal is None:
        run.admitted.observe("plan", 0, span.ms)
    return plan


def describe(trace: TraceBuilder, context: QueryContext, zone: dt.tzinfo) -> None:
    """Add to a trace what the question was understood to ask, and what a time in it decides."""
    plan = context.plan
    question = context.request.query_text
    trace.understanding = functools.partial(planner.understanding, question, plan, zone)
    if plan.timespan_s is not None:
        trace.decisions["time"] = (
            "nothing else is asked: only what lies in that time is searched"
            if plan.about_time_alone
            else "more is asked: what lies outside that time may answer, too"
        )


def opening_plan(run: Runner, context: QueryContext, zone: dt.tzinfo) -> QueryPlan:
    """Plan what a conversation begins with: all facts concern it, and the asker's relations."""
    if "relations" in run.config.leave_out:
        return QueryPlan(breadth="about")
    scope, snapshot = context.scope, context.snapshot
    own = run.look_up("relations", lambda: relations_of_asker(scope, snapshot, zone), Related())
    return QueryPlan(relations=own.relations, breadth="about")


def static_wait_ms(run: Runner) -> float:
    """Return how long to wait for the static embedder: half of the time left, or less."""
    return min(run.admitted.deadline.remaining_ms() / 2.0, run.config.load_wait_ms)


def routing_encoder(static: Encoder | None) -> Callable[[str], FloatArray] | None:
    """Return what encodes short texts for the router: the same object for the same model."""
    # Encoders are hashed by identity; a protocol cannot say so.
    return None if static is None else _pooled_by(static)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4)
def _pooled_by(encoder: Encoder) -> Callable[[str], FloatArray]:
    return lambda text: encoder.encode_question(text).pooled
