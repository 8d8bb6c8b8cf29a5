"""Memory: an id in; that memory with its fields, names, links and earlier versions out."""

from __future__ import annotations

import datetime as dt
import itertools

from starlette.datastructures import QueryParams

from family_recall.reports.markup import Markup, joined, spoken, tag
from family_recall.types import AccessibleSpace, Detail, Filters, Memory, RecallContext, Result
from family_recall.web import history
from family_recall.web.editing import NOT_YOURS, found, is_mendable
from family_recall.web.layout import (
    DAMAGED,
    NOTHING,
    Page,
    Reader,
    about,
    items,
    notice,
    param,
    said_when,
    section,
    space_name,
    to,
    to_memory,
)
from family_recall.web.relating import told_of
from family_recall.web.searching import EXCERPT_CHARS, item

LIKE_IT = 4
LIKELY = 0.4
"""Confidence from which something is shown as being like a memory."""
_ASKED_CHARS = 300
_SAID = {
    "corrected": "Corrected. What it said before is kept as an earlier version.",
    "unchanged": "Nothing was changed.",
    "related": "The relation is kept, with this memory as its evidence.",
    "unrelated": "The relation is taken back. What it rested on stays.",
    "undone": "It is back.",
}
_SHOWN = (
    ("title", "Title"), ("summary", "Summary"), ("category", "Category"), ("source", "Source"),
    ("session_id", "Talk"), ("section", "Section"), ("fact_key", "States"),
    ("fact_value", "Value"), ("event_type", "Event"), ("guardians_of", "For the guardians of"),
)  # fmt: skip
_LINK_NAMES = {"next": "Said beside it"}


def page(reader: Reader, params: QueryParams) -> Page:
    """Show one memory."""
    rooms = reader.rooms()
    detail = found(reader, params)
    memory = detail.kept.memory
    said = _SAID.get(param(params, "said"))
    return Page(
        title=memory.title or f"A memory of {_day(detail.kept.moment)}",
        kicker=space_name(memory.space_id, rooms),
        body=joined(
            *([notice(said)] if said else []),
            *([] if detail.kept.intact else [notice(DAMAGED)]),
            tag("p", memory.text, dir="auto", class_="text whole", tabindex="0"),
            about(detail.kept, rooms),
            _actions(reader, memory),
            section("What is kept of it", _fields(detail), id_="fields"),
            _named(reader, detail),
            _linked(detail, rooms),
            _like_it(reader, memory),
            history.section_of(detail),
        ),
        place="/look",
    )


def _day(moment: dt.datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


def _actions(reader: Reader, memory: Memory) -> Markup:
    if reader.read_only:
        return NOTHING
    if not is_mendable(reader, memory):
        return tag("p", NOT_YOURS, class_="quiet")
    links = (("Correct", "/correct"), ("Relate", "/relate"), ("Forget", "/forget"))
    return tag(
        "p",
        *(tag("a", name, href=to_memory(memory, path), class_="button") for name, path in links),
        class_="row",
    )


def _fields(detail: Detail) -> Markup:
    kept, memory = detail.kept, detail.kept.memory
    rows = [(label, spoken(getattr(memory, name))) for name, label in _SHOWN
            if getattr(memory, name)]  # fmt: skip
    if memory.labels:
        labels = (spoken(label, class_="chip") for label in memory.labels)
        rows.append(("Labels", joined(*labels, by=" ")))
    if memory.url:
        rows.append(("Link", _address(memory.url)))
    for name, label in (("valid_from", "True from"), ("valid_until", "True until")):
        if moment := getattr(memory, name):
            rows.append((label, tag("span", said_when(moment))))
    rows += [
        ("Seen by", tag("span", f"band {memory.band}")),
        ("Importance", tag("span", f"{memory.importance:g}")),
        ("Recorded", tag("span", said_when(kept.recorded_at))),
        ("Id", spoken(str(memory.doc_id), class_="id")),
    ]
    return tag(
        "dl", *(tag("div", tag("dt", label), tag("dd", told)) for label, told in rows),
        class_="facts",
    )  # fmt: skip


def _address(url: str) -> Markup:
    """Link what is an address of the web; show anything else as the text it is."""
    if not url.lower().startswith(("http://", "https://")):
        return spoken(url)
    return tag("a", spoken(url), href=url, rel="noreferrer noopener nofollow")


def _named(reader: Reader, detail: Detail) -> Markup:
    if not detail.names and not detail.relations:
        return NOTHING
    names = [
        tag("li", tag("a", spoken(name), href=to("/look", about=name), class_="chip"),
            " said it" if role == "author" else "")
        for name, role in detail.names
    ]  # fmt: skip
    told = [told_of(reader, detail.kept.memory, one) for one in detail.relations]
    return section(
        "Who and what it names",
        *([items(names, "names")] if names else []),
        *([items(told, "relations")] if told else []),
        id_="names",
    )


def _linked(detail: Detail, rooms: dict[str, AccessibleSpace]) -> Markup:
    if not detail.links:
        return NOTHING
    by_kind = itertools.groupby(
        sorted(detail.links, key=lambda link: link[0]), lambda link: link[0]
    )
    parts = [
        joined(
            tag("h3", _LINK_NAMES.get(kind, kind.replace("_", " ").capitalize())),
            items([item(kept, rooms) for _, kept in links], "memories"),
        )
        for kind, links in by_kind
    ]
    return section("What it is tied to", *parts, id_="links")


def _like_it(reader: Reader, memory: Memory) -> Markup:
    """Ask with a memory's own words: near copies, a newer fact, and what says the like."""
    ctx = RecallContext(
        person_id=reader.person_id,
        space_id=reader.ctx.space_id,
        time_budget_ms=reader.ctx.time_budget_ms,
        top_k=LIKE_IT + 1,
        allow_cross_encoder=False,  # it would take ten times the rest of the page
        now=reader.ctx.now,
        filters=Filters(kinds=(memory.kind,)),
    )
    results = reader.home.recall(memory.text[:_ASKED_CHARS], ctx).results
    me = [one for one in results if _is(one, memory)]
    parts: list[Markup] = []
    if me and me[0].outdated_by:
        newer = to("/memory", id=me[0].outdated_by, space=memory.space_id)
        parts.append(tag("p", "A newer fact says otherwise: ", tag("a", "open it", href=newer),
                         class_="warn"))  # fmt: skip
    if me and me[0].copies:
        links = (
            tag("a", spoken(doc_id, class_="id"), href=to("/memory", id=doc_id))
            for doc_id in me[0].copies
        )
        parts.append(tag("p", "Near copies by the same author: ", joined(*links, by=", ")))
    others = [one for one in results if not _is(one, memory) and one.confidence >= LIKELY][:LIKE_IT]
    if others:
        parts.append(items([_other(one) for one in others], "memories"))
    if not parts:
        return NOTHING
    note = tag("p", "Asked with its own words, among its kind.", class_="quiet")
    return section("What is like it", *parts, note, id_="like")


def _is(result: Result, memory: Memory) -> bool:
    return (result.space_id, result.doc_id) == (memory.space_id, memory.doc_id)


def _other(result: Result) -> Markup:
    text = result.text[:EXCERPT_CHARS] + ("…" if len(result.text) > EXCERPT_CHARS else "")
    link = to("/memory", id=result.doc_id, space=result.space_id)
    return tag(
        "li",
        tag("a", spoken(text, class_="excerpt"), href=link),
        tag("p", tag("span", f"{result.confidence:.0%} sure"), class_="about"),
    )
