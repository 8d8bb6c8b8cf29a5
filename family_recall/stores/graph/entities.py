"""Names: the entities a partition knows, who mentions them, and how they relate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import apsw

from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import PARTITION_SHIFT
from family_recall.stores.graph import edges
from family_recall.types import Person, Relation

Mention: TypeAlias = tuple[int, int, str]
"""A memory, an entity it names, and in what role."""


@dataclass(frozen=True, slots=True)
class Names:
    """Entities, mentions and relations of one file, inside one transaction."""

    connection: apsw.Connection

    def aliases(self, partition: int) -> dict[str, int]:
        """Map the normalised names a partition knows to its entities."""
        return dict(
            sql.rows(
                self.connection,
                "SELECT alias, min(entity) FROM alias WHERE partition = ? GROUP BY alias",
                (partition,),
            )
        )

    def residents(self, space_id: str) -> list[tuple[int, Person]]:
        """List the people who may enter a space, with their numbers."""
        return [
            (no, Person(person_id, name, tuple(json.loads(aliases))))
            for no, person_id, name, aliases in sql.rows(
                self.connection,
                "SELECT p.no, p.person_id, p.name, p.aliases FROM access a"
                " JOIN person p ON p.no = a.person JOIN space s ON s.no = a.space"
                " WHERE s.space_id = ? ORDER BY p.no",
                (space_id,),
            )
        ]

    def new_entity(
        self, partition: int, name: str, aliases: Iterable[str], person: int | None = None
    ) -> int:
        """Make an entity of a partition with its normalised names."""
        (number,) = sql.row(
            self.connection,
            "UPDATE partition SET next_entity = next_entity + 1 WHERE no = ?"
            " RETURNING next_entity - 1",
            (partition,),
        )
        entity = -(partition << PARTITION_SHIFT | int(number))
        self.connection.execute(
            "INSERT INTO entity(id, name, person) VALUES(?, ?, ?)", (entity, name, person)
        )
        self.connection.executemany(
            "INSERT OR IGNORE INTO alias(partition, alias, entity) VALUES(?, ?, ?)",
            [(partition, alias, entity) for alias in aliases],
        )
        return entity

    def link(self, memory: int, mentions: Iterable[tuple[int, str, float]]) -> None:
        """Tie a memory to (entity, role, weight) mentions, as rows and as edges."""
        found = list(mentions)
        put_mentions(self.connection, [(memory, entity, role) for entity, role, _ in found])
        edges.add(
            self.connection, [(memory, entity, weight, role) for entity, role, weight in found]
        )

    def put_relation(
        self,
        subject: int,
        relation: Relation,
        object_: int,
        moments: tuple[float | None, float | None, float],
        evidence: Sequence[int],
    ) -> None:
        """Write a typed edge; ``moments`` are valid from, valid until and recorded."""
        triple = (subject, relation.relation, object_)
        self.connection.execute(
            "DELETE FROM relation WHERE subject = ? AND relation = ? AND object = ?"
            " AND valid_from_s IS ?",
            (*triple, moments[0]),
        )
        self.connection.execute(
            "INSERT INTO relation(subject, relation, object, confidence, valid_from_s,"
            " valid_until_s, recorded_s, evidence, stated) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *triple, relation.confidence, *moments, json.dumps(list(evidence)),
                json.dumps([relation.subject, relation.object]),
            ),
        )  # fmt: skip
        self.relink(subject, object_)

    def remove_relation(self, no: int, subject: int, object_: int) -> None:
        """Take a relation away, with the edges that only it accounts for."""
        self.connection.execute("DELETE FROM relation WHERE no = ?", (no,))
        self.relink(subject, object_)

    def relink(self, subject: int, object_: int) -> None:
        """Write the edges of two entities' relations anew."""
        for entity in {subject, object_}:
            edges.remove_relations(self.connection, entity)
        self._link_relations("subject IN (?1, ?2) OR object IN (?1, ?2)", (subject, object_))

    def restore_relation_edges(self) -> None:
        """Write the edges of every relation anew."""
        self._link_relations("TRUE", ())

    def _link_relations(self, condition: str, values: tuple[int, ...]) -> None:
        """Write the edges of some relations, and of the evidence that still stands."""
        relations = sql.rows(
            self.connection,
            "SELECT subject, relation, object, confidence, valid_from_s, valid_until_s, evidence"
            f" FROM relation WHERE {condition} ORDER BY no",
            values,
        )
        for subject, kind, object_, confidence, start, end, evidence in relations:
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
            edges.add(
                self.connection,
                [
                    (memory, node, confidence, "evidence")
                    for (memory,) in current
                    for node in (subject, object_)
                ],
            )


def put_mentions(connection: apsw.Connection, mentions: Iterable[Mention]) -> None:
    """Write who is named where; doubles do nothing."""
    connection.executemany(
        "INSERT OR IGNORE INTO mention(memory, entity, role) VALUES(?, ?, ?)", mentions
    )
