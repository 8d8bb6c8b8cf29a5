"""Find unreadable rows by the schema's constraints, and hide or replace them.

A damaged disk or another program may leave a value that violates a constraint, is not UTF-8, or
that its reader refuses. The file still opens: every connection then reads the table through a
temporary view that omits the row or replaces the value by a stand-in; :func:`repair` writes the
same into the table. Neither shows anybody more than before. Writes go to ``main.``, past the view.
"""

from __future__ import annotations

import contextlib
import json
import re
import zoneinfo
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from family_recall.errors import FamilyRecallError
from family_recall.store.file import sql
from family_recall.store.file.schema import SCHEMA
from family_recall.types import HIDEABLE, Hidden, Person, Region, Space
from family_recall.types.browsing import check_audit_days
from family_recall.types.erasure import Receipt

MALFORMED = (
    FamilyRecallError, AttributeError, LookupError, OSError, OverflowError, RecursionError,
    TypeError, ValueError,
)  # fmt: skip
"""Exceptions of reading a value of the wrong type, range or structure."""

SETTINGS: Mapping[str, str] = {
    "info": "settings",
    "person": "people",
    "guardian": "guardians",
    "space": "spaces",
    "access": "grants",
    "partition": "partitions",
    "retention": "retention rules",
    "stage_cost": "stage costs",
    "embedding_model": "embedding models",
    "redacted_view": "hidden fields",
    "receipt": "receipts",
    "trash": "receipts with something in the trash",
    "audit": "entries of the audit log",
    "audit_writer": "writers of the audit log",
}
"""Tables that are checked when a file is opened, and a name for their rows."""

RECORDS: Mapping[str, str] = {
    "memory": "memory rows",
    "entity": "names of people and things",
    "alias": "other names of people and things",
    "relation": "relations",
    "feedback": "entries of feedback",
    "shown": "results with feedback",
    "learned": "steps of learning",
}
"""Tables that grow with the memories; only the doctor reads all of them."""

DERIVED: Mapping[str, str] = {
    "alias": "other names",
    "audit_memory": "memories in the audit log",
    "edge": "edges",
    "embedding": "vectors of words",
    "identifier": "identifiers",
    "mention": "mentions",
    "mentioned_time": "times",
    "word_count": "counts of words",
}
"""Tables from which a row goes if a value has another type than its column; rebuild makes most of
them again."""

_MAY_DANGLE = ("space", "redacted_view", "memory")  # kept with broken references
_LISTED = 5  # rows of a table in a message
_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Damage:
    """An unreadable row: a name for it, the invalid columns, and values to replace them.

    Without ``stand_ins`` the row is left out.
    """

    rowid: int
    name: str
    columns: tuple[str, ...]
    stand_ins: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class DamagedTable:
    """The unreadable rows of one table."""

    table: str
    rows: Sequence[Damage]

    @property
    def what(self) -> str:
        """A name for the rows of the table."""
        return {**SETTINGS, **RECORDS}[self.table]

    @property
    def description(self) -> str:
        """The number of unreadable rows, and their names."""
        listed = "; ".join(
            f"{damage.name} {', '.join(damage.columns)}".strip() for damage in self.rows[:_LISTED]
        )
        more = f" and {len(self.rows) - _LISTED:,} more" if len(self.rows) > _LISTED else ""
        return f"{len(self.rows):,} {self.what} cannot be read: {listed}{more}"


def find(
    connection: apsw.Connection, tables: Iterable[str] = (*SETTINGS, *RECORDS)
) -> list[DamagedTable]:
    """Find unreadable rows in some tables; reads every row."""
    existing = {name for (name,) in sql.rows(connection, "SELECT name FROM main.sqlite_master")}
    damaged: dict[str, dict[int, Damage]] = {}
    for table in tables:
        rows = damaged.setdefault(table, {})
        if table in existing and not _is_readable(connection, table):
            rows |= {damage.rowid: damage for damage in _damaged_rows(connection, table)}
        if table in existing and table not in _MAY_DANGLE:
            rows |= {damage.rowid: damage for damage in _dangling(connection, table)} | rows
    for hidden in damaged.get("redacted_view", {}).values():
        if hidden.stand_ins is None:
            _leave_to_owners(connection, damaged, hidden.rowid)
    return [DamagedTable(table, [*rows.values()]) for table, rows in damaged.items() if rows]


