"""Changes to partitions' statistics and row ids, gathered inside one write transaction."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import apsw

from family_recall.store.file import sql
from family_recall.store.file.row_ids import PARTITION_SHIFT


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
