"""The file of an open household: periodic checks, copies, exports, indexes and vectors."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from family_recall.api.keywords import Part
from family_recall.encoders.base import Encoder
from family_recall.encoders.loader import Models
from family_recall.errors import FamilyRecallError, ModelError
from family_recall.forget import clean
from family_recall.recall.sources.graph_engine import engine as graph_engine
from family_recall.remember.indexer import Reembedded, reembed
from family_recall.store import export
from family_recall.store.export import Archive
from family_recall.store.file.copies import Backup
from family_recall.store.health import CHECKSUMS, Finding, versions
from family_recall.store.store import Store
from family_recall.types.aliases import CountCallback, ProgressCallback

__all__ = [
    "CHECKSUMS",
    "Archive",
    "Finding",
    "IntegrityMonitor",
    "Maintenance",
    "graph_engine",
    "versions",
]

_NOBODYS = ("bytes", "schema", "memories", "superseded", "people", "entities", "relations", "edges")
"""Numbers of the statistics, which name nothing of a household."""

FIRST_AFTER_S = 60.0
"""How long after opening the file is checked first."""

AGAIN_AFTER_S = 86_400.0
"""How long after a check the next one is due."""

WHILE_DAMAGED_S = 3_600.0
"""The same, while something is wrong: it may have been repaired."""

TIME_LIMIT_S = 2.0
"""The longest a check may take …"""

LARGEST_BYTES = 128 * 1024**2
"""… which is enough for a file of this size; larger ones are left to the doctor."""

logger = logging.getLogger("family_recall")


class IntegrityMonitor:
    """Checks a file now and then for rows and words that an index has lost."""

    def __init__(self, store: Store, wall_clock: Callable[[], float]) -> None:
        self._store = store
        self._wall_clock = wall_clock
        self._due_s = wall_clock() + FIRST_AFTER_S
        self._stopped = threading.Event()
        self._damage = _damage(store.unreadable())

    def damage(self) -> str | None:
        """Return what the last check found wrong with the file; None where it found nothing."""
        return self._damage

    def is_due(self) -> bool:
        """Whether a check is due; True once for each."""
        now_s = self._wall_clock()
        due = now_s >= self._due_s
        if due:
            self._due_s = now_s + AGAIN_AFTER_S
        return due

    def check_soon(self) -> None:
        """Make the next check due now: the file was just rebuilt."""
        self._due_s = 0.0

    def check(self) -> None:
        """Check the file; where time runs out, keep the result of the check before."""
        until_s = time.monotonic() + TIME_LIMIT_S
        try:
            if self._store.path.stat().st_size > LARGEST_BYTES:
                return
            findings = self._store.check_quickly(
                lambda: self._stopped.is_set() or time.monotonic() > until_s
            )
        except (FamilyRecallError, OSError) as error:
            logger.warning("the file could not be checked: %s", error)
            return
        if findings is None:
            return
        wrong = [finding.what for finding in findings if finding.problem]
        self._damage = _damage([*self._store.unreadable(), *wrong])
        if wrong:
            self._due_s = self._wall_clock() + WHILE_DAMAGED_S

    def stop(self) -> None:
        """Stop a check that is running."""
        self._stopped.set()


def _damage(wrong: Sequence[str]) -> str | None:
    return f"damaged ({', '.join(wrong)}); family-recall doctor" if wrong else None


class Maintenance(Part):
    """Checks, copies, exports and rebuilds of an open household's file."""

    def check(self) -> list[Finding]:
        """Check the file, and all that is made from its texts against them; reads everything.

        The command ``family-recall doctor`` does this and more, and repairs what it can.
        """
        return self._engine.store.check()

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Backup:
        """Copy the file while it is in use; the copy is checked before it takes its name.

        It is encrypted as this file is. ``progress`` is called with pages done and pages in all.

        Raises:
            InvalidRequestError: If there is such a file and ``overwrite`` is false.
            StoreError: If it cannot be written, or is not sound; nothing has the name then.
        """
        return self._engine.store.back_up(Path(path), overwrite=overwrite, progress=progress)

    def export_to(
        self,
        path: str | os.PathLike[str],
        *,
        feedback: bool = False,
        log: bool = False,
        overwrite: bool = False,
        skip_damaged: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Archive:
        """Write the whole household as JSON Lines, in plain text.

        People, spaces, grants, memories with both their time axes and the versions they replaced,
        entities and relations, retention rules; no vectors, and nothing that is in the trash.
        :meth:`import_from` makes the same household of it, whose export is the same file.

        Args:
            path: The file to write.
            feedback: With the feedback people gave, and what was learned from it.
            log: With the audit log, and the receipts of what was forgotten.
            overwrite: Whether an existing file may be replaced.
            skip_damaged: Whether memories that are damaged in the file are left out, and listed
                in the result; otherwise nothing is written.
            progress: Called with records done so far, and records in all.

        Raises:
            InvalidRequestError: If there is such a file and ``overwrite`` is false.
            StoreError: If it cannot be written, or a memory is damaged.
        """
        return export.export(
            self._engine.store,
            Path(path),
            feedback=feedback,
            log=log,
            overwrite=overwrite,
            skip_damaged=skip_damaged,
            progress=progress,
        )

    def import_from(
        self, path: str | os.PathLike[str], *, progress: ProgressCallback | None = None
    ) -> Archive:
        """Read an export into this household, which must have nothing in it: all of it, or nothing.

        Vectors are pending until ``home.flush``.

        Raises:
            InvalidRequestError: If the household has something in it.
            DatasetError: If the file is not a complete export; the message names the line.
        """
        return export.load(self._engine.store, Path(path), self._engine.indexer.rebuild, progress)

    def reembed(
        self,
        models: Path | None = None,
        *,
        encoder: Encoder | None = None,
        drop_others: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Reembedded:
        """Make another model's vectors, while the one this household was opened with serves.

        Can be interrupted at any moment and goes on where it stopped. Once it is done, open the
        household with that model.

        Args:
            models: Folder of the other model; this household's own, when left out.
            encoder: The other model itself, instead of a folder.
            drop_others: Whether the vectors of every other transformer are deleted at the end.
            progress: Called with vectors made so far and vectors in all.

        Raises:
            ModelError: If there is no model to make them with.
        """
        other = (
            self._engine.models
            if models is None and encoder is None
            else Models(models, encoder=encoder)
        )
        try:
            embedder = other.wait()
            if embedder is None:
                raise ModelError(f"no vectors can be made: {other.why}")
            return reembed(
                self._engine.indexer, embedder, drop_others=drop_others, progress=progress
            )
        finally:
            if other is not self._engine.models:
                other.close()

    def reset_unreadable(self) -> list[str]:
        """Replace settings and records that cannot be read by what is used in their place.

        A setting becomes its default, a name the id, a grant that makes no sense none; nobody sees
        more than before. The time zone counts from the next opening. Where a receipt cannot be
        read, the file is rewritten: what it lists may not have been cleaned from it.

        Returns:
            A line on the values of each table that were replaced or deleted.
        """
        described = self._engine.store.reset_unreadable()
        if described:
            clean(self._engine.store, self._engine.wall_clock())
        self._engine.integrity.check_soon()
        return described

    def rebuild(self, *, progress: CountCallback | None = None) -> None:
        """Make words, mentions, edges and vectors again from the stored texts."""
        with self._engine.store.writing() as writing:
            self._engine.indexer.rebuild(writing)
        self._engine.integrity.check_soon()
        self._engine.embed_pending(progress)

    def pending(self) -> dict[str, int]:
        """Count the memories without a vector, replaced versions included, by model.

        For each model in use here, and each other that has a vector in this file.
        """
        in_use = (self._engine.models.embedder_id(), self._engine.models.static_id())
        with self._engine.store.reading() as reading:
            return reading.vectors.n_pending(
                model_id for model_id in in_use if model_id is not None
            )

    def stats(self, *, redacted: bool = False) -> dict[str, Any]:
        """Count what is stored, for the household's owner.

        Args:
            redacted: Counts, sizes and versions alone, to be shown to somebody else: no path, no
                id or name of a person, a space or a model, no word of a text, and no place.
        """
        models = {
            "model": self._engine.models.embedder_id(),
            "static_model": self._engine.models.static_id(),
        }
        counts = {**self._engine.store.statistics(), **models}
        if not redacted:
            return counts
        from family_recall import __version__  # noqa: PLC0415 -- it imports this module

        with self._engine.store.reading() as tables:
            kinds = {space.space_id: space.kind for space in tables.household.spaces()}
        vectors = dict(counts["vectors"])
        by_role = {role: vectors.pop(model_id, 0) for role, model_id in models.items()}
        return {
            "versions": {"family_recall": __version__, **versions()},
            "spaces": dict(sorted(Counter(kinds.values()).items())),
            "by_kind": {
                kind: sum(
                    n for space_id, n in counts["by_space"].items() if kinds[space_id] == kind
                )
                for kind in sorted(set(kinds.values()))
            },
            "vectors": {**by_role, "other_models": sum(vectors.values())},
            **{name: counts[name] for name in _NOBODYS},
        }
