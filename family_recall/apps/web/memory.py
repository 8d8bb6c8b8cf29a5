"""The page of one memory: fields, names, links, similar memories and earlier versions."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.datastructures import QueryParams

from family_recall.apps.web.pages import Page, Reader, link, param
from family_recall.errors import NotTheirsError
from family_recall.types import (
    Filters,
    Memory,
    MemoryDetail,
    RecallContext,
    Relation,
    Result,
)

NOT_EDITABLE = "Only the person who said this, or an owner of its space, may edit it."
MAX_SIMILAR = 4
MIN_SIMILAR_CONFIDENCE = 0.4
_QUESTION_CHARS = 300


def page(reader: Reader, params: QueryParams) -> Page:
    """Show one memory."""
    detail = find(reader, params)
    memory = detail.current.memory
    stated, known = relations_of(reader, detail)
    return Page(
        "memory.jinja",
        {
            "spaces": reader.spaces(),
            "detail": detail,
            "memory": memory,
            "is_editable": is_editable(reader, memory),
            "not_editable": NOT_EDITABLE,
            "stated": list(_removable(reader, memory, stated)),
            "known": list(_removable(reader, memory, known)),
            "links": itertools.groupby(
                sorted(detail.links, key=lambda pair: pair[0]), lambda pair: pair[0]
            ),
            "versions": earlier_versions(detail),
            **_similar(reader, memory),
        },
    )


def find(reader: Reader, params: QueryParams) -> MemoryDetail:
    """Return the memory that a link names, of those that the reader may see."""
    return reader.home.memories.get(
        params.get("id", ""), reader.ctx, space_id=param(params, "space") or None
    )


def find_editable(reader: Reader, params: QueryParams) -> MemoryDetail:
    """Return the memory that a link names; refuse one that the reader may not edit."""
    detail = find(reader, params)
    if not is_editable(reader, detail.current.memory):
        raise NotTheirsError(NOT_EDITABLE)
    return detail


def is_editable(reader: Reader, memory: Memory) -> bool:
    """Whether the reader may correct a memory, relate with it and forget it."""
    return reader.home.memories.may_correct(
        str(memory.doc_id), person_id=reader.person_id, space_id=memory.space_id
    )


def memory_link(memory: Memory, path: str = "/memory", **params: str) -> str:
    """Return the link to a memory, or to a page that edits it."""
    return link(path, id=memory.doc_id, space=memory.space_id, **params)


def relations_of(reader: Reader, detail: MemoryDetail) -> tuple[list[Relation], list[Relation]]:
    """Return the relations that rest on a memory, and the others of whom and what it names."""
    memory = detail.current.memory
    everything = reader.home.relations.all(person_id=reader.person_id, space_id=memory.space_id)
    stated = [
        relation
        for relation in everything
        if memory.doc_id in relation.evidence and relation.space_id == memory.space_id
    ]
    return stated, [relation for relation in detail.relations if relation not in stated]


def relation_params(relation: Relation) -> dict[str, str]:
    """Return the parameters by which a link names one of a memory's relations."""
    params = {name: getattr(relation, name) for name in ("subject", "relation", "object")}
    if relation.valid_from:
        params["since"] = relation.valid_from.isoformat()
    return params


def _removable(
    reader: Reader, memory: Memory, relations: list[Relation]
) -> Iterator[tuple[Relation, str | None]]:
    """Yield relations, each with where the form that removes it goes; None where there is none."""
    for relation in relations:
        may = not reader.read_only and reader.home.relations.may_remove(
            relation, person_id=reader.person_id
        )
        to = memory_link(memory, "/unrelate", **relation_params(relation)) if may else None
        yield relation, to


def _similar(reader: Reader, memory: Memory) -> Mapping[str, Any]:
    """Recall with a memory's own words: near copies, a newer fact, and similar memories."""
    ctx = RecallContext(
        person_id=reader.person_id,
        space_id=reader.ctx.space_id,
        time_budget_ms=reader.ctx.time_budget_ms,
        top_k=MAX_SIMILAR + 1,
        allow_cross_encoder=False,  # it would take ten times the rest of the page
        now=reader.ctx.now,
        filters=Filters(kinds=(memory.kind,)),
    )
    results = reader.home.recall(memory.text[:_QUESTION_CHARS], ctx).results
    others = [result for result in results if not _is(result, memory)]
    return {
        "itself": next((result for result in results if _is(result, memory)), None),
        "similar": [result for result in others if result.confidence >= MIN_SIMILAR_CONFIDENCE][
            :MAX_SIMILAR
        ],
    }


def _is(result: Result, memory: Memory) -> bool:
    return (result.space_id, result.doc_id) == (memory.space_id, memory.doc_id)


_MAX_COMPARED_WORDS = 600
"""The time of a comparison grows with the square of the words."""


def earlier_versions(detail: MemoryDetail) -> list[dict[str, Any]]:
    """Return the versions that a memory replaced, the newest first.

    Each has its text in ``pieces``, (``same``, ``removed`` by the next version or ``added``, text),
    and the other fields that changed: name, value here, value in the next version.
    """
    return [
        {
            "version": older,
            "pieces": list(_compared(older.memory.text, newer.memory.text)),
            "changes": list(_changes(older.memory, newer.memory)),
        }
        for newer, older in itertools.pairwise([detail.current, *detail.earlier])
    ]


def _changes(before: Memory, after: Memory) -> Iterator[tuple[str, str, str]]:
    for spec in dataclasses.fields(Memory):
        was, now = getattr(before, spec.name), getattr(after, spec.name)
        if spec.name != "text" and was != now:
            yield spec.name.replace("_", " "), _value_text(was), _value_text(now)


def _value_text(value: object) -> str:
    if value in {None, ()}:
        return "nothing"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _compared(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield an earlier text in pieces, with the words that the next one removed or added."""
    removed, added = before.split(" "), after.split(" ")
    if before == after or max(len(removed), len(added)) > _MAX_COMPARED_WORDS:
        yield "same", before
        return
    matcher = difflib.SequenceMatcher(None, removed, added, autojunk=False)
    for kind, start, end, start_added, end_added in matcher.get_opcodes():
        if kind == "equal":
            yield "same", " ".join(removed[start:end])
            continue
        if start < end:
            yield "removed", " ".join(removed[start:end])
        if start_added < end_added:
            yield "added", " ".join(added[start_added:end_added])
