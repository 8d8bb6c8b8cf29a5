"""Rows that cannot be read: found by the schema's own constraints, and hidden or replaced.

A damaged disk or another program may leave a value in the file that no constraint allows, a text
that is no UTF-8, or one that its reader refuses. Such a row keeps nobody from opening the file.
Every connection then reads its table through a temporary view that leaves the row out, or has a
stand-in for the value; :func:`repair` writes the same into the table. Neither ever shows more to
anybody than the table did before. What is written goes to ``main.``, past the view.
"""

from __future__ import annotations

import itertools
import json
import operator
import re
import zoneinfo
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
"""What reading a value of another type, range or structure raises."""

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
"""Tables that are checked when a file is opened, and what people call their rows."""

RECORDS: Mapping[str, str] = {
    "memory": "memory rows",
    "entity": "names of people and things",
    "alias": "other names of people and things",
    "relation": "relations",
    "feedback": "entries of feedback",
    "shown": "results with feedback",
    "learned": "steps of learning",
}
"""Tables that grow with the memories: the doctor alone reads all of them."""

_first = operator.itemgetter(0)
_KEPT = ("space", "partition", "redacted_view", "memory")  # even without what they refer to
_NAMED = 5  # rows of a table that are named
_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Damage:
    """A row that cannot be read: the columns at fault, and values that may replace them.

    ``name`` is what people know it by. Without ``stand_ins`` the row is left out.
    """

    rowid: int
    name: str
    columns: tuple[str, ...]
    stand_ins: Mapping[str, Any] | None


@dataclass(slots=True)
class DamagedTable:
    """What cannot be read of one table."""

    table: str
    rows: list[Damage] = field(default_factory=list)

    @property
    def what(self) -> str:
        """What people call the rows of the table."""
        return {**SETTINGS, **RECORDS}[self.table]

    @property
    def description(self) -> str:
        """How many rows cannot be read, and which."""
        named = "; ".join(
            f"{damage.name} {', '.join(damage.columns)}".strip() for damage in self.rows[:_NAMED]
        )
        more = f" and {len(self.rows) - _NAMED:,} more" if len(self.rows) > _NAMED else ""
        return f"{len(self.rows):,} {self.what} cannot be read: {named}{more}"


def find(
    connection: apsw.Connection, tables: Iterable[str] = (*SETTINGS, *RECORDS)
) -> list[DamagedTable]:
    """Return those of some tables that hold something unreadable; reads every row of them."""
    there = {name for (name,) in sql.rows(connection, "SELECT name FROM main.sqlite_master")}
    damaged: dict[str, DamagedTable] = {}
    for table in tables:
        if table not in there:
            continue
        rows = [] if _is_sound(connection, table) else list(_damaged_rows(connection, table))
        if table not in _KEPT:
            known = {damage.rowid for damage in rows}
            rows += [each for each in _dangling(connection, table) if each.rowid not in known]
        if rows:
            damaged[table] = DamagedTable(table, rows)
    if "redacted_view" in damaged:
        _leave_to_owners(connection, damaged)
    return list(damaged.values())


def hide(connection: apsw.Connection, damaged: Collection[DamagedTable]) -> None:
    """Put a view of what can be read in front of some tables, on this connection."""
    for each in damaged:
        columns = sql.columns(connection, each.table)
        ids = ", ".join(str(damage.rowid) for damage in each.rows)
        query = f"SELECT *, rowid FROM main.{each.table} WHERE rowid NOT IN ({ids})"
        for damage in each.rows:
            if damage.stand_ins is not None:
                values = ", ".join(
                    apsw.format_sql_value(damage.stand_ins[column])
                    if column in damage.stand_ins
                    else column
                    for column in columns
                )
                query += (
                    f" UNION ALL SELECT {values}, rowid FROM main.{each.table}"
                    f" WHERE rowid = {damage.rowid}"
                )
        connection.execute(f"CREATE TEMP VIEW IF NOT EXISTS {each.table} AS {query}")


def repair(connection: apsw.Connection) -> list[str]:
    """Replace or delete what cannot be read; returns what that was.

    Runs inside a write transaction of the caller's, on a connection without views.
    """
    damaged = find(connection)
    for each in damaged:
        for damage in each.rows:
            if damage.stand_ins is None:
                connection.execute(f"DELETE FROM {each.table} WHERE rowid = ?", (damage.rowid,))
                continue
            changes = ", ".join(f"{column} = ?" for column in damage.stand_ins)
            connection.execute(
                f"UPDATE OR IGNORE {each.table} SET {changes} WHERE rowid = ?",
                (*damage.stand_ins.values(), damage.rowid),
            )
    return [each.description for each in damaged]


