"""Untyped rows of SQLite; callers convert them to records at once."""

from __future__ import annotations

from typing import Any

import apsw
import numpy as np

from family_recall.errors import InvalidRequestError
from family_recall.types import IdArray


def rows(connection: apsw.Connection, sql: str, values: apsw.Bindings = ()) -> list[Any]:
    """Run one statement and return all its rows, as tuples.

    Raises:
        InvalidRequestError: If a whole number among ``values`` is beyond 64 bits.
    """
    return _executed(connection, sql, values).fetchall()


def row(connection: apsw.Connection, sql: str, values: apsw.Bindings = ()) -> Any:
    """Run one statement and return its first row, a tuple, or None; raises as :func:`rows`."""
    return _executed(connection, sql, values).fetchone()


def _executed(connection: apsw.Connection, sql: str, values: apsw.Bindings) -> apsw.Cursor:
    try:
        return connection.execute(sql, values)
    except OverflowError:  # of Python's numbers, on their way to SQLite
        raise InvalidRequestError("a whole number is beyond 64 bits; give a smaller one") from None


def columns(connection: apsw.Connection, table: str) -> dict[str, str]:
    """Return the declared type of each column of a table, in order."""
    statement = "SELECT name, type FROM pragma_table_info(?, 'main')"
    return dict(rows(connection, statement, (table,)))


def id_array(ids: IdArray) -> Any:
    """Bind row ids for ``carray(?)``, which refuses an empty array; no row has the id 0."""
    return apsw.carray(ids if len(ids) else np.zeros(1, np.int64))
