"""SessionContext: what a talk's memories have as their words, taken away and put back around a gap.

A memory is found by its own words and by those of the turn before it. Where that turn goes, the
one before takes its place; each step keeps index, counts and edges at one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import apsw

from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import partition_of, shard_of
from family_recall.stores.graph import edges
from family_recall.stores.records import stem_number
from family_recall.stores.text import full_text

_BATCH = 500  # memories


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The words of one file's memories, inside one write transaction.

    ``next_weight`` is the weight of the edge between a turn and the one after it.
    """

    connection: apsw.Connection
    next_weight: float

    def followers(self, wanted: str) -> list[int]:
        """List the memories that stay and hold the words of one that goes as their context."""
        found = sql.rows(
            self.connection,
            "SELECT id FROM memory WHERE context_id IN (SELECT value FROM json_each(?1))"
            " AND id NOT IN (SELECT value FROM json_each(?1)) ORDER BY id",
            (wanted,),
        )
        return [memory for (memory,) in found]

    def after(self, memory: int) -> list[int]:
        """List the turns that come right after a memory in its talk, past ones among them."""
        found = sql.rows(
            self.connection,
            "SELECT n.id FROM memory m JOIN memory n ON n.space = m.space"
            " AND n.session_id = m.session_id AND n.id >> 40 = m.id >> 40"
            " AND (n.order_s, n.id) > (m.order_s, m.id)"
            " WHERE m.id = ? ORDER BY n.order_s, n.id",
            (memory,),
        )
        after = [row[0] for row in found]
        current = {row[0] for row in self._states(after) if row[1] is None}
        following = next((one for one in after if one in current), None)
        return [*([] if following is None else [following]), *(set(after) - current)]

    def contexts(self, ids: Sequence[int]) -> dict[int, int | None]:
        """Say which turn now comes before each of some memories.

        What has been replaced keeps what came before it when it was.
        """
        found: dict[int, int | None] = {}
        for memory in ids:
            row = sql.row(
                self.connection,
                "SELECT p.id FROM memory m JOIN memory p ON p.space = m.space"
                " AND p.session_id = m.session_id AND p.id >> 40 = m.id >> 40"
                " AND (p.order_s, p.id) < (m.order_s, m.id)"
                " WHERE m.id = ? AND CASE WHEN m.superseded_s IS NULL THEN p.superseded_s IS NULL"
                "  ELSE p.recorded_s <= m.superseded_s AND p.doc_id <> m.doc_id"
                "   AND (p.superseded_s IS NULL OR p.superseded_s > m.superseded_s) END"
                " ORDER BY p.order_s DESC, p.id DESC LIMIT 1",
                (memory,),
            )
            found[memory] = row[0] if row else None
        return found

    def take(self, ids: Sequence[int]) -> None:
        """Take memories' words out of index and counts."""
        for start in range(0, len(ids), _BATCH):
            by_shelf = self._prepared(ids[start : start + _BATCH])
            for shard, rows in by_shelf.items():
                full_text.remove(self.connection, shard, rows)
                self._say(shard, rows, -1)

    def put(self, ids: Sequence[int], contexts: Mapping[int, int | None]) -> None:
        """Put memories' words in, each after the turn that now comes before it."""
        current = {memory for memory, superseded_s in self._states(ids) if superseded_s is None}
        for memory, context in contexts.items():
            self.connection.execute(
                "UPDATE memory SET context_id = ? WHERE id = ?", (context, memory)
            )
            if context is not None and memory in current:
                edges.add(self.connection, [(context, memory, self.next_weight, "next")])
        for shard, rows in self._prepared(ids).items():
            full_text.add(self.connection, shard, rows)
            self._say(shard, rows, +1)
            self.connection.executemany(
                "UPDATE memory SET words = ?, n_words = ? WHERE id = ?",
                [(row.entries, row.n_words, row.id) for row in rows],
            )

    def count_down(self, wanted: str) -> None:
        """Count memories, given as JSON, out of their partitions."""
        self.connection.execute(
            "UPDATE partition SET n_current = partition.n_current - g.current,"
            " n_past = partition.n_past - g.past, n_bounded = partition.n_bounded - g.bounded"
            " FROM (SELECT id >> 40 AS no, sum(superseded_s IS NULL) AS current,"
            "  sum(superseded_s IS NOT NULL) AS past, sum(superseded_s IS NULL"
            "   AND coalesce(valid_from_s, valid_until_s) IS NOT NULL) AS bounded"
            "  FROM memory WHERE id IN (SELECT value FROM json_each(?)) GROUP BY 1) g"
            " WHERE partition.no = g.no",
            (wanted,),
        )

    def stems_of(self, ids: Sequence[int]) -> set[str]:
        """Give the stems of all that some memories say themselves."""
        bodies = sql.rows(
            self.connection,
            "SELECT body, header FROM words_content WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {
            stem
            for row in bodies
            for text in row
            for _, stem in full_text.split(self.connection, text)
        }

    def unsaid(self, stems: Iterable[str]) -> set[str]:
        """Give those of some stems that no memory of the file holds any more."""
        return {stem for stem in stems if not self._is_said(stem)}

    def _states(self, ids: Sequence[int]) -> list[tuple[int, float | None]]:
        return sql.rows(
            self.connection,
            "SELECT id, superseded_s FROM memory WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )

    def _prepared(self, ids: Sequence[int]) -> dict[int, list[full_text.Words]]:
        counter = full_text.WordCounter(self.connection)
        by_shelf: dict[int, list[full_text.Words]] = {}
        for memory, past, body, header, speaker, before in sql.rows(
            self.connection,
            "SELECT m.id, m.superseded_s IS NOT NULL, w.body, w.header, c.author, c.text"
            " FROM memory m JOIN words_content w ON w.id = m.id"
            " LEFT JOIN memory c ON c.id = m.context_id"
            " WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
            (json.dumps(list(ids)),),
        ):
            shard = shard_of(partition_of(memory), past=bool(past))
            words = counter.prepare(memory, body, header, (speaker, before or ""))
            by_shelf.setdefault(shard, []).append(words)
        return by_shelf

    def _say(self, shard: int, rows: Sequence[full_text.Words], sign: int) -> None:
        column = "words_past" if shard % 2 else "words_current"
        self.connection.execute(
            f"UPDATE partition SET {column} = {column} + ?, rewrites = rewrites + 1 WHERE no = ?",
            (sign * sum(row.n_words for row in rows), shard // 2),
        )

    def _is_said(self, stem: str) -> bool:
        number = stem_number(stem)
        # Shelf by shard: the table is ordered by shard first, and there are few.
        return bool(
            sql.row(
                self.connection,
                "SELECT EXISTS (SELECT 1 FROM partition p JOIN word_count w"
                " ON w.shard IN (2 * p.no, 2 * p.no + 1) AND w.stem = ?)",
                (number,),
            )[0]
        )
