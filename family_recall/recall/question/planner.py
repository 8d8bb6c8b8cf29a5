"""Understand a question: the plan that sources and ranking work from."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

import numpy as np
from msgspec.structs import replace

from family_recall.english import Question, text, times
from family_recall.english.breadth import (
    is_about_asker,
    is_about_everybody,
    is_about_somebody,
)
from family_recall.english.events import forms_of_event
from family_recall.english.question import names_topic
from family_recall.english.routing import TIER_WEIGHTS, UNROUTED, Encode, route
from family_recall.errors import UnknownMemoryError
from family_recall.recall.dataflow import QueryPlan, RelatedWord
from family_recall.recall.question import anchors, entities
from family_recall.recall.question.related import Related, related, relations_about
from family_recall.store.memories import StoredMemory
from family_recall.store.transaction import Snapshot
from family_recall.store.word_search import WordStatistics
from family_recall.types import RecallRequest, Region, Scope, SpokenTime, Understanding

_T = TypeVar("_T")
_Terms = tuple[tuple[str, str], ...]
_Stems = Callable[[str], list[tuple[str, str]]]


class Guarded(Protocol):
    """Runs a look-up; on failure records it and returns the fallback."""

    def __call__(self, stage: str, run: Callable[[], _T], otherwise: _T) -> _T:
        """Return the result of the look-up, or the fallback."""
        ...


CERTAIN = 0.9
"""Certainty from which a time expression may filter memories."""

LIKELY = 0.8
"""The same if the question asks for everything of a time that has begun, or for the present."""

POSSIBLE = 0.55
"""The same for a time to come: few memories lie in it, and they are what is asked for."""

FOCUS_LINKS = 16
"""Links of the focus that are read."""


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
    """Understand a question in its household. Any string is valid; an empty one asks for nothing.

    ``guarded`` runs each look-up and returns its fallback on failure; ``leave_out`` is as in
    :func:`read`, and ``relations`` looks up none. A focus that the request may not see is none.
    """
    question = unicodedata.normalize("NFC", request.query_text[: text.MAX_QUESTION_CHARS])
    stems, zone = snapshot.stems, now.tzinfo
    no_anchors: tuple[times.Anchor, ...] = ()
    household = guarded(
        "anchors", lambda: anchors.anchors_of(question, scope, snapshot, zone), no_anchors
    )

    def read_with(encode: Encode | None) -> QueryPlan:
        return read(
            question, stems,
            now=now, region=region, anchors=household, encode=encode, leave_out=leave_out,
        )  # fmt: skip

    plan = guarded("route", lambda: read_with(encode), None) or read_with(None)
    resolved = guarded(
        "entities", lambda: entities.resolve(question, scope, snapshot), entities.Resolution()
    )
    if "routing" not in leave_out:
        plan = _with_breadth(plan, resolved, stems)
    plan = plan._replace(
        searched=resolved.searched,
        entities=resolved.entities,
        names=resolved.names,
        owners=resolved.owners,
    )
    focus_id = None if "focus" in leave_out else request.ctx.focus_event_id
    focus = guarded("focus", lambda: _find_focus(focus_id, scope, snapshot), None)
    if focus is not None:
        no_mentions: tuple[tuple[int, ...], ...] = ()
        mentioned = guarded("focus", lambda: _mentioned_by(focus.id, scope, snapshot), no_mentions)
        plan = plan._replace(
            focus_id=focus.id, focus_mentions=mentioned, about_focus=plan.asked.refers_back
        )
    if focus is not None and plan.about_focus:
        # Its own words are few and say nothing: those of the focus are searched.
        words = text.search_terms(stems(focus.memory.text[: text.MAX_QUESTION_CHARS]))
        plan = _counted(plan._replace(terms=words), (), [], scope, snapshot, guarded)
    else:
        names = text.search_terms(stems(" ".join(resolved.relatives))) if plan.terms else ()
        alike = text.related_words(plan.terms)
        plan = _counted(plan, names, alike, scope, snapshot, guarded)

    def find_related() -> Related:
        if "relations" in leave_out:
            return Related()
        if plan.about_family or plan.breadth == "about":
            whom = None if plan.about_family else plan.about
            return relations_about(whom, scope, snapshot, zone)
        return related(
            resolved, scope, snapshot,
            zone=zone,
            time_words=plan.timespan_words,
            timespan_s=None if plan.other_timespan_s else plan.timespan_s,
            asks_when=plan.asks_when,
        )  # fmt: skip

    found = guarded("relations", find_related, Related())
    return plan._replace(relations=found.relations, relation_evidence=found.evidence)


def read(
    question: str,
    stems: _Stems,
    *,
    now: dt.datetime,
    region: Region,
    anchors: Sequence[times.Anchor] = (),
    encode: Encode | None = None,
    leave_out: Collection[str] = (),
) -> QueryPlan:
    """Understand a question by itself, without a household.

    Args:
        question: Any text.
        stems: Splits a text into (word, stem) pairs.
        now: The moment of asking, in the household's zone.
        region: Where the household lives.
        anchors: Times with a name of the household's own.
        encode: Returns a short text's unit vector, for the router.
        leave_out: ``time`` ignores time expressions, ``routing`` takes every question broadly.
    """
    asked = Question(question)
    reads_time, routed = "time" not in leave_out, "routing" not in leave_out
    span, routing = None, UNROUTED
    if reads_time:
        south = region.hemisphere == "south"
        span = times.find_timespan(
            question, now=now, country=region.country, anchors=anchors,
            hemisphere="south" if south else "north",
        )  # fmt: skip
    if routed:
        routing = route(
            question, timespan=span, quotes_identifier=bool(asked.identifiers), encode=encode
        )
    # Next to a topic, time words stay search terms: a memory is indexed with its day.
    terms = text.search_terms(stems(question))
    asks_when = reads_time and asked.asks_when
    plan = QueryPlan(
        asked=asked,
        terms=terms,
        identifiers=asked.identifiers,
        past_reference=reads_time and times.is_past_reference(question),
        asks_when=asks_when,
        event_stems=_event_stems(terms, stems) if asks_when else (),
        strategy="EPISODIC" if routing.strategy == "TIMELINE" else routing.strategy,
        strategy_confidence=routing.confidence,
        mode=routing.mode,
    )
    if span is not None:
        rest = _without(question, span.matched)
        other_words = [word for word, _ in stems(rest)]
        if span.other and not names_topic(other_words, ahead=True):
            span = _nearer(span, now)
        ahead = span.start is not None and (
            span.start > now or (span.end is None and span.start.date() == now.date())
        )
        has_begun = span.end is not None and span.end > now
        needed = LIKELY if has_begun or routing.strategy == "TIMELINE" else CERTAIN
        alone = span.certainty >= (POSSIBLE if ahead else needed) and not names_topic(
            other_words, ahead=ahead
        )
        plan = plan._replace(
            timespan_s=_seconds(span.start, span.end),
            other_timespan_s=span.other and _seconds(*span.other),
            timespan_certainty=span.certainty,
            timespan_words=span.matched,
            days_s=_days(question, span),
            about_time_alone=alone,
            ahead=ahead,
        )
        if alone:
            # The other words, such as "what did we do", match nothing of use.
            plan = plan._replace(terms=(), event_stems=())
            if routed and routing.strategy != "EPISODIC":
                plan = plan._replace(strategy="TIMELINE")
    return plan._replace(tier_weights=TIER_WEIGHTS[plan.strategy])


def understanding(question: str, plan: QueryPlan, zone: dt.tzinfo) -> Understanding:
    """Describe a plan for people: times in the household's zone, names instead of ids."""
    spoken = None
    if plan.timespan_s is not None:
        start, end = (
            dt.datetime.fromtimestamp(edge, zone) if math.isfinite(edge) else None
            for edge in plan.timespan_s
        )
        words = tuple(plan.asked.text[first:last] for first, last in plan.timespan_words)
        spoken = SpokenTime(start, end, plan.timespan_certainty, words)
    return Understanding(
        question=question,
        timespan=spoken,
        past_reference=plan.past_reference,
        identifiers=tuple(
            [(identifier.kind, identifier.normalised) for identifier in plan.identifiers]
        ),
        entities=tuple(dict.fromkeys([entity.name for entity in plan.entities])),
        strategy=plan.strategy,
        strategy_confidence=plan.strategy_confidence,
        breadth=plan.breadth,
        mode=plan.mode,
        tier_weights=dict(plan.tier_weights),
        terms=tuple([word for word, _ in plan.terms]),
    )


