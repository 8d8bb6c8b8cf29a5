"""Entities, and the edges between entities and memories, as a write transaction changes them.

An entity is what the memories of a partition mention. Its names are stored twice: as they were
first written, and normalised, as aliases. Every edge is stored in both directions; entities are
negative numbers in it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import apsw

from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT, partition_of
from family_recall.store.memories import Place
from family_recall.types import Person


class Entity(NamedTuple):
    """A named thing as one partition knows it."""

    id: int
    name: str
    person_id: str | None


@dataclass(frozen=True, slots=True)
class Entities:
    """The tables of entities, aliases and mentions, inside one transaction."""

    connection: apsw.Connection

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

    def of_person(self, person_id: str, authored: Sequence[int]) -> set[int]:
        """List the entities that are a person, or the author of some memories."""
        rows = sql.rows(
            self.connection,
            "SELECT e.id FROM entity e JOIN person p ON p.no = e.person WHERE p.person_id = ?"
            " UNION SELECT entity FROM mention WHERE role = 'author'"
            " AND memory IN (SELECT value FROM json_each(?))",
            (person_id, json.dumps(list(authored))),
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
        remove_node(self.connection, entity)
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
            remove_link(self.connection, memory, entity, "mention")


_ALWAYS_S = -1e14  # of a key no part may be NULL; a whole number of six bytes, before any moment
Link: TypeAlias = tuple[int, int, float, str]
"""Two nodes, a weight and a kind."""


def add_edges(
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


def _remove(connection: apsw.Connection, node: int, condition: str) -> None:
    """Delete the edges out of a node that meet a condition, and their opposite directions."""
    out = f"SELECT dst, weight, src, kind, valid_from_s FROM edge WHERE src = ? AND {condition}"
    connection.execute(
        f"DELETE FROM edge WHERE (src, weight, dst, kind, valid_from_s) IN ({out})", (node,)
    )
    connection.execute(f"DELETE FROM edge WHERE src = ? AND {condition}", (node,))


class EdgeBuffer:
    """Mentions and edges gathered inside one write transaction; :meth:`flush` writes them."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._links: list[Link] = []
        self._mentions: list[tuple[int, int, str]] = []

    def add_neighbours(self, memory: int, place: Place, weight: float) -> None:
        """Link a memory to its neighbours in its session, in place of the link between those."""
        if place.previous is not None and place.following is not None:
            self.flush()
            remove_link(self._connection, place.previous, place.following, "next")
        neighbours = (place.previous, place.following)
        self._links.extend((memory, node, weight, "next") for node in neighbours if node)

    def add_mentions(self, memory: int, mentions: Iterable[tuple[int, str, float]]) -> None:
        """Link a memory to the entities it mentions: (entity, role, weight) of each."""
        for entity, role, weight in mentions:
            self._mentions.append((memory, entity, role))
            self._links.append((memory, entity, weight, role))

    def flush(self) -> None:
        """Write what was gathered so far; what is there already stays as it is."""
        add_edges(self._connection, self._links)
        self._connection.executemany(
            "INSERT OR IGNORE INTO mention(memory, entity, role) VALUES(?, ?, ?)", self._mentions
        )
        self._links.clear()
        self._mentions.clear()
