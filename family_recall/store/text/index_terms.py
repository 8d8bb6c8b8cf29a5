"""What the FTS5 indexes list, and the words that they keep between their pages.

An index looks a word up by separators: the shortest beginnings, or the whole, of the first word of
each page (table ``words_N_idx``). FTS5 writes them with the page and never again, ``secure-delete``
or not: one made from a word that is deleted later stays until the page is merged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import apsw

from family_recall.store.file import sql
from family_recall.store.file.row_ids import (
    SHARD_OF_MEMORY,
    id_range,
    partition_of_shard,
    shards_in,
    words_table,
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
