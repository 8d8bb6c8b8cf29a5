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
from typing import Any

import apsw
import numpy as np

from family_recall.store import scope_sql
from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT, partition_of
from family_recall.store.graph import Entity, add_edges, remove_relations
from family_recall.store.ids import in_scope
from family_recall.store.reader import Reader
from family_recall.types import Relation, Scope


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A relation as stored: two entities of one partition.

    ``no`` is its number; moments are in epoch seconds, None where an end is open.
    """

    subject: Entity
    relation: str
    object: Entity
    confidence: float
    no: int = 0
    recorded_s: float = 0.0
    valid_from_s: float | None = None
    valid_until_s: float | None = None


@dataclass(frozen=True, slots=True)
class RecordedRelation:
    """A relation and when it was recorded; entities by the names they have today."""

    relation: Relation
    recorded_s: float


_INSERT = (
    "INSERT INTO relation(subject, relation, object, confidence, valid_from_s, valid_until_s,"
    " recorded_s, evidence, stated) VALUES(:subject, :relation, :object, :confidence,"
    " :valid_from_s, :valid_until_s, :recorded_s, :evidence, :stated)"
)


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A relation with every name its two entities have, and the authors of its evidence.

    ``given_names`` it was recorded with, ``names`` and normalised ``aliases`` of its entities. An
    author is None where the evidence has none.
    """

    no: int
    recorded_s: float
    subject: int
    object: int
    given_names: tuple[str, str]
    names: tuple[str, str]
    aliases: tuple[frozenset[str], frozenset[str]]
    evidence_authors: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations of one file, inside one write transaction."""

    connection: apsw.Connection

    def put(
        self,
        subject: int,
        relation: Relation,
        object_: int,
        moments: tuple[float | None, float | None, float],
        evidence: Sequence[int],
    ) -> None:
        """Write a relation between two entities, in place of the same one.

        ``moments`` are valid from, valid until and recorded, in epoch seconds.
        """
        valid_from_s, valid_until_s, recorded_s = moments
        self.connection.execute(
            "DELETE FROM relation WHERE subject = ? AND relation = ? AND object = ?"
            " AND valid_from_s IS ?",
            (subject, relation.relation, object_, valid_from_s),
        )
        self.connection.execute(
            _INSERT,
            {
                "subject": subject, "relation": relation.relation, "object": object_,
                "confidence": relation.confidence, "valid_from_s": valid_from_s,
                "valid_until_s": valid_until_s, "recorded_s": recorded_s,
                "evidence": json.dumps(list(evidence)),
                "stated": json.dumps([relation.subject, relation.object]),
            },
        )  # fmt: skip
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

    def remove(self, no: int, subject: int, object_: int) -> None:
        """Delete a relation, with the edges that no other relation accounts for."""
        self.connection.execute("DELETE FROM relation WHERE no = ?", (no,))
        self.rebuild_edges(subject, object_)

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

    def rows(self, entities: Collection[int] | None = None) -> list[RelationRow]:
        """List the relations between some entities and any others, or all, by number."""
        return _rows(
            self.connection,
            "?1 IS NULL OR r.subject IN (SELECT value FROM json_each(?1))"
            " OR r.object IN (SELECT value FROM json_each(?1))",
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


_READ = 1024


def of_kind(
    connection: apsw.Connection,
    relation: Relation,
    valid_from_s: float | None,
    scope: Scope,
    view: int = 0,
) -> list[RelationRow]:
    """List the relations of the same kind, place and start as another, between any two entities.

    Args:
        connection: The file.
        relation: Gives kind, space, band and guardians.
        valid_from_s: Its start in epoch seconds.
        scope: Only its retention rules count.
        view: Number of the redacted view; 0 for the memories themselves.
    """
    retained, values = _retained(scope)
    return _rows(
        connection,
        "r.relation = ? AND r.valid_from_s IS ? AND s.space_id = ? AND p.band = ?"
        f" AND c.person_id IS ? AND p.redacted_view = ? AND {retained}",
        (
            relation.relation, valid_from_s, relation.space_id, relation.band,
            relation.guardians_of, view, *values,
        ),
    )  # fmt: skip


def _rows(
    connection: apsw.Connection, condition: str, values: tuple[object, ...]
) -> list[RelationRow]:
    rows = sql.rows(
        connection,
        "SELECT r.no, r.recorded_s, r.subject, r.object, coalesce(r.stated, json_array(a.name,"
        f" b.name)), a.name, b.name, {_aliases_of('r.subject')}, {_aliases_of('r.object')},"
        " (SELECT json_group_array(m.author) FROM json_each(r.evidence) e"
        f"  JOIN memory m ON m.id = e.value) {_JOINED} WHERE {condition} ORDER BY r.no",
        values,
    )
    return [
        RelationRow(
            no,
            recorded_s,
            subject,
            object_,
            tuple(json.loads(given_names)),
            (subject_name, object_name),
            (frozenset(json.loads(of_subject)), frozenset(json.loads(of_object))),
            tuple(json.loads(authors)),
        )
        for (
            no, recorded_s, subject, object_, given_names, subject_name, object_name,
            of_subject, of_object, authors,
        ) in rows
    ]  # fmt: skip


def of_space(connection: apsw.Connection, space_id: str, zone: dt.tzinfo) -> list[RecordedRelation]:
    """List the relations of a space, the oldest first, with all of their evidence."""
    rows = sql.rows(
        connection,
        f"{_select('TRUE')} WHERE s.space_id = ? AND p.redacted_view = 0 ORDER BY r.no",
        (space_id,),
    )
    return [_recorded(row, zone) for row in rows]


class RelationQueries(Reader):
    """The queries of a snapshot about relations."""

    def relations_in(
        self, scope: Scope, limit: int, about: Sequence[int] | None = None
    ) -> list[Relation]:
        """List the relations of a scope that hold at its moment, as stated, oldest first.

        With ``about`` only those that have one of these entities at either end.
        """
        evidence, in_evidence = scope_sql.retained(scope)
        retained, in_retained = _retained(scope)
        rows = sql.rows(
            self._connection,
            f"{_select(evidence)} WHERE p.no IN (SELECT value FROM carray(?))"
            " AND (r.valid_from_s IS NULL OR r.valid_from_s <= ?)"
            " AND (r.valid_until_s IS NULL OR r.valid_until_s > ?)"
            " AND r.recorded_s <= ? AND (? IS NULL OR r.subject IN (SELECT value FROM json_each(?))"
            " OR r.object IN (SELECT value FROM json_each(?)))"
            f" AND {retained} ORDER BY r.recorded_s, r.no LIMIT ?",
            (
                *in_evidence,
                sql.id_array(np.array(scope.partitions, np.int64)),
                scope.as_of_s,
                scope.as_of_s,
                np.inf if scope.known_at_s is None else scope.known_at_s,
                *[None if about is None else json.dumps(list(about))] * 3,
                *in_retained,
                limit,
            ),
        )
        return [_recorded(row, self._zone).relation for row in rows]

    def relations(
        self, entities: Sequence[int], scope: Scope, *, ended: bool = False
    ) -> list[StoredRelation]:
        """List the relations of some entities that hold at the scope's moments, oldest first.

        ``ended``: those that held before, and no longer do.
        """
        retained, values = _retained(scope)
        holds = (
            "r.valid_until_s <= ?2"
            if ended
            else "(r.valid_from_s IS NULL OR r.valid_from_s <= ?2)"
            " AND (r.valid_until_s IS NULL OR r.valid_until_s > ?2)"
        )
        rows = sql.rows(
            self._connection,
            f"SELECT s.id, {_named('s')}, p.person_id, r.relation,"
            f" o.id, {_named('o')}, q.person_id, r.confidence, r.no,"
            " r.recorded_s, r.valid_from_s, r.valid_until_s"
            " FROM relation r"
            " JOIN entity s ON s.id = r.subject LEFT JOIN person p ON p.no = s.person"
            " JOIN entity o ON o.id = r.object LEFT JOIN person q ON q.no = o.person"
            " WHERE (r.subject IN (SELECT value FROM carray(?1))"
            f" OR r.object IN (SELECT value FROM carray(?1))) AND {holds}"
            f" AND (?3 IS NULL OR r.recorded_s <= ?3) AND {retained} ORDER BY r.no LIMIT {_READ}",
            (
                sql.id_array(in_scope(np.array(entities, np.int64), scope)),
                scope.as_of_s,
                scope.known_at_s,
                *values,
            ),
        )
        return [
            StoredRelation(Entity(*row[:3]), row[3], Entity(*row[4:7]), *row[7:]) for row in rows
        ]

    def evidence_of(
        self, related: Sequence[StoredRelation], scope: Scope
    ) -> dict[int, list[tuple[int, str]]]:
        """Return (row id, doc_id) of the evidence of some relations, by the relation's number."""
        condition, values = scope_sql.visible(scope)
        numbers = [r.no for r in related if partition_of(r.subject.id) in scope.partitions]
        evidence: dict[int, list[tuple[int, str]]] = {no: [] for no in numbers}
        for no, memory, doc_id in sql.rows(
            self._connection,
            "SELECT r.no, m.id, m.doc_id FROM json_each(?) n CROSS JOIN relation r"
            " ON r.no = n.value CROSS JOIN json_each(r.evidence) e"
            f" CROSS JOIN memory m ON m.id = e.value WHERE {condition} ORDER BY r.no, e.key",
            (json.dumps(numbers), *values),
        ):
            evidence[no].append((memory, doc_id))
        return evidence


