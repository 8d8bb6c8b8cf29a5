"""Reading the tables of settings tolerantly: what cannot be read is replaced, or left out.

A damaged disk, another program or an earlier version may leave a value in the file that makes no
sense: a role that is none, a moment outside the calendar, a text that is no UTF-8. Such a value
keeps nobody from opening the household. Every connection then reads its table through a temporary
view, which has what :mod:`family_recall.store.file.settings_tables` says in place of it;
:func:`reset` writes the same into the table. What is written goes to ``main.`` and so passes the
view by.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import apsw

from family_recall.store.file import sql
from family_recall.store.file.columns import Table
from family_recall.store.file.record_tables import LOGS, RECORDS
from family_recall.store.file.settings_tables import SETTINGS

HIDDEN = (*SETTINGS, *LOGS)
"""Tables in front of which :func:`hide` puts a view, where they need one."""

_NAMED = 5  # rows of a table that are named


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What cannot be read of one table, and a description of it."""

    table: Table
    description: str


def unreadable(
    connection: apsw.Connection, tables: Collection[Table] = (*HIDDEN, *RECORDS)
) -> list[Unreadable]:
    """Return those of some tables that hold something unreadable; reads every row of them.

    A table that is missing is found by the checks of the file.
    """
    there = {name for (name,) in sql.rows(connection, "SELECT name FROM main.sqlite_master")}
    return [
        Unreadable(table, description)
        for table in tables
        if table.name in there and (description := _describe(connection, table))
    ]


def hide(connection: apsw.Connection, tables: Collection[Table]) -> None:
    """Put a view of what is readable in front of some tables, on this connection."""
    for table in tables:
        query = _readable(connection, table)
        connection.execute(f"CREATE TEMP VIEW IF NOT EXISTS {table.name} AS {query}")


def reset(connection: apsw.Connection) -> list[str]:
    """Write what stands in for unreadable values into the tables; returns what was unreadable.

    Runs inside a write transaction of the caller's.
    """
    found = unreadable(connection)
    # A later table may still be unreadable where an earlier one looks at it.
    for table in (problem.table for problem in found):
        name = f"main.{table.name}"
        connection.execute(f"DELETE FROM {name} WHERE NOT ({_is_true(table.says)})")
        for column in table.columns:
            connection.execute(
                f"UPDATE OR IGNORE {name} SET {column.name} = {column.instead}"
                f" WHERE NOT ({_is_true(column.holds)})"
            )
    return [problem.description for problem in found]


def _readable(connection: apsw.Connection, table: Table) -> str:
    """Return the query of what is readable in a table, under the names of its columns."""
    rules = {column.name: column for column in table.columns}
    columns = [
        f"iif({_is_true(rules[name].holds)}, {name}, {rules[name].instead}) AS {name}"
        if name in rules
        else name
        for (name,) in sql.rows(
            connection, "SELECT name FROM pragma_table_info(?, 'main')", (table.name,)
        )
    ]
    (without_rowid,) = sql.row(
        connection, "SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'", (table.name,)
    )
    if not without_rowid:
        columns.append("rowid")
    return f"SELECT {', '.join(columns)} FROM main.{table.name} WHERE {_is_true(table.says)}"


def _describe(connection: apsw.Connection, table: Table) -> str | None:
    conditions = " AND ".join(map(_is_true, table.conditions.values()))
    rows = sql.rows(
        connection,
        f"SELECT CAST({table.row} AS BLOB), {', '.join(map(_is_true, table.conditions.values()))}"
        f" FROM main.{table.name} WHERE NOT ({conditions})",
    )
    if not rows:
        return None
    described = []
    for row, *holds in rows[:_NAMED]:
        columns = [
            name for name, is_held in zip(table.conditions, holds, strict=True) if not is_held
        ]
        name = (row or b"").decode("utf-8", "replace")[:80]
        described.append(f"{name}{' ' * any(columns)}{', '.join(filter(None, columns))}")
    more = f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
    return f"{len(rows):,} {table.what} cannot be read: {'; '.join(described)}{more}"


def _is_true(condition: str) -> str:
    return f"(({condition}) IS TRUE)"
