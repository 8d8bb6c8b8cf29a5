"""Fields of a context, a memory or a selection, given as keyword arguments of a call."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields as fields_of
from typing import Any, TypedDict

from family_recall.errors import FamilyRecallError, InvalidMemoryError, InvalidRequestError
from family_recall.types import Affect, Filters, Memory, RecallContext, Selection


class ContextFields(TypedDict, total=False):
    """The fields of a :class:`RecallContext`, to be given in its place."""

    person_id: str | None
    space_id: str | None
    focus_event_id: str | None
    time_budget_ms: float
    top_k: int
    allow_cross_encoder: bool
    mmr_lambda: float | None
    filters: Filters
    profile: str
    mode: str
    now: dt.datetime | None
    as_of: dt.datetime | None
    known_at: dt.datetime | None
    service_class: str | None
    affect: Affect | None
    aloud: bool


class MemoryFields(TypedDict, total=False):
    """The fields of a :class:`Memory` but its text, to be given with a text."""

    space_id: str
    doc_id: str | None
    author: str | None
    title: str | None
    summary: str | None
    kind: str
    category: str
    session_id: str | None
    source: str | None
    url: str | None
    section: str | None
    labels: tuple[str, ...]
    importance: float
    valence: float
    arousal: float
    band: str
    guardians_of: str | None
    fact_key: str | None
    fact_value: str | None
    event_type: str | None
    occurred_at: dt.datetime | None
    valid_from: dt.datetime | None
    valid_until: dt.datetime | None


class SelectionFields(TypedDict, total=False):
    """The fields of a :class:`Selection`, to be given in its place."""

    doc_ids: tuple[str, ...]
    query: str | None
    about: str | None
    by: str | None
    space_id: str | None
    session_id: str | None
    after: dt.datetime | None
    before: dt.datetime | None
    recorded_after: dt.datetime | None
    recorded_before: dt.datetime | None
    min_confidence: float


def context_of(
    ctx: RecallContext | None,
    fields: ContextFields,
    default: RecallContext | None = None,
) -> RecallContext:
    """Return the context of a call: the one given, or one made of its keyword arguments.

    Raises:
        InvalidRequestError: If there are both, or a field is unknown or out of range.
    """
    if not fields:
        return ctx or default or RecallContext()
    if ctx is not None:
        raise InvalidRequestError(
            f"a context and {', '.join(fields)} were both given; give the context alone, or "
            "change it with dataclasses.replace"
        )
    _check_known(fields, RecallContext, InvalidRequestError)
    return dataclasses.replace(default or RecallContext(), **fields)


def memory_of(memory: Memory | str, fields: MemoryFields, spaces: Collection[str]) -> Memory:
    """Return the memory of a call: the one given, or one made of a text and keyword arguments.

    Args:
        memory: A memory, or its text.
        fields: Its other fields, with a text.
        spaces: The spaces it may go to where none is named, exactly one.

    Raises:
        InvalidMemoryError: If there are both, a field is unknown or out of range, or no space is
            named and there is not exactly one.
    """
    if isinstance(memory, Memory):
        if fields:
            raise InvalidMemoryError(
                f"a memory and {', '.join(fields)} were both given; give a text with its fields, "
                "or change the memory with dataclasses.replace"
            )
        return memory
    _check_known(fields, Memory, InvalidMemoryError)
    if "space_id" not in fields:
        fields = {**fields, "space_id": _only(spaces)}
    return Memory(memory, **fields)


def selection_of(
    memories: Selection | str | Iterable[str] | None, fields: SelectionFields
) -> Selection:
    """Return which memories a call is about: a selection, or ids and keyword arguments.

    Raises:
        InvalidRequestError: If there are a selection and fields, or a field is unknown or cannot
            be meant.
    """
    if isinstance(memories, Selection):
        if fields:
            raise InvalidRequestError(
                f"a selection and {', '.join(fields)} were both given; give the selection alone, "
                "or change it with dataclasses.replace"
            )
        return memories
    _check_known(fields, Selection, InvalidRequestError)
    if memories is None:
        return Selection(**fields)
    if "doc_ids" in fields:
        raise InvalidRequestError("ids were given twice; give them first, or as doc_ids")
    ids = (memories,) if isinstance(memories, str) else tuple(memories)
    fields = {**fields, "doc_ids": ids}
    return Selection(**fields)


def _only(spaces: Collection[str]) -> str:
    if not spaces:
        raise InvalidMemoryError(
            "there is no space to remember this in; add one first, such as "
            'home.spaces.add(Space("shared:home", "household"))'
        )
    if len(spaces) > 1:
        raise InvalidMemoryError(
            f"space_id is needed to choose among {', '.join(sorted(spaces))}; without it a memory "
            "goes to the only space, or to the only one of kind household"
        )
    return next(iter(spaces))


def _check_known(fields: Mapping[str, Any], made: type, error: type[FamilyRecallError]) -> None:
    known = [field.name for field in fields_of(made)]
    for name in fields:
        if name not in known:
            raise error(f"unknown field {name!r}; a {made.__name__} has {', '.join(known)}")
