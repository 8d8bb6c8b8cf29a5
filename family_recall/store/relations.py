"""Relations: typed, dated links between two entities, the edges made from them, and queries.

A relation may rest on evidence: memories of its partition. It counts as long as any of it is
retained. ``given_names`` are the names it was recorded with, which may be shorter than those of its
entities.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apsw
import numpy as np

from family_recall.store import scope_sql
from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT
from family_recall.store.graph import Entity, add_edges, remove_relations
from family_recall.store.memories import epoch_s
from family_recall.store.reader import Reader
from family_recall.store.scope_sql import in_scope
from family_recall.types import Relation, Scope


class StoredRelation(NamedTuple):
    """A relation as stored: two entities of one partition, called as people are today.

    ``no`` is its number; moments are in epoch seconds, None where an end is open. ``given_names``
    it was recorded with; ``names`` are those of its entities, a person's that may not enter the
    space being their id. ``guardians_of`` is the child for whose guardians it is.
    """

    no: int
    subject: Entity
    relation: str
    object: Entity
    confidence: float
    recorded_s: float
    valid_from_s: float | None
    valid_until_s: float | None
    given_names: tuple[str, str]
    names: tuple[str, str]
    space_id: str
    band: str
    guardians_of: str | None


class RecordedRelation(NamedTuple):
    """A relation and when it was recorded; entities by the names they have today."""

    relation: Relation
    recorded_s: float


_INSERT = (
    "INSERT INTO relation(subject, relation, object, confidence, valid_from_s, valid_until_s,"
    " recorded_s, evidence, stated) VALUES(:subject, :relation, :object, :confidence,"
    " :valid_from_s, :valid_until_s, :recorded_s, :evidence, :stated)"
)
_READ = 1024
_SELECT = (
    "SELECT r.no, a.id, coalesce((SELECT name FROM person WHERE person_id = a.name), a.name),"
    " (SELECT person_id FROM person WHERE no = a.person), r.relation,"
    " b.id, coalesce((SELECT name FROM person WHERE person_id = b.name), b.name),"
    " (SELECT person_id FROM person WHERE no = b.person), r.confidence, r.recorded_s,"
    " r.valid_from_s, r.valid_until_s, r.stated, a.name, b.name, s.space_id, p.band, c.person_id"
    " FROM relation r JOIN entity a ON a.id = r.subject JOIN entity b ON b.id = r.object"
    f" JOIN partition p ON p.no = -r.subject >> {PARTITION_SHIFT}"
    " JOIN space s ON s.no = p.space LEFT JOIN person c ON c.no = p.child WHERE "
)


def find(
    connection: apsw.Connection, condition: str, values: Sequence[object] = (), limit: int = -1
) -> list[StoredRelation]:
    """List the relations ``r`` of partition ``p`` that meet a condition, the oldest first."""
    order = f"ORDER BY r.recorded_s, r.no LIMIT {limit}"
    return [_stored(*row) for row in sql.rows(connection, f"{_SELECT}{condition} {order}", values)]


def _stored(no: int, *row: Any) -> StoredRelation:
    given_names, *names = row[11:14]
    return StoredRelation(
        no=no,
        subject=Entity(*row[:3]),
        relation=row[3],
        object=Entity(*row[4:7]),
        confidence=row[7],
        recorded_s=row[8],
        valid_from_s=row[9],
        valid_until_s=row[10],
        given_names=tuple(names if given_names is None else json.loads(given_names)),
        names=tuple(names),
        space_id=row[14],
        band=row[15],
        guardians_of=row[16],
    )


def of_kind(
    connection: apsw.Connection,
    relation: Relation,
    valid_from_s: float | None,
    scope: Scope,
    view: int = 0,
) -> list[StoredRelation]:
    """List the relations of the same kind, place and start as another, between any two entities.

    Args:
        connection: The file.
        relation: Gives kind, space, band and guardians.
        valid_from_s: Its start in epoch seconds.
        scope: Only its retention rules count.
        view: Number of the redacted view; 0 for the memories themselves.
    """
    retained, values = _retained(scope)
    return find(
        connection,
        "r.relation = ? AND r.valid_from_s IS ? AND s.space_id = ? AND p.band = ?"
        f" AND c.person_id IS ? AND p.redacted_view = ? AND {retained}",
        (
            relation.relation, valid_from_s, relation.space_id, relation.band,
            relation.guardians_of, view, *values,
        ),
    )  # fmt: skip


def of_space(connection: apsw.Connection, space_id: str, zone: dt.tzinfo) -> list[RecordedRelation]:
    """List the relations of a space, the oldest first, with all of their evidence."""
    stored = find(connection, "s.space_id = ? AND p.redacted_view = 0", (space_id,))
    relations = stated(connection, stored, ("TRUE", ()), zone)
    return [
        RecordedRelation(relation, row.recorded_s)
        for relation, row in zip(relations, stored, strict=True)
    ]


def stated(
    connection: apsw.Connection,
    stored: Sequence[StoredRelation],
    condition: scope_sql.Condition,
    zone: dt.tzinfo,
) -> list[Relation]:
    """Return relations as they were stated, with the evidence that meets a condition."""
    evidence = evidence_of(connection, [row.no for row in stored], condition)

    def moment(at_s: float | None) -> dt.datetime | None:
        return None if at_s is None else dt.datetime.fromtimestamp(at_s, zone)

    return [
        Relation(
            row.names[0], row.relation, row.names[1], row.space_id,
            band=row.band, confidence=row.confidence,
            valid_from=moment(row.valid_from_s), valid_until=moment(row.valid_until_s),
            evidence=tuple(doc_id for _, doc_id, _ in evidence[row.no]),
            guardians_of=row.guardians_of,
        )
        for row in stored
    ]  # fmt: skip


def evidence_of(
    connection: apsw.Connection, numbers: Sequence[int], condition: scope_sql.Condition
) -> dict[int, list[tuple[int, str, str | None]]]:
    """Return the row id, doc_id and author of the evidence of relations, by their number."""
    evidence: dict[int, list[tuple[int, str, str | None]]] = {no: [] for no in numbers}
    for no, *memory in sql.rows(
        connection,
        "SELECT r.no, m.id, m.doc_id, m.author FROM json_each(?) n CROSS JOIN relation r"
        " ON r.no = n.value CROSS JOIN json_each(r.evidence) e"
        f" CROSS JOIN memory m ON m.id = e.value WHERE {condition[0]} ORDER BY r.no, e.key",
        (json.dumps(list(numbers)), *condition[1]),
    ):
        evidence[no].append(tuple(memory))
    return evidence


class RelationQueries(Reader):
    """The queries of a snapshot about relations."""

    def relations(
        self,
        entities: Sequence[int] | None,
        scope: Scope,
        *,
        ended: bool = False,
        limit: int = _READ,
    ) -> list[StoredRelation]:
        """List the relations of some entities, or all, that hold at the scope's moments.

        The oldest first. ``ended``: those that held before, and no longer do.
        """
        retained, in_retained = _retained(scope)
        holds = (
            "r.valid_until_s <= ?1"
            if ended
            else "(r.valid_from_s IS NULL OR r.valid_from_s <= ?1)"
            " AND (r.valid_until_s IS NULL OR r.valid_until_s > ?1)"
        )
        if entities is None:
            among = "p.no IN (SELECT value FROM carray(?3))"
            ids = np.array(scope.partitions, np.int64)
        else:
            among = (
                "(r.subject IN (SELECT value FROM carray(?3))"
                " OR r.object IN (SELECT value FROM carray(?3)))"
            )
            ids = in_scope(np.array(entities, np.int64), scope)
        return find(
            self._connection,
            f"{among} AND {holds} AND (?2 IS NULL OR r.recorded_s <= ?2) AND {retained}",
            (scope.as_of_s, scope.known_at_s, sql.id_array(ids), *in_retained),
            limit,
        )

    def stated_relations(
        self, scope: Scope, limit: int, entities: Sequence[int] | None = None
    ) -> list[Relation]:
        """List the same as they were stated, with the evidence that is retained."""
        stored = self.relations(entities, scope, limit=limit)
        return stated(self._connection, stored, scope_sql.retained(scope), self._zone)

    def evidence_of(
        self, related: Sequence[StoredRelation], scope: Scope
    ) -> dict[int, list[tuple[int, str, str | None]]]:
        """Return the row id, doc_id and author of visible evidence, by the relation's number."""
        return evidence_of(
            self._connection, [relation.no for relation in related], scope_sql.visible(scope)
        )


