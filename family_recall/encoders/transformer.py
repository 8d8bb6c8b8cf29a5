"""Transformer models of a manifest: the sentence encoder and the cross-encoder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from family_recall.encoders.base import Encoding, Floats, Ints
from family_recall.encoders.manifest import ModelEntry, read_arrays, read_manifest, verify
from family_recall.encoders.session import Session
from family_recall.encoders.tokenizer import read_tokenizer
from family_recall.errors import ModelError

TOKENS = "tokens"
"""The optional output with token vectors."""
UNIT_TOLERANCE = 1e-3
# Unrelated texts, so that the score of the pair is far from zero.
_PROBE = ("Where is the spare key?", "Grandma lands on Friday at six; the boiler is ninety euros.")


class ManifestModel:
    """A model of a manifest entry, and its tokeniser.

    Attributes:
        model_id: Stored with vectors and named in traces; a changed model has another id.
        dim: Length of a pooled vector; 0 for a cross-encoder.
        level: The cosine of two texts that have nothing in common.
    """

    ROLE: ClassVar[str]

    def __init__(self, entry: ModelEntry) -> None:
        """Verify and load the tokeniser of an entry.

        Raises:
            ModelError: If the entry has another role, or a file is missing or altered.
        """
        if entry.role != self.ROLE:
            raise ModelError(f"{entry.model.path}: role {entry.role!r}, expected {self.ROLE!r}")
        self._entry = entry
        self.model_id, self.dim, self.level = entry.model_id, entry.dimensions, entry.level
        self._tokenizer = read_tokenizer(entry.tokenizer)

    @classmethod
    def load(cls, folder: Path | None = None) -> Self:
        """Load the model of this role from a models folder, by default the shipped one.

        Raises:
            ModelError: If there is no such folder, entry or file, or a file is altered.
        """
        manifest = read_manifest(folder)
        entry = manifest.find_entry(cls.ROLE)
        if entry is None:
            raise ModelError(f"{manifest.folder}: the manifest has no {cls.ROLE}")
        return cls(entry)


class GraphModel(ManifestModel):
    """An ONNX graph on a CPU or graphics processor.

    Attributes:
        batch_size: The most texts or pairs read in one run; 1 on a CPU.
    """

    def __init__(self, entry: ModelEntry, outputs: Sequence[str], *, cuda: bool) -> None:
        """Verify and load the entry's files, on a graphics processor if there is one and ``cuda``.

        Raises:
            ModelError: If a file is missing or altered, or does not fit the entry.
        """
        super().__init__(entry)
        for file in entry.data:
            verify(file)
        limits = entry.max_tokens.question, entry.max_tokens.memory
        probe = self._tokenizer.pair(*_PROBE, *limits)
        path = verify(entry.model)
        self._session = Session(path, precision=entry.precision, probe=probe, cuda=cuda)
        self._session.require(outputs)
        self._outputs = outputs
        self.batch_size = self._session.batch_size

    @property
    def provider(self) -> str:
        """The ONNX Runtime execution provider in use, such as ``CPUExecutionProvider``."""
        return self._session.provider

    @property
    def obstacle(self) -> str | None:
        """Why CUDA failed, at loading or in the last run; None if it did not or was not tried."""
        return self._session.obstacle


class TextEncoder(ManifestModel):
    """Encodes texts with the entry's prefixes and limits; an `Encoder`."""

    token_dim: int

    def encode_question(self, text: str) -> Encoding:
        """Encode a question, truncated to the entry's `max_tokens`.

        Raises:
            ModelError: If the model cannot run or returns a vector that is not of unit length.
        """
        prefix, max_tokens = self._entry.query_prefix, self._entry.max_tokens.question
        (encoding,) = self._encode([prefix + text], max_tokens)
        return encoding

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode memories in order, each truncated to the entry's `max_tokens`.

        Raises:
            ModelError: If the model cannot run or returns a vector that is not of unit length.
        """
        prefix, max_tokens = self._entry.memory_prefix, self._entry.max_tokens.memory
        return self._encode([prefix + text for text in texts], max_tokens)

    @abstractmethod
    def _encode(self, texts: Sequence[str], max_tokens: int) -> list[Encoding]: ...


class BiEncoder(GraphModel, TextEncoder):
    """The sentence encoder of a manifest entry. Safe to share between threads.

    On a CPU each text is read alone, so its vectors depend on nothing else. On a graphics processor
    texts of similar length are read together, and the last digits may vary.
    """

    ROLE = "embedder"

    def __init__(self, entry: ModelEntry, *, cuda: bool = True) -> None:
        """Verify and load the entry's files: 150 to 300 ms for the shipped model.

        Raises:
            ModelError: If a file is missing or altered, or does not fit the entry.
        """
        self.token_dim = entry.token_dimensions
        outputs = (entry.output, TOKENS) if self.token_dim else (entry.output,)
        super().__init__(entry, outputs, cuda=cuda)
        # Ids that have a token vector, and their weights.
        self._words = self._tokenizer.words() if self.token_dim else np.zeros(0, np.bool_)
        self._idf = _read_idf(entry, len(self._words))

    def token_ids(self, text: str) -> Ints:
        """Return the vocabulary ids of a text's tokens, as in `Encoding.token_ids`: (n_tokens,)."""
        if not self.token_dim:
            return np.zeros(0, np.int64)
        ids = np.array(self._tokenizer.ids(text, self._entry.max_tokens.question), dtype=np.int64)
        return ids[self._words[ids]]

    def token_weights(self, token_ids: Ints) -> Floats:
        """Return the inverse document frequency of each id in general English: (n_tokens,).

        About 0 for a token of every text, 12 for one never seen; 1 for all if the entry has no
        table.
        """
        return self._idf[token_ids]

    def _encode(self, texts: Sequence[str], max_tokens: int) -> list[Encoding]:
        inputs = [self._tokenizer.alone(text, max_tokens) for text in texts]
        results = self._session.read(self._outputs, inputs)
        return [self._encoding(own, ids) for own, (ids, _) in zip(results, inputs, strict=True)]

    def _encoding(self, outputs: Sequence[Floats], ids: Sequence[int]) -> Encoding:
        """Return the encoding of one text; outputs have a first axis of 1."""
        pooled = self._pooled(outputs[0], len(ids))
        if not self.token_dim:
            return Encoding(pooled, np.zeros((0, 0), np.float32), np.zeros(0, np.int64))
        tokens = self._shaped(outputs[1], (1, len(ids), self.token_dim))
        token_ids = np.array(ids, dtype=np.int64)
        is_word = self._words[token_ids]
        rows = tokens[0][is_word]
        self._check_unit(rows)
        return Encoding(pooled=pooled, tokens=rows, token_ids=token_ids[is_word])

    def _pooled(self, output: Floats, n_tokens: int) -> Floats:
        """Return the unit vector (dim,) of an output (1, dim) or, unpooled, (1, n_tokens, dim)."""
        pooling = self._entry.pooling
        if output.ndim == 3 and output.shape[1] == n_tokens and pooling in _POOL:
            output = _POOL[pooling](output)
        row: Floats = self._shaped(output, (1, self.dim))[0]
        if self._entry.normalise:
            row = row / np.maximum(np.linalg.norm(row), np.float32(1e-12))
        self._check_unit(row[None])
        return row

    def _check_unit(self, rows: Floats) -> None:
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        if not np.all(np.abs(lengths - 1.0) < UNIT_TOLERANCE):
            raise ModelError(
                f"{self._entry.model.path}: returned a vector that is not of unit length"
            )

    def _shaped(self, output: Floats, expected: tuple[int, ...]) -> Floats:
        if output.shape != expected:
            raise ModelError(
                f"{self._entry.model.path}: returned shape {output.shape}, expected {expected} by "
                f"{self._entry.pooling!r}"
            )
        return output


