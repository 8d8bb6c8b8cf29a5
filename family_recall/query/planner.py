"""Planner: a question and its scope in, a plan of what to look for out."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from family_recall.query import entities, text, timespan
from family_recall.stage import QueryPlan
from family_recall.stores.base import Entity, Snapshot, WordStatistics
from family_recall.types import RecallRequest, Scope

_Found = TypeVar("_Found")


class Guarded(Protocol):
    """Runs a look-up; gives the fallback, and says so, should it fail."""

    def __call__(self, stage: str, run: Callable[[], _Found], otherwise: _Found) -> _Found:
        """Give what the look-up gives, or the fallback."""
        ...


CERTAIN = 0.9
"""Certainty from which a time that was read may leave memories out."""

_HAPPENING = frozenset(
    "discuss discussed go going happen happened happening news summary talk talked talking went"
    .split()
)  # fmt: skip
"""Words that ask for whatever there is."""


def plan(
    request: RecallRequest, scope: Scope, snapshot: Snapshot, *, now: dt.datetime, guarded: Guarded
) -> QueryPlan:
    """Understand a question. Any string is one; an empty one asks for nothing.

    ``guarded`` runs each look-up and gives the fallback it is handed should that fail.

    Raises:
        UnknownMemoryError: If the focus is no memory the request may see.
    """
    question = request.query_text[: text.MAX_QUESTION_CHARS]
    focus = request.ctx.focus_event_id
    span = timespan.find_timespan(question, now=now)
    nobody: tuple[tuple[Entity, ...], tuple[str, ...]] = ((), ())
    named, names = guarded("entities", lambda: entities.resolve(question, scope, snapshot), nobody)
    pairs = snapshot.stems(question)
    terms = text.search_terms(pairs)
    sure = span is not None and span.certainty >= CERTAIN
    about_time_alone = sure and span is not None and not _beside(question, span, snapshot)
    return QueryPlan(
        terms=terms,
        statistics=guarded(
            "statistics",
            lambda: snapshot.word_statistics([stem for _, stem in terms], scope),
            # Every word as rare as the next: they find what they find, in the index's order.
            WordStatistics(1, 1, np.ones(len(terms), np.int64)),
        ),
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
