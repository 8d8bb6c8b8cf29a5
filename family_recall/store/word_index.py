"""The full-text index: an FTS5 table for each shard, with counts of its words beside it.

An index looks a word up by separators: the shortest beginnings, or the whole, of the first word of
each page (table ``words_N_idx``). FTS5 writes them with the page and never again, ``secure-delete``
or not: one made from a word that is deleted later stays until the page is merged.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.file.schema import (
    SHARD_OF_MEMORY,
    id_range,
    partition_of,
    partition_of_shard,
    shard_of,
    shards_in,
    words_table,
)
from family_recall.store.words import count_words

if TYPE_CHECKING:
    from family_recall.store.partitions import Counters

from family_recall.store.words import (
    Indexed,
    Words,
    quoted,
    row_words,
    split,
    stem_number,
)

_MERGED_PAGES = 64
_NO_MERGE = 2  # fewer rows change where nothing was left to merge
_COUNT_BITS = 31  # beside the 32 of a stem, and a sign
_BATCH = 500  # memories


class WordIndex:
    """Adds and removes the words of memories; those of new memories are gathered until read."""

    def __init__(self, connection: apsw.Connection, counters: Counters) -> None:
        self._connection = connection
        self._counters = counters
        self._gathered: dict[int, list[Words]] = {}
        self.before_flush: Callable[[], None] = lambda: None

    def gather(self, rows: Iterable[Words], *, past: bool) -> None:
        """Add memories' words, with the others that are gathered at the next :meth:`flush`."""
        for partition, group in _by_partition(rows).items():
            self._gathered.setdefault(shard_of(partition, past=past), []).extend(group)
            self._count(partition, group, +1, past=past)

    def add(self, ids: Sequence[int]) -> None:
        """Add the words of stored memories, and store their counts in the rows."""
        self.before_flush()
        for (partition, past), rows in self._stored(ids).items():
            self._connection.executemany(
                "UPDATE memory SET words = ?, n_words = ? WHERE id = ?",
                [(row.entries, row.n_words, row.id) for row in rows],
            )
            self.gather(rows, past=past)
            self._counters.of(partition).rewrites += 1

    def remove(self, ids: Sequence[int]) -> None:
        """Remove the words of stored memories from index and counts."""
        self.flush()
        for start in range(0, len(ids), _BATCH):
            for (partition, past), rows in self._stored(ids[start : start + _BATCH]).items():
                remove(self._connection, shard_of(partition, past=past), rows)
                self._count(partition, rows, -1, past=past)
                self._counters.of(partition).rewrites += 1

    def supersede(self, memory: int) -> None:
        """Move a memory's words from the current ones of its partition to the superseded ones."""
        self.remove([memory])
        for rows in self._stored([memory]).values():
            self.gather(rows, past=True)

    def with_phrase(self, partition: int, phrase: str) -> list[tuple[int, str]]:
        """List the current memories of a partition whose body has a phrase: (id, text).

        Not those whose words are not gathered yet.
        """
        self._write()
        table = words_table(shard_of(partition, past=False))
        return sql.rows(
            self._connection,
            f"SELECT m.id, m.text FROM {table} CROSS JOIN memory m ON m.id = {table}.rowid"
            f" WHERE {table} MATCH ?",
            (f"body : {quoted(phrase)}",),
        )

    def stems_of(self, ids: Sequence[int]) -> set[str]:
        """Return the stems of the memories' own words."""
        rows = sql.rows(
            self._connection,
            "SELECT body, header FROM words_content WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {stem for texts in rows for text in texts for _, stem in split(text)}

    def unused(self, stems: Iterable[str]) -> set[str]:
        """Return those of some stems that no memory of the file has any more."""
        self.flush()
        # Shard by shard: the table is ordered by shard first, and there are few.
        query = (
            "SELECT EXISTS (SELECT 1 FROM partition p JOIN word_count w"
            " ON w.shard IN (2 * p.no, 2 * p.no + 1) AND w.stem = ?)"
        )
        return {
            stem for stem in stems if not sql.row(self._connection, query, (stem_number(stem),))[0]
        }

    def rewrite_if_stale(self) -> None:
        """Rewrite the indexes that keep words between their pages which no memory has."""
        self.flush()
        rewrite_if_stale(self._connection)

    def flush(self) -> None:
        """Write the words gathered so far, and before them what is gathered elsewhere."""
        self.before_flush()
        self._write()

    def _write(self) -> None:
        for shard, rows in self._gathered.items():
            add(self._connection, shard, rows)
        self._gathered.clear()

    def _stored(self, ids: Sequence[int]) -> dict[tuple[int, bool], list[Words]]:
        """Split and count the words of stored memories, by partition and whether superseded."""
        texts: dict[bool, list[Indexed]] = {}
        for memory, past, body, header, context in sql.rows(
            self._connection,
            "SELECT m.id, m.superseded_s IS NOT NULL, w.body, w.header, w.context"
            " FROM memory m JOIN words_content w ON w.id = m.id"
            " WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
            (json.dumps(list(ids)),),
        ):
            texts.setdefault(bool(past), []).append(Indexed(memory, body, header, context))
        return {
            (partition, past): rows
            for past, group in texts.items()
            for partition, rows in _by_partition(count_words(group)).items()
        }

    def _count(self, partition: int, rows: Sequence[Words], sign: int, *, past: bool) -> None:
        n_words = sign * sum(row.n_words for row in rows)
        change = self._counters.of(partition)
        if past:
            change.words_past += n_words
        else:
            change.words_current += n_words


def _by_partition(rows: Iterable[Words]) -> dict[int, list[Words]]:
    grouped: dict[int, list[Words]] = {}
    for row in rows:
        grouped.setdefault(partition_of(row.id), []).append(row)
    return grouped


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


def _count(connection: apsw.Connection, shard: int, rows: Sequence[Words], sign: int) -> None:
    words = row_words([row.entries for row in rows])
    stems, counts = np.unique(words.stems, return_counts=True)
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


def vocabulary(
    connection: apsw.Connection, name: str, kind: str, columns: str, condition: str
) -> list[tuple[Any, ...]]:
    """Read an index through its vocabulary (sqlite.org/fts5.html, "fts5vocab")."""
    with _vocabulary(connection, name, kind):
        return sql.rows(connection, f"SELECT {columns} FROM temp.vocabulary {condition}")


def terms(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    """Yield the stems that each shard's index lists."""
    for shard in shards_in(connection):
        for (stem,) in vocabulary(connection, words_table(shard), "row", "term", ""):
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
        return sum(not _begins_a_word(connection, bytes(separator)) for (separator,) in separators)


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
        connection.execute("DROP TABLE temp.vocabulary")


def _begins_a_word(connection: apsw.Connection, separator: bytes) -> bool:
    # Bound as bytes: it may end inside a character.
    row = sql.row(
        connection,
        "SELECT term FROM temp.vocabulary WHERE term >= CAST(? AS TEXT) LIMIT 1",
        (separator,),
    )
    return row is not None and row[0].encode().startswith(separator)
