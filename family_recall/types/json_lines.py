"""Read JSON Lines files, one object per line, with line numbers in errors."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any, BinaryIO

from family_recall.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_LINE_BYTES = 8 * 1024 * 1024
"""The longest line read; a memory's text has at most 1,000,000 characters."""


MAX_VALUES = 200_000
"""The most values in a line: each takes up to 100 bytes of memory, whatever its length."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; a pipe or device, which may never end, raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return os.fdopen(file, "rb")
    os.close(file)
    raise OSError(0, "it is no regular file")


def read_jsonl(
    path: Path, *, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each line of a JSONL file as (line number from 1, object); blank lines are skipped.

    Raises:
        DatasetError: If the file cannot be opened, or a line is longer than ``max_line_bytes``,
            not UTF-8, not JSON, not an object, or has more than ``MAX_VALUES`` values.
    """
    try:
        file = open_regular(path)
    except (OSError, ValueError) as error:  # ValueError: of a path with a lone surrogate
        why = error.strerror if isinstance(error, OSError) else error
        raise DatasetError(f"{path}: cannot be read ({why}); check the path") from None
    with file:
        line_no = 0
        while line := file.readline(max_line_bytes + 1):
            line_no += 1
            where = f"{path}:{line_no}"
            if len(line) > max_line_bytes:
                raise DatasetError(
                    f"{where}: expected at most {max_line_bytes:,} bytes in a line, got more; "
                    "is it one JSON object per line?"
                )
            if _n_values(line) > MAX_VALUES:
                raise DatasetError(f"{where}: expected at most {MAX_VALUES:,} values, got more")
            try:
                text = line.decode("utf-8-sig").strip()
                record = json.loads(text) if text else None
            except UnicodeDecodeError as error:
                raise DatasetError(
                    f"{where}: expected UTF-8, got byte 0x{line[error.start]:02x} at column "
                    f"{error.start + 1}; convert the file"
                ) from None
            except (ValueError, RecursionError) as error:
                raise DatasetError(
                    f"{where}: expected one JSON object, got {shown(text)}; correct the line "
                    f"({error})"
                ) from None
            if text and not isinstance(record, dict):
                raise DatasetError(f"{where}: expected one JSON object, got {shown(text)}")
            if record is not None:
                yield line_no, record


def _n_values(line: bytes) -> int:
    """Return how many values a line has, at most; exactly only if it might have too many."""
    n = sum(map(line.count, (b",", b"[", b"{")))
    return n if n <= MAX_VALUES else sum(map(_STRING.sub(b"", line).count, (b",", b"[", b"{")))


def is_export(path: Path) -> bool:
    """Return whether the first line of a file marks it as a household's export."""
    try:
        with open_regular(path) as file:
            start = file.read(64)
    except (OSError, ValueError):
        return False
    return start.removeprefix(b"\xef\xbb\xbf").startswith(b'{"family_recall":"export"')


def shown(value: object) -> str:
    """Return a value quoted for a message, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
