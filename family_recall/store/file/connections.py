"""Connections to the one file: one writer, and a pool of readers."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from family_recall.errors import ClosedError, FamilyRecallError, StoreError
from family_recall.store.file import damage, schema
from family_recall.store.file.connection import (
    BUSY_TIMEOUT_MS,
    LOG_PAGES,
    configure,
    connect,
    load_vec0,
    translated,
    wait_for_others,
)
from family_recall.store.file.damage import DamagedTable
from family_recall.store.file.disk_files import log_of
from family_recall.store.file.encryption import Key
from family_recall.store.file.identity import check_identity, file_on_disk, special_kind
from family_recall.store.file.replacement import create_private, remove_leftovers

PAUSE_S = 0.003
"""How long a writer pauses between two of its transactions, while others write."""

MAX_LOG_BYTES = 2 * LOG_PAGES * 4096
"""How long a log gets before a commit empties it, waiting for readers if need be.

SQLite starts a log again from its beginning only at a moment when nobody reads from it; with
overlapping recalls there is none.
"""

_READERS_LEAVE_MS = 2_000

LONGEST_WAIT_S = 5.0
"""How long closing waits for those who are reading."""

_WAITED_S = 0.008
_OTHERS_STAY_S = 10.0


class Connections:
    """One writer and as many readers as there are threads reading at once.

    Safe to share between threads: a reader is lent to one caller at a time, the writer is
    behind a lock. Processes use SQLite's own locks, with the busy timeout.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        key: Key | None = None,
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    ) -> None:
        """Open the file, or create it.

        Raises:
            StoreError: If it does not exist and ``create`` is false, or cannot be opened.
            NotAStoreError: If it is some other file; it is left as it is.
            WrongKeyError: If it is encrypted and this is not its key, or it is not encrypted.
            NewerStoreError: If a newer version wrote it; it is left as it is.
        """
        self.path = path
        self.key = key
        self.busy_timeout_ms = busy_timeout_ms
        self.vec0 = True
        self.unreadable: list[DamagedTable] = []
        self._idle: list[apsw.Connection] = []
        self._n_lent = 0
        self._lock = threading.Condition(threading.Lock())
        self._write_lock = threading.RLock()
        self._closed = False
        self._others_until_s = self._committed_s = -_OTHERS_STAY_S
        self._log_limit = MAX_LOG_BYTES
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
                    check_identity(path, key, busy_timeout_ms)
                self._writer = self._connect()
                with contextlib.ExitStack() as unless_opened:
                    unless_opened.callback(self._writer.close)
                    self._create_tables()
                    self.unreadable = damage.find(self._writer, damage.SETTINGS)
                    damage.hide(self._writer, self.unreadable)
                    unless_opened.pop_all()
            except (apsw.Error, StoreError):
                self._check_same_file()
                raise
            remove_leftovers(path.parent)

    @contextlib.contextmanager
    def reading(self, *, fresh: bool = False) -> Iterator[apsw.Connection]:
        """Lend a connection inside one read transaction: one snapshot from start to end.

        A ``fresh`` one has read nothing before: FTS5's check of an index takes what another
        connection has rewritten since for damage.
        """
        self.check_open()
        with self._lock:
            if self._closed:
                raise self._was_closed()
            self._n_lent += 1
            connection = self._idle.pop() if self._idle and not fresh else None
        try:
            with translated(self.path):
                connection = connection or self._connect()
                try:
                    connection.execute("BEGIN")
                    with _explained(connection, self.path):
                        yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        finally:
            with self._lock:
                if connection is not None and (self._closed or fresh):
                    connection.close()
                elif connection is not None:
                    self._idle.append(connection)
                self._n_lent -= 1
                self._lock.notify_all()

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Lend the writer inside one transaction: all of it is stored, or nothing."""
        with self._writer_alone():
            self._begin()
            try:
                with _explained(self._writer, self.path):
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
        with self._writer_alone():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    def empty_log(self) -> bool:
        """Write the log back into the file and empty it; False where a reader needs it."""
        with self._writer_alone():
            return self._empty_log()

    def compact(self) -> None:
        """Rewrite the file without its free space, and what was left there."""
        with self._writer_alone():
            self._writer.execute("VACUUM")

    def reset_unreadable(self) -> list[str]:
        """Write what stands in for unreadable settings in their place; returns what they were."""
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()
        with self.writing() as connection:
            for damaged in self.unreadable:
                connection.execute(f"DROP VIEW temp.{damaged.table}")
            described = damage.repair(connection)
            self.unreadable = []
        return described

    def close(self) -> None:
        """Wait for running work, write the log back and close every connection; twice does nothing.

        A forked process leaves all of that to the one that opened the file.
        """
        if os.getpid() != self._pid:
            self._closed = True
            return
        with self._write_lock, self._lock:
            if self._closed:
                return
            self._closed = True
            for connection in self._idle:
                connection.close()
        with self._lock:
            self._lock.wait_for(lambda: not self._n_lent, LONGEST_WAIT_S)
        with self._write_lock:
            with contextlib.suppress(apsw.Error):
                self._writer.execute("PRAGMA optimize")
                self._empty_log()
            self._writer.close()

    @contextlib.contextmanager
    def _writer_alone(self) -> Iterator[None]:
        self.check_open()  # in a forked process the lock may be held for good
        with self._write_lock:
            self.check_open()
            with translated(self.path):
                yield

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
        self._bound_log()

    def _empty_log(self) -> bool:
        """Empty the log; who begins to read meanwhile reads the file alone and is no obstacle."""
        wait_for_others(self._writer, _READERS_LEAVE_MS)
        try:
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        finally:
            wait_for_others(self._writer, self.busy_timeout_ms)
        return True

    def _bound_log(self) -> None:
        """Empty the log if it has grown beyond its limit; try again after as much more."""
        with contextlib.suppress(apsw.Error, OSError):  # what was committed stays so
            size = log_of(self.path).stat().st_size
            if size > self._log_limit:
                emptied = self._empty_log()
                self._log_limit = MAX_LOG_BYTES if emptied else size + MAX_LOG_BYTES

    def _was_closed(self) -> ClosedError:
        return ClosedError(f"{self.path}: was closed; open it again")

    def check_open(self) -> None:
        """Check that the file is open, in this process, and still the one that was opened.

        Raises:
            ClosedError: If it was closed.
            StoreError: If this process was forked since, or the file was deleted or replaced.
        """
        if self._closed:
            raise self._was_closed()
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
        connection = connect(self.path, self.key, busy_timeout_ms=self.busy_timeout_ms)
        with contextlib.ExitStack() as unless_opened:
            unless_opened.callback(connection.close)
            configure(connection)
            self.vec0 = self.vec0 and load_vec0(connection)
            damage.hide(connection, self.unreadable)
            unless_opened.pop_all()
        return connection

    def _create_tables(self) -> None:
        if self._writer.pragma("user_version") == schema.SCHEMA_VERSION:
            return
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            if self._writer.pragma("user_version") == 0:  # nobody else has created them meanwhile
                schema.create(self._writer)
        except BaseException:
            self._writer.execute("ROLLBACK")
            raise
        self._commit()


@contextlib.contextmanager
def _explained(connection: apsw.Connection, path: Path) -> Iterator[None]:
    """Name the file where an error comes from a value in it that cannot be read."""
    try:
        yield
    except damage.MALFORMED as error:
        if isinstance(error, FamilyRecallError) or not damage.find(connection):
            raise
        raise StoreError(
            f"{path}: holds values that cannot be read; family-recall doctor --db {path} names "
            "them, and --repair replaces them"
        ) from error