def _retained(scope: Scope) -> scope_sql.Condition:
    """Return the condition that ``relation r`` has no evidence, or some that is retained."""
    if not scope.expired:
        return "TRUE", ()
    condition, values = scope_sql.retained(scope)
    return (
        "(r.evidence = '[]' OR EXISTS (SELECT 1 FROM json_each(r.evidence) e"
        f" JOIN memory m ON m.id = e.value AND {condition}))"
    ), values


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations of one file, inside one write transaction."""

    connection: apsw.Connection

    def put(
        self,
        subject: int,
        recorded: RecordedRelation,
        object_: int,
        evidence: Sequence[int],
        zone: dt.tzinfo,
    ) -> None:
        """Write a relation between two entities, in place of the same one."""
        relation = recorded.relation
        row = {
            "subject": subject, "relation": relation.relation, "object": object_,
            "confidence": relation.confidence, "recorded_s": recorded.recorded_s,
            "valid_from_s": epoch_s(relation.valid_from, zone),
            "valid_until_s": epoch_s(relation.valid_until, zone),
            "evidence": json.dumps(evidence),
            "stated": json.dumps([relation.subject, relation.object]),
        }  # fmt: skip
        self.connection.execute(
            "DELETE FROM relation WHERE subject = :subject AND relation = :relation"
            " AND object = :object AND valid_from_s IS :valid_from_s",
            row,
        )
        self.connection.execute(_INSERT, row)
        self.rebuild_edges(subject, object_)

    def restore(self, row: Mapping[str, Any]) -> None:
        """Write a deleted row again, with the part of its evidence that is still stored."""
        evidence = sql.rows(
            self.connection,
            "SELECT id FROM memory WHERE id IN (SELECT value FROM json_each(?))",
            (row["evidence"],),
        )
        self.connection.execute(
            _INSERT, {**row, "evidence": json.dumps([memory for (memory,) in evidence])}
        )
        self.rebuild_edges(row["subject"], row["object"])

    def remove(self, relation: StoredRelation) -> None:
        """Delete a relation, with the edges that no other relation accounts for."""
        self.connection.execute("DELETE FROM relation WHERE no = ?", (relation.no,))
        self.rebuild_edges(relation.subject.id, relation.object.id)

    def remove_evidence(self, memories: Collection[int]) -> list[dict[str, Any]]:
        """Remove memories from the evidence of relations; delete those left without any.

        Returns:
            The deleted rows, by column, with ``subject_name`` and ``object_name``.
        """
        deleted = []
        for no, subject, object_, evidence in sql.rows(
            self.connection,
            "SELECT no, subject, object, evidence FROM relation r WHERE EXISTS"
            " (SELECT 1 FROM json_each(r.evidence) e WHERE e.value IN"
            "  (SELECT value FROM json_each(?)))",
            (json.dumps(sorted(memories)),),
        ):
            left = [memory for memory in json.loads(evidence) if memory not in memories]
            if left:
                self.connection.execute(
                    "UPDATE relation SET evidence = ? WHERE no = ?", (json.dumps(left), no)
                )
            else:
                deleted.append(self._row(no))
                self.connection.execute("DELETE FROM relation WHERE no = ?", (no,))
            self.rebuild_edges(subject, object_)
        return deleted

    def move(self, no: int, subject: int, object_: int) -> None:
        """Change the two entities of a relation; the edges are the caller's."""
        self.connection.execute(
            "UPDATE relation SET subject = ?, object = ? WHERE no = ?", (subject, object_, no)
        )

    def rows(self, entities: Collection[int] | None = None) -> list[StoredRelation]:
        """List the relations between some entities and any others, or all, the oldest first."""
        return find(
            self.connection,
            "(?1 IS NULL OR r.subject IN (SELECT value FROM json_each(?1))"
            " OR r.object IN (SELECT value FROM json_each(?1)))",
            (None if entities is None else json.dumps(list(entities)),),
        )

    def rebuild_edges(self, subject: int, object_: int) -> None:
        """Write the edges of two entities' relations again."""
        for entity in {subject, object_}:
            remove_relations(self.connection, entity)
        self._add_edges("subject IN (?1, ?2) OR object IN (?1, ?2)", (subject, object_))

    def add_all_edges(self) -> None:
        """Write the edges of every relation."""
        self._add_edges("TRUE", ())

    def _add_edges(self, condition: str, values: tuple[int, ...]) -> None:
        """Write the edges of some relations, and those to their current evidence."""
        for subject, kind, object_, confidence, start, end, evidence in sql.rows(
            self.connection,
            "SELECT subject, relation, object, confidence, valid_from_s, valid_until_s, evidence"
            f" FROM relation WHERE {condition} ORDER BY no",
            values,
        ):
            add_edges(
                self.connection,
                [(subject, object_, confidence, kind)],
                valid_from_s=start,
                valid_until_s=end,
            )
            current = sql.rows(
                self.connection,
                "SELECT id FROM memory WHERE id IN (SELECT value FROM json_each(?))"
                " AND superseded_s IS NULL",
                (evidence,),
            )
            links = [
                (memory, entity, confidence, "evidence")
                for (memory,) in current
                for entity in (subject, object_)
            ]
            add_edges(self.connection, links)

    def _row(self, no: int) -> dict[str, Any]:
        columns = sql.columns(self.connection, "relation")
        row = sql.row(
            self.connection,
            f"SELECT {', '.join('r.' + name for name in columns)}, a.name, b.name FROM relation r"
            " JOIN entity a ON a.id = r.subject JOIN entity b ON b.id = r.object WHERE r.no = ?",
            (no,),
        )
        return dict(zip((*columns, "subject_name", "object_name"), row, strict=True))
