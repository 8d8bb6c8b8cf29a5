"""The tables of one file by what they hold, inside one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import MutableMapping
from functools import cached_property

import apsw

from family_recall.stores.access.household import Household
from family_recall.stores.erase.forgetting_log import ForgettingLog
from family_recall.stores.file import sql
from family_recall.stores.file.archive import ArchiveReader
from family_recall.stores.logs.audit import AuditTables
from family_recall.stores.logs.feedback import FeedbackLog, Learned
from family_recall.stores.read.listing import Listings
from family_recall.stores.read.snapshot import SqliteSnapshot
from family_recall.stores.vectors.index import VectorIndexes
from family_recall.stores.vectors.pending import PendingVectors


class Transaction:
    """The tables that a read and a write transaction have in common."""

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo) -> None:
        self.connection = connection
        self.zone = zone
        self.household = Household(connection)
        self.feedback = FeedbackLog(connection)
        self.audit = AuditTables(connection)
        self.erasure_log = ForgettingLog(connection)
        self.listings = Listings(connection, zone)
        self.pending_vectors = PendingVectors(connection)

    def info(self, key: str) -> str | None:
        """Return one of the file's own facts, such as its time zone."""
        row = sql.row(self.connection, "SELECT value FROM info WHERE key = ?", (key,))
        return str(row[0]) if row else None


class ReadTransaction(Transaction):
    """One consistent view of a file; nothing in it can write."""

    def __init__(
        self,
        connection: apsw.Connection,
        zone: dt.tzinfo,
        indexes: VectorIndexes,
        learned: MutableMapping[int, Learned],
    ) -> None:
        super().__init__(connection, zone)
        self.archive = ArchiveReader(connection)
        self._indexes = indexes
        self._learned = learned

    @cached_property
    def snapshot(self) -> SqliteSnapshot:
        """What a recall reads; it begins with the statistics of every partition."""
        return SqliteSnapshot(self.connection, self._indexes, self.zone, self._learned)
