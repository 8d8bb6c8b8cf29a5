"""Whole files: a copy that is checked before it takes its name, and one put back in its place."""

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
from family_recall.stores.file.connections import connect, translated
from family_recall.stores.file.encryption import Key
from family_recall.stores.file.schema import APPLICATION_ID, SCHEMA_VERSION
from family_recall.types.progress import ProgressCallback

_STEP_PAGES = 256  # 1 MiB between two reports
_KEPT = ".before-restore"


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy that was opened and found sound: where it lies, and what it holds."""

    path: Path
    n_bytes: int
    schema: int
    memories: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What stands at ``path`` now, and where the file that stood there before is kept."""

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
    takes its own in one step: what has the name is whole. It is encrypted if its source is.

    Raises:
        InvalidRequestError: If something has the name already and may not be overwritten.
        StoreError: If it cannot be written, or is not sound; nothing has the name then.

    Source: sqlite.org/backup.html.
    """
    if destination.exists() and not overwrite:
        raise InvalidRequestError(
            f"{destination}: exists; give another name, or allow it to be overwritten"
        )
    if destination.exists() and _in_use(destination):
        raise InvalidRequestError(f"{destination}: is a household in use; give another name")
    sql.row(source, "SELECT count(*) FROM sqlite_schema")  # from here on one snapshot
    with taking(destination) as made:
        found = _copied(source, made, key, progress)
        n_bytes = made.stat().st_size
    return Backup(destination, n_bytes, *found)


def copy_of(path: Path, destination: Path, key: Key | None) -> Backup:
    """Copy a file as it is, of whatever schema, without bringing it up to date.

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
    """Open a copy, check it, and give its schema and how many memories it holds.

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
            wrong = [one for one in integrity.check_pages(connection) if one.problem]
            if wrong:
                raise StoreError(f"{path}: {wrong[0].what}: {wrong[0].problem}; copy it again")
            (memories,) = sql.row(connection, "SELECT count(*) FROM memory")
        finally:
            connection.close()
    return int(schema), int(memories)


def restore(
    path: Path, backup: Path, key: Key | None, progress: ProgressCallback | None = None
) -> Restored:
    """Put a backup in a household's place, keeping the file that was there beside it.

    The backup is copied and checked first; until the copy takes the name, and ever after if that
    fails, the old file stands.

    Raises:
        StoreBusyError: If the household is open anywhere.
        StoreError: If the backup is missing or not sound.
    """
    if not backup.exists():
        raise StoreError(f"{backup}: no such file; make one with family-recall backup")
    if path.exists() and path.samefile(backup):
        raise InvalidRequestError(f"{path}: is the backup itself; give the household's file")
    with taking(path) as made, translated(backup):
        source = connect(backup, key, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            _, memories = _copied(source, made, key, progress)
        finally:
            source.close()
        kept = _set_aside(path, key) if path.exists() else None
    return Restored(path, kept, memories)


def _copied(
    source: apsw.Connection, made: Path, key: Key | None, progress: ProgressCallback | None
) -> tuple[int, int]:
    """Copy a file into another, check that one and bring it to the disk: (schema, memories)."""
    copy = connect(made, key)
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
    found = verify(made, key)
    _sync(made)
    return found


def rekey(path: Path, key: Key | None, new: Key | None) -> None:
    """Encrypt a file, change its key, or take the encryption away (``new`` is None).

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
    """Bring a file's log into it and make sure that nobody else has it open.

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
    # SQLite lets only the last one who has the file open leave WAL mode.
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


def _set_aside(path: Path, key: Key | None) -> Path:
    """Give an old file a second name, under which it stays when another takes the first."""
    try:
        alone(path, key)
    except StoreBusyError:
        raise
    except StoreError:
        pass  # damaged, or under another key: it is kept as it is
    number = 1
    while (kept := path.with_name(f"{path.name}{_KEPT}-{number}")).exists():
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
def taking(path: Path) -> Iterator[Path]:
    """Give a name beside ``path`` to write under; what was written takes ``path`` at the end.

    Raises:
        StoreError: If it cannot be written, ``StoreFullError`` where the disk is full; what
            else goes wrong meanwhile is not about this file.
    """
    made = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        _discard(made)
        yield made
        made.replace(path)
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
        _discard(made)


def _discard(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            Path(f"{path}{suffix}").unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Make a file's content, or a folder's names, last through a power cut."""
    if path.is_file():
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    elif os.name != "nt":  # Windows syncs no folders
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
