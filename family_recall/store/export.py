"""Export a household as JSON Lines, and import it.

The first line is a header, ``{"family_recall": "export", "format": 2, …}``, with the household's
region and the number of records by table. Each further line is one record,
``{"table": "memory", …}``, and refers to earlier ones only. The file is plain text, even if the
household's file is encrypted. An imported household exports the same bytes.

Records are texts with both their time axes, earlier versions too; people, spaces, grants; entities
and relations; optionally feedback, the audit log and receipts. Row numbers stay the same. Words,
counts, vectors, mentions, edges and identifiers are derived again. The trash is left out: no
forgotten text enters another file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import apsw
import msgspec
from msgspec import Meta

from family_recall.errors import DatasetError, FamilyRecallError, InvalidRequestError, StoreError
from family_recall.store import health
from family_recall.store.file import checksums, sql
from family_recall.store.file.replacement import writing_to
from family_recall.store.store import Store
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Hidden, Memory, Person, Relation, Space
from family_recall.types.aliases import ProgressCallback
from family_recall.types.erasure import Receipt
from family_recall.types.json_lines import read_jsonl, shown
from family_recall.types.records import Record

KIND = "family_recall"
FORMAT = 2
MAX_RECORDS = 50_000_000
MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest line: text, title and summary of 1,000,000 characters each, all escaped."""

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
"""Tables in order of reference, with the order of their rows."""

_FEEDBACK = ("feedback", "shown", "learned")
_LOGS = ("audit", "audit_memory", "receipt")
_JSON = ("aliases", "labels", "fields", "evidence", "guard", "record")  # columns
_DERIVED: Mapping[str, frozenset[str]] = {
    "memory": frozenset({"header", "n_words", "words", "order_s", "checksum", "cues"}),
    "partition": frozenset(
        {"n_current", "n_past", "words_current", "words_past", "n_bounded", "rewrites"}
    ),
}
_STORED_ONLY = {
    "id", "space", "context_id", "recorded_s", "superseded_s", "content_hash", "redacted_view",
    "occurred_s", "valid_from_s", "valid_until_s",
}  # fmt: skip
"""Columns of a memory's row that are not fields of a memory."""
_MEMORY_ID = {"memory": "id", "feedback": "memory", "shown": "memory", "audit_memory": "memory"}
_READABLE = (
    " AND typeof(rank) = 'integer' AND rank > 0 AND memory IN (SELECT id FROM memory)"
    " AND entry IN (SELECT no FROM audit)"
)
"""Rows of the audit log that fit; the table has no row ids by which a view could hide others."""
_DOES_NOT_FIT = (
    apsw.ConstraintError, apsw.MismatchError, OverflowError, TypeError, UnicodeError,
)  # fmt: skip
_REPORT_EVERY = 1_000  # records

Columns = Mapping[str, Mapping[str, str]]
"""The declared types of exported columns, by table, in order."""


class Archive(Record, frozen=True):
    """An export, with the number of records by table.

    ``left_out`` lists memories, as ``space/doc_id``, that are damaged in the household's file.
    """

    path: Path
    records: Mapping[str, int]
    left_out: tuple[str, ...] = ()


def export(
    store: Store,
    path: Path,
    *,
    feedback: bool,
    log: bool,
    overwrite: bool,
    skip_damaged: bool = False,
    progress: ProgressCallback | None = None,
) -> Archive:
    """Write a snapshot of a household; see ``maintenance.export_to``."""
    excluded = {*(() if feedback else _FEEDBACK), *(() if log else _LOGS)}
    tables = [table for table in TABLES if table not in excluded]
    with (
        store.reading() as reading,
        writing_to(path, overwrite=overwrite, inputs=[store.path]) as partial,
    ):
        connection = reading.connection
        damaged = checksums.damaged(connection)
        if damaged and not skip_damaged:
            raise StoreError(
                f"{store.path}: {len(damaged):,} memories are damaged; family-recall doctor "
                "names them, and --repair takes them out"
            )
        # NOT INDEXED: rows can be counted even if an index is damaged.
        counts = {
            table: sql.row(
                connection,
                f"SELECT count(*) FROM {table} NOT INDEXED{_condition(table, damaged)}",
            )[0]
            for table in tables
        }
        info = _Info(**{name: reading.info(name) for name in _Info.__struct_fields__})
        info.audit_days = info.audit_days if log else None
        header = {KIND: "export", "format": FORMAT, **msgspec.to_builtins(_Header(info, counts))}
        columns = columns_of(connection)
        report = _reporter(sum(counts.values()), progress)
        with partial.open("wb") as file:
            file.write(_line(header))
            for table in tables:
                for record in _records(connection, table, columns[table], damaged):
                    file.write(_line({"table": table, **record}))
                    report()
        left_out = tuple(checksums.describe(connection, damaged))
    return Archive(path, counts, left_out)


