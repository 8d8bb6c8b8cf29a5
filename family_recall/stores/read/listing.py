"""Listing: a scope in, what it holds in the order of time out. Nothing is searched for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import apsw
import numpy as np
import numpy.typing as npt

from family_recall.stores import scope_sql
from family_recall.stores.access.household import Household
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import PARTITION_SHIFT
from family_recall.stores.graph import relation_queries
from family_recall.stores.graph.relation_queries import RelationRow
from family_recall.stores.records import StoredMemory, epoch_s
from family_recall.stores.text import memories
from family_recall.types import IdArray, Relation, Scope

_MOMENT = "coalesce(m.occurred_s, m.recorded_s)"
_MINE = f"m.id >> {PARTITION_SHIFT} IN (SELECT value FROM carray(?))"


class Listings:
    """What a read transaction holds, by page. Every question takes a scope.

    A memory counts from when it happened or, where nobody said, from when it was recorded. What
    was true for a time only is listed before and after it too, so that it can be mended.
    """

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo) -> None:
        self._connection = connection
        self._zone = zone
        self.household = Household(connection)

    def listed(
        self,
        scope: Scope,
        naming: Sequence[int] | None,
        between_s: tuple[float | None, float | None],
    ) -> tuple[IdArray, npt.NDArray[np.float64]]:
        """Give ids and moments of what is believed now, the newest first.

        Args:
            scope: Its filters count; its moments do not.
            naming: Only what names one of these entities; whatever it names, when None.
            between_s: Half-open interval of epoch seconds; an open end is None.
        """
        kept, held = _kept(scope)
        filtered, values = scope_sql.matching(scope.filters)
        conditions, bound = [kept, "m.superseded_s IS NULL", filtered], [*held, *values]
        for sign, moment_s in zip((">=", "<"), between_s, strict=True):
            if moment_s is not None:
                conditions.append(f"{_MOMENT} {sign} ?")
                bound.append(moment_s)
        if naming is not None:
            conditions.append(
                "m.id IN (SELECT t.memory FROM mention t"
                " WHERE t.entity IN (SELECT value FROM carray(?)))"
            )
            bound.append(sql.id_array(np.array(naming, np.int64)))
        found = sql.rows(
            self._connection,
            f"SELECT m.id, {_MOMENT} FROM memory m WHERE {' AND '.join(conditions)}",
            tuple(bound),
        )
        ids = np.array([row[0] for row in found], np.int64)
        moments = np.array([row[1] for row in found], np.float64)
        order = np.lexsort((-ids, -moments))
        return ids[order], moments[order]

    def load(self, ids: IdArray, scope: Scope) -> list[StoredMemory]:
        """Load what is believed now of some memories, in the order of ``ids``.

        Those out of scope are left out; its filters and moments do not count.
        """
        condition, values = _kept(scope)
        found = {
            stored.id: stored
            for stored in memories.load(
                self._connection,
                f"m.id IN (SELECT value FROM carray(?)) AND m.superseded_s IS NULL AND {condition}",
                (sql.id_array(ids), *values),
                self._zone,
            )
        }
        return [found[memory] for memory in ids.tolist() if memory in found]

    def versions(self, doc_id: str, scope: Scope) -> list[StoredMemory]:
        """Give every version of a memory that lies in the scope, the newest first."""
        condition, values = _kept(scope)
        # Each side has an index of its own that begins with the space: of 50,000 memories this
        # takes 1 ms, and 47 without.
        found = [
            stored
            for side in ("IS NULL", "IS NOT NULL")
            for stored in memories.load(
                self._connection,
                "m.space IN (SELECT no FROM space) AND m.doc_id = ?"
                f" AND m.superseded_s {side} AND {condition}",
                (doc_id, *values),
                self._zone,
            )
        ]
        return sorted(
            found,
            key=lambda one: (one.superseded_s is None, one.recorded_s, one.id),
            reverse=True,
        )

    def whole(self, space_id: str, doc_id: str) -> StoredMemory:
        """Give a memory that is there as it was told, whichever view of it was listed."""
        (found,) = memories.load(
            self._connection,
            "m.space = (SELECT no FROM space WHERE space_id = ?) AND m.doc_id = ?"
            " AND m.redacted_view = 0 AND m.superseded_s IS NULL",
            (space_id, doc_id),
            self._zone,
        )
        return found

    def relations_of_kind(
        self, relation: Relation, scope: Scope, view: int = 0
    ) -> list[RelationRow]:
        """List the relations of the same kind, place and start as another; or a view's."""
        valid_from_s = epoch_s(relation.valid_from, self._zone)
        return relation_queries.of_kind(self._connection, relation, valid_from_s, scope, view)

    def names_of(self, memory: int) -> list[tuple[int, str, str]]:
        """Give (entity, name, role) of whom and what a memory names, by name."""
        return sql.rows(
            self._connection,
            "SELECT e.id, e.name, t.role FROM mention t JOIN entity e ON e.id = t.entity"
            " WHERE t.memory = ? ORDER BY e.name, t.role",
            (memory,),
        )

    def names(self, scope: Scope) -> list[tuple[str, int]]:
        """Count, by name, what is believed now and names it; the most named first."""
        condition, values = _kept(scope)
        return sql.rows(
            self._connection,
            "SELECT e.name, count(DISTINCT t.memory) AS n FROM memory m"
            " JOIN mention t ON t.memory = m.id JOIN entity e ON e.id = t.entity"
            f" WHERE m.superseded_s IS NULL AND {condition}"
            " GROUP BY e.name ORDER BY n DESC, e.name",
            values,
        )


def _kept(scope: Scope) -> tuple[str, tuple[object, ...]]:
    """Turn a scope's partitions and what it keeps into a condition on ``memory m``."""
    mine = sql.id_array(np.array(scope.partitions, np.int64))
    return scope_sql.every((_MINE, (mine,)), scope_sql.retained(scope))
