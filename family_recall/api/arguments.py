"""Helpers of the facade: parts, keyword arguments for records, and asynchronous methods."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from family_recall.errors import FamilyRecallError, InvalidMemoryError, InvalidRequestError
from family_recall.types import Memory, RecallContext, Selection
from family_recall.types.checked import checked
from family_recall.types.erasure import SelectionFields
from family_recall.types.fields import Checked, fields_of
from family_recall.types.memory import MemoryFields
from family_recall.types.request import ContextFields

if TYPE_CHECKING:
    from family_recall.api.engine import Engine

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Part:
    """A part of an open household; its public methods check their arguments."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __init_subclass__(cls) -> None:
        """Check the arguments of public methods."""
        checked(cls)


def twin(
    method: Callable[Concatenate[Any, _P], _T],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """Return an asynchronous version of a method that writes."""

    @functools.wraps(method)
    async def on_a_thread(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        call = functools.partial(method, self, *args, **kwargs)
        result: _T = await self.arun(call, writes=True)
        return result

    on_a_thread.__name__ = f"a{method.__name__}"
    on_a_thread.__doc__ = f"""Do what :meth:`{method.__name__}` does, on the thread for writers.

    Cancelled while it waits for that thread, it does nothing; once it runs, it completes.
    """
    return on_a_thread


def context_of(
    ctx: RecallContext | None,
    fields: ContextFields,
    default: RecallContext | None = None,
) -> RecallContext:
    """Return the context of a call, from ``ctx`` or from keyword arguments.

    Raises:
        InvalidRequestError: If both are given, or a field is unknown or out of range.
    """
    _check(ctx, fields, RecallContext, InvalidRequestError)
    usual = ctx or default or RecallContext()
    return dataclasses.replace(usual, **fields) if fields else usual


def memory_of(memory: Memory | str, fields: MemoryFields) -> Memory:
    """Return the memory of a call, from a record or from a text and keyword arguments.

    Raises:
        InvalidMemoryError: If both are given, or a field is unknown, missing or out of range.
    """
    _check(memory if isinstance(memory, Memory) else None, fields, Memory, InvalidMemoryError)
    return memory if isinstance(memory, Memory) else Memory(memory, **fields)


def selection_of(
    memories: Selection | str | Iterable[str] | None, fields: SelectionFields
) -> Selection:
    """Return the selection of a call, from a record or from ids and keyword arguments.

    Raises:
        InvalidRequestError: If a record and fields are given, or a field is unknown or invalid.
    """
    if isinstance(memories, Selection):
        _check(memories, fields, Selection, InvalidRequestError)
        return memories
    _check(None, fields, Selection, InvalidRequestError)
    if memories is None:
        return Selection(**fields)
    if "doc_ids" in fields:
        raise InvalidRequestError("ids were given twice; give them first, or as doc_ids")
    ids = (memories,) if isinstance(memories, str) else tuple(memories)
    fields = {**fields, "doc_ids": ids}
    return Selection(**fields)


def _check(
    record: object, fields: Mapping[str, Any], kind: type[Checked], error: type[FamilyRecallError]
) -> None:
    """Refuse fields in addition to a record, and unknown fields."""
    if fields and record is not None:
        raise error(
            f"{kind.NOUN} and {', '.join(fields)} were both given; give the one alone, or "
            "change it with dataclasses.replace"
        )
    known = fields_of(kind)
    for name in fields:
        if name not in known:
            raise error(f"unknown field {name!r}; a {kind.__name__} has {', '.join(known)}")
