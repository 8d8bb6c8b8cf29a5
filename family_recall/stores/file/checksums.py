"""Seals: rows of memories in; those that no longer say what was told out.

A disk can change a byte without a word. SQLite notices where that breaks a page; within a text it
does not, and so a row carries a digest of all that an answer may show of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from family_recall.stores.file import sql
from family_recall.types import IdArray

TOLD = (
    "doc_id", "text", "title", "summary", "kind", "category", "author", "session_id", "source",
    "url", "section", "labels", "band", "guardians_of", "importance", "valence", "arousal",
    "fact_key", "fact_value", "event_type", "occurred_at", "valid_from_s", "valid_until_s",
)  # fmt: skip
"""Columns that say what a memory is; what is made from them is checked against them."""

SEALED = ("id", "space", "occurred_s", "recorded_s", *TOLD)
"""Columns that a seal is made of, in its order."""

_NUMBERS = frozenset({
    "importance", "valence", "arousal", "valid_from_s", "valid_until_s", "occurred_s", "recorded_s"
})  # fmt: skip
_FORM = "\0".join(["%s"] * len(SEALED))
_COLUMNS = ", ".join("m." + column for column in SEALED)
_BATCH = 500  # rows


@dataclass(frozen=True, slots=True)
class Broken:
    """A row whose seal does not fit, by what can still be read of where it belongs."""

    id: int
    space_id: str | None
    doc_id: str


def checksum_of(values: Sequence[object]) -> bytes:
    """Digest a row's :data:`SEALED` columns as SQLite gives them: BLAKE2b, 8 bytes.

    Written by ``%s``: a third of the time of any other way, and `repr` would hang on the version
    of Unicode that Python knows.
    """
    said = _FORM % tuple(values)
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def as_kept(column: str, value: Any) -> Any:
    """Give a value as SQLite will give it back: a REAL for any number, and no minus zero."""
    return float(value) + 0.0 if column in _NUMBERS and value is not None else value


def seal(connection: apsw.Connection, ids: IdArray | None = None) -> None:
    """Seal rows as they are: these ones, or all that have no seal yet.

    What cannot be read stays without one, and so does not pass for what was told.
    """
    if ids is None:
        found = sql.rows(connection, "SELECT id FROM memory WHERE seal IS NULL")
        ids = np.array([memory for (memory,) in found], np.int64)
    for memory in ids.tolist():
        if (row := _read(connection, memory)) is not None:
            connection.execute(
                "UPDATE memory SET seal = ? WHERE id = ?", (checksum_of(row[1:]), memory)
            )


def broken(connection: apsw.Connection, ids: IdArray | None = None) -> list[int]:
    """List the rows, of all or of these, whose seal does not fit or that cannot be read."""
    if ids is None:
        found = sql.rows(connection, "SELECT id FROM memory ORDER BY id")
        ids = np.array([memory for (memory,) in found], np.int64)
    wrong: list[int] = []
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        try:
            rows = sql.rows(
                connection,
                f"SELECT m.seal, {_COLUMNS} FROM carray(?) i CROSS JOIN memory m ON m.id = i.value",
                (sql.id_array(some),),
            )
        except ValueError:  # a text that is no UTF-8 any more
            rows = [row for memory in some.tolist() if (row := _read(connection, memory))]
        whole = {row[1] for row in rows if row[0] == checksum_of(row[1:])}
        wrong += [memory for memory in some.tolist() if memory not in whole]
    return wrong


def named(connection: apsw.Connection, ids: Sequence[int]) -> list[Broken]:
    """Say where some rows belong, as far as that can be read."""
    return [
        Broken(memory, space_id, bytes(doc_id or b"").decode("utf-8", "replace"))
        for memory, space_id, doc_id in sql.rows(
            connection,
            "SELECT m.id, s.space_id, CAST(m.doc_id AS BLOB) FROM carray(?) i"
            " CROSS JOIN memory m ON m.id = i.value LEFT JOIN space s ON s.no = m.space",
            (sql.id_array(np.array(ids, np.int64)),),
        )
    ]


def _read(connection: apsw.Connection, memory: int) -> tuple[Any, ...] | None:
    try:
        row: tuple[Any, ...] | None = sql.row(
            connection, f"SELECT m.seal, {_COLUMNS} FROM memory m WHERE m.id = ?", (memory,)
        )
    except ValueError:
        return None
    return row
