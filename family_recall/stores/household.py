"""People, spaces and who may enter them, and the partitions their memories lie in."""

from __future__ import annotations

import datetime as dt
import json

import apsw

from family_recall.errors import UnknownPersonError, UnknownSpaceError
from family_recall.stores import fts, sql
from family_recall.stores.base import Access, Partition
from family_recall.stores.schema import shelf_of
from family_recall.types import Grant, Person, Space


def put_person(connection: apsw.Connection, person: Person) -> None:
    """Add or change a person."""
    connection.execute(
        "INSERT INTO person(person_id, name, aliases) VALUES(?, ?, ?) ON CONFLICT(person_id)"
        " DO UPDATE SET name = excluded.name, aliases = excluded.aliases",
        (person.person_id, person.name, json.dumps(person.aliases)),
    )


def put_space(connection: apsw.Connection, space: Space) -> None:
    """Add or change a space."""
    connection.execute(
        "INSERT INTO space(space_id, kind, name) VALUES(?, ?, ?) ON CONFLICT(space_id)"
        " DO UPDATE SET kind = excluded.kind, name = excluded.name",
        (space.space_id, space.kind, space.name),
    )


def put_grant(connection: apsw.Connection, grant: Grant, expires_s: float | None) -> None:
    """Let a person into a space, or change their role there.

    Raises:
        UnknownPersonError: If the household has no such person.
        UnknownSpaceError: If it has no such space.
    """
    connection.execute(
        "INSERT INTO access(person, space, role, expires_s) VALUES(?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET role = excluded.role, expires_s = excluded.expires_s",
        (
            person_no(connection, grant.person_id),
            space_no(connection, grant.space_id),
            grant.role,
            expires_s,
        ),
    )


def people(connection: apsw.Connection) -> list[Person]:
    """List the household's people by id."""
    return [
        Person(person_id, name, tuple(json.loads(aliases)))
        for person_id, name, aliases in sql.rows(
            connection, "SELECT person_id, name, aliases FROM person ORDER BY person_id"
        )
    ]


def spaces(connection: apsw.Connection) -> list[Space]:
    """List the household's spaces by id."""
    return [
        Space(*row)
        for row in sql.rows(connection, "SELECT space_id, kind, name FROM space ORDER BY space_id")
    ]


def grants(connection: apsw.Connection, zone: dt.tzinfo) -> list[Grant]:
    """List who may enter which space."""
    found = sql.rows(
        connection,
        "SELECT p.person_id, s.space_id, a.role, a.expires_s FROM access a"
        " JOIN person p ON p.no = a.person JOIN space s ON s.no = a.space"
        " ORDER BY p.person_id, s.space_id",
    )
    return [
        Grant(person, space, role, expires and dt.datetime.fromtimestamp(expires, zone))
        for person, space, role, expires in found
    ]


def access_of(connection: apsw.Connection, person_id: str | None) -> list[Access]:
    """List the spaces a person may enter; None may enter every shared space as a guest.

    Raises:
        UnknownPersonError: If the household has no such person.
    """
    if person_id is None:
        rows = connection.execute(
            "SELECT space_id, kind, 'guest', NULL FROM space WHERE kind = 'shared'"
            " ORDER BY space_id"
        )
    else:
        rows = connection.execute(
            "SELECT s.space_id, s.kind, a.role, a.expires_s FROM access a"
            " JOIN space s ON s.no = a.space WHERE a.person = ? ORDER BY s.space_id",
            (person_no(connection, person_id),),
        )
    return [Access(*row) for row in rows]


def partitions(connection: apsw.Connection) -> list[Partition]:
    """List every partition with its statistics."""
    return [
        Partition(*row)
        for row in sql.rows(
            connection,
            "SELECT p.no, s.space_id, p.band, p.n_current, p.n_past, p.words_current,"
            " p.words_past, p.n_bounded, p.rewrites"
            " FROM partition p JOIN space s ON s.no = p.space ORDER BY p.no",
        )
    ]


def partition_for(connection: apsw.Connection, space_id: str, band: str) -> int:
    """Find or make the partition of a space and band.

    Raises:
        UnknownSpaceError: If the household has no such space.
    """
    space = space_no(connection, space_id)
    find = "SELECT no FROM partition WHERE space = ? AND band = ?"
    row = sql.row(connection, find, (space, band))
    if row is None:
        connection.execute("INSERT INTO partition(space, band) VALUES(?, ?)", (space, band))
        row = sql.row(connection, find, (space, band))
        for past in (False, True):
            fts.create(connection, shelf_of(row[0], past=past))
    return int(row[0])


def person_no(connection: apsw.Connection, person_id: str) -> int:
    """Find a person's number; ``UnknownPersonError`` names the nearest way out."""
    row = sql.row(connection, "SELECT no FROM person WHERE person_id = ?", (person_id,))
    if row is None:
        raise UnknownPersonError(
            f"nobody here has the id {person_id!r}; add them with add_person(), "
            "or ask with person_id=None as somebody unknown"
        )
    return int(row[0])


def space_no(connection: apsw.Connection, space_id: str) -> int:
    """Find a space's number; ``UnknownSpaceError`` names the way out."""
    row = sql.row(connection, "SELECT no FROM space WHERE space_id = ?", (space_id,))
    if row is None:
        raise UnknownSpaceError(
            f"there is no space {space_id!r}, or not for this person; add it with add_space()"
        )
    return int(row[0])
