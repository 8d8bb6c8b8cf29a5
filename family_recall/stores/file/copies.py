"""Whole files: backups that are checked before they get their name, and their restoration."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from family_recall.errors import InvalidRequestError, StoreBusyError, StoreError, StoreFullError
from family_recall.stores.file import integrity, sql
from family_recall.stores.file.connection import connect, translated
from family_recall.stores.file.encryption import Key
from family_recall.stores.file.schema import APPLICATION_ID, SCHEMA_VERSION
from family_recall.types.progress import ProgressCallback

_STEP_PAGES = 256  # 1 MiB between two reports
_BEFORE = ".before-restore"


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
    """Copy what a read transaction sees into a file of its own, by SQLite's backup interface.

    Others read and write meanwhile. The copy is opened and checked under another name, and then
    gets its own in one step: a file of that name is whole. It is encrypted if its source is.

    Raises:
        InvalidRequestError: If a file of that name exists and may not be overwritten.
        StoreError: If it cannot be written, or fails a check; no file has the name then.

    Source: sqlite.org/backup.html.
    """
    if destination.exists() and not overwrite:
        raise InvalidRequestError(
            f"{destination}: exists; give another name, or allow it to be overwritten"
        )
    if destination.exists() and _in_use(destination):
        raise InvalidRequestError(f"{destination}: is a household in use; give another name")
    sql.row(source, "SELECT count(*) FROM sqlite_schema")  # from here on one snapshot
    with replacing(destination) as partial:
        schema, memories = _copy(source, partial, key, progress)
        n_bytes = partial.stat().st_size
    return Backup(destination, n_bytes, schema, memories)


def copy_of(path: Path, destination: Path, key: Key | None) -> Backup:
    """Copy a file of any schema as it is, without migrating it.

    Raises:
        As :func:`back_up`.
    """
    if not path.exists():
        raise StoreError(f"{path}: no such file; check the path")
    with translated(path):
        connection = connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("BEGIN")
            return back_up(connection, destination, key, overwrite=False)
        finally:
            connection.close()


def verify(path: Path, key: Key | None) -> tuple[int, int]:
    """Check a copy, and return its schema and how many memories it holds.

    Raises:
        NotAStoreError: If it is no family_recall file.
        StoreError: If it was written by a newer version, or a check fails; the message names it.
    """
    with translated(path):
        connection = connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            application, schema = (
                connection.pragma(name) for name in ("application_id", "user_version")
            )
            if application != APPLICATION_ID or schema > SCHEMA_VERSION:
                raise StoreError(
                    f"{path}: expected a family_recall file of schema 1 to {SCHEMA_VERSION}, found "
                    f"application id {application:#x} and schema {schema}"
                )
            for finding in integrity.check_pages(connection):
                if finding.problem:
                    raise StoreError(f"{path}: {finding.what}: {finding.problem}; copy it again")
            (memories,) = sql.row(connection, "SELECT count(*) FROM memory")
        finally:
            connection.close()
    return int(schema), int(memories)


def restore(
    path: Path, backup: Path, key: Key | None, progress: ProgressCallback | None = None
) -> Restored:
    """Replace a household by a backup, keeping the file that was there beside it.

    The backup is copied and checked first; the old file stays until the copy gets its name.

    Raises:
        StoreBusyError: If the household is open anywhere.
        StoreError: If the backup is missing or fails a check.
    """
    if not backup.exists():
        raise StoreError(f"{backup}: no such file; make one with family-recall backup")
    if path.exists() and path.samefile(backup):
        raise InvalidRequestError(f"{path}: is the backup itself; give the household's file")
    with replacing(path) as partial, translated(backup):
        source = connect(backup, key, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            _, memories = _copy(source, partial, key, progress)
        finally:
            source.close()
        kept = _keep_old(path, key) if path.exists() else None
    return Restored(path, kept, memories)


def _copy(
    source: apsw.Connection, partial: Path, key: Key | None, progress: ProgressCallback | None
) -> tuple[int, int]:
    """Copy a file into another, check that one and sync it: (schema, memories)."""
    copy = connect(partial, key)
    try:
        with copy.backup("main", source, "main") as running:
            while not running.done:
                running.step(_STEP_PAGES)
                if progress is not None:
                    progress(running.page_count - running.remaining, running.page_count)
        # One file, without a log beside it: the library turns the log on again.
        copy.pragma("journal_mode", "delete")
    finally:
        copy.close()
    schema_and_memories = verify(partial, key)
    _sync(partial)
    return schema_and_memories


def rekey(path: Path, key: Key | None, new: Key | None) -> None:
    """Encrypt a file, change its key, or decrypt it (``new`` is None).

    In place and in one transaction, so an interruption leaves the file under one of the two keys.

    Raises:
        StoreBusyError: If the household is open anywhere.
        WrongKeyError: If ``key`` is not its key.
    """
    with translated(path):
        connection = connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.pragma("user_version")
            _alone(connection, path)
            connection.pragma("rekey", "" if new is None else new.pragma(os.urandom(16)))
        finally:
            connection.close()
        verify(path, new)


def alone(path: Path, key: Key | None) -> None:
    """Write a file's log back into it, and make sure that nobody else has it open.

    Raises:
        StoreBusyError: If somebody has.
    """
    with translated(path):
        connection = connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            _alone(connection, path)
        finally:
            connection.close()


def _alone(connection: apsw.Connection, path: Path) -> None:
    # SQLite lets only the last connection to a file leave WAL mode.
    connection.set_busy_timeout(1000)
    try:
        connection.pragma("journal_mode", "delete")
    except apsw.BusyError:
        raise StoreBusyError(
            f"{path}: is open in this or another program; close it there first"
        ) from None


def _in_use(path: Path) -> bool:
    """Whether somebody may be using a file: SQLite keeps an index of its log meanwhile."""
    return Path(f"{path}-shm").exists()


def _keep_old(path: Path, key: Key | None) -> Path:
    """Link an old file under a second name, under which it stays when the first is replaced."""
    try:
        alone(path, key)
    except StoreBusyError:
        raise
    except StoreError:
        pass  # damaged, or under another key: it is kept unchanged
    number = 1
    while (kept := path.with_name(f"{path.name}{_BEFORE}-{number}")).exists():
        number += 1
    try:
        os.link(path, kept)
    except OSError:  # a file system without second names
        shutil.copy2(path, kept)
    log = Path(f"{path}-wal")
    if log.exists():
        log.replace(f"{kept}-wal")
    Path(f"{path}-shm").unlink(missing_ok=True)
    return kept


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; at the end its file replaces the one at ``path``.

    Raises:
        StoreError: If it cannot be written, ``StoreFullError`` where the disk is full; other
            errors of the block pass through.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        _discard(partial)
        yield partial
        partial.replace(path)
        _sync(path.parent)
    except (apsw.FullError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOSPC:
            raise StoreError(f"{path}: cannot be written ({error.strerror})") from error
        raise StoreFullError(
            f"{path}: the disk is full; nothing was written, free some space and repeat"
        ) from None
    except apsw.CantOpenError as error:
        raise StoreError(
            f"{path}: cannot be written ({error}); does its folder exist, and may it be written to?"
        ) from error
    finally:
        _discard(partial)


def _discard(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            Path(f"{path}{suffix}").unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Sync a file's content, or a folder's names, so that they survive a power cut."""
    if path.is_file():
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    elif os.name != "nt":  # Windows syncs no folders
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
