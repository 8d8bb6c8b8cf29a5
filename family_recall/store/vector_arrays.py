"""Vectors as bytes: int8 rows, sign bits, and token vectors of 4 bits a part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from family_recall.errors import InvalidMemoryError
from family_recall.types import FloatArray

Int8Rows = npt.NDArray[np.int8]
SignBits = npt.NDArray[np.uint64]
"""Shape (dim / 64, n): one word of all rows lies together."""


def sign_bits(rows: npt.NDArray[np.floating] | Int8Rows) -> SignBits:
    """Pack the signs of rows (n, dim) into 64-bit words."""
    packed = np.packbits(rows > 0, axis=1)
    padded = np.zeros((len(rows), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


def quantise(vectors: Sequence[FloatArray], dim: int) -> npt.NDArray[np.int8]:
    """Scale vectors, each by its own largest part, to int8 rows (n, dim); cosines stay the same.

    Raises:
        InvalidMemoryError: If one has another dimension, or is zero, infinite or NaN.
    """
    for vector in vectors:
        if vector.shape != (dim,):
            raise InvalidMemoryError(
                f"a vector of {vector.shape} was given, the model in this file has ({dim},)"
            )
    rows = np.array(vectors, np.float32).reshape(-1, dim)
    peaks = np.abs(rows).max(axis=1, initial=0.0).astype(np.float64)
    if not np.isfinite(peaks).all() or not peaks.all():
        raise InvalidMemoryError("a vector must be finite and not zero")
    scale = (127.0 / peaks).astype(np.float32)
    scaled: npt.NDArray[np.int8] = np.rint(rows * scale[:, None]).astype(np.int8)
    return scaled


def pack_tokens(tokens: FloatArray) -> bytes:
    """Pack token vectors (t, d) into 4 bits a part, each scaled by its own largest part.

    Byte j of a token holds part j in its high and part j + d / 2 in its low half.
    """
    if tokens.size == 0:
        return b""
    peak = np.maximum(np.abs(tokens).max(axis=1, keepdims=True), 1e-12)
    steps = (np.rint(tokens * (7.0 / peak)) + 8).astype(np.uint8)
    half = tokens.shape[1] // 2
    packed: npt.NDArray[np.uint8] = steps[:, :half] << 4 | steps[:, half:]
    return packed.tobytes()


def pack_passages(passages: Sequence[FloatArray]) -> bytes:
    """Pack the token vectors of passages, with a row of zeros between two of them.

    No token vector packs to zeros: its parts are 1 to 15.
    """
    if not any(tokens.size for tokens in passages):
        return b""
    n_bytes = max(tokens.shape[1] for tokens in passages if tokens.size) // 2
    return bytes(n_bytes).join(map(pack_tokens, passages))


def divided(packed_passages: bytes, token_dim: int) -> list[bytes]:
    """Divide what :func:`pack_passages` returned into the packed tokens of each passage."""
    if not packed_passages:
        return []
    rows = np.frombuffer(packed_passages, np.uint8).reshape(-1, token_dim // 2)
    divisions = np.flatnonzero(~rows.any(axis=1)).tolist()
    starts = [0, *(at + 1 for at in divisions)]
    ends = [*divisions, len(rows)]
    return [rows[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]


def unpack_tokens(packed_tokens: bytes, token_dim: int) -> FloatArray:
    """Unpack token vectors to unit rows (t, token_dim)."""
    packed = np.frombuffer(packed_tokens, np.uint8)
    half = np.dtype((np.void, token_dim // 2))  # of a token: copied as a whole
    steps = np.empty((len(packed_tokens) // half.itemsize, 2), half)
    steps[:, 0] = (packed >> 4).view(half)
    steps[:, 1] = (packed & 15).view(half)
    signed = steps.view(np.int8)
    signed -= 8
    tokens = signed.astype(np.float32)
    norms = np.sqrt(np.einsum("td,td->t", tokens, tokens))  # small whole numbers: exact
    tokens /= np.maximum(norms, 1e-12)[:, None]
    return tokens
