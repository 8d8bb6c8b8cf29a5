"""Counters: what a transaction adds to each partition's statistics, and the row ids it takes."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import PARTITION_SHIFT


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
    """Changes to the counters of a file's partitions, gathered inside one write transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._changes: dict[int, Change] = {}
        self._next_seq: dict[int, int] = {}

    def of(self, partition: int) -> Change:
        """Give what is to be added to a partition's counters, to be changed in place."""
        return self._changes.setdefault(partition, Change())

    def allocate(self, partition: int) -> int:
        """Take a partition's next row id."""
        if partition not in self._next_seq:
            (self._next_seq[partition],) = sql.row(
                self.connection, "SELECT next_seq FROM partition WHERE no = ?", (partition,)
            )
        seq = self._next_seq[partition]
        self._next_seq[partition] = seq + 1
        return partition << PARTITION_SHIFT | seq

    def write(self) -> None:
        """Add what was gathered to the file."""
        for partition, change in self._changes.items():
            self.connection.execute(
                "UPDATE partition SET n_current = n_current + ?, n_past = n_past + ?,"
                " words_current = words_current + ?, words_past = words_past + ?,"
                " n_bounded = n_bounded + ?, rewrites = rewrites + ? WHERE no = ?",
                (change.n_current, change.n_past, change.words_current, change.words_past,
                 change.n_bounded, change.rewrites, partition),
            )  # fmt: skip
        for partition, seq in self._next_seq.items():
            self.connection.execute(
                "UPDATE partition SET next_seq = ? WHERE no = ?", (seq, partition)
            )
