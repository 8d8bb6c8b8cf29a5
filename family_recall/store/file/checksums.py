"""A checksum of each memory's row, by which a byte changed on the disk is noticed.

SQLite notices a changed byte where it breaks a page, and not within a text. So a row carries a
digest of all that an answer may show of it.
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
"""Columns that hold a memory as it was remembered; all others are derived from them."""

COVERED = ("id", "space", "occurred_s", "recorded_s", *CONTENT)
"""Columns that a checksum is computed from, in its order."""

_FORMAT = "\0".join(["%s"] * len(COVERED))
_COLUMNS = ", ".join("m." + column for column in COVERED)
_BATCH = 500  # rows


def checksum_of(values: Sequence[object]) -> bytes:
    """Digest a row's :data:`COVERED` columns as SQLite returns them: BLAKE2b, 8 bytes.

    Written by ``%s``: a third of the time of any other way, and `repr` would depend on the version
    of Unicode that Python has.
    """
    content = _FORMAT % tuple(values)
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def as_stored(number: float | None) -> float | None:
    """Return a number as SQLite returns it from a REAL column: a float, and no minus zero."""
    return None if number is None else float(number) + 0.0


def fill(connection: apsw.Connection, ids: IdArray | None = None) -> None:
    """Write the checksums of rows as they are: of these rows, or of all that have none yet.

    What cannot be read stays without one, and so does not pass for intact.
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
    """List the rows, of all or of these, that cannot be read or do not match their checksum."""
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
        except ValueError:  # a text that is no UTF-8 any more
            rows = [row for memory in batch.tolist() if (row := _read(connection, memory))]
        intact = {row[1] for row in rows if row[0] == checksum_of(row[1:])}
        wrong += [memory for memory in batch.tolist() if memory not in intact]
    return wrong


def describe(connection: apsw.Connection, ids: Sequence[int]) -> list[str]:
    """Name some rows as ``space_id/doc_id``, as far as those can be read."""
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
