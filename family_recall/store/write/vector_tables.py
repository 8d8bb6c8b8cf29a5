"""The vectors of stored memories, and the partition counters that say when they changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from family_recall.store.file import sql
from family_recall.store.file.row_ids import partition_of, shard_of
from family_recall.store.records import NewVector, Role
from family_recall.store.text.passages import LONGEST_WHOLE, passages
from family_recall.store.vectors import tables
from family_recall.store.write.counters import Counters


@dataclass(frozen=True, slots=True)
class VectorTables:
    """Every model's vectors, inside one write transaction."""

    connection: apsw.Connection
    vec0: bool
    counters: Counters

    def add(
        self,
        model_id: str,
        dim: int,
        token_dim: int,
        rows: Sequence[NewVector],
        *,
        role: Role = "embedder",
    ) -> None:
        """Write the vectors of memories that are still stored, with those of their views.

        If the file's vectors need an extension that is not installed, they stay pending.

        Raises:
            InvalidMemoryError: If one has another dimension, or is not finite; none is written.
        """
        model = tables.register(
            self.connection, model_id, dim, token_dim, vec0=self.vec0, role=role
        )
        if not tables.writable(model, vec0=self.vec0):
            return
        is_past = dict(
            sql.rows(
                self.connection,
                "SELECT id, superseded_s IS NOT NULL FROM memory"
                " WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps([row.memory for row in rows]),),
            )
        )
        by_shard = [
            (shard_of(partition_of(row.memory), past=bool(is_past[row.memory])), row)
            for row in rows
            if row.memory in is_past
        ]
        tables.add(self.connection, model, by_shard)

    def clear(self, ids: Sequence[int]) -> None:
        """Delete the vectors of some memories and of their views."""
        tables.remove(self.connection, ids, vec0=self.vec0)
        for partition in {partition_of(memory) for memory in ids}:
            self.counters.of(partition).rewrites += 1

    def clear_views(self) -> None:
        """Make the vectors of every memory that has a title or a summary pending."""
        rows = sql.rows(
            self.connection, "SELECT id FROM memory WHERE title IS NOT NULL OR summary IS NOT NULL"
        )
        self.clear([memory for (memory,) in rows])

    def clear_passages(self) -> None:
        """Make the vectors of every memory whose text has passages pending."""
        rows = sql.rows(
            self.connection,
            "SELECT id, text FROM memory WHERE length(text) > ?",
            (LONGEST_WHOLE,),
        )
        self.clear([memory for memory, text in rows if passages(text)])

    def drop_other_models(self, model_id: str) -> tuple[str, ...]:
        """Delete the vectors of every transformer but one; returns the ids of those models."""
        dropped = tables.drop_others(self.connection, model_id, vec0=self.vec0)
        if dropped:
            self.connection.execute("UPDATE main.partition SET rewrites = rewrites + 1")
        return dropped
