"""Archive: a household out as JSON Lines, and back in; the same bytes both ways.

The first line says what it is: ``{"family_recall": "export", "format": 2, …}`` with where the
household lives and how many records of each kind follow. Each further line is one record,
``{"table": "memory", …}``, in an order in which it refers to earlier ones alone. It is plain text,
whatever the household's file is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from family_recall.access import policy
from family_recall.errors import DatasetError, FamilyRecallError, InvalidRequestError, StoreError
from family_recall.indexing import Indexer
from family_recall.stores.file import archive, copies
from family_recall.stores.file.archive_loader import (
    MAX_MOMENT_S,
    MIN_MOMENT_S,
    ArchiveLoader,
    current_name,
)
from family_recall.stores.store import Store
from family_recall.types import Call, Memory, Person, Relation, Space
from family_recall.types.erasure import Receipt
from family_recall.types.json_lines import read_jsonl, shown
from family_recall.types.progress import ProgressCallback

FORMAT = 2
MAX_RECORDS = 50_000_000
MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest line: text, title and summary of 1,000,000 characters each, all of them escaped."""

_KIND = "family_recall"
_EVERY = 1_000  # records between two reports
_NUMBERED = (
    "id",
    "space",
    "context_id",
    "recorded_s",
    "superseded_s",
    "content_hash",
    "redacted_view",
)
_MOMENTS = ("occurred_s", "valid_from_s", "valid_until_s")
_CALLS = get_args(Call)
_INFO_LIKE = {"audit_days": r"\d{1,5}", "forgetting_key": r"[0-9a-f]{64}"}


