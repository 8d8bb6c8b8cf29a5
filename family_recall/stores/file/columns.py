"""What the columns of a table hold, as SQL conditions, and what may stand in for anything else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from family_recall.stores.records import MAX_MOMENT_S, MIN_MOMENT_S

MAX_COUNT = 2**40


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