def load(
    store: Store,
    path: Path,
    rebuild: Callable[[WriteTransaction], None],
    progress: ProgressCallback | None = None,
) -> Archive:
    """Read an export into an empty household, in one transaction.

    ``rebuild`` derives the rest from the records; vectors become pending. An error names the file
    and the line.
    """
    lines = read_jsonl(path, max_line_bytes=MAX_LINE_BYTES)
    header = _checked_header(path, lines)
    counts = header.records
    with store.reading() as reading:
        for table in TABLES:
            is_log = table in _LOGS and not counts.get(table)
            if not is_log and sql.row(reading.connection, f"SELECT 1 FROM {table} LIMIT 1"):
                raise InvalidRequestError(
                    f"{store.path}: has something in it; an export goes into a new household"
                )
    with store.writing(msgspec.to_builtins(header.info)) as writing:
        _load_lines(path, lines, counts, writing.connection, progress)
        for rule in health.RULES_OF_RECORDS:
            if problem := health.problem_of(writing.connection, rule):
                raise DatasetError(f"{rule}: {problem}; the export is not whole")
        checksums.fill(writing.connection)
        rebuild(writing)
    return Archive(path, counts)


def columns_of(connection: apsw.Connection) -> Columns:
    """Return the exported columns."""
    return {
        table: {
            name: declared
            for name, declared in sql.columns(connection, table).items()
            if name not in _DERIVED.get(table, ())
        }
        for table in TABLES
    }


def load_record(
    connection: apsw.Connection, columns: Columns, table: str, record: Mapping[str, Any]
) -> None:
    """Insert one record without its derived columns.

    Raises:
        FamilyRecallError: If the table, a field or a value is not valid, or the record does not
            fit those before it.
    """
    if table not in columns:
        raise DatasetError(f"expected one of {', '.join(columns)}, got {shown(table)}")
    if table in _CHECKS:
        _CHECKS[table](record)
    values: dict[str, Any] = {}
    for name, value in record.items():
        if name not in columns[table]:
            raise DatasetError(f"unknown field {name!r}; is the export from a newer version?")
        values[name] = _as_stored(columns[table][name], name, value)
    if table == "receipt":  # a receipt with a proof is clean
        values["clean"] = record["record"].get("proof") is not None
    if table == "memory":
        moment_s = values.get("occurred_s")
        values["order_s"] = values.get("recorded_s") if moment_s is None else moment_s
        values |= {"header": "", "n_words": 0, "words": b""}
    try:
        connection.execute(
            f"INSERT INTO main.{table}({', '.join(values)})"
            f" VALUES({', '.join(f':{name}' for name in values)})",
            values,
        )
    except _DOES_NOT_FIT as error:
        raise DatasetError(
            f"expected a record of {table} that fits those before it, got {shown(record)} ({error})"
        ) from None


