"""The memories about some people and things, and which memories state a fact."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import apsw
import numpy as np

from family_recall.store import scope_sql
from family_recall.store.file import sql
from family_recall.store.file.row_ids import id_range, partition_of
from family_recall.store.records import Hits, among
from family_recall.types import IdArray, Scope

LASTING, OWN, MENTIONED, WRITTEN = 1.0, 0.8, 0.5, 0.3
"""How surely a memory is about somebody: a fact, profile or milestone that mentions them, one that
they wrote of themselves, any other memory that mentions them, and a fact they wrote."""

_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself)\b", re.IGNORECASE)

# The words of the partial index `memory_lasting`.
_LASTING = "m.kind IN ('fact', 'profile', 'milestone')"
_ENTITIES = "t.entity IN (SELECT value FROM carray(?))"


def about(connection: apsw.Connection, entities: Sequence[int], scope: Scope, k: int) -> Hits:
    """Return up to k memories in scope about some entities, in each partition.

    The score says how surely: see :data:`LASTING`. The surest come first, and of those alike the
    newest.
    """
    condition, values = scope_sql.visible(scope)
    best: dict[int, float] = {}
    for partition in scope.partitions:
        own = np.array([e for e in entities if partition_of(e) == partition], np.int64)
        if not len(own):
            continue
        rows = sql.rows(
            connection,
            "SELECT m.id, substr(m.text, 1, 300), EXISTS (SELECT 1 FROM mention t"
            f" WHERE t.memory = m.id AND {_ENTITIES} AND t.role <> 'author') AS mentioned"
            f" FROM memory m WHERE m.id BETWEEN ? AND ? AND {_LASTING} AND {condition}"
            f" AND EXISTS (SELECT 1 FROM mention t WHERE t.memory = m.id AND {_ENTITIES})"
            " ORDER BY mentioned DESC, m.id DESC LIMIT ?",
            (sql.id_array(own), *id_range(partition), *values, sql.id_array(own), k),
        )
        for memory, text, mentioned in rows:
            of_themselves = _FIRST_PERSON.search(text) is not None
            best[memory] = LASTING if mentioned else OWN if of_themselves else WRITTEN
        rows = sql.rows(
            connection,
            "SELECT DISTINCT m.id FROM carray(?) e CROSS JOIN mentioned t ON t.entity = e.value"
            " CROSS JOIN memory m ON m.id = t.memory"
            f" WHERE t.role <> 'author' AND {condition} ORDER BY m.id DESC LIMIT ?",
            (sql.id_array(own), *values, k),
        )
        for (memory,) in rows:
            best[memory] = max(best.get(memory, 0.0), MENTIONED)
    ordered = sorted(best, key=lambda memory: (-best[memory], -memory))[:k]
    return Hits(
        np.array(ordered, np.int64), np.array([best[memory] for memory in ordered], np.float32)
    )


def having_facts(connection: apsw.Connection, ids: IdArray) -> IdArray:
    """Return those of some memories that state a fact by key and value, in their order."""
    rows = sql.rows(
        connection,
        "SELECT m.id FROM carray(?) e CROSS JOIN memory m ON m.id = e.value"
        " WHERE m.fact_key IS NOT NULL AND m.fact_value IS NOT NULL",
        (sql.id_array(ids),),
    )
    return ids[among(ids, np.array([memory for (memory,) in rows], np.int64))]


def keys_and_labels(
    connection: apsw.Connection, ids: IdArray
) -> list[tuple[int, str | None, tuple[str, ...]]]:
    """List the key of the fact that some memories state, and their labels, where there are any."""
    rows = sql.rows(
        connection,
        "SELECT m.id, iif(typeof(m.fact_key) = 'text', m.fact_key, NULL),"
        " iif(json_valid(m.labels), m.labels, '[]')"
        " FROM carray(?) e CROSS JOIN memory m ON m.id = e.value"
        " WHERE m.fact_key IS NOT NULL OR m.labels IS NOT NULL",
        (sql.id_array(ids),),
    )
    return [(memory, key, tuple(json.loads(labels))) for memory, key, labels in rows]
