"""What several snapshots of one file share: vector indexes, and what did not change since."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import apsw

from family_recall.stores.file import sql
from family_recall.stores.vectors.index import VectorIndexes

_T = TypeVar("_T")


class Unchanged:
    """What one read transaction has read of small tables, kept for the next while no commit came.

    SQLite counts for each connection the commits of all others, of this process and of any other
    (sqlite.org/pragma.html#pragma_data_version), and the connections that read never write. What
    is kept must not be changed by those who read it.
    """

    def __init__(self, version: int) -> None:
        self.version = version
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
        self._unchanged: weakref.WeakKeyDictionary[apsw.Connection, Unchanged] = (
            weakref.WeakKeyDictionary()
        )

    def unchanged(self, connection: apsw.Connection) -> Unchanged:
        """Return what a connection has read since the last commit to the file.

        Inside a transaction: the one that is open sees that state until it ends.
        """
        (version,) = sql.row(connection, "PRAGMA data_version")
        kept = self._unchanged.get(connection)
        if kept is None or kept.version != version:
            kept = self._unchanged[connection] = Unchanged(version)
        return kept

    def clear(self) -> None:
        """Release everything."""
        self.indexes.clear()
        self._unchanged.clear()