def _is_sound(connection: apsw.Connection, table: str) -> bool:
    """Return whether every row satisfies its constraints and can be read."""
    if sql.rows(connection, f"PRAGMA main.quick_check('{table}')") != [("ok",)]:
        return False
    columns = sql.columns(connection, table)
    cursor = connection.cursor()
    try:
        for values in cursor.execute(f"SELECT * FROM main.{table}"):
            row = dict(zip(columns, values, strict=True))
            for read in _READERS.get(table, {}).values():
                read(row)
    except MALFORMED:
        return False
    finally:
        cursor.close()
    return True


def _damaged_rows(connection: apsw.Connection, table: str) -> Iterator[Damage]:
    """Yield the rows that SQLite would not take again, or that their readers refuse."""
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
                if table != "memory":  # its checksum says whether the rest of it is damaged
                    yield Damage(rowid, name, tuple(filter(None, (*replaced, column))), None)
                break
            query = f"SELECT {stand_ins[column]} FROM main.{table} WHERE rowid = ?"
            row[column] = replaced[column] = sql.row(connection, query, (rowid,))[0]
        else:
            if replaced:
                yield Damage(rowid, name, tuple(replaced), replaced)
        if table in RECORDS:  # of which many need not fit into memory
            scratch.execute("ROLLBACK; BEGIN")
    scratch.close()


def _dangling(connection: apsw.Connection, table: str) -> Iterator[Damage]:
    """Yield the rows that refer to a row that is not there."""
    violations = sql.rows(connection, f"PRAGMA main.foreign_key_check({table})")
    if not violations:
        return
    references = dict(
        sql.rows(
            connection, "SELECT id, \"from\" FROM pragma_foreign_key_list(?, 'main')", (table,)
        )
    )
    for rowid, numbers in itertools.groupby(sorted((row[1], row[3]) for row in violations), _first):
        columns = tuple(references[number] for _, number in numbers)
        can_be_null = all(STAND_INS.get(table, {}).get(column) == "NULL" for column in columns)
        stand_ins = dict.fromkeys(columns) if can_be_null else None
        yield Damage(rowid, str(rowid), columns, stand_ins)


def _read(
    connection: apsw.Connection, table: str, columns: Collection[str], rowid: int
) -> dict[str, Any]:
    """Return a row; a text that is no UTF-8 as bytes, which no column of texts takes."""
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
    """Return a column at fault, "" where that is the row as a whole; None if it can be read."""
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


def _leave_to_owners(connection: apsw.Connection, damaged: dict[str, DamagedTable]) -> None:
    """Where it is not known from whom something is hidden, let owners alone see the space."""
    for damage in damaged["redacted_view"].rows:
        if damage.stand_ins is not None:
            continue
        (space,) = sql.row(
            connection, f"SELECT {_OWN_SPACE} FROM main.redacted_view WHERE rowid = ?",
            (damage.rowid,),
        )  # fmt: skip
        grants = sql.rows(
            connection,
            "SELECT rowid FROM main.access WHERE space = ? AND role IS NOT 'owner'",
            (space,),
        )
        for table, ids, stand_ins in (
            ("access", grants, None),
            ("space", [(space,)] if space else [], {"kind": "private"}),
        ):
            known = {each.rowid for each in damaged.get(table, DamagedTable(table)).rows}
            new = [
                Damage(rowid, str(rowid), (), stand_ins) for (rowid,) in ids if rowid not in known
            ]
            if new:
                damaged.setdefault(table, DamagedTable(table)).rows += new


def _read_setting(row: _Row) -> None:
    _INFO_READERS.get(row["key"], str)(row["value"])


def _read_trash(row: _Row) -> None:
    tables = json.loads(row["record"])
    for name in ("memory", "relation"):
        for stored in tables[name]:
            for value in stored.values():
                if isinstance(value, dict):
                    bytes.fromhex(value["hex"])
                elif not isinstance(value, str | int | float | None):
                    raise TypeError(value)
    for stored in tables["memory"]:
        if not {*_TRASH_COLUMNS} <= {*stored}:
            raise KeyError(stored)


