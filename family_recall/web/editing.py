"""Mending: what the pages that correct, relate and forget have in common."""

from __future__ import annotations

from starlette.datastructures import QueryParams

from family_recall.errors import NotTheirsError
from family_recall.reports.markup import Markup, tag
from family_recall.types import Detail, Memory, Selection
from family_recall.web.layout import Reader, param, to_memory

NOT_YOURS = "Only whoever said this, or an owner of its space, may mend it."


def found(reader: Reader, params: QueryParams) -> Detail:
    """Give the memory that a link names.

    Raises:
        UnknownMemoryError: If there is none that the reader may see.
    """
    return reader.home.memories.get(
        params.get("id", ""), reader.ctx, space_id=param(params, "space") or None
    )


def is_mendable(reader: Reader, memory: Memory) -> bool:
    """Say whether a memory is the reader's to correct, to relate with and to forget."""
    return reader.home.memories.may_correct(
        str(memory.doc_id), person_id=reader.person_id, space_id=memory.space_id
    )


def mendable(reader: Reader, params: QueryParams) -> Detail:
    """Give the memory that a link names and the reader may mend.

    Raises:
        NotTheirsError: If it is another's.
        UnknownMemoryError: If there is none that they may see.
    """
    detail = found(reader, params)
    if not is_mendable(reader, detail.kept.memory):
        raise NotTheirsError(NOT_YOURS)
    return detail


def chosen_memory(memory: Memory) -> Selection:
    """Choose a memory as it is chosen to be forgotten."""
    return Selection(doc_ids=(str(memory.doc_id),), space_id=memory.space_id)


def buttons(name: str, memory: Memory) -> Markup:
    """Make the button of a form about a memory, and the way back."""
    away = tag("a", "Leave it as it is", href=to_memory(memory))
    return tag("div", tag("button", name, class_="main"), away, class_="row")
