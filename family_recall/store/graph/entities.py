"""Entities: what the memories of a partition mention, under which names.

Names are stored twice: as they were first written, and normalised, as aliases.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.file.row_ids import PARTITION_SHIFT, partition_of
from family_recall.store.graph import edges
from family_recall.types import Person

_ALIASES_READ = 2000


@dataclass(frozen=True, slots=True)
class Entities:
    """The tables of entities, aliases and mentions, inside one transaction."""

    connection: apsw.Connection

    def find(
        self, partitions: Sequence[int], aliases: Sequence[str]
    ) -> list[tuple[str, int, str, str | None]]:
        """Find entities by alias: (alias, entity id, name, person id) of each."""
        if not aliases:
            return []
        return sql.rows(
            self.connection,
            "SELECT a.alias, e.id, e.name, p.person_id FROM carray(?) s CROSS JOIN carray(?) n"
            " CROSS JOIN alias a ON a.partition = s.value AND a.alias = n.value"
            " JOIN entity e ON e.id = a.entity LEFT JOIN person p ON p.no = e.person"
            " ORDER BY a.partition, n.rowid, e.id",
            (sql.id_array(np.array(partitions, np.int64)), apsw.carray(tuple(aliases))),
        )

    def find_in(
        self, partitions: Sequence[int], words: Sequence[str]
    ) -> list[tuple[str, int, str, str | None]]:
        """Find entities by the aliases that stand in a text of some words, as :meth:`find` does.

        In the order of partitions and entities. Only words are looked up: there are three times as
        many runs of them that could be an alias.
        """
        if not words:
            return []
        return sql.rows(
            self.connection,
            "SELECT a.alias, e.id, e.name, p.person_id FROM carray(?) w CROSS JOIN carray(?) s"
            " CROSS JOIN alias a ON a.partition = s.value"
            " AND a.alias >= w.value AND a.alias < w.value || '!'"  # which is next to the space
            " AND instr(?, ' ' || a.alias || ' ')"
            " JOIN entity e ON e.id = a.entity LEFT JOIN person p ON p.no = e.person"
            " ORDER BY a.partition, e.id",
            (
                apsw.carray(tuple(dict.fromkeys(words))),
                sql.id_array(np.array(partitions, np.int64)),
                f" {' '.join(words)} ",
            ),
        )

    def aliases_like(self, partitions: Sequence[int], word: str, edits: int) -> list[str]:
        """List one-word aliases that begin like a word and are nearly as long, in order.

        Nothing if there are more than 2000 of them.
        """
        beginnings = tuple({word[:1], word[1:2] + word[:1]})
        rows = sql.rows(
            self.connection,
            "SELECT DISTINCT a.alias FROM carray(?) b CROSS JOIN carray(?) s"
            " CROSS JOIN alias a ON a.partition = s.value AND a.alias >= b.value"
            " AND a.alias < b.value || char(1114111)"
            " WHERE length(a.alias) BETWEEN ? AND ? AND instr(a.alias, ' ') = 0"
            " ORDER BY a.alias LIMIT ?",
            (
                apsw.carray(beginnings),
                sql.id_array(np.array(partitions, np.int64)),
                len(word) - edits,
                len(word) + edits,
                _ALIASES_READ + 1,
            ),
        )
        return [alias for (alias,) in rows] if len(rows) <= _ALIASES_READ else []

    def by_alias(self, partition: int) -> dict[str, int]:
        """Map each alias of a partition to its first entity."""
        return dict(
            sql.rows(
                self.connection,
                "SELECT alias, min(entity) FROM alias WHERE partition = ? GROUP BY alias",
                (partition,),
            )
        )

    def aliases_of(self, entity: int) -> frozenset[str]:
        """Return the aliases of an entity."""
        rows = sql.rows(
            self.connection,
            "SELECT alias FROM alias WHERE partition = ? AND entity = ?",
            (partition_of(entity), entity),
        )
        return frozenset(alias for (alias,) in rows)

    def name_of(self, entity: int) -> tuple[str, int | None] | None:
        """Return an entity's name, and the number of the person it stands for; None if gone."""
        row = sql.row(self.connection, "SELECT name, person FROM entity WHERE id = ?", (entity,))
        return None if row is None else (str(row[0]), row[1])

    def sharing_aliases(self, entity: int) -> list[int]:
        """List the entities connected to one by shared aliases, itself too."""
        rows = sql.rows(
            self.connection,
            "WITH RECURSIVE sharing(entity) AS (VALUES(?1) UNION SELECT b.entity FROM sharing"
            " JOIN alias a ON a.partition = ?2 AND a.entity = sharing.entity"
            " JOIN alias b ON b.partition = ?2 AND b.alias = a.alias)"
            " SELECT entity FROM sharing ORDER BY entity DESC",
            (entity, partition_of(entity)),
        )
        return [entity for (entity,) in rows]

    def people_of(self, space_id: str) -> list[tuple[int, Person]]:
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

    def of_person(self, person_id: str) -> set[int]:
        """List the entities that are a person."""
        rows = sql.rows(
            self.connection,
            "SELECT e.id FROM entity e JOIN person p ON p.no = e.person WHERE p.person_id = ?",
            (person_id,),
        )
        return {entity for (entity,) in rows}

    def authors_of(self, memories: Sequence[int]) -> set[int]:
        """List the entities that some memories have as their author."""
        rows = sql.rows(
            self.connection,
            "SELECT DISTINCT entity FROM mention WHERE role = 'author'"
            " AND memory IN (SELECT value FROM json_each(?))",
            (json.dumps(list(memories)),),
        )
        return {entity for (entity,) in rows}

    def author_names(self, entity: int) -> list[tuple[float, str]]:
        """List the authors, as written, of memories by an entity, with the earliest moment."""
        return sql.rows(
            self.connection,
            "SELECT min(m.recorded_s), m.author FROM mentioned n JOIN memory m ON m.id = n.memory"
            " WHERE n.entity = ? AND n.role = 'author' GROUP BY m.author",
            (entity,),
        )

    def is_referenced(self, entity: int) -> bool:
        """Return whether any current memory or any relation refers to an entity."""
        return bool(
            sql.row(
                self.connection,
                "SELECT EXISTS (SELECT 1 FROM mentioned WHERE entity = ?1) OR EXISTS"
                " (SELECT 1 FROM relation WHERE subject = ?1 OR object = ?1)",
                (entity,),
            )[0]
        )

    def create(
        self, partition: int, name: str, aliases: Iterable[str], person: int | None = None
    ) -> int:
        """Create an entity of a partition, and return its id."""
        (number,) = sql.row(
            self.connection,
            "UPDATE main.partition SET next_entity = next_entity + 1 WHERE no = ?"
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

    def called(self, aliases: Sequence[str], person: int) -> list[tuple[int, str, bool]]:
        """List the entities of a person, and those with an alias that are nobody's.

        Each with its name, and whether it is the person's.
        """
        rows = sql.rows(
            self.connection,
            "SELECT e.id, e.name, e.person IS NOT NULL FROM entity e WHERE e.person = ?"
            " OR (e.person IS NULL AND EXISTS (SELECT 1 FROM alias a"
            "  WHERE a.partition = -e.id >> ? AND a.entity = e.id"
            "  AND a.alias IN (SELECT value FROM json_each(?)))) ORDER BY e.id DESC",
            (person, PARTITION_SHIFT, json.dumps(list(aliases))),
        )
        return [(entity, name, bool(is_linked)) for entity, name, is_linked in rows]

    def rename(self, entity: int, name: str, person: int, aliases: Iterable[str]) -> None:
        """Rename an entity that is a person, and add aliases to those it has."""
        self.connection.execute(
            "UPDATE entity SET name = ?, person = ? WHERE id = ?", (name, person, entity)
        )
        self.connection.executemany(
            "INSERT OR IGNORE INTO alias(partition, alias, entity) VALUES(?, ?, ?)",
            [(partition_of(entity), alias, entity) for alias in aliases],
        )

    def delete(self, entity: int) -> list[int]:
        """Delete an entity with its edges; returns the memories that mentioned it."""
        memories = sql.rows(
            self.connection,
            "SELECT DISTINCT memory FROM mentioned WHERE entity = ? ORDER BY memory",
            (entity,),
        )
        self.connection.execute(
            "DELETE FROM mention WHERE entity = ?1"
            " AND memory IN (SELECT memory FROM mentioned WHERE entity = ?1)",
            (entity,),
        )
        self.connection.execute(
            "DELETE FROM alias WHERE partition = ? AND entity = ?", (partition_of(entity), entity)
        )
        self.connection.execute("DELETE FROM entity WHERE id = ?", (entity,))
        edges.remove_node(self.connection, entity)
        return [memory for (memory,) in memories]

    def remove_mentions(self, memory: int, aliases: Collection[str]) -> None:
        """Delete a memory's mentions of the entities with some aliases, and their edges."""
        rows = sql.rows(
            self.connection,
            "DELETE FROM mention WHERE memory = ? AND role = 'mention' AND entity IN"
            " (SELECT entity FROM alias WHERE partition = ? AND alias IN"
            "  (SELECT value FROM json_each(?))) RETURNING entity",
            (memory, partition_of(memory), json.dumps(sorted(aliases))),
        )
        for (entity,) in rows:
            edges.remove_link(self.connection, memory, entity, "mention")
