"""Settle how much a question asks for, once it is known whom it names."""

from __future__ import annotations

from collections.abc import Callable

from family_recall.english import text
from family_recall.english.breadth import (
    Asked,
    is_about_asker,
    is_about_everybody,
    is_about_somebody,
    read_breadth,
)
from family_recall.recall.dataflow import QueryPlan
from family_recall.recall.question.entities import Resolution

_Stems = Callable[[str], list[tuple[str, str]]]


def with_breadth(plan: QueryPlan, question: str, resolved: Resolution, stems: _Stems) -> QueryPlan:
    """Return a plan with the breadth of its question, and search terms of its topic alone.

    A question about a time alone keeps its plan: it asks for all of that time anyway.
    """
    asked = read_breadth(question)
    if plan.about_time_alone or asked.breadth == "one":
        return plan
    if asked.breadth == "about":
        about = _about(plan, asked, resolved, stems)
        if about is not None:
            return about
        if asked.otherwise == "one" or is_about_somebody(asked.topic, resolved.names):
            return plan
    return plan._replace(breadth="all", terms=text.search_terms(stems(asked.topic)))


def _about(plan: QueryPlan, asked: Asked, resolved: Resolution, stems: _Stems) -> QueryPlan | None:
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
