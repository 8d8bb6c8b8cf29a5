"""Arguments checked by their annotations, before a public method does anything with them."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import os
import reprlib
import types
import typing
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from family_recall.errors import InvalidRequestError

_C = TypeVar("_C", bound=type)
_P = ParamSpec("_P")
_T = TypeVar("_T")
_Fits = Callable[[Any], bool]

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
    """Refuse arguments whose type is not that of their annotation.

    Whole numbers are below 2**63; what an iterable holds, and a range, is checked by who reads it.

    Raises:
        InvalidRequestError: Naming the argument, what was expected, and what was found.
    """
    checks: dict[str, tuple[_Fits, str]] = {}
    names: list[str] = []

    def read_annotations() -> None:
        hints = typing.get_type_hints(call)
        for name, parameter in inspect.signature(call).parameters.items():
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                names.append(name)
            if name in hints and parameter.kind is not parameter.VAR_KEYWORD:
                kinds = _kinds(hints[name])
                if kinds is not None:
                    checks[name] = (_fits(kinds), _expected(kinds))

    @functools.wraps(call)
    def checked_arguments(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if not names:
            read_annotations()
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in checks and not checks[name][0](value):
                expected = "a whole number of 64 bits" if _too_large(value) else checks[name][1]
                raise InvalidRequestError(f"{name} must be {expected}, got {reprlib.repr(value)}")
        return call(*args, **kwargs)

    return checked_arguments


def _kinds(hint: Any) -> tuple[type, ...] | None:
    """Return the classes that an annotation allows; None for any."""
    if hint is Any or isinstance(hint, TypeVar):
        return None
    origin = typing.get_origin(hint)
    if origin in {typing.Union, types.UnionType}:
        parts = [_kinds(part) for part in typing.get_args(hint)]
        return None if None in parts else sum((part for part in parts if part), ())
    if origin is typing.Literal:
        return tuple(dict.fromkeys(type(choice) for choice in typing.get_args(hint)))
    kind = origin or hint
    if typing.is_typeddict(kind):
        return (collections.abc.Mapping,)
    return (kind,) if isinstance(kind, type) else None


def _fits(kinds: tuple[type, ...]) -> _Fits:
    """Return what says whether a value is of one of some classes; True is no number."""
    numbers = {int, float} & {*kinds}
    others = tuple(kind for kind in kinds if kind not in numbers)

    def fits(value: Any) -> bool:
        if isinstance(value, others):
            return True
        if isinstance(value, bool) or not numbers:
            return False
        if isinstance(value, int):
            return not _too_large(value)
        return float in numbers and isinstance(value, float)

    return fits


def _too_large(value: object) -> bool:
    return isinstance(value, int) and abs(value) >= _LARGEST


def _expected(kinds: tuple[type, ...]) -> str:
    names = [_NAMES.get(kind, _with_article(kind.__name__)) for kind in kinds]
    return " or ".join(dict.fromkeys(names))


def _with_article(name: str) -> str:
    return f"an {name}" if name[0] in "AEIOU" else f"a {name}"