class _Info(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The household's region and, with the audit log, how long that is kept."""

    timezone: str | None = None
    country: str | None = None
    hemisphere: str | None = None
    audit_days: Annotated[str, Meta(pattern=r"^[0-9]{1,5}$")] | None = None


class _Header(msgspec.Struct):
    info: _Info
    records: dict[str, Annotated[int, Meta(ge=0, le=MAX_RECORDS)]]


def _checked_header(path: Path, lines: Iterator[tuple[int, dict[str, Any]]]) -> _Header:
    """Read and check the first line."""
    _, line = next(lines, (0, {}))
    if line.get(KIND) != "export":
        raise DatasetError(f"{path}:1: expected the first line of an export, got {shown(line)}")
    if line.get("format") != FORMAT:
        raise DatasetError(
            f"{path}:1: format {shown(line.get('format'))}, this version reads format {FORMAT}; "
            "export again, or upgrade the library"
        )
    try:
        return msgspec.convert(line, _Header)
    except msgspec.ValidationError as error:
        raise DatasetError(f"{path}:1: this is not the first line of an export: {error}") from None


def _load_lines(
    path: Path,
    lines: Iterator[tuple[int, dict[str, Any]]],
    counts: Mapping[str, int],
    connection: apsw.Connection,
    progress: ProgressCallback | None,
) -> None:
    columns = columns_of(connection)
    loaded = dict.fromkeys(counts, 0)
    report = _reporter(sum(counts.values()), progress)
    for line_no, line in lines:
        table = line.pop("table", None)
        try:
            if not isinstance(table, str) or table not in loaded:
                raise DatasetError(f"expected a table of {', '.join(loaded)}, got {shown(table)}")
            if loaded[table] == counts[table]:
                raise DatasetError(f"expected {counts[table]:,} of {table}, got more")
            load_record(connection, columns, table, line)
        except (FamilyRecallError, TypeError) as error:
            raise DatasetError(f"{path}:{line_no}: {error}") from None
        loaded[table] += 1
        report()
    for table, n in counts.items():
        if loaded[table] != n:
            raise DatasetError(
                f"{path}: expected {n:,} of {table}, got {loaded[table]:,}; the file was cut short"
            )


def _records(
    connection: apsw.Connection,
    table: str,
    columns: Mapping[str, str],
    without: Collection[int],
) -> Iterator[dict[str, Any]]:
    """Yield a table's rows without NULLs, bytes as hexadecimal digits, lists as lists.

    Rows of the memories ``without`` and references to them are left out.
    """
    query = (
        f"SELECT {', '.join(columns)} FROM {table}{_condition(table, without)}"
        f" ORDER BY {TABLES[table]}"
    )
    for row in connection.execute(query):
        record: dict[str, Any] = {}
        for name, value in zip(columns, row, strict=True):
            if isinstance(value, bytes):
                record[name] = value.hex()
            elif value is not None:
                record[name] = json.loads(value) if name in _JSON else value
        if table == "memory" and "superseded_s" not in record:
            record.pop("context_id", None)  # it follows from the session
        if record.get("context_id") in without:
            del record["context_id"]
        if table == "relation":
            record["evidence"] = [no for no in record["evidence"] if no not in without]
        yield record


def _condition(table: str, without: Collection[int]) -> str:
    if table not in _MEMORY_ID or not (without or table == "audit_memory"):
        return ""
    left_out = f"(SELECT value FROM json_each('{json.dumps(sorted(without))}'))"
    condition = f" WHERE {_MEMORY_ID[table]} NOT IN {left_out}"
    if table == "audit_memory":
        condition += _READABLE
    if table == "shown":
        condition += f" AND feedback NOT IN (SELECT no FROM feedback WHERE memory IN {left_out})"
    return condition


def _as_stored(declared: str, name: str, value: Any) -> Any:
    """Return a value as its column stores it; STRICT tables check its type."""
    if name in _JSON:
        return json.dumps(value)
    if declared != "BLOB":
        return value
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise DatasetError(f"expected {name} to be hexadecimal digits, got {value!r:.60}") from None


def _check_memory(record: Mapping[str, Any]) -> None:
    fields = {name: value for name, value in record.items() if name not in _STORED_ONLY}
    Memory.from_json({**fields, "space_id": "its number is checked with all others"})


def _check_relation(record: Mapping[str, Any]) -> None:
    Relation("a", record.get("relation", ""), "b", "s", confidence=record.get("confidence", -1))
    evidence = record.get("evidence", [])
    if not isinstance(evidence, list) or not all(type(memory) is int for memory in evidence):
        raise DatasetError(f"expected evidence to be numbers of memories, got {shown(evidence)}")


def _check_receipt(record: Mapping[str, Any]) -> None:
    fields = record.get("record")
    receipt = Receipt.from_json(fields if isinstance(fields, dict) else {})
    if receipt.receipt_id != record.get("receipt_id"):
        raise DatasetError(
            f"expected a receipt under its id, got {shown(record.get('receipt_id'))}"
        )


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "memory": _check_memory,
    "person": lambda record: Person(
        record.get("person_id", ""), record.get("name", ""), record.get("aliases", ())
    ),
    "space": lambda record: Space(
        record.get("space_id", ""), record.get("kind", ""), record.get("name")
    ),
    "redacted_view": lambda record: Hidden("s", "guest", record.get("fields", ())),
    "relation": _check_relation,
    "receipt": _check_receipt,
}
"""Checks beyond the constraints of the schema."""


def _reporter(total: int, progress: ProgressCallback | None) -> Callable[[], None]:
    """Return a function that counts a record, and reports progress at intervals and at the end."""
    done = 0

    def report() -> None:
        nonlocal done
        done += 1
        if progress is not None and (done % _REPORT_EVERY == 0 or done == total):
            progress(done, total)

    return report


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"
