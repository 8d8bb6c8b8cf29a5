"""One connection to the file: opened, unlocked and configured."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from family_recall.store.file.encryption import Key

BUSY_TIMEOUT_MS = 30_000
_BUSY_STEP_MS = 10
LOG_PAGES = 4096


def connect(
    path: Path,
    key: Key | None,
    *,
    flags: int | None = None,
    busy_timeout_ms: int = BUSY_TIMEOUT_MS,
) -> apsw.Connection:
    """Open a connection that waits for locks, unlocked if there is a key.

    SQLite's mutex stays on although each connection serves one thread at a time: an exception may
    hold a cursor that another thread then frees, which would crash the process. It costs a fortieth
    of a recall.
    """
    if flags is None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    # A recall runs some twenty statements: those of the last twenty recalls stay prepared.
    connection = apsw.Connection(str(path), flags=flags, statementcachesize=400)
    try:
        wait_for_others(connection, busy_timeout_ms)
        # Otherwise each run of a statement is planned again for its bound values.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        if key is not None:
            key.unlock(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def wait_for_others(connection: apsw.Connection, timeout_ms: int) -> None:
    """Set how long a connection waits for the locks of others."""
    connection.set_busy_timeout(timeout_ms)
    # Tries every millisecond; the busy handler alone tries ten times a second.
    connection.setlk_timeout(timeout_ms, 0)


PRAGMAS = {
    # Readers and the writer work side by side (sqlite.org/wal.html).
    "journal_mode": "WAL",
    # Sync at checkpoints: survives a killed process, 50 times cheaper than at each commit.
    "synchronous": "NORMAL",
    # A log of 16 MiB: long imports write each page back less often.
    "wal_autocheckpoint": LOG_PAGES,
    # Delete what refers to a deleted row.
    "foreign_keys": "ON",
    # Overwrite what is deleted (sqlite.org/pragma.html#pragma_secure_delete).
    "secure_delete": "ON",
    # No temporary files, which could retain forgotten words.
    "temp_store": "MEMORY",
    # 8 MiB per connection: more made no measurable difference.
    "cache_size": -8 * 1024,
}


def configure(connection: apsw.Connection) -> None:
    """Set every pragma."""
    for name, value in PRAGMAS.items():
        _execute(connection, f"PRAGMA {name} = {value}")


def load_vec0(connection: apsw.Connection) -> bool:
    """Load sqlite-vec; return False if it is not installed or cannot be loaded."""
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


def _execute(connection: apsw.Connection, pragma: str) -> None:
    """Run a pragma, repeated up to the busy timeout while another process holds the file.

    Two processes that switch a new file to WAL together get SQLITE_BUSY at once: SQLite does not
    call the busy handler there, since they could wait for each other (sqlite.org/wal.html).
    """
    until_s = time.monotonic() + connection.pragma("busy_timeout") / 1000
    while True:
        try:
            connection.execute(pragma)
        except apsw.BusyError:
            if time.monotonic() > until_s:
                raise
            time.sleep(_BUSY_STEP_MS / 1000)
        else:
            return
