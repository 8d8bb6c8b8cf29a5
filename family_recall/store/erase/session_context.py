"""The context of memories, the one before each in its session, around an erased memory.

A memory is found by its own words and by those of its context. If its context is erased, the one
before that takes its place.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import apsw

from family_recall.store import graph
from family_recall.store.file import sql


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The sessions of one file, inside one write transaction.

    ``next_weight`` is the weight of the edge between a memory and the one after it.
    """

    connection: apsw.Connection
    next_weight: float

    def having_as_context(self, ids: Collection[int]) -> list[int]:
        """List the other memories that have one of these as their context."""
        rows = sql.rows(
            self.connection,
            "SELECT id FROM memory WHERE context_id IN (SELECT value FROM json_each(?1))"
            " AND id NOT IN (SELECT value FROM json_each(?1)) ORDER BY id",
            (json.dumps(list(ids)),),
        )
        return [memory for (memory,) in rows]

    def after(self, memory: int) -> list[int]:
        """List the memories after one in its session: the next current one, all superseded ones."""
        rows = sql.rows(
            self.connection,
            "SELECT n.id, n.superseded_s IS NULL FROM memory m JOIN memory n ON n.space = m.space"
            " AND n.session_id = m.session_id AND n.id >> 40 = m.id >> 40"
            " AND (n.order_s, n.id) > (m.order_s, m.id)"
            " WHERE m.id = ? ORDER BY n.order_s, n.id",
            (memory,),
        )
        current = [after for after, is_current in rows if is_current]
        return [*current[:1], *(after for after, is_current in rows if not is_current)]

    def contexts(self, ids: Sequence[int]) -> dict[int, int | None]:
        """Return which memory now comes before each of some memories.

        A superseded memory keeps what came before it when it was superseded.
        """
        contexts: dict[int, int | None] = {}
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
            contexts[memory] = row[0] if row else None
        return contexts

    def set(self, contexts: Mapping[int, int | None]) -> None:
        """Write the contexts of memories, and the edges between them."""
        self.connection.executemany(
            "UPDATE memory SET context_id = ? WHERE id = ?",
            [(context, memory) for memory, context in contexts.items()],
        )
        rows = sql.rows(
            self.connection,
            "SELECT context_id, id FROM memory WHERE id IN (SELECT value FROM json_each(?))"
            " AND superseded_s IS NULL AND context_id IS NOT NULL",
            (json.dumps(list(contexts)),),
        )
        graph.add_edges(
            self.connection,
            [(context, memory, self.next_weight, "next") for context, memory in rows],
        )
