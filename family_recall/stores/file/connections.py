"""Connections to the one file: one writer, and a pool of readers."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from family_recall.errors import ClosedError, StoreError
from family_recall.stores.file import schema
from family_recall.stores.file.connection import configure, connect, load_vec0, translated
from family_recall.stores.file.destination import special_kind
from family_recall.stores.file.encryption import Key
from family_recall.stores.file.identity import check_identity, file_on_disk
from family_recall.stores.file.replacement import create_private, remove_leftovers

PAUSE_S = 0.003
"""How long a writer pauses between two of its transactions, while others write."""

_WAITED_S = 0.008
_OTHERS_STAY_S = 10.0


class Connections:
    """One writer and as many readers as there are threads reading at once.

    Safe to share between threads: a reader is lent to one caller at a time, the writer is
    behind a lock. Processes use SQLite's own locks, with a busy timeout of 30 s.
    """

    def __init__(self, path: Path, *, create: bool, key: Key | None = None) -> None:
        """Open the file; create or migrate it as needed.

        Raises:
            StoreError: If it does not exist and ``create`` is false, or cannot be opened.
            NotAStoreError: If it is some other file; it is left as it is.
            WrongKeyError: If it is encrypted and this is not its key, or it is not encrypted.
            NewerStoreError: If a newer version wrote it; it is left as it is.
        """
        self.path = path
        self.key = key
        self.vec0 = True
        self._idle: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._closed = False
        self._others_until_s = self._committed_s = -_OTHERS_STAY_S
        self._pid = os.getpid()
        with translated(path):
            fresh = special_kind(path) is None and (not path.exists() or path.stat().st_size == 0)
            if fresh and not create:
                raise StoreError(
                    f"{path}: no such file; create it with `family-recall init --db {path}`"
                )
            if fresh:
                create_private(path)
            self._file = file_on_disk(path)
            try:
                if not fresh:
                    check_identity(path, key)
                self._writer = self._connect()
                self._migrate()
            except (apsw.Error, StoreError):
                self._check_same_file()
                raise
            remove_leftovers(path.parent)

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Lend a connection inside one read transaction: one snapshot from start to end."""
        self._check_open()
        with translated(self.path):
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            connection = connection or self._connect()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                with self._lock:
                    if self._closed:
                        connection.close()
                    else:
                        self._idle.append(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Lend the writer inside one transaction: all of it is stored, or nothing."""
        with self._write_lock:
            self._check_open()
            with translated(self.path):
                self._begin()
                try:
                    yield self._writer
                except BaseException:
                    # A full disk may have rolled back already.
                    if self._writer.in_transaction:
                        self._writer.execute("ROLLBACK")
                    raise
                self._commit()

    @contextlib.contextmanager
    def writing_nothing(self) -> Iterator[apsw.Connection]:
        """Lend the writer inside a transaction that is rolled back."""
        with self._write_lock:
            self._check_open()
            with translated(self.path):
                self._writer.execute("BEGIN IMMEDIATE")
                try:
                    yield self._writer
                finally:
                    if self._writer.in_transaction:
                        self._writer.execute("ROLLBACK")

    def empty_log(self) -> bool:
        """Write the log back into the file and empty it; False where a reader needs it."""
        with self._write_lock:
            self._check_open()
            with translated(self.path):
                try:
                    self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                except apsw.BusyError:
                    return False
        return True

    def compact(self) -> None:
        """Rewrite the file without its free space, and what was left there."""
        with self._write_lock:
            self._check_open()
            with translated(self.path):
                self._writer.execute("VACUUM")

    def close(self) -> None:
        """Write the log back into the file and close every connection. Twice does nothing."""
        with self._write_lock, self._lock:
            if self._closed:
                return
            self._closed = True
            if os.getpid() != self._pid:
                return
            for connection in self._idle:
                connection.close()
            with contextlib.suppress(apsw.Error):
                self._writer.execute("PRAGMA optimize")
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._writer.close()

    def _begin(self) -> None:
        """Begin a transaction that writes, with a pause for others between two of ours.

        SQLite's lock has no queue: a process that writes without a pause gets it every time, and
        others, which try once a millisecond, could wait forever.
        """
        now = time.monotonic()
        if now < self._others_until_s and now - self._committed_s < PAUSE_S:
            time.sleep(PAUSE_S)
        # IMMEDIATE: a read that upgrades later fails at once, whatever the timeout.
        self._writer.execute("BEGIN IMMEDIATE")
        if time.monotonic() - now > PAUSE_S + _WAITED_S:
            self._others_until_s = time.monotonic() + _OTHERS_STAY_S

    def _commit(self) -> None:
        try:
            self._writer.execute("COMMIT")
            self._committed_s = time.monotonic()
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"{self.path}: was closed; open it again")
        if os.getpid() != self._pid:
            raise StoreError(
                f"{self.path}: was opened before a fork; open it again in the new process"
            )
        self._check_same_file()

    def _check_same_file(self) -> None:
        # A file without a name is lost when it is closed, with all that is written to it.
        if file_on_disk(self.path) != self._file:
            raise StoreError(
                f"{self.path}: was deleted, moved or replaced since it was opened; open it again"
            )

    def _connect(self) -> apsw.Connection:
        connection = connect(self.path, self.key)
        configure(connection)
        self.vec0 = self.vec0 and load_vec0(connection)
        return connection

    def _migrate(self) -> None:
        if self._writer.pragma("user_version") == schema.SCHEMA_VERSION:
            return
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            schema.migrate(self._writer)
        except BaseException:
            self._writer.execute("ROLLBACK")
            raise
        self._commit()
