"""Archive: the rows that nothing else could be made from, as records out and back in.

Texts with both their time axes, replaced versions too; people, spaces, who may enter them; names
and how they relate; what was judged, who recalled what and what was forgotten, where wanted.
Numbers stay what they are, so that records may refer to each other by them. Words, counts, vectors,
mentions, edges and identifiers are made anew. What is kept aside for an undo stays where it is: a
text that somebody had forgotten goes into no other file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import apsw

from family_recall.errors import DatasetError
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import PARTITION_SHIFT

JUDGED = ("judgement", "shown", "learned")
"""What people thought of results, and what came of it: exported only where wanted."""

LOGGED = ("audit", "audit_memory", "receipt")
"""Who recalled what, and receipts of what was forgotten: exported only where wanted."""

MAX_INTEGER = 2**63 - 1
MIN_MOMENT_S = -62_104_200_000.0
MAX_MOMENT_S = 253_370_900_000.0
"""Between these, in epoch seconds, any zone can show a moment: the years 2 to 9998."""

_TABLES: Mapping[str, str] = {
    "person": "no",
    "space": "no",
    "access": "person, space",
    "guardian": "child, guardian",
    "veil": "no",
    "partition": "no",
    "memory": "id",
    "entity": "id DESC",
    "alias": "partition, entity DESC, alias",
    "relation": "no",
    "judgement": "no",
    "shown": "judgement, rank",
    "learned": "no",
    "retention": "category",
    "audit": "no",
    "audit_memory": "entry, rank",
    "receipt": "at_s, rowid",
}
"""Tables in the order in which a record may refer to earlier ones, with the order of their rows."""

_MADE_ANEW: Mapping[str, frozenset[str]] = {
    "memory": frozenset({"header", "n_words", "words", "order_s", "seal"}),
    "partition": frozenset(
        {"n_current", "n_past", "words_current", "words_past", "n_bounded", "rewrites"}
    ),
}
INFO = ("timezone", "country", "hemisphere")
LOG_INFO = ("audit_days", "forgetting_key")
"""Beside the log: how long it is kept, and the key without which no receipt can be checked."""

_OF_MEMORIES = {"memory": "id", "judgement": "memory", "shown": "memory", "audit_memory": "memory"}
_LISTS: Mapping[str, type] = {"aliases": str, "labels": str, "fields": str, "evidence": int}
_OBJECTS = ("guard", "record")


@dataclass(frozen=True, slots=True)
class Column:
    """A column as its table declares it."""

    name: str
    type: str
    required: bool


def info(connection: apsw.Connection, *, log: bool) -> dict[str, str]:
    """Give where the household lives, as far as the file says, and what belongs to its log."""
    kept = dict(sql.rows(connection, "SELECT key, value FROM info"))
    return {name: kept[name] for name in (*INFO, *(LOG_INFO if log else ())) if name in kept}


def tables(connection: apsw.Connection, *, judgements: bool, log: bool) -> list[str]:
    """Name the tables that are archived, in order, as far as this schema has them."""
    known = {name for (name,) in sql.rows(connection, "SELECT name FROM sqlite_schema")}
    left_out = {*(() if judgements else JUDGED), *(() if log else LOGGED)}
    return [name for name in _TABLES if name in known - left_out]


def count(connection: apsw.Connection, table: str, without: Collection[int] = ()) -> int:
    """Count a table's rows, but for those of some memories."""
    # Through no index: where one is damaged, the rows can still be told.
    return int(
        sql.row(connection, f"SELECT count(*) FROM {table} NOT INDEXED{_but(table, without)}")[0]
    )


def is_empty(connection: apsw.Connection, also: Collection[str] = ()) -> bool:
    """Whether a household has nothing in it yet: no records but a log, and none in ``also``."""
    asked = {*tables(connection, judgements=True, log=False), *also}
    known = tables(connection, judgements=True, log=True)
    return not any(count(connection, table) for table in known if table in asked)


def columns(connection: apsw.Connection, table: str) -> list[Column]:
    """List the columns of a table that are archived, in the order of the schema."""
    made = _MADE_ANEW.get(table, frozenset())
    return [
        Column(name, declared, bool(not_null) and default is None)
        for name, declared, not_null, default in sql.rows(
            connection, 'SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?)',
            (table,),
        )
        if name not in made
    ]  # fmt: skip


