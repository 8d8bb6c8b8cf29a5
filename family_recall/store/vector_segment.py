"""Some vectors of one shard as arrays: int8 rows, their inverse norms, and their sign bits."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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


def scaled(rows: Int8Rows, inverse_norms: FloatArray) -> FloatArray:
    """Return int8 rows (n, dim) as unit vectors, by their inverse norms (n,)."""
    units: FloatArray = rows.astype(np.float32)
    units *= inverse_norms[:, None]
    return units


def sign_bits(rows: npt.NDArray[np.floating] | Int8Rows) -> SignBits:
    """Pack the signs of rows (n, dim) into 64-bit words."""
    packed = np.packbits(rows > 0, axis=1)
    padded = np.zeros((len(rows), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)
