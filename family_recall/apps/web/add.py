"""The form that adds a memory, said by the person who reads the pages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from starlette.datastructures import QueryParams

from family_recall.apps.web.memory import memory_link
from family_recall.apps.web.pages import Page, Reader, param
from family_recall.errors import FamilyRecallError, InvalidMemoryError
from family_recall.types import Memory, parse_moment
from family_recall.types.field_specs import MEMORY_FIELDS


def page(reader: Reader, params: QueryParams) -> Page:
    """Show the form."""
    return _form(reader, {"text": "", "space_id": param(params, "space"), "occurred_at": ""})


def add(reader: Reader, _: QueryParams, form: QueryParams) -> Page | str:
    """Store what was typed; the form again, with what is wrong, where that cannot be."""
    typed = {
        "text": form.get("text", "").replace("\r\n", "\n").strip(),
        "space_id": param(form, "space_id"),
        "occurred_at": param(form, "occurred_at"),
    }
    now = reader.ctx.now or dt.datetime.now(dt.UTC)
    try:
        if not typed["text"]:
            raise InvalidMemoryError("please write what is to be remembered")
        memory = Memory(
            typed["text"],
            typed["space_id"],
            author=reader.person_id,
            occurred_at=parse_moment(typed["occurred_at"] or None, "occurred_at") or now,
        )
        stored, change = reader.changes.add(memory)
    except (FamilyRecallError, ValueError) as error:
        return _form(reader, typed, f"Nothing was added: {error}")
    there = reader.home.memories.get(
        stored.doc_id, reader.ctx, space_id=memory.space_id
    ).current.memory
    text = "Added." if change else "You had added just that before; here it is."
    return reader.note(text, memory_link(there), change, back="/")


def _form(reader: Reader, typed: Mapping[str, str], error: str = "") -> Page:
    spaces = {id_: each.space.name for id_, each in reader.spaces().items()}
    shared = [id_ for id_, each in reader.spaces().items() if each.space.kind != "private"]
    usual = reader.ctx.space_id or next(iter(shared), next(iter(spaces), ""))
    view = {
        "typed": {**typed, "space_id": typed["space_id"] or usual},
        "spaces": spaces,
        "text_field": MEMORY_FIELDS["text"],
        "error": error,
    }
    return Page("add.jinja", view, status=422 if error else 200)
