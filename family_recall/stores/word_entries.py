"""The words of a memory as they are kept in its row: five bytes for each stem.

Four are the number of the stem, little-endian, and the last says how often it stands in each of
the three columns: ``36 · body + 6 · header + context``, of at most 6, 5 and 5. A stem that stands
there more often has as many entries as it takes, one after the other, which add up. Entries ascend
by stem.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from family_recall.stores.records import WORD_ENTRY, WordEntries
from family_recall.types import BoolArray, IdArray

_PACKED = np.dtype([("stem", "<u4"), ("counts", "u1")])
ENTRY_BYTES = _PACKED.itemsize
_MOST = np.array([6, 5, 5])
"""Of each column, in one entry."""

_FACTORS = np.array([36, 6, 1])
_COUNTS = np.arange(256)[:, None] // _FACTORS % np.array([256, 6, 6])
# WORD_ENTRY as one number: a byte a column above the stem.
_AS_ENTRY = (_COUNTS << np.array([32, 40, 48])).sum(axis=1).astype(np.uint64)


def pack(stems: IdArray, counts: IdArray) -> tuple[bytes, IdArray]:
    """Pack stems (n,), ascending within a memory, with their counts (n, 3) by column.

    Returns:
        The entries of all of them, and how many each stem has (n,).
    """
    n_entries = np.maximum((-(-counts // _MOST)).max(axis=1, initial=1), 1)
    if len(counts) and n_entries.max() > 1:
        ends = n_entries.cumsum()
        earlier = np.arange(ends[-1]) - np.repeat(ends - n_entries, n_entries)
        stems = np.repeat(stems, n_entries)
        counts = np.repeat(counts, n_entries, axis=0) - earlier[:, None] * _MOST
        counts = np.clip(counts, 0, _MOST)
    packed = np.empty(len(stems), _PACKED)
    packed["stem"] = stems
    packed["counts"] = counts @ _FACTORS
    return packed.tobytes(), n_entries


def unpack(memories: Sequence[bytes]) -> tuple[WordEntries, IdArray]:
    """Return the entries of some memories, one after the other, and how many each has.

    Raises:
        ValueError: If what is given is no whole number of entries: the file is damaged there.
    """
    packed = np.frombuffer(b"".join(memories), _PACKED)
    entries = packed["stem"] | _AS_ENTRY[packed["counts"]]
    sizes = np.array([len(words) for words in memories], np.int64) // _PACKED.itemsize
    first = _begins(packed["stem"], sizes)
    if not first.all():
        starts = np.flatnonzero(first)
        entries = np.add.reduceat(entries & _ABOVE_STEM, starts) | packed["stem"][starts]
        ends = np.concatenate([[0], first.cumsum()])[sizes.cumsum()]
        sizes = np.diff(ends, prepend=0)
    return entries.astype("<u8", copy=False).view(WORD_ENTRY), sizes


def packed_entries(words: WordEntries) -> bytes:
    """Pack the entries of one memory."""
    counts = np.stack([words[name] for name in ("body", "header", "context")], axis=1)
    return pack(words["stem"].astype(np.int64), counts.astype(np.int64))[0]


_ABOVE_STEM = np.uint64(0xFFFFFFFF_00000000)


def _begins(stems: npt.NDArray[np.uint32], sizes: IdArray) -> BoolArray:
    """Return which entries are the first of their stem in their memory."""
    first = np.ones(len(stems), np.bool_)
    first[1:] = stems[1:] != stems[:-1]
    starts = sizes.cumsum()[:-1]
    first[starts[starts < len(stems)]] = True
    return first