def records(
    connection: apsw.Connection, table: str, without: Collection[int] = ()
) -> Iterator[dict[str, Any]]:
    """Give a table's rows in order: NULLs left out, bytes as hexadecimal digits, lists as lists.

    Those of the memories ``without`` are passed over, and nothing refers to them.
    """
    wanted = columns(connection, table)
    names = ", ".join(column.name for column in wanted)
    rows = f"SELECT {names} FROM {table}{_but(table, without)} ORDER BY {_TABLES[table]}"
    for row in connection.execute(rows):
        record = {
            column.name: _told(column.name, value)
            for column, value in zip(wanted, row, strict=True)
            if value is not None
        }
        if table == "memory" and "superseded_s" not in record:
            record.pop("context_id", None)  # of a current memory its talk says it
        if record.get("context_id") in without:
            del record["context_id"]
        if table == "relation":
            record["evidence"] = [one for one in record["evidence"] if one not in without]
        yield record


def _but(table: str, without: Collection[int]) -> str:
    """Give the condition that passes over rows of some memories, by their ids alone."""
    if not without or table not in _OF_MEMORIES:
        return ""
    wrong = f"(SELECT value FROM json_each('{json.dumps(sorted(without))}'))"
    judged = f" AND judgement NOT IN (SELECT no FROM judgement WHERE memory IN {wrong})"
    condition = f" WHERE {_OF_MEMORIES[table]} NOT IN {wrong}"
    return condition + (judged if table == "shown" else "")


class Loader:
    """Rows into an empty household, inside one transaction; what is made from them is not."""

    def __init__(self, connection: apsw.Connection) -> None:
        """Look at what the schema takes."""
        self._connection = connection
        self._columns = {
            table: {column.name: column for column in columns(connection, table)}
            for table in tables(connection, judgements=True, log=True)
        }

    def load(self, table: str, record: Mapping[str, Any]) -> None:
        """Write one row.

        Raises:
            DatasetError: If there is no such table or column, a value is none of its kind, one is
                missing, or the row cannot stand beside those before it.
        """
        known = self._columns.get(table)
        if known is None:
            raise DatasetError(f"expected one of {', '.join(self._columns)}, got {table!r}")
        values = {name: _value(known.get(name), name, value) for name, value in record.items()}
        missing = [name for name, column in known.items() if column.required and name not in values]
        if missing:
            raise DatasetError(f"expected {table} to have {missing[0]!r}, got {sorted(record)}")
        if table == "memory":
            moment = values.get("occurred_s")
            values["order_s"] = values["recorded_s"] if moment is None else moment
            values |= {"header": "", "n_words": 0, "words": b""}
        names = list(values)
        try:
            self._connection.execute(
                f"INSERT INTO {table}({', '.join(names)})"
                f" VALUES({', '.join(f':{name}' for name in names)})",
                values,
            )
        except apsw.ConstraintError as error:
            raise DatasetError(
                f"expected a {table} that fits those before it, got {error}"
            ) from None

    def check(self) -> None:
        """Make sure that what refers to something refers to something that is there.

        Raises:
            DatasetError: If not; the message says what, and how often.
        """
        for what, query in _DANGLING.items():
            try:
                (n,) = sql.row(self._connection, f"SELECT count(*) FROM ({query})")
            except apsw.SQLError:  # a table this schema does not have
                continue
            if n:
                raise DatasetError(f"expected {what}, got {n:,} without; the export is not whole")


