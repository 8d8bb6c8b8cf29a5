"""Checks of a public method's arguments against their annotations."""

from __future__ import annotations

import contextlib
import contextvars
import datetime as dt
import functools
import inspect
import os
import traceback
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from family_recall.errors import FamilyRecallError
from family_recall.types.fields import parse_moment, refusal

_C = TypeVar("_C", bound=type)
_P = ParamSpec("_P")
_T = TypeVar("_T")

_LARGEST = 2**63  # SQLite stores smaller whole numbers only
_NAMES: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "None",
    os.PathLike: "a path",
    Callable: "a function",
    Iterable: "several values",
    Mapping: "names and values",
}


def checked(part: _C) -> _C:
    """Check the arguments of every public method of a class; see :func:`checked_call`."""
    for name, member in list(vars(part).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, classmethod):
            setattr(part, name, classmethod(checked_call(member.__func__)))
        elif inspect.isfunction(member):
            setattr(part, name, checked_call(member))
    return part


def checked_call(call: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that checks its arguments against their annotations.

    Whole numbers must be below 2**63, moments in the years 2 to 9998. Items of iterables and ranges
    are not checked here. An exception of a signal handler, or of a program's own function, leaves
    no block open.

    Raises:
        InvalidRequestError: If an argument has another type.
    """

    @functools.cache
    def allowed() -> Mapping[str, tuple[Any, ...]]:
        hints, parameters = typing.get_type_hints(call), inspect.signature(call).parameters
        return {
            name: (Any,) if parameter.kind is parameter.VAR_KEYWORD else _allowed(hints.get(name))
            for name, parameter in parameters.items()
        }

    @functools.wraps(call)
    def checked_arguments(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        for name, value in (*zip(allowed(), args, strict=False), *kwargs.items()):
            kinds = allowed().get(name, (Any,))
            if Any not in kinds and not _fits(value, kinds):
                raise refusal(name, _expected(value, kinds), value)
            if isinstance(value, dt.datetime):
                parse_moment(value, name)
        try:
            return contextvars.copy_context().run(call, *args, **kwargs)
        except FamilyRecallError:
            raise
        except BaseException as error:
            end_blocks(error)
            raise

    return checked_arguments


def end_blocks(error: BaseException | None) -> None:
    """End the ``with`` blocks that an exception of a signal handler has left open.

    It may come after a context manager was entered and before its block begins, or before its exit
    begins. The manager's generator, with its transaction and locks, then waits for as long as the
    exception's traceback refers to it. Without that it ends at once.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_globals.get("__name__", "").partition(".")[0] in _OWN:
                with contextlib.suppress(RuntimeError):  # it runs
                    frame.clear()
        error = error.__cause__ or error.__context__


_OWN = ("family_recall", "contextlib")


def _allowed(hint: Any) -> tuple[Any, ...]:
    """Return the classes and texts that an annotation allows; ``Any`` if it allows everything."""
    kind = typing.get_origin(hint) or hint
    if kind in {typing.Union, types.UnionType}:
        return tuple(choice for part in typing.get_args(hint) for choice in _allowed(part))
    if kind is typing.Literal:
        return typing.get_args(hint)
    if typing.is_typeddict(kind):
        return (Mapping,)
    return (kind,) if isinstance(kind, type) else (Any,)


def _fits(value: Any, allowed: tuple[Any, ...]) -> bool:
    """Return whether a value is allowed; True and False are not numbers."""
    if isinstance(value, bool):
        return bool in allowed
    if isinstance(value, int):
        return bool({int, float} & {*allowed}) and abs(value) < _LARGEST
    if isinstance(value, str) and value in allowed:
        return True
    return isinstance(value, tuple(kind for kind in allowed if isinstance(kind, type)))


def _expected(value: object, allowed: tuple[Any, ...]) -> str:
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return "a whole number of 64 bits"
    if choices := [choice for choice in allowed if isinstance(choice, str)]:
        return f"one of {', '.join(choices)}"
    nouns = {kind: f"a{'n' * (kind.__name__[0] in 'AEIOU')} {kind.__name__}" for kind in allowed}
    return " or ".join(dict.fromkeys(_NAMES.get(kind, noun) for kind, noun in nouns.items()))
