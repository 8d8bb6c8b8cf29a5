"""What the columns of a table hold, as SQL conditions, and what may stand in for anything else.

Where SQL cannot say it, a condition calls a function of ours: see :func:`prepare`.
"""

from __future__ import annotations

import json
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import apsw

from family_recall.errors import FamilyRecallError
from family_recall.store.memories import MAX_MOMENT_S, MIN_MOMENT_S
from family_recall.types import Hidden, Region
from family_recall.types.audit import check_audit_days
from family_recall.types.erasure import Receipt
from family_recall.types.memory import MAX_LABEL_CHARS

MAX_COUNT = 2**40
_MAX_LIST_CHARS = 1_000_000
MALFORMED = (
    FamilyRecallError, AttributeError, LookupError, OSError, OverflowError, RecursionError,
    TypeError, ValueError,
)  # fmt: skip
"""What reading a value of another type, range or structure raises."""


@dataclass(frozen=True, slots=True)
class Column:
    """What one column holds, as an SQL condition, and the SQL expression that may replace it."""

    name: str
    holds: str
    instead: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table of settings.

    ``what`` names its rows for people, ``row`` is the SQL expression for one of them; ``says``
    is the condition without which a row says nothing, and is left out.
    """

    name: str
    what: str
    row: str
    columns: tuple[Column, ...]
    says: str = "TRUE"

    @property
    def conditions(self) -> dict[str, str]:
        """What holds of a sound row, by column; of the row as a whole under its name."""
        return {"": self.says} | {column.name: column.holds for column in self.columns}


def among(column: str, values: Iterable[str | int]) -> str:
    """Return the condition that a column holds one of some values."""
    return f"{column} IN ({', '.join(repr(value) for value in values)})"


def whole(column: str, low: int = 0, high: int = MAX_COUNT) -> str:
    """Return the condition that a column holds a whole number in a closed range."""
    return f"typeof({column}) = 'integer' AND {column} BETWEEN {low} AND {high}"


def number(column: str, low: float, high: float) -> str:
    """Return the condition that a column holds a number in a closed range."""
    return f"typeof({column}) IN ('integer', 'real') AND {column} BETWEEN {low} AND {high}"


def text(column: str) -> str:
    """Return the condition that a column holds a text that says something."""
    return f"typeof({column}) = 'text' AND holds_text(CAST({column} AS BLOB))"


def utf8(column: str) -> str:
    """Return the condition that a column holds any text, in UTF-8."""
    return f"typeof({column}) = 'text' AND is_utf8(CAST({column} AS BLOB))"


def texts(column: str) -> str:
    """Return the condition that a column holds a JSON list of such texts."""
    return f"typeof({column}) = 'text' AND holds_texts(CAST({column} AS BLOB))"


def moment(column: str) -> str:
    """Return the condition that a column holds a moment, in epoch seconds."""
    return number(column, MIN_MOMENT_S, MAX_MOMENT_S)


def maybe(column: str, holds: str) -> str:
    """Return the condition that a column is NULL, or holds what it must otherwise."""
    return f"{column} IS NULL OR ({holds})"


def prepare(connection: apsw.Connection) -> None:
    """Register the functions that the conditions call."""
    for name, (read, n_arguments) in _READERS.items():
        connection.create_scalar_function(name, _judge(read), n_arguments, deterministic=True)


def _judge(read: Callable[..., object]) -> Callable[..., bool]:
    """Return whether values can be read, from what reads their texts."""

    def holds(*values: bytes) -> bool:
        try:
            read(*(value.decode() for value in values))
        except MALFORMED:
            return False
        return True

    return holds


def _read_text(text: str) -> None:
    if not text.strip() or "\0" in text or len(text) > MAX_LABEL_CHARS:
        raise ValueError(text)


def _read_texts(text: str) -> list[str]:
    if len(text) > _MAX_LIST_CHARS:
        raise ValueError(len(text))
    texts = json.loads(text)
    if not isinstance(texts, list):
        raise TypeError(texts)
    for item in texts:
        item.encode()  # a JSON escape may stand for half a character
        _read_text(item)
    return texts


def _read_fields(text: str) -> None:
    Hidden("any", "guest", tuple(_read_texts(text)))


def _read_trash(text: str) -> None:
    tables = json.loads(text)
    for name in ("memory", "relation"):
        for row in tables[name]:
            for value in row.values():
                if isinstance(value, dict):
                    bytes.fromhex(value["hex"])
                elif not isinstance(value, str | int | float | None):
                    raise TypeError(value)
    for row in tables["memory"]:
        if not {*_TRASH_COLUMNS} <= {*row}:
            raise KeyError(row)


def _read_setting(key: str, value: str) -> None:
    _SETTINGS.get(key, str)(value)


_TRASH_COLUMNS = ("id", "space", "doc_id", "text", "redacted_view", "superseded_s", "recorded_s")
_SETTINGS: Mapping[str, Callable[[str], object]] = {
    "timezone": zoneinfo.ZoneInfo,
    "country": lambda value: Region(country=value),
    "hemisphere": lambda value: Region(hemisphere=value),
    "audit_days": lambda value: check_audit_days(int(value)),
    "token_key": bytes.fromhex,
}
_READERS: Mapping[str, tuple[Callable[..., object], int]] = {
    "holds_text": (_read_text, 1),
    "holds_texts": (_read_texts, 1),
    "holds_fields": (_read_fields, 1),
    "holds_setting": (_read_setting, 2),
    "holds_trash": (_read_trash, 1),
    "holds_receipt": (lambda text: Receipt.from_json(json.loads(text)), 1),
    "is_utf8": (str, 1),
}
"""Functions of SQL: what reads the texts they are given, and how many those are."""
