"""The people and spaces of a household, who may enter which, and what is hidden from whom."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass

import apsw

from family_recall.errors import UnknownPersonError, UnknownSpaceError
from family_recall.store.file import sql
from family_recall.types import Grant, Hidden, Person, Space

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Access:
    """One space a person may enter, in which role, and in which redacted view; 0 is none."""

    space_id: str
    space_kind: str
    role: str
    expires_s: float | None
    redacted_view: int = 0


@dataclass(frozen=True, slots=True)
class Partition:
    """One space and one band, with the statistics its own words have.

    ``redacted_view`` is the number of the role's view that it holds, 0 for the memories themselves.
    ``guardians`` are the only ones who may see it; None where there is no such limit.
    """

    no: int
    space_id: str
    band: str
    n_current: int
    n_past: int
    words_current: int
    words_past: int
    n_bounded: int
    rewrites: int
    redacted_view: int = 0
    guardians: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Household:
    """The tables of people, spaces, grants and partitions, inside one transaction."""

    connection: apsw.Connection

    def people(self) -> list[Person]:
        """List the household's people, by id."""
        return [
            Person(person_id, name, tuple(json.loads(aliases)))
            for person_id, name, aliases in sql.rows(
                self.connection, "SELECT person_id, name, aliases FROM person ORDER BY person_id"
            )
        ]

    def person(self, person_id: str) -> Person | None:
        """Return a person; None if there is none of that id."""
        row = sql.row(
            self.connection, "SELECT name, aliases FROM person WHERE person_id = ?", (person_id,)
        )
        return None if row is None else Person(person_id, row[0], tuple(json.loads(row[1])))

    def name_of(self, author: str | None) -> str | None:
        """Return the name of the person whom an author is, or the author as heard."""
        person = None if author is None else self.person(author)
        return author if person is None else person.name

    def put_person(self, person: Person) -> None:
        """Add or change a person."""
        self.connection.execute(
            "INSERT INTO main.person(person_id, name, aliases) VALUES(?, ?, ?)"
            " ON CONFLICT(person_id)"
            " DO UPDATE SET name = excluded.name, aliases = excluded.aliases",
            (person.person_id, person.name, json.dumps(person.aliases)),
        )

    def remove_person(self, person_id: str) -> None:
        """Delete a person, with their grants and guardianships.

        Raises:
            UnknownPersonError: If the household has no such person.
        """
        no = self.person_no(person_id)
        self.connection.execute("DELETE FROM main.person WHERE no = ?", (no,))

    def spaces(self) -> list[Space]:
        """List the household's spaces, by id."""
        rows = sql.rows(self.connection, "SELECT space_id, kind, name FROM space ORDER BY space_id")
        return [Space(*row) for row in rows]

    def put_space(self, space: Space) -> None:
        """Add or change a space."""
        self.connection.execute(
            "INSERT INTO main.space(space_id, kind, name) VALUES(?, ?, ?) ON CONFLICT(space_id)"
            " DO UPDATE SET kind = excluded.kind, name = excluded.name",
            (space.space_id, space.kind, space.name),
        )

    def grants(self, zone: dt.tzinfo) -> list[Grant]:
        """List who may enter which space, and until when in a zone."""
        rows = sql.rows(
            self.connection,
            "SELECT p.person_id, s.space_id, a.role, a.expires_s FROM access a"
            " JOIN person p ON p.no = a.person JOIN space s ON s.no = a.space"
            " ORDER BY p.person_id, s.space_id",
        )
        return [
            Grant.as_stored(
                person_id=person,
                space_id=space,
                role=role,
                expires_at=None if expires is None else dt.datetime.fromtimestamp(expires, zone),
            )
            for person, space, role, expires in rows
        ]

    def put_grant(self, grant: Grant, expires_s: float | None) -> None:
        """Grant a person access to a space, or change their role there.

        Raises:
            UnknownPersonError, UnknownSpaceError: If the household has no such person or space.
        """
        self.connection.execute(
            "INSERT INTO main.access(person, space, role, expires_s) VALUES(?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET role = excluded.role, expires_s = excluded.expires_s",
            (
                self.person_no(grant.person_id), self.space_no(grant.space_id), grant.role,
                expires_s,
            ),
        )  # fmt: skip

    def remove_grant(self, person_id: str, space_id: str) -> bool:
        """Remove a person's grant in a space; False if they had none.

        Raises:
            UnknownPersonError, UnknownSpaceError: If the household has no such person or space.
        """
        self.connection.execute(
            "DELETE FROM main.access WHERE person = ? AND space = ?",
            (self.person_no(person_id), self.space_no(space_id)),
        )
        return self.connection.changes() > 0

    def guardians(self) -> dict[str, tuple[str, ...]]:
        """Map each child with guardians to them: person_ids by person_id."""
        guardians: dict[str, tuple[str, ...]] = {}
        for child, guardian in sql.rows(
            self.connection,
            "SELECT c.person_id, p.person_id FROM guardian g JOIN person c ON c.no = g.child"
            " JOIN person p ON p.no = g.guardian ORDER BY c.person_id, p.person_id",
        ):
            guardians[child] = (*guardians.get(child, ()), guardian)
        return guardians

    def put_guardian(self, guardian_id: str, child_id: str) -> None:
        """Make a person a child's guardian.

        Raises:
            UnknownPersonError: If the household has no such person or child.
        """
        self.connection.execute(
            "INSERT OR IGNORE INTO main.guardian(child, guardian) VALUES(?, ?)",
            (self.person_no(child_id), self.person_no(guardian_id)),
        )

    def remove_guardian(self, guardian_id: str, child_id: str) -> bool:
        """Remove a child's guardian; False if that person was none.

        Raises:
            UnknownPersonError: If the household has no such person or child.
        """
        self.connection.execute(
            "DELETE FROM main.guardian WHERE child = ? AND guardian = ?",
            (self.person_no(child_id), self.person_no(guardian_id)),
        )
        return self.connection.changes() > 0

    def hidden(self) -> list[Hidden]:
        """List which fields are hidden from which roles."""
        return [
            Hidden(space_id, role, tuple(json.loads(fields)))
            for space_id, role, fields in sql.rows(
                self.connection,
                "SELECT s.space_id, v.role, v.fields FROM redacted_view v"
                " JOIN space s ON s.no = v.space ORDER BY v.no",
            )
        ]

    def access(self, person_id: str | None) -> list[Access]:
        """List the spaces a person may enter; None may enter every shared space as a guest.

        Everybody of the household may enter a household space: as a guest, without a grant of
        their own. If that grant expires, both are listed: the grant, and the guest role after it.

        Raises:
            UnknownPersonError: If the household has no such person.
        """
        values: tuple[int, ...] = ()
        if person_id is None:
            granted, as_guest = "", "s.kind <> 'private'"
        else:
            granted = (
                "SELECT a.space, a.role, a.expires_s FROM access a WHERE a.person = ?1 UNION ALL "
            )
            as_guest = (
                "s.kind = 'household' AND NOT EXISTS"
                " (SELECT 1 FROM access a WHERE a.person = ?1 AND a.space = s.no"
                "  AND a.expires_s IS NULL)"
            )
            values = (self.person_no(person_id),)
        rows = sql.rows(
            self.connection,
            "SELECT s.space_id, s.kind, e.role, e.expires_s, coalesce(v.no, 0)"
            f" FROM ({granted}SELECT s.no AS space, 'guest' AS role, NULL AS expires_s"
            f"  FROM space s WHERE {as_guest}) e JOIN space s ON s.no = e.space"
            " LEFT JOIN redacted_view v ON v.space = e.space AND v.role = e.role"
            " ORDER BY s.space_id",
            values,
        )
        return [Access(*row) for row in rows]

    def alone_in(self, person_id: str) -> frozenset[str]:
        """List the private spaces that only this person may enter."""
        rows = sql.rows(
            self.connection,
            "SELECT s.space_id FROM space s JOIN access a ON a.space = s.no"
            " JOIN person p ON p.no = a.person WHERE s.kind = 'private'"
            " GROUP BY s.no HAVING count(*) = 1 AND max(p.person_id) = ?",
            (person_id,),
        )
        return frozenset(space_id for (space_id,) in rows)

    def is_unused(self, space_id: str) -> bool:
        """Return whether there is no such space, or one without grants that never held a memory."""
        (n,) = sql.row(
            self.connection,
            "SELECT count(*) FROM space s WHERE s.space_id = ? AND (EXISTS"
            " (SELECT 1 FROM access a WHERE a.space = s.no) OR EXISTS"
            " (SELECT 1 FROM partition p WHERE p.space = s.no))",
            (space_id,),
        )
        return bool(n == 0)

    def every_partition(self) -> list[Partition]:
        """List all partitions of the file: for deciding a scope, and for nothing else."""
        return [
            Partition(*[*row, None if guardians is None else frozenset(json.loads(guardians))])
            for *row, guardians in sql.rows(
                self.connection,
                "SELECT p.no, s.space_id, p.band, p.n_current, p.n_past, p.words_current,"
                " p.words_past, p.n_bounded, p.rewrites, p.redacted_view,"
                " CASE WHEN p.child THEN (SELECT json_group_array(o.person_id) FROM guardian g"
                "  JOIN person o ON o.no = g.guardian WHERE g.child = p.child) END"
                " FROM partition p JOIN space s ON s.no = p.space ORDER BY p.no",
            )
        ]

    def partitions_for_guardians_of(self, child_id: str) -> list[int]:
        """List the partitions that the guardians of a child alone may see."""
        rows = sql.rows(
            self.connection,
            "SELECT o.no FROM partition o JOIN person c ON c.no = o.child WHERE c.person_id = ?",
            (child_id,),
        )
        return [no for (no,) in rows]

    def space_of(self, partition: int) -> str:
        """Return the space of a partition."""
        (space_id,) = sql.row(
            self.connection,
            "SELECT s.space_id FROM partition p JOIN space s ON s.no = p.space WHERE p.no = ?",
            (partition,),
        )
        return str(space_id)

    def expired(self, wall_s: float) -> tuple[tuple[str, float], ...]:
        """Return, for each category with a retention rule, the moment before which it is gone."""
        return tuple((category, wall_s - keep_s) for category, keep_s in self.retention())

    def retention(self) -> list[tuple[str, float]]:
        """List for how many seconds each category with a retention rule is kept."""
        rows = sql.rows(self.connection, "SELECT category, keep_days FROM retention")
        return [(category, days * DAY_S) for category, days in rows]

    def person_no(self, person_id: str) -> int:
        """Return a person's number.

        Raises:
            UnknownPersonError: If the household has no such person.
        """
        row = sql.row(self.connection, "SELECT no FROM person WHERE person_id = ?", (person_id,))
        if row is None:
            raise UnknownPersonError(
                f"nobody here has the id {person_id!r}; add them with home.people.add(), "
                "or ask with person_id=None as somebody unknown",
                person_id,
            )
        return int(row[0])

    def space_no(self, space_id: str) -> int:
        """Return a space's number.

        Raises:
            UnknownSpaceError: If the household has no such space.
        """
        row = sql.row(self.connection, "SELECT no FROM space WHERE space_id = ?", (space_id,))
        if row is None:
            raise UnknownSpaceError(
                f"there is no space {space_id!r}, or not for this person; "
                "add it with home.spaces.add()",
                space_id,
            )
        return int(row[0])
