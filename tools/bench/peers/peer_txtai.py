"""txtai's own hybrid index: faiss and its BM25; vectors given through its `external` method."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench.peers.peer import FOUND_WITHIN, Data, Floats, main

txtai: Any = importlib.import_module("txtai")  # in an environment of its own
txtai_version: Any = importlib.import_module("txtai.version")


class Txtai:
    """One index with texts kept, built in one go when all are there: so it is quickest."""

    version = f"txtai {txtai_version.__version__}"

    def __init__(self, folder: Path, data: Data) -> None:
        """Load the index if it is there."""
        self._folder = folder
        questions = [question["text"] for question in data.questions()]
        self._vectors = dict(zip(questions, data.question_vectors(), strict=True))
        self._waiting: list[tuple[int, str, None]] = []

        def encode(texts: Sequence[str]) -> Floats:
            return np.array([self._vectors[str(text)] for text in texts], np.float32)

        # A function: of anything else that can be called txtai makes an instance.
        self._index = txtai.Embeddings(
            {"method": "external", "transform": encode, "hybrid": True, "content": True}
        )
        if (folder / "config.json").exists() or (folder / "config").exists():
            self._index.load(str(folder))
            self._index.model.transform = encode

    def add(self, first: int, texts: Sequence[str], vectors: Floats) -> None:
        """Keep some until all are there."""
        self._vectors.update(zip(texts, vectors, strict=True))
        self._waiting += [(first + at, text, None) for at, text in enumerate(texts)]

    def finish(self) -> None:
        """Index all and save."""
        self._index.index(self._waiting)
        self._index.config.pop("transform", None)
        self._index.save(str(self._folder))

    def search(self, text: str, vector: Floats) -> list[int]:
        """Search both ways at once."""
        self._vectors[text] = vector
        rows = self._index.search(
            "SELECT id, score FROM txtai WHERE similar(:asked)",
            FOUND_WITHIN,
            parameters={"asked": text},
        )
        return [int(row["id"]) for row in rows]


if __name__ == "__main__":
    main(Txtai)
