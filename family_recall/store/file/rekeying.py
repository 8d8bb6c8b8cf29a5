"""Another key for a file, by a copy of it that takes its place in one step."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import apsw

from family_recall.store.file.connection import connect, memory_temp_store, translated
from family_recall.store.file.copies import copy_pages, leave_log, turn_log_on, verify
from family_recall.store.file.disk_files import raw_file
from family_recall.store.file.encryption import Key
from family_recall.store.file.identity import check_identity
from family_recall.store.file.replacement import replacing

_CHUNK = bytes(64 * 1024)  # SQLite takes less than 128 KiB at once


def rekey(path: Path, key: Key | None, new: Key | None) -> None:
    """Encrypt a file, change its key, or decrypt it (``new`` is None).

    A copy gets the new key, is checked, and takes the file's place in one step, so at each moment
    the file is whole under one of the two keys. Needs as much free space as the file takes. The
    bytes of the file before are then overwritten, unless another name leads to them, too.

    Raises:
        StoreBusyError: If the household is open anywhere.
        StoreError: If there is no such file, or no room for the copy.
        WrongKeyError: If ``key`` is not its key; ``NotAStoreError`` for another program's file.
    """
    with translated(path):
        check_identity(path, key)
        connection = connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            leave_log(connection, path)
            _lock(connection)
            with contextlib.ExitStack() as stack:
                before = None
                with replacing(path, keep_mode=True) as partial:
                    copy_pages(connection, partial, key, None)
                    _change_key(partial, key, new)
                    verify(partial, new)
                    turn_log_on(partial, new)
                    if os.name == "nt":  # where no open file can be replaced
                        connection.close()
                    elif path.stat().st_nlink == 1:
                        before = stack.enter_context(raw_file(path, write=True))
                if before is not None:
                    _overwrite(before)
        finally:
            # Not earlier: it keeps others from opening the file that is being replaced.
            connection.close()


def _lock(connection: apsw.Connection) -> None:
    """Lock the file for this connection alone, until it is closed."""
    connection.pragma("locking_mode", "exclusive")
    connection.execute("BEGIN EXCLUSIVE; COMMIT")


def _change_key(path: Path, key: Key | None, new: Key | None) -> None:
    """Rewrite a file that nobody else uses under another key, without a journal beside it."""
    connection = connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        memory_temp_store(connection)
        connection.pragma("journal_mode", "off")
        connection.pragma("rekey", "" if new is None else new.pragma(os.urandom(16)))
    finally:
        connection.close()


def _overwrite(file: apsw.VFSFile) -> None:
    """Overwrite a file that has no name any more, as far as the disk does so in place."""
    size = file.xFileSize()
    for offset in range(0, size, len(_CHUNK)):
        file.xWrite(_CHUNK[: size - offset], offset)
    file.xSync(apsw.SQLITE_SYNC_FULL)
