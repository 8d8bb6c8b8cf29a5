"""The forms that add and remove a relation between two named things, with a memory as evidence."""

from __future__ import annotations

import itertools

from starlette.datastructures import QueryParams

from family_recall.apps.web.memory import (
    find,
    find_editable,
    memory_link,
    relation_params,
    relations_of,
)
from family_recall.apps.web.pages import Page, Reader, param
from family_recall.types import Relation


def page(reader: Reader, params: QueryParams) -> Page:
    """Show the form that relates two named things."""
    detail = find_editable(reader, params)
    memory = detail.current.memory
    view = {
        "spaces": reader.spaces(),
        "memory": memory,
        "names": [name for name, _ in detail.entities],
        "action": memory_link(memory, "/relate"),
    }
    return Page("relate.jinja", view)


def relate(reader: Reader, params: QueryParams, form: QueryParams) -> str:
    """Store a relation that is seen by the people who see its memory."""
    memory = find(reader, params).current.memory
    change = reader.changes.relate(
        Relation(
            subject=param(form, "subject"),
            relation=param(form, "relation"),
            object=param(form, "object"),
            space_id=memory.space_id,
            band=memory.band,
            evidence=(str(memory.doc_id),),
            guardians_of=memory.guardians_of,
        )
    )
    text = "The relation is stored, with this memory as its evidence."
    return reader.note(text, memory_link(memory), change)


def unrelate(reader: Reader, params: QueryParams, _: QueryParams) -> str:
    """Remove a relation that is shown with a memory."""
    detail = find(reader, params)
    wanted = {
        name: params[name]
        for name in ("subject", "relation", "object", "since")
        if params.get(name)
    }
    matches = [
        relation
        for relation in itertools.chain(*relations_of(reader, detail))
        if relation_params(relation) == wanted
    ]
    change = reader.changes.unrelate(matches)
    text = "The relation is removed. The memories it was based on stay."
    then = memory_link(detail.current.memory)
    return reader.note(text if change else "Nothing was changed.", then, change)
