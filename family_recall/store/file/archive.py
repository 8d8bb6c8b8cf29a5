"""The rows from which everything else can be made, as records: exported, and loaded again.

Texts with both their time axes, replaced versions too; people, spaces, who may enter them; entities
and their relations; feedback, the audit log and receipts of what was forgotten, where wanted.
Numbers stay as they are, so that records may refer to each other by them. Words, counts, vectors,
mentions, edges and identifiers are left out: they are made again. So is the trash: a text that
somebody had forgotten goes into no other file.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import apsw

from family_recall.errors import DatasetError
from family_recall.store.file import checksums, sql
from family_recall.store.health import derived
from family_recall.types import Memory, Person, Relation, Space
from family_recall.types.erasure import Receipt
from family_recall.types.fields import has_lone_surrogate
from family_recall.types.json_lines import shown

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
_MAX_INTEGER = 2**63 - 1
_MEMORY_ID = {"memory": "id", "feedback": "memory", "shown": "memory", "audit_memory": "memory"}


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
        columns = _columns(self.connection, table)
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


class ArchiveLoader:
    """Writes records into an empty household, inside one transaction; :meth:`finish` checks them.

    What is derived from them is not written.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._columns = {table: _columns(connection, table) for table in TABLES}

    def load(self, table: str, record: Mapping[str, Any]) -> None:
        """Write one record.

        Raises:
            FamilyRecallError: If there is no such table or field, a value has another type, the
                library itself would not store it, or it does not fit those before it.
        """
        columns = self._columns.get(table)
        if columns is None:
            raise DatasetError(f"expected one of {', '.join(self._columns)}, got {table!r}")
        if table in _CHECKS:
            _CHECKS[table](record)
        values = {name: _value(columns.get(name), name, value) for name, value in record.items()}
        if table == "receipt":  # its proof says whether it is clean
            values["clean"] = int(record["record"].get("proof") is not None)
        if table == "memory":
            moment_s = values.get("occurred_s")
            values["order_s"] = values.get("recorded_s") if moment_s is None else moment_s
            values |= {"header": "", "n_words": 0, "words": b""}
        names = list(values)
        try:
            self._connection.execute(
                f"INSERT INTO main.{table}({', '.join(names)})"
                f" VALUES({', '.join(f':{name}' for name in names)})",
                values,
            )
        except apsw.ConstraintError as error:
            raise DatasetError(
                f"expected a record of {table} that fits those before it, got {shown(record)}"
                f" ({error})"
            ) from None

    def finish(self) -> None:
        """Check how records refer to each other, and write the memories' checksums.

        Raises:
            DatasetError: If some do not fit; the message says what, and how many.
        """
        for rule in derived.OF_RECORDS:
            if problem := rule.problem_in(self._connection):
                raise DatasetError(f"{rule.what}: {problem}; the export is not whole")
        checksums.fill(self._connection)


def _columns(connection: apsw.Connection, table: str) -> dict[str, str]:
    """Return the columns of a table that are exported, in order, with their types."""
    left_out = _DERIVED.get(table, frozenset())
    columns = sql.columns(connection, table)
    return {name: declared for name, declared in columns.items() if name not in left_out}


def _condition(table: str, without: Collection[int]) -> str:
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


def _value(declared: str | None, name: str, value: object) -> Any:
    """Return a value as a column of that type takes it."""
    if declared is None:
        raise DatasetError(f"unknown field {name!r}; is the export from a newer version?")
    match LISTS.get(name, declared), value:
        case "INTEGER" | "REAL", bool():
            pass
        case "INTEGER", int() if -_MAX_INTEGER <= value <= _MAX_INTEGER:
            return value
        case "REAL", int() | float() if math.isfinite(value):
            return float(value)
        case "TEXT", dict() if name in OBJECTS:
            return _text(name, json.dumps(value))
        case "TEXT", str() if name not in OBJECTS:
            return _text(name, value)
        case "BLOB", str():
            with contextlib.suppress(ValueError):
                return bytes.fromhex(value)
        case type() as item_type, list() if all(type(item) is item_type for item in value):
            return _text(name, json.dumps(value))
    expected = f"list of {LISTS[name].__name__}" if name in LISTS else declared
    raise DatasetError(
        f"expected {name} to be of type {'object' if name in OBJECTS else expected}, "
        f"got {value!r:.60}"
    )


def _text(name: str, value: str) -> str:
    if has_lone_surrogate(value):
        raise DatasetError(f"{name} holds half a character (a lone surrogate); send UTF-8")
    return value


def _check_memory(record: Mapping[str, Any]) -> None:
    fields = {name: value for name, value in record.items() if name not in _STORED_ONLY}
    Memory.from_json({**fields, "space_id": "its number is checked with all others"})


def _check_receipt(record: Mapping[str, Any]) -> None:
    fields = record.get("record")
    receipt = Receipt.from_json(fields if isinstance(fields, dict) else {})
    if receipt.receipt_id != record.get("receipt_id"):
        raise DatasetError(
            f"expected a receipt under its id, got {shown(record.get('receipt_id'))}"
        )


def _relation_of(record: Mapping[str, Any]) -> Relation:
    return Relation(
        "a", record.get("relation", ""), "b", "s", confidence=record.get("confidence", -1)
    )


_STORED_ONLY = {
    "id", "space", "context_id", "recorded_s", "superseded_s", "content_hash", "redacted_view",
    "occurred_s", "valid_from_s", "valid_until_s",
}  # fmt: skip
"""Columns of a memory's row that are no fields of a memory."""

_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "memory": _check_memory,
    "person": lambda record: Person(
        record.get("person_id", ""), record.get("name", ""), record.get("aliases", ())
    ),
    "space": lambda record: Space(
        record.get("space_id", ""), record.get("kind", ""), record.get("name")
    ),
    "relation": _relation_of,
    "receipt": _check_receipt,
}
"""Checks of what the library itself would store, beyond the constraints of the schema."""
