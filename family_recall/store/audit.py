"""The audit log: who recalled what and when; ids, moments and counts, never text."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import apsw

from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT
from family_recall.types import AuditEntry

_DAYS = "audit_days"
# The memory itself, even if its redacted view was returned; each half has its own index.
_RETURNED = (
    "SELECT ?1, ?2, coalesce("
    "(SELECT m.id FROM memory m WHERE m.space = s.no AND m.doc_id = ?4 AND m.redacted_view = 0"
    " AND m.superseded_s IS NULL),"
    "(SELECT max(m.id) FROM memory m WHERE m.space = s.no AND m.doc_id = ?4 AND m.redacted_view = 0"
    " AND m.superseded_s IS NOT NULL)) AS id FROM space s WHERE s.space_id = ?3"
)


@dataclass(frozen=True, slots=True)
class NewCall:
    """An answered call; ``returned`` lists (space_id, doc_id) of its results, best first."""

    at_s: float
    call: str
    person_id: str | None
    space_id: str | None
    returned: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AuditTables:
    """The audit log of one file, inside one transaction."""

    connection: apsw.Connection

    def days(self, default: int) -> int:
        """Return how many days the log goes back; 0 if it is off."""
        row = sql.row(self.connection, "SELECT value FROM info WHERE key = ?", (_DAYS,))
        return int(row[0]) if row else default

    def set_days(self, days: int) -> None:
        """Set how many days the log goes back."""
        self.connection.execute(
            "INSERT OR REPLACE INTO main.info(key, value) VALUES(?, ?)", (_DAYS, str(days))
        )

    def put(self, calls: Iterable[NewCall]) -> None:
        """Write calls, without memories that were deleted meanwhile."""
        for call in calls:
            self.connection.execute(
                "INSERT INTO main.audit(at_s, call, person, space) VALUES(?, ?,"
                " (SELECT no FROM person WHERE person_id = ?),"
                " (SELECT no FROM space WHERE space_id = ?))",
                (call.at_s, call.call, call.person_id, call.space_id),
            )
            entry = self.connection.last_insert_rowid()
            self.connection.executemany(
                f"INSERT INTO audit_memory(entry, rank, memory) SELECT * FROM ({_RETURNED})"
                " WHERE id IS NOT NULL",
                [(entry, rank, *pair) for rank, pair in enumerate(call.returned, 1)],
            )

    def put_gap(self, at_s: float, lost: int) -> None:
        """Write that calls are missing from a moment on; 0 if their number is unknown."""
        self.connection.execute(
            "INSERT INTO main.audit(at_s, call, lost) VALUES(?, 'gap', ?)", (at_s, lost)
        )

    def sign_in(self, token: str, pid: int, now_s: float) -> None:
        """Record that a process writes, until it signs out."""
        self.connection.execute(
            "INSERT OR REPLACE INTO main.audit_writer(token, pid, flushed_s) VALUES(?, ?, ?)",
            (token, pid, now_s),
        )

    def sign_out(self, token: str) -> None:
        """Record that a process has written all its calls."""
        self.connection.execute("DELETE FROM main.audit_writer WHERE token = ?", (token,))

    def writers(self) -> list[tuple[str, int, float]]:
        """List the processes that have not signed out: token, pid, and when they last wrote."""
        return sql.rows(
            self.connection, "SELECT token, pid, flushed_s FROM audit_writer ORDER BY token"
        )

    def purge(self, before_s: float) -> None:
        """Delete the entries before a moment."""
        self.connection.execute("DELETE FROM main.audit WHERE at_s < ?", (before_s,))

    def remove(self, what: Literal["person", "space"], name: str, at_s: float) -> None:
        """Delete the calls of a person or in a space, and write a gap."""
        whose = f"{what} = (SELECT no FROM {what} WHERE {what}_id = ?)"
        entries = sql.rows(self.connection, f"SELECT no FROM audit WHERE {whose}", (name,))
        if entries:
            self.connection.executemany("DELETE FROM main.audit WHERE no = ?", entries)
            self.put_gap(at_s, len(entries))

    def entries(
        self, owned: Mapping[int, str], zone: dt.tzinfo, *, of: str | None, limit: int
    ) -> list[AuditEntry]:
        """List the newest entries about owned partitions, given with their spaces.

        ``of`` selects the calls of one person. Without it, gaps are listed too.
        """
        entries: list[AuditEntry] = []
        for no, at_s, call, person_id, space_id, lost in self.connection.execute(
            "SELECT a.no, a.at_s, a.call, p.person_id, s.space_id, a.lost FROM audit a"
            " LEFT JOIN person p ON p.no = a.person LEFT JOIN space s ON s.no = a.space"
            " WHERE ?1 IS NULL OR p.person_id = ?1 ORDER BY a.no DESC",
            (of,),
        ):
            returned = sql.rows(
                self.connection,
                f"SELECT m.id >> {PARTITION_SHIFT}, s.space_id, m.doc_id FROM audit_memory g"
                " JOIN memory m ON m.id = g.memory JOIN space s ON s.no = m.space"
                " WHERE g.entry = ? ORDER BY g.rank",
                (no,),
            )
            memories = tuple(
                (space, doc_id) for partition, space, doc_id in returned if partition in owned
            )
            asked_in = space_id if space_id in owned.values() else None
            if memories or asked_in is not None or call == "gap":
                at = dt.datetime.fromtimestamp(at_s, zone)
                entries.append(AuditEntry(at, call, person_id, asked_in, memories, lost))
            if len(entries) == limit:
                break
        return entries
