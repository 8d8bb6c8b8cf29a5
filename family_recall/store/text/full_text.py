"""Full-text search: one FTS5 table a shard, and counts of its words beside it."""

from __future__ import annotations

import array
import functools
import itertools
import threading
import zlib
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from family_recall.store import word_entries
from family_recall.store.file import sql
from family_recall.store.file.row_ids import words_table
from family_recall.store.records import stem_number
from family_recall.store.scope_sql import Condition
from family_recall.types import IdArray

_TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])
_CACHED_TEXTS = 1_000
_N_COLUMNS, _STEM_BYTES = 3, 4
_MERGED_PAGES = 64
_NO_MERGE = 2  # fewer rows change where nothing was left to merge
_COUNT_BITS = 31  # beside the 32 of a stem, and a sign


class Indexed(NamedTuple):
    """One memory's texts, column by column; of its context, who said what before it."""

    id: int
    body: str
    header: str
    speaker: str | None
    before: str

    @property
    def context(self) -> str:
        """The turn before, as it is indexed."""
        # A colon separates a speaker from a text, so no word spans both.
        return f"{self.speaker}: {self.before}" if self.speaker else self.before


class Words(NamedTuple):
    """One memory's words: what FTS5 indexes, and the counts kept beside the row."""

    id: int
    body: str
    header: str
    context: str
    entries: bytes
    n_words: int


def split(text: str) -> list[tuple[str, str]]:
    """Split a text exactly as the index does: (word as written, stem) pairs."""
    raw, tokens = _tokens(text)
    return [(raw[start:end].decode(), stem) for start, end, stem in tokens]