def _with_breadth(plan: QueryPlan, resolved: entities.Resolution, stems: _Stems) -> QueryPlan:
    """Return a plan with the breadth of its question, and search terms of its topic alone.

    A question about a time alone keeps its plan: it asks for all of that time anyway.
    """
    asked, names = plan.asked.amount, resolved.names
    if plan.about_time_alone or asked.breadth == "one":
        return plan
    topic = stems(asked.topic)
    if asked.breadth == "about":
        is_about = is_about_somebody(asked.topic, names)
        by_name = [entity for mention in resolved.mentions for entity in mention.entities]
        asker = resolved.asker if is_about_asker(asked.topic) else ()
        about = tuple(dict.fromkeys((*by_name, *asker)))
        everybody = not asker and is_about_everybody(asked.topic, names)
        if is_about and (about or everybody):
            # *Me* and *us* are in too many memories, and in too few of those that are about them.
            words = [pair for pair in topic if pair[0].casefold() not in text.STOP_WORDS]
            return plan._replace(
                breadth="about", about=about, about_family=everybody,
                terms=text.search_terms(words),
            )  # fmt: skip
        if is_about or asked.otherwise == "one":
            return plan
    return plan._replace(breadth="all", terms=text.search_terms(topic))


def _counted(
    plan: QueryPlan,
    names: _Terms,
    alike: Sequence[tuple[int, str]],
    scope: Scope,
    snapshot: Snapshot,
    guarded: Guarded,
) -> QueryPlan:
    """Return a plan with the words of relatives' names, and how many memories hold each word.

    A word of a name, or of like meaning (``alike``), that no memory holds is left out.
    """
    n_asked, terms = len(plan.terms), text.distinct((*plan.terms, *names))
    stems = [stem for _, stem in (*terms, *alike)]
    counted = guarded(
        "statistics",
        lambda: snapshot.word_statistics(stems, scope),
        # The fallback: every word equally rare, and none of like meaning.
        WordStatistics(1, 1, np.array([1] * len(terms) + [0] * len(alike))),
    )
    held = counted.document_frequency[: len(terms)]
    used = (np.arange(len(terms)) < n_asked) | (held > 0)
    n_memories = counted.document_frequency[len(terms) :].tolist()
    return plan._replace(
        terms=tuple(term for term, is_used in zip(terms, used.tolist(), strict=True) if is_used),
        statistics=replace(counted, document_frequency=held[used]),
        related_words=tuple(
            RelatedWord(term, stem, n)
            for (term, stem), n in zip(alike, n_memories, strict=True)
            if n > 0
        ),
    )


