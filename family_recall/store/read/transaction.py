"""Transactions: the tables of one file by what they hold, in one consistent view."""

from __future__ import annotations

import datetime as dt
import functools

import apsw

from family_recall.store.access.household import Household
from family_recall.store.file import sql
from family_recall.store.file.archive import ArchiveReader
from family_recall.store.logs.audit import AuditTables
from family_recall.store.logs.erasure_log import ErasureLog
from family_recall.store.logs.feedback import FeedbackLog
from family_recall.store.read.caches import ReadCaches
from family_recall.store.read.listing import Listings
from family_recall.store.read.snapshot import Snapshot
from family_recall.store.read.versions import Versions
from family_recall.store.vectors.pending import PendingVectors


class Transaction:
    """What every transaction can read, whether it can write or not."""

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo) -> None:
        self._connection = connection
        self.zone = zone
        self.household = Household(connection)
        self.feedback = FeedbackLog(connection)
        self.audit = AuditTables(connection)
        self.erasure_log = ErasureLog(connection)
        self.versions = Versions(connection)
        self.listings = Listings(connection, zone)
        self.pending_vectors = PendingVectors(connection)

    def info(self, key: str) -> str | None:
        """Return a fact about the file, such as its time zone; None if it is not set."""
        row = sql.row(self._connection, "SELECT value FROM info WHERE key = ?", (key,))
        return str(row[0]) if row else None


class ReadTransaction(Transaction):
    """A transaction that reads."""

    def __init__(self, connection: apsw.Connection, zone: dt.tzinfo, caches: ReadCaches) -> None:
        super().__init__(connection, zone)
        self.archive = ArchiveReader(connection)
        self._caches = caches

    @functools.cached_property
    def snapshot(self) -> Snapshot:
        """The memories, for recall."""
        return Snapshot(self._connection, self.zone, self._caches)