_INFO_READERS: Mapping[str, Callable[[str], object]] = {
    "timezone": zoneinfo.ZoneInfo,
    "country": lambda value: Region(country=value),
    "hemisphere": lambda value: Region(hemisphere=value),
    "audit_days": lambda value: check_audit_days(int(value)),
}
_TRASH_COLUMNS = ("id", "space", "doc_id", "text", "redacted_view", "superseded_s", "recorded_s")
_READERS: Mapping[str, Mapping[str, Callable[[_Row], object]]] = {
    "info": {"": _read_setting},
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
"""What reads a row, by the column that is at fault where that fails; "" is the row as a whole."""

_UNNAMED = "'unreadable-' || no"
_OWN_SPACE = (
    "iif(typeof(space) = 'integer', space, (SELECT m.space FROM main.memory m"
    " WHERE m.redacted_view = redacted_view.no LIMIT 1))"
)
_ITS_MEMORIES = (
    "FROM main.memory m WHERE m.id BETWEEN partition.no << 40"
    " AND (partition.no << 40) + (1 << 40) - 1"
)


def _of_its_memories(column: str, otherwise: str) -> str:
    return f"coalesce((SELECT m.{column} {_ITS_MEMORIES} LIMIT 1), {otherwise})"


def _counted(summed: str, *, past: bool) -> str:
    superseded = "NOT NULL" if past else "NULL"
    counted = f"SELECT sum({summed}) {_ITS_MEMORIES} AND m.superseded_s IS {superseded}"
    return f"CAST(coalesce(({counted}), 0) AS INTEGER)"


STAND_INS: Mapping[str, Mapping[str, str]] = {
    "person": {
        "person_id": _UNNAMED,
        "name": f"coalesce(person_id, {_UNNAMED})",
        "aliases": "'[]'",
    },
    "space": {"space_id": _UNNAMED, "kind": "'private'", "name": "NULL"},
    "partition": {
        "space": _of_its_memories("space", "NULL"),
        "band": _of_its_memories("band", "'black'"),
        "child": f"iif({_of_its_memories('guardians_of', 'NULL')} IS NULL, 0, coalesce((SELECT p.no"
        f" FROM main.person p WHERE p.person_id = {_of_its_memories('guardians_of', 'NULL')}),"
        " 1 << 40))",
        "redacted_view": _of_its_memories("redacted_view", "0"),
        "next_seq": f"1 + coalesce((SELECT max(m.id) {_ITS_MEMORIES}) - (no << 40), 0)",
        "next_entity": "1 + coalesce(-(SELECT min(e.id) FROM main.entity e WHERE e.id BETWEEN"
        " -(no << 40) - (1 << 40) + 1 AND -(no << 40)) - (no << 40), 0)",
        "n_current": _counted("1", past=False),
        "n_past": _counted("1", past=True),
        "words_current": _counted("m.n_words", past=False),
        "words_past": _counted("m.n_words", past=True),
        "n_bounded": _counted("coalesce(m.valid_from_s, m.valid_until_s) IS NOT NULL", past=False),
        "rewrites": "0",
    },
    # Vectors of which it is not known what made them belong to no model: rebuild deletes them.
    "embedding_model": {
        "model_id": _UNNAMED,
        "dim": "8",
        "token_dim": "0",
        "storage": "iif(EXISTS (SELECT 1 FROM main.sqlite_master t WHERE t.name = 'vectors_' || no"
        " AND t.sql LIKE 'CREATE VIRTUAL %'), 'vec0', 'plain')",
        "role": "'embedder'",
    },
    "redacted_view": {"space": _OWN_SPACE, "fields": f"'{json.dumps(HIDEABLE)}'"},
    "receipt": {"clean": "0"},
    "audit": {"person": "NULL", "space": "NULL", "lost": "0"},
    "memory": {
        "superseded_s": "recorded_s",
        "order_s": "coalesce(occurred_s, recorded_s)",
        "header": "''",
        "context_id": "NULL",
        "n_words": "0",
        "words": "x''",
        "content_hash": "x''",
        "cues": "0",
    },
    "entity": {"name": "'unreadable'", "person": "NULL"},
    "relation": {
        "confidence": "1.0",
        "valid_from_s": "NULL",
        "valid_until_s": "NULL",
        "recorded_s": "0.0",
        "evidence": "'[]'",
        "stated": "NULL",
    },
    "feedback": {"guard": "NULL", "asked": "NULL"},
}
"""What may replace a value, by table and column, as SQL; without one the row is left out."""
