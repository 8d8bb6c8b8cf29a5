"""Edges: both directions of every link between memories and entities of one partition."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import apsw
import numpy as np

from family_recall.stores.file import sql
from family_recall.stores.records import EdgeList
from family_recall.types import FloatArray, IdArray

_DEGREE_CAP = 1024
_EDGES_READ = 4096
_ALIASES_READ = 2000
_ALWAYS = (-9e99, 9e99)  # seconds: of a key no part may be NULL


Link: TypeAlias = tuple[int, int, float, str]
"""Two nodes, a weight and a kind."""


def add(
    connection: apsw.Connection,
    edges: Iterable[Link],
    *,
    valid_from_s: float | None = None,
    valid_until_s: float | None = None,
) -> None:
    """Write (node, node, weight, kind) links, each in both directions; doubles do nothing."""
    valid = (_ALWAYS[0] if valid_from_s is None else valid_from_s,
             _ALWAYS[1] if valid_until_s is None else valid_until_s)  # fmt: skip
    connection.executemany(
        "INSERT OR IGNORE INTO edge(src, weight, dst, kind, valid_from_s, valid_until_s)"
        " VALUES(?, ?, ?, ?, ?, ?)",
        [
            (*ends, kind, *valid)
            for a, b, weight, kind in edges
            for ends in ((a, weight, b), (b, weight, a))
        ],
    )


def remove_node(connection: apsw.Connection, node: int) -> None:
    """Take away every link of a node."""
    _remove_out_of(connection, node, "TRUE")


def remove_relations(connection: apsw.Connection, entity: int) -> None:
    """Take away an entity's links to other entities and to evidence; mentions stay."""
    _remove_out_of(connection, entity, "(dst < 0 OR kind = 'evidence')")


def remove_link(connection: apsw.Connection, a: int, b: int, kind: str) -> None:
    """Take away one kind of link between two nodes."""
    for src, dst in ((a, b), (b, a)):
        connection.execute(
            "DELETE FROM edge WHERE src = ? AND dst = ? AND kind = ?", (src, dst, kind)
        )


def out_of(connection: apsw.Connection, nodes: IdArray, as_of_s: float, cap: int) -> EdgeList:
    """Give up to ``cap`` edges out of each node that are valid then, strongest first.

    Of a node's edges the 4096 strongest are looked at, however many no longer hold.
    """
    # A statement a node, run 20 times, takes 0.15 ms; one for all of them, by a row-value IN,
    # 0.3 to 0.7: SQLite reads each list twice, or every edge of a hub.
    found = [
        row
        for node in nodes.tolist()
        for row in sql.rows(
            connection,
            # Inside, in the order they lie in, so that the first that hold end the reading.
            "SELECT src, dst, weight, kind FROM (SELECT * FROM edge WHERE src = ?"
            "  ORDER BY weight DESC, dst DESC, kind, valid_from_s LIMIT ?)"
            " WHERE valid_from_s <= ? AND valid_until_s > ? LIMIT ?",
            (node, _EDGES_READ, as_of_s, as_of_s, cap),
        )
    ]
    return EdgeList(
        np.array([row[0] for row in found], np.int64),
        np.array([row[1] for row in found], np.int64),
        np.array([row[2] for row in found], np.float32),
        tuple(row[3] for row in found),
    )


def _remove_out_of(connection: apsw.Connection, node: int, condition: str) -> None:
    found = f"SELECT dst, weight, src, kind, valid_from_s FROM edge WHERE src = ? AND {condition}"
    connection.execute(
        f"DELETE FROM edge WHERE (src, weight, dst, kind, valid_from_s) IN ({found})", (node,)
    )
    connection.execute(f"DELETE FROM edge WHERE src = ? AND {condition}", (node,))


def degrees(connection: apsw.Connection, nodes: IdArray) -> FloatArray:
    """Count the edges of each node, up to 1024: beyond that a hub is a hub."""
    found = sql.rows(
        connection,
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM edge WHERE src = n.value LIMIT ?))"
        " FROM carray(?) n",
        (_DEGREE_CAP, sql.id_array(nodes)),
    )
    return np.array([row[0] for row in found[: len(nodes)]], np.float32)


def resolve(
    connection: apsw.Connection, partitions: Sequence[int], names: Sequence[str]
) -> list[tuple[str, int, str, str | None]]:
    """Find entities by normalised name: (alias, entity id, name, person id)."""
    return sql.rows(
        connection,
        "SELECT a.alias, e.id, e.name, p.person_id FROM json_each(?) n CROSS JOIN carray(?) s"
        " CROSS JOIN alias a ON a.partition = s.value AND a.alias = n.value"
        " JOIN entity e ON e.id = a.entity LEFT JOIN person p ON p.no = e.person"
        " ORDER BY a.partition, n.id, e.id",
        (json.dumps(list(names)), sql.id_array(np.array(partitions, np.int64))),
    )


def aliases_like(
    connection: apsw.Connection, partitions: Sequence[int], word: str, edits: int
) -> list[str]:
    """Find one-word aliases that begin like a word and are nearly as long, in order."""
    beginnings = dict.fromkeys((word[:1], word[1:2] + word[:1]))
    found = sql.rows(
        connection,
        "SELECT DISTINCT a.alias FROM json_each(?) b CROSS JOIN carray(?) s"
        " CROSS JOIN alias a ON a.partition = s.value AND a.alias >= b.value"
        " AND a.alias < b.value || char(1114111)"
        " WHERE length(a.alias) BETWEEN ? AND ? AND instr(a.alias, ' ') = 0"
        " ORDER BY a.alias LIMIT ?",
        (
            json.dumps(list(beginnings)),
            sql.id_array(np.array(partitions, np.int64)),
            len(word) - edits,
            len(word) + edits,
            _ALIASES_READ + 1,
        ),
    )
    return [alias for (alias,) in found] if len(found) <= _ALIASES_READ else []
