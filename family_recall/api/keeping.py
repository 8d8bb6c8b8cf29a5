"""What is remembered, and the vectors made of it."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from family_recall.api.opened import Embed, Opened, check_embed
from family_recall.errors import InvalidRequestError, ModelError
from family_recall.indexing import Progress
from family_recall.types import Memory, Remembered


class Keeping(Opened):
    """The part of `FamilyRecall` that is about what is remembered."""

    def remember(self, memory: Memory, *, embed: Embed = "now") -> Remembered:
        """Store one memory; see :meth:`remember_many`."""
        return self.remember_many([memory], embed=embed)[0]

    def remember_many(
        self,
        memories: Iterable[Memory],
        *,
        embed: Embed = "now",
        batch_size: int = 256,
        progress: Progress | None = None,
    ) -> list[Remembered]:
        """Store memories, a transaction a batch. Found as soon as this returns.

        The same doc_id with other content supersedes the version before; the same content
        again changes nothing.

        Args:
            memories: What to store.
            embed: ``now`` makes the transformer's vectors too; ``later`` leaves that to
                :meth:`flush`, and until then words and the static embedder find them.
            batch_size: Memories a transaction, 1 or more.
            progress: Called with the number stored so far after each batch.

        Raises:
            UnknownSpaceError: If a memory names a space that is not there; the batches before
                its own are stored.
        """
        if batch_size < 1:
            raise InvalidRequestError(f"batch_size must be 1 or more, got {batch_size}")
        check_embed(embed)
        return self._indexer.remember(
            memories,
            now_s=self._wall_clock(),
            batch_size=batch_size,
            encoder=self._models.wait() if embed == "now" else None,
            static=self._models.static(),
            progress=progress,
        )

    async def aremember(self, memory: Memory, *, embed: Embed = "now") -> Remembered:
        """Do what :meth:`remember` does, on a thread of our own."""
        return await self._awaited(functools.partial(self.remember, memory, embed=embed))

    def flush(self, *, progress: Progress | None = None) -> int:
        """Make the vectors that are pending; returns how many were made.

        Raises:
            ModelError: If there is no model to make them with.
        """
        static, encoder = self._models.static(), self._models.wait()
        if encoder is None and static is None:
            raise ModelError(f"no vectors can be made: {self._models.why}")
        return self._flush(static, encoder, progress)

    def rebuild(self, *, progress: Progress | None = None) -> None:
        """Make words, mentions, edges and vectors anew from the stored texts."""
        self._indexer.rebuild()
        self._watch.soon()
        self._flush(self._models.static(), self._models.wait(), progress)

    def pending(self) -> dict[str, int]:
        """Count the memories without a vector, versions that were replaced among them.

        For each model that answers here, and each other that has a vector in this file.
        """
        asked = (self._models.embedder_id(), self._models.static_id())
        return self._store.pending([model_id for model_id in asked if model_id is not None])
