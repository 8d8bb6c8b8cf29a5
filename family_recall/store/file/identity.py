"""What a file is before it is opened: one of ours, of which schema, or somebody else's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import apsw

from family_recall.errors import NewerStoreError, NotAStoreError, StoreError, WrongKeyError
from family_recall.store.file.connection import BUSY_TIMEOUT_MS, connect
from family_recall.store.file.destination import special_kind
from family_recall.store.file.disk_files import first_bytes, journal_of, log_of
from family_recall.store.file.encryption import MAGIC, SALT_BYTES, Key, is_plain
from family_recall.store.file.schema import APPLICATION_ID, SCHEMA_VERSION

_JOURNAL_MAGIC = bytes.fromhex(
    "d9d505f920a163d7"
)  # sqlite.org/fileformat2.html#the_rollback_journal
_JOURNAL_HEADER = 28


@dataclass(frozen=True, slots=True)
class _Identity:
    """What SQLite's header says; a file whose creation was interrupted has nothing yet."""

    application: int
    version: int
    schema_cookie: int


def check_identity(path: Path, key: Key | None, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
    """Make sure that a file is one of ours that this version can read; it is left as it is.

    Whatever opens a file comes here first. Where a transaction was interrupted that used a rollback
    journal, it is rolled back.

    Raises:
        StoreError: If there is no such file.
        NotAStoreError: If it is some other file.
        WrongKeyError: If a key was given and it is not encrypted.
        NewerStoreError: If a newer version wrote it; ``StoreError`` for an earlier one.
    """
    if kind := special_kind(path):
        raise NotAStoreError(f"{path}: expected a family_recall file, found {kind}")
    if not path.exists():
        raise StoreError(f"{path}: no such file; create it with `family-recall init --db {path}`")
    # SQLite keeps log and journal beside the file that a link leads to.
    identity = _read_identity(Path(os.path.realpath(path)), key, busy_timeout_ms)
    if identity == _Identity(0, 0, 0):
        return
    if identity.application != APPLICATION_ID:
        raise NotAStoreError(
            f"{path}: expected a family_recall file, found a SQLite database of "
            f"another program (application id {identity.application:#x})"
        )
    if identity.version > SCHEMA_VERSION:
        raise NewerStoreError(
            f"{path}: schema {identity.version}, this version reads "
            f"{SCHEMA_VERSION}; upgrade the library"
        )
    if identity.version < SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schema {identity.version}, this version reads {SCHEMA_VERSION}; export it "
            "with the version that wrote it (family-recall export), and import that into a new file"
        )


def file_on_disk(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from one that takes its name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _read_identity(path: Path, key: Key | None, busy_timeout_ms: int) -> _Identity:
    """Read it without leaving a trace: from the file's header where that is enough."""
    _roll_back(path, key, busy_timeout_ms)
    if key is not None and is_plain(path):
        raise WrongKeyError(
            f"{path}: is not encrypted, and a key was given; open it without, or encrypt "
            "it first: family-recall rekey"
        )
    log = log_of(path)
    if key is None and (not log.exists() or log.stat().st_size == 0):
        header = first_bytes(path, 100)
        if not header.startswith(MAGIC) or len(header) < 100:
            raise apsw.NotADBError
        # sqlite.org/fileformat2.html: schema cookie, user version and application id.
        cookie, version, application = (
            int.from_bytes(header[at : at + 4], "big") for at in (40, 60, 68)
        )
        return _Identity(application, version, cookie)
    connection = connect(
        path, key, flags=apsw.SQLITE_OPEN_READONLY, busy_timeout_ms=busy_timeout_ms
    )
    try:
        return _identity(connection)
    finally:
        connection.close()


def _roll_back(path: Path, key: Key | None, busy_timeout_ms: int) -> None:
    """Undo what an interrupted transaction wrote, if there was one with a rollback journal.

    A connection that only reads could not, and one without the key would delete the journal.
    Earlier versions changed a key in such a transaction: the journal has the key and salt of then.
    """
    journal = journal_of(path)
    header = first_bytes(journal, _JOURNAL_HEADER) if journal.exists() else b""
    if not header[:1].strip(b"\0"):  # as SQLite sees it, there is nothing to do
        return
    if header.startswith(_JOURNAL_MAGIC):
        sector = int.from_bytes(header[20:24], "big")
        record = first_bytes(journal, sector + 104)[sector:]
        first_page = record[4:] if record[:4] == b"\x00\x00\x00\x01" else b""
    else:  # killed in the middle of these bytes, before a page was written: SQLite deletes it
        first_page = first_bytes(path, 100)
    plain = first_page.startswith(MAGIC)
    foreign = plain and int.from_bytes(first_page[68:72], "big") != APPLICATION_ID
    if foreign or (key is None and not first_page):
        return
    interrupted = WrongKeyError(
        f"{path}: a change of its key was interrupted; give the key it had before"
    )
    if key is None and not plain:
        raise interrupted
    connection = connect(
        path, None, flags=apsw.SQLITE_OPEN_READWRITE, busy_timeout_ms=busy_timeout_ms
    )
    try:
        if key is not None and not plain:
            key.unlock(connection, path, salt=first_page[:SALT_BYTES] or None)
        connection.pragma("user_version")
    except apsw.NotADBError:
        raise interrupted from None
    finally:
        connection.close()


def _identity(connection: apsw.Connection) -> _Identity:
    return _Identity(
        connection.pragma("application_id"),
        connection.pragma("user_version"),
        connection.pragma("schema_version"),
    )
