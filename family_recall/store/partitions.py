"""Partitions: one for each space, band, child whose guardians alone see it, and redacted view.

A redacted view is a role's copy of a space without its hidden fields. Its partitions have words,
counts, vectors and edges of their own, so that a hidden field adds to none of them.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass

import apsw

from family_recall.store import vector_tables, word_index
from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT, id_range, shard_of, words_table
from family_recall.store.household import Household
from family_recall.types import Hidden


@dataclass(frozen=True, slots=True)
class RedactedView:
    """The fields hidden from one role in a space, and the number of its view's partitions."""

    no: int
    hidden: Hidden


class Partitions:
    """The partitions and redacted views of a file, inside one write transaction."""

    def __init__(self, connection: apsw.Connection, *, vec0: bool) -> None:
        self._connection = connection
        self._vec0 = vec0
        self._household = Household(connection)
        self._views: dict[str, list[RedactedView]] = {}
        self._spaces: dict[str, int] = {}
        self._found: dict[tuple[str, str, str | None, int], int] = {}

    def space_no(self, space_id: str) -> int:
        """Return a space's number; read once a transaction.

        Raises:
            UnknownSpaceError: If the household has no such space.
        """
        if space_id not in self._spaces:
            self._spaces[space_id] = self._household.space_no(space_id)
        return self._spaces[space_id]

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
        found = self._found.get((space_id, band, guardians_of, view))
        if found is not None:
            return found
        child = 0 if guardians_of is None else self._household.person_no(guardians_of)
        key = (self.space_no(space_id), band, child, view)
        row = sql.row(
            self._connection,
            "SELECT no FROM partition"
            " WHERE space = ? AND band = ? AND child = ? AND redacted_view = ?",
            key,
        )
        if row is None:
            row = sql.row(
                self._connection,
                "INSERT INTO main.partition(space, band, child, redacted_view) VALUES(?, ?, ?, ?)"
                " RETURNING no",
                key,
            )
            for past in (False, True):
                word_index.create(self._connection, shard_of(row[0], past=past))
        self._found[space_id, band, guardians_of, view] = int(row[0])
        return int(row[0])

    def views_of(self, space_id: str) -> list[RedactedView]:
        """List the redacted views of a space, the oldest first; read once a transaction."""
        if space_id not in self._views:
            self._views[space_id] = [
                RedactedView(no, Hidden(space_id, role, tuple(json.loads(fields))))
                for no, role, fields in sql.rows(
                    self._connection,
                    "SELECT v.no, v.role, v.fields FROM redacted_view v"
                    " JOIN space s ON s.no = v.space WHERE s.space_id = ? ORDER BY v.no",
                    (space_id,),
                )
            ]
        return self._views[space_id]

    def create_view(self, hidden: Hidden) -> RedactedView | None:
        """Create a role's empty view in place of the one it had; None if it hides no field.

        Raises:
            UnknownSpaceError: If the household has no such space.
        """
        space = self._household.space_no(hidden.space_id)
        for view in self.views_of(hidden.space_id):
            if view.hidden.role == hidden.role:
                self._delete_view(view.no)
        self._views.clear()
        if not hidden.fields:
            return None
        self._connection.execute(
            "INSERT INTO main.redacted_view(space, role, fields) VALUES(?, ?, ?)",
            (space, hidden.role, json.dumps(hidden.fields)),
        )
        return RedactedView(self._connection.last_insert_rowid(), hidden)

    def remove_space(self, space_id: str) -> None:
        """Delete a space with its partitions, views and grants, and whatever is in it.

        Raises:
            UnknownSpaceError: If the household has no such space.
        """
        space = self._household.space_no(space_id)
        for view in self.views_of(space_id):
            self._delete_view(view.no)
        self._delete("space", space)
        self._connection.execute("DELETE FROM main.space WHERE no = ?", (space,))
        self._views.clear()
        self._spaces.clear()

    def remove_for_guardians_of(self, child_id: str) -> None:
        """Delete the partitions that only the guardians of a child may see.

        Raises:
            UnknownPersonError: If the household has no such person.
        """
        self._delete("child", self._household.person_no(child_id))

    def _delete_view(self, view: int) -> None:
        self._delete("redacted_view", view)
        self._connection.execute("DELETE FROM main.redacted_view WHERE no = ?", (view,))

    def _delete(self, column: str, value: int) -> None:
        for (partition,) in sql.rows(
            self._connection, f"SELECT no FROM partition WHERE {column} = ?", (value,)
        ):
            self._empty(partition)
            self._found.clear()
            self._connection.execute("DELETE FROM main.partition WHERE no = ?", (partition,))

    def _empty(self, partition: int) -> None:
        """Delete the memories of a partition, what was derived from them, and its entities."""
        execute = self._connection.execute
        first, last = id_range(partition)
        rows = sql.rows(
            self._connection, "SELECT id FROM memory WHERE id BETWEEN ? AND ?", (first, last)
        )
        vector_tables.remove(self._connection, [memory for (memory,) in rows], vec0=self._vec0)
        for shard in (shard_of(partition, past=False), shard_of(partition, past=True)):
            execute(f"DROP TABLE IF EXISTS {words_table(shard)}")
            execute("DELETE FROM word_count WHERE shard = ?", (shard,))
        by_memory = ("mention", "identifier", "mentioned_time")
        derived = (*((table, "memory") for table in by_memory), ("edge", "src"))
        for table, column in (*derived, ("memory", "id")):
            execute(f"DELETE FROM {table} WHERE {column} BETWEEN ? AND ?", (first, last))
        for table, column in (("edge", "src"), ("relation", "subject"), ("entity", "id")):
            execute(f"DELETE FROM {table} WHERE {column} BETWEEN ? AND ?", (-last, -first))
        execute("DELETE FROM alias WHERE partition = ?", (partition,))


@dataclass(slots=True)
class Change:
    """What a transaction adds to a partition's counters."""

    n_current: int = 0
    n_past: int = 0
    words_current: int = 0
    words_past: int = 0
    n_bounded: int = 0
    rewrites: int = 0


class Counters:
    """Changes to the counters of a file's partitions; :meth:`flush` writes them."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._changes: dict[int, Change] = {}
        self._next_seq: dict[int, int] = {}

    def of(self, partition: int) -> Change:
        """Return the change to a partition's counters, to be changed in place."""
        if partition not in self._changes:
            self._changes[partition] = Change()
        return self._changes[partition]

    def allocate(self, partition: int) -> int:
        """Return a partition's next row id."""
        if partition not in self._next_seq:
            (self._next_seq[partition],) = sql.row(
                self._connection, "SELECT next_seq FROM partition WHERE no = ?", (partition,)
            )
        seq = self._next_seq[partition]
        self._next_seq[partition] = seq + 1
        return partition << PARTITION_SHIFT | seq

    def flush(self) -> None:
        """Write the changes gathered so far."""
        self._connection.executemany(
            "UPDATE main.partition SET n_current = n_current + ?, n_past = n_past + ?,"
            " words_current = words_current + ?, words_past = words_past + ?,"
            " n_bounded = n_bounded + ?, rewrites = rewrites + ? WHERE no = ?",
            [(*astuple(change), partition) for partition, change in self._changes.items()],
        )
        self._connection.executemany(
            "UPDATE main.partition SET next_seq = ? WHERE no = ?",
            [(seq, partition) for partition, seq in self._next_seq.items()],
        )
        self._changes.clear()
        self._next_seq.clear()
