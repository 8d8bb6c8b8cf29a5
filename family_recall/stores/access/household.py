"""People, spaces and who may enter them, and the partitions their memories lie in."""

from __future__ import annotations

import datetime as dt
import json

import apsw

from family_recall.errors import UnknownPersonError, UnknownSpaceError
from family_recall.stores.file import sql
from family_recall.stores.records import Access, Partition
from family_recall.types import Grant, Person, Space

DAY_S = 86_400.0


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

    Whoever lives here may enter a household space: as a guest, without a grant of their own. Where
    that grant will end, both are listed: what it says, and what its holder is after it.

    Raises:
        UnknownPersonError: If the household has no such person.
    """
    values: tuple[int, ...] = ()
    if person_id is None:
        held, as_guest = "", "s.kind <> 'private'"
    else:
        held = "SELECT a.space, a.role, a.expires_s FROM access a WHERE a.person = ?1 UNION ALL "
        as_guest = (
            "s.kind = 'household' AND NOT EXISTS"
            " (SELECT 1 FROM access a WHERE a.person = ?1 AND a.space = s.no"
            "  AND a.expires_s IS NULL)"
        )
        values = (person_no(connection, person_id),)
    rows = sql.rows(
        connection,
        "SELECT s.space_id, s.kind, e.role, e.expires_s, coalesce(v.no, 0)"
        f" FROM ({held}SELECT s.no AS space, 'guest' AS role, NULL AS expires_s FROM space s"
        f" WHERE {as_guest}) e JOIN space s ON s.no = e.space"
        " LEFT JOIN veil v ON v.space = e.space AND v.role = e.role ORDER BY s.space_id",
        values,
    )
    return [Access(*row) for row in rows]


def remove_grant(connection: apsw.Connection, person_id: str, space_id: str) -> bool:
    """Take a person's way into a space away; False where they had none.

    Raises:
        UnknownPersonError: If the household has no such person.
        UnknownSpaceError: If it has no such space.
    """
    connection.execute(
        "DELETE FROM access WHERE person = ? AND space = ?",
        (person_no(connection, person_id), space_no(connection, space_id)),
    )
    return connection.changes() > 0


def put_guardian(connection: apsw.Connection, guardian_id: str, child_id: str) -> None:
    """Make a person a child's guardian.

    Raises:
        UnknownPersonError: If the household has no such person or child.
    """
    connection.execute(
        "INSERT OR IGNORE INTO guardian(child, guardian) VALUES(?, ?)",
        (person_no(connection, child_id), person_no(connection, guardian_id)),
    )


def remove_guardian(connection: apsw.Connection, guardian_id: str, child_id: str) -> bool:
    """Make a person a child's guardian no longer; False where they were none.

    Raises:
        UnknownPersonError: If the household has no such person or child.
    """
    connection.execute(
        "DELETE FROM guardian WHERE child = ? AND guardian = ?",
        (person_no(connection, child_id), person_no(connection, guardian_id)),
    )
    return connection.changes() > 0


def guardians(connection: apsw.Connection) -> dict[str, tuple[str, ...]]:
    """Name each child's guardians: person_ids by person_id."""
    found: dict[str, tuple[str, ...]] = {}
    for child, guardian in sql.rows(
        connection,
        "SELECT c.person_id, p.person_id FROM guardian g JOIN person c ON c.no = g.child"
        " JOIN person p ON p.no = g.guardian ORDER BY c.person_id, p.person_id",
    ):
        found[child] = (*found.get(child, ()), guardian)
    return found


def partitions(connection: apsw.Connection) -> list[Partition]:
    """List every partition with its statistics, and for whom it is."""
    return [
        Partition(*[*row, None if known is None else frozenset(json.loads(known))])
        for *row, known in sql.rows(
            connection,
            "SELECT p.no, s.space_id, p.band, p.n_current, p.n_past, p.words_current,"
            " p.words_past, p.n_bounded, p.rewrites, p.veil,"
            " CASE WHEN p.ward THEN (SELECT json_group_array(o.person_id) FROM guardian g"
            "  JOIN person o ON o.no = g.guardian WHERE g.child = p.ward) END"
            " FROM partition p JOIN space s ON s.no = p.space ORDER BY p.no",
        )
    ]


def expired(connection: apsw.Connection, wall_s: float) -> tuple[tuple[str, float], ...]:
    """Give, for each category with a rule, the moment before which it is not kept."""
    found = sql.rows(connection, "SELECT category, keep_days FROM retention")
    return tuple((category, wall_s - days * DAY_S) for category, days in found)


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
