"""Export of a household as JSON Lines, and import; the same bytes both ways.

The first line identifies it: ``{"family_recall": "export", "format": 2, …}``, with where the
household lives and how many records of each kind follow. Each further line is one record,
``{"table": "memory", …}``, and refers to earlier ones only. It is plain text, even if the
household's file is encrypted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from family_recall.errors import DatasetError, FamilyRecallError, InvalidRequestError, StoreError
from family_recall.store.file.archive import INFO, LOG_INFO, ArchiveLoader
from family_recall.store.file.replacement import writing_to
from family_recall.store.store import Store
from family_recall.store.transaction import WriteTransaction
from family_recall.types.aliases import ProgressCallback
from family_recall.types.json_lines import read_jsonl, shown
from family_recall.types.records import Record

KIND = "family_recall"
FORMAT = 2
MAX_RECORDS = 50_000_000
MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest line: text, title and summary of 1,000,000 characters each, all of them escaped."""

_REPORT_EVERY = 1_000  # records
_INFO_PATTERNS = {"audit_days": r"\d{1,5}"}


class Archive(Record, frozen=True):
    """What an export holds: records of each table, in the order of the file.

    ``left_out`` are memories, as ``space/doc_id``, that are damaged in the household's file.
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
    """Write a household, as one read transaction sees it; an incomplete file has no name.

    Raises:
        InvalidRequestError: If what has the name may not be overwritten; a household never may.
        StoreError: If it cannot be written, or memories are damaged and not to be left out.
    """
    with (
        store.reading() as reading,
        writing_to(path, overwrite=overwrite, inputs=[store.path]) as partial,
    ):
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
            KIND: "export",
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
                    if progress is not None and (done % _REPORT_EVERY == 0 or done == total):
                        progress(done, total)
    return Archive(path, counts, tuple(damaged.values()))


def load(
    store: Store,
    path: Path,
    rebuild: Callable[[WriteTransaction], None],
    progress: ProgressCallback | None = None,
) -> Archive:
    """Read an export into a household that has nothing in it yet: all of it, or nothing.

    ``rebuild`` derives everything from the records that were read; vectors become pending.

    Raises:
        InvalidRequestError: If the household has people, spaces or memories.
        DatasetError: If a line cannot be read, does not fit those before it, or one is missing;
            the message names file and line.
    """
    lines = read_jsonl(path, max_line_bytes=MAX_LINE_BYTES)
    info, counts = _checked_header(path, lines)
    with store.reading() as reading:
        if not reading.archive.is_empty([table for table, n in counts.items() if n]):
            raise InvalidRequestError(
                f"{store.path}: has something in it; an export goes into a new household"
            )
    with store.writing(info) as writing:
        loader = ArchiveLoader(writing.connection)
        _load_lines(path, lines, counts, loader, progress)
        loader.finish()
        rebuild(writing)
    return Archive(path, counts)


def _checked_header(
    path: Path, lines: Iterator[tuple[int, dict[str, Any]]]
) -> tuple[dict[str, str], dict[str, int]]:
    """Read the first line: the household's own facts, and the number of records by table."""
    _, header = next(lines, (0, {}))
    if header.get(KIND) != "export":
        raise DatasetError(f"{path}:1: expected the first line of an export, got {shown(header)}")
    version = header.get("format")
    if version != FORMAT:
        raise DatasetError(
            f"{path}:1: format {shown(version)}, this version reads format {FORMAT}; "
            "export again, or upgrade the library"
        )
    info, counts = header.get("info"), header.get("records")
    if not isinstance(info, dict) or not all(isinstance(text, str) for text in info.values()):
        raise DatasetError(f"{path}:1: expected info to be names and texts, got {shown(info)}")
    known_info = (*INFO, *LOG_INFO)
    if not set(info) <= set(known_info):
        raise DatasetError(f"{path}:1: expected info of {known_info}, got {shown(sorted(info))}")
    for name, pattern in _INFO_PATTERNS.items():
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
    return info, counts


def _load_lines(
    path: Path,
    lines: Iterator[tuple[int, dict[str, Any]]],
    counts: Mapping[str, int],
    loader: ArchiveLoader,
    progress: ProgressCallback | None,
) -> None:
    loaded = dict.fromkeys(counts, 0)
    total = sum(counts.values())
    for done, (line_no, line) in enumerate(lines, start=1):
        record = dict(line)
        table = record.pop("table", None)
        try:
            if not isinstance(table, str) or table not in loaded:
                raise DatasetError(f"expected a table of {', '.join(loaded)}, got {shown(table)}")
            if loaded[table] == counts[table]:
                raise DatasetError(f"expected {counts[table]:,} of {table}, got more")
            loader.load(table, record)
        except (FamilyRecallError, TypeError) as error:
            raise DatasetError(f"{path}:{line_no}: {error}") from None
        loaded[table] += 1
        if progress is not None and (done % _REPORT_EVERY == 0 or done == total):
            progress(done, total)
    for table, n in counts.items():
        if loaded[table] != n:
            raise DatasetError(
                f"{path}: expected {n:,} of {table}, got {loaded[table]:,}; the file was cut short"
            )


def _line(record: Mapping[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"
