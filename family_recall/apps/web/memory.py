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
from family_recall.types import Filters, Memory, MemoryDetail, RecallContext, Relation

NOT_EDITABLE = "Only the person who said this, or an owner of its space, may edit it."
MAX_SIMILAR = 4
MIN_SIMILAR_CONFIDENCE = 0.4
_QUESTION_CHARS = 300


def page(reader: Reader, params: QueryParams) -> Page:
    """Show one memory."""
    detail = find_memory(reader, params)
    memory = detail.current.memory
    evidenced, others = relations_of(reader, detail)
    return Page(
        "memory.jinja",
        {
            "spaces": reader.spaces(),
            "detail": detail,
            "memory": memory,
            "is_editable": is_editable(reader, memory),
            "not_editable": NOT_EDITABLE,
            "stated": list(_with_remove_links(reader, memory, evidenced)),
            "known": list(_with_remove_links(reader, memory, others)),
            "links": itertools.groupby(
                sorted(detail.links, key=lambda pair: pair[0]), lambda pair: pair[0]
            ),
            "versions": earlier_versions(detail),
            **_similar(reader, memory),
        },
    )


def find_memory(reader: Reader, params: QueryParams) -> MemoryDetail:
    """Return the memory of a link; raise if the reader may not see it."""
    return reader.home.memories.get(
        params.get("id", ""), reader.ctx, space_id=param(params, "space") or None
    )


def find_editable(reader: Reader, params: QueryParams) -> MemoryDetail:
    """Return the memory of a link; raise if the reader may not edit it."""
    detail = find_memory(reader, params)
    if not is_editable(reader, detail.current.memory):
        raise NotTheirsError(NOT_EDITABLE)
    return detail


def is_editable(reader: Reader, memory: Memory) -> bool:
    """Whether the reader may correct, relate and forget a memory."""
    return reader.home.memories.may_correct(
        str(memory.doc_id), person_id=reader.person_id, space_id=memory.space_id
    )


def memory_link(memory: Memory, path: str = "/memory", **params: str) -> str:
    """Return the link to a memory, or to a page that edits it."""
    return link(path, id=memory.doc_id, space=memory.space_id, **params)


def relations_of(reader: Reader, detail: MemoryDetail) -> tuple[list[Relation], list[Relation]]:
    """Return the relations with a memory as evidence, and the others of its entities."""
    memory = detail.current.memory
    relations = reader.home.relations.all(person_id=reader.person_id, space_id=memory.space_id)
    evidenced = [
        relation
        for relation in relations
        if memory.doc_id in relation.evidence and relation.space_id == memory.space_id
    ]
    return evidenced, [relation for relation in detail.relations if relation not in evidenced]


def relation_params(relation: Relation) -> dict[str, str]:
    """Return the link parameters that identify a relation of a memory."""
    params = {name: getattr(relation, name) for name in ("subject", "relation", "object")}
    if relation.valid_from:
        params["since"] = relation.valid_from.isoformat()
    return params


def _with_remove_links(
    reader: Reader, memory: Memory, relations: list[Relation]
) -> Iterator[tuple[Relation, str | None]]:
    """Yield relations, each with the link that removes it, if the reader may."""
    for relation in relations:
        action = None
        if not reader.read_only and reader.home.relations.may_remove(
            relation, person_id=reader.person_id
        ):
            action = memory_link(memory, "/unrelate", **relation_params(relation))
        yield relation, action


def _similar(reader: Reader, memory: Memory) -> Mapping[str, Any]:
    """Recall with a memory's text; return its own result and the similar memories."""
    ctx = RecallContext(
        person_id=reader.person_id,
        space_id=reader.ctx.space_id,
        time_budget_ms=reader.ctx.time_budget_ms,
        top_k=MAX_SIMILAR + 1,
        allow_cross_encoder=False,  # it takes ten times as long as the rest of the page
        now=reader.ctx.now,
        filters=Filters(kinds=(memory.kind,)),
    )
    itself, similar = None, []
    for result in reader.home.recall(memory.text[:_QUESTION_CHARS], ctx):
        if (result.space_id, result.doc_id) == (memory.space_id, memory.doc_id):
            itself = result
        elif result.confidence >= MIN_SIMILAR_CONFIDENCE:
            similar.append(result)
    return {"itself": itself, "similar": similar[:MAX_SIMILAR]}


_MAX_COMPARED_WORDS = 600
"""Longer texts are not compared: the time grows with the square of the words."""


def earlier_versions(detail: MemoryDetail) -> list[dict[str, Any]]:
    """Return a memory's earlier versions, the newest first.

    Each is compared with the next version: its text as ``pieces`` (``same``, ``removed`` or
    ``added``, text), and ``changes`` of other fields (name, value, next value).
    """
    return [
        {
            "version": older,
            "pieces": list(_diff(older.memory.text, newer.memory.text)),
            "changes": list(_changes(older.memory, newer.memory)),
        }
        for newer, older in itertools.pairwise([detail.current, *detail.earlier])
    ]


def _changes(before: Memory, after: Memory) -> Iterator[tuple[str, str, str]]:
    for spec in dataclasses.fields(Memory):
        old, new = getattr(before, spec.name), getattr(after, spec.name)
        if spec.name != "text" and old != new:
            yield spec.name.replace("_", " "), _value_text(old), _value_text(new)


def _value_text(value: object) -> str:
    if value in {None, ()}:
        return "nothing"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _diff(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a text, compared with the next version's."""
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
