"""Planner: a question and its scope in, a plan of what to look for out."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

import numpy as np

from family_recall import time_expressions
from family_recall.dataflow import QueryPlan
from family_recall.query import entities, household_anchors, text
from family_recall.query.identifiers import find_identifiers
from family_recall.query.router import TIER_WEIGHTS, UNROUTED, Encode, Route, route
from family_recall.stores.records import Entity, Snapshot, WordStatistics
from family_recall.types import RecallRequest, Region, Scope, SpokenTime, Strategy, Understanding

_Found = TypeVar("_Found")
_Stems = Callable[[str], list[tuple[str, str]]]


class Guarded(Protocol):
    """Runs a look-up; gives the fallback, and says so, should it fail."""

    def __call__(self, stage: str, run: Callable[[], _Found], otherwise: _Found) -> _Found:
        """Give what the look-up gives, or the fallback."""
        ...


CERTAIN = 0.9
"""Certainty from which a time that was read may leave memories out."""

LIKELY = 0.8
"""The same where the question asks for whatever there is of a time that has begun."""

_HAPPENING = frozenset(
    """
    discuss discussed event events everything go going happen happened happening highlights
    important interesting latest new news overview recap special summarise summarize summary talk
    talked talking timeline update updates went
    """.split()
)
"""Words that ask for whatever there is."""


def plan(
    request: RecallRequest,
    scope: Scope,
    snapshot: Snapshot,
    *,
    now: dt.datetime,
    region: Region,
    encode: Encode | None,
    guarded: Guarded,
    leave_out: Collection[str] = (),
) -> QueryPlan:
    """Understand a question. Any string is one; an empty one asks for nothing.

    ``guarded`` runs each look-up and gives the fallback it is handed should that fail;
    ``leave_out`` is as in :func:`read`.

    Raises:
        UnknownMemoryError: If the focus is no memory the request may see.
    """
    question = request.query_text[: text.MAX_QUESTION_CHARS]
    focus = request.ctx.focus_event_id
    nothing: tuple[time_expressions.Anchor, ...] = ()
    anchors = guarded(
        "anchors",
        lambda: household_anchors.anchors_of(question, scope, snapshot, now.tzinfo),
        nothing,
    )

    def understand(by: Encode | None) -> QueryPlan:
        return read(
            question,
            snapshot.stems,
            now=now,
            region=region,
            anchors=anchors,
            encode=by,
            leave_out=leave_out,
        )

    understood = guarded("route", lambda: understand(encode), None) or understand(None)
    nobody: tuple[tuple[Entity, ...], tuple[str, ...]] = ((), ())
    named, names = guarded("entities", lambda: entities.resolve(question, scope, snapshot), nobody)
    unrelated: tuple[tuple[str, str, str], ...] = ()
    terms = understood.terms
    return dataclasses.replace(
        understood,
        statistics=guarded(
            "statistics",
            lambda: snapshot.word_statistics([stem for _, stem in terms], scope),
            # Every word as rare as the next: they find what they find, in the index's order.
            WordStatistics(1, 1, np.ones(len(terms), np.int64)),
        ),
        entities=named,
        names=names,
        relations=guarded(
            "relations", lambda: entities.relations_between(named, scope, snapshot), unrelated
        ),
        focus_id=None if focus is None else snapshot.find(focus, scope).id,
    )


def read(
    question: str,
    stems: _Stems,
    *,
    now: dt.datetime,
    region: Region,
    anchors: Sequence[time_expressions.Anchor] = (),
    encode: Encode | None = None,
    leave_out: Collection[str] = (),
) -> QueryPlan:
    """Understand a question by itself, without looking anything up.

    Args:
        question: Any text.
        stems: Splits a text into (word, stem) pairs.
        now: The moment of asking, in the household's zone.
        region: Where the household lives.
        anchors: Times the household has words for.
        encode: Gives a short text's unit vector, for the router.
        leave_out: ``time`` reads no time, ``routing`` takes every question broadly.
    """
    reads_time = "time" not in leave_out
    span = None
    if reads_time:
        span = time_expressions.find_timespan(
            question,
            now=now,
            country=region.country,
            hemisphere="south" if region.hemisphere == "south" else "north",
            anchors=anchors,
        )
    past = reads_time and time_expressions.is_past_reference(question)
    identifiers = find_identifiers(question)
    routed = "routing" not in leave_out
    way = UNROUTED
    if routed:
        way = route(
            question, timespan=span, past_reference=past, identifiers=identifiers, encode=encode
        )
    # Words for a time stay search terms beside a topic: a memory's day is indexed with it.
    terms = text.search_terms(stems(question))
    alone = (
        span is not None
        and span.certainty >= (LIKELY if way.strategy == "TIMELINE" else CERTAIN)
        and (span.start is None or span.start <= now)
        and not _asks_for_more(_without(question, span.matched), stems)
    )
    if alone:
        # What is left are words such as "what did we do": they find nothing.
        terms = ()
        if routed and way.strategy != "EPISODIC":
            way = _turned(way, "TIMELINE")
    elif way.strategy == "TIMELINE":
        # Without a time that was surely read, or with a topic beside it, scores must decide.
        way = _turned(way, "EPISODIC")
    return QueryPlan(
        terms=terms,
        identifiers=identifiers,
        timespan_s=None if span is None else _seconds(span),
        timespan_certainty=0.0 if span is None else span.certainty,
        timespan_words=() if span is None else span.matched,
        about_time_alone=alone,
        past_reference=past,
        asks_when=reads_time and text.asks_when(question),
        strategy=way.strategy,
        strategy_confidence=way.confidence,
        mode=way.mode,
        tier_weights=way.tier_weights,
    )


def understanding(question: str, plan: QueryPlan, zone: dt.tzinfo) -> Understanding:
    """Tell a plan to people: moments in the household's zone, names instead of numbers."""
    spoken = None
    if plan.timespan_s is not None:
        start, end = (
            dt.datetime.fromtimestamp(edge, zone) if math.isfinite(edge) else None
            for edge in plan.timespan_s
        )
        words = tuple(question[first:last] for first, last in plan.timespan_words)
        spoken = SpokenTime(start, end, plan.timespan_certainty, words)
    return Understanding(
        question=question,
        timespan=spoken,
        past_reference=plan.past_reference,
        identifiers=tuple((one.kind, one.normalised) for one in plan.identifiers),
        entities=tuple(dict.fromkeys(entity.name for entity in plan.entities)),
        strategy=plan.strategy,
        strategy_confidence=plan.strategy_confidence,
        mode=plan.mode,
        tier_weights=plan.tier_weights,
        terms=tuple(word for word, _ in plan.terms),
    )


def _turned(way: Route, strategy: Strategy) -> Route:
    return dataclasses.replace(way, strategy=strategy, tier_weights=TIER_WEIGHTS[strategy])


def _without(question: str, spans: Sequence[tuple[int, int]]) -> str:
    """Blank out some characters of a question."""
    for start, end in spans:
        question = question[:start] + " " * (end - start) + question[end:]
    return question


def _asks_for_more(rest: str, stems: _Stems) -> bool:
    """Whether what is left of a question asks for anything beside the time it speaks of."""
    words = [word.casefold() for word, _ in stems(rest)]
    return any(word not in text.STOP_WORDS and word not in _HAPPENING for word in words)


def _seconds(span: time_expressions.Timespan) -> tuple[float, float]:
    return (
        -math.inf if span.start is None else span.start.timestamp(),
        math.inf if span.end is None else span.end.timestamp(),
    )
