"""Records that the library returns: msgspec structs that are written and read as JSON."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import msgspec

from family_recall.errors import InvalidRequestError

_T = TypeVar("_T")


class Record(msgspec.Struct, frozen=True):
    """A base for records that are JSON objects of their fields."""

    def to_json(self) -> dict[str, Any]:
        """Return every field, moments as ISO 8601."""
        return {name: as_json(getattr(self, name)) for name in self.__struct_fields__}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote; unknown names are ignored.

        Raises:
            InvalidRequestError: If a field is missing, or of another type.
        """
        try:
            return msgspec.convert(cls._as_stored(record), cls)
        except (msgspec.ValidationError, RecursionError, UnicodeError) as error:
            name = re.sub(r"(?<!^)(?=[A-Z])", " ", cls.__name__).lower()
            article = "an" if name[0] in "aeiou" else "a"
            raise InvalidRequestError(f"this is not {article} {name}: {error}") from None

    @classmethod
    def _as_stored(cls, record: Any) -> Any:
        """Return JSON as its fields are stored, where :meth:`to_json` wrote them otherwise."""
        return record


def as_json(value: Any) -> Any:
    """Convert a value to JSON: records to objects, tuples to lists, moments to texts.

    Other structs become lists of their fields.
    """
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, msgspec.Struct):
        return [as_json(item) for item in msgspec.structs.astuple(value)]
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list | _Later):
        return [as_json(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def later(make: Callable[[], Iterable[_T]]) -> tuple[_T, ...]:
    """Return a tuple that ``make`` fills when it is first read; few answers are read in full.

    A copy or pickle of it is an ordinary tuple. Two threads may call ``make`` at once.
    """
    return cast("tuple[_T, ...]", _Later(make))


class _Later(Sequence[_T]):
    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[], Iterable[_T]]) -> None:
        self._make: Callable[[], Iterable[_T]] | None = make
        self._items: tuple[_T, ...] = ()

    def _all(self) -> tuple[_T, ...]:
        if (make := self._make) is not None:
            self._items = tuple(make())
            self._make = None
        return self._items

    def __getitem__(self, at: Any) -> Any:
        return self._all()[at]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[_T]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == (other._all() if isinstance(other, _Later) else other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return tuple, (self._all(),)
