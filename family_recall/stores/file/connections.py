"""Connections to the one file: a path in, one writer and a pool of readers out."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from family_recall.errors import (
    ClosedError,
    NewerStoreError,
    NotAStoreError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    WrongKeyError,
)
from family_recall.stores.file import checksums
from family_recall.stores.file.encryption import Key, is_plain, looks_encrypted
from family_recall.stores.file.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION

BUSY_STEP_MS = 10
BUSY_TIMEOUT_MS = 30_000
PAUSE_S = 0.003
"""What a writer leaves the others between two of its transactions, while there are others."""

_WAITED_S = 0.008
_OTHERS_STAY_S = 10.0
CACHE_KIB = 8 * 1024
LOG_PAGES = 4096


def write_ahead_log(connection: apsw.Connection) -> None:
    """Let readers and the writer work side by side (sqlite.org/wal.html)."""
    connection.execute("PRAGMA journal_mode = WAL")


def normal_synchronous(connection: apsw.Connection) -> None:
    """Sync at checkpoints: survives a killed process, 50 times cheaper than at each commit."""
    connection.execute("PRAGMA synchronous = NORMAL")


def long_log(connection: apsw.Connection) -> None:
    """Let the log grow to 16 MiB: in a long import a page is then written back less often."""
    connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")


def secure_delete(connection: apsw.Connection) -> None:
    """Overwrite what is deleted (sqlite.org/pragma.html#pragma_secure_delete)."""
    connection.execute("PRAGMA secure_delete = ON")


def memory_temp_store(connection: apsw.Connection) -> None:
    """Keep temporary tables out of files, where forgotten words could stay."""
    connection.execute("PRAGMA temp_store = MEMORY")


def page_cache(connection: apsw.Connection) -> None:
    """Give each connection 8 MiB: more gained nothing measurable."""
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")


PRAGMAS: tuple[Callable[[apsw.Connection], None], ...] = (
    write_ahead_log,
    normal_synchronous,
    long_log,
    secure_delete,
    memory_temp_store,
    page_cache,
)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into this library's, naming the file and the way out."""
    try:
        yield
    except apsw.BusyError:
        raise StoreBusyError(
            f"{path}: another writer held the file for {BUSY_TIMEOUT_MS // 1000} s; try again"
        ) from None
    except apsw.FullError:
        raise StoreFullError(
            f"{path}: the disk is full; nothing of this step was stored, free some space and repeat"
        ) from None
    except apsw.NotADBError:
        if looks_encrypted(path):
            raise WrongKeyError(
                f"{path}: cannot be read without its key, or has been damaged; give the right key"
            ) from None
        raise NotAStoreError(
            f"{path}: expected a family_recall file, found something that is no SQLite database"
        ) from None
    except apsw.CorruptError as error:
        raise StoreError(
            f"{path}: the file is damaged ({error}); restore a backup, or try rebuild"
        ) from error
    except (apsw.CantOpenError, apsw.PermissionsError, OSError) as error:
        raise StoreError(
            f"{path}: cannot be opened ({error}); does its folder exist, and may it be written to?"
        ) from error
    except apsw.ReadOnlyError as error:
        raise StoreError(
            f"{path}: may only be read ({error}); allow this user to write to it and its folder"
        ) from error
    except apsw.IOError as error:
        raise StoreError(f"{path}: the disk answered with an error ({error})") from error
    except UnicodeDecodeError as error:
        raise StoreError(
            f"{path}: holds a text that is damaged ({error.reason}); "
            f"family-recall doctor {path} says which"
        ) from None
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}; try rebuild, or restore a backup") from error


@dataclass(frozen=True, slots=True)
class _Identity:
    """Whose file it is; a file whose making was cut short has nothing yet."""

    application: int
    version: int
    schema_cookie: int

    @property
    def is_blank(self) -> bool:
        return (self.application, self.version, self.schema_cookie) == (0, 0, 0)


