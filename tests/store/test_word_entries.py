"""The words of memories in five bytes a stem: what is packed is unpacked, whatever the counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from family_recall.store.words import pack, row_words

_COUNT = st.integers(0, 255)
_MEMORIES = st.lists(
    st.dictionaries(
        st.integers(0, 2**32 - 1) | st.integers(0, 3),
        st.tuples(_COUNT, _COUNT, _COUNT).filter(any),
        max_size=8,
    ).map(lambda counts: [(stem, *counts[stem]) for stem in sorted(counts)]),
    max_size=5,
)


def packed(words: list[tuple[int, ...]]) -> bytes:
    """Pack the (stem, body, header, context) of one memory."""
    table = np.array(words, np.int64).reshape(-1, 4)
    return pack(table[:, 0], table[:, 1:])[0]


@given(_MEMORIES)
@example([[(7, 1, 0, 0)], [], [(7, 255, 255, 255), (8, 6, 5, 5)], [(8, 0, 0, 6)]])
def test_what_is_packed_is_unpacked(memories: list[list[tuple[int, ...]]]) -> None:
    """The entries of memories come back as they were, and each memory's are told apart."""
    unpacked = row_words([packed(words) for words in memories])

    columns = unpacked.columns[unpacked.codes].tolist()
    entries = [
        (stem, *counts) for stem, counts in zip(unpacked.stems.tolist(), columns, strict=True)
    ]
    assert np.diff(unpacked.bounds).tolist() == [len(words) for words in memories]
    assert entries == [entry for words in memories for entry in words]
    assert unpacked.in_body.tolist() == [body > 0 for _, body, _, _ in entries]


@pytest.mark.parametrize(
    ("counts", "n_bytes"),
    [((1, 0, 0), 5), ((6, 5, 5), 5), ((7, 0, 0), 10), ((0, 11, 0), 15), ((255, 0, 0), 215)],
)
def test_a_stem_takes_five_bytes_as_long_as_it_is_rare(
    counts: tuple[int, int, int], n_bytes: int
) -> None:
    """An entry counts to 6, 5 and 5 by column; beyond that a stem has several: 255 = 42 · 6 + 3."""
    assert len(packed([(12, *counts)])) == n_bytes


def test_damaged_words_are_an_error() -> None:
    """Bytes that are no whole number of entries are not read."""
    with pytest.raises(ValueError, match="multiple"):
        row_words([bytes(5), bytes(4)])
