"""A fast fake encoder for the synthetic household of family_recall.apps.evaluation."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from family_recall.apps.evaluation.synthetic import MEAN_WORDS, chances, vocabulary
from family_recall.encoders.base import Encoding

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

MODEL_ID = "bench-fake/1"
_DIM, _TOKEN_DIM = 384, 64
_N_CLUSTERS = 200


class FakeEncoder:
    """An `Encoder` without a model: the same word has the same token vector in every text.

    A text's vector is one of 200 cluster centres plus the sum of its tokens plus noise, unit
    length. It says nothing about English, but distances spread as real ones do, and a question
    lies near a memory of the same words.
    """

    model_id = MODEL_ID
    dim = _DIM
    token_dim = _TOKEN_DIM
    batch_size = 64  # with threads, of texts that take microseconds, handing over would cost most

    def __init__(self, *, seed: int = 0) -> None:
        """Draw the tables: 6 MB."""
        rng = np.random.default_rng([seed, 2])
        self._ids = {word: at for at, word in enumerate(vocabulary())}
        n = len(self._ids) + 1024  # and slots for words outside the vocabulary
        self._tokens = _unit(rng.standard_normal((n, _TOKEN_DIM), dtype=np.float32))
        self._spread = rng.standard_normal((_TOKEN_DIM, _DIM), dtype=np.float32) / _TOKEN_DIM**0.5
        self._centres = _unit(rng.standard_normal((_N_CLUSTERS, _DIM), dtype=np.float32))
        often = np.concatenate([chances(), np.full(1024, chances()[-1])])
        self._weights = np.maximum(-np.log(often * MEAN_WORDS), 0.0).astype(np.float32)

    def encode_question(self, text: str) -> Encoding:
        """Encode a question."""
        return self._encode(text)

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode memories."""
        return [self._encode(text) for text in texts]

    def token_ids(self, text: str) -> Ints:
        """Number the words of a text."""
        n = len(self._ids)
        words = ("".join(filter(str.isalnum, word)) for word in text.lower().split())
        return np.array(
            [self._ids.get(w, n + zlib.crc32(w.encode()) % 1024) for w in words if w], np.int64
        )

    def token_weights(self, token_ids: Ints) -> Floats:
        """Return each word's inverse document frequency."""
        weights: Floats = self._weights[token_ids]
        return weights

    def _encode(self, text: str) -> Encoding:
        ids = self.token_ids(text)
        tokens = self._tokens[ids]
        meaning = (self._weights[ids] @ tokens) @ self._spread
        rng = np.random.default_rng(zlib.crc32(text.encode()))
        noise = rng.standard_normal(_DIM, dtype=np.float32) / _DIM**0.5
        length = max(float(np.linalg.norm(meaning)), 1e-9)
        centre = self._centres[int(rng.integers(_N_CLUSTERS))]
        return Encoding(_unit(meaning / length + 0.7 * centre + 0.7 * noise), tokens, ids)


def _unit(rows: Floats) -> Floats:
    unit: Floats = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return unit
