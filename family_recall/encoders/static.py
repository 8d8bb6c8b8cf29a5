"""The static embedder: a text's vector is the weighted mean of its tokens' vectors in a table.

It is used if the deadline leaves no time for the transformer, while that is loading, and where ONNX
Runtime has no wheel. A text takes tens of microseconds, mostly for tokenising.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from family_recall.encoders.base import Encoding, Floats, Ints
from family_recall.encoders.manifest import ModelEntry, read_arrays, verify
from family_recall.encoders.transformer import TextEncoder
from family_recall.errors import ModelError

_STEPS = 127.0  # of int8, on either side of zero


@dataclass(frozen=True, slots=True, eq=False)
class StaticTable:
    """The content of the table file: a vector and a weight per vocabulary id.

    Attributes:
        rows: Shape (n_ids, dim), int8.
        scales: Shape (n_ids,), float32: a row times its scale is the token's vector.
        weights: Shape (n_ids,), float16, 0 or more.
    """

    rows: npt.NDArray[np.int8]
    scales: Floats
    weights: npt.NDArray[np.float16]

    @classmethod
    def of(cls, vectors: Floats, weights: Floats) -> Self:
        """Quantise token vectors (n_ids, dim), each by its own largest component."""
        scales = np.maximum(np.abs(vectors).max(axis=1), 1e-9) / _STEPS
        rows = np.rint(vectors / scales[:, None]).astype(np.int8)
        return cls(rows, scales.astype(np.float32), weights.astype(np.float16))


class StaticEncoder(TextEncoder):
    """The static embedder of a manifest entry; an `Encoder` without token vectors.

    Safe to share between threads. A text's vector depends on that text alone.
    """

    ROLE = "static_embedder"
    token_dim = 0

    def __init__(self, entry: ModelEntry) -> None:
        """Verify and load the entry's files: about 50 ms, mostly for the tokeniser.

        Raises:
            ModelError: If a file is missing or altered, or does not fit the entry.
        """
        super().__init__(entry)
        table = read_table(verify(entry.model))
        if table.rows.shape[1] != entry.dimensions:
            raise ModelError(
                f"{entry.model.path}: rows of {table.rows.shape[1]}, expected {entry.dimensions}"
            )
        self._rows = table.rows
        self._factors = table.scales * table.weights.astype(np.float32)

    def token_ids(self, text: str) -> Ints:  # noqa: ARG002  of the protocol
        """Return no ids: there are no token vectors."""
        return _NO_IDS

    def token_weights(self, token_ids: Ints) -> Floats:
        """Return zeros: there are no token vectors."""
        return np.zeros(len(token_ids), np.float32)

    def _encode(self, texts: Sequence[str], max_tokens: int) -> list[Encoding]:
        return [self._encode_one(text, max_tokens) for text in texts]

    def _encode_one(self, text: str, max_tokens: int) -> Encoding:
        ids = self._tokenizer.ids(text, max_tokens)
        # einsum adds in a fixed order on one thread; a matrix product may not.
        total = np.einsum("td,t->d", self._rows[ids].astype(np.float32), self._factors[ids])
        length = np.sqrt(np.einsum("d,d->", total, total))
        # A text without tokens gets a fixed vector.
        pooled = total / length if length > 0.0 else np.eye(1, self.dim, dtype=np.float32)[0]
        return Encoding(pooled=pooled, tokens=_NO_TOKENS, token_ids=_NO_IDS)


_KINDS = (np.dtype(np.int8), np.dtype(np.float32), np.dtype(np.float16))
_NO_IDS: Ints = np.zeros(0, np.int64)
_NO_TOKENS: Floats = np.zeros((0, 0), np.float32)


def write_table(path: Path, table: StaticTable) -> None:
    """Write a table as an uncompressed ``.npz``, deterministically."""
    np.savez(path, rows=table.rows, scales=table.scales, weights=table.weights)


def read_table(path: Path) -> StaticTable:
    """Read and check a table.

    Raises:
        ModelError: If it cannot be read, or the shapes of its arrays do not match.
    """
    try:
        arrays = read_arrays(path)
        rows, scales, weights = (arrays[name] for name in ("rows", "scales", "weights"))
    except KeyError as error:
        raise ModelError(f"{path}: has no array {error}") from error
    n = len(rows) if rows.ndim == 2 else -1
    kinds = (rows.dtype, scales.dtype, weights.dtype)
    if kinds != _KINDS or (scales.shape, weights.shape) != ((n,), (n,)):
        raise ModelError(
            f"{path}: has {kinds[0]} {rows.shape}, {kinds[1]} {scales.shape} and {kinds[2]} "
            f"{weights.shape}, expected int8 (n, dim), float32 (n,) and float16 (n,)"
        )
    if not (np.isfinite(scales) & np.isfinite(weights) & (weights >= 0)).all():
        raise ModelError(f"{path}: scales must be finite, weights finite and 0 or more")
    return StaticTable(rows, scales, weights)
