"""How much of everything is stored, for the household's owner."""

from __future__ import annotations

from typing import Any

import apsw

from family_recall.store.access.household import Household
from family_recall.store.file import sql
from family_recall.store.vectors import tables


def n_memories(connection: apsw.Connection) -> int:
    """Count the memories of a file, current and superseded, with the copies in redacted views."""
    (n,) = sql.row(connection, "SELECT coalesce(sum(n_current + n_past), 0) FROM partition")
    return int(n)


def statistics(connection: apsw.Connection) -> dict[str, Any]:
    """Count memories by space, and vectors, people, entities, relations and edges."""

    def count(query: str, values: tuple[object, ...] = ()) -> int:
        return int(sql.row(connection, f"SELECT count(*) FROM {query}", values)[0])

    by_space: dict[str, int] = {}
    n_current = n_past = 0
    for partition in Household(connection).every_partition():
        if partition.redacted_view == 0:
            by_space[partition.space_id] = by_space.get(partition.space_id, 0) + partition.n_current
            n_current += partition.n_current
            n_past += partition.n_past
    return {
        "memories": n_current,
        "superseded": n_past,
        "vectors": {
            model.model_id: count("embedding WHERE model = ?", (model.no,))
            for model in tables.models(connection)
        },
        "by_space": by_space,
        "people": count("person"),
        "entities": count("entity"),
        "relations": count("relation"),
        "edges": count("edge") // 2,
    }
