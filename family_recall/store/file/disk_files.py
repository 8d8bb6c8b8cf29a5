"""The files of a database on the disk: their names, and their bytes.

POSIX drops every lock that a process has on a file as soon as it closes any handle to it; another
process then takes itself for the last one, and deletes the log that this one writes to. So a file
that this process may have open as a database is read through SQLite, which waits with closing.

Source: sqlite.org/howtocorrupt.html, section 2.2.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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


_HEADER = 100  # bytes (sqlite.org/fileformat2.html#the_database_header)
_LARGEST_PAGE = 65_536  # written as 1


@dataclass(frozen=True, slots=True)
class Image:
    """A file of ``size`` bytes at ``path``; ``read(start, n)`` returns at most n of them."""

    path: Path
    size: int
    read: Callable[[int, int], bytes]


@contextlib.contextmanager
def image_of(connection: apsw.Connection, path: Path, *, decrypted: bool) -> Iterator[Image]:
    """Lend the bytes of a file, or with ``decrypted`` of the pages that a transaction sees.

    Decrypted, all of them are in memory at once.
    """
    if decrypted:
        pages = connection.serialize("main")
        yield Image(path, len(pages), lambda start, n: pages[start : start + n])
        return
    with raw_file(path) as file:
        size = file.xFileSize()
        yield Image(path, size, lambda start, n: file.xRead(min(n, size - start), start))


def beside(path: Path) -> list[Path]:
    """List the files beside another that may hold earlier pages of it: its log and its journal.

    Not the index of the log, which has numbers of pages and locks, and no content.
    """
    return [file for file in (log_of(path), journal_of(path)) if file.exists()]


def free_pages_with_content(image: Image) -> int:
    """Count the free pages of a file in which anything is left that is no number of a page.

    A trunk page lists the number of the next one, how many follow, and the numbers of free pages;
    behind those, numbers of pages may be left that are in use again
    (sqlite.org/fileformat2.html#the_freelist).
    """
    header = image.read(0, _HEADER)
    page_size = int.from_bytes(header[16:18]) if header[16:18] != b"\0\1" else _LARGEST_PAGE
    n_pages = image.size // page_size if page_size else 0
    trunk, n_left = int.from_bytes(header[32:36]), 0
    seen: set[int] = set()
    while 0 < trunk <= n_pages and trunk not in seen:
        seen.add(trunk)
        page = image.read((trunk - 1) * page_size, page_size)
        numbers = [int.from_bytes(page[at : at + 4]) for at in range(0, page_size, 4)]
        n_left += any(number > n_pages for number in numbers)
        for leaf in numbers[2 : 2 + numbers[1]]:
            if 0 < leaf <= n_pages:
                n_left += any(image.read((leaf - 1) * page_size, page_size))
        trunk = numbers[0]
    return n_left
