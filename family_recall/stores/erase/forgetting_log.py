"""What may be forgotten and what has been: rows to choose from, receipts, and rules of keeping."""

from __future__ import annotations

import dataclasses
import json
import math
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from family_recall.stores.access.household import DAY_S
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import PARTITION_SHIFT
from family_recall.types.erasure import Receipt, RetentionRule

_KEY = "forgetting_key"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory, or of a view of it, as far as choosing looks at it."""

    id: int
    space_id: str
    doc_id: str
    author: str | None
    text: str
    occurred_at: str | None
    recorded_s: float
    past: bool
    veil: int

    @property
    def memory(self) -> tuple[str, str]:
        """What it is a version of."""
        return self.space_id, self.doc_id


@dataclass(frozen=True, slots=True)
class Sought:
    """Conditions on versions, all of which hold; None asks for nothing. Moments are epoch seconds.

    ``memories`` are (space_id, doc_id), the space None where any will do; ``authors`` as written;
    ``person_id`` is somebody who is named.
    """

    memories: Collection[tuple[str | None, str]] | None = None
    authors: Collection[str] | None = None
    ids: Collection[int] | None = None
    space_id: str | None = None
    session_id: str | None = None
    occurred_s: tuple[float | None, float | None] = (None, None)
    recorded_s: tuple[float | None, float | None] = (None, None)
    category: str | None = None
    older_than_s: float | None = None


@dataclass(frozen=True, slots=True)
class ForgettingLog:
    """The tables that say what was forgotten, inside one transaction."""

    connection: apsw.Connection

    # Choosing

    def find(self, partitions: Collection[int] | None, sought: Sought) -> list[Version]:
        """List the versions that meet every condition, by id; None means every partition."""
        parts: list[str] = []
        values: list[object] = []

        def ask(condition: str, *asked: object) -> None:
            parts.append(condition)
            values.extend(asked)

        def among(column: str, chosen: Collection[Any]) -> None:
            ask(f"{column} IN (SELECT value FROM json_each(?))", json.dumps(sorted(chosen)))

        if partitions is not None:
            among(f"m.id >> {PARTITION_SHIFT}", partitions)
        if sought.memories is not None:
            ask(
                "EXISTS (SELECT 1 FROM json_each(?) d WHERE m.doc_id = d.value ->> 1"
                " AND s.space_id = coalesce(d.value ->> 0, s.space_id))",
                json.dumps([list(pair) for pair in sought.memories]),
            )
        if sought.authors is not None:
            among("m.author", sought.authors)
        if sought.ids is not None:
            among("m.id", sought.ids)
        for column, value in (
            ("s.space_id", sought.space_id), ("m.session_id", sought.session_id),
            ("m.category", sought.category),
        ):  # fmt: skip
            if value is not None:
                ask(f"{column} = ?", value)
        for column, (start, end) in (
            ("m.occurred_s", sought.occurred_s), ("m.recorded_s", sought.recorded_s)
        ):  # fmt: skip
            if start is not None:
                ask(f"{column} >= ?", start)
            if end is not None:
                ask(f"{column} < ?", end)
        if sought.older_than_s is not None:
            ask("max(m.recorded_s, coalesce(m.occurred_s, m.recorded_s)) < ?", sought.older_than_s)
        return [
            Version(no, space, doc, author, text, at, recorded_s, bool(past), veil)
            for no, space, doc, author, text, at, recorded_s, past, veil in sql.rows(
                self.connection,
                "SELECT m.id, s.space_id, m.doc_id, m.author, m.text, m.occurred_at, m.recorded_s,"
                " m.superseded_s IS NOT NULL, m.redacted_view FROM memory m JOIN space s ON s.no = m.space"
                f" WHERE {' AND '.join(parts) or 'TRUE'} ORDER BY m.id",
                tuple(values),
            )
        ]

    def authors(self, partitions: Collection[int]) -> list[str]:
        """List who is an author of anything in some partitions, as written."""
        found = sql.rows(
            self.connection,
            f"SELECT DISTINCT author FROM memory WHERE id >> {PARTITION_SHIFT} IN"
            " (SELECT value FROM json_each(?)) AND author IS NOT NULL",
            (json.dumps(sorted(partitions)),),
        )
        return [author for (author,) in found]

    def naming(self, partitions: Collection[int], person_id: str) -> list[int]:
        """List the current memories of some partitions in which a person is named."""
        found = sql.rows(
            self.connection,
            "SELECT DISTINCT n.memory FROM person p JOIN entity e ON e.person = p.no"
            " JOIN mention n ON n.entity = e.id AND n.role = 'mention'"
            f" WHERE p.person_id = ? AND n.memory >> {PARTITION_SHIFT} IN"
            " (SELECT value FROM json_each(?))",
            (person_id, json.dumps(sorted(partitions))),
        )
        return [memory for (memory,) in found]

    def past_texts(self, partitions: Collection[int]) -> list[tuple[int, str]]:
        """Give what some partitions once believed: (id, text)."""
        return sql.rows(
            self.connection,
            f"SELECT id, text FROM memory WHERE id >> {PARTITION_SHIFT} IN"
            " (SELECT value FROM json_each(?)) AND superseded_s IS NOT NULL ORDER BY id",
            (json.dumps(sorted(partitions)),),
        )

    def n_followers(self, ids: Sequence[int]) -> int:
        """Count the memories that stay and have one of these as their context."""
        (n,) = sql.row(
            self.connection,
            "SELECT count(*) FROM memory WHERE context_id IN (SELECT value FROM json_each(?1))"
            " AND id NOT IN (SELECT value FROM json_each(?1))",
            (json.dumps(list(ids)),),
        )
        return int(n)

    # Receipts

    def key(self) -> bytes | None:
        """Give the household's key, None where nothing was ever forgotten."""
        row = sql.row(self.connection, "SELECT value FROM info WHERE key = ?", (_KEY,))
        return None if row is None else bytes.fromhex(row[0])

    def make_key(self) -> bytes:
        """Give the household's key, making it where there is none."""
        self.connection.execute(
            "INSERT OR IGNORE INTO info(key, value) VALUES(?, ?)", (_KEY, secrets.token_hex(32))
        )
        found = self.key()
        assert found is not None  # noqa: S101 - inserted one line above, in this transaction
        return found

    def put(self, receipt: Receipt, at_s: float) -> None:
        """Keep a receipt, of which the bytes are not yet cleaned."""
        self.connection.execute(
            "INSERT INTO receipt(receipt_id, at_s, clean, record) VALUES(?, ?, 0, ?)",
            (receipt.receipt_id, at_s, json.dumps(receipt.to_json())),
        )

    def remove(self, receipt_id: str) -> None:
        """Let a receipt go, with what was kept aside for it."""
        for table in ("trash", "receipt"):
            self.connection.execute(f"DELETE FROM {table} WHERE receipt_id = ?", (receipt_id,))

    def receipts(self) -> list[Receipt]:
        """List the receipts, newest first."""
        found = sql.rows(
            self.connection, "SELECT record FROM receipt ORDER BY at_s DESC, rowid DESC"
        )
        return [Receipt.from_json(json.loads(record)) for (record,) in found]

    def unclean(self) -> list[Receipt]:
        """List the receipts whose bytes have not been cleaned, of what is not kept aside."""
        found = sql.rows(
            self.connection,
            "SELECT record FROM receipt WHERE NOT clean"
            " AND receipt_id NOT IN (SELECT receipt_id FROM trash)",
        )
        return [Receipt.from_json(json.loads(record)) for (record,) in found]

    def set_clean(self, receipt_ids: Collection[str]) -> None:
        """Note that nothing was left of what these receipts say."""
        self.connection.executemany(
            "UPDATE receipt SET clean = 1 WHERE receipt_id = ?", [(one,) for one in receipt_ids]
        )

    # Undoing

    def move_to_trash(self, receipt_id: str, until_s: float, record: dict[str, Any]) -> None:
        """Keep what was forgotten, until a moment, under its receipt."""
        packed = {
            name: [{key: _packed(value) for key, value in row.items()} for row in rows]
            for name, rows in record.items()
        }
        self.connection.execute(
            "INSERT INTO trash(receipt_id, until_s, record) VALUES(?, ?, ?)",
            (receipt_id, until_s, json.dumps(packed)),
        )

    def aside(self, receipt_id: str) -> tuple[float, dict[str, Any]] | None:
        """Give what is kept under a receipt, and until when; None where nothing is."""
        row = sql.row(
            self.connection, "SELECT until_s, record FROM trash WHERE receipt_id = ?", (receipt_id,)
        )
        if row is None:
            return None
        record = {
            name: [{key: _unpacked(value) for key, value in one.items()} for one in rows]
            for name, rows in json.loads(row[1]).items()
        }
        return float(row[0]), record

    def has_expired(self, now_s: float) -> bool:
        """Whether anything was kept aside until now."""
        row = sql.row(self.connection, "SELECT 1 FROM trash WHERE until_s <= ? LIMIT 1", (now_s,))
        return row is not None

    def drop_expired(self, now_s: float) -> int:
        """Let go of what was kept aside until now; returns how many receipts' worth it was."""
        self.connection.execute("DELETE FROM trash WHERE until_s <= ?", (now_s,))
        return self.connection.changes()

    # Rules

    def rules(self) -> list[RetentionRule]:
        """List how long categories are kept, those that have a rule."""
        found = sql.rows(
            self.connection, "SELECT category, keep_days FROM retention ORDER BY category"
        )
        return [RetentionRule(*row) for row in found]

    def next_due_s(self, now_s: float) -> float:
        """Give the moment before which no memory and no undo is due; infinite without either.

        What is told from now on is kept for the shortest rule at least. With rules, every row is
        read.
        """
        due = [until_s for (until_s,) in sql.rows(self.connection, "SELECT until_s FROM trash")]
        for rule in self.rules():
            (oldest_s,) = sql.row(
                self.connection,
                "SELECT min(max(recorded_s, coalesce(occurred_s, recorded_s))) FROM memory"
                " WHERE category = ?",
                (rule.category,),
            )
            oldest_s = now_s if oldest_s is None else min(oldest_s, now_s)
            due.append(oldest_s + rule.keep_days * DAY_S)
        return min(due, default=math.inf)

    def set_rule(self, category: str, keep_days: float | None) -> None:
        """Set how long a category is kept; None keeps it for good."""
        self.connection.execute("DELETE FROM retention WHERE category = ?", (category,))
        if keep_days is not None:
            rule = RetentionRule(category, keep_days)
            self.connection.execute(
                "INSERT INTO retention(category, keep_days) VALUES(?, ?)",
                dataclasses.astuple(rule),
            )


def _packed(value: object) -> object:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _unpacked(value: object) -> object:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
