"""Memories by when they happened or were recorded: the newest, the dated, the milestones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

import apsw
import numpy as np

from family_recall.store import scope_sql
from family_recall.store.file import sql
from family_recall.store.file.row_ids import PARTITION_SHIFT, id_range
from family_recall.store.records import Hits, Milestone, Occurred
from family_recall.types import Filters, IdArray, Scope

# Epoch seconds of the years 1 to 9999: any other moment comes from a damaged disk.
_MOMENTS = "-62135650000 AND 253402345000"
# The words of the partial index `memory_lasting`.
_LASTING = "m.kind IN ('fact', 'profile', 'milestone')"
# The words of the partial index `memory_milestone`, to the letter: else it is not used.
_DATED = (
    "(m.kind = 'milestone' OR m.fact_key GLOB '*birth*' OR m.fact_key GLOB '*anniversary*'"
    " OR m.fact_key GLOB '*date*' OR m.fact_key GLOB '*wedding*')"
)


def newest(connection: apsw.Connection, scope: Scope, k: int, *, lasting: bool) -> Hits:
    """Return each partition's k newest memories in scope, the newest recorded of all first."""
    condition, values = scope_sql.visible(scope)
    kinds = _LASTING if lasting else "TRUE"
    rows = [
        row
        for partition in scope.partitions
        for row in sql.rows(
            connection,
            f"SELECT m.recorded_s, m.id FROM memory m WHERE m.id BETWEEN ? AND ? AND {kinds}"
            f" AND m.recorded_s BETWEEN {_MOMENTS} AND {condition} ORDER BY m.id DESC LIMIT ?",
            (*id_range(partition), *values, k),
        )
    ]
    rows.sort(reverse=True)
    return Hits(
        np.array([memory for _, memory in rows], np.int64),
        np.array([moment_s for moment_s, _ in rows], np.float32),
    )


def session_around(
    connection: apsw.Connection, memory: int, scope: Scope, k: int, *, before: bool
) -> IdArray:
    """Return up to k memories in scope before, or after, one in its session, the nearest first.

    Of its own partition alone; none if it is in no session.
    """
    condition, values = scope_sql.visible(scope)
    comparison, direction = ("<", "DESC") if before else (">", "ASC")
    rows = sql.rows(
        connection,
        "SELECT m.id FROM memory here JOIN memory m ON m.space = here.space"
        f" AND m.session_id = here.session_id AND (m.order_s, m.id) {comparison}"
        f" (here.order_s, here.id) AND m.id >> {PARTITION_SHIFT} = here.id >> {PARTITION_SHIFT}"
        f" WHERE here.id = ? AND {condition}"
        f" ORDER BY m.order_s {direction}, m.id {direction} LIMIT ?",
        (memory, *values, k),
    )
    return np.array([row[0] for row in rows], np.int64)


def occurred(connection: apsw.Connection, scope: Scope) -> Occurred:
    """Return everything in scope that has a moment and lies in the scope's interval.

    The moment is when it occurred or, if that is outside, the first that its text mentions inside,
    or the one from which it is valid.
    """
    condition, values = scope_sql.visible(scope)
    moment, moment_values = _moment_in(scope.lies_in_s)
    rows = sql.rows(
        connection,
        f"SELECT m.id, {moment} AS moment_s, m.importance FROM memory m"
        f" WHERE moment_s BETWEEN {_MOMENTS}"
        f" AND m.importance BETWEEN 0 AND 1 AND {condition}"
        f" AND m.id >> {PARTITION_SHIFT} IN (SELECT value FROM carray(?))",
        (*moment_values, *values, sql.id_array(np.array(scope.partitions, np.int64))),
    )
    ids, moments_s, importance = zip(*rows, strict=True) if rows else ((), (), ())
    return Occurred(
        ids=np.array(ids, np.int64),
        moments_s=np.array(moments_s, np.float64),
        importance=np.array(importance, np.float32),
    )


def lying_in(
    connection: apsw.Connection, interval_s: tuple[float, float], scope: Scope, limit: int
) -> IdArray:
    """Return up to ``limit`` ids in scope of what lies in an interval, ascending."""
    condition, values = scope_sql.visible(scope)
    ids, id_values = scope_sql.lying_in(interval_s, scope.partitions)
    rows = sql.rows(
        connection,
        f"SELECT DISTINCT m.id FROM ({ids} LIMIT ?) t CROSS JOIN memory m ON m.id = t.id"
        f" WHERE {condition} ORDER BY m.id",
        (*id_values, limit, *values),
    )
    return np.array([memory for (memory,) in rows], np.int64)


def _moment_in(interval_s: tuple[float, float] | None) -> scope_sql.Condition:
    """Return an expression for the moment at which a memory lies in an interval."""
    if interval_s is None:
        return "m.occurred_s", ()
    start, end = interval_s
    return (
        (
            "coalesce(iif(m.occurred_s >= ? AND m.occurred_s < ?, m.occurred_s, NULL),"
            " (SELECT min(max(t.start_s, ?)) FROM mentioned_time t WHERE t.memory = m.id"
            f" AND {scope_sql.MENTIONED_IN}), m.valid_from_s)"
        ),
        (start, end, start, *scope_sql.mentioned_in(interval_s)),
    )


def milestones(
    connection: apsw.Connection,
    scope: Scope,
    wanted: Callable[[str | None, str | None], bool],
    limit: int,
) -> list[Milestone]:
    """Load milestones and dated facts of wanted (event_type, fact_key), in the order of ids.

    The names are read from the index alone, and of what is wanted the first 300 characters.
    """
    names = sql.rows(
        connection,
        f"SELECT m.event_type, m.fact_key, group_concat(m.id) FROM memory m WHERE {_DATED}"
        f" AND m.id >> {PARTITION_SHIFT} IN (SELECT value FROM carray(?))"
        f" GROUP BY m.id >> {PARTITION_SHIFT}, m.event_type, m.fact_key",
        (sql.id_array(np.array(scope.partitions, np.int64)),),
    )
    ids = [
        int(memory)
        for event_type, fact_key, joined_ids in names
        if wanted(event_type, fact_key)
        for memory in joined_ids.split(",")
    ]
    if not ids:
        return []
    unfiltered = replace(scope, filters=Filters(), valid_s=None, lies_in_s=None)
    condition, values = scope_sql.visible(unfiltered)
    rows = sql.rows(
        connection,
        "SELECT substr(m.text, 1, 300), m.author, m.event_type, m.fact_key, m.fact_value,"
        " m.occurred_at FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value"
        f" WHERE {condition} LIMIT ?",
        (sql.id_array(np.sort(np.array(ids, np.int64))), *values, limit),
    )
    return [
        Milestone(
            text=text,
            author=author,
            event_type=event_type,
            fact_key=fact_key,
            fact_value=fact_value,
            occurred_at=dt.datetime.fromisoformat(moment) if moment else None,
        )
        for text, author, event_type, fact_key, fact_value, moment in rows
    ]
