"""What several snapshots of one file share: vector indexes, and what did not change since."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias, TypeVar

import apsw

from family_recall.store.file import sql
from family_recall.store.vectors.index import VectorIndexes

_T = TypeVar("_T")
MAX_ASKERS = 64
"""Askers for whom something is kept at once; an id that nobody has counts, too."""
Asker: TypeAlias = tuple[str | None]
"""Who asks: a person's id, or None for a stranger, in a tuple."""


class Unchanged:
    """What one read transaction has read of small tables, kept for the next while no commit came.

    SQLite counts for each connection the commits of all others, of this process and of any other
    (sqlite.org/pragma.html#pragma_data_version), and the connections that read never write. What
    is kept must not be changed by those who read it.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, read: Callable[[], _T]) -> _T:
        """Return what is kept under a key; read it where nothing is."""
        try:
            value: _T = self._values[key]
        except KeyError:
            value = self._values[key] = read()
        return value


class ReadCaches:
    """What several snapshots of one file share. Safe to share between threads."""

    def __init__(self) -> None:
        self.indexes = VectorIndexes()
        self._unchanged: weakref.WeakKeyDictionary[
            apsw.Connection, tuple[int, dict[Asker, Unchanged]]
        ] = weakref.WeakKeyDictionary()

    def unchanged(self, connection: apsw.Connection, asker: Asker | None) -> Unchanged:
        """Return what a connection has read for somebody since the last commit to the file.

        Inside a transaction: the one that is open sees that state until it ends. What was read for
        one person is kept for nobody else, since what a recall finds there takes it less time:
        that would tell what others asked. Nothing is kept for None.
        """
        if asker is None:
            return Unchanged()
        (version,) = sql.row(connection, "PRAGMA data_version")
        before, askers = self._unchanged.get(connection, (None, {}))
        if before != version or len(askers) > MAX_ASKERS:
            askers = {}
            self._unchanged[connection] = (version, askers)
        return askers.setdefault(asker, Unchanged())

    def clear(self) -> None:
        """Release everything."""
        self.indexes.clear()
        self._unchanged.clear()