def _told(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return json.loads(value) if name in _LISTS or name in _OBJECTS else value


def _value(column: Column | None, name: str, value: object) -> Any:
    """Give a value as its column takes it."""
    if column is None:
        raise DatasetError(f"unknown field {name!r}; is the export from a newer version?")
    kind = column.type
    if name in _LISTS:
        of = _LISTS[name]
        if isinstance(value, list) and all(type(item) is of for item in value):
            return _value_of_text(name, json.dumps(value))
        kind = f"list of {of.__name__}"
    elif name in _OBJECTS:
        if isinstance(value, dict):
            return _value_of_text(name, json.dumps(value))
        kind = "object"
    elif kind == "INTEGER" and isinstance(value, int) and not isinstance(value, bool):
        if -MAX_INTEGER <= value <= MAX_INTEGER:
            return value
    elif kind == "REAL" and isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
    elif kind == "TEXT" and isinstance(value, str):
        return _value_of_text(name, value)
    elif kind == "BLOB" and isinstance(value, str):
        try:
            return bytes.fromhex(value)
        except ValueError:
            pass
    raise DatasetError(f"expected {name} to be of type {kind}, got {value!r:.60}")


def _value_of_text(name: str, value: str) -> str:
    if any("\ud800" <= ch <= "\udfff" for ch in value):
        raise DatasetError(f"{name} holds half a character (a lone surrogate); send UTF-8")
    return value


_HAS_PARTITION = f"EXISTS (SELECT 1 FROM partition p WHERE p.no = {{}} >> {PARTITION_SHIFT}{{}})"
_DANGLING: Mapping[str, str] = {
    "a person and a space for every grant": "SELECT 1 FROM access a WHERE NOT EXISTS"
    " (SELECT 1 FROM person p WHERE p.no = a.person) OR NOT EXISTS"
    " (SELECT 1 FROM space s WHERE s.no = a.space)",
    "a person for every guardian and child": "SELECT 1 FROM guardian g WHERE NOT EXISTS"
    " (SELECT 1 FROM person p WHERE p.no = g.child) OR NOT EXISTS"
    " (SELECT 1 FROM person p WHERE p.no = g.guardian)",
    "a space for every partition": "SELECT 1 FROM partition p WHERE p.no < 1 OR p.no >= 1 << 22"
    " OR p.next_seq < 1 OR p.next_entity < 1"
    " OR NOT EXISTS (SELECT 1 FROM space s WHERE s.no = p.space)",
    "a partition of its space and band for every memory": "SELECT 1 FROM memory m WHERE m.id < 1"
    f" OR NOT {_HAS_PARTITION.format('m.id', ' AND p.space = m.space AND p.band = m.band')}",
    "a number below its partition's next for every memory": "SELECT 1 FROM memory m JOIN partition"
    f" p ON p.no = m.id >> {PARTITION_SHIFT}"
    f" WHERE m.id - (p.no << {PARTITION_SHIFT}) NOT BETWEEN 1 AND p.next_seq - 1",
    "a memory for every context": "SELECT 1 FROM memory m WHERE m.context_id IS NOT NULL AND"
    " NOT EXISTS (SELECT 1 FROM memory c WHERE c.id = m.context_id"
    f"  AND c.id >> {PARTITION_SHIFT} = m.id >> {PARTITION_SHIFT})",
    "a partition for every name": "SELECT 1 FROM entity e JOIN partition p"
    f" ON p.no = -e.id >> {PARTITION_SHIFT} WHERE -e.id - (p.no << {PARTITION_SHIFT})"
    " NOT BETWEEN 1 AND p.next_entity - 1 UNION ALL SELECT 1 FROM entity e WHERE e.id >= 0"
    f" OR NOT {_HAS_PARTITION.format('-e.id', '')}",
    "a name for every alias": "SELECT 1 FROM alias a WHERE NOT EXISTS"
    f" (SELECT 1 FROM entity e WHERE e.id = a.entity AND -e.id >> {PARTITION_SHIFT} = a.partition)",
    "two names for every relation": "SELECT 1 FROM relation r WHERE NOT EXISTS"
    " (SELECT 1 FROM entity e WHERE e.id = r.subject) OR NOT EXISTS"
    " (SELECT 1 FROM entity e WHERE e.id = r.object)"
    f" OR -r.subject >> {PARTITION_SHIFT} <> -r.object >> {PARTITION_SHIFT}",
    "a person and a memory for every judgement": "SELECT 1 FROM judgement j WHERE NOT EXISTS"
    " (SELECT 1 FROM person p WHERE p.no = j.person) OR NOT EXISTS"
    " (SELECT 1 FROM memory m WHERE m.id = j.memory)",
    "a judgement for everything shown": "SELECT 1 FROM shown s WHERE NOT EXISTS"
    " (SELECT 1 FROM judgement j WHERE j.no = s.judgement)",
    "a person and a space for every entry of the log": "SELECT 1 FROM audit a WHERE"
    " (a.person IS NOT NULL AND NOT EXISTS (SELECT 1 FROM person p WHERE p.no = a.person))"
    " OR (a.space IS NOT NULL AND NOT EXISTS (SELECT 1 FROM space s WHERE s.no = a.space))",
    "an entry and a memory for all that was given": "SELECT 1 FROM audit_memory g WHERE NOT EXISTS"
    " (SELECT 1 FROM audit a WHERE a.no = g.entry) OR NOT EXISTS"
    " (SELECT 1 FROM memory m WHERE m.id = g.memory)",
}
"""What a reader of the file takes for granted, and the rows that would break it."""
