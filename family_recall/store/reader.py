"""What every query of a snapshot needs: its connection, its partitions, and its caches."""

from __future__ import annotations

import datetime as dt
import weakref
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias, TypeVar

import apsw

from family_recall.store.feedback import FeedbackLog, LearningStep, Verdict
from family_recall.store.file import sql
from family_recall.store.file.schema import shard_of
from family_recall.store.household import Access, Household, Partition
from family_recall.store.vector_index import VectorIndexes
from family_recall.types import Scope

_T = TypeVar("_T")
MAX_ASKERS = 64
"""Askers for whom values are kept at once; ids that nobody has count, too."""
Asker: TypeAlias = tuple[str | None]
"""Who asks: a person's id, or None for a stranger, in a tuple."""


class Memo:
    """Values by key, each read once. Callers must not change what they get."""

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """Return the value of a key; read it the first time."""
        try:
            value: _T = self._values[key]
        except KeyError:
            value = self._values[key] = read()
        return value


class ReadCaches:
    """What the snapshots of one file share. Safe to share between threads."""

    def __init__(self) -> None:
        self.indexes = VectorIndexes()
        self._unchanged: weakref.WeakKeyDictionary[
            apsw.Connection, tuple[int, dict[Asker, Memo]]
        ] = weakref.WeakKeyDictionary()

    def unchanged(self, connection: apsw.Connection, asker: Asker | None) -> Memo:
        """Return what a connection has read for an asker since the last commit to the file.

        SQLite counts for each connection the commits of all others, of this process and of any
        other (sqlite.org/pragma.html#pragma_data_version), and the connections that read never
        write. Askers share nothing: how long a recall takes would tell what others asked. Nothing
        is kept for None.
        """
        if asker is None:
            return Memo()
        (version,) = sql.row(connection, "PRAGMA data_version")
        before, askers = self._unchanged.get(connection, (None, {}))
        if before != version or len(askers) > MAX_ASKERS:
            askers = {}
            self._unchanged[connection] = (version, askers)
        return askers.setdefault(asker, Memo())

    def clear(self) -> None:
        """Release everything."""
        self.indexes.clear()
        self._unchanged.clear()


class Reader:
    """One read transaction, and the partitions it sees.

    ``damaged`` gathers the ids of rows, of those that were read, that do not match their checksum
    or cannot be read.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        zone: dt.tzinfo,
        caches: ReadCaches,
        asker: Asker | None = None,
    ) -> None:
        self.damaged: set[int] = set()
        self._connection = connection
        self._zone = zone
        self._indexes = caches.indexes
        self._unchanged = caches.unchanged(connection, asker)
        self._memo = Memo()
        self._household = Household(connection)
        self._partitions: Mapping[int, Partition] = self._unchanged.get(
            "partitions", lambda: {each.no: each for each in self._household.every_partition()}
        )

    def interrupt(self) -> None:
        """Stop the statement that runs now, if one does; from any thread."""
        self._connection.interrupt()

    def access(self, person_id: str | None) -> list[Access]:
        """List the spaces a person may enter; ``UnknownPersonError`` if there is no such one."""
        return self._unchanged.get(("access", person_id), lambda: self._household.access(person_id))

    def every_partition(self) -> tuple[Partition, ...]:
        """List all partitions of the file: for deciding a scope, and for nothing else."""
        return tuple(self._partitions.values())

    def expired(self, wall_s: float) -> tuple[tuple[str, float], ...]:
        """Return, for each category with a rule, the moment before which it is not kept."""
        rules = self._unchanged.get("retention", self._household.retention)
        return tuple((category, wall_s - keep_s) for category, keep_s in rules)

    def learned(self, person_id: str | None) -> LearningStep | None:
        """Return what was learned from one person's feedback; None where that is nothing."""
        if person_id is None:
            return None
        return self._unchanged.get(
            ("learned", person_id), lambda: FeedbackLog(self._connection).last_step(person_id)
        )

    def verdicts(self, person_id: str | None) -> tuple[Verdict, ...]:
        """List what one person said of memories they once rejected, the newest first."""
        if person_id is None:
            return ()
        return self._unchanged.get(
            ("verdicts", person_id), lambda: FeedbackLog(self._connection).verdicts(person_id)
        )

    def partitions(self, scope: Scope) -> tuple[Partition, ...]:
        """Return the partitions in scope, with their statistics, ascending."""
        return self._memo.get(
            ("partitions", scope.partitions),
            lambda: tuple(
                self._partitions[no] for no in scope.partitions if no in self._partitions
            ),
        )

    def n_current(self, scope: Scope) -> int:
        """Count the scope's current memories."""
        return sum([partition.n_current for partition in self.partitions(scope)])

    def _shards(self, scope: Scope) -> tuple[int, ...]:
        """List the scope's shards; those of superseded memories where it asks about the past."""
        sides = (False,) if scope.known_at_s is None else (False, True)
        return self._memo.get(
            ("shards", scope.partitions, len(sides)),
            lambda: tuple(
                shard_of(partition.no, past=past)
                for partition in self.partitions(scope)
                for past in sides
            ),
        )

    def _narrows(self, shard: int, scope: Scope) -> bool:
        """Whether a scope may leave out rows of a shard."""
        return (
            scope.filters.narrows
            or bool(scope.lies_in_s)
            or scope.known_at_s is not None
            or bool(scope.expired)
            or self._partitions[shard // 2].n_bounded > 0
        )
