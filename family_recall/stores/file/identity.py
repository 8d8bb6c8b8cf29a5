"""What a file is before it is opened: one of ours, of which schema, or somebody else's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import apsw

from family_recall.errors import NewerStoreError, NotAStoreError, StoreError, WrongKeyError
from family_recall.stores.file.connection import connect, translated
from family_recall.stores.file.encryption import Key, is_plain
from family_recall.stores.file.schema import APPLICATION_ID, SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class _Identity:
    """What SQLite's header says; a file whose creation was interrupted has nothing yet."""

    application: int
    version: int
    schema_cookie: int


def check_identity(path: Path, key: Key | None) -> None:
    """Make sure that a file is one of ours that this version can read; it is left as it is.

    Raises:
        NotAStoreError: If it is some other file.
        WrongKeyError: If a key was given and it is not encrypted.
        NewerStoreError: If a newer version wrote it.
    """
    identity = _read_identity(path, key)
    if identity == _Identity(0, 0, 0):
        return
    if identity.application != APPLICATION_ID:
        raise NotAStoreError(
            f"{path}: expected a family_recall file, found a SQLite database of "
            f"another program (application id {identity.application:#x})"
        )
    if identity.version > SCHEMA_VERSION:
        raise NewerStoreError(
            f"{path}: schema {identity.version}, this version reads up to "
            f"{SCHEMA_VERSION}; upgrade the library"
        )


def schema_of(path: Path, key: Key | None) -> int:
    """Return a file's schema, without bringing it up to date.

    Raises:
        StoreError: If it is missing or cannot be read with this key.
    """
    if not path.exists():
        raise StoreError(f"{path}: no such file; create it with `family-recall init --db {path}`")
    with translated(path):
        connection = connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return int(connection.pragma("user_version"))
        finally:
            connection.close()


def file_on_disk(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from one that takes its name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _read_identity(path: Path, key: Key | None) -> _Identity:
    """Read it without leaving a trace: from the file's header where that is enough."""
    if key is not None and is_plain(path):
        raise WrongKeyError(
            f"{path}: is not encrypted, and a key was given; open it without, or encrypt "
            "it first: family-recall rekey"
        )
    log = Path(f"{path}-wal")
    if key is None and (not log.exists() or log.stat().st_size == 0):
        with path.open("rb") as file:
            header = file.read(100)
        if not header.startswith(b"SQLite format 3\x00") or len(header) < 100:
            raise apsw.NotADBError
        # sqlite.org/fileformat2.html: schema cookie, user version and application id.
        cookie, version, application = (
            int.from_bytes(header[at : at + 4], "big") for at in (40, 60, 68)
        )
        return _Identity(application, version, cookie)
    connection = connect(path, key, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return _Identity(
            connection.pragma("application_id"),
            connection.pragma("user_version"),
            connection.pragma("schema_version"),
        )
    finally:
        connection.close()
