"""Planner: a question and its scope in, a plan of what to look for out."""

from __future__ import annotations

import datetime as dt
import math

from family_recall.query import entities, text, timespan
from family_recall.stage import QueryPlan
from family_recall.stores.base import Snapshot
from family_recall.types import RecallRequest, Scope


def plan(
    request: RecallRequest, scope: Scope, snapshot: Snapshot, *, now: dt.datetime
) -> QueryPlan:
    """Understand a question. Any string is one; an empty one asks for nothing.

    Raises:
        UnknownMemoryError: If the focus is no memory the request may see.
    """
    question = request.query_text[: text.MAX_QUESTION_CHARS]
    focus = request.ctx.focus_event_id
    span = timespan.find_timespan(question, now=now)
    named, names = entities.resolve(question, scope, snapshot)
    terms = text.search_terms(snapshot.stems(question))
    return QueryPlan(
        terms=terms,
        statistics=snapshot.word_statistics([stem for _, stem in terms], scope),
        entities=named,
        names=names,
        timespan_s=None if span is None else _seconds(span),
        past_reference=timespan.is_past_reference(question),
        focus_id=None if focus is None else snapshot.find(focus, scope).id,
    )


def _seconds(span: timespan.Timespan) -> tuple[float, float]:
    return (
        -math.inf if span.start is None else span.start.timestamp(),
        math.inf if span.end is None else span.end.timestamp(),
    )
