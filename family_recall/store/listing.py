"""Pages of what a scope holds, in the order of time: nothing is searched for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import apsw
import numpy as np
import numpy.typing as npt

from family_recall.store import memories, relations, scope_sql
from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT
from family_recall.store.graph import Entities
from family_recall.store.household import Household
from family_recall.store.memories import StoredMemory, epoch_s
from family_recall.store.relations import StoredRelation
from family_recall.store.scope_sql import Condition
from family_recall.types import IdArray, Relation, Scope

_MOMENT = "coalesce(m.occurred_s, m.recorded_s)"
_IN_PARTITIONS = f"m.id >> {PARTITION_SHIFT} IN (SELECT value FROM carray(?))"
_CURRENT: Condition = ("m.superseded_s IS NULL", ())


@dataclass(frozen=True, slots=True)
class Listings:
    """Pages of what one transaction sees. Every method takes a scope; its moments do not count.

    A memory counts from when it happened or, where that is unknown, from when it was recorded.
    What was true for a time only is listed before and after it too, so that it can be edited.
    """

    connection: apsw.Connection
    zone: dt.tzinfo

    @property
    def household(self) -> Household:
        """The people and spaces of the file."""
        return Household(self.connection)

    def ids_by_time(
        self,
        scope: Scope,
        mentioning: Sequence[int] | None,
        between_s: tuple[float | None, float | None],
    ) -> tuple[IdArray, npt.NDArray[np.float64]]:
        """Return ids and moments of the current memories, the newest first.

        Args:
            scope: Its filters count.
            mentioning: Only memories that mention one of these entities; None for all.
            between_s: Half-open interval of epoch seconds; an open end is None.
        """
        conditions = [_in_scope(scope), _CURRENT, scope_sql.matching(scope.filters)]
        for sign, moment_s in zip((">=", "<"), between_s, strict=True):
            if moment_s is not None:
                conditions.append((f"{_MOMENT} {sign} ?", (moment_s,)))
        if mentioning is not None:
            mention = (
                "m.id IN (SELECT t.memory FROM mentioned t"
                " WHERE t.entity IN (SELECT value FROM carray(?)))"
            )
            conditions.append((mention, (sql.id_array(np.array(mentioning, np.int64)),)))
        condition, values = scope_sql.every(*conditions)
        rows = sql.rows(
            self.connection, f"SELECT m.id, {_MOMENT} FROM memory m WHERE {condition}", values
        )
        ids = np.array([memory for memory, _ in rows], np.int64)
        moments = np.array([moment_s for _, moment_s in rows], np.float64)
        order = np.lexsort((-ids, -moments))
        return ids[order], moments[order]

    def load(self, ids: IdArray, scope: Scope) -> list[StoredMemory]:
        """Load the current ones of some memories, in the order of ``ids``; filters do not count."""
        condition = scope_sql.every(_CURRENT, _in_scope(scope))
        return memories.load_ids(self.connection, ids, self.zone, condition)

    def versions_of(self, doc_id: str, scope: Scope) -> list[StoredMemory]:
        """Load every version of a memory that is in scope, the newest first."""
        condition, values = _in_scope(scope)
        # Each side has an index of its own that begins with the space: of 50,000 memories this
        # takes 1 ms, and 47 without.
        versions = [
            stored
            for side in ("IS NULL", "IS NOT NULL")
            for stored in memories.load(
                self.connection,
                "m.space IN (SELECT no FROM space) AND m.doc_id = ?"
                f" AND m.superseded_s {side} AND {condition}",
                (doc_id, *values),
                self.zone,
            )
        ]
        return sorted(
            versions,
            key=lambda stored: (stored.superseded_s is None, stored.recorded_s, stored.id),
            reverse=True,
        )

    def doc_ids(self, scope: Scope) -> list[str]:
        """List the ids of the current memories in scope, each once; filters do not count."""
        condition, values = scope_sql.every(_CURRENT, _in_scope(scope))
        rows = sql.rows(
            self.connection, f"SELECT DISTINCT m.doc_id FROM memory m WHERE {condition}", values
        )
        return [doc_id for (doc_id,) in rows]

    def unredacted(self, space_id: str, doc_id: str) -> StoredMemory:
        """Load an existing memory itself, whichever redacted view of it was listed."""
        (stored,) = memories.load(
            self.connection,
            "m.space = (SELECT no FROM space WHERE space_id = ?) AND m.doc_id = ?"
            " AND m.redacted_view = 0 AND m.superseded_s IS NULL",
            (space_id, doc_id),
            self.zone,
        )
        return stored

    def relations_of_kind(
        self, relation: Relation, scope: Scope, view: int = 0
    ) -> list[StoredRelation]:
        """List the relations of the same kind, place and start as another; or a view's."""
        valid_from_s = epoch_s(relation.valid_from, self.zone)
        return relations.of_kind(self.connection, relation, valid_from_s, scope, view)

    def evidence_authors(self, rows: Sequence[StoredRelation]) -> list[list[str | None]]:
        """Return the authors of each relation's evidence, None where a memory has none."""
        numbers = [row.no for row in rows]
        evidence = relations.evidence_of(self.connection, numbers, ("TRUE", ()))
        return [[author for *_, author in evidence[no]] for no in numbers]

    def aliases_of(self, entity: int) -> frozenset[str]:
        """Return the aliases of an entity."""
        return Entities(self.connection).aliases_of(entity)

    def mentions_of(self, memory: int) -> list[tuple[int, str, str]]:
        """List the (entity, name, role) of what a memory mentions, by name."""
        return sql.rows(
            self.connection,
            "SELECT e.id, e.name, t.role FROM mention t JOIN entity e ON e.id = t.entity"
            " WHERE t.memory = ? ORDER BY e.name, t.role",
            (memory,),
        )

    def entity_counts(self, scope: Scope) -> list[tuple[str, int]]:
        """Count the current memories that mention each name; the most mentioned first."""
        condition, values = scope_sql.every(_CURRENT, _in_scope(scope))
        return sql.rows(
            self.connection,
            "SELECT e.name, count(DISTINCT t.memory) AS n FROM memory m"
            " JOIN mention t ON t.memory = m.id JOIN entity e ON e.id = t.entity"
            f" WHERE {condition} GROUP BY e.name ORDER BY n DESC, e.name",
            values,
        )


def _in_scope(scope: Scope) -> Condition:
    """Return the condition that a memory is of the scope's partitions, and retained."""
    partitions = sql.id_array(np.array(scope.partitions, np.int64))
    return scope_sql.every((_IN_PARTITIONS, (partitions,)), scope_sql.retained(scope))
