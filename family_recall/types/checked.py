"""Arguments checked by their annotations, before a public method does anything with them."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import os
import types
import typing
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from family_recall.types.fields import refusal

_C = TypeVar("_C", bound=type)
_P = ParamSpec("_P")
_T = TypeVar("_T")
_Allowed = tuple[Any, ...]

_LARGEST = 2**63  # a whole number that SQLite stores is below it
_NAMES: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "None",
    os.PathLike: "a path",
    collections.abc.Callable: "a function",
    collections.abc.Iterable: "several values",
    collections.abc.Mapping: "names and values",
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
    """Refuse arguments that their annotations do not allow.

    Whole numbers are below 2**63; what an iterable holds, and a range, is checked by who reads it.

    Raises:
        InvalidRequestError: Naming the argument, what was expected, and what was found.
    """
    checks: dict[str, _Allowed] = {}
    names: list[str] = []

    def read_annotations() -> None:
        hints = typing.get_type_hints(call)
        for name, parameter in inspect.signature(call).parameters.items():
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                names.append(name)
            allowed = _allowed(hints.get(name, Any))
            if Any not in allowed and parameter.kind is not parameter.VAR_KEYWORD:
                checks[name] = allowed

    @functools.wraps(call)
    def checked_arguments(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if not names:
            read_annotations()
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in checks and not _fits(value, checks[name]):
                raise refusal(name, _expected(value, checks[name]), value)
        return call(*args, **kwargs)

    return checked_arguments


def _allowed(hint: Any) -> _Allowed:
    """Return the classes and the texts that an annotation allows; ``Any`` for any value."""
    origin = typing.get_origin(hint)
    if origin in {typing.Union, types.UnionType}:
        return tuple(kind for part in typing.get_args(hint) for kind in _allowed(part))
    if origin is typing.Literal:
        return typing.get_args(hint)
    kind = origin or hint
    if typing.is_typeddict(kind):
        return (collections.abc.Mapping,)
    return (kind,) if isinstance(kind, type) else (Any,)


def _fits(value: Any, allowed: _Allowed) -> bool:
    """Return whether a value is allowed; True is no number."""
    if isinstance(value, bool):
        return bool in allowed
    if isinstance(value, int):
        return bool({int, float} & {*allowed}) and abs(value) < _LARGEST
    if isinstance(value, str) and value in allowed:
        return True
    return isinstance(value, tuple(kind for kind in allowed if isinstance(kind, type)))


def _expected(value: object, allowed: _Allowed) -> str:
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return "a whole number of 64 bits"
    choices = [choice for choice in allowed if isinstance(choice, str)]
    if choices:
        return f"one of {', '.join(choices)}"
    return " or ".join(dict.fromkeys(_NAMES.get(kind) or _with_article(kind) for kind in allowed))


def _with_article(kind: type) -> str:
    return f"an {kind.__name__}" if kind.__name__[0] in "AEIOU" else f"a {kind.__name__}"
