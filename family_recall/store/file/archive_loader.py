"""Exported records written into an empty household; what is derived from them is not."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from typing import Any

import apsw

from family_recall.errors import DatasetError
from family_recall.store.file import checksums, sql
from family_recall.store.file.archive import LISTS, OBJECTS, TABLES, Column, columns_of
from family_recall.store.file.row_ids import PARTITION_SHIFT
from family_recall.store.file.schema import RENAMED
from family_recall.types.checks import has_lone_surrogate

MAX_INTEGER = 2**63 - 1


def current_name(name: str) -> str:
    """Return what a table or column of an older export is called today."""
    return RENAMED.get(name, name)


class ArchiveLoader:
    """Writes rows inside one transaction; :meth:`finish` checks how they refer to each other."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._columns = {
            table: {column.name: column for column in columns_of(connection, table)}
            for table in TABLES
        }

    def load(self, table: str, record: Mapping[str, Any]) -> None:
        """Write one row.

        Raises:
            DatasetError: If there is no such table or column, a value has another type, one is
                missing, or the row does not fit those before it.
        """
        columns = self._columns.get(table)
        if columns is None:
            raise DatasetError(f"expected one of {', '.join(self._columns)}, got {table!r}")
        values = {name: _value(columns.get(name), name, value) for name, value in record.items()}
        missing = [
            name for name, column in columns.items() if column.required and name not in values
        ]
        if missing:
            raise DatasetError(f"expected {table} to have {missing[0]!r}, got {sorted(record)}")
        if table == "memory":
            moment_s = values.get("occurred_s")
            values["order_s"] = values["recorded_s"] if moment_s is None else moment_s
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
                f"expected a {table} that fits those before it, got {error}"
            ) from None

    def finish(self) -> None:
        """Check that every reference leads to a row, and write the memories' checksums.

        Raises:
            DatasetError: If one does not; the message says which, and how many.
        """
        for expected, query in _DANGLING.items():
            (n,) = sql.row(self._connection, f"SELECT count(*) FROM ({query})")
            if n:
                raise DatasetError(
                    f"expected {expected}, got {n:,} without; the export is not whole"
                )
        checksums.fill(self._connection)


def _value(column: Column | None, name: str, value: object) -> Any:
    """Return a value as its column takes it."""
    if column is None:
        raise DatasetError(f"unknown field {name!r}; is the export from a newer version?")
    if name in LISTS:
        return _json_list(name, value)
    if name in OBJECTS:
        return _json_object(name, value)
    match column.type, value:
        case "INTEGER" | "REAL", bool():
            pass
        case "INTEGER", int() if -MAX_INTEGER <= value <= MAX_INTEGER:
            return value
        case "REAL", int() | float() if math.isfinite(value):
            return float(value)
        case "TEXT", str():
            return _text(name, value)
        case "BLOB", str():
            with contextlib.suppress(ValueError):
                return bytes.fromhex(value)
    raise _unexpected(name, column.type, value)


def _json_list(name: str, value: object) -> str:
    item_type = LISTS[name]
    if isinstance(value, list) and all(type(item) is item_type for item in value):
        return _text(name, json.dumps(value))
    raise _unexpected(name, f"list of {item_type.__name__}", value)


def _json_object(name: str, value: object) -> str:
    if isinstance(value, dict):
        return _text(name, json.dumps(value))
    raise _unexpected(name, "object", value)


def _text(name: str, value: str) -> str:
    if has_lone_surrogate(value):
        raise DatasetError(f"{name} holds half a character (a lone surrogate); send UTF-8")
    return value


def _unexpected(name: str, expected: str, value: object) -> DatasetError:
    return DatasetError(f"expected {name} to be of type {expected}, got {value!r:.60}")


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
    "a partition for every entity": "SELECT 1 FROM entity e JOIN partition p"
    f" ON p.no = -e.id >> {PARTITION_SHIFT} WHERE -e.id - (p.no << {PARTITION_SHIFT})"
    " NOT BETWEEN 1 AND p.next_entity - 1 UNION ALL SELECT 1 FROM entity e WHERE e.id >= 0"
    f" OR NOT {_HAS_PARTITION.format('-e.id', '')}",
    "an entity for every alias": "SELECT 1 FROM alias a WHERE NOT EXISTS"
    f" (SELECT 1 FROM entity e WHERE e.id = a.entity AND -e.id >> {PARTITION_SHIFT} = a.partition)",
    "two entities for every relation": "SELECT 1 FROM relation r WHERE NOT EXISTS"
    " (SELECT 1 FROM entity e WHERE e.id = r.subject) OR NOT EXISTS"
    " (SELECT 1 FROM entity e WHERE e.id = r.object)"
    f" OR -r.subject >> {PARTITION_SHIFT} <> -r.object >> {PARTITION_SHIFT}",
    "a person and a memory for all feedback": "SELECT 1 FROM feedback j WHERE NOT EXISTS"
    " (SELECT 1 FROM person p WHERE p.no = j.person) OR NOT EXISTS"
    " (SELECT 1 FROM memory m WHERE m.id = j.memory)",
    "feedback for everything shown": "SELECT 1 FROM shown s WHERE NOT EXISTS"
    " (SELECT 1 FROM feedback j WHERE j.no = s.feedback)",
    "a person and a space for every entry of the log": "SELECT 1 FROM audit a WHERE"
    " (a.person IS NOT NULL AND NOT EXISTS (SELECT 1 FROM person p WHERE p.no = a.person))"
    " OR (a.space IS NOT NULL AND NOT EXISTS (SELECT 1 FROM space s WHERE s.no = a.space))",
    "an entry and a memory for all that was given": "SELECT 1 FROM audit_memory g WHERE NOT EXISTS"
    " (SELECT 1 FROM audit a WHERE a.no = g.entry) OR NOT EXISTS"
    " (SELECT 1 FROM memory m WHERE m.id = g.memory)",
}
"""What every reader of the file relies on, and the rows that would break it."""
