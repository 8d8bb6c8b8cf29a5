"""Check what is at a path, and whether it may be overwritten."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import apsw

from family_recall.errors import (
    InvalidRequestError,
    NewerStoreError,
    NotAStoreError,
    StoreError,
    WrongKeyError,
)
from family_recall.store.file.connection import BUSY_TIMEOUT_MS, connect
from family_recall.store.file.disk_files import SUFFIXES, first_bytes, journal_of, log_of, sidecars
from family_recall.store.file.encryption import MAGIC, Key, is_plain, looks_encrypted
from family_recall.store.file.schema import APPLICATION_ID, SCHEMA_VERSION


def check_identity(path: Path, key: Key | None, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
    """Check that a file is a household's that this version can read, before it is opened.

    An interrupted transaction with a rollback journal is rolled back.

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
    application, version, cookie = _read_identity(
        Path(os.path.realpath(path)), key, busy_timeout_ms
    )
    if application == version == cookie == 0:  # its creation was interrupted
        return
    if application != APPLICATION_ID:
        raise NotAStoreError(
            f"{path}: expected a family_recall file, found a SQLite database of "
            f"another program (application id {application:#x})"
        )
    if version > SCHEMA_VERSION:
        raise NewerStoreError(
            f"{path}: schema {version}, this version reads {SCHEMA_VERSION}; upgrade the library"
        )
    if version < SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schema {version}, this version reads {SCHEMA_VERSION}; export it "
            "with the version that wrote it (family-recall export), and import that into a new file"
        )


def _read_identity(path: Path, key: Key | None, busy_timeout_ms: int) -> tuple[int, int, int]:
    """Return application id, version and schema cookie, from the header if that is enough."""
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
        return application, version, cookie
    # A read-only connection cannot roll back an interrupted transaction.
    has_journal = journal_of(path).exists()
    flags = apsw.SQLITE_OPEN_READWRITE if has_journal else apsw.SQLITE_OPEN_READONLY
    connection = connect(path, key, flags=flags, busy_timeout_ms=busy_timeout_ms)
    try:
        application, version, cookie = (
            int(connection.pragma(name))
            for name in ("application_id", "user_version", "schema_version")
        )
    except apsw.CorruptError:  # rolled back under a wrong key
        raise apsw.NotADBError from None
    finally:
        connection.close()
    return application, version, cookie


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_HEADER_BYTES = 100
_ROLLBACK_FORMAT = b"\x01\x01"  # bytes 18 and 19, never encrypted; in WAL mode they are 2


def check_destination(
    path: Path, *, overwrite: bool = True, inputs: Iterable[Path] = (), over_copies: bool = False
) -> None:
    """Check that a file may be written at a path.

    Args:
        path: The path; symbolic links are followed.
        overwrite: Whether an existing file may be replaced.
        inputs: Files that are read to write it.
        over_copies: Whether a backup that was never opened may be replaced too.

    Raises:
        InvalidRequestError: If it is a household or part of one, not a regular file, one of the
            inputs, or exists and may not be overwritten.
    """
    obstacle = _obstacle(path, overwrite, inputs, over_copies)
    if obstacle is not None:
        raise InvalidRequestError(f"{path}: {obstacle}, or give another name")


def special_kind(path: Path) -> str | None:
    """Return in words what is at a path other than a regular file; None if nothing is.

    Raises:
        OSError: If it cannot be examined.
        InvalidRequestError: If the path is not valid.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:  # the character 0, half a character
        raise InvalidRequestError(f"{str(path)!r} is no path ({error})") from None
    if stat.S_ISREG(mode):
        return None
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "no regular file")


def _obstacle(path: Path, overwrite: bool, inputs: Iterable[Path], over_copies: bool) -> str | None:
    try:
        if kind := special_kind(path):
            return f"is {kind}, expected a regular file"
        real = Path(os.path.realpath(path))
        for sidecar in sidecars(real):
            if sidecar.exists():
                return f"is a household in use, or was one (beside it is {sidecar.name})"
        if (household := _household_of(real)) is not None:
            return f"is a part of the household {household.name}"
        if not real.exists():
            return None
        if any(source.exists() and source.samefile(real) for source in inputs):
            return "is one of the files that are read"
        if _is_household(real) and not (over_copies and _is_copy(real)):
            return "is a household; delete it first"
        if not overwrite:
            return "exists; allow it to be overwritten"
    except OSError as error:
        return f"cannot be examined ({error.strerror})"
    return None


def _household_of(path: Path) -> Path | None:
    """Return the household that has a log or journal of this name."""
    for suffix in SUFFIXES:
        household = path.with_name(path.name.removesuffix(suffix) or path.name)
        if household != path and household.is_file() and _is_household(household):
            return household
    return None


def _is_household(path: Path) -> bool:
    if is_plain(path):
        return first_bytes(path, _HEADER_BYTES)[68:72] == APPLICATION_ID.to_bytes(4, "big")
    return looks_encrypted(path)


def _is_copy(path: Path) -> bool:
    """Return whether a household is a backup; opening one switches it to WAL mode."""
    return first_bytes(path, _HEADER_BYTES)[18:20] == _ROLLBACK_FORMAT
