"""Copies of whole files: checked backups, restoring and changing keys."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
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
_OLD_SUFFIX = ".before-restore"
_CHUNK = bytes(64 * 1024)  # SQLite takes less than 128 KiB at once


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy that passed every check."""

    path: Path
    n_bytes: int
    schema: int
    memories: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A restored file; ``kept`` is the path of the file that it replaced."""

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
    """Copy the snapshot of a read transaction into a new file, while others read and write.

    The copy is checked under a temporary name and then renamed. It is encrypted if its source is.
    It may replace an earlier backup, but no household that was ever opened.

    Source: sqlite.org/backup.html.
    """
    sql.row(source, "SELECT count(*) FROM sqlite_schema")  # starts the snapshot
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
    """Replace a household by a checked copy of a backup; the old file is kept beside it."""
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

    A copy gets the new key, is checked, and replaces the file in one step, so at each moment the
    file is whole under one of the two keys. The old file's bytes are then overwritten, unless it
    has another name.
    """
    with translated(path):
        check_identity(path, key)
        # Open until the end, so that nobody else opens the file being replaced.
        with _opened(path, key) as connection, contextlib.ExitStack() as stack:
            _leave_log(connection, path)
            connection.pragma("locking_mode", "exclusive")
            connection.execute("BEGIN EXCLUSIVE; COMMIT")
            old_file = None
            with replacing(path, keep_mode=True) as partial:
                _copy(connection, partial, key, new)
                _turn_log_on(partial, new)
                if os.name == "nt":  # where no open file can be replaced
                    connection.close()
                elif path.stat().st_nlink == 1:
                    old_file = stack.enter_context(raw_file(path, write=True))
            if old_file is not None:  # effective if the disk overwrites in place
                size = old_file.xFileSize()
                for offset in range(0, size, len(_CHUNK)):
                    old_file.xWrite(_CHUNK[: size - offset], offset)
                old_file.xSync(apsw.SQLITE_SYNC_FULL)


@contextlib.contextmanager
def _opened(path: Path, key: Key | None) -> Iterator[apsw.Connection]:
    connection = connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)
    try:  # closing() closes nothing where an exception of a signal handler stops its exit
        yield connection
    finally:
        connection.close()


def _copy(
    source: apsw.Connection,
    path: Path,
    key: Key | None,
    new: Key | None,
    progress: ProgressCallback | None = None,
) -> int:
    """Copy every page into an empty file, set its key, and :func:`verify` it."""
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
    """Check a copy, and count its memories; what can be derived again need not be whole.

    Raises:
        StoreError: If a check fails; the message names it.
    """
    with translated(path), _opened(path, key) as connection:
        for finding in check_pages(connection, derived=False):
            if finding.problem:
                raise StoreError(f"{path}: {finding.what}: {finding.problem}; copy it again")
        (memories,) = sql.row(connection, "SELECT count(*) FROM memory")
    return int(memories)


def _turn_log_on(path: Path, key: Key | None) -> None:
    """Mark a copy as a household by WAL mode, so that no backup overwrites it."""
    with _opened(path, key) as connection:
        connection.pragma("journal_mode", "wal")


def _leave_log(connection: apsw.Connection, path: Path) -> None:
    """Write a file's log back, and check that nobody else has it open."""
    # SQLite lets only the last connection to a file leave WAL mode.
    connection.set_busy_timeout(1000)
    try:
        connection.pragma("journal_mode", "delete")
    except apsw.BusyError:
        raise StoreBusyError(
            f"{path}: is open in this or another program; close it there first"
        ) from None


def _keep_old(path: Path, key: Key | None) -> Path | None:
    """Keep an old file under a second name, with its log or journal; return that name.

    SQLite would otherwise apply the log to the new file.
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
    own_sidecars = [sidecar for sidecar in sidecars(path) if sidecar.exists()]
    if not path.exists() and not own_sidecars:
        return None
    number = 1
    while (kept := path.with_name(f"{path.name}{_OLD_SUFFIX}-{number}")).exists():
        number += 1
    if path.exists():
        try:
            os.link(path, kept)
        except OSError:  # a file system without hard links
            shutil.copy2(path, kept)
    for sidecar in own_sidecars:
        sidecar.replace(kept.with_name(f"{kept.name}{sidecar.name.removeprefix(path.name)}"))
    return kept if kept.exists() else None
