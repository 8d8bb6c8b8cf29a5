"""The rows from which everything else can be made, as records to export.

Texts with both their time axes, replaced versions too; people, spaces, who may enter them; entities
and their relations; feedback, the audit log and receipts of what was forgotten, where wanted.
Numbers stay as they are, so that records may refer to each other by them. Words, counts, vectors,
mentions, edges and identifiers are left out: they are made again. So is the trash: a text that
somebody had forgotten goes into no other file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import apsw

from family_recall.store.file import checksums, sql

FEEDBACK = ("feedback", "shown", "learned")
"""Tables of people's feedback, and what was learned from it: exported only where wanted."""

LOGS = ("audit", "audit_memory", "receipt")
"""Tables of the audit log, and of what was forgotten: exported only where wanted."""

TABLES: Mapping[str, str] = {
    "person": "no",
    "space": "no",
    "access": "person, space",
    "guardian": "child, guardian",
    "redacted_view": "no",
    "partition": "no",
    "memory": "id",
    "entity": "id DESC",
    "alias": "partition, entity DESC, alias",
    "relation": "no",
    "feedback": "no",
    "shown": "feedback, rank",
    "learned": "no",
    "retention": "category",
    "audit": "no",
    "audit_memory": "entry, rank",
    "receipt": "at_s, rowid",
}
"""Tables in the order in which a record may refer to earlier ones, with the order of their rows."""

INFO = ("timezone", "country", "hemisphere")
LOG_INFO = ("audit_days",)
"""Beside the log: how long it is kept."""

LISTS: Mapping[str, type] = {"aliases": str, "labels": str, "fields": str, "evidence": int}
OBJECTS = ("guard", "record")
"""Columns that hold JSON: lists by the type of their items, and objects."""

_DERIVED: Mapping[str, frozenset[str]] = {
    "memory": frozenset({"header", "n_words", "words", "order_s", "checksum", "cues"}),
    "partition": frozenset(
        {"n_current", "n_past", "words_current", "words_past", "n_bounded", "rewrites"}
    ),
}
_MEMORY_ID = {"memory": "id", "feedback": "memory", "shown": "memory", "audit_memory": "memory"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column as its table declares it."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True, slots=True)
class ArchiveReader:
    """What there is to export, as one transaction sees it."""

    connection: apsw.Connection

    def info(self, *, log: bool) -> dict[str, str]:
        """Return where the household lives, as far as the file says, and what its log needs."""
        info = dict(sql.rows(self.connection, "SELECT key, value FROM info"))
        return {name: info[name] for name in (*INFO, *(LOG_INFO if log else ())) if name in info}

    def tables(self, *, feedback: bool, log: bool) -> list[str]:
        """List the tables that are exported, in order."""
        left_out = {*(() if feedback else FEEDBACK), *(() if log else LOGS)}
        return [name for name in TABLES if name not in left_out]

    def is_empty(self, tables: Collection[str] = ()) -> bool:
        """Whether a household has no records yet but a log, and none in some more tables."""
        checked = {*self.tables(feedback=True, log=False), *tables}
        return not any(self.count(table) for table in TABLES if table in checked)

    def damaged(self) -> dict[int, str]:
        """Return the memories that do not match their checksums: space_id/doc_id by row id."""
        ids = checksums.damaged(self.connection)
        return dict(zip(ids, checksums.describe(self.connection, ids), strict=True))

    def count(self, table: str, without: Collection[int] = ()) -> int:
        """Count a table's rows, but for those of some memories."""
        # Through no index: where one is damaged, the rows can still be read.
        query = f"SELECT count(*) FROM {table} NOT INDEXED{_condition(table, without)}"
        return int(sql.row(self.connection, query)[0])

    def records(self, table: str, without: Collection[int] = ()) -> Iterator[dict[str, Any]]:
        """Yield a table's rows: NULLs left out, bytes as hexadecimal digits, lists as lists.

        Rows of the memories ``without`` are left out, and nothing refers to them.
        """
        columns = [column.name for column in columns_of(self.connection, table)]
        rows = self.connection.execute(
            f"SELECT {', '.join(columns)} FROM {table}{_condition(table, without)}"
            f" ORDER BY {TABLES[table]}"
        )
        for row in rows:
            record = {
                name: _as_json(name, value)
                for name, value in zip(columns, row, strict=True)
                if value is not None
            }
            if table == "memory" and "superseded_s" not in record:
                record.pop("context_id", None)  # a current memory's follows from its session
            if record.get("context_id") in without:
                del record["context_id"]
            if table == "relation":
                record["evidence"] = [
                    memory for memory in record["evidence"] if memory not in without
                ]
            yield record


def columns_of(connection: apsw.Connection, table: str) -> list[Column]:
    """List the columns of a table that are exported, in the order of the schema."""
    derived = _DERIVED.get(table, frozenset())
    return [
        Column(name, declared, bool(not_null) and default is None)
        for name, declared, not_null, default in sql.rows(
            connection,
            'SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?, \'main\')',
            (table,),
        )
        if name not in derived
    ]  # fmt: skip


def _condition(table: str, without: Collection[int]) -> str:
    """Return a WHERE clause that leaves out rows of some memories."""
    if not without or table not in _MEMORY_ID:
        return ""
    left_out = f"(SELECT value FROM json_each('{json.dumps(sorted(without))}'))"
    condition = f" WHERE {_MEMORY_ID[table]} NOT IN {left_out}"
    if table == "shown":
        condition += f" AND feedback NOT IN (SELECT no FROM feedback WHERE memory IN {left_out})"
    return condition


def _as_json(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return json.loads(value) if name in LISTS or name in OBJECTS else value
