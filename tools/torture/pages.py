"""Read the pages of a SQLite file without SQLite: what is stored, and what its unused bytes hold.

For checks of forgetting: every byte of a page is a cell's, a header's, or unused (the gap between
cell pointers and cells, freed blocks, the end of the last overflow page, free pages).

Source: sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from family_recall.store.file.connection import connect
from family_recall.store.file.disk_files import raw_file, sidecars
from family_recall.store.file.encryption import Secret, key_of

_HEADER = 100
_LEAVES = (0x0D, 0x0A)  # of tables and of indexes
_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # bytes of a column of types 0 to 9
_ZERO, _BLOB = 8, 12  # types: the numbers 0 and 1 have no bytes; from 12 on blobs and texts
_TABLE_LEAF, _TABLE_INTERIOR, _INDEX_INTERIOR = 0x0D, 0x05, 0x02


@dataclass(slots=True)
class Pages:
    """One file's image, split into stored payloads and unused bytes.

    ``unused`` has the number of its page with each stretch of bytes that is not all zeros.
    ``unreached`` are pages of no table, index or list.
    """

    image: bytes
    payloads: list[bytes] = field(default_factory=list)
    unused: list[tuple[int, bytes]] = field(default_factory=list)
    unreached: list[int] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set)
    _size: int = 0
    _usable: int = 0

    def __post_init__(self) -> None:
        """Walk every page."""
        size = int.from_bytes(self.image[16:18])
        self._size = 65_536 if size == 1 else size
        self._usable = self._size - self.image[20]
        for root in (1, *_roots(self._tree(1))):
            if root != 1:
                self.payloads += self._tree(root)
        self._free_list()
        n_pages = len(self.image) // self._size
        self.unreached = sorted(set(range(1, n_pages + 1)) - self._seen)

    def _page(self, no: int) -> bytes:
        if no in self._seen or not 0 < no <= len(self.image) // self._size:
            raise ValueError(f"page {no} is used twice, or outside of the file")
        self._seen.add(no)
        return self.image[(no - 1) * self._size : no * self._size][: self._usable]

    def _tree(self, root: int) -> list[bytes]:
        """Return the payloads of a table or index."""
        payloads, waiting = [], [root]
        while waiting:
            no = waiting.pop()
            page = self._page(no)
            at = _HEADER if no == 1 else 0
            kind = page[at]
            n_cells, start = _number(page, at + 3), _number(page, at + 5) or 65_536
            pointers = at + (8 if kind in _LEAVES else 12)
            used = [(0, pointers + 2 * n_cells)]
            block = _number(page, at + 1)
            while block:
                used.append((block, block + 4))
                block = _number(page, block)
            if kind not in _LEAVES:
                waiting.append(int.from_bytes(page[at + 8 : at + 12]))
            for cell in range(n_cells):
                offset = _number(page, pointers + 2 * cell)
                if offset < start:
                    raise ValueError(f"page {no} has a cell in its gap")
                end, payload, child = self._cell(page, kind, offset)
                used.append((offset, max(end, offset + 4)))
                if payload:
                    payloads.append(payload)
                if child:
                    waiting.append(child)
            self._gaps(no, page, used)
        return payloads

    def _cell(self, page: bytes, kind: int, offset: int) -> tuple[int, bytes, int]:
        """Return a cell's end, its payload, and the page below it."""
        at, child = offset, 0
        if kind not in _LEAVES:
            child, at = int.from_bytes(page[at : at + 4]), at + 4
        if kind == _TABLE_INTERIOR:
            return _varint(page, at)[1], b"", child
        size, at = _varint(page, at)
        if kind == _TABLE_LEAF:
            _, at = _varint(page, at)
        usable = self._usable
        most = usable - 35 if kind == _TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return at + size, page[at : at + size], child
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = local if local <= most else least
        payload = page[at : at + local]
        following = int.from_bytes(page[at + local : at + local + 4])
        while following:
            no, overflow = following, self._page(following)
            following = int.from_bytes(overflow[:4])
            part = overflow[4 : 4 + size - len(payload)]
            payload += part
            self._gaps(no, overflow, [(0, 4 + len(part))])
        return at + local + 4, payload, child

    def _gaps(self, no: int, page: bytes, used: list[tuple[int, int]]) -> None:
        at = 0
        for start, end in (*sorted(used), (self._usable, self._usable)):
            if any(page[at:start]):
                self.unused.append((no, page[at:start]))
            at = max(at, end)

    def _free_list(self) -> None:
        trunk = int.from_bytes(self.image[32:36])
        while trunk:
            no, page = trunk, self._page(trunk)
            trunk, n_leaves = int.from_bytes(page[:4]), int.from_bytes(page[4:8])
            self._gaps(no, page, [(0, 8 + 4 * n_leaves)])
            for at in range(8, 8 + 4 * n_leaves, 4):
                leaf = int.from_bytes(page[at : at + 4])
                self._gaps(leaf, self._page(leaf), [])


def read(path: Path, key: Secret | None) -> tuple[Pages, bytes]:
    """Read a file's pages, decrypted, and the other bytes of its folder: log, temporary files.

    Of an encrypted file the log is left out. So is the index of a log, which has page numbers and
    locks alone: closing it would release the locks of this process.
    """
    if key is None:
        with raw_file(path) as file:
            image = file.xRead(file.xFileSize(), 0)
    else:
        with contextlib.closing(connect(path, key_of(key))) as connection:
            image = connection.serialize("main")
    log, index, _ = sidecars(path)
    left_out = {path, index, *([log] if key else [])}
    files = [file for file in sorted(path.parent.iterdir()) if file.is_file()]
    return Pages(image), b"\0".join(file.read_bytes() for file in files if file not in left_out)


def _roots(schema: list[bytes]) -> Iterator[int]:
    """Yield the root pages that the records of ``sqlite_schema`` name in their fourth column."""
    for record in schema:
        kind, value = columns(record)[3]
        root = int.from_bytes(value) if kind < _ZERO else kind - _ZERO
        if root:
            yield root


def columns(record: bytes) -> list[tuple[int, bytes]]:
    """Split a payload into the type and the bytes of each column."""
    at, end = _varint(record, 0)[::-1]
    header = record[:end]
    parts = []
    while at < len(header):
        kind, at = _varint(record, at)
        size = (kind - _BLOB) // 2 if kind >= _BLOB else _SIZES[kind]
        parts.append((kind, record[end : end + size]))
        end += size
    return parts


def _number(page: bytes, at: int) -> int:
    return int.from_bytes(page[at : at + 2])


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of 1 to 9 bytes, and where it ends."""
    value = 0
    for n in range(8):
        value = value << 7 | data[at + n] & 0x7F
        if data[at + n] < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9
