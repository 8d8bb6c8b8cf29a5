"""Frozen records some of whose fields are computed when they are first read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar


class Deferred:
    """A base for frozen dataclasses with slots, which can leave fields open.

    An open field is computed the first time that it is read, compared, copied or pickled, and is
    an ordinary one from then on. Computing it twice, in two threads at once, must give the same.
    """

    __slots__ = ("_compute",)

    if not TYPE_CHECKING:  # else every attribute would be known, and none of a type

        def __getattr__(self, name: str) -> object:
            """Compute an open field: Python asks here for slots that are empty."""
            if name == "_compute" or name not in self.__dataclass_fields__:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            value = self._compute(name)
            object.__setattr__(self, name, value)
            return value


_T = TypeVar("_T", bound=Deferred)


def deferred(kind: type[_T], compute: Callable[[str], object], values: Mapping[str, Any]) -> _T:
    """Make a record of the values that are known, by name, without checking them.

    Args:
        kind: Its class.
        compute: Returns the value of a field that is not among ``values``.
        values: All other fields.
    """
    record = unfrozen(kind, compute)
    for name, value in values.items():
        setattr(record, name, value)
    return frozen(record, kind)


def unfrozen(kind: type[_T], compute: Callable[[str], object]) -> Any:
    """Return an empty record whose fields can be assigned, until it is :func:`frozen`.

    Assigning takes a thirtieth of what `object.__setattr__` does for a frozen record.
    """
    record = _unfrozen(kind)()  # type: ignore[arg-type]  # a class can be hashed
    record._compute = compute  # noqa: SLF001  it is of this module
    return record


def frozen(record: Any, kind: type[_T]) -> _T:
    """Make an :func:`unfrozen` record one of its class, whose open fields are computed."""
    record.__class__ = kind
    made: _T = record
    return made


@functools.cache
def _unfrozen(kind: type) -> Any:
    """Return a class of the same fields in the same places, which can be assigned."""
    return type(kind.__name__, kind.__bases__, {"__slots__": vars(kind)["__slots__"]})
