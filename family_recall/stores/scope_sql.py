"""A request's scope as SQL: conditions on the table ``memory m`` and the values bound in them."""

from __future__ import annotations

import json
from typing import TypeAlias

from family_recall.types import Filters, Scope

Condition: TypeAlias = tuple[str, tuple[object, ...]]
"""An SQL expression, and the values of its ``?`` in order."""


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
    valid: Condition = (
        (
            "(m.valid_from_s IS NULL OR m.valid_from_s <= ?)"
            " AND (m.valid_until_s IS NULL OR m.valid_until_s > ?)"
        ),
        (scope.as_of_s, scope.as_of_s),
    )
    return every(valid, known, retained(scope), matching(scope.filters))


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
    for column, wanted in (
        ("source", filters.sources), ("kind", filters.kinds), ("author", filters.authors)
    ):  # fmt: skip
        if wanted:
            conditions.append(
                (f"m.{column} IN (SELECT value FROM json_each(?))", (json.dumps(wanted),))
            )
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
