"""Vectors as arrays and bytes: int8 rows with sign bits, and token vectors of 4 bits a part."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from family_recall.errors import InvalidMemoryError
from family_recall.types import BoolArray, FloatArray, IdArray

Int8Rows = npt.NDArray[np.int8]
SignBits = npt.NDArray[np.uint64]
"""Shape (dim / 64, n): one word of all rows lies together."""
EXACT_BELOW = 1_000
"""Below this number of rows every row is scored."""
CONVERTED = 4_096
"""Rows converted to float32 at a time: 6 MB."""
_BYTE_HOLDS = 3  # words: the number of their bits


@dataclass(frozen=True, slots=True)
class Segment:
    """Vectors ascending by id. A small segment holds its rows as float32 too, 1.5 MB at most.

    Of passages an id has several rows, all in one segment, in the order of the text.
    """

    ids: IdArray
    rows: Int8Rows
    inverse_norms: FloatArray
    bits: SignBits
    float_rows: FloatArray | None = None

    def __post_init__(self) -> None:
        """Convert the rows of a small segment, all of which are scored for each question."""
        if len(self.ids) < EXACT_BELOW:
            object.__setattr__(self, "float_rows", self.rows.astype(np.float32))

    @classmethod
    def of(cls, ids: IdArray, rows: Int8Rows) -> Segment:
        """Create a segment from rows in any order; those of one id keep theirs."""
        if not (ids[1:] >= ids[:-1]).all():
            order = np.argsort(ids, kind="stable")
            ids, rows = ids[order], rows[order]
        inverse_norms = np.empty(len(ids), np.float32)
        for start in range(0, len(ids), CONVERTED):
            float_rows = rows[start : start + CONVERTED].astype(np.float32)
            norms = np.sqrt(np.vecdot(float_rows, float_rows))
            inverse_norms[start : start + CONVERTED] = 1.0 / np.maximum(norms, 1e-12)
        return cls(ids, rows, inverse_norms, sign_bits(rows))

    def locate(self, ids: IdArray) -> tuple[IdArray, BoolArray]:
        """Return the first row numbers of ids, and which of them are in this segment.

        The number of one that is not may be no row's.
        """
        if not len(self.ids):
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        numbers = self.ids.searchsorted(ids)
        return numbers, self.ids.take(numbers, mode="clip") == ids

    def locate_all(self, ids: IdArray) -> tuple[IdArray, IdArray]:
        """Return the row numbers of some ids, each given once, and which id each row belongs to."""
        starts = np.searchsorted(self.ids, ids, side="left")
        counts = np.searchsorted(self.ids, ids, side="right") - starts
        owners = np.repeat(np.arange(len(ids)), counts)
        before = np.cumsum(counts) - counts
        return np.arange(len(owners)) + (starts - before)[owners], owners

    def cosines(self, vector: FloatArray, numbers: IdArray | None = None) -> FloatArray:
        """Return the cosine of a unit vector with the rows of these numbers, or with all."""
        rows = self.rows if self.float_rows is None else self.float_rows
        inverse_norms = self.inverse_norms
        if numbers is not None:  # `take`, in half of the time of an index
            rows, inverse_norms = rows.take(numbers, axis=0), inverse_norms.take(numbers)
        # vecdot rather than @, which would wake OpenBLAS's threads for 0.05 ms of work.
        products: FloatArray = np.vecdot(rows.astype(np.float32, copy=False), vector)
        return products * inverse_norms

    def add_hamming(self, query: SignBits, distances: npt.NDArray[np.uint16]) -> None:
        """Add to distances (n,) in how many signs rows differ from sign bits (words, 1)."""
        differing = np.bitwise_count(self.bits ^ query)
        for first in range(0, len(differing), _BYTE_HOLDS):
            distances += functools.reduce(np.add, differing[first : first + _BYTE_HOLDS])

    def without(self, ids: IdArray) -> Segment:
        """Return the segment without some ids; itself if it has none of them."""
        numbers, _ = self.locate_all(ids)
        if not len(numbers):
            return self
        left = np.ones(len(self.ids), np.bool_)
        left[numbers] = False
        return Segment(
            self.ids[left], self.rows[left], self.inverse_norms[left], self.bits[:, left]
        )

    def merged_with(self, other: Segment) -> Segment:
        """Join two segments that share no id."""
        ids = np.concatenate([self.ids, other.ids])
        joined = Segment(
            ids,
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.inverse_norms, other.inverse_norms]),
            np.concatenate([self.bits, other.bits], axis=1),
        )
        if not len(self.ids) or not len(other.ids) or self.ids[-1] < other.ids[0]:
            return joined
        order = np.argsort(ids, kind="stable")
        return Segment(
            ids[order], joined.rows[order], joined.inverse_norms[order], joined.bits[:, order]
        )


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
