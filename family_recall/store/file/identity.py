"""What is at a path: one of our files, somebody else's, a folder; and what may be written over."""

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
    """Return application id, version and schema cookie: from the header where that is enough."""
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
    # A connection that only reads cannot roll back what an interrupted transaction left.
    writes = journal_of(path).exists()
    flags = apsw.SQLITE_OPEN_READWRITE if writes else apsw.SQLITE_OPEN_READONLY
    connection = connect(path, key, flags=flags, busy_timeout_ms=busy_timeout_ms)
    try:
        application, version, cookie = (
            int(connection.pragma(name))
            for name in ("application_id", "user_version", "schema_version")
        )
    except apsw.CorruptError:  # what is rolled back makes no sense under another key
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
_ROLLBACK_FORMAT = b"\x01\x01"  # bytes 18 and 19, which encryption leaves readable; a log has 2


def check_destination(
    path: Path, *, overwrite: bool = True, inputs: Iterable[Path] = (), over_copies: bool = False
) -> None:
    """Make sure that a file may be written under a name; each command and method asks here.

    Args:
        path: The name; a symbolic link stands for what it leads to.
        overwrite: Whether a file that is there may be replaced.
        inputs: What the file is made from.
        over_copies: Whether a backup that was never opened may be replaced, too.

    Raises:
        InvalidRequestError: If it is a household or part of one, anything but a regular file, one
            of the inputs, or exists and may not be overwritten.
    """
    obstacle = _obstacle(path, overwrite, inputs, over_copies)
    if obstacle is not None:
        raise InvalidRequestError(f"{path}: {obstacle}, or give another name")


def special_kind(path: Path) -> str | None:
    """Return what a path is, in words, if it is there and no regular file; else None.

    Raises:
        OSError: If that cannot be found out.
        InvalidRequestError: If no file can have such a name.
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
    """Whether a household is as a backup is written; opening one turns its log on."""
    return first_bytes(path, _HEADER_BYTES)[18:20] == _ROLLBACK_FORMAT
