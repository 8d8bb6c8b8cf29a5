"""The bytes of a file as they are on the disk or, of an encrypted one, as its pages are inside."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from family_recall.store.file.disk_files import journal_of, log_of, raw_file

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
