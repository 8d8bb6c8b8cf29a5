"""Planner: a question and its scope in, a plan of what to look for out."""

from __future__ import annotations

import datetime as dt
import math

from family_recall.query import entities, text, timespan
from family_recall.stage import QueryPlan
from family_recall.stores.base import Snapshot
from family_recall.types import RecallRequest, Scope

CERTAIN = 0.9
"""Certainty from which a time that was read may leave memories out."""

_HAPPENING = frozenset(
    {
        "happen",
        "happened",
        "happening",
        "going",
        "go",
        "went",
        "summary",
        "talk",
        "talked",
        "discuss",
        "discussed",
        "talking",
        "news",
    }
)


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
    pairs = snapshot.stems(question)
    terms = text.search_terms(pairs)
    sure = span is not None and span.certainty >= CERTAIN
    about_time_alone = sure and span is not None and not _beside(question, span, snapshot)
    return QueryPlan(
        terms=terms,
        statistics=snapshot.word_statistics([stem for _, stem in terms], scope),
        entities=named,
        names=names,
        timespan_s=None if span is None else _seconds(span),
        timespan_certainty=0.0 if span is None else span.certainty,
        past_reference=timespan.is_past_reference(question),
        strategy="timeline" if about_time_alone else "hybrid",
        focus_id=None if focus is None else snapshot.find(focus, scope).id,
    )


def _beside(question: str, span: timespan.Timespan, snapshot: Snapshot) -> bool:
    """Whether a question asks for anything beside the time it speaks of."""
    rest = question
    for start, end in span.matched:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    words = [word.casefold() for word, _ in snapshot.stems(rest)]
    return any(word not in text.STOP_WORDS and word not in _HAPPENING for word in words)


def _seconds(span: timespan.Timespan) -> tuple[float, float]:
    return (
        -math.inf if span.start is None else span.start.timestamp(),
        math.inf if span.end is None else span.end.timestamp(),
    )
