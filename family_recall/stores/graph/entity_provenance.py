"""Why a name is known: the memories and relations that say it, and what they once said."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import apsw

from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import id_range, partition_of
from family_recall.stores.graph import edges


@dataclass(frozen=True, slots=True)
class TellingRow:
    """A memory, or a version of one that was replaced, as far as names go."""

    no: int
    recorded_s: float
    author: str | None
    text: str
    past: bool


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A relation, with the names it was told with."""

    no: int
    recorded_s: float
    subject: int
    object: int
    stated: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Named:
    """The entities of one file, inside one write transaction."""

    connection: apsw.Connection

    def drop_entity(self, entity: int) -> list[int]:
        """Take a name away with its links; gives the memories that named it."""
        named = sql.rows(
            self.connection,
            "SELECT DISTINCT memory FROM mention WHERE entity = ? ORDER BY memory",
            (entity,),
        )
        self.connection.execute(
            "DELETE FROM alias WHERE partition = ? AND entity = ?", (partition_of(entity), entity)
        )
        for table, column in (("mention", "entity"), ("entity", "id")):
            self.connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (entity,))
        edges.remove_node(self.connection, entity)
        return [memory for (memory,) in named]

    def unlink(self, memory: int, aliases: Collection[str]) -> None:
        """Untie a memory from what it mentions by some names."""
        found = sql.rows(
            self.connection,
            "DELETE FROM mention WHERE memory = ? AND role = 'mention' AND entity IN"
            " (SELECT entity FROM alias WHERE partition = ? AND alias IN"
            "  (SELECT value FROM json_each(?))) RETURNING entity",
            (memory, partition_of(memory), json.dumps(sorted(aliases))),
        )
        for (entity,) in found:
            edges.remove_link(self.connection, memory, entity, "mention")

    def entity(self, entity: int) -> tuple[str, int | None] | None:
        """Give a name as it is written, and the number of the person it stands for."""
        row = sql.row(self.connection, "SELECT name, person FROM entity WHERE id = ?", (entity,))
        return None if row is None else (str(row[0]), row[1])

    def aliases_of(self, entity: int) -> frozenset[str]:
        """Give the normalised names of an entity."""
        found = sql.rows(
            self.connection,
            "SELECT alias FROM alias WHERE partition = ? AND entity = ?",
            (partition_of(entity), entity),
        )
        return frozenset(alias for (alias,) in found)

    def alike(self, entity: int) -> list[int]:
        """List the entities that share a name with this one, or with one that does, itself too."""
        found = sql.rows(
            self.connection,
            "WITH RECURSIVE alike(entity) AS (VALUES(?1) UNION SELECT b.entity FROM alike"
            " JOIN alias a ON a.partition = ?2 AND a.entity = alike.entity"
            " JOIN alias b ON b.partition = ?2 AND b.alias = a.alias)"
            " SELECT entity FROM alike ORDER BY entity DESC",
            (entity, partition_of(entity)),
        )
        return [one for (one,) in found]

    def authored(self, entity: int) -> list[tuple[float, str]]:
        """List who wrote the current memories that an entity is the author of, and when."""
        return sql.rows(
            self.connection,
            "SELECT min(m.recorded_s), m.author FROM mention n JOIN memory m ON m.id = n.memory"
            " WHERE n.entity = ? AND n.role = 'author' GROUP BY m.author",
            (entity,),
        )

    def is_linked(self, entity: int) -> bool:
        """Whether any memory or relation still names an entity."""
        return bool(
            sql.row(
                self.connection,
                "SELECT EXISTS (SELECT 1 FROM mention WHERE entity = ?1) OR EXISTS"
                " (SELECT 1 FROM relation WHERE subject = ?1 OR object = ?1)",
                (entity,),
            )[0]
        )

    def relations_of(self, entities: Collection[int]) -> list[RelationRow]:
        """List the relations of some entities, with the names they were told with."""
        return [
            RelationRow(no, recorded_s, subject, object_, (told[0], told[1]))
            for no, recorded_s, subject, object_, stated in sql.rows(
                self.connection,
                "SELECT r.no, r.recorded_s, r.subject, r.object,"
                " coalesce(r.stated, json_array(a.name, b.name))"
                " FROM relation r JOIN entity a ON a.id = r.subject"
                " JOIN entity b ON b.id = r.object"
                " WHERE r.subject IN (SELECT value FROM json_each(?1))"
                " OR r.object IN (SELECT value FROM json_each(?1)) ORDER BY r.no",
                (json.dumps(list(entities)),),
            )
            for told in [json.loads(stated)]
        ]

    def move_relation(self, no: int, subject: int, object_: int) -> None:
        """Let a relation stand between two other entities."""
        self.connection.execute(
            "UPDATE relation SET subject = ?, object = ? WHERE no = ?", (subject, object_, no)
        )

    def put_relation(self, told: Mapping[str, Any]) -> None:
        """Write a relation again, with those of its evidence that are there."""
        evidence = json.dumps(
            [
                memory
                for (memory,) in sql.rows(
                    self.connection,
                    "SELECT id FROM memory WHERE id IN (SELECT value FROM json_each(?))",
                    (told["evidence"],),
                )
            ]
        )
        self.connection.execute(
            "INSERT INTO relation(subject, relation, object, confidence, valid_from_s,"
            " valid_until_s, recorded_s, evidence, stated) VALUES(:subject, :relation, :object,"
            " :confidence, :valid_from_s, :valid_until_s, :recorded_s, :evidence, :stated)",
            {**told, "evidence": evidence},
        )

    def past_of(self, partition: int) -> list[TellingRow]:
        """Give what a partition once believed."""
        return self._tellings(
            "id BETWEEN ? AND ? AND superseded_s IS NOT NULL", id_range(partition)
        )

    def tellings(self, ids: Collection[int]) -> list[TellingRow]:
        """Give some memories."""
        return self._tellings("id IN (SELECT value FROM json_each(?))", (json.dumps(sorted(ids)),))

    def _tellings(self, condition: str, values: tuple[object, ...]) -> list[TellingRow]:
        return [
            TellingRow(no, recorded_s, author, text, bool(past))
            for no, recorded_s, author, text, past in sql.rows(
                self.connection,
                "SELECT id, recorded_s, author, text, superseded_s IS NOT NULL FROM memory"
                f" WHERE {condition} ORDER BY id",
                values,
            )
        ]

    def space_of(self, partition: int) -> str:
        """Name the space of a partition."""
        (found,) = sql.row(
            self.connection,
            "SELECT s.space_id FROM partition p JOIN space s ON s.no = p.space WHERE p.no = ?",
            (partition,),
        )
        return str(found)
