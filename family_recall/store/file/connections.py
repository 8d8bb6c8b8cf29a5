"""Connections to one file: a writer and a pool of readers."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from family_recall.errors import (
    ClosedError,
    FamilyRecallError,
    InvalidRequestError,
    NotAStoreError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    WrongKeyError,
)
from family_recall.store.file import damage, schema
from family_recall.store.file.connection import (
    BUSY_TIMEOUT_MS,
    LOG_PAGES,
    configure,
    connect,
    load_vec0,
    wait_for_others,
)
from family_recall.store.file.damage import DamagedTable
from family_recall.store.file.disk_files import log_of
from family_recall.store.file.encryption import Key, looks_encrypted
from family_recall.store.file.identity import check_identity, special_kind
from family_recall.store.file.replacement import create_private, remove_leftovers

PAUSE_S = 0.003
"""Pause of a writer between two transactions while other processes write."""

MAX_LOG_BYTES = 2 * LOG_PAGES * 4096
"""Size of a log above which a commit empties it, waiting for readers.

SQLite restarts a log only while nobody reads from it, which overlapping recalls prevent.
"""

_EMPTY_LOG_TIMEOUT_MS = 2_000

LONGEST_WAIT_S = 5.0
"""How long closing waits for readers."""

_CONTENDED_S = 0.008  # a longer wait for the lock shows that others write
_YIELD_FOR_S = 10.0  # after that


class Connections:
    """One writer, and one reader per thread that reads at the same time.

    Safe to share between threads: a reader serves one caller at a time, and a lock guards the
    writer. Processes use SQLite's own locks, with the busy timeout.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        key: Key | None = None,
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    ) -> None:
        """Open or create the file.

        Raises:
            StoreError: If it does not exist and ``create`` is false, or as :func:`check_identity`.
        """
        self.path = path
        self._log = log_of(path)
        self.key = key
        self.busy_timeout_ms = busy_timeout_ms
        self.vec0 = True
        self.unreadable: list[DamagedTable] = []
        self._idle: list[apsw.Connection] = []
        self._n_lent = 0
        self._lock = threading.Lock()
        self._returned = threading.Condition(self._lock)
        self._write_lock = threading.RLock()
        self._closed = self._has_closed = False
        self._yield_until_s = self._committed_s = -_YIELD_FOR_S
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
            self._file = _file_at(path)
            try:
                if not fresh:
                    check_identity(path, key, busy_timeout_ms)
                self._writer = self._connect()
                try:
                    if self._writer.pragma("user_version") != schema.SCHEMA_VERSION:
                        with self.writing() as connection:
                            # Another process may have created it meanwhile.
                            if connection.pragma("user_version") == 0:
                                schema.create(connection)
                    self.unreadable = damage.find(self._writer, damage.SETTINGS)
                    damage.hide(self._writer, self.unreadable)
                except BaseException:
                    self._writer.close()
                    raise
            except (apsw.Error, StoreError):
                self.check_open()
                raise
            remove_leftovers(path.parent)

    @contextlib.contextmanager
    def reading(self, *, fresh: bool = False) -> Iterator[apsw.Connection]:
        """Lend a connection inside one read transaction, which sees one snapshot.

        A ``fresh`` connection has read nothing before: FTS5's check of an index reports changes by
        other connections since as damage.
        """
        self.check_open()  # in a forked process the lock may never be released
        connection, is_lent = None, False
        try:
            with self._lock:
                if self._closed:  # meanwhile
                    self.check_open()
                self._n_lent += 1
                is_lent = True
                if self._idle and not fresh:
                    connection = self._idle[-1]
                    del self._idle[-1]  # no call: an exception after pop() would lose it
            if connection is None:
                with translated(self.path):
                    connection = self._connect()
            with translated(self.path, connection):
                try:
                    connection.execute("BEGIN")
                    yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        finally:
            with self._lock:
                self._n_lent -= is_lent
                if connection is not None:
                    ends = True
                    try:
                        ends = self._closed or fresh or _is_reading(connection)
                    finally:
                        if ends:
                            connection.close()
                        else:
                            self._idle.append(connection)
                self._returned.notify_all()

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Lend the writer inside one transaction."""
        with self._writer_alone():
            try:
                self._begin()
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                # A full disk may have rolled back already.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
            self._committed_s = time.monotonic()
            self._bound_log()

    @contextlib.contextmanager
    def writing_nothing(self) -> Iterator[apsw.Connection]:
        """Lend the writer inside a transaction that is rolled back."""
        with self._writer_alone():
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    def empty_log(self) -> bool:
        """Write the log back into the file and empty it; False if a reader needs it."""
        with self._writer_alone():
            return self._empty_log()

    def compact(self) -> None:
        """Rewrite the file without free space."""
        with self._writer_alone():
            for damaged in self.unreadable:  # VACUUM takes their views for tables
                self._writer.execute(f"DROP VIEW temp.{damaged.table}")
            try:
                self._writer.execute("VACUUM")
            finally:
                damage.hide(self._writer, self.unreadable)

    def reset_unreadable(self) -> list[str]:
        """Replace unreadable values by their stand-ins; return descriptions of them."""
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
        """Wait for running work, write the log back and close every connection.

        Closing twice does nothing, and so does closing in a forked process.
        """
        if os.getpid() != self._pid:
            self._closed = True
            return
        if self._has_closed:
            return
        with self._write_lock, self._lock:
            self._closed = True
            for connection in self._idle:
                connection.close()
        with self._lock:
            self._returned.wait_for(lambda: not self._n_lent, LONGEST_WAIT_S)
        with self._write_lock:
            with contextlib.suppress(apsw.Error):
                self._writer.execute("PRAGMA optimize")
                self._empty_log()
            self._writer.close()
        self._has_closed = True

    @contextlib.contextmanager
    def _writer_alone(self) -> Iterator[None]:
        self.check_open()
        with self._write_lock:
            self.check_open()
            try:
                with translated(self.path, self._writer):
                    yield
            finally:
                if not self._closed and _is_reading(self._writer):
                    self._writer, before = self._connect(), self._writer
                    before.close()

    def _begin(self) -> None:
        """Begin a write transaction, after a pause if other processes write too.

        SQLite's lock has no queue: a process that writes without a pause gets it every time, and
        others, which try once a millisecond, could wait forever.
        """
        now_s = time.monotonic()
        if now_s < self._yield_until_s and now_s - self._committed_s < PAUSE_S:
            time.sleep(PAUSE_S)
        # IMMEDIATE: a read transaction that writes later fails at once, whatever the timeout.
        self._writer.execute("BEGIN IMMEDIATE")
        if time.monotonic() - now_s > PAUSE_S + _CONTENDED_S:
            self._yield_until_s = time.monotonic() + _YIELD_FOR_S

    def _empty_log(self) -> bool:
        """Empty the log. New readers meanwhile use the file alone and do not prevent it."""
        wait_for_others(self._writer, _EMPTY_LOG_TIMEOUT_MS)
        try:
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        finally:
            wait_for_others(self._writer, self.busy_timeout_ms)
        return True

    def _bound_log(self) -> None:
        """Empty the log if it exceeds its limit; if that fails, raise the limit."""
        with contextlib.suppress(apsw.Error, OSError):  # the commit has succeeded
            size = self._log.stat().st_size
            if size > self._log_limit:
                emptied = self._empty_log()
                self._log_limit = MAX_LOG_BYTES if emptied else size + MAX_LOG_BYTES

    def check_open(self) -> None:
        """Check that the file is open, by this process, and was not replaced.

        Raises:
            ClosedError: If it was closed.
            StoreError: If this process was forked since, or the file was deleted or replaced.
        """
        if self._closed:
            raise ClosedError(f"{self.path}: was closed; open it again")
        if os.getpid() != self._pid:
            raise StoreError(
                f"{self.path}: was opened before a fork; open it again in the new process"
            )
        # Writes to a deleted file are lost when it is closed.
        if _file_at(self.path) != self._file:
            raise StoreError(
                f"{self.path}: was deleted, moved or replaced since it was opened; open it again"
            )

    def _connect(self) -> apsw.Connection:
        connection = connect(self.path, self.key, busy_timeout_ms=self.busy_timeout_ms)
        try:
            configure(connection)
            self.vec0 = self.vec0 and load_vec0(connection)
            damage.hide(connection, self.unreadable)
        except BaseException:
            connection.close()
            raise
        return connection


@contextlib.contextmanager
def translated(path: Path, connection: apsw.Connection | None = None) -> Iterator[None]:
    """Translate SQLite's errors to this library's.

    With a connection, Python's errors from unreadable values are translated too.
    """
    try:
        yield
    except (apsw.Error, *damage.MALFORMED) as error:
        if isinstance(error, FamilyRecallError):
            raise
        if connection is not None and not isinstance(error, apsw.Error):
            with translated(path):
                is_damaged = not damage.is_sound(connection) or bool(damage.find(connection))
            if is_damaged:
                raise StoreError(
                    f"{path}: holds values that cannot be read; family-recall doctor --db {path} "
                    "names them, and --repair replaces them"
                ) from error
        if not isinstance(error, apsw.Error | OSError | UnicodeError):
            raise
        if isinstance(error, apsw.NotADBError) and looks_encrypted(path):
            raise WrongKeyError(
                f"{path}: cannot be read without its key, or has been damaged; give the right key"
            ) from None
        translation, message = next(
            (translation, message)
            for kinds, translation, message in _TRANSLATIONS
            if isinstance(error, kinds)
        )
        cause = error if "{error}" in message else None
        raise translation(message.format(path=path, error=error)) from cause


_TRANSLATIONS: tuple[tuple[tuple[type[Exception], ...], type[FamilyRecallError], str], ...] = (
    (
        (apsw.BusyError,),
        StoreBusyError,
        "{path}: another writer held the file for longer than the busy timeout; try again",
    ),
    (
        (apsw.FullError,),
        StoreFullError,
        "{path}: the disk is full; the last step was undone, earlier ones stay; make room, repeat",
    ),
    (
        (apsw.NotADBError,),
        NotAStoreError,
        "{path}: expected a family_recall file, found something that is no SQLite database",
    ),
    (
        (apsw.CorruptError,),
        StoreError,
        "{path}: the file is damaged ({error}); restore a backup, or try rebuild",
    ),
    (
        (apsw.CantOpenError, apsw.PermissionsError, OSError),
        StoreError,
        "{path}: cannot be opened ({error}); does its folder exist, and may it be written to?",
    ),
    (
        (apsw.ReadOnlyError,),
        StoreError,
        "{path}: may only be read ({error}); allow this user to write to it and its folder",
    ),
    ((apsw.IOError,), StoreError, "{path}: the disk answered with an error ({error})"),
    (
        (UnicodeDecodeError,),
        StoreError,
        "{path}: holds a damaged text ({error.reason}); family-recall doctor {path} names it",
    ),
    (
        (UnicodeEncodeError,),
        InvalidRequestError,
        "a text holds half a character (a lone surrogate); send UTF-8",
    ),
    ((apsw.Error,), StoreError, "{path}: {error}; try rebuild, or restore a backup"),
)
"""SQLite's errors, the error of this library and its message; the first match counts."""


def _is_reading(connection: apsw.Connection) -> bool:
    """Whether a statement still runs after its transaction, and keeps an earlier snapshot.

    apsw 3.54 never frees a cursor beside which another was made, so one that was not read to its
    end, because of a ``break`` or an exception, runs until its connection is closed.
    """
    return connection.txn_state("main") != apsw.SQLITE_TXN_NONE


def _file_at(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
