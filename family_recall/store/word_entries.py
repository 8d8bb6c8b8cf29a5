"""The words of a memory as they are kept in its row: five bytes for each stem.

Four are the number of the stem, little-endian, and the last says how often it stands in each of
the three columns: ``36 · body + 6 · header + context``, of at most 6, 5 and 5. A stem that stands
there more often has as many entries as it takes, one after the other, which add up. Entries ascend
by stem.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from family_recall.store.records import WORD_ENTRY, RowWords, WordEntries
from family_recall.types import IdArray

_PACKED = np.dtype([("stem", "<u4"), ("counts", "u1")])
ENTRY_BYTES = _PACKED.itemsize
_MOST = np.array([6, 5, 5])
"""Of each column, in one entry."""

_IN_BODY = 36
_FACTORS = np.array([_IN_BODY, 6, 1])
_COLUMNS = (np.arange(256)[:, None] // _FACTORS % np.array([256, 6, 6])).astype(np.uint8)


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
    words = row_words(memories)
    entries = np.zeros(len(words.stems), WORD_ENTRY)
    entries["stem"] = words.stems
    for name, column in zip(
        ("body", "header", "context"), words.columns[words.codes].T, strict=True
    ):
        entries[name] = column
    return entries, np.diff(words.bounds)


def row_words(memories: Sequence[bytes]) -> RowWords:
    """Return the words of some memories.

    Raises:
        ValueError: If what is given is no whole number of entries: the file is damaged there.
    """
    packed = np.frombuffer(b"".join(memories), _PACKED)
    stems, codes = packed["stem"].copy(), packed["counts"].copy()
    sizes = np.fromiter(map(len, memories), np.int64, len(memories))
    bounds = np.zeros(len(sizes) + 1, np.int64)
    (sizes // ENTRY_BYTES).cumsum(out=bounds[1:])
    first = np.ones(len(stems) + 1, np.bool_)
    np.not_equal(stems[1:], stems[:-1], out=first[1:-1])
    first[bounds] = True
    if first.all():
        return RowWords(stems, codes >= _IN_BODY, bounds, codes, _COLUMNS)
    starts = first[:-1].nonzero()[0]
    columns = np.add.reduceat(_COLUMNS[codes], starts, dtype=np.uint8)
    return RowWords(
        stems[starts],
        columns[:, 0] > 0,
        starts.searchsorted(bounds),
        np.arange(len(starts)),
        columns,
    )


def packed_entries(words: WordEntries) -> bytes:
    """Pack the entries of one memory."""
    counts = np.stack([words[name] for name in ("body", "header", "context")], axis=1)
    return pack(words["stem"].astype(np.int64), counts.astype(np.int64))[0]
