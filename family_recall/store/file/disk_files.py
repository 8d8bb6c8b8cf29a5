"""The files of a database on the disk: their names, and their bytes.

POSIX drops every lock that a process has on a file as soon as it closes any handle to it; another
process then takes itself for the last one, and deletes the log that this one writes to. So a file
that this process may have open as a database is read through SQLite, which waits with closing.

Source: sqlite.org/howtocorrupt.html, section 2.2.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

_LOG, _LOG_INDEX, _JOURNAL = "-wal", "-shm", "-journal"
SUFFIXES = (_LOG, _LOG_INDEX, _JOURNAL)
"""What SQLite adds to the name of a file for its log, the index of that, and its journal."""
_PLAIN = ("unix", "win32")  # encryption has a layer of its own above these


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the write-ahead log of a file."""
    return Path(f"{path}{_LOG}")


def journal_of(path: Path) -> Path:
    """Return where SQLite keeps the rollback journal of a file."""
    return Path(f"{path}{_JOURNAL}")


def sidecars(path: Path) -> list[Path]:
    """Return the names of a database's log, the index of that, and its rollback journal."""
    return [Path(f"{path}{suffix}") for suffix in SUFFIXES]


@contextlib.contextmanager
def raw_file(path: Path, *, write: bool = False) -> Iterator[apsw.VFSFile]:
    """Yield a file with ``xRead``, ``xFileSize`` and, with ``write``, ``xWrite`` and ``xSync``.

    Raises:
        OSError: If it cannot be opened, ``FileNotFoundError`` where there is none.
    """
    path.stat()
    access = apsw.SQLITE_OPEN_READWRITE if write else apsw.SQLITE_OPEN_READONLY
    system = next(name for name in apsw.vfs_names() if name in _PLAIN)
    try:
        # SQLite follows no symbolic link here.
        file = apsw.VFSFile(system, os.path.realpath(path), [apsw.SQLITE_OPEN_MAIN_DB | access, 0])
    except apsw.Error as error:
        raise PermissionError(f"{path}: cannot be opened ({error})") from None
    try:
        yield file
    finally:
        file.xClose()


def first_bytes(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file, fewer where it is shorter.

    Raises:
        OSError: If it cannot be read.
    """
    with raw_file(path) as file:
        return bytes(file.xRead(min(n_bytes, file.xFileSize()), 0))
