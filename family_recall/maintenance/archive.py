"""Export of a household as JSON Lines, and import; the same bytes both ways.

The first line identifies it: ``{"family_recall": "export", "format": 2, …}``, with where the
household lives and how many records of each kind follow. Each further line is one record,
``{"table": "memory", …}``, and refers to earlier ones only. It is plain text, even if the
household's file is encrypted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from family_recall.errors import DatasetError, FamilyRecallError, InvalidRequestError, StoreError
from family_recall.maintenance.archive_checks import FORMAT, KIND, checked_header, checked_record
from family_recall.remember import Indexer
from family_recall.store.file.archive_loader import ArchiveLoader, current_name
from family_recall.store.file.replacement import writing_to
from family_recall.store.store import Store
from family_recall.types.json_lines import read_jsonl, shown
from family_recall.types.json_records import JsonRecord
from family_recall.types.progress import ProgressCallback

MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest line: text, title and summary of 1,000,000 characters each, all of them escaped."""

_REPORT_EVERY = 1_000  # records


@dataclass(frozen=True, slots=True)
class Archive(JsonRecord):
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
    info, counts = checked_header(path, lines)
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
    loaded = dict.fromkeys(counts, 0)
    total = sum(counts.values())
    for done, (line_no, line) in enumerate(lines, start=1):
        record = {current_name(name): value for name, value in line.items()}
        table = record.pop("table", None)
        try:
            if isinstance(table, str):
                table = current_name(table)
            if not isinstance(table, str) or table not in loaded:
                raise DatasetError(f"expected a table of {', '.join(loaded)}, got {shown(table)}")
            if loaded[table] == counts[table]:
                raise DatasetError(f"expected {counts[table]:,} of {table}, got more")
            loader.load(table, checked_record(table, record))
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
