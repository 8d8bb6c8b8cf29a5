"""A text in, its vector and its token vectors out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from family_recall.encoders.base import Encoding, Floats, Ints
from family_recall.encoders.manifest import ModelEntry, read_manifest, verify
from family_recall.encoders.session import Session
from family_recall.encoders.tokenizer import WordPieces
from family_recall.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ROLE = "embedder"
INPUTS = ("input_ids", "attention_mask")
OUTPUTS = ("embedding", "tokens")
UNIT_TOLERANCE = 1e-3


class BiEncoder:
    """The sentence encoder of a manifest entry; an `Encoder`. Safe to share between threads.

    Each text is one run at its true length, so its vectors depend on nothing but itself.
    """

    def __init__(self, entry: ModelEntry) -> None:
        """Verify and load the entry's files: some 150 to 300 ms and 95 MB of memory, once.

        Raises:
            ModelError: If a file is missing, altered, or not what the entry says.
        """
        if entry.role != ROLE:
            raise ModelError(f"{entry.model.path}: role {entry.role!r}, expected {ROLE!r}")
        self._entry = entry
        self._pieces = WordPieces(verify(entry.tokenizer))
        self._idf = _read_idf(entry, self._pieces.n_ids)
        self._session = Session(verify(entry.model), precision=entry.precision)
        self._session.require(INPUTS, OUTPUTS)

    @classmethod
    def load(cls, folder: Path | None = None) -> BiEncoder:
        """Load the embedder of a models folder, by default the one shipped.

        Raises:
            ModelError: If there is no such folder, entry or file, or a file is altered.
        """
        manifest = read_manifest(folder)
        entry = manifest.find_entry(ROLE)
        if entry is None:
            raise ModelError(f"{manifest.folder}: the manifest has no {ROLE}")
        return cls(entry)

    @property
    def model_id(self) -> str:
        """Changes whenever the vectors do; stored with each of them."""
        return self._entry.model_id

    @property
    def dim(self) -> int:
        """Length of a pooled vector."""
        return self._entry.dimensions

    @property
    def token_dim(self) -> int:
        """Length of a token vector."""
        return self._entry.token_dimensions

    @property
    def provider(self) -> str:
        """ONNX Runtime's name of the processor in use, such as ``CPUExecutionProvider``."""
        return self._session.provider

    def encode_question(self, text: str) -> Encoding:
        """Encode a question, cut to the entry's `max_question_tokens`. Any string will do.

        Raises:
            ModelError: If the model cannot run or gives no unit vector.
        """
        return self._encode(self._entry.query_prefix + text, self._entry.max_question_tokens)

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode memories, each cut to the entry's `max_memory_tokens`, in the order given.

        Raises:
            ModelError: If the model cannot run or gives no unit vector.
        """
        prefix, most = self._entry.memory_prefix, self._entry.max_memory_tokens
        return [self._encode(prefix + text, most) for text in texts]

    def token_ids(self, text: str) -> Ints:
        """Vocabulary ids of a text's tokens, as `Encoding.token_ids` has them: (n_tokens,)."""
        ids = np.array(self._pieces.ids(text, self._entry.max_question_tokens), dtype=np.int64)
        return ids[self._pieces.is_word(ids)]

    def token_weights(self, token_ids: Ints) -> Floats:
        """Inverse document frequency of each id in general English, shape like `token_ids`.

        About 0 for a token in every text, 12 for one never met; 1 throughout where the entry has
        no table. A store that counts its own tokens knows its household better.
        """
        return self._idf[token_ids]

    def _encode(self, text: str, max_tokens: int) -> Encoding:
        pieces = self._pieces
        ids = np.array(
            [[pieces.cls_id, *pieces.ids(text, max_tokens - 2), pieces.sep_id]], dtype=np.int64
        )
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        embedding, tokens = self._session.run(OUTPUTS, feed)
        if embedding.shape != (1, self.dim) or tokens.shape != (1, ids.shape[1], self.token_dim):
            raise ModelError(
                f"{self._entry.model.path}: gave shapes {embedding.shape} and {tokens.shape}, "
                f"expected {(1, self.dim)} and {(1, ids.shape[1], self.token_dim)}"
            )
        kept = pieces.is_word(ids[0])
        rows = tokens[0][kept]
        if not (_unit(embedding) and _unit(rows)):
            raise ModelError(f"{self._entry.model.path}: gave a vector that is not of unit length")
        return Encoding(pooled=embedding[0], tokens=rows, token_ids=ids[0][kept])


def _unit(rows: Floats) -> bool:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return bool(np.all(np.abs(lengths - 1.0) < UNIT_TOLERANCE))


def _read_idf(entry: ModelEntry, n_ids: int) -> Floats:
    if entry.token_idf is None:
        return np.ones(n_ids, dtype=np.float32)
    path = verify(entry.token_idf)
    try:
        idf = np.load(path, allow_pickle=False).astype(np.float32)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from error
    if idf.shape != (n_ids,) or not (np.isfinite(idf) & (idf >= 0)).all():
        raise ModelError(f"{path}: shape {idf.shape}, expected {n_ids} numbers of 0 or more")
    weights: Floats = idf
    return weights
