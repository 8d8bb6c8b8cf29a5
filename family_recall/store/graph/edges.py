"""The edge table: links between the memories and entities of a partition, in both directions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.records import EdgeList
from family_recall.types import FloatArray, IdArray

_DEGREE_CAP = 1024
_EDGES_READ = 4096
_ALWAYS_S = -1e14  # of a key no part may be NULL; a whole number of six bytes, before any moment

Link: TypeAlias = tuple[int, int, float, str]
"""Two nodes, a weight and a kind."""


def add(
    connection: apsw.Connection,
    links: Iterable[Link],
    *,
    valid_from_s: float | None = None,
    valid_until_s: float | None = None,
) -> None:
    """Write links, each in both directions; those that are there already stay as they are."""
    valid = _ALWAYS_S if valid_from_s is None else valid_from_s, valid_until_s
    connection.executemany(
        "INSERT OR IGNORE INTO edge(src, dst, weight, kind, valid_from_s, valid_until_s)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6), (?2, ?1, ?3, ?4, ?5, ?6)",
        [(*link, *valid) for link in links],
    )


def remove_node(connection: apsw.Connection, node: int) -> None:
    """Delete every link of a node."""
    _remove(connection, node, "TRUE")


def remove_relations(connection: apsw.Connection, entity: int) -> None:
    """Delete an entity's links to other entities and to evidence; mentions stay."""
    _remove(connection, entity, "(dst < 0 OR kind = 'evidence')")


def remove_link(connection: apsw.Connection, a: int, b: int, kind: str) -> None:
    """Delete one kind of link between two nodes."""
    connection.executemany(
        "DELETE FROM edge WHERE src = ? AND dst = ? AND kind = ?", [(a, b, kind), (b, a, kind)]
    )


def out_of(connection: apsw.Connection, nodes: IdArray, as_of_s: float, cap: int) -> EdgeList:
    """Return up to ``cap`` edges out of each node that are valid then, strongest first.

    Of a node's edges the 4096 strongest are read, however many of them are no longer valid.
    """
    # A statement a node, run 20 times, takes 0.15 ms; one for all of them, by a row-value IN,
    # 0.3 to 0.7: SQLite reads each list twice, or every edge of a hub.
    rows = [
        row
        for node in nodes.tolist()
        for row in sql.rows(
            connection,
            # The inner order is that of the primary key, so that reading stops at the limit.
            "SELECT src, dst, weight, kind FROM (SELECT * FROM edge WHERE src = ?"
            "  ORDER BY weight DESC, dst DESC, kind, valid_from_s LIMIT ?)"
            " WHERE valid_from_s <= ? AND (valid_until_s IS NULL OR valid_until_s > ?) LIMIT ?",
            (node, _EDGES_READ, as_of_s, as_of_s, cap),
        )
    ]
    src, dst, weight, kinds = zip(*rows, strict=True) if rows else ((),) * 4
    return EdgeList(src, dst, tuple(np.array(weight, np.float32).tolist()), kinds)


def degrees(connection: apsw.Connection, nodes: IdArray) -> FloatArray:
    """Count the edges of each node, up to 1024."""
    rows = sql.rows(
        connection,
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM edge WHERE src = n.value LIMIT ?))"
        " FROM carray(?) n",
        (_DEGREE_CAP, sql.id_array(nodes)),
    )
    return np.array([row[0] for row in rows[: len(nodes)]], np.float32)


def _remove(connection: apsw.Connection, node: int, condition: str) -> None:
    """Delete the edges out of a node that meet a condition, and their opposite directions."""
    out = f"SELECT dst, weight, src, kind, valid_from_s FROM edge WHERE src = ? AND {condition}"
    connection.execute(
        f"DELETE FROM edge WHERE (src, weight, dst, kind, valid_from_s) IN ({out})", (node,)
    )
    connection.execute(f"DELETE FROM edge WHERE src = ? AND {condition}", (node,))
