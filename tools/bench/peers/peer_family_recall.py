"""This library: complete, or words, vectors and their fusion alone, as the peers search."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

from family_recall import FamilyRecall, Memory, Person, RecallContext, Space, __version__
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoding
from family_recall.types import Grant
from tools.bench.data import FakeEncoder
from tools.bench.peers.peer import FOUND_WITHIN, Data, Floats, main

ALONE = frozenset({"graph", "late_interaction", "rerank", "diversify", "deduplicate"})
BUDGET_MS = 1_000.0  # no stage is left out for lack of time


class SharedVectors(FakeEncoder):
    """An `Encoder` with the pooled vectors that every peer gets; tokens are its own."""

    def __init__(self) -> None:
        """Start without vectors."""
        super().__init__()
        self.known: dict[str, Floats] = {}

    def _encode(self, text: str) -> Encoding:
        ids = self.token_ids(text)
        return Encoding(self.known[text], self._tokens[ids], ids)


class Whole:
    """A household of one person and one space, in one file."""

    version = f"family_recall {__version__}"
    leave_out: frozenset[str] = frozenset()

    def __init__(self, folder: Path, data: Data) -> None:
        """Open the file, making it if there is none."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "memories.db"
        fresh = not path.exists()
        self._encoder = SharedVectors()
        texts = [question["text"] for question in data.questions()]
        self._questions = dict(zip(texts, data.question_vectors(), strict=True))
        self._encoder.known = self._questions
        self._home = FamilyRecall.open(
            path,
            timezone="UTC",
            encoder=self._encoder,
            config=RecallConfig(leave_out=self.leave_out),
        )
        if fresh:
            self._home.people.add(Person("asha", "Asha"))
            self._home.spaces.add(Space("home", "shared"))
            self._home.spaces.grant(Grant("asha", "home", role="owner"))
        self._ctx = RecallContext(
            person_id="asha", space_id="home", time_budget_ms=BUDGET_MS, top_k=FOUND_WITHIN
        )

    def add(self, first: int, texts: Sequence[str], vectors: Floats) -> None:
        """Store texts and vectors."""
        self._encoder.known = {**self._questions, **dict(zip(texts, vectors, strict=True))}
        self._home.remember_many(
            Memory(text, "home", doc_id=str(first + at)) for at, text in enumerate(texts)
        )

    def finish(self) -> None:
        """Write the log back into the file."""
        self._home.close()

    def search(self, text: str, vector: Floats) -> list[int]:
        """Recall."""
        self._questions[text] = vector
        return [int(result.doc_id) for result in self._home.recall(text, self._ctx).results]


class Alone(Whole):
    """The same without graph, late interaction, deduplication and diversification."""

    version = f"{Whole.version}, words and vectors alone"
    leave_out = ALONE


if __name__ == "__main__":
    alone = os.environ.get("FAMILY_RECALL_BENCH") == "alone"
    main(functools.partial(Alone if alone else Whole))
