"""Partitions: one for each space, band, child whose guardians alone see it, and redacted view.

A redacted view is a role's copy of a space without its hidden fields. Its partitions have words,
counts, vectors and edges of their own, so that a hidden field adds to none of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import apsw

from family_recall.store import word_index
from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT, id_range, shard_of
from family_recall.store.household import Household
from family_recall.store.vectors import Vectors
from family_recall.types import Hidden


@dataclass(frozen=True, slots=True)
class RedactedView:
    """The fields hidden from one role in a space, and the number of its view's partitions."""

    no: int
    hidden: Hidden


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partitions and redacted views of a file, inside one write transaction."""

    connection: apsw.Connection
    household: Household
    vectors: Vectors

    def find_or_create(
        self, space_id: str, band: str, guardians_of: str | None = None, view: int = 0
    ) -> int:
        """Find or create the partition of a space and band, of a child's guardians, of a view.

        Args:
            space_id: The space.
            band: Its band.
            guardians_of: The child whose guardians alone see it; None for everybody.
            view: Number of the redacted view; 0 for the memories themselves.

        Raises:
            UnknownSpaceError, UnknownPersonError: If the household has no such space or child.
        """
        child = 0 if guardians_of is None else self.household.person_no(guardians_of)
        key = (self.household.space_no(space_id), band, child, view)
        row = sql.row(
            self.connection,
            "SELECT no FROM partition"
            " WHERE space = ? AND band = ? AND child = ? AND redacted_view = ?",
            key,
        )
        if row is None:
            row = sql.row(
                self.connection,
                "INSERT INTO main.partition(space, band, child, redacted_view) VALUES(?, ?, ?, ?)"
                " RETURNING no",
                key,
            )
            for past in (False, True):
                word_index.create(self.connection, shard_of(row[0], past=past))
        return int(row[0])

    def allocate(self, partition: int) -> int:
        """Return a partition's next row id."""
        (seq,) = sql.row(
            self.connection,
            "UPDATE main.partition SET next_seq = next_seq + 1 WHERE no = ? RETURNING next_seq - 1",
            (partition,),
        )
        return partition << PARTITION_SHIFT | int(seq)

    def views_of(self, space_id: str) -> list[RedactedView]:
        """List the redacted views of a space, the oldest first."""
        return [
            RedactedView(no, Hidden(space_id, role, tuple(json.loads(fields))))
            for no, role, fields in sql.rows(
                self.connection,
                "SELECT v.no, v.role, v.fields FROM redacted_view v"
                " JOIN space s ON s.no = v.space WHERE s.space_id = ? ORDER BY v.no",
                (space_id,),
            )
        ]

    def create_view(self, hidden: Hidden) -> RedactedView | None:
        """Create a role's empty view in place of the one it had; None if it hides no field.

        Raises:
            UnknownSpaceError: If the household has no such space.
        """
        space = self.household.space_no(hidden.space_id)
        for view in self.views_of(hidden.space_id):
            if view.hidden.role == hidden.role:
                self._delete_view(view.no)
        if not hidden.fields:
            return None
        self.connection.execute(
            "INSERT INTO main.redacted_view(space, role, fields) VALUES(?, ?, ?)",
            (space, hidden.role, json.dumps(hidden.fields)),
        )
        return RedactedView(self.connection.last_insert_rowid(), hidden)

    def remove_space(self, space_id: str) -> None:
        """Delete a space with its partitions, views and grants, and whatever is in it.

        Raises:
            UnknownSpaceError: If the household has no such space.
        """
        space = self.household.space_no(space_id)
        for view in self.views_of(space_id):
            self._delete_view(view.no)
        self._delete("space", space)
        self.connection.execute("DELETE FROM main.space WHERE no = ?", (space,))

    def remove_for_guardians_of(self, child_id: str) -> None:
        """Delete the partitions that only the guardians of a child may see.

        Raises:
            UnknownPersonError: If the household has no such person.
        """
        self._delete("child", self.household.person_no(child_id))

    def _delete_view(self, view: int) -> None:
        self._delete("redacted_view", view)
        self.connection.execute("DELETE FROM main.redacted_view WHERE no = ?", (view,))

    def _delete(self, column: str, value: int) -> None:
        """Delete partitions with their memories, what was derived from them, and entities."""
        execute = self.connection.execute
        for (partition,) in sql.rows(
            self.connection, f"SELECT no FROM partition WHERE {column} = ?", (value,)
        ):
            first, last = id_range(partition)
            rows = sql.rows(
                self.connection, "SELECT id FROM memory WHERE id BETWEEN ? AND ?", (first, last)
            )
            self.vectors.remove([memory for (memory,) in rows])
            for past in (False, True):
                word_index.drop(self.connection, shard_of(partition, past=past))
            for table in ("mention", "identifier", "mentioned_time"):
                execute(f"DELETE FROM {table} WHERE memory BETWEEN ? AND ?", (first, last))
            execute("DELETE FROM edge WHERE src BETWEEN ? AND ?", (first, last))
            execute("DELETE FROM memory WHERE id BETWEEN ? AND ?", (first, last))
            for table, key in (("edge", "src"), ("relation", "subject"), ("entity", "id")):
                execute(f"DELETE FROM {table} WHERE {key} BETWEEN ? AND ?", (-last, -first))
            execute("DELETE FROM alias WHERE partition = ?", (partition,))
            execute("DELETE FROM main.partition WHERE no = ?", (partition,))
