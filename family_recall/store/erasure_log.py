"""What was erased: receipts, the trash from which it can be brought back, and retention rules."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import apsw

from family_recall.store.file import sql
from family_recall.store.household import DAY_S
from family_recall.types.erasure import Proof, Receipt, RetentionRule

_REWRITE = "rewrite_due"
_CLEAN_AGAIN_S = 60.0  # a reader may hold earlier pages for longer than anybody waits


@dataclass(frozen=True, slots=True)
class ErasureLog:
    """The tables of receipts, trash and retention rules, inside one transaction."""

    connection: apsw.Connection

    def put(self, receipt: Receipt, at_s: float) -> None:
        """Store a receipt; its bytes are not cleaned from the file yet."""
        self.connection.execute(
            "INSERT INTO main.receipt(receipt_id, at_s, clean, record) VALUES(?, ?, 0, ?)",
            (receipt.receipt_id, at_s, json.dumps(receipt.to_json())),
        )

    def remove(self, receipt_id: str) -> None:
        """Delete a receipt, with its rows in the trash."""
        self.connection.execute("DELETE FROM main.receipt WHERE receipt_id = ?", (receipt_id,))

    def remove_person(self, person_id: str, authors: Collection[str]) -> None:
        """Delete what a person alone could undo, or said, from the trash, and their id."""
        said = (
            "SELECT t.receipt_id FROM trash t JOIN receipt r USING(receipt_id)"
            " WHERE r.record ->> 'person_id' = ?1 OR EXISTS"
            " (SELECT 1 FROM json_each(t.record, '$.memory') m WHERE m.value ->> 'author' IN"
            "  (SELECT value FROM json_each(?2)))"
        )
        self.connection.execute(
            f"DELETE FROM main.trash WHERE receipt_id IN ({said})",
            (person_id, json.dumps(sorted(authors))),
        )
        self.connection.execute(
            "UPDATE main.receipt SET record = json_set(record, '$.person_id', NULL)"
            " WHERE record ->> 'person_id' = ?",
            (person_id,),
        )

    def receipts(self) -> list[Receipt]:
        """List the receipts, the newest first."""
        rows = sql.rows(
            self.connection, "SELECT record FROM receipt ORDER BY at_s DESC, rowid DESC"
        )
        return [Receipt.from_json(json.loads(record)) for (record,) in rows]

    def receipt(self, receipt_id: str) -> Receipt | None:
        """Return a receipt as it is stored; None where there is none of that id."""
        row = sql.row(
            self.connection, "SELECT record FROM receipt WHERE receipt_id = ?", (receipt_id,)
        )
        return None if row is None else Receipt.from_json(json.loads(row[0]))

    def not_cleaned(self) -> set[str]:
        """List the receipts whose bytes are not yet cleaned from the file; none in the trash."""
        rows = sql.rows(
            self.connection,
            "SELECT receipt_id FROM receipt WHERE NOT clean"
            " AND receipt_id NOT IN (SELECT receipt_id FROM main.trash)",  # readable or not
        )
        return {receipt_id for (receipt_id,) in rows}

    def is_unclean(self) -> bool:
        """Return whether anything is left to be cleaned from the file."""
        return self.rewrite_due() is not None or bool(self.not_cleaned())

    def set_proof(self, receipt_id: str, proof: Proof) -> None:
        """Record how the bytes of what a receipt lists were cleaned from the file."""
        self.connection.execute(
            "UPDATE main.receipt SET clean = 1, record = json_set(record, '$.proof', json(?))"
            " WHERE receipt_id = ?",
            (json.dumps(proof.to_json()), receipt_id),
        )

    def rewrite_due(self) -> str | None:
        """Return a mark if the file has to be rewritten for what was removed without a receipt."""
        row = sql.row(self.connection, "SELECT value FROM info WHERE key = ?", (_REWRITE,))
        return None if row is None else str(row[0])

    def set_rewrite_due(self) -> None:
        """Record that the file has to be rewritten: something was removed without a receipt."""
        self.connection.execute(
            "INSERT INTO main.info VALUES(?, '1') ON CONFLICT DO UPDATE SET value = value + 1",
            (_REWRITE,),
        )

    def set_rewritten(self, mark: str | None) -> None:
        """Record that the file was rewritten since it was due with this mark."""
        self.connection.execute(
            "DELETE FROM main.info WHERE key = ? AND value = ?", (_REWRITE, mark)
        )

    def move_to_trash(
        self, receipt_id: str, until_s: float, rows: dict[str, list[dict[str, Any]]]
    ) -> None:
        """Store erased rows, by table, until a moment, under their receipt."""
        self.connection.execute(
            "INSERT INTO main.trash(receipt_id, until_s, record) VALUES(?, ?, ?)",
            (receipt_id, until_s, json.dumps(rows, default=lambda value: {"hex": value.hex()})),
        )

    def trash(self, receipt_id: str) -> tuple[float, dict[str, list[dict[str, Any]]]] | None:
        """Return until when rows are in the trash, and the rows by table; None without any."""
        row = sql.row(
            self.connection, "SELECT until_s, record FROM trash WHERE receipt_id = ?", (receipt_id,)
        )
        if row is None:
            return None
        return float(row[0]), json.loads(row[1], object_hook=_decoded)

    def is_in_trash(self, receipt_id: str) -> bool:
        """Return whether anything is in the trash under a receipt, readable or not."""
        query = "SELECT 1 FROM main.trash WHERE receipt_id = ?"
        return sql.row(self.connection, query, (receipt_id,)) is not None

    def empty_expired_trash(self, now_s: float) -> None:
        """Delete what can no longer be brought back."""
        self.connection.execute("DELETE FROM main.trash WHERE until_s <= ?", (now_s,))

    def rules(self) -> list[RetentionRule]:
        """List for how long categories are retained, by category."""
        rows = sql.rows(
            self.connection, "SELECT category, keep_days FROM retention ORDER BY category"
        )
        return [RetentionRule(*row) for row in rows]

    def set_rule(self, category: str, keep_days: float | None) -> None:
        """Set for how long a category is retained; None retains it forever.

        Raises:
            InvalidRequestError: If there is no such category, or that is no number of days.
        """
        if keep_days is not None:
            RetentionRule(category, keep_days)
        self.connection.execute("DELETE FROM main.retention WHERE category = ?", (category,))
        if keep_days is not None:
            self.connection.execute(
                "INSERT INTO main.retention(category, keep_days) VALUES(?, ?)",
                (category, keep_days),
            )

    def next_due_s(self, now_s: float) -> float:
        """Return the moment before which no retention rule, no trash and no cleaning is due.

        Memories recorded from now on are retained for the shortest rule at least. Infinite
        without rules and trash; with rules, every row is read.
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
        if self.is_unclean():
            due.append(now_s + _CLEAN_AGAIN_S)
        return min(due, default=math.inf)


def _decoded(record: dict[str, Any]) -> Any:
    return bytes.fromhex(record["hex"]) if record.keys() == {"hex"} else record
