"""qdrant-client's local mode: dense vectors, sparse word counts with IDF, its RRF."""

from __future__ import annotations

import importlib
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.bench.peers.peer import FOUND_WITHIN, N_CANDIDATES, Data, Floats, main

qdrant: Any = importlib.import_module("qdrant_client")  # in an environment of its own
metadata: Any = importlib.import_module("importlib.metadata")


class Qdrant:
    """One collection in local mode."""

    version = f"qdrant-client {metadata.version('qdrant-client')}, local mode"

    def __init__(self, folder: Path, data: Data) -> None:
        """Open the collection, making it if there is none."""
        models = self._models = qdrant.models
        self._client = qdrant.QdrantClient(path=str(folder))
        if not self._client.collection_exists("memories"):
            self._client.create_collection(
                "memories",
                vectors_config={
                    "dense": models.VectorParams(
                        size=data.question_vectors().shape[1], distance=models.Distance.COSINE
                    )
                },
                sparse_vectors_config={
                    "words": models.SparseVectorParams(modifier=models.Modifier.IDF)
                },
            )

    def add(self, first: int, texts: Sequence[str], vectors: Floats) -> None:
        """Store some memories."""
        self._client.upsert(
            "memories",
            [
                self._models.PointStruct(
                    id=first + at,
                    vector={"dense": vector.tolist(), "words": self._words(text)},
                    payload={"text": text},
                )
                for at, (text, vector) in enumerate(zip(texts, vectors, strict=True))
            ],
        )

    def finish(self) -> None:
        """Close the file."""
        self._client.close()

    def search(self, text: str, vector: Floats) -> list[int]:
        """Search both ways at once."""
        models = self._models
        matches = self._client.query_points(
            "memories",
            prefetch=[
                models.Prefetch(query=vector.tolist(), using="dense", limit=N_CANDIDATES),
                models.Prefetch(query=self._words(text), using="words", limit=N_CANDIDATES),
            ],
            query=models.FusionQuery(fusion=models.Fusion.RRF),
            limit=FOUND_WITHIN,
            with_payload=True,
        )
        return [int(point.id) for point in matches.points]

    def _words(self, text: str) -> Any:
        counts = Counter(zlib.crc32(word.encode()) for word in re.findall(r"\w+", text.lower()))
        return self._models.SparseVector(
            indices=list(counts), values=[float(n) for n in counts.values()]
        )


if __name__ == "__main__":
    main(Qdrant)
