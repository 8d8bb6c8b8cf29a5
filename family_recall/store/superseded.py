"""Superseded versions of memories: no more open than what took their place."""

from __future__ import annotations

from dataclasses import dataclass

import apsw
import numpy as np

from family_recall.store.partitions import Counters
from family_recall.store.file import checksums, sql
from family_recall.store.file.row_ids import partition_of
from family_recall.store.partitions import Partitions
from family_recall.store.vector_writing import VectorWriter
from family_recall.store.word_index import WordIndex
from family_recall.types import BANDS

_RANK = (
    f"CASE {{}}.band {' '.join(f'WHEN {band!r} THEN {at}' for at, band in enumerate(BANDS))} END"
)
_REFERENCES = (("identifier", "memory"), ("mentioned_time", "memory"), ("audit_memory", "memory"))


@dataclass(frozen=True, slots=True)
class Superseded:
    """The superseded versions of a file's memories, inside one write transaction."""

    connection: apsw.Connection
    partitions: Partitions
    words: WordIndex
    vectors: VectorWriter
    counters: Counters

    def raise_bands(self, space_id: str, doc_id: str) -> list[int]:
        """Move versions into the band of the current one where theirs is more open.

        Copies in redacted views move too. No superseded version of a less confidential band has
        their words as its context any more.

        Returns:
            Their new row ids; vectors are pending.
        """
        rows = sql.rows(
            self.connection,
            f"SELECT p.id, p.guardians_of, p.redacted_view, c.band FROM {_MORE_OPEN}"
            " AND s.space_id = ? AND p.doc_id = ? ORDER BY p.id",
            (space_id, doc_id),
        )
        return [
            self._move(memory, self.partitions.find_or_create(space_id, band, child, view), band)
            for memory, child, view, band in rows
        ]

    def _move(self, memory: int, partition: int, band: str) -> int:
        execute = self.connection.execute
        followers = [
            follower
            for (follower,) in sql.rows(
                self.connection, "SELECT id FROM memory WHERE context_id = ?", (memory,)
            )
        ]
        self.words.remove([memory, *followers])
        self.vectors.clear([memory])
        moved = self.counters.allocate(partition)
        execute("UPDATE memory SET context_id = NULL WHERE context_id = ?", (memory,))
        execute(
            "UPDATE memory SET id = ?, band = ?, context_id = NULL WHERE id = ?",
            (moved, band, memory),
        )
        checksums.fill(self.connection, np.array([moved], np.int64))
        for table, column in _REFERENCES:
            execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (moved, memory))
        execute("UPDATE identifier SET partition = ? WHERE memory = ?", (partition, moved))
        execute(
            "UPDATE relation SET evidence = (SELECT json_group_array(iif(value = ?1, ?2, value))"
            "  FROM json_each(evidence))"
            " WHERE EXISTS (SELECT 1 FROM json_each(evidence) WHERE value = ?1)",
            (memory, moved),
        )
        self.words.add([moved, *followers])
        self.counters.of(partition_of(memory)).n_past -= 1
        self.counters.of(partition).n_past += 1
        return moved


_MORE_OPEN = (
    "memory p JOIN space s ON s.no = p.space JOIN memory c ON c.space = p.space"
    " AND c.doc_id = p.doc_id AND c.redacted_view = 0 AND c.superseded_s IS NULL"
    f" WHERE p.superseded_s IS NOT NULL AND {_RANK.format('p')} < {_RANK.format('c')}"
)
