"""A file of today brought back to an older schema: each migration undone, the newest first."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np

from family_recall.store.file.schema import SCHEMA_VERSION
from family_recall.store.words import row_words

UNDO = Path(__file__).parent / "fixtures" / "undo"
"""SQL that removes what step n added, as ``000n.sql``."""


def bring_back(path: Path, version: int) -> None:
    """Make a file of today one of ``version``, with what such a file can hold of it."""
    connection = apsw.Connection(str(path))
    for step in range(SCHEMA_VERSION, version, -1):
        connection.execute((UNDO / f"{step:04d}.sql").read_text(encoding="utf-8"))
        if step == 9:
            _rename_in_vector_tables(connection)
        if step == 13:
            _unpack_words(connection)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def _unpack_words(connection: apsw.Connection) -> None:
    """Keep the words of each memory as they were kept before schema 13."""
    for words, memory in connection.execute("SELECT words, id FROM memory").fetchall():
        assert isinstance(words, bytes)
        unpacked = row_words([words])
        entries = np.zeros((len(unpacked.stems), 8), np.uint8)
        entries[:, :4] = unpacked.stems.astype("<u4")[:, None].view(np.uint8)
        entries[:, 4:7] = unpacked.columns[unpacked.codes]
        connection.execute("UPDATE memory SET words = ? WHERE id = ?", (entries.tobytes(), memory))


def _rename_in_vector_tables(connection: apsw.Connection) -> None:
    """Rename the column of plain vector tables to what it was called before schema 9."""
    earlier = (UNDO / "0009.txt").read_text(encoding="utf-8").strip()
    numbers = connection.execute("SELECT no FROM embedding_model WHERE storage = 'plain'")
    for (no,) in numbers.fetchall():
        connection.execute(
            f"ALTER TABLE vectors_{no} RENAME COLUMN shard TO {earlier};"
            f"DROP INDEX vectors_{no}_shard;"
            f"CREATE INDEX vectors_{no}_{earlier} ON vectors_{no}({earlier})"
        )
