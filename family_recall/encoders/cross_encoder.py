"""The cross-encoder: one score for a question and a memory read together."""

from __future__ import annotations

from collections.abc import Sequence

from family_recall.encoders.base import batches
from family_recall.encoders.manifest import ModelEntry
from family_recall.encoders.manifest_model import GraphModel
from family_recall.errors import ModelError


class CrossEncoder(GraphModel):
    """The reranker of a manifest entry; a `BatchScorer`. Safe to share between threads.

    On a CPU one pair per run, at its own length: padding a batch costs more than it saves at this
    size (12 pairs of 498 tokens in total: 24.9 ms one by one, 35.8 ms together), and a caller with
    a deadline can stop after any pair. On a graphics processor a batch takes hardly longer than
    one pair.
    """

    ROLE = "cross_encoder"

    def __init__(self, entry: ModelEntry, *, cuda: bool = True) -> None:
        """Verify and load the entry's files.

        Args:
            entry: Of a manifest.
            cuda: Whether a graphics processor is used, if there is one.

        Raises:
            ModelError: If a file is missing or altered, or does not fit the entry.
        """
        super().__init__(entry)
        self._session = self._open_graph([entry.output], cuda=cuda)

    def score(self, question: str, memory: str) -> float:
        """Score how well `memory` answers `question`: a logit, higher is better.

        Each text is truncated to its own limit, so that neither displaces the other.

        Raises:
            ModelError: If the model cannot run or returns a score that is not finite.
        """
        (score,) = self.scores(question, [memory])
        return score

    def scores(self, question: str, memories: Sequence[str]) -> list[float]:
        """Score each memory as `score` does, in the order of the memories.

        Raises:
            ModelError: If the model cannot run or returns a score that is not finite.
        """
        pairs = [self._pair(question, memory) for memory in memories]
        scores: dict[int, float] = {}
        for batch in batches([len(ids) for ids, _ in pairs], self.batch_size):
            feed = self._session.feed([pairs[place] for place in batch])
            (logits,) = self._session.run([self._entry.output], feed)
            if logits.size != len(batch):
                raise ModelError(
                    f"{self._entry.model.path}: returned {logits.size} scores for {len(batch)} "
                    "pairs, expected one for each"
                )
            scores |= zip(batch, logits.reshape(-1).tolist(), strict=True)
        return [scores[place] for place in range(len(pairs))]

    def count_tokens(self, question: str, memory: str) -> int:
        """Count the tokens that `score` would read, special tokens included."""
        return len(self._pair(question, memory)[0])

    def _pair(self, question: str, memory: str) -> tuple[list[int], list[int]]:
        entry = self._entry
        return self._tokenizer.pair(
            entry.query_prefix + question,
            entry.memory_prefix + memory,
            entry.max_question_tokens,
            entry.max_memory_tokens,
        )
