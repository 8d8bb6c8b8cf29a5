"""The search page: a question, its results, and feedback on them."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping

from starlette.datastructures import QueryParams

from family_recall.apps.reports.recall import page as recall_page
from family_recall.apps.reports.recall import results
from family_recall.apps.reports.recall.results import days_text, understood
from family_recall.apps.web.browse import author_names, days_of, filter_values, narrowed
from family_recall.apps.web.pages import Page, Reader, link, param
from family_recall.errors import InvalidRequestError
from family_recall.types import KINDS, AccessibleSpace, RecallContext
from family_recall.types.answer_text import closest_to_show

MAX_QUESTION_CHARS = 2000
N_RESULTS, N_MORE_RESULTS = 8, 30
N_NEWEST = 6
_LAST_DAY = dt.date(dt.MAXYEAR - 1, 12, 31)


def page(reader: Reader, params: QueryParams) -> Page:
    """Answer the question of a link; without one, show the newest memories."""
    spaces, question = reader.spaces(), param(params, "q")
    view = {
        "question": question,
        "max_question_chars": MAX_QUESTION_CHARS,
        "filters": filter_values(params),
        "more": param(params, "more"),
        "kinds": KINDS,
        "spaces": spaces,
        "people": author_names(reader),
    }
    if not question:
        newest = reader.home.memories.page(reader.ctx, limit=N_NEWEST)
        return Page("start.jinja", {**view, "newest": newest})
    answer = reader.home.recall(question, _context(reader, params, spaces))
    closest = closest_to_show(answer)
    return Page(
        "search.jinja",
        {
            **view,
            "answer": answer,
            "understood": understood(answer),
            "headings": {
                period.doc_ids[0]: days_text(period.first, period.last)
                for period in answer.timeline
                if period.doc_ids
            },
            "cards": results.cards(closest if answer.closest else answer.results),
            "has_more": len(answer.results) == N_RESULTS and not param(params, "more"),
        },
    )


def why(reader: Reader, params: QueryParams) -> str:
    """Answer the question of a link, and return the page that shows how."""
    ctx = _context(reader, params, reader.spaces())
    inspected = reader.home.inspect(param(params, "q"), ctx)
    return recall_page(
        inspected.answer,
        budget_ms=ctx.time_budget_ms,
        missed=inspected.near_misses,
        back=_results_link(params),
    )


def feedback(reader: Reader, params: QueryParams, form: QueryParams) -> str:
    """Record whether a result was what the question wanted; return the link to the results."""
    ctx = _context(reader, params, reader.spaces())
    accepted = param(form, "accepted") == "yes"
    question = param(params, "q")
    feedback, change = reader.changes.feedback(question, params.get("id", ""), accepted, ctx)
    text = f"Noted: {feedback.effect}." if feedback.kept else f"{feedback.why.capitalize()}."
    return reader.note(text, _results_link(params), change)


def _context(
    reader: Reader, params: QueryParams, spaces: Mapping[str, AccessibleSpace]
) -> RecallContext:
    question = param(params, "q")
    if len(question) > MAX_QUESTION_CHARS:
        raise InvalidRequestError(
            f"a question has at most {MAX_QUESTION_CHARS:,} characters, got {len(question):,}"
        )
    ctx = narrowed(reader, params, spaces)
    first, last = days_of(params)
    after, before = (
        None if day is None else dt.datetime.combine(day, dt.time())
        # What lasts to the end of the calendar has no end.
        for day in (first, last + dt.timedelta(days=1) if last and last < _LAST_DAY else None)
    )
    return dataclasses.replace(
        ctx,
        top_k=N_MORE_RESULTS if param(params, "more") else N_RESULTS,
        filters=dataclasses.replace(ctx.filters, after=after, before=before),
    )


def _results_link(params: QueryParams) -> str:
    return link("/", q=param(params, "q"), **filter_values(params, "more"))
