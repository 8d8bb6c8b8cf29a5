"""How the facade is called: fields as keyword arguments, and asynchronous twins of methods."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from family_recall.errors import FamilyRecallError, InvalidMemoryError, InvalidRequestError
from family_recall.types import Memory, RecallContext, Selection
from family_recall.types.erasure import SelectionFields
from family_recall.types.fields import fields_of
from family_recall.types.memory import MemoryFields
from family_recall.types.request import ContextFields

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Runner(Protocol):
    """Runs calls on threads of its own."""

    async def arun(self, call: Callable[[], _T], *, writes: bool = False) -> _T:
        """Run a call; of those that write, one at a time."""


_R = TypeVar("_R", bound=Runner)


def twin(
    method: Callable[Concatenate[_R, _P], _T], *, writes: bool = False
) -> Callable[Concatenate[_R, _P], Coroutine[Any, Any, _T]]:
    """Return a method's asynchronous twin, which runs it on one of the library's own threads."""

    @functools.wraps(method)
    async def on_a_thread(self: _R, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await self.arun(functools.partial(method, self, *args, **kwargs), writes=writes)

    thread = "a thread of the library's own that only writes" if writes else "one of its threads"
    on_a_thread.__name__ = f"a{method.__name__}"
    on_a_thread.__doc__ = f"""Do what :meth:`{method.__name__}` does, on {thread}.

    Cancelled while it waits for that thread, it does nothing; once it runs, it completes.
    """
    return on_a_thread


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
    known = fields_of(made)
    for name in fields:
        if name not in known:
            raise error(f"unknown field {name!r}; a {made.__name__} has {', '.join(known)}")