def _find_focus(doc_id: str | None, scope: Scope, snapshot: Snapshot) -> StoredMemory | None:
    """Return the memory that is being talked about; None if the request may not see such a one."""
    if doc_id is None:
        return None
    try:
        return snapshot.find(doc_id, scope)
    except UnknownMemoryError:
        return None


def _mentioned_by(focus: int, scope: Scope, snapshot: Snapshot) -> tuple[tuple[int, ...], ...]:
    """Return the entities that a memory mentions, each with those of its name in other partitions.

    An entity belongs to one partition; one of the same name elsewhere is the same thing.
    """
    edges = snapshot.edges(np.array([focus], np.int64), scope, FOCUS_LINKS)
    ends = zip(edges.dst, edges.kinds, strict=True)
    mentioned = [dst for dst, kind in ends if dst < 0 and kind == "mention"]
    if not mentioned:
        return ()
    by_name: dict[str, set[int]] = {}
    for node, name in snapshot.node_names(np.array(mentioned, np.int64), scope).items():
        by_name.setdefault(text.normalise(name), set()).add(node)
    for alias, entity in snapshot.entities(list(by_name), scope):
        by_name[alias].add(entity.id)
    return tuple(tuple(sorted(by_name[name])) for name in sorted(by_name))


def _without(question: str, spans: Sequence[tuple[int, int]]) -> str:
    """Replace some spans of a question by spaces."""
    for start, end in spans:
        question = question[:start] + " " * (end - start) + question[end:]
    return question


def _event_stems(terms: _Terms, stems: _Stems) -> tuple[str, ...]:
    """Return the stems of all words for the kinds of event that some terms name."""
    forms = " ".join(forms_of_event(word) for word, _ in terms)
    return tuple(dict.fromkeys(stem for _, stem in stems(forms))) if forms.strip() else ()


def _nearer(span: times.Timespan, now: dt.datetime) -> times.Timespan:
    """Return the coming stretch of a name where it is nearer than the last one.

    *What's on in December*, asked in November, is about next month. The two halves of a day stay
    open.
    """
    if span.end is None or span.other is None or span.other[0] - now >= now - span.end:
        return span
    start, end = span.other
    if end - start < dt.timedelta(hours=20):
        return span
    return dataclasses.replace(span, start=start, end=end, certainty=POSSIBLE, other=None)


def _days(question: str, span: times.Timespan) -> tuple[float, float] | None:
    """Return the whole days of *this morning* or *last week*; None of a time by another name."""
    is_relative = all(times.is_relative(question[first:last]) for first, last in span.matched)
    if span.start is None or span.end is None or not is_relative:
        return None
    last = span.end - dt.timedelta(microseconds=1)
    first, last = (
        day.replace(hour=0, minute=0, second=0, microsecond=0) for day in (span.start, last)
    )
    return _seconds(first, last + dt.timedelta(days=1))


def _seconds(start: dt.datetime | None, end: dt.datetime | None) -> tuple[float, float]:
    """Return an interval in epoch seconds, open ends infinite."""
    return (
        -math.inf if start is None else start.timestamp(),
        math.inf if end is None else end.timestamp(),
    )
