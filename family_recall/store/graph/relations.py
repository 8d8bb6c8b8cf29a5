"""The relation table: typed, dated relations between two entities, and the edges made from them.

A relation may rest on evidence: memories of its partition. ``given_names`` are the names it was
recorded with, which may be shorter than those of its entities.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from family_recall.store.file import sql
from family_recall.store.graph import edges
from family_recall.types import Relation

_INSERT = (
    "INSERT INTO relation(subject, relation, object, confidence, valid_from_s, valid_until_s,"
    " recorded_s, evidence, stated) VALUES(:subject, :relation, :object, :confidence,"
    " :valid_from_s, :valid_until_s, :recorded_s, :evidence, :stated)"
)


@dataclass(frozen=True, slots=True)
class GivenNames:
    """The two entities of a relation, and the names it was recorded with."""

    no: int
    recorded_s: float
    subject: int
    object: int
    given_names: tuple[str, str]


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

    def given_names(self, entities: Collection[int] | None = None) -> list[GivenNames]:
        """List the names that relations of some entities, or all, were recorded with."""
        return [
            GivenNames(no, recorded_s, subject, object_, tuple(json.loads(names)))
            for no, recorded_s, subject, object_, names in sql.rows(
                self.connection,
                "SELECT r.no, r.recorded_s, r.subject, r.object,"
                " coalesce(r.stated, json_array(a.name, b.name))"
                " FROM relation r JOIN entity a ON a.id = r.subject"
                " JOIN entity b ON b.id = r.object"
                " WHERE ?1 IS NULL OR r.subject IN (SELECT value FROM json_each(?1))"
                " OR r.object IN (SELECT value FROM json_each(?1)) ORDER BY r.no",
                (None if entities is None else json.dumps(list(entities)),),
            )
        ]

    def rebuild_edges(self, subject: int, object_: int) -> None:
        """Write the edges of two entities' relations again."""
        for entity in {subject, object_}:
            edges.remove_relations(self.connection, entity)
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
            edges.add(
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
            edges.add(self.connection, links)

    def _row(self, no: int) -> dict[str, Any]:
        names = sql.rows(self.connection, "SELECT name FROM pragma_table_info('relation')")
        columns = [name for (name,) in names]
        row = sql.row(
            self.connection,
            f"SELECT {', '.join('r.' + name for name in columns)}, a.name, b.name FROM relation r"
            " JOIN entity a ON a.id = r.subject JOIN entity b ON b.id = r.object WHERE r.no = ?",
            (no,),
        )
        return dict(zip((*columns, "subject_name", "object_name"), row, strict=True))
