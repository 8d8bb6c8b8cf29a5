"""LanceDB's own hybrid search: vectors without an index, its full-text index, its RRF."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.bench.peers.peer import FOUND_WITHIN, Data, Floats, main

lancedb: Any = importlib.import_module("lancedb")  # in an environment of its own
rerankers: Any = importlib.import_module("lancedb.rerankers")


class LanceDb:
    """One table with a full-text index."""

    version = f"lancedb {lancedb.__version__}"

    def __init__(self, folder: Path, data: Data) -> None:
        """Open the table if it is there."""
        del data
        self._db = lancedb.connect(str(folder))
        self._reranker = rerankers.RRFReranker()
        self._table: Any = None
        if (folder / "memories.lance").exists():
            self._table = self._db.open_table("memories")

    def add(self, first: int, texts: Sequence[str], vectors: Floats) -> None:
        """Append some rows."""
        rows = [
            {"id": first + at, "text": text, "vector": vector}
            for at, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        if self._table is None:
            self._table = self._db.create_table("memories", rows)
        else:
            self._table.add(rows)

    def finish(self) -> None:
        """Index the texts and put the parts together."""
        self._table.create_fts_index("text")
        self._table.optimize()

    def search(self, text: str, vector: Floats) -> list[int]:
        """Search both ways at once."""
        matches = (
            self._table.search(query_type="hybrid")
            .vector(vector)
            .text(text)
            .rerank(self._reranker)
            .select(["id"])
            .limit(FOUND_WITHIN)
            .to_arrow()
        )
        return [int(number) for number in matches["id"].to_pylist()]


if __name__ == "__main__":
    main(LanceDb)
