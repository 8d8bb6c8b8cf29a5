"""A checksum of each memory's row, to detect bytes changed on the disk.

SQLite detects a changed byte if it breaks a page, but not within a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.types import IdArray

CONTENT = (
    "doc_id", "text", "title", "summary", "kind", "category", "author", "session_id", "source",
    "url", "section", "labels", "band", "guardians_of", "importance", "valence", "arousal",
    "fact_key", "fact_value", "event_type", "occurred_at", "valid_from_s", "valid_until_s",
)  # fmt: skip
"""Columns of a memory's own fields; all others are derived."""

COVERED = ("id", "space", "occurred_s", "recorded_s", *CONTENT)
"""Columns that the checksum covers, in order."""

_FORMAT = "\0".join(["%s"] * len(COVERED))
_COLUMNS = ", ".join("m." + column for column in COVERED)
_BATCH = 500  # rows


def checksum_of(values: Sequence[object]) -> bytes:
    """Return the BLAKE2b digest, 8 bytes, of a row's :data:`COVERED` columns.

    ``%s`` formats in a third of the time of alternatives; `repr` depends on Python's version of
    Unicode.
    """
    content = _FORMAT % tuple(values)
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def as_stored(number: float | None) -> float | None:
    """Return a number as SQLite returns it from a REAL column: a float, never minus zero."""
    return None if number is None else float(number) + 0.0


def fill(connection: apsw.Connection, ids: IdArray | None = None) -> None:
    """Write the checksums of these rows, or of all rows without one.

    Unreadable rows get none, and so count as damaged.
    """
    if ids is None:
        rows = sql.rows(connection, "SELECT id FROM memory WHERE checksum IS NULL")
        ids = np.array([memory for (memory,) in rows], np.int64)
    for memory in ids.tolist():
        if (row := _read(connection, memory)) is not None:
            connection.execute(
                "UPDATE memory SET checksum = ? WHERE id = ?", (checksum_of(row[1:]), memory)
            )


def damaged(connection: apsw.Connection, ids: IdArray | None = None) -> list[int]:
    """List the rows, of these or of all, that are unreadable or do not match their checksum."""
    if ids is None:
        rows = sql.rows(connection, "SELECT id FROM memory ORDER BY id")
        ids = np.array([memory for (memory,) in rows], np.int64)
    wrong: list[int] = []
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        try:
            rows = sql.rows(
                connection,
                f"SELECT m.checksum, {_COLUMNS} FROM carray(?) i"
                " CROSS JOIN memory m ON m.id = i.value",
                (sql.id_array(batch),),
            )
        except ValueError:  # a text that is not UTF-8
            rows = [row for memory in batch.tolist() if (row := _read(connection, memory))]
        intact = {row[1] for row in rows if row[0] == checksum_of(row[1:])}
        wrong += [memory for memory in batch.tolist() if memory not in intact]
    return wrong


def describe(connection: apsw.Connection, ids: Sequence[int]) -> list[str]:
    """Return rows as ``space_id/doc_id``, as far as readable."""
    rows = sql.rows(
        connection,
        "SELECT s.space_id, CAST(m.doc_id AS BLOB) FROM carray(?) i"
        " CROSS JOIN memory m ON m.id = i.value LEFT JOIN space s ON s.no = m.space",
        (sql.id_array(np.array(ids, np.int64)),),
    )
    return [
        f"{space_id}/{bytes(doc_id or b'').decode('utf-8', 'replace')}" for space_id, doc_id in rows
    ]


def _read(connection: apsw.Connection, memory: int) -> tuple[Any, ...] | None:
    try:
        row: tuple[Any, ...] | None = sql.row(
            connection, f"SELECT m.checksum, {_COLUMNS} FROM memory m WHERE m.id = ?", (memory,)
        )
    except ValueError:
        return None
    return row
