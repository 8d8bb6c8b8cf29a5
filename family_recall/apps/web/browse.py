"""The pages that show: search, all memories by day, and people."""

from __future__ import annotations

import calendar
import dataclasses
import datetime as dt
import itertools
import sys
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import QueryParams

from family_recall.apps.reports import results
from family_recall.apps.reports.recall import page as recall_page
from family_recall.apps.reports.results import days_text, understood
from family_recall.apps.web.pages import Page, Reader, link, param
from family_recall.errors import InvalidRequestError
from family_recall.types import KINDS, AccessibleSpace, Filters, RecallContext
from family_recall.types.answer_text import closest_to_show

FILTERS = ("space", "kind", "author", "first", "last")
"""Names of the filter parameters."""


def filtered_context(
    reader: Reader, params: QueryParams, spaces: Mapping[str, AccessibleSpace]
) -> RecallContext:
    """Return the reader's context with the space, kind and author of a link."""
    space_id, kind, author = (param(params, name) or None for name in FILTERS[:3])
    accessible = spaces.get(space_id or "")
    return dataclasses.replace(
        reader.ctx,
        space_id=space_id or reader.ctx.space_id,
        filters=Filters(
            # A private space usually answers together with the shared ones; here alone.
            allow_shared=accessible is None or accessible.space.kind != "private",
            kinds=(kind,) if kind else (),
            authors=(author,) if author else (),
        ),
    )


def day_range(params: QueryParams) -> tuple[dt.date | None, dt.date | None]:
    """Return the first and the last day of a link, both included."""
    first, last = (_day(param(params, name)) for name in FILTERS[3:])
    if first and last and last < first:
        raise InvalidRequestError(f"the days go from {first} to {last}; swap them")
    return first, last


def filter_values(params: QueryParams, *more: str) -> dict[str, str]:
    """Return the filters and some other parameters of a link."""
    return {name: param(params, name) for name in (*FILTERS, *more)}


def _choices(reader: Reader, spaces: Mapping[str, AccessibleSpace]) -> dict[str, Any]:
    people = [person.name for person in reader.home.people.all(reader.person_id)]
    return {"spaces": spaces, "kinds": KINDS, "people": people}


def _day(text: str) -> dt.date | None:
    if not text:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise InvalidRequestError(f"expected a day such as 2026-03-01, got {text!r}") from None


PAGE_SIZE = 40
_MAX_OPEN_MONTHS = 18


def browse_page(reader: Reader, params: QueryParams) -> Page:
    """List the memories that match the filters, the newest first."""
    spaces, offset = reader.spaces(), _offset(param(params, "at"))
    first, last = day_range(params)
    listing = reader.home.memories.page(
        filtered_context(reader, params, spaces),
        about=param(params, "about") or None,
        first=first,
        last=last,
        offset=offset,
        limit=PAGE_SIZE,
    )
    return Page(
        "browse.jinja",
        {
            **_choices(reader, spaces),
            "filters": filter_values(params, "about"),
            "listing": listing,
            "days": itertools.groupby(listing.memories, lambda memory: memory.moment.date()),
            "years": itertools.groupby(listing.months, lambda month: month[0].year),
            "months_open": len(listing.months) <= _MAX_OPEN_MONTHS,
            "last_day": lambda month: month.replace(
                day=calendar.monthrange(month.year, month.month)[1]
            ),
            "newer": max(offset - PAGE_SIZE, 0),
        },
    )


def _offset(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InvalidRequestError(f"a list begins at a number of memories, got {text!r}")
    return int(text)


MAX_NAMES = 60


def people_page(reader: Reader, _: QueryParams) -> Page:
    """Show the spaces, people and names that the reader may see."""
    people = reader.home.people.all(reader.person_id)
    names = {person.person_id: person.name for person in people}
    guardians = reader.home.people.guardians().items()
    children = [names.get(child, child) for child, ids in guardians if reader.person_id in ids]
    view = {
        "spaces": reader.spaces(),
        "people": people,
        "children": children,
        "names": reader.home.memories.entities(reader.ctx, limit=MAX_NAMES),
    }
    return Page("people.jinja", view)


MAX_QUESTION_CHARS = 2000
N_RESULTS, N_MORE_RESULTS = 8, 30
N_NEWEST = 6
_LAST_DAY = dt.date(dt.MAXYEAR - 1, 12, 31)


def search_page(reader: Reader, params: QueryParams) -> Page:
    """Answer the question of a link; without one, show the newest memories."""
    spaces, question = reader.spaces(), param(params, "q")
    view = {
        "question": question,
        "max_question_chars": MAX_QUESTION_CHARS,
        "filters": filter_values(params),
        "more": param(params, "more"),
        **_choices(reader, spaces),
    }
    if not question:
        # What is still to come, such as a calendar's events of next year, is no news.
        today = (reader.ctx.now or dt.datetime.now(dt.UTC)).astimezone(reader.home.zone).date()
        newest = reader.home.memories.page(reader.ctx, last=today, limit=N_NEWEST)
        total = reader.home.memories.page(reader.ctx, offset=sys.maxsize).total  # shows none
        return Page("start.jinja", {**view, "newest": newest.memories, "total": total})
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
    """Answer the question of a link; return the page that explains the recall."""
    ctx = _context(reader, params, reader.spaces())
    inspected = reader.home.inspect(param(params, "q"), ctx)
    return recall_page(
        inspected.answer,
        budget_ms=ctx.time_budget_ms,
        missed=inspected.near_misses,
        back=_results_link(params),
    )


def feedback(reader: Reader, params: QueryParams, form: QueryParams) -> str:
    """Store feedback on a result; return the link to the results."""
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
    ctx = filtered_context(reader, params, spaces)
    first, last = day_range(params)
    end = last + dt.timedelta(days=1) if last and last < _LAST_DAY else None
    after, before = (
        None if day is None else dt.datetime.combine(day, dt.time()) for day in (first, end)
    )
    return dataclasses.replace(
        ctx,
        top_k=N_MORE_RESULTS if param(params, "more") else N_RESULTS,
        filters=dataclasses.replace(ctx.filters, after=after, before=before),
    )


def _results_link(params: QueryParams) -> str:
    return link("/", q=param(params, "q"), **filter_values(params, "more"))
