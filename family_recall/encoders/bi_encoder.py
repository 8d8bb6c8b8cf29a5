"""The sentence encoder: pooled and token vectors of a text by an ONNX transformer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from family_recall.encoders.base import Encoding, Floats, Ints, batches
from family_recall.encoders.bounded import read_array
from family_recall.encoders.manifest import ModelEntry, verify
from family_recall.encoders.manifest_model import GraphModel, TextEncoder
from family_recall.errors import ModelError

TOKENS = "tokens"
"""The optional output with token vectors."""
UNIT_TOLERANCE = 1e-3


class BiEncoder(TextEncoder, GraphModel):
    """The sentence encoder of a manifest entry. Safe to share between threads.

    On a CPU each text is one run at its own length, so its vectors depend on nothing else. On a
    graphics processor texts of like length are read together, and the last digits may.
    """

    ROLE = "embedder"

    def __init__(self, entry: ModelEntry, *, cuda: bool = True) -> None:
        """Verify and load the entry's files: 150 to 300 ms for the shipped model.

        Args:
            entry: Of a manifest.
            cuda: Whether a graphics processor is used, if there is one.

        Raises:
            ModelError: If a file is missing or altered, or does not fit the entry.
        """
        super().__init__(entry)
        # Ids that have a token vector, and their weights.
        self._words = self._tokenizer.words() if self.token_dim else np.zeros(0, np.bool_)
        self._idf = _read_idf(entry, len(self._words))
        self._outputs = (entry.output, TOKENS) if self.token_dim else (entry.output,)
        self._session = self._open_graph(self._outputs, cuda=cuda)

    @property
    def token_dim(self) -> int:
        """Length of a token vector; 0 for a model without token vectors."""
        return self._entry.token_dimensions

    def token_ids(self, text: str) -> Ints:
        """Return the vocabulary ids of a text's tokens, as in `Encoding.token_ids`: (n_tokens,)."""
        if not self.token_dim:
            return np.zeros(0, np.int64)
        ids = np.array(self._tokenizer.ids(text, self._entry.max_question_tokens), dtype=np.int64)
        return ids[self._words[ids]]

    def token_weights(self, token_ids: Ints) -> Floats:
        """Return the inverse document frequency of each id in general English: (n_tokens,).

        About 0 for a token of every text, 12 for one never seen; 1 for all if the entry has no
        table.
        """
        return self._idf[token_ids]

    def _encode(self, texts: Sequence[str], max_tokens: int) -> list[Encoding]:
        read = [self._tokenizer.alone(text, max_tokens) for text in texts]
        encodings: dict[int, Encoding] = {}
        lengths = [len(ids) for ids, _ in read]
        for batch in batches(lengths, self.batch_size):
            feed = self._session.feed([read[place] for place in batch])
            outputs = self._session.run(self._outputs, feed)
            for row, place in enumerate(batch):
                n, longest = lengths[place], lengths[batch[0]]
                own = [_unpadded(output, row, n, longest) for output in outputs]
                encodings[place] = self._encoding(own, read[place][0])
        return [encodings[place] for place in range(len(texts))]

    def _encoding(self, outputs: Sequence[Floats], ids: Sequence[int]) -> Encoding:
        """Return the encoding of one text, of outputs with a first axis of 1."""
        pooled = self._pooled(outputs[0], len(ids))
        if not self.token_dim:
            return Encoding(pooled, np.zeros((0, 0), np.float32), np.zeros(0, np.int64))
        tokens = outputs[1]
        if tokens.shape != (1, len(ids), self.token_dim):
            raise self._shape_error(tokens.shape, (1, len(ids), self.token_dim))
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
        if output.shape != (1, self.dim):
            raise self._shape_error(output.shape, (1, self.dim))
        row: Floats = output[0]
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

    def _shape_error(self, shape: tuple[int, ...], expected: tuple[int, ...]) -> ModelError:
        pooling = self._entry.pooling
        return ModelError(
            f"{self._entry.model.path}: returned shape {shape}, expected {expected} by {pooling!r}"
        )


def _unpadded(output: Floats, row: int, n_tokens: int, longest: int) -> Floats:
    """Return one row of an output of a batch, as its text alone would have: (1, …)."""
    own = output[row : row + 1]
    return own[:, :n_tokens] if own.ndim == 3 and own.shape[1] == longest else own


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
    stored = read_array(path)
    if stored.dtype.kind not in "fiu":
        raise ModelError(f"{path}: has {stored.dtype}, expected numbers")
    idf: Floats = stored.astype(np.float32)
    if idf.shape != (n_ids,) or not (np.isfinite(idf) & (idf >= 0)).all():
        raise ModelError(f"{path}: shape {idf.shape}, expected {n_ids} numbers of 0 or more")
    return idf
