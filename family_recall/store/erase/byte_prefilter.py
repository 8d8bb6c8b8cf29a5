"""A prefilter that finds a few thousand 8-byte runs in many megabytes.

Every position of the bytes begins a run of 8, read as a little-endian number. Its product by an
odd number, its mark, is looked up by its first bits in a table that stays in the processor's
cache; what passes is compared with the marks themselves. It goes block by block, so that nothing
leaves the cache in between: five to ten times as fast as over megabytes at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Words64 = npt.NDArray[np.uint64]

RUN = 8  # bytes
EVERY_BIT = np.uint64((1 << 64) - 1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_BLOCK = 1 << 16  # bytes
_SPREAD = 9  # bits: a run in 2⁹ passes the table where there is room
_TABLE_BITS = (12, 22)  # at least and at most; 2²² bytes are what a second-level cache holds


@dataclass(frozen=True, slots=True, eq=False)
class BytePrefilter:
    """The runs that are looked for; ``mask`` chooses the bits of a run that count."""

    runs: Words64
    mask: np.uint64 = EVERY_BIT
    _marks: Words64 = field(init=False)
    _table: npt.NDArray[np.bool_] = field(init=False)
    _table_bits: int = field(init=False)

    def __post_init__(self) -> None:
        """Fill the table."""
        marks = np.unique(_marks_of(self.runs & self.mask))
        wanted = int(np.ceil(np.log2(max(len(marks), 1)))) + _SPREAD
        bits = min(max(wanted, _TABLE_BITS[0]), _TABLE_BITS[1])
        table = np.zeros(1 << bits, np.bool_)
        table[marks >> np.uint64(64 - bits)] = True
        object.__setattr__(self, "_marks", marks)
        object.__setattr__(self, "_table", table)
        object.__setattr__(self, "_table_bits", bits)

    def passing(self, data: bytes) -> Words64:
        """Return the runs in some bytes that are looked for, masked, ascending and each once."""
        passing: list[Words64] = [np.zeros(0, np.uint64)]
        size = (8, _BLOCK // 8)
        runs, products = np.empty(size, np.uint64), np.empty(size, np.uint64)
        passed = np.empty(size, np.bool_)
        shift = np.uint64(64 - self._table_bits)
        whole = max(len(data) - RUN + 1, 0) // _BLOCK * _BLOCK
        for start in range(0, whole, _BLOCK):
            for offset in range(RUN):
                runs[offset] = np.frombuffer(data, "<u8", size[1], start + offset)
            if self.mask != EVERY_BIT:
                np.bitwise_and(runs, self.mask, out=runs)
            np.multiply(runs, _MULTIPLIER, out=products)
            np.right_shift(products, shift, out=products)
            np.take(self._table, products.view(np.int64), out=passed, mode="clip")
            passing.append(self._marked(runs[passed]))
        passing.append(self._marked(runs_of(data[whole:]) & self.mask))
        return np.unique(np.concatenate(passing))

    def _marked(self, runs: Words64) -> Words64:
        if not len(self._marks) or not len(runs):
            return runs[:0]
        own = _marks_of(runs)
        nearest = np.minimum(np.searchsorted(self._marks, own), len(self._marks) - 1)
        marked: Words64 = runs[self._marks[nearest] == own]
        return marked


def runs_of(data: bytes) -> Words64:
    """Return every run of 8 bytes, as little-endian numbers in the order they begin."""
    n = len(data) - RUN + 1
    if n <= 0:
        return np.zeros(0, np.uint64)
    runs = np.empty(n, np.uint64)
    for start in range(min(RUN, n)):
        whole = (len(data) - start) // RUN
        runs[start::RUN] = np.frombuffer(data, "<u8", whole, start)
    return runs


def as_bytes(runs: Words64) -> list[bytes]:
    """Return runs as 8 bytes each."""
    packed = runs.astype("<u8").tobytes()
    return [packed[start : start + RUN] for start in range(0, len(packed), RUN)]


def _marks_of(runs: Words64) -> Words64:
    """Return the products of runs by an odd number, which no two runs share.

    Their first bits spread evenly (Dietzfelbinger et al., J. Algorithms 1997,
    doi:10.1006/jagm.1997.0873).
    """
    marks: Words64 = np.multiply(runs, _MULTIPLIER, dtype=np.uint64)
    return marks
