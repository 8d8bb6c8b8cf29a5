"""The names and bytes of a database's files.

POSIX releases all locks of a process on a file when it closes any handle to it; another process may
then delete the log that this one writes to. So a file that may be open as a database is read
through SQLite, which delays closing.

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
"""SQLite's suffixes for a log, its index, and a journal."""
_PLAIN = ("unix", "win32")  # encryption has a layer of its own above these


def log_of(path: Path) -> Path:
    """Return the path of a database's write-ahead log."""
    return Path(f"{path}{_LOG}")


def journal_of(path: Path) -> Path:
    """Return the path of a database's rollback journal."""
    return Path(f"{path}{_JOURNAL}")


def sidecars(path: Path) -> list[Path]:
    """Return the paths of a database's log, its index, and the rollback journal."""
    return [Path(f"{path}{suffix}") for suffix in SUFFIXES]


@contextlib.contextmanager
def raw_file(path: Path, *, write: bool = False) -> Iterator[apsw.VFSFile]:
    """Open a file through SQLite's VFS, to read or, with ``write``, also to write.

    Raises:
        OSError: If it cannot be opened.
    """
    path.stat()
    access = apsw.SQLITE_OPEN_READWRITE if write else apsw.SQLITE_OPEN_READONLY
    system = next(name for name in apsw.vfs_names() if name in _PLAIN)
    try:
        # SQLite does not follow symbolic links here.
        file = apsw.VFSFile(system, os.path.realpath(path), [apsw.SQLITE_OPEN_MAIN_DB | access, 0])
    except apsw.Error as error:
        raise PermissionError(f"{path}: cannot be opened ({error})") from None
    try:
        yield file
    finally:
        file.xClose()


def first_bytes(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file, fewer if it is shorter.

    Raises:
        OSError: If it cannot be read.
    """
    with raw_file(path) as file:
        return bytes(file.xRead(min(n_bytes, file.xFileSize()), 0))
