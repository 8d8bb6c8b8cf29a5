"""Searching: a question in; what answers it, how sure that is and why, as a page out."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence

from starlette.datastructures import QueryParams

from family_recall.errors import InvalidRequestError
from family_recall.reports.markup import Markup, joined, spoken, tag
from family_recall.reports.recall import page as inspected
from family_recall.reports.recall import results
from family_recall.reports.recall.page import STATUS
from family_recall.types import AccessibleSpace, Answer, RecallContext, Result, StoredVersion
from family_recall.web import filtering
from family_recall.web.layout import (
    DAMAGED,
    Page,
    Reader,
    about,
    form,
    items,
    notice,
    param,
    section,
    text_input,
    to,
    to_memory,
)

MAX_QUESTION_CHARS = 2000
RESULTS, MORE_RESULTS = 8, 30
NEWEST = 6
EXCERPT_CHARS = 400
_SAID = {
    "good": "Thank you. What is learned from it is yours alone, and can be unlearned.",
    "bad": "Thank you. It will stand lower for you where that does no harm to what you liked.",
}


def page(reader: Reader, params: QueryParams) -> Page:
    """Answer the question a link asks; without one, show what is newest."""
    rooms, question = reader.rooms(), param(params, "q")
    ask = _form(params, rooms)
    if not question:
        newest = reader.home.memories.page(reader.ctx, limit=NEWEST)
        found = items([item(kept, rooms) for kept in newest.memories], "memories")
        more = tag("p", tag("a", f"Look through all {newest.total:,}", href="/look"))
        nothing = tag("p", "Nothing is remembered yet.", class_="quiet")
        shown = joined(found, more) if newest.total else nothing
        return Page(
            title="What would you like to know?",
            body=joined(ask, section("Newest", shown, id_="newest")),
            place="/",
        )
    ctx = _context(reader, params, rooms)
    answer = reader.home.recall(question, ctx)
    return Page(
        title=question,
        kicker="What is remembered",
        lead=_summary(answer, params),
        body=joined(
            *([notice(_SAID[said])] if (said := param(params, "said")) in _SAID else []),
            ask,
            section("What came back", _found(reader, answer, params), id_="results"),
        ),
        place="/",
    )


def why(reader: Reader, params: QueryParams) -> str:
    """Ask the question a link asks, and draw how the answer came to be."""
    question = param(params, "q")
    ctx = _context(reader, params, reader.rooms())
    found = reader.home.inspect(question, ctx)
    back = tag("a", "← Back to the results", href=_again(params), class_="back")
    return inspected(found.answer, budget_ms=ctx.time_budget_ms, missed=found.missed, above=back)


def judge(reader: Reader, params: QueryParams, sent: QueryParams) -> str:
    """Learn that a result was, or was not, what the question wanted."""
    ctx = _context(reader, params, reader.rooms())
    good = param(sent, "accepted") == "yes"
    reader.home.feedback(param(params, "q"), params.get("id", ""), good, ctx=ctx)
    return _again(params, said="good" if good else "bad")


def item(kept: StoredVersion, rooms: dict[str, AccessibleSpace], *, dated: bool = True) -> Markup:
    """Show one memory in a list: its beginning, and who said it when and where."""
    memory = kept.memory
    text = memory.text[:EXCERPT_CHARS] + ("…" if len(memory.text) > EXCERPT_CHARS else "")
    text = text if kept.intact else DAMAGED
    title = [spoken(memory.title[:EXCERPT_CHARS], element="b")] if memory.title else []
    link = tag("a", *title, spoken(text, class_="excerpt"), href=to_memory(memory))
    return tag("li", link, about(kept, rooms, dated=dated))


def _context(
    reader: Reader, params: QueryParams, rooms: dict[str, AccessibleSpace]
) -> RecallContext:
    question = param(params, "q")
    if len(question) > MAX_QUESTION_CHARS:
        raise InvalidRequestError(
            f"a question has at most {MAX_QUESTION_CHARS:,} characters, got {len(question):,}"
        )
    ctx = filtering.narrowed(reader, params, rooms)
    first, last = filtering.days(params)
    after, before = (
        None if day is None else dt.datetime.combine(day, dt.time())
        for day in (first, last and last + dt.timedelta(days=1))
    )
    return dataclasses.replace(
        ctx,
        top_k=MORE_RESULTS if param(params, "more") else RESULTS,
        filters=dataclasses.replace(ctx.filters, after=after, before=before),
    )


def _form(params: QueryParams, rooms: dict[str, AccessibleSpace]) -> Markup:
    question = text_input(
        "q", param(params, "q"), type="search", aria_label="Question", dir="auto",
        placeholder="When does grandma land?", maxlength=str(MAX_QUESTION_CHARS),
    )  # fmt: skip
    narrowing = tag("div", filtering.fields(params, rooms), class_="fields")
    return tag(
        "form",
        tag("div", question, tag("button", "Ask", class_="main"), class_="ask"),
        tag(
            "details",
            tag("summary", "Where, what, who, when"),
            narrowing,
            open="open" if filtering.is_narrowed(params) else None,
        ),
        action="/",
        role="search",
        class_="search",
    )


def _summary(answer: Answer, params: QueryParams) -> Markup:
    facts = [
        tag("p", spoken(key.replace("_", " ")), ": ", spoken(value), class_="fact")
        for key, value in answer.facts.items()
    ]
    summary = tag(
        "p",
        tag("strong", STATUS[answer.status], class_=f"status {answer.status}"),
        tag("span", f"{answer.confidence:.0%} sure"),
        tag("span", f"{answer.used_time_ms:,.0f} ms"),
        tag("a", "Why these?", href=to("/why", q=param(params, "q"), **_rest(params))),
        class_="summary",
    )
    without = [tag("p", f"Without {name}", class_="warn") for name in answer.degraded]
    return joined(summary, *facts, *without)


def _found(reader: Reader, answer: Answer, params: QueryParams) -> Markup:
    cards = results.section(answer, lambda result: _below(reader, result, params))
    if len(answer.results) == RESULTS and not param(params, "more"):
        return joined(cards, tag("p", tag("a", "More results", href=_again(params, more="yes"))))
    return cards


def _below(reader: Reader, result: Result, params: QueryParams) -> Sequence[Markup]:
    place = to("/memory", id=result.doc_id, space=result.space_id)
    opened = tag("a", "Open", href=place, aria_label=f"Open result {result.rank}")
    if reader.read_only:
        return [tag("div", opened, class_="actions")]
    action = to("/feedback", q=param(params, "q"), id=result.doc_id, **_rest(params))
    judged = form(
        reader,
        action,
        tag("button", "This was it", name="accepted", value="yes"),
        tag("button", "Not this", name="accepted", value="no"),
        class_="row",
    )
    return [tag("div", opened, judged, class_="actions")]


def _rest(params: QueryParams) -> dict[str, str]:
    return filtering.kept(params, "more")


def _again(params: QueryParams, **more: str) -> str:
    return to("/", **{"q": param(params, "q"), **_rest(params), **more})
