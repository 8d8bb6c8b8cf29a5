"""The counts kept beside partitions and words, compared with the rows they count."""

from __future__ import annotations

import apsw

from family_recall.store.file import sql
from family_recall.store.file.row_ids import PARTITION_SHIFT, shards_in, words_table
from family_recall.store.word_index import vocabulary


def partition_problem(connection: apsw.Connection) -> str | None:
    """Compare each partition's statistics with its memories."""
    rows = sql.rows(
        connection,
        "SELECT p.no FROM partition p LEFT JOIN ("
        f"  SELECT id >> {PARTITION_SHIFT} AS no, count(*) AS n,"
        "   sum(superseded_s IS NULL) AS n_current,"
        "   sum(iif(superseded_s IS NULL, n_words, 0)) AS words_current, sum(n_words) AS words,"
        "   sum(superseded_s IS NULL AND (valid_from_s IS NOT NULL OR valid_until_s IS NOT NULL))"
        "    AS n_bounded, max(id) AS last"
        "  FROM memory GROUP BY 1) m ON m.no = p.no"
        " WHERE p.n_current <> coalesce(m.n_current, 0)"
        " OR p.n_past <> coalesce(m.n - m.n_current, 0)"
        " OR p.words_current <> coalesce(m.words_current, 0)"
        " OR p.words_past <> coalesce(m.words - m.words_current, 0)"
        " OR p.n_bounded <> coalesce(m.n_bounded, 0)"
        f" OR p.next_seq <= coalesce(m.last - (p.no << {PARTITION_SHIFT}), 0)",
    )
    return f"wrong in partition {', '.join(str(no) for (no,) in rows)}" if rows else None


def word_problem(connection: apsw.Connection) -> str | None:
    """Compare the memories and stems that each FTS5 index counts with the counts beside it."""
    wrong = 0
    for shard in shards_in(connection):
        name = words_table(shard)
        in_index = vocabulary(connection, name, "row", "coalesce(sum(doc), 0)", "")
        in_index += sql.rows(connection, f"SELECT count(*) FROM {name}_docsize")
        beside = sql.rows(
            connection, "SELECT coalesce(sum(n), 0) FROM word_count WHERE shard = ?", (shard,)
        )
        column = "n_past" if shard % 2 else "n_current"
        beside += sql.rows(
            connection, f"SELECT {column} FROM partition WHERE no = ?", (shard // 2,)
        )
        wrong += in_index != beside
    return f"{wrong:,} shards hold other words than are counted" if wrong else None
