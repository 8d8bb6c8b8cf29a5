"""The audit log's tables: calls in, entries out; ids, moments and counts, never a word of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import PARTITION_SHIFT

_DAYS = "audit_days"
# The memory itself, whichever view of it was given; each half has an index of its own.
_FOUND = (
    "SELECT ?1, ?2, coalesce("
    "(SELECT m.id FROM memory m WHERE m.space = s.no AND m.doc_id = ?4 AND m.veil = 0"
    " AND m.superseded_s IS NULL),"
    "(SELECT max(m.id) FROM memory m WHERE m.space = s.no AND m.doc_id = ?4 AND m.veil = 0"
    " AND m.superseded_s IS NOT NULL)) AS id FROM space s WHERE s.space_id = ?3"
)
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call that was answered: ``given`` are the (space_id, doc_id) of its results, best first."""

    at_s: float
    call: str
    person_id: str | None
    space_id: str | None
    given: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An entry as it lies in the file: ``given`` are (partition, space_id, doc_id), best first."""

    at_s: float
    call: str
    person_id: str | None
    space_id: str | None
    lost: int
    given: tuple[tuple[int, str, str], ...]


@dataclass(frozen=True, slots=True)
class AuditTables:
    """The audit log of one file, inside one transaction."""

    connection: apsw.Connection

    def days(self, otherwise: int) -> int:
        """Give how many days the log goes back, as the file says; 0 where none is kept."""
        row = sql.row(self.connection, "SELECT value FROM info WHERE key = ?", (_DAYS,))
        return int(row[0]) if row else otherwise

    def keep(self, days: int) -> None:
        """Set how many days the log goes back."""
        self.connection.execute(
            "INSERT OR REPLACE INTO info(key, value) VALUES(?, ?)", (_DAYS, str(days))
        )

    def put(self, calls: Iterable[NewCall]) -> None:
        """Write calls. A memory that has been deleted meanwhile is left out."""
        for call in calls:
            self.connection.execute(
                "INSERT INTO audit(at_s, call, person, space) VALUES(?, ?,"
                " (SELECT no FROM person WHERE person_id = ?),"
                " (SELECT no FROM space WHERE space_id = ?))",
                (call.at_s, call.call, call.person_id, call.space_id),
            )
            entry = self.connection.last_insert_rowid()
            self.connection.executemany(
                f"INSERT INTO audit_memory(entry, rank, memory) SELECT * FROM ({_FOUND})"
                " WHERE id IS NOT NULL",
                [(entry, rank, *pair) for rank, pair in enumerate(call.given, 1)],
            )

    def put_gap(self, at_s: float, lost: int) -> None:
        """Write that calls are missing from a moment on: how many, or 0 where nobody knows."""
        self.connection.execute(
            "INSERT INTO audit(at_s, call, lost) VALUES(?, 'gap', ?)", (at_s, lost)
        )

    def sign_in(self, token: str, pid: int, now_s: float) -> None:
        """Note that a process has written, until it signs out."""
        self.connection.execute(
            "INSERT OR REPLACE INTO audit_writer(token, pid, flushed_s) VALUES(?, ?, ?)",
            (token, pid, now_s),
        )

    def sign_out(self, token: str) -> None:
        """Note that a process has written all it had."""
        self.connection.execute("DELETE FROM audit_writer WHERE token = ?", (token,))

    def writers(self) -> list[tuple[str, int, float]]:
        """List who has not signed out: token, process, and when it last wrote."""
        return sql.rows(
            self.connection, "SELECT token, pid, flushed_s FROM audit_writer ORDER BY token"
        )

    def purge(self, before_s: float) -> None:
        """Delete what is older than a moment."""
        self.connection.execute(
            "DELETE FROM audit_memory WHERE entry IN (SELECT no FROM audit WHERE at_s < ?)",
            (before_s,),
        )
        self.connection.execute("DELETE FROM audit WHERE at_s < ?", (before_s,))

    def rows(self, limit: int, before_no: int | None = None) -> list[tuple[int, AuditRow]]:
        """Give up to ``limit`` entries with their numbers, the newest first."""
        entries = sql.rows(
            self.connection,
            "SELECT a.no, a.at_s, a.call, p.person_id, s.space_id, a.lost FROM audit a"
            " LEFT JOIN person p ON p.no = a.person LEFT JOIN space s ON s.no = a.space"
            " WHERE ?1 IS NULL OR a.no < ?1 ORDER BY a.no DESC LIMIT ?2",
            (before_no, limit),
        )
        given = self._given([entry[0] for entry in entries])
        return [
            (no, AuditRow(at_s, call, person, space, lost, tuple(given.get(no, ()))))
            for no, at_s, call, person, space, lost in entries
        ]

    def _given(self, entries: Sequence[int]) -> Mapping[int, list[tuple[int, str, str]]]:
        found: dict[int, list[tuple[int, str, str]]] = {}
        for entry, partition, space_id, doc_id in sql.rows(
            self.connection,
            f"SELECT g.entry, m.id >> {PARTITION_SHIFT}, s.space_id, m.doc_id"
            " FROM carray(?) e CROSS JOIN audit_memory g ON g.entry = e.value"
            " JOIN memory m ON m.id = g.memory JOIN space s ON s.no = m.space"
            " ORDER BY g.entry, g.rank",
            (sql.id_array(np.array(entries, np.int64)),),
        ):
            found.setdefault(entry, []).append((partition, space_id, doc_id))
        return found
