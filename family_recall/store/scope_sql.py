"""A request's scope: as conditions on the table ``memory m``, and for row ids in arrays."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from family_recall.store.file.schema import PARTITION_SHIFT
from family_recall.types import BoolArray, Filters, FloatArray, IdArray, Scope

LONGEST_MENTION_S = 367 * 86_400.0
"""No mention is longer; so one that reaches into a time begins at most so long before it."""

NO_IDS: IdArray = np.zeros(0, np.int64)

Condition: TypeAlias = tuple[str, tuple[object, ...]]
"""An SQL expression, and the values of its ``?`` in order."""


@functools.lru_cache(maxsize=16)  # a recall asks it for every statement
def visible(scope: Scope) -> Condition:
    """Return the condition that a memory is valid, known, retained and not filtered out.

    The scope's partitions are not part of it: a query restricts its row ids to them.
    """
    known: Condition = ("m.superseded_s IS NULL", ())
    if scope.known_at_s is not None:
        known = (
            "m.recorded_s <= ? AND (m.superseded_s IS NULL OR m.superseded_s > ?)",
            (scope.known_at_s, scope.known_at_s),
        )
    conditions = (valid(scope), known, retained(scope), matching(scope.filters))
    if not scope.lies_in_s:
        return every(*conditions)
    lying = [lying_in(interval_s, scope.partitions) for interval_s in scope.lies_in_s]
    ids = " UNION ALL ".join(query for query, _ in lying)
    return every(
        *conditions, (f"m.id IN ({ids})", tuple(value for _, values in lying for value in values))
    )


def valid(scope: Scope) -> Condition:
    """Return the condition that a memory is true at the scope's moment, or in its interval."""
    first, last = (scope.as_of_s, scope.as_of_s)
    begins = "<="
    if scope.valid_s is not None:
        (first, last), begins = scope.valid_s, "<"
    return (
        (
            f"(m.valid_from_s IS NULL OR m.valid_from_s {begins} ?)"
            " AND (m.valid_until_s IS NULL OR m.valid_until_s > ?)"
        ),
        (last, first),
    )


def lying_in(interval_s: tuple[float, float], partitions: Sequence[int]) -> Condition:
    """Return a query of the ids of what lies in a half-open interval, in some partitions.

    That is what occurred in it, begins to be valid in it, or mentions a time of which at least
    half is in it.
    """
    start, end = interval_s
    here = f">> {PARTITION_SHIFT} IN (SELECT value FROM json_each(?))"
    parts = json.dumps(list(partitions))
    return (
        (
            f"SELECT id FROM memory WHERE occurred_s >= ? AND occurred_s < ? AND id {here}"
            " UNION ALL SELECT id FROM memory WHERE valid_from_s >= ? AND valid_from_s < ?"
            f" AND id {here}"
            f" UNION ALL SELECT t.memory FROM mentioned_time t WHERE {MENTIONED_IN}"
            f" AND t.memory {here}"
        ),
        (start, end, parts, start, end, parts, *mentioned_in(interval_s), parts),
    )


MENTIONED_IN = (
    "t.start_s > ? AND t.start_s < ?"
    " AND min(t.end_s, ?) - max(t.start_s, ?) >= 0.5 * (t.end_s - t.start_s)"
)
"""The condition that at least half of a mentioned time ``t`` lies in an interval."""


def mentioned_in(interval_s: tuple[float, float]) -> tuple[float, ...]:
    """Return the values of ``MENTIONED_IN`` for an interval, whose ends may be infinite."""
    start, end = interval_s
    return (start - LONGEST_MENTION_S, end, end, start)


def retained(scope: Scope) -> Condition:
    """Return the condition that no retention rule has expired a memory."""
    return every(
        *(
            (
                "(m.category <> ? OR max(m.recorded_s, coalesce(m.occurred_s, m.recorded_s)) >= ?)",
                rule,
            )
            for rule in scope.expired
        )
    )


def matching(filters: Filters) -> Condition:
    """Return the condition that a memory passes a request's filters."""
    conditions: list[Condition] = []
    for column, wanted in (("source", filters.sources), ("kind", filters.kinds)):
        if wanted:
            conditions.append(
                (f"m.{column} IN (SELECT value FROM json_each(?))", (json.dumps(wanted),))
            )
    if filters.authors:
        people = "SELECT p.person_id FROM person p JOIN json_each(?) n ON n.value = p.name"
        authors = f"SELECT value FROM json_each(?) UNION ALL {people}"
        conditions.append((f"m.author IN ({authors})", (json.dumps(filters.authors),) * 2))
    if filters.labels:
        conditions.append((
            (
                "EXISTS (SELECT 1 FROM json_each(m.labels) WHERE value IN"
                " (SELECT value FROM json_each(?)))"
            ),
            (json.dumps(filters.labels),),
        ))  # fmt: skip
    if filters.after is not None:
        conditions.append(("m.occurred_s >= ?", (filters.after.timestamp(),)))
    if filters.before is not None:
        conditions.append(("m.occurred_s < ?", (filters.before.timestamp(),)))
    if filters.before_session is not None:
        conditions.append(("m.session_id < ?", (filters.before_session,)))
    return every(*conditions)


def every(*conditions: Condition) -> Condition:
    """Return the condition that all of some conditions hold; ``TRUE`` if there are none.

    >>> every(("m.kind = ?", ("fact",)), ("TRUE", ()), ("m.id > ?", (7,)))
    ('m.kind = ? AND m.id > ?', ('fact', 7))
    """
    parts = [condition for condition in conditions if condition[0] != "TRUE"]
    return (
        " AND ".join(sql for sql, _ in parts) or "TRUE",
        tuple(value for _, values in parts for value in values),
    )


class Hits(msgspec.Struct, frozen=True):
    """What one search found, best first: ``ids`` (n,) and ``scores`` (n,), higher is better."""

    ids: IdArray
    scores: FloatArray


def among(ids: IdArray, known: IdArray) -> BoolArray:
    """Whether each of some ids (n,) is among others: shape (n,).

    The result of `np.isin`, which takes 40 µs for the hundred ids of a recall; this takes 6.
    """
    if not len(known):
        return np.zeros(len(ids), np.bool_)
    known = np.sort(known)
    is_known: BoolArray = known.take(known.searchsorted(ids), mode="clip") == ids
    return is_known


def in_scope(nodes: IdArray, scope: Scope) -> IdArray:
    """Return the nodes, of memories or entities, that are of the scope's partitions."""
    is_visible = _is_visible(scope.partitions).take(np.abs(nodes) >> PARTITION_SHIFT, mode="clip")
    visible: IdArray = nodes[is_visible]
    return visible


@functools.lru_cache(maxsize=64)
def _is_visible(partitions: tuple[int, ...]) -> BoolArray:
    """Return a table by partition number; its last entry, False, is that of every greater one."""
    is_visible = np.zeros(max(partitions, default=0) + 2, np.bool_)
    is_visible[list(partitions)] = True
    return is_visible
