"""The graph of a scope: entities by name, edges and mentions."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
import msgspec
import numpy as np

from family_recall.store.file import sql
from family_recall.store.graph import Entity
from family_recall.store.reader import Reader
from family_recall.store.scope_sql import in_scope
from family_recall.types import FloatArray, IdArray, Scope

_ALIASES_READ = 2000
_DEGREE_CAP = 1024
_EDGES_READ = 4096
_NAMED = (
    " JOIN entity e ON e.id = a.entity LEFT JOIN person p ON p.no = e.person ORDER BY a.partition,"
)


class EdgeList(msgspec.Struct, frozen=True):
    """Edges out of some nodes: tuples of one length; entities are negative ids."""

    src: tuple[int, ...]
    dst: tuple[int, ...]
    weight: tuple[float, ...]
    kinds: tuple[str, ...]


class GraphQueries(Reader):
    """The queries of a snapshot about entities, mentions and edges."""

    def entities(self, names: Sequence[str], scope: Scope) -> list[tuple[str, Entity]]:
        """Find the entities that some normalised names stand for: (name, entity) of each."""
        if not names:
            return []
        rows = sql.rows(
            self._connection,
            "SELECT a.alias, e.id, e.name, p.person_id FROM carray(?) s CROSS JOIN carray(?) n"
            " CROSS JOIN alias a ON a.partition = s.value AND a.alias = n.value"
            f"{_NAMED} n.rowid, e.id",
            (sql.id_array(np.array(scope.partitions, np.int64)), apsw.carray(tuple(names))),
        )
        return [(alias, Entity(*entity)) for alias, *entity in rows]

    def entities_in(self, words: Sequence[str], scope: Scope) -> list[tuple[str, Entity]]:
        """Find the entities whose names stand in a text of some normalised words.

        In the order of partitions and entities. Only words are looked up: there are three times as
        many runs of them that could be a name.
        """
        if not words:
            return []
        rows = sql.rows(
            self._connection,
            "SELECT a.alias, e.id, e.name, p.person_id FROM carray(?) w CROSS JOIN carray(?) s"
            " CROSS JOIN alias a ON a.partition = s.value"
            " AND a.alias >= w.value AND a.alias < w.value || '!'"  # which is next to the space
            f" AND instr(?, ' ' || a.alias || ' '){_NAMED} e.id",
            (
                apsw.carray(tuple(dict.fromkeys(words))),
                sql.id_array(np.array(scope.partitions, np.int64)),
                f" {' '.join(words)} ",
            ),
        )
        return [(alias, Entity(*entity)) for alias, *entity in rows]

    def asker(self, scope: Scope) -> list[Entity]:
        """Return the entities of the person who asks."""
        if scope.person_id is None:
            return []
        alias = f"@{scope.person_id}"
        return self._unchanged.get(
            (alias, scope.partitions), lambda: [each for _, each in self.entities([alias], scope)]
        )

    def aliases_like(self, word: str, edits: int, scope: Scope) -> list[str]:
        """List the one-word names that so many edits to a word could give, and others, in order.

        They begin with its first letter, or with its first two swapped, and are at most
        ``edits`` letters shorter or longer. None come back when they would be more than 2000.
        """
        rows = sql.rows(
            self._connection,
            "SELECT DISTINCT a.alias FROM carray(?) b CROSS JOIN carray(?) s"
            " CROSS JOIN alias a ON a.partition = s.value AND a.alias >= b.value"
            " AND a.alias < b.value || char(1114111)"
            " WHERE length(a.alias) BETWEEN ? AND ? AND instr(a.alias, ' ') = 0"
            " ORDER BY a.alias LIMIT ?",
            (
                apsw.carray(tuple({word[:1], word[1:2] + word[:1]})),
                sql.id_array(np.array(scope.partitions, np.int64)),
                len(word) - edits,
                len(word) + edits,
                _ALIASES_READ + 1,
            ),
        )
        return [alias for (alias,) in rows] if len(rows) <= _ALIASES_READ else []

    def edges(self, nodes: IdArray, scope: Scope, cap: int) -> EdgeList:
        """Return up to ``cap`` of the strongest valid edges out of each node in scope.

        Of a node's edges the 4096 strongest are read, however many of them are no longer valid.
        """
        # A statement a node, run 20 times, takes 0.15 ms; one for all of them, by a row-value IN,
        # 0.3 to 0.7: SQLite reads each list twice, or every edge of a hub.
        rows = [
            row
            for node in in_scope(nodes, scope).tolist()
            for row in sql.rows(
                self._connection,
                # The inner order is that of the primary key, so that reading stops at the limit.
                "SELECT src, dst, weight, kind FROM (SELECT * FROM edge WHERE src = ?"
                "  ORDER BY weight DESC, dst DESC, kind, valid_from_s LIMIT ?)"
                " WHERE valid_from_s <= ? AND (valid_until_s IS NULL OR valid_until_s > ?) LIMIT ?",
                (node, _EDGES_READ, scope.as_of_s, scope.as_of_s, cap),
            )
        ]
        src, dst, weight, kinds = zip(*rows, strict=True) if rows else ((),) * 4
        return EdgeList(src, dst, tuple(np.array(weight, np.float32).tolist()), kinds)

    def degrees(self, nodes: IdArray, scope: Scope) -> FloatArray:
        """Count the edges at each node, up to 1024; 0 outside the scope."""
        visible = in_scope(nodes, scope)
        rows = sql.rows(
            self._connection,
            "SELECT (SELECT count(*) FROM (SELECT 1 FROM edge WHERE src = n.value LIMIT ?))"
            " FROM carray(?) n",
            (_DEGREE_CAP, sql.id_array(visible)),
        )
        degrees = dict(zip(visible.tolist(), (n for (n,) in rows), strict=False))
        return np.array([degrees.get(node, 0) for node in nodes.tolist()], np.float32)

    def mentions(
        self, ids: IdArray, entities: Sequence[int], scope: Scope
    ) -> list[tuple[int, int]]:
        """List the (memory, entity) pairs among some memories and entities."""
        return sql.rows(
            self._connection,
            "SELECT t.memory, t.entity FROM carray(?) e CROSS JOIN mention t"
            " ON t.memory = e.value AND t.entity IN (SELECT value FROM carray(?))",
            (sql.id_array(in_scope(ids, scope)), apsw.carray(np.array(entities, np.int64))),
        )

    def node_names(self, nodes: IdArray, scope: Scope) -> dict[int, str]:
        """Return the names of nodes: doc_ids of memories, names of entities."""
        visible = sql.id_array(in_scope(nodes, scope))
        rows = sql.rows(
            self._connection,
            "SELECT id, doc_id FROM carray(?) n CROSS JOIN memory ON id = n.value"
            " UNION ALL SELECT id, name FROM carray(?) n CROSS JOIN entity ON id = n.value",
            (visible, visible),
        )
        return dict(rows)

    def stating_relations(self, ids: IdArray, scope: Scope) -> IdArray:
        """Return the ids, in scope, of memories that are the evidence of a relation."""
        rows = sql.rows(
            self._connection,
            "SELECT n.value FROM carray(?) n WHERE EXISTS"
            " (SELECT 1 FROM edge WHERE src = n.value AND kind = 'evidence')",
            (sql.id_array(in_scope(ids, scope)),),
        )
        return np.array([memory for (memory,) in rows], np.int64)
