"""Files of closed households: copying, restoring, changing keys; and writing files safely."""

from __future__ import annotations

import os
import time
from pathlib import Path

from family_recall.forget import clean
from family_recall.remember import upgrade
from family_recall.store.file import copies
from family_recall.store.file.copies import Backup, Restored
from family_recall.store.file.encryption import Secret, key_of, read_key_file
from family_recall.store.file.identity import check_destination
from family_recall.store.file.replacement import (
    create_private,
    leftovers,
    remove_leftovers,
    replacing,
    scratch_folder,
    temporary_folder,
    write_text,
)
from family_recall.store.file.schema import SCHEMA_VERSION
from family_recall.store.store import Store
from family_recall.types.aliases import ProgressCallback
from family_recall.types.checked import checked_call

__all__ = [
    "Backup",
    "Restored",
    "Secret",
    "check_destination",
    "copy_file",
    "create_private",
    "leftovers",
    "migrate",
    "read_key_file",
    "rekey",
    "remove_leftovers",
    "replacing",
    "restore",
    "scratch_folder",
    "temporary_folder",
    "write_text",
]


@checked_call
def copy_file(
    path: str | os.PathLike[str], copy: str | os.PathLike[str], *, key: Secret | None = None
) -> Backup:
    """Copy a household's file as ``maintenance.backup`` does, without opening it.

    Raises:
        As ``maintenance.backup``.
    """
    return copies.copy_of(Path(path), Path(copy), key_of(key))


@checked_call
def restore(
    path: str | os.PathLike[str],
    backup: str | os.PathLike[str],
    *,
    key: Secret | None = None,
    progress: ProgressCallback | None = None,
) -> Restored:
    """Replace a household's file by a backup; the old file is kept beside it.

    Raises:
        StoreBusyError: If the household is open anywhere.
        StoreError: If the backup is missing or damaged; the household is then unchanged.
    """
    return copies.restore(Path(path), Path(backup), key_of(key), progress)


@checked_call
def rekey(
    path: str | os.PathLike[str], *, key: Secret | None = None, new_key: Secret | None = None
) -> None:
    """Encrypt a household's file, change its key, or decrypt it.

    ``key`` is the current key, ``new_key`` the next one; None means no encryption. If interrupted,
    the file is whole under one of the two. It needs free space for a copy of the file. Backups
    keep their key. Unencrypted content may remain on the disk.

    Raises:
        StoreBusyError: If the household is open anywhere.
        StoreError: If there is no such file, or no room for a copy of it.
        WrongKeyError: If ``key`` is not its key.
    """
    copies.rekey(Path(path), key_of(key), key_of(new_key))


@checked_call
def migrate(path: str | os.PathLike[str], *, key: Secret | None = None) -> tuple[int, int]:
    """Update data that earlier versions derived in a file, as opening it does.

    Returns:
        The file's schema before and after; so far there is one.

    Raises:
        As ``FamilyRecall.open``.
    """
    store = Store(Path(path), create=False, key=key_of(key))
    try:
        upgrade(store)
        clean(store, time.time())
    finally:
        store.close()
    return SCHEMA_VERSION, SCHEMA_VERSION
