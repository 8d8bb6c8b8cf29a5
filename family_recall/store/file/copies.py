"""Whole files: backups that are checked before they get their name, restoration, other keys."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import apsw

from family_recall.errors import InvalidRequestError, StoreBusyError, StoreError
from family_recall.store.file import sql
from family_recall.store.file.connection import connect
from family_recall.store.file.connections import translated
from family_recall.store.file.disk_files import raw_file, sidecars
from family_recall.store.file.encryption import Key
from family_recall.store.file.identity import check_identity, special_kind
from family_recall.store.file.replacement import replacing, writing_to
from family_recall.store.file.schema import SCHEMA_VERSION
from family_recall.store.health import check_pages
from family_recall.types.aliases import ProgressCallback

_STEP_PAGES = 256  # 1 MiB between two reports
_BEFORE = ".before-restore"
_CHUNK = bytes(64 * 1024)  # SQLite takes less than 128 KiB at once


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy that was opened and passed every check: where it is, and what it holds."""

    path: Path
    n_bytes: int
    schema: int
    memories: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What ``path`` holds now, and where the file that was there before is kept."""

    path: Path
    kept: Path | None
    memories: int


def back_up(
    source: apsw.Connection,
    destination: Path,
    key: Key | None,
    *,
    overwrite: bool,
    progress: ProgressCallback | None = None,
) -> Backup:
    """Copy what a read transaction sees into a file of its own, while others read and write.

    The copy is checked under another name, and then gets its own in one step. It is encrypted if
    its source is. It may replace an earlier backup, and no household that was ever opened.

    Source: sqlite.org/backup.html.
    """
    sql.row(source, "SELECT count(*) FROM sqlite_schema")  # from here on one snapshot
    inputs = (Path(source.db_filename("main")),)
    with writing_to(destination, overwrite=overwrite, inputs=inputs, over_copies=True) as partial:
        memories = _copy(source, partial, key, key, progress)
        n_bytes = partial.stat().st_size
    return Backup(destination, n_bytes, SCHEMA_VERSION, memories)


def copy_of(path: Path, destination: Path, key: Key | None) -> Backup:
    """Copy a household that is not open here, as :func:`back_up` does."""
    with translated(path):
        check_identity(path, key)
        with _opened(path, key) as connection:
            connection.execute("BEGIN")
            return back_up(connection, destination, key, overwrite=False)


def restore(
    path: Path, backup: Path, key: Key | None, progress: ProgressCallback | None = None
) -> Restored:
    """Replace a household by a checked copy of a backup; the file before stays beside it."""
    if not backup.exists():
        raise StoreError(f"{backup}: no such file; make one with family-recall backup")
    if path.exists() and path.samefile(backup):
        raise InvalidRequestError(f"{path}: is the backup itself; give the household's file")
    if kind := special_kind(path):
        raise InvalidRequestError(f"{path}: is {kind}, expected a household's file")
    with replacing(path, keep_mode=True) as partial, translated(backup):
        check_identity(backup, key)
        with _opened(backup, key) as source:
            memories = _copy(source, partial, key, key, progress)
        _turn_log_on(partial, key)
        kept = _keep_old(path.resolve() if path.is_symlink() else path, key)
    return Restored(path, kept, memories)


def rekey(path: Path, key: Key | None, new: Key | None) -> None:
    """Encrypt a file, change its key, or decrypt it (``new`` is None).

    A copy gets the new key, is checked, and takes the file's place in one step, so at each moment
    the file is whole under one of the two keys. The bytes of the file before are then overwritten,
    unless another name leads to them, too.
    """
    with translated(path):
        check_identity(path, key)
        # Open to the end: it keeps others from opening the file that is being replaced.
        with _opened(path, key) as connection, contextlib.ExitStack() as stack:
            _leave_log(connection, path)
            connection.pragma("locking_mode", "exclusive")
            connection.execute("BEGIN EXCLUSIVE; COMMIT")
            before = None
            with replacing(path, keep_mode=True) as partial:
                _copy(connection, partial, key, new)
                _turn_log_on(partial, new)
                if os.name == "nt":  # where no open file can be replaced
                    connection.close()
                elif path.stat().st_nlink == 1:
                    before = stack.enter_context(raw_file(path, write=True))
            if before is not None:  # as far as the disk overwrites in place
                size = before.xFileSize()
                for offset in range(0, size, len(_CHUNK)):
                    before.xWrite(_CHUNK[: size - offset], offset)
                before.xSync(apsw.SQLITE_SYNC_FULL)


def _opened(path: Path, key: Key | None) -> contextlib.closing[apsw.Connection]:
    return contextlib.closing(connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE))


def _copy(
    source: apsw.Connection,
    path: Path,
    key: Key | None,
    new: Key | None,
    progress: ProgressCallback | None = None,
) -> int:
    """Copy every page into an empty file, give it another key, and :func:`verify` it."""
    with _opened(path, key) as copy:
        with copy.backup("main", source, "main") as running:
            while not running.done:
                running.step(_STEP_PAGES)
                if progress is not None:
                    progress(running.page_count - running.remaining, running.page_count)
        # One file, without a log beside it.
        copy.pragma("journal_mode", "delete")
        if new is not key:
            copy.pragma("temp_store", "memory")
            copy.pragma("journal_mode", "off")
            copy.pragma("rekey", "" if new is None else new.pragma(os.urandom(16)))
    return verify(path, new)


def verify(path: Path, key: Key | None) -> int:
    """Check a copy, and count its memories.

    Raises:
        StoreError: If a check fails; the message names it.
    """
    with translated(path), _opened(path, key) as connection:
        for finding in check_pages(connection):
            if finding.problem:
                raise StoreError(f"{path}: {finding.what}: {finding.problem}; copy it again")
        (memories,) = sql.row(connection, "SELECT count(*) FROM memory")
    return int(memories)


def _turn_log_on(path: Path, key: Key | None) -> None:
    """Mark a copy as a household, over which no backup is written: its log is in use."""
    with _opened(path, key) as connection:
        connection.pragma("journal_mode", "wal")


def _leave_log(connection: apsw.Connection, path: Path) -> None:
    """Write a file's log back into it, and make sure that nobody else has it open."""
    # SQLite lets only the last connection to a file leave WAL mode.
    connection.set_busy_timeout(1000)
    try:
        connection.pragma("journal_mode", "delete")
    except apsw.BusyError:
        raise StoreBusyError(
            f"{path}: is open in this or another program; close it there first"
        ) from None


def _keep_old(path: Path, key: Key | None) -> Path | None:
    """Link an old file under a second name, under which it stays when the first is replaced.

    A log or journal goes with it: SQLite would read it into the file that comes.
    """
    if path.exists():
        try:
            with translated(path):
                check_identity(path, key)
                with _opened(path, key) as connection:
                    _leave_log(connection, path)
        except StoreBusyError:
            raise
        except StoreError:
            pass  # damaged, or under another key: it is kept unchanged
    rest = [sidecar for sidecar in sidecars(path) if sidecar.exists()]
    if not path.exists() and not rest:
        return None
    number = 1
    while (kept := path.with_name(f"{path.name}{_BEFORE}-{number}")).exists():
        number += 1
    if path.exists():
        try:
            os.link(path, kept)
        except OSError:  # a file system without second names
            shutil.copy2(path, kept)
    for sidecar in rest:
        sidecar.replace(kept.with_name(f"{kept.name}{sidecar.name.removeprefix(path.name)}"))
    return kept if kept.exists() else None
