"""The file's layout, and the numbered migrations that bring an earlier file up to it.

One file holds one household. Text is the truth; words, vectors, mentions and edges are made from
it and can be made again. No edge, mention, word list or vector index ever spans two partitions, and
so none can reveal one person's memories to another. A child's guardians have partitions of their
own, and so has a role from which some fields are hidden.
"""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import numpy as np
import numpy.typing as npt

from family_recall.store import words
from family_recall.store.file import checksums, sql

APPLICATION_ID = 0x46524D31
"""``FRM1``, at byte 68 of the file (sqlite.org/fileformat2.html#application_id)."""

_BATCH = 500  # memories
_FOLDER = Path(__file__).parent
SCHEMA = (_FOLDER / "schema.sql").read_text(encoding="utf-8")
"""The tables of a new file."""

MIGRATIONS: tuple[str, ...] = tuple(
    path.read_text(encoding="utf-8") for path in sorted((_FOLDER / "migrations").glob("*.sql"))
)
"""Step i brings a file from version i to i + 1. Released steps never change."""

SCHEMA_VERSION = len(MIGRATIONS)

_RENAMES = re.compile(r"ALTER TABLE (\w+) RENAME (?:COLUMN (\w+) )?TO (\w+);")
RENAMED: dict[str, str] = {
    column or table: name for table, column, name in _RENAMES.findall(MIGRATIONS[8])
}
"""Earlier names of tables and columns, with those they have since schema 9."""


def migrate(connection: apsw.Connection) -> None:
    """Create the tables of a new file, or bring an earlier one up to date.

    Runs inside a write transaction of the caller's.
    """
    version = connection.pragma("user_version")
    if version == 0:
        connection.execute(SCHEMA)
        version = SCHEMA_VERSION
    for step in range(version, SCHEMA_VERSION):
        connection.execute(MIGRATIONS[step])
        if step == 8:
            _rename_in_vector_tables(connection)
        if step == 12:
            _pack_words(connection)
    checksums.fill(connection)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _rename_in_vector_tables(connection: apsw.Connection) -> None:
    """Rename the column of plain vector tables; one of a virtual table keeps its name."""
    numbers = sql.rows(connection, "SELECT no FROM embedding_model WHERE storage = 'plain'")
    for (no,) in numbers:
        table = f"vectors_{no}"
        (column,) = sql.row(
            connection, "SELECT name FROM pragma_table_info(?) WHERE cid = 1", (table,)
        )
        connection.execute(
            f"ALTER TABLE {table} RENAME COLUMN {column} TO shard;"
            f"DROP INDEX IF EXISTS {table}_{column}; CREATE INDEX {table}_shard ON {table}(shard)"
        )


_WORD_ENTRY = np.dtype(
    [("stem", "<u4"), ("body", "u1"), ("header", "u1"), ("context", "u1"), ("_", "u1")]
)


def _packed(entries: npt.NDArray[np.void]) -> bytes:
    counts = np.stack([entries[name] for name in ("body", "header", "context")], axis=1)
    return words.pack(entries["stem"].astype(np.int64), counts.astype(np.int64))[0]


def _pack_words(connection: apsw.Connection) -> None:
    """Pack the words of every memory; a value that is no list of entries stays as it is."""
    rows = sql.rows(connection, "SELECT id FROM memory")
    for start in range(0, len(rows), _BATCH):
        ids = sql.id_array(np.array([no for (no,) in rows[start : start + _BATCH]], np.int64))
        packed = [
            (_packed(np.frombuffer(stored, _WORD_ENTRY)), memory)
            for memory, stored in sql.rows(
                connection,
                "SELECT m.id, m.words FROM carray(?) i CROSS JOIN memory m ON m.id = i.value",
                (ids,),
            )
            if isinstance(stored, bytes) and len(stored) % _WORD_ENTRY.itemsize == 0
        ]
        connection.executemany("UPDATE memory SET words = ? WHERE id = ?", packed)
