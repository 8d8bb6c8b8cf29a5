"""sqlite-vec and FTS5 with reciprocal rank fusion, as one writes it by hand."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from tools.bench.peers.peer import N_CANDIDATES, Data, Floats, fused, main

sqlite_vec: Any = importlib.import_module("sqlite_vec")  # typed nowhere


class SqliteVec:
    """Two virtual tables in one file."""

    version = f"sqlite-vec {sqlite_vec.__version__}, SQLite {apsw.sqlite_lib_version()}"

    def __init__(self, folder: Path, data: Data) -> None:
        """Open the file, making the tables if there are none."""
        folder.mkdir(parents=True, exist_ok=True)
        self._db = apsw.Connection(str(folder / "memories.db"))
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        dim = data.question_vectors().shape[1]
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize='porter');"
            "CREATE VIRTUAL TABLE IF NOT EXISTS vectors USING vec0("
            f" id INTEGER PRIMARY KEY, vector float[{dim}])"
        )

    def add(self, first: int, texts: Sequence[str], vectors: Floats) -> None:
        """Store some memories in one transaction."""
        numbers = range(first, first + len(texts))
        with self._db:
            self._db.executemany(
                "INSERT INTO words(rowid, text) VALUES(?, ?)", zip(numbers, texts, strict=True)
            )
            self._db.executemany(
                "INSERT INTO vectors(id, vector) VALUES(?, ?)",
                zip(numbers, (vector.tobytes() for vector in vectors), strict=True),
            )

    def finish(self) -> None:
        """Write the log back into the file."""
        self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def search(self, text: str, vector: Floats) -> list[int]:
        """Search both tables and fuse."""
        expression = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text)))
        words = self._db.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?",
            (expression, N_CANDIDATES),
        )
        near = self._db.execute(
            "SELECT id FROM vectors WHERE vector MATCH ? AND k = ?",
            (vector.tobytes(), N_CANDIDATES),
        )
        return fused([_number(row) for row in words], [_number(row) for row in near])


def _number(row: Sequence[object]) -> int:
    number = row[0]
    assert isinstance(number, int)  # noqa: S101  row ids are
    return number


if __name__ == "__main__":
    main(SqliteVec)