def hide(connection: apsw.Connection, damaged: Collection[DamagedTable]) -> None:
    """Create temporary views of the readable rows in front of damaged tables."""
    for table in damaged:
        columns = sql.columns(connection, table.table)
        ids = ", ".join(str(damage.rowid) for damage in table.rows)
        query = f"SELECT *, rowid FROM main.{table.table} WHERE rowid NOT IN ({ids})"
        for damage in table.rows:
            if damage.stand_ins is not None:
                values = ", ".join(
                    apsw.format_sql_value(damage.stand_ins[column])
                    if column in damage.stand_ins
                    else column
                    for column in columns
                )
                query += (
                    f" UNION ALL SELECT {values}, rowid FROM main.{table.table}"
                    f" WHERE rowid = {damage.rowid}"
                )
        connection.execute(f"CREATE TEMP VIEW IF NOT EXISTS {table.table} AS {query}")


def repair(connection: apsw.Connection) -> list[str]:
    """Replace or delete unreadable rows; return a description per table.

    Needs a write transaction, on a connection without views.
    """
    damaged = find(connection)
    for table in damaged:
        for damage in table.rows:
            if damage.stand_ins is None:
                connection.execute(f"DELETE FROM {table.table} WHERE rowid = ?", (damage.rowid,))
                continue
            changes = ", ".join(f"{column} = ?" for column in damage.stand_ins)
            connection.execute(
                f"UPDATE OR IGNORE {table.table} SET {changes} WHERE rowid = ?",
                (*damage.stand_ins.values(), damage.rowid),
            )
    return [table.description for table in damaged] + _delete_mistyped(connection)


def _delete_mistyped(connection: apsw.Connection) -> list[str]:
    """Delete rows of derived tables with a value of the wrong type; describe them."""
    described = []
    for table, what in DERIVED.items():
        wrong = " OR ".join(
            f"typeof({name}) NOT IN ('{kind.lower()}', 'null')"
            for name, kind in sql.columns(connection, table).items()
        )
        connection.execute(f"DELETE FROM main.{table} WHERE {wrong}")
        if n := connection.changes():
            described.append(f"{n:,} {what} cannot be read")
    return described


def is_sound(connection: apsw.Connection, table: str | None = None) -> bool:
    """Return whether every value of a table, or of all, has its type and satisfies constraints."""
    of_table = f"('{table}')" if table else ""
    return sql.rows(connection, f"PRAGMA main.quick_check{of_table}") == [("ok",)]


def _is_readable(connection: apsw.Connection, table: str) -> bool:
    """Return whether every row satisfies its constraints and is readable."""
    if not is_sound(connection, table):
        return False
    columns = sql.columns(connection, table)
    readers = _READERS.get(table, {}).values()
    with contextlib.closing(connection.cursor()) as cursor, contextlib.suppress(*MALFORMED):
        for values in cursor.execute(f"SELECT * FROM main.{table}"):
            row = dict(zip(columns, values, strict=True))
            for read in readers:
                read(row)
        return True
    return False


def _damaged_rows(connection: apsw.Connection, table: str) -> Iterator[Damage]:
    """Yield the rows that violate a constraint, or that their readers refuse."""
    scratch = apsw.Connection(":memory:")
    scratch.execute(SCHEMA)
    scratch.execute("BEGIN")
    columns = sql.columns(connection, table)
    insert = f"INSERT INTO {table} VALUES({', '.join('?' for _ in columns)})"
    stand_ins = STAND_INS.get(table, {})
    for (rowid,) in sql.rows(connection, f"SELECT rowid FROM main.{table} ORDER BY rowid"):
        row = _read(connection, table, columns, rowid)
        key = next(iter(row.values()))
        name = key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
        replaced: dict[str, Any] = {}
        while (column := _wrong_column(scratch, insert, table, row)) is not None:
            if column not in stand_ins or column in replaced:
                if table != "memory":  # its checksum shows damage
                    yield Damage(rowid, name, tuple(filter(None, (*replaced, column))), None)
                break
            query = f"SELECT {stand_ins[column]} FROM main.{table} WHERE rowid = ?"
            row[column] = replaced[column] = sql.row(connection, query, (rowid,))[0]
        else:
            if replaced:
                yield Damage(rowid, name, tuple(replaced), replaced)
        if table in RECORDS:  # these may exceed the memory
            scratch.execute("ROLLBACK; BEGIN")
    scratch.close()


def _dangling(connection: apsw.Connection, table: str) -> Iterator[Damage]:
    """Yield the rows with a broken reference."""
    nullable = {name for name, value in STAND_INS.get(table, {}).items() if value == "NULL"}
    for rowid, names in sql.rows(
        connection,
        "SELECT v.rowid, group_concat(f.\"from\") FROM pragma_foreign_key_check(?1, 'main') v"
        " JOIN pragma_foreign_key_list(?1, 'main') f ON f.id = v.fkid GROUP BY v.rowid",
        (table,),
    ):
        columns = tuple(names.split(","))
        if table == "partition":  # kept without its space, unless its memories name another
            query = f"SELECT {STAND_INS[table]['space']} FROM main.partition WHERE rowid = ?"
            space = sql.row(connection, query, (rowid,))
            if sql.row(connection, "SELECT 1 FROM main.space WHERE no = ?", space):
                yield Damage(rowid, str(rowid), columns, {"space": space[0]})
            continue
        stand_ins = dict.fromkeys(columns) if nullable.issuperset(columns) else None
        yield Damage(rowid, str(rowid), columns, stand_ins)


