"""The file itself: checked, copied, restored, exported, encrypted, given another model."""

from __future__ import annotations

import os
from pathlib import Path

from family_recall.api.opened import Opened, WholeProgress
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder
from family_recall.encoders.loader import Models
from family_recall.errors import ModelError
from family_recall.indexing import Indexer
from family_recall.maintenance import archive
from family_recall.maintenance.archive import Archive
from family_recall.maintenance.reembedding import Reembedded, reembed
from family_recall.stores.file import copies
from family_recall.stores.file.connections import schema_of
from family_recall.stores.file.copies import Backup, Restored
from family_recall.stores.file.encryption import Secret, key_of
from family_recall.stores.file.schema import SCHEMA_VERSION
from family_recall.stores.health.checks import Finding
from family_recall.stores.store import Store


class Care(Opened):
    """The part of `FamilyRecall` that is about the file itself."""

    def check(self) -> list[Finding]:
        """Check the file, and all that is made from its texts against them; reads everything.

        ``family_recall.cli.doctor`` does this and more, and mends what it can.
        """
        return self._store.examine()

    def reembed(
        self,
        models: Path | None = None,
        *,
        encoder: Encoder | None = None,
        drop_others: bool = False,
        progress: WholeProgress | None = None,
    ) -> Reembedded:
        """Make another model's vectors, while the one this household was opened with serves.

        Can be interrupted at any moment and goes on where it stopped. Once it is done, open the
        household with that model.

        Args:
            models: Folder of the other model; this household's own, when left out.
            encoder: The other model itself, instead of a folder.
            drop_others: Whether the vectors of every other transformer are taken away at the end.
            progress: Called with vectors made so far and vectors in all.

        Raises:
            ModelError: If there is no model to make them with.
        """
        other = (
            self._models if models is None and encoder is None else Models(models, encoder=encoder)
        )
        try:
            found = other.wait()
            if found is None:
                raise ModelError(f"no vectors can be made: {other.why}")
            return reembed(self._indexer, found, drop_others=drop_others, progress=progress)
        finally:
            if other is not self._models:
                other.close()

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        progress: WholeProgress | None = None,
    ) -> Backup:
        """Copy the file while it is in use; the copy is checked before it takes its name.

        It is encrypted as this file is. ``progress`` is called with pages done and pages in all.

        Raises:
            InvalidRequestError: If there is such a file and ``overwrite`` is false.
            StoreError: If it cannot be written, or is not sound; nothing has the name then.
        """
        return self._store.back_up(Path(path), overwrite=overwrite, progress=progress)

    @staticmethod
    def copy_as_it_is(
        path: str | os.PathLike[str], copy: str | os.PathLike[str], *, key: Secret | None = None
    ) -> Backup:
        """Do what :meth:`backup` does without opening, and so migrating, the household.

        Raises:
            As :meth:`backup`.
        """
        return copies.copy_of(Path(path), Path(copy), key_of(key))

    @staticmethod
    def restore(
        path: str | os.PathLike[str],
        backup: str | os.PathLike[str],
        *,
        key: Secret | None = None,
        progress: WholeProgress | None = None,
    ) -> Restored:
        """Put a backup in a household's place; the file that was there is kept beside it.

        Raises:
            StoreBusyError: If the household is open anywhere.
            StoreError: If the backup is missing or not sound; the household is then as it was.
        """
        return copies.restore(Path(path), Path(backup), key_of(key), progress)

    @staticmethod
    def rekey(
        path: str | os.PathLike[str], *, key: Secret | None = None, new_key: Secret | None = None
    ) -> None:
        """Encrypt a household's file, change its key, or take the encryption away.

        ``key`` opens it now, and ``new_key`` from then on; None is no encryption. Backups keep
        the key they were made with. What the file held unencrypted may still lie on the disk.

        Raises:
            StoreBusyError: If the household is open anywhere.
            WrongKeyError: If ``key`` is not its key, or the extra ``crypto`` is not installed.
        """
        copies.rekey(Path(path), key_of(key), key_of(new_key))

    @staticmethod
    def migrate(path: str | os.PathLike[str], *, key: Secret | None = None) -> tuple[int, int]:
        """Bring a file to this version's schema, as opening it does; gives schema before and after.

        Raises:
            As :meth:`open`.
        """
        before = schema_of(Path(path), key_of(key))
        store = Store(Path(path), create=False, key=key_of(key))
        try:
            Indexer(store, RecallConfig())
        finally:
            store.close()
        return before, SCHEMA_VERSION

    def export_to(
        self,
        path: str | os.PathLike[str],
        *,
        judgements: bool = False,
        log: bool = False,
        overwrite: bool = False,
        skip_damaged: bool = False,
        progress: WholeProgress | None = None,
    ) -> Archive:
        """Write all that the household knows as JSON Lines, in plain text.

        People, spaces, who may enter them, memories with both their time axes and the versions
        they replaced, names and relations, rules of retention; no vectors, and nothing that is
        kept aside for an undo. :meth:`import_from` makes the same household of it, and that
        one's export is the same file.

        Args:
            path: The file to write.
            judgements: With what people thought of results, and what came of it.
            log: With who recalled what, the receipts of what was forgotten, and the key that
                checks these: with it, words that were forgotten can be guessed at and tried.
            overwrite: Whether an existing file may be replaced.
            skip_damaged: Whether memories that are damaged in the file are left out, and named
                in what is returned; otherwise nothing is written.
            progress: Called with records done so far, and records in all.

        Raises:
            InvalidRequestError: If there is such a file and ``overwrite`` is false.
            StoreError: If it cannot be written, or a memory is damaged.
        """
        return archive.export(
            self._store,
            Path(path),
            judgements=judgements,
            log=log,
            overwrite=overwrite,
            skip_damaged=skip_damaged,
            progress=progress,
        )

    def import_from(
        self, path: str | os.PathLike[str], *, progress: WholeProgress | None = None
    ) -> Archive:
        """Read an export into this household, which must have nothing in it: all of it, or nothing.

        Vectors are pending until :meth:`flush`.

        Raises:
            InvalidRequestError: If the household has something in it.
            DatasetError: If the file is no whole export; the message names the line.
        """
        return archive.load(self._indexer, Path(path), progress)
