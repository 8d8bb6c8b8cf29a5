"""Words of texts: split and stemmed as the full-text index does, counted and packed.

A memory's row keeps its words as five bytes for each stem. Four are the number of the stem,
little-endian, and the last says how often it stands in each of the three columns:
``36 · body + 6 · header + context``, of at most 6, 5 and 5. A stem that stands there more often has
as many entries as it takes, one after the other, which add up. Entries ascend by stem.
"""

from __future__ import annotations

import array
import functools
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import apsw
import msgspec
import numpy as np
import numpy.typing as npt

from family_recall.types import BoolArray, IdArray

_TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])
_N_COLUMNS = 3
_LONGEST_STEM = 32_768  # bytes; FTS5 leaves out the rest (FTS5_MAX_TOKEN_SIZE)
_MAY_HAVE_LONGER = _LONGEST_STEM // 4  # characters
_SPLIT_AT_ONCE = 65_536  # characters, in 3 ms
MOST_COMPARED = 32_768
"""Entries of a memory by which it is ranked, beside those of the question: a text of a million
characters has as many if it is a list of numbers, and some 20,000 in any language."""


def split(text: str) -> list[tuple[str, str]]:
    """Split a text exactly as the index does: (word as written, stem) pairs."""
    raw, tokens = _tokens(text)
    return [(raw[start:end].decode(), stem) for start, end, stem in tokens]


def quoted(word: str) -> str:
    """Return words as an FTS5 phrase, in which none is an operator."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


def place_words(text: str) -> list[tuple[int, int, str]]:
    """Return where the words of a text stand, in characters, with their stems."""
    raw, tokens = _tokens(text)
    if text.isascii():
        return tokens
    begins = (np.frombuffer(raw, np.uint8) & 0xC0) != 0x80
    before = np.concatenate([[0], begins.cumsum()]).tolist()
    return [(before[start], before[end], stem) for start, end, stem in tokens]


def find_stems(text: str, stems: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return where words with some stems stand in a text: (start, end) in characters."""
    return tuple((start, end) for start, end, stem in place_words(text) if stem in stems)


@functools.lru_cache(maxsize=8192)
def stem_number(stem: str | bytes) -> int:
    """Return the number of a stem, or of its UTF-8: its crc32."""
    encoded = stem.encode() if isinstance(stem, str) else stem
    return zlib.crc32(encoded[:_LONGEST_STEM])


class RowWords(msgspec.Struct, frozen=True):
    """The stemmed words of some rows, one row after the other, ascending within each.

    ``stems`` (w,) are their crc32, and ``in_body`` (w,) says which stand in the body. Row i has
    those from ``bounds[i]`` up to ``bounds[i + 1]``. ``columns[codes[j]]`` is how often word j
    stands in the body, the header and the context.
    """

    stems: npt.NDArray[np.uint32]
    in_body: BoolArray
    bounds: IdArray
    codes: npt.NDArray[np.integer]
    columns: npt.NDArray[np.uint8]

    def in_own(self) -> BoolArray:
        """Return which words stand in the body or the header, (w,)."""
        counts = self.columns[self.codes]
        in_own: BoolArray = (counts[:, 0] | counts[:, 1]) > 0
        return in_own

    def of_row(self, row: int) -> slice:
        """Return where the words of a row are."""
        return slice(self.bounds[row], self.bounds[row + 1])

    def rows_with(self, stems: npt.NDArray[np.uint32], among: BoolArray) -> IdArray:
        """Return the rows that hold any of some stems, by those words that are `among` (w,)."""
        return self.rows_of((np.isin(self.stems, stems) & among).nonzero()[0])

    def rows_of(self, words: IdArray) -> IdArray:
        """Return the row of each of some words, by their numbers."""
        return self.bounds[1:].searchsorted(words, side="right")


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


def compared(memory: bytes, stems: Sequence[int]) -> bytes:
    """Return the entries of a memory by which it is ranked: all but of one that has very many."""
    if len(memory) <= MOST_COMPARED * ENTRY_BYTES or len(memory) % ENTRY_BYTES:
        return memory
    entries = np.frombuffer(memory, _PACKED)
    is_asked = np.isin(entries["stem"], np.array(stems, np.uint32))
    is_asked[:MOST_COMPARED] = True
    return entries[is_asked].tobytes()


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


def count_words(texts: Sequence[Sequence[str]]) -> list[tuple[bytes, int]]:
    """Split memories' (body, header, context) as the index does: entries, and words, of each."""
    columns = [_stem_numbers(column) for text in texts for column in text]
    sizes = np.array([len(column) for column in columns])
    stems = np.frombuffer(b"".join(columns), np.uint32)
    entries, ends = _entries(stems, sizes)
    n_words = sizes.reshape(-1, _N_COLUMNS).sum(axis=1).tolist()
    starts = [0, *ends]
    return [(entries[start:end], n) for start, end, n in zip(starts, ends, n_words, strict=False)]


def _stem_numbers(text: str) -> array.array[int]:
    """Return the numbers of a text's stems, in its order, as :func:`stem_number` does."""
    numbers = array.array("I")
    for part in _parts(text) if len(text) > _SPLIT_AT_ONCE else (text,):
        stems = _tokenizer().tokenize(
            part.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None,
            include_offsets=False, include_colocated=False,
        )  # fmt: skip
        encoded: Iterable[bytes] = map(str.encode, stems)
        if len(part) > _MAY_HAVE_LONGER:
            encoded = (stem[:_LONGEST_STEM] for stem in encoded)
        numbers.extend(map(zlib.crc32, encoded))
    return numbers


def _parts(text: str) -> Iterator[str]:
    """Divide a long text between two words: while one part is split, no other thread runs."""
    at = 0
    while at < len(text):
        end = text.rfind(" ", at, at + _SPLIT_AT_ONCE)
        if len(text) - at <= _SPLIT_AT_ONCE or (end < 0 and (end := text.find(" ", at)) < 0):
            end = len(text)
        yield text[at : end + 1]
        at = end + 1


def _entries(stems: npt.NDArray[np.uint32], sizes: IdArray) -> tuple[bytes, list[int]]:
    """Count stems by memory and column, packed, and where each memory's entries end, in bytes.

    ``sizes`` (3 n,) says how many of ``stems`` each column of each of n memories has.
    """
    n = len(sizes) // _N_COLUMNS
    if not len(stems):
        return b"", [0] * n
    row, column = np.divmod(np.repeat(np.arange(len(sizes)), sizes), _N_COLUMNS)
    keys = row << 32 | stems
    order = np.argsort(keys, kind="stable")
    keys, column = keys[order], column[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    counts = np.add.reduceat(column[:, None] == np.arange(_N_COLUMNS), first, dtype=np.int64)
    keys = keys[first]
    packed, n_entries = pack(keys & 0xFFFFFFFF, np.minimum(counts, 255))
    n_of = np.bincount(keys >> 32, n_entries, minlength=n).astype(np.int64)
    return packed, (n_of.cumsum() * ENTRY_BYTES).tolist()


class _Tokenizer(threading.local):
    """FTS5's tokenizer, which needs a connection and no file: one for each thread."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        self.tokenize: Any = self._connection.fts5_tokenizer(*_TOKENIZER)


@functools.cache
def _tokenizer() -> _Tokenizer:
    return _Tokenizer()


def _tokens(text: str) -> tuple[bytes, list[tuple[int, int, str]]]:
    raw = text.encode("utf-8", "replace")
    tokens = _tokenizer().tokenize(
        raw, apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=True, include_colocated=False
    )
    return raw, tokens
