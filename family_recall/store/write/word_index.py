"""The words of memories inside one write transaction: FTS5 tables, stem counts, counters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

import apsw

from family_recall.store.file import sql
from family_recall.store.file.row_ids import partition_of, shard_of, words_table
from family_recall.store.records import stem_number
from family_recall.store.text import full_text, index_terms
from family_recall.store.text.author_names import name_of
from family_recall.store.write.counters import Counters

_BATCH = 500  # memories


class WordIndex:
    """Adds and removes the words of memories; those of new memories are gathered until read."""

    def __init__(self, connection: apsw.Connection, counters: Counters) -> None:
        self._connection = connection
        self._counters = counters
        self._counter: full_text.WordCounter | None = None
        self._gathered: dict[int, list[full_text.Words]] = {}
        self.before_flush: Callable[[], None] = lambda: None

    def count(self, texts: Sequence[full_text.Indexed]) -> list[full_text.Words]:
        """Split and count the words of memories."""
        if self._counter is None:
            self._counter = full_text.WordCounter(self._connection)
        return self._counter.count(texts)

    def gather(self, rows: Iterable[full_text.Words], *, past: bool) -> None:
        """Add memories' words, with the others that are gathered at the next :meth:`flush`."""
        for partition, group in _by_partition(rows).items():
            self._gathered.setdefault(shard_of(partition, past=past), []).extend(group)
            self._count(partition, group, +1, past=past)

    def add(self, ids: Sequence[int]) -> None:
        """Add the words of stored memories, and store their counts in the rows."""
        self.flush()
        for (partition, past), rows in self._stored(ids).items():
            full_text.add(self._connection, shard_of(partition, past=past), rows)
            self._count(partition, rows, +1, past=past)
            self._counters.of(partition).rewrites += 1
            self.store_counts(rows)

    def remove(self, ids: Sequence[int], *, as_written: bool = False) -> None:
        """Remove the words of stored memories from index and counts.

        ``as_written`` says that they are those of a file in which authors were indexed as written,
        not by name.
        """
        self.flush()
        for start in range(0, len(ids), _BATCH):
            for (partition, past), rows in self._stored(
                ids[start : start + _BATCH], as_written=as_written
            ).items():
                full_text.remove(self._connection, shard_of(partition, past=past), rows)
                self._count(partition, rows, -1, past=past)
                self._counters.of(partition).rewrites += 1

    def supersede(self, memory: int) -> None:
        """Move a memory's words from the current ones of its partition to the superseded ones."""
        self.flush()
        partition, words = partition_of(memory), self.stored(memory)
        full_text.remove(self._connection, shard_of(partition, past=False), [words])
        full_text.add(self._connection, shard_of(partition, past=True), [words])
        self._count(partition, [words], -1, past=False)
        self._count(partition, [words], +1, past=True)
        self._counters.of(partition).rewrites += 1

    def store_counts(self, rows: Iterable[full_text.Words]) -> None:
        """Write the word counts of memories into their rows."""
        self._connection.executemany(
            "UPDATE memory SET words = ?, n_words = ? WHERE id = ?",
            [(row.entries, row.n_words, row.id) for row in rows],
        )

    def stored(self, memory: int) -> full_text.Words:
        """Split and count the words of a stored memory."""
        body, header, context = sql.row(
            self._connection,
            "SELECT body, header, context FROM words_content WHERE id = ?",
            (memory,),
        )
        (words,) = self.count([full_text.Indexed(memory, body, header, None, context)])
        return words

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
            (f"body : {full_text.quoted(phrase)}",),
        )

    def stems_of(self, ids: Sequence[int]) -> set[str]:
        """Return the stems of the memories' own words."""
        rows = sql.rows(
            self._connection,
            "SELECT body, header FROM words_content WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {stem for texts in rows for text in texts for _, stem in full_text.split(text)}

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
        index_terms.rewrite_if_stale(self._connection)

    def flush(self) -> None:
        """Write the words gathered so far, and before them what is gathered elsewhere."""
        self.before_flush()
        self._write()

    def _write(self) -> None:
        for shard, rows in self._gathered.items():
            full_text.add(self._connection, shard, rows)
        self._gathered.clear()

    def _stored(
        self, ids: Sequence[int], *, as_written: bool = False
    ) -> dict[tuple[int, bool], list[full_text.Words]]:
        """Split and count the words of stored memories, by partition and whether superseded."""
        speaker = "c.author" if as_written else name_of("c")
        texts: dict[bool, list[full_text.Indexed]] = {}
        for memory, past, body, header, author, before in sql.rows(
            self._connection,
            f"SELECT m.id, m.superseded_s IS NOT NULL, w.body, w.header, {speaker}, c.text"
            " FROM memory m JOIN words_content w ON w.id = m.id"
            " LEFT JOIN memory c ON c.id = m.context_id"
            " WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
            (json.dumps(list(ids)),),
        ):
            text = full_text.Indexed(memory, body, header, author, before or "")
            texts.setdefault(bool(past), []).append(text)
        return {
            (partition, past): rows
            for past, group in texts.items()
            for partition, rows in _by_partition(self.count(group)).items()
        }

    def _count(
        self, partition: int, rows: Sequence[full_text.Words], sign: int, *, past: bool
    ) -> None:
        n_words = sign * sum(row.n_words for row in rows)
        change = self._counters.of(partition)
        if past:
            change.words_past += n_words
        else:
            change.words_current += n_words


def _by_partition(rows: Iterable[full_text.Words]) -> dict[int, list[full_text.Words]]:
    grouped: dict[int, list[full_text.Words]] = {}
    for row in rows:
        grouped.setdefault(partition_of(row.id), []).append(row)
    return grouped