class Connections:
    """One writer and as many readers as there are threads asking at once.

    Safe to share between threads: a reader is lent to one caller at a time, the writer is
    behind a lock. Processes meet at SQLite's own locks, with a busy timeout of 30 s.
    """

    def __init__(self, path: Path, *, create: bool, key: Key | None = None) -> None:
        """Open the file, make or migrate it as needed.

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
        fresh = not path.exists() or path.stat().st_size == 0
        if fresh and not create:
            raise StoreError(
                f"{path}: no such file; create it with `family-recall init --db {path}`"
            )
        with translated(path):
            if not fresh:
                self._check_identity()
            self._writer = self._connect()
            self._migrate()
            self._file = _identity_on_disk(path)

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
        """Lend the writer inside one transaction: all of it is kept, or none."""
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
    def looking(self) -> Iterator[apsw.Connection]:
        """Lend the writer inside a transaction of which nothing is kept."""
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
        """Write the log back into the file and cut it to nothing; False where a reader needs it."""
        with self._write_lock:
            self._check_open()
            with translated(self.path):
                try:
                    self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                except apsw.BusyError:
                    return False
        return True

    def compact(self) -> None:
        """Write the file anew without its free space, whatever was left there."""
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
        """Begin a transaction that writes, and let others in between two of ours.

        SQLite's lock has no queue: who writes without a pause is there first every time, and the
        others, who look once a millisecond, could wait for good.
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
        # What is written to a file without a name is lost when it is closed.
        if _identity_on_disk(self.path) != self._file:
            raise StoreError(
                f"{self.path}: was deleted, moved or replaced since it was opened; open it again"
            )

    def _connect(self) -> apsw.Connection:
        connection = connect(self.path, self.key)
        for pragma in PRAGMAS:
            _patiently(pragma, connection)
        self.vec0 = self.vec0 and _load_vec0(connection)
        return connection

    def _check_identity(self) -> None:
        identity = self._identity()
        if identity.is_blank:
            return
        if identity.application != APPLICATION_ID:
            raise NotAStoreError(
                f"{self.path}: expected a family_recall file, found a SQLite database of "
                f"another program (application id {identity.application:#x})"
            )
        if identity.version > SCHEMA_VERSION:
            raise NewerStoreError(
                f"{self.path}: schema {identity.version}, this version reads up to "
                f"{SCHEMA_VERSION}; upgrade the library"
            )

    def _identity(self) -> _Identity:
        """Read whose file it is without leaving a trace: from its header where that is enough."""
        if self.key is not None and is_plain(self.path):
            raise WrongKeyError(
                f"{self.path}: is not encrypted, and a key was given; open it without, or encrypt "
                "it first: family-recall rekey"
            )
        log = Path(f"{self.path}-wal")
        if self.key is None and (not log.exists() or log.stat().st_size == 0):
            with self.path.open("rb") as file:
                header = file.read(100)
            if not header.startswith(b"SQLite format 3\x00") or len(header) < 100:
                raise apsw.NotADBError
            # sqlite.org/fileformat2.html: schema cookie, user version and application id.
            cookie, version, application = (
                int.from_bytes(header[at : at + 4], "big") for at in (40, 60, 68)
            )
            return _Identity(application, version, cookie)
        connection = connect(self.path, self.key, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return _Identity(
                connection.pragma("application_id"),
                connection.pragma("user_version"),
                connection.pragma("schema_version"),
            )
        finally:
            connection.close()

    def _migrate(self) -> None:
        if self._writer.pragma("user_version") == SCHEMA_VERSION:
            return
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have migrated while this one waited for the lock.
            for step in range(self._writer.pragma("user_version"), SCHEMA_VERSION):
                self._writer.execute(MIGRATIONS[step])
            checksums.seal(self._writer)
            self._writer.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._writer.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        except BaseException:
            self._writer.execute("ROLLBACK")
            raise
        self._commit()


def connect(path: Path, key: Key | None, *, flags: int | None = None) -> apsw.Connection:
    """Open a bare connection that waits for others, unlocked where there is a key."""
    if flags is None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    # Looks for a free lock every millisecond; the busy handler alone, ten times a second.
    connection.setlk_timeout(BUSY_TIMEOUT_MS, 0)
    # Else each run of a statement plans it anew, from what is bound and ANALYZE has counted.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    if key is not None:
        key.unlock(connection, path)
    return connection


def schema_of(path: Path, key: Key | None) -> int:
    """Give a file's schema, without bringing it up to date.

    Raises:
        StoreError: If it is missing or cannot be read with this key.
    """
    if not path.exists():
        raise StoreError(f"{path}: no such file; create it with `family-recall init --db {path}`")
    with translated(path):
        connection = connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return int(connection.pragma("user_version"))
        finally:
            connection.close()


def _identity_on_disk(path: Path) -> tuple[int, int] | None:
    """Tell a file from the one that may take its name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _load_vec0(connection: apsw.Connection) -> bool:
    try:
        import sqlite_vec  # noqa: PLC0415 - absent where it has no wheel (musl, armv7)
    except ImportError:
        return False
    try:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
    except (apsw.Error, AttributeError):
        return False
    return True


def _patiently(step: Callable[[apsw.Connection], object], connection: apsw.Connection) -> None:
    """Take a step again while another process is in the way, as long as the busy timeout.

    Two processes that turn a new file to WAL together get SQLITE_BUSY at once: SQLite does not ask
    the busy handler there, since waiting could be for each other (sqlite.org/wal.html).
    """
    until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            step(connection)
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(BUSY_STEP_MS / 1000)
        else:
            return