@dataclass(frozen=True, slots=True)
class Archive:
    """What an export holds: records of each table, in the order of the file.

    ``left_out`` are memories, as ``space/doc_id``, that are damaged in the household's file.
    """

    path: Path
    records: Mapping[str, int]
    left_out: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give every field."""
        return {
            "path": str(self.path),
            "records": dict(self.records),
            "left_out": list(self.left_out),
        }


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
    """Write a household, as one read transaction sees it; the file takes its name when whole.

    Raises:
        InvalidRequestError: If something has the name already and may not be overwritten.
        StoreError: If it cannot be written, or memories are damaged and not to be left out.
    """
    if path.exists() and not overwrite:
        raise InvalidRequestError(f"{path}: exists; give another name, or allow it to be replaced")
    with store.reading() as reading, copies.replacing(path) as partial:
        reader = reading.archive
        damaged = reader.damaged()
        if damaged and not skip_damaged:
            raise StoreError(
                f"{store.path}: {len(damaged):,} memories are damaged; family-recall doctor "
                "names them, and --repair takes them out"
            )
        tables = reader.tables(feedback=feedback, log=log)
        counts = {table: reader.count(table, damaged) for table in tables}
        header = {
            _KIND: "export",
            "format": FORMAT,
            "info": reader.info(log=log),
            "records": counts,
        }
        done, total = 0, sum(counts.values())
        with partial.open("wb") as file:
            file.write(_line(header))
            for table in tables:
                for record in reader.records(table, damaged):
                    file.write(_line({"table": table, **record}))
                    done += 1
                    if progress is not None and (done % _EVERY == 0 or done == total):
                        progress(done, total)
    return Archive(path, counts, tuple(damaged.values()))


def load(indexer: Indexer, path: Path, progress: ProgressCallback | None = None) -> Archive:
    """Read an export into a household that has nothing in it yet: all of it, or nothing.

    Vectors become pending.

    Raises:
        InvalidRequestError: If the household has people, spaces or memories.
        DatasetError: If a line cannot be read, does not fit those before it, or one is missing;
            the message names file and line.
    """
    store = indexer.store
    lines = read_jsonl(path, max_line_bytes=MAX_LINE_BYTES)
    info, counts = _header(path, lines)
    with store.reading() as reading:
        if not reading.archive.is_empty([table for table, n in counts.items() if n]):
            raise InvalidRequestError(
                f"{store.path}: has something in it; an export goes into a new household"
            )
    with store.writing(info) as writing:
        loader = writing.archive_loader()
        _load_lines(path, lines, counts, loader, progress)
        loader.finish()
        indexer.rebuild_within(writing)
    return Archive(path, counts)


def _load_lines(
    path: Path,
    lines: Iterator[tuple[int, dict[str, Any]]],
    counts: Mapping[str, int],
    loader: ArchiveLoader,
    progress: ProgressCallback | None,
) -> None:
    found = dict.fromkeys(counts, 0)
    total = sum(counts.values())
    for done, (line_no, line) in enumerate(lines, start=1):
        record = {current_name(name): value for name, value in line.items()}
        table = record.pop("table", None)
        try:
            if isinstance(table, str):
                table = current_name(table)
            if not isinstance(table, str) or table not in found:
                raise DatasetError(f"expected a table of {', '.join(found)}, got {shown(table)}")
            if found[table] == counts[table]:
                raise DatasetError(f"expected {counts[table]:,} of {table}, got more")
            check_record(table, record)
            loader.load(table, record)
        except (FamilyRecallError, TypeError) as error:
            raise DatasetError(f"{path}:{line_no}: {error}") from None
        found[table] += 1
        if progress is not None and (done % _EVERY == 0 or done == total):
            progress(done, total)
    for table, n in counts.items():
        if found[table] != n:
            raise DatasetError(
                f"{path}: expected {n:,} of {table}, got {found[table]:,}; the file was cut short"
            )


def _header(
    path: Path, lines: Iterator[tuple[int, dict[str, Any]]]
) -> tuple[dict[str, str], dict[str, int]]:
    _, header = next(lines, (0, {}))
    if header.get(_KIND) != "export":
        raise DatasetError(f"{path}:1: expected the first line of an export, got {shown(header)}")
    known = header.get("format")
    if not isinstance(known, int) or isinstance(known, bool) or not 1 <= known <= FORMAT:
        raise DatasetError(
            f"{path}:1: format {shown(known)}, this version reads up to {FORMAT}; "
            "upgrade the library"
        )
    info, counts = header.get("info"), header.get("records")
    if not isinstance(info, dict) or not all(isinstance(one, str) for one in info.values()):
        raise DatasetError(f"{path}:1: expected info to be names and texts, got {shown(info)}")
    known_info = (*archive.INFO, *archive.LOG_INFO)
    if not set(info) <= set(known_info):
        raise DatasetError(f"{path}:1: expected info of {known_info}, got {shown(sorted(info))}")
    for name, pattern in _INFO_LIKE.items():
        if name in info and not re.fullmatch(pattern, info[name], re.ASCII):
            raise DatasetError(
                f"{path}:1: expected {name} to match {pattern}, got {shown(info[name])}"
            )
    if not isinstance(counts, dict) or not all(
        type(n) is int and 0 <= n <= MAX_RECORDS for n in counts.values()
    ):
        raise DatasetError(
            f"{path}:1: expected records to be counts up to {MAX_RECORDS:,}, got {shown(counts)}"
        )
    return info, {current_name(table): n for table, n in counts.items()}


def check_record(table: str, record: Mapping[str, Any]) -> None:
    """Hold a record against what the library itself would let in."""
    if table == "memory":
        fields = {
            name: value
            for name, value in record.items()
            if name not in _NUMBERED and name not in _MOMENTS
        }
        Memory.from_json({**fields, "space_id": "its number is checked with all others"})
        start, end = record.get("valid_from_s"), record.get("valid_until_s")
        if start is not None and end is not None and not start < end:
            raise DatasetError(f"expected valid_from_s below valid_until_s, got {start}, {end}")
        for name in ("recorded_s", "superseded_s", *_MOMENTS):
            _check_moment(name, record.get(name))
    elif table == "person":
        Person(record.get("person_id", ""), record.get("name", ""), record.get("aliases", ()))
    elif table == "space":
        Space(record.get("space_id", ""), record.get("kind", ""), record.get("name"))
    elif table == "access":
        policy.check_role(record.get("role", ""))
    elif table == "relation":
        Relation("a", record.get("relation", ""), "b", "s", confidence=record.get("confidence", -1))
    elif table == "audit":
        _check_moment("at_s", record.get("at_s"))
        if record.get("call") not in _CALLS:
            raise DatasetError(f"expected a call of {_CALLS}, got {shown(record.get('call'))}")
        _check_from("lost", record.get("lost", 0), 0)
    elif table == "audit_memory":
        _check_from("rank", record.get("rank"), 1)
    elif table == "receipt":
        _check_moment("at_s", record.get("at_s"))
        told = record.get("record")
        receipt = Receipt.from_json(told if isinstance(told, dict) else {})
        if receipt.receipt_id != record.get("receipt_id"):
            raise DatasetError(
                f"expected a receipt under its id, got {shown(record.get('receipt_id'))}"
            )


def _check_from(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DatasetError(f"expected {name} to be {least} or more, got {shown(value)}")


def _check_moment(name: str, value: object) -> None:
    if value is not None and (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not MIN_MOMENT_S <= value <= MAX_MOMENT_S
    ):
        raise DatasetError(f"expected {name} to lie in the years 2 to 9998, got {shown(value)}")


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"