def find_stems(text: str, stems: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return where words with some stems stand in a text: (start, end) in characters."""
    raw, tokens = _tokens(text)
    spans = [(start, end) for start, end, stem in tokens if stem in stems]
    if text.isascii():
        return tuple(spans)
    return tuple((len(raw[:start].decode()), len(raw[:end].decode())) for start, end in spans)


def place_words(text: str) -> list[tuple[int, str]]:
    """Return where the words of a text begin, in characters, with their stems."""
    raw, tokens = _tokens(text)
    if text.isascii():
        return [(start, stem) for start, _, stem in tokens]
    steps = itertools.pairwise([0, *(start for start, _, _ in tokens)])
    starts = itertools.accumulate(len(raw[before:start].decode()) for before, start in steps)
    return [(start, stem) for start, (_, _, stem) in zip(starts, tokens, strict=True)]


class WordCounter:
    """Counts the words of memories as the index splits them, for as long as one transaction.

    It caches the counts of some texts: a turn's text is the context of the next one, and its
    speaker and day are its neighbours' too.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._tokenize: Any = connection.fts5_tokenizer(*_TOKENIZER)
        self._cache: dict[str, bytes] = {}

    def count(self, texts: Sequence[Indexed]) -> list[Words]:
        """Count the words of memories column by column, of all of them in one step."""
        columns = list[bytes]()
        for text in texts:
            context = self._stems(text.before)
            if text.speaker:
                context = self._stems(text.speaker) + context
            columns += (self._stems(text.body), self._stems(text.header), context)
        sizes = np.array([len(column) for column in columns]) // _STEM_BYTES
        stems = np.frombuffer(b"".join(columns), np.uint32)
        entries, ends = _entries(stems, sizes)
        n_words = sizes.reshape(-1, _N_COLUMNS).sum(axis=1).tolist()
        return [
            Words(text.id, text.body, text.header, text.context, entries[start:end], n)
            for text, start, end, n in zip(texts, [0, *ends], ends, n_words, strict=False)
        ]

    def _stems(self, text: str) -> bytes:
        """Return the numbers of a text's stems, in its order, as unsigned integers of 32 bits."""
        cached = self._cache.get(text)
        if cached is not None:
            return cached
        stems = self._tokenize(
            text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None,
            include_offsets=False, include_colocated=False,
        )  # fmt: skip
        # As `stem_number` does, of all of them in one step.
        numbers = array.array("I", map(zlib.crc32, map(str.encode, stems))).tobytes()
        if len(self._cache) >= _CACHED_TEXTS:
            self._cache.clear()
        self._cache[text] = numbers
        return numbers


def _entries(stems: npt.NDArray[np.uint32], sizes: IdArray) -> tuple[bytes, list[int]]:
    """Count stems by memory and column: :mod:`stores.word_entries`, and where each's end, in bytes.

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
    packed, n_entries = word_entries.pack(keys & 0xFFFFFFFF, np.minimum(counts, 255))
    n_of = np.bincount(keys >> 32, n_entries, minlength=n).astype(np.int64)
    return packed, (n_of.cumsum() * word_entries.ENTRY_BYTES).tolist()


def add(connection: apsw.Connection, shard: int, rows: Sequence[Words]) -> None:
    """Add memories to a shard's words and counts."""
    name = words_table(shard)
    connection.executemany(
        f"INSERT INTO {name}(rowid, body, header, context) VALUES(?, ?, ?, ?)",
        [(row.id, row.body, row.header, row.context) for row in rows],
    )
    _count(connection, shard, rows, +1)


def remove(connection: apsw.Connection, shard: int, rows: Sequence[Words]) -> None:
    """Remove memories from a shard; their words must be those they were added with."""
    name = words_table(shard)
    connection.executemany(
        f"INSERT INTO {name}({name}, rowid, body, header, context) VALUES('delete', ?, ?, ?, ?)",
        [(row.id, row.body, row.header, row.context) for row in rows],
    )
    _count(connection, shard, rows, -1)
    connection.execute("DELETE FROM word_count WHERE shard = ? AND n <= 0", (shard,))


def create(connection: apsw.Connection, shard: int) -> None:
    """Create a shard's FTS5 table.

    External content, so the text is stored once; not contentless, because only then does
    FTS5's secure-delete leave no word behind (sqlite.org/fts5.html#the_secure_delete_option).
    """
    name = words_table(shard)
    connection.execute(
        f"CREATE VIRTUAL TABLE {name} USING fts5(body, header, context,"
        " content='words_content', content_rowid='id',"
        " tokenize='porter unicode61 remove_diacritics 2');"
        f"INSERT INTO {name}({name}, rank) VALUES('secure-delete', 1);"
    )


def clear(connection: apsw.Connection, shard: int) -> None:
    """Delete a shard's words and their counts."""
    connection.execute(f"DROP TABLE IF EXISTS {words_table(shard)}")
    connection.execute("DELETE FROM word_count WHERE shard = ?", (shard,))
    create(connection, shard)


def merge(connection: apsw.Connection, shard: int) -> None:
    """Merge a shard's index into one segment: 3 µs a memory.

    In steps, so that what one frees the next can use (sqlite.org/fts5.html#the_merge_command).
    """
    name = words_table(shard)
    pages = -_MERGED_PAGES  # begins to merge all segments; a number above 0 goes on with that
    changes = _NO_MERGE
    while changes >= _NO_MERGE:
        before = connection.total_changes()
        connection.execute(f"INSERT INTO {name}({name}, rank) VALUES('merge', ?)", (pages,))
        changes, pages = connection.total_changes() - before, _MERGED_PAGES


def counts_by_shard(
    connection: apsw.Connection, shards: Sequence[int], stems: Sequence[str]
) -> dict[str, dict[int, int]]:
    """Count the memories of each shard that hold each stem; shards without one are absent."""
    numbers = {stem: stem_number(stem) for stem in stems}
    rows = sql.rows(
        connection,
        "SELECT w.stem, w.shard, w.n FROM carray(?) s CROSS JOIN carray(?) t"
        " CROSS JOIN word_count w ON w.shard = s.value AND w.stem = t.value",
        (
            sql.id_array(np.array(shards, np.int64)),
            sql.id_array(np.array(list(numbers.values()), np.int64)),
        ),
    )
    counts: dict[int, dict[int, int]] = {number: {} for number in numbers.values()}
    for number, shard, n in rows:
        counts[number][shard] = n
    return {stem: counts[number] for stem, number in numbers.items()}


def expression(words: Sequence[str], common: Sequence[str]) -> str:
    """Return an FTS5 query: any of the words, each quoted so that none is an operator.

    Common words add to the score of a match and are not looked up by themselves: half the memories
    of a family hold somebody's name, and scoring them all would cost more than everything else
    (0.8 ms for each thousand).

    >>> expression(["dinner", "lake"], [])
    '"dinner" OR "lake"'
    >>> expression(["dinner"], ["Priya"])
    '("dinner") AND ("dinner" OR "Priya")'
    """
    rare = " OR ".join(quoted(word) for word in words)
    if not common:
        return rare
    return f"({rare}) AND ({' OR '.join([rare, *(quoted(word) for word in common)])})"


def match(
    connection: apsw.Connection,
    shard: int,
    query: str,
    k: int,
    weights: tuple[float, float, float],
    condition: Condition | None = None,
) -> list[tuple[int, float]]:
    """Find a shard's best k memories for an :func:`expression`, by FTS5's BM25: (id, score).

    The lowest score is the best (sqlite.org/fts5.html). With a condition on ``memory m`` only rows
    that meet it count towards k.
    """
    name = words_table(shard)
    # `ORDER BY bm25()` rather than `ORDER BY rank`: half the time at 100,000 memories.
    score = f"bm25({name}, {weights[0]}, {weights[1]}, {weights[2]}) AS s"
    if condition is None:
        return sql.rows(
            connection,
            f"SELECT rowid, {score} FROM {name} WHERE {name} MATCH ? ORDER BY s LIMIT ?",
            (query, k),
        )
    return sql.rows(
        connection,
        f"SELECT m.id, {score} FROM {name} CROSS JOIN memory m ON m.id = {name}.rowid"
        f" WHERE {name} MATCH ? AND {condition[0]} ORDER BY s LIMIT ?",
        (query, *condition[1], k),
    )


def _count(connection: apsw.Connection, shard: int, rows: Sequence[Words], sign: int) -> None:
    entries, _ = word_entries.unpack([row.entries for row in rows])
    stems, counts = np.unique(entries["stem"], return_counts=True)
    if not len(stems):
        return
    # One array of numbers, of a stem and its count each, is bound in half of the time of rows.
    pairs = stems.astype(np.int64) << _COUNT_BITS | sign * counts + (1 << _COUNT_BITS - 1)
    connection.execute(
        "INSERT INTO word_count(shard, stem, n) SELECT ?1, value >> ?2,"
        " (value & ((1 << ?2) - 1)) - (1 << (?2 - 1)) FROM carray(?3) WHERE TRUE"
        " ON CONFLICT DO UPDATE SET n = n + excluded.n",
        (shard, _COUNT_BITS, sql.id_array(pairs)),
    )


def quoted(word: str) -> str:
    """Return words as an FTS5 phrase, in which none is an operator."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


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
