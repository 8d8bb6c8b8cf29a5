"""The file of an open household: periodic checks, copies, exports, indexes and vectors."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from family_recall.api.arguments import Part
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
"""Statistics that identify nothing in a household."""

FIRST_AFTER_S = 60.0
"""Time from opening to the first check."""

AGAIN_AFTER_S = 86_400.0
"""Time between two checks."""

WHILE_DAMAGED_S = 3_600.0
"""Time between two checks while something is wrong, since it may be repaired."""

TIME_LIMIT_S = 2.0
"""Longest time of a check …"""

LARGEST_BYTES = 128 * 1024**2
"""… which suffices for a file of this size; only the doctor checks larger ones."""

logger = logging.getLogger("family_recall")


class IntegrityMonitor:
    """Checks a file at intervals for rows and words that an index has lost."""

    def __init__(self, store: Store, wall_clock: Callable[[], float]) -> None:
        self._store = store
        self._wall_clock = wall_clock
        self._due_s = wall_clock() + FIRST_AFTER_S
        self._is_stopped = False
        self._damage = _damage(store.unreadable())

    def damage(self) -> str | None:
        """Return the damage that the last check found, or None."""
        return self._damage

    def is_due(self) -> bool:
        """Return whether a check is due, True once for each."""
        now_s = self._wall_clock()
        due = now_s >= self._due_s
        if due:
            self._due_s = now_s + AGAIN_AFTER_S
        return due

    def check_soon(self) -> None:
        """Make the next check due now."""
        self._due_s = 0.0

    def check(self) -> None:
        """Check the file; if time runs out, the previous result stays."""
        until_s = time.monotonic() + TIME_LIMIT_S
        try:
            if self._store.path.stat().st_size > LARGEST_BYTES:
                return
            findings = self._store.check_quickly(
                lambda: self._is_stopped or time.monotonic() > until_s
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
        self._is_stopped = True


def _damage(wrong: Sequence[str]) -> str | None:
    return f"damaged ({', '.join(wrong)}); family-recall doctor" if wrong else None


class Maintenance(Part):
    """Checks, copies, exports and rebuilds of an open household's file."""

    def check(self) -> list[Finding]:
        """Check the file, and everything derived from its texts; reads the whole file.

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
        """Copy the file while it is in use, and check the copy.

        It is encrypted like this file. ``progress`` is called with pages done and pages in all.

        Raises:
            InvalidRequestError: If the path exists and ``overwrite`` is false.
            StoreError: If the copy cannot be written or is damaged; it is then removed.
        """
        store = self._engine.store
        return self._engine.despite_damage(
            lambda: store.back_up(Path(path), overwrite=overwrite, progress=progress)
        )

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

        It holds people, spaces, grants, memories with both time axes and earlier versions, entities
        and relations, and retention rules; no vectors, and nothing from the trash.
        :meth:`import_from` recreates the household, whose export is then the same file.

        Args:
            path: The file to write.
            feedback: Whether to include feedback and what was learned from it.
            log: Whether to include the audit log and receipts.
            overwrite: Whether an existing file may be replaced.
            skip_damaged: Whether to leave out damaged memories and list them in the result;
                otherwise nothing is written.
            progress: Called with records done so far, and records in all.

        Raises:
            InvalidRequestError: If the path exists and ``overwrite`` is false.
            StoreError: If it cannot be written, or a memory is damaged.
        """
        return self._engine.despite_damage(
            lambda: export.export(
                self._engine.store,
                Path(path),
                feedback=feedback,
                log=log,
                overwrite=overwrite,
                skip_damaged=skip_damaged,
                progress=progress,
            )
        )

    def import_from(
        self, path: str | os.PathLike[str], *, progress: ProgressCallback | None = None
    ) -> Archive:
        """Read an export into this empty household: all of it, or nothing.

        Vectors are pending until ``home.flush``.

        Raises:
            InvalidRequestError: If the household is not empty.
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
        """Compute another model's vectors while recalls use the current one.

        It can be interrupted and repeated at any time, and continues where it stopped. When done,
        open the household with that model.

        Args:
            models: Folder of the other model; this household's own, when left out.
            encoder: The other model, instead of a folder.
            drop_others: Whether to delete the vectors of all other transformers at the end.
            progress: Called with vectors done so far and vectors in all.

        Raises:
            ModelError: If there is no such model.
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
        """Replace unreadable settings and records by the values used in their place.

        A setting becomes its default, a name the id, and an invalid grant is deleted; nobody sees
        more than before. A new time zone counts from the next opening. If a receipt is unreadable,
        the file is rewritten, since its memories may not have been cleaned.

        Returns:
            A description of the replaced or deleted values of each table.
        """
        described = self._engine.store.reset_unreadable()
        if described:
            clean(self._engine.store, self._engine.wall_clock())
        self._engine.integrity.check_soon()
        return described

    def rebuild(self, *, progress: CountCallback | None = None) -> None:
        """Derive words, mentions, edges and vectors again from the texts."""

        def derive() -> None:
            with self._engine.store.writing() as writing:
                self._engine.indexer.rebuild(writing)

        self._engine.despite_damage(derive)
        self._engine.integrity.check_soon()
        self._engine.embed_pending(progress)

    def pending(self) -> dict[str, int]:
        """Count the memories without a vector, earlier versions included.

        By model, for the models in use and all others with vectors in this file.
        """
        in_use = (self._engine.models.embedder_id(), self._engine.models.static_id())
        with self._engine.store.reading() as reading:
            return reading.vectors.n_pending(
                model_id for model_id in in_use if model_id is not None
            )

    def stats(self, *, redacted: bool = False) -> dict[str, Any]:
        """Count what is stored, for the household's owner.

        Args:
            redacted: Whether to return only counts, sizes and versions, to show to others: no
                path, id, name, text or place.
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
