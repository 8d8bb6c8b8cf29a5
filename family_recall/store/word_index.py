"""The full-text index: an FTS5 table for each shard, with counts of its words beside it.

An index looks a word up by separators: the shortest beginnings, or the whole, of the first word of
each page (table ``words_N_idx``). FTS5 writes them with the page and never again, ``secure-delete``
or not: one made from a word that is deleted later stays until the page is merged.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.file.schema import (
    SHARD_OF_MEMORY,
    id_range,
    partition_of_shard,
    shard_of,
    shards_in,
    words_table,
)
from family_recall.store.words import count_words, quoted, row_words, split, stem_number

_MERGED_PAGES = 64
_NO_MERGE = 2  # fewer rows change where nothing was left to merge
_COUNT_BITS = 31  # beside the 32 of a stem, and a sign
_BATCH = 500  # memories
TERM = "CAST(term AS BLOB)"
"""A stem of a vocabulary: what FTS5 leaves of a very long word may end inside a character."""


@dataclass(frozen=True, slots=True)
class WordIndex:
    """The words of memories, inside one write transaction.

    A partition's statistics count the memories whose words are in its index.
    """

    connection: apsw.Connection

    def add(self, ids: Sequence[int]) -> None:
        """Add the words of stored memories, and store their counts in the rows."""
        for shard, texts, n_bounded in self._by_shard(ids):
            counted = count_words([text[1:] for text in texts])
            name = words_table(shard)
            self.connection.executemany(
                f"INSERT INTO {name}(rowid, body, header, context) VALUES(?, ?, ?, ?)", texts
            )
            self.connection.executemany(
                "UPDATE memory SET words = ?, n_words = ? WHERE id = ?",
                [(*words, text[0]) for words, text in zip(counted, texts, strict=True)],
            )
            self._count(shard, counted, n_bounded, +1)

    def remove(self, ids: Sequence[int]) -> None:
        """Remove the words of stored memories, which must read as when they were added."""
        for shard, texts, n_bounded in self._by_shard(ids):
            counted = count_words([text[1:] for text in texts])
            name = words_table(shard)
            self.connection.executemany(
                f"INSERT INTO {name}({name}, rowid, body, header, context)"
                " VALUES('delete', ?, ?, ?, ?)",
                texts,
            )
            self._count(shard, counted, n_bounded, -1)
            self.connection.execute("DELETE FROM word_count WHERE shard = ? AND n <= 0", (shard,))

    def with_phrase(self, partition: int, phrase: str) -> list[tuple[int, str]]:
        """List the current memories of a partition whose body has a phrase: (id, text)."""
        table = words_table(shard_of(partition, past=False))
        return sql.rows(
            self.connection,
            f"SELECT m.id, m.text FROM {table} CROSS JOIN memory m ON m.id = {table}.rowid"
            f" WHERE {table} MATCH ?",
            (f"body : {quoted(phrase)}",),
        )

    def stems_of(self, ids: Sequence[int]) -> set[str]:
        """Return the stems of the memories' own words."""
        rows = sql.rows(
            self.connection,
            "SELECT body, header FROM words_content WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {stem for texts in rows for text in texts for _, stem in split(text)}

    def unused(self, stems: Iterable[str]) -> set[str]:
        """Return those of some stems that no memory of the file has any more."""
        # Shard by shard: the table is ordered by shard first, and there are few.
        query = (
            "SELECT EXISTS (SELECT 1 FROM partition p JOIN word_count w"
            " ON w.shard IN (2 * p.no, 2 * p.no + 1) AND w.stem = ?)"
        )
        return {
            stem for stem in stems if not sql.row(self.connection, query, (stem_number(stem),))[0]
        }

    def rewrite_if_stale(self) -> None:
        """Rewrite the indexes that keep words between their pages which no memory has."""
        rewrite_if_stale(self.connection)

    def _by_shard(
        self, ids: Sequence[int]
    ) -> Iterator[tuple[int, list[tuple[int, str, str, str]], int]]:
        """Yield shards with some of the memories: (id, body, header, context) of each.

        And how many of those are current and valid for a time only.
        """
        for start in range(0, len(ids), _BATCH):
            rows = sql.rows(
                self.connection,
                f"SELECT {SHARD_OF_MEMORY} AS shard, m.superseded_s IS NULL"
                " AND coalesce(m.valid_from_s, m.valid_until_s) IS NOT NULL,"
                " m.id, w.body, w.header, w.context FROM memory m JOIN words_content w"
                " ON w.id = m.id WHERE m.id IN (SELECT value FROM json_each(?))"
                " ORDER BY shard, m.id",
                (json.dumps(list(ids[start : start + _BATCH])),),
            )
            for shard, group in itertools.groupby(rows, operator.itemgetter(0)):
                of_shard = list(group)
                yield shard, [row[2:] for row in of_shard], sum(row[1] for row in of_shard)

    def _count(
        self, shard: int, counted: Sequence[tuple[bytes, int]], n_bounded: int, sign: int
    ) -> None:
        """Count a shard's memories and words, which were added (``sign`` 1) or removed (-1)."""
        n, n_words = ("n_past", "words_past") if shard % 2 else ("n_current", "words_current")
        self.connection.execute(
            f"UPDATE main.partition SET {n} = {n} + ?, {n_words} = {n_words} + ?,"
            " n_bounded = n_bounded + ? WHERE no = ?",
            (
                sign * len(counted),
                sign * sum(words for _, words in counted),
                sign * n_bounded,
                partition_of_shard(shard),
            ),
        )
        stems = row_words([entries for entries, _ in counted]).stems
        # One array of numbers, of a stem and its count each, is bound in half of the time of rows.
        stems, counts = np.unique(stems, return_counts=True)
        pairs = stems.astype(np.int64) << _COUNT_BITS | sign * counts + (1 << _COUNT_BITS - 1)
        if len(pairs):
            self.connection.execute(
                "INSERT INTO word_count(shard, stem, n) SELECT ?1, value >> ?2,"
                " (value & ((1 << ?2) - 1)) - (1 << (?2 - 1)) FROM carray(?3) WHERE TRUE"
                " ON CONFLICT DO UPDATE SET n = n + excluded.n",
                (shard, _COUNT_BITS, sql.id_array(pairs)),
            )


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


def drop(connection: apsw.Connection, shard: int) -> None:
    """Delete a shard's words and their counts."""
    name = words_table(shard)
    try:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    except apsw.SQLError:  # FTS5 opens no index whose version is damaged
        connection.execute(f"INSERT OR REPLACE INTO {name}_config(k, v) VALUES('version', 4)")
        connection.execute(f"DROP TABLE {name}")
    connection.execute("DELETE FROM word_count WHERE shard = ?", (shard,))


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


def vocabulary(
    connection: apsw.Connection, name: str, kind: str, columns: str, condition: str
) -> list[tuple[Any, ...]]:
    """Read an index through its vocabulary (sqlite.org/fts5.html, "fts5vocab")."""
    with _vocabulary(connection, name, kind):
        return sql.rows(connection, f"SELECT {columns} FROM temp.vocabulary {condition}")


def terms(connection: apsw.Connection) -> Iterator[tuple[int, bytes]]:
    """Yield the stems that each shard's index lists."""
    for shard in shards_in(connection):
        for (stem,) in vocabulary(connection, words_table(shard), "row", TERM, ""):
            yield shard, stem


def stale_separators(connection: apsw.Connection, shard: int) -> int:
    """Count a shard's separators that no word of the shard begins with."""
    name = words_table(shard)
    with _vocabulary(connection, name, "row"):
        # The vocabulary first: reading it makes FTS5 write what it has gathered.
        sql.row(connection, "SELECT 1 FROM temp.vocabulary LIMIT 1")
        # A separator's first byte says which index of the table it is of; the first page has none.
        separators = sql.rows(
            connection, f"SELECT substr(term, 2) FROM {name}_idx WHERE length(term) > 1"
        )
        return sum(
            not isinstance(separator, bytes) or not _begins_a_word(connection, separator)
            for (separator,) in separators
        )


def rewrite_if_stale(connection: apsw.Connection) -> None:
    """Rewrite the index of each shard with stale separators, from the texts of its memories.

    FTS5's own ``rebuild`` reads every row of its content, and the shards share theirs.
    """
    for shard in shards_in(connection):
        if not stale_separators(connection, shard):
            continue
        name = words_table(shard)
        connection.execute(f"INSERT INTO {name}({name}) VALUES('delete-all')")
        connection.execute(
            f"INSERT INTO {name}(rowid, body, header, context)"
            " SELECT w.id, w.body, w.header, w.context"
            " FROM memory m CROSS JOIN words_content w ON w.id = m.id"
            f" WHERE m.id BETWEEN ? AND ? AND {SHARD_OF_MEMORY} = ? ORDER BY m.id",
            (*id_range(partition_of_shard(shard)), shard),
        )


@contextlib.contextmanager
def _vocabulary(connection: apsw.Connection, name: str, kind: str) -> Iterator[None]:
    """Have an index's vocabulary as ``temp.vocabulary``."""
    connection.execute(
        f"CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, {name}, {kind})"
    )
    try:
        yield
    finally:
        connection.execute("DROP TABLE IF EXISTS temp.vocabulary")


def _begins_a_word(connection: apsw.Connection, separator: bytes) -> bool:
    # Bound as bytes: it may end inside a character.
    row = sql.row(
        connection,
        f"SELECT {TERM} FROM temp.vocabulary WHERE term >= CAST(? AS TEXT) LIMIT 1",
        (separator,),
    )
    return row is not None and row[0].startswith(separator)