class CrossEncoder(GraphModel):
    """The reranker of a manifest entry; a `PairScorer`. Safe to share between threads.

    A CPU reads one pair per run: padding a batch costs more than it saves at this size (12 pairs of
    498 tokens in total: 24.9 ms one by one, 35.8 ms together), and a caller with a deadline can
    stop after any pair. On a graphics processor a batch takes hardly longer than one pair.
    """

    ROLE = "cross_encoder"

    def __init__(self, entry: ModelEntry, *, cuda: bool = True) -> None:
        """Verify and load the entry's files, as `BiEncoder`."""
        super().__init__(entry, [entry.output], cuda=cuda)

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
        logits = [logits for (logits,) in self._session.read(self._outputs, pairs)]
        for logit in logits:
            if logit.size != 1:
                raise ModelError(
                    f"{self._entry.model.path}: returned {logit.size} scores for a pair, expected 1"
                )
        return [float(logit.item()) for logit in logits]

    def count_tokens(self, question: str, memory: str) -> int:
        """Count the tokens that `score` would read, special tokens included."""
        return len(self._pair(question, memory)[0])

    def _pair(self, question: str, memory: str) -> tuple[list[int], list[int]]:
        entry = self._entry
        return self._tokenizer.pair(
            entry.query_prefix + question,
            entry.memory_prefix + memory,
            entry.max_tokens.question,
            entry.max_tokens.memory,
        )


_POOL: dict[str, Callable[[Floats], Floats]] = {
    "mean": lambda tokens: tokens.mean(axis=1),
    "cls": lambda tokens: tokens[:, 0],
    "last": lambda tokens: tokens[:, -1],
}
"""Pooling functions from (1, n_tokens, dim) to (1, dim); special tokens count."""


def _read_idf(entry: ModelEntry, n_ids: int) -> Floats:
    if entry.token_idf is None:
        return np.ones(n_ids, dtype=np.float32)
    path = verify(entry.token_idf)
    (idf,) = read_arrays(path).values()
    is_number = idf.dtype.kind in "fiu" and idf.shape == (n_ids,)
    if not is_number or not (np.isfinite(idf) & (idf >= 0)).all():
        raise ModelError(f"{path}: {idf.dtype} {idf.shape}, expected {n_ids} numbers of 0 or more")
    return idf.astype(np.float32)
