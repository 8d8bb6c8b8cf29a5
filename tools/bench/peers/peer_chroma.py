"""Chroma with a file: its HNSW index; its hybrid search is not in the local version."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.bench.peers.peer import FOUND_WITHIN, Data, Floats, main

chromadb: Any = importlib.import_module("chromadb")  # in an environment of its own
config: Any = importlib.import_module("chromadb.config")


class Chroma:
    """One collection, vectors given."""

    version = f"chromadb {chromadb.__version__}, vectors only"

    def __init__(self, folder: Path, data: Data) -> None:
        """Open the collection, making it if there is none."""
        del data
        settings = config.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._collection = client.get_or_create_collection(
            "memories", embedding_function=None, metadata={"hnsw:space": "cosine"}
        )

    def add(self, first: int, texts: Sequence[str], vectors: Floats) -> None:
        """Store some memories."""
        self._collection.add(
            ids=[str(first + at) for at in range(len(texts))],
            documents=list(texts),
            embeddings=vectors,
        )

    def finish(self) -> None:
        """Nothing: every call is on the disk."""

    def search(self, text: str, vector: Floats) -> list[int]:
        """Find the nearest."""
        del text
        matches = self._collection.query(
            query_embeddings=vector[None, :], n_results=FOUND_WITHIN, include=["documents"]
        )
        return [int(number) for number in matches["ids"][0]]


if __name__ == "__main__":
    main(Chroma)