def _named(entity: str) -> str:
    """Return the SQL expression for an entity's name: a person's, where it is stored by their id.

    People who may enter its space are stored by name; others by what a relation calls them.
    """
    return (
        f"coalesce((SELECT n.name FROM person n WHERE n.person_id = {entity}.name), {entity}.name)"
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


_JOINED = (
    "FROM relation r JOIN entity a ON a.id = r.subject JOIN entity b ON b.id = r.object"
    f" JOIN partition p ON p.no = -r.subject >> {PARTITION_SHIFT}"
    " JOIN space s ON s.no = p.space LEFT JOIN person c ON c.no = p.child"
)


def _select(evidence: str) -> str:
    """Return the query that :func:`_recorded` reads, with the evidence that meets a condition."""
    return (
        "SELECT a.name, r.relation, b.name, s.space_id, p.band, r.confidence, r.valid_from_s,"
        " r.valid_until_s, (SELECT json_group_array(m.doc_id) FROM json_each(r.evidence) e"
        f"  JOIN memory m ON m.id = e.value AND {evidence}), c.person_id, r.recorded_s {_JOINED}"
    )


def _recorded(row: tuple[Any, ...], zone: dt.tzinfo) -> RecordedRelation:
    subject, kind, object_, space_id, band, confidence, start, end, evidence, child, at_s = row
    relation = Relation(
        subject, kind, object_, space_id,
        band=band, confidence=confidence,
        valid_from=None if start is None else dt.datetime.fromtimestamp(start, zone),
        valid_until=None if end is None else dt.datetime.fromtimestamp(end, zone),
        evidence=tuple(json.loads(evidence)), guardians_of=child,
    )  # fmt: skip
    return RecordedRelation(relation, at_s)


def _aliases_of(entity: str) -> str:
    return (
        "(SELECT json_group_array(n.alias) FROM alias n"
        f" WHERE n.partition = p.no AND n.entity = {entity})"
    )
