"""Understand a question: the plan that sources and ranking work from."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

import msgspec
import numpy as np

from family_recall.english import Question, related_words, text, times
from family_recall.english.breadth import (
    Asked,
    is_about_asker,
    is_about_everybody,
    is_about_somebody,
)
from family_recall.english.events import forms_of_event
from family_recall.english.question import names_topic
from family_recall.errors import UnknownMemoryError
from family_recall.recall.dataflow import QueryPlan, RelatedWord
from family_recall.recall.question import anchors, entities
from family_recall.recall.question.related import (
    Related,
    related,
    relations_about,
)
from family_recall.recall.question.router import TIER_WEIGHTS, UNROUTED, Encode, Route, route
from family_recall.store.memories import StoredMemory
from family_recall.store.snapshot import Snapshot
from family_recall.store.word_search import WordStatistics
from family_recall.types import RecallRequest, Region, Scope, SpokenTime, Strategy, Understanding

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
    no_anchors: tuple[times.Anchor, ...] = ()
    household = guarded(
        "anchors",
        lambda: anchors.anchors_of(question, scope, snapshot, now.tzinfo),
        no_anchors,
    )

    def read_with(encode: Encode | None) -> QueryPlan:
        return read(
            question,
            snapshot.stems,
            now=now,
            region=region,
            anchors=household,
            encode=encode,
            leave_out=leave_out,
        )

    question_plan = guarded("route", lambda: read_with(encode), None) or read_with(None)
    asked_terms = question_plan.terms
    alike = related_words.of_terms(asked_terms)
    resolved = guarded(
        "entities",
        lambda: entities.resolve(question, scope, snapshot),
        entities.Resolution(),
    )
    if "routing" not in leave_out:
        question_plan = _with_breadth(question_plan, resolved, snapshot.stems)
    terms = _with_relatives(question_plan.terms, resolved.relatives, snapshot.stems)
    focus_doc_id = None if "focus" in leave_out else request.ctx.focus_event_id
    focus = guarded("focus", lambda: _find_focus(focus_doc_id, scope, snapshot), None)
    about = question_plan.asked.refers_back if focus is not None else ""
    if focus is not None and about:
        # Its own words are few and say nothing: those of the focus are searched.
        terms = text.search_terms(snapshot.stems(focus.memory.text[: text.MAX_QUESTION_CHARS]))
        alike = []
    elif question_plan.terms is not asked_terms:
        alike = related_words.of_terms(question_plan.terms)
    counted = guarded(
        "statistics",
        lambda: snapshot.word_statistics(
            [stem for _, stem in terms] + [stem for _, stem in alike], scope
        ),
        # The fallback: every word equally rare, and none of like meaning.
        WordStatistics(1, 1, np.ones(len(terms), np.int64)),
    )
    statistics, alike_in_scope = _separate(counted, len(terms), alike)
    if resolved.relatives:
        terms, statistics = _without_unused(terms, statistics, len(question_plan.terms))

    def find_related() -> Related:
        if "relations" in leave_out:
            return Related()
        if question_plan.about_family:
            return relations_about(None, scope, snapshot, now.tzinfo)
        if question_plan.breadth == "about":
            return relations_about(question_plan.about, scope, snapshot, now.tzinfo)
        return related(
            resolved,
            scope,
            snapshot,
            zone=now.tzinfo,
            time_words=question_plan.timespan_words,
            timespan_s=None if question_plan.other_timespan_s else question_plan.timespan_s,
            asks_when=question_plan.asks_when,
        )

    found = guarded("relations", find_related, Related())
    return question_plan._replace(
        terms=terms,
        searched=resolved.searched,
        statistics=statistics,
        related_words=alike_in_scope,
        entities=resolved.entities,
        names=resolved.names,
        relations=found.relations,
        relation_evidence=found.evidence,
        focus_id=None if focus is None else focus.id,
        focus_mentions=()
        if focus is None
        else guarded("focus", lambda: _mentioned_by(focus.id, scope, snapshot, FOCUS_LINKS), ()),
        about_focus=about,
    )


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
    reads_time = "time" not in leave_out
    span = None
    if reads_time:
        span = times.find_timespan(
            question,
            now=now,
            country=region.country,
            hemisphere="south" if region.hemisphere == "south" else "north",
            anchors=anchors,
        )
    asked = Question(question)
    asks_when = reads_time and asked.asks_when
    past = reads_time and times.is_past_reference(question)
    routed = "routing" not in leave_out
    routing = UNROUTED
    if routed:
        routing = route(
            question, timespan=span, quotes_identifier=bool(asked.identifiers), encode=encode
        )
    # Next to a topic, time words stay search terms: a memory is indexed with its day.
    terms = text.search_terms(stems(question))
    if span is not None and span.other and not _has_topic(question, span, stems, ahead=True):
        span = _nearer(span, now)
    ahead = span is not None and _is_ahead(span, now)
    alone = (
        span is not None
        and span.certainty >= _certainty_needed(span, routing.strategy, now, ahead=ahead)
        and not _has_topic(question, span, stems, ahead=ahead)
    )
    if alone:
        # The other words, such as "what did we do", match nothing of use.
        terms = ()
        if routed and routing.strategy != "EPISODIC":
            routing = _with_strategy(routing, "TIMELINE")
    elif routing.strategy == "TIMELINE":
        # With an uncertain time, or a topic next to it, scores must decide.
        routing = _with_strategy(routing, "EPISODIC")
    return QueryPlan(
        asked=asked,
        terms=terms,
        identifiers=asked.identifiers,
        timespan_s=None if span is None else _seconds(span),
        other_timespan_s=None if span is None else _other_seconds(span),
        timespan_certainty=0.0 if span is None else span.certainty,
        timespan_words=() if span is None else span.matched,
        about_time_alone=alone,
        ahead=ahead,
        past_reference=past,
        asks_when=asks_when,
        event_stems=_event_stems(terms, stems) if asks_when else (),
        strategy=routing.strategy,
        strategy_confidence=routing.confidence,
        mode=routing.mode,
        tier_weights=routing.tier_weights,
    )


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
    asked = plan.asked.amount
    if plan.about_time_alone or asked.breadth == "one":
        return plan
    if asked.breadth == "about":
        about = _about(plan, asked, resolved, stems)
        if about is not None:
            return about
        if asked.otherwise == "one" or is_about_somebody(asked.topic, resolved.names):
            return plan
    return plan._replace(breadth="all", terms=text.search_terms(stems(asked.topic)))


def _about(
    plan: QueryPlan, asked: Asked, resolved: entities.Resolution, stems: _Stems
) -> QueryPlan | None:
    """Return the plan of a question about somebody; None where it is about nobody known."""
    whom, names = asked.topic, resolved.names
    if not is_about_somebody(whom, names):
        return None
    mentioned = [entity for mention in resolved.mentions for entity in mention.entities]
    asker = resolved.asker if is_about_asker(whom) else ()
    about = tuple(dict.fromkeys((*mentioned, *asker)))
    everybody = not asker and is_about_everybody(whom, names)
    if not about and not everybody:
        return None
    # *Me* and *us* are in too many memories, and in too few of those that are about them.
    words = [pair for pair in stems(whom) if pair[0].casefold() not in text.STOP_WORDS]
    terms = text.search_terms(words) if words else ()
    return plan._replace(breadth="about", about=about, about_family=everybody, terms=terms)


def _find_focus(doc_id: str | None, scope: Scope, snapshot: Snapshot) -> StoredMemory | None:
    """Return the memory that is being talked about; None if the request may not see such a one."""
    if doc_id is None:
        return None
    try:
        return snapshot.find(doc_id, scope)
    except UnknownMemoryError:
        return None


def _mentioned_by(
    focus: int, scope: Scope, snapshot: Snapshot, cap: int
) -> tuple[tuple[int, ...], ...]:
    """Return the entities that a memory mentions, each with those of its name in other partitions.

    Of up to ``cap`` of its links, the strongest first. An entity belongs to one partition; one of
    the same name elsewhere is the same thing.
    """
    edges = snapshot.edges(np.array([focus], np.int64), scope, cap)
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


def _separate(
    counted: WordStatistics, n_terms: int, related: Sequence[tuple[int, str]]
) -> tuple[WordStatistics, tuple[RelatedWord, ...]]:
    """Separate the counts of the first ``n_terms`` words from those of words of like meaning.

    Of the first words alone where counting failed.
    """
    frequency = counted.document_frequency
    if len(frequency) == n_terms:
        return counted, ()
    words = zip(related, frequency[n_terms:].tolist(), strict=True)
    return (
        WordStatistics(counted.n_memories, counted.n_words, frequency[:n_terms]),
        tuple(RelatedWord(term, stem, n) for (term, stem), n in words if n > 0),
    )


def _with_relatives(terms: _Terms, names: Sequence[str], stems: _Stems) -> _Terms:
    """Add the words of relatives' names to a question's terms, if it searches for words at all."""
    if not names or not terms:
        return terms
    return text.distinct((*terms, *text.search_terms(stems(" ".join(names)))))


def _without_unused(
    terms: _Terms, statistics: WordStatistics, n_asked: int
) -> tuple[_Terms, WordStatistics]:
    """Leave out the terms after the first ``n_asked`` that no memory holds, as most surnames."""
    frequency = statistics.document_frequency
    used = (np.arange(len(terms)) < n_asked) | (frequency > 0)
    terms = tuple(term for term, is_used in zip(terms, used.tolist(), strict=True) if is_used)
    return terms, msgspec.structs.replace(statistics, document_frequency=frequency[used])


def _with_strategy(routing: Route, strategy: Strategy) -> Route:
    return routing._replace(strategy=strategy, tier_weights=TIER_WEIGHTS[strategy])


def _without(question: str, spans: Sequence[tuple[int, int]]) -> str:
    """Replace some spans of a question by spaces."""
    for start, end in spans:
        question = question[:start] + " " * (end - start) + question[end:]
    return question


def _has_topic(question: str, span: times.Timespan, stems: _Stems, *, ahead: bool) -> bool:
    """Whether a question, without its time expression, names a topic."""
    return names_topic([word for word, _ in stems(_without(question, span.matched))], ahead=ahead)


def _event_stems(terms: Sequence[tuple[str, str]], stems: _Stems) -> tuple[str, ...]:
    """Return the stems of all words for the kinds of event that some terms name."""
    forms = " ".join(forms_of_event(word) for word, _ in terms)
    return tuple(dict.fromkeys(stem for _, stem in stems(forms))) if forms.strip() else ()


def _nearer(span: times.Timespan, now: dt.datetime) -> times.Timespan:
    """Return the coming stretch of a name where it is nearer than the last one.

    *What's on in December*, asked in November, is about next month.
    """
    if span.end is None or span.other is None or span.other[0] - now >= now - span.end:
        return span
    start, end = span.other
    return dataclasses.replace(span, start=start, end=end, certainty=POSSIBLE, other=None)


def _is_ahead(span: times.Timespan, now: dt.datetime) -> bool:
    """Whether a time begins later, or today with an open end."""
    if span.start is None:
        return False
    return span.start > now or (span.end is None and span.start.date() == now.date())


def _certainty_needed(
    span: times.Timespan, strategy: Strategy, now: dt.datetime, *, ahead: bool
) -> float:
    """Return how sure a time must be to exclude what lies outside it."""
    if ahead:
        return POSSIBLE
    present = span.end is not None and span.end > now
    return LIKELY if present or strategy == "TIMELINE" else CERTAIN


def _seconds(span: times.Timespan) -> tuple[float, float]:
    return (
        -math.inf if span.start is None else span.start.timestamp(),
        math.inf if span.end is None else span.end.timestamp(),
    )


def _other_seconds(span: times.Timespan) -> tuple[float, float] | None:
    """Return the coming stretch that may be meant as well as the last one, if there is one."""
    return span.other and (span.other[0].timestamp(), span.other[1].timestamp())