def _read(
    connection: apsw.Connection, table: str, columns: Collection[str], rowid: int
) -> dict[str, Any]:
    """Return a row, with invalid UTF-8 as bytes, which text columns refuse."""
    casts = (f"iif(typeof({c}) = 'text', CAST({c} AS BLOB), {c}), typeof({c})" for c in columns)
    query = f"SELECT {', '.join(casts)} FROM main.{table} WHERE rowid = ?"
    values = sql.row(connection, query, (rowid,))
    row: dict[str, Any] = {}
    for column, value, kind in zip(columns, values[::2], values[1::2], strict=True):
        row[column] = value
        if kind == "text":
            try:
                row[column] = bytes(value).decode()
            except UnicodeDecodeError:
                row[column] = bytes(value)
    return row


def _wrong_column(scratch: apsw.Connection, insert: str, table: str, row: _Row) -> str | None:
    """Return an invalid column, "" for the row as a whole; None if the row is valid."""
    try:
        scratch.execute(insert, tuple(row.values()))
    except apsw.ConstraintError as error:
        # "CHECK constraint failed: kind", "UNIQUE constraint failed: person.person_id", …
        return re.split(r"[ .]", str(error).split(",")[0])[-1]
    for column, read in _READERS.get(table, {}).items():
        try:
            read(row)
        except MALFORMED:
            scratch.execute(f"DELETE FROM {table} WHERE rowid = last_insert_rowid()")
            return column
    return None


def _leave_to_owners(
    connection: apsw.Connection, damaged: dict[str, dict[int, Damage]], view: int
) -> None:
    """Let only owners see the space of a lost redacted view: whom it concerned is unknown."""
    own_space = STAND_INS["redacted_view"]["space"]
    query = f"SELECT {own_space} FROM main.redacted_view WHERE rowid = ?"
    (space,) = sql.row(connection, query, (view,))
    query = "SELECT rowid FROM main.access WHERE space = ? AND role IS NOT 'owner'"
    for (rowid,) in sql.rows(connection, query, (space,)):
        damaged["access"].setdefault(rowid, Damage(rowid, str(rowid), (), None))
    if space:
        damaged["space"].setdefault(space, Damage(space, str(space), (), {"kind": "private"}))


def _read_trash(row: _Row) -> None:
    tables = json.loads(row["record"])
    for name in ("memory", "relation"):
        for stored in tables[name]:
            dict(stored)


_INFO_READERS: Mapping[str, Callable[[str], object]] = {
    "timezone": zoneinfo.ZoneInfo,
    "country": lambda value: Region(country=value),
    "hemisphere": lambda value: Region(hemisphere=value),
    "audit_days": lambda value: check_audit_days(int(value)),
}
_READERS: Mapping[str, Mapping[str, Callable[[_Row], object]]] = {
    "info": {"": lambda row: _INFO_READERS.get(row["key"], str)(row["value"])},
    "person": {
        "person_id": lambda row: Person(row["person_id"], "x"),
        "name": lambda row: Person("x", row["name"]),
        "aliases": lambda row: Person("x", "x", tuple(json.loads(row["aliases"]))),
    },
    "space": {
        "space_id": lambda row: Space(row["space_id"], "shared"),
        "name": lambda row: Space("x", "shared", row["name"]),
    },
    "redacted_view": {"fields": lambda row: Hidden("x", "guest", tuple(json.loads(row["fields"])))},
    "embedding_model": {"model_id": lambda row: Person(row["model_id"], "x")},
    "receipt": {"": lambda row: Receipt.from_json(json.loads(row["record"]))},
    "trash": {"": _read_trash},
}
"""Readers by table and the column to blame if they fail; "" is the row as a whole."""

STAND_INS: dict[str, dict[str, str]] = {}
"""SQL for stand-ins by table and column; a row without one is left out."""

_SQL = (Path(__file__).parent / "stand_ins.sql").read_text(encoding="utf-8")
for _table, _column, _value in re.findall(
    r"^(\w+)\.(\w+): (.+(?:\n  .+)*)",
    _SQL.replace("{HIDEABLE}", json.dumps(HIDEABLE)),
    re.MULTILINE,
):
    STAND_INS.setdefault(_table, {})[_column] = _value
