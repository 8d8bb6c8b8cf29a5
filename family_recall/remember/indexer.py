"""The write path: stores memories with the words, entities, edges and vectors derived from them.

A batch is written in two steps. The first transaction stores texts, words, edges and the static
embedder's vectors, which cost microseconds, so the batch is safe and can be found by words and
by meaning; then the texts are read by the transformer outside any transaction, and a second one
stores its vectors. Whatever interrupts it, a memory without vectors is only pending, and
``flush`` goes on where it stopped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from family_recall.encoders.base import Encoder
from family_recall.errors import FamilyRecallError
from family_recall.remember import relations
from family_recall.remember.derived import derive_all
from family_recall.remember.embedding import Embedding, embed_at_once
from family_recall.remember.memory_writer import MemoryWriter
from family_recall.store.relations import RecordedRelation
from family_recall.store.store import Store
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Memory, Relation, Remembered
from family_recall.types.aliases import CountCallback, ProgressCallback
from family_recall.types.records import Record


@dataclass(frozen=True, slots=True)
class Indexer(Embedding):
    """Writes memories into one store, with everything that is derived from them."""

    def remember(
        self,
        memories: Iterable[Memory],
        *,
        now_s: float,
        batch_size: int,
        encoder: Encoder | None,
        static: Encoder | None,
        progress: CountCallback | None,
        person_id: str | None = None,
    ) -> list[Remembered]:
        """Store memories, a transaction a batch; with encoders, their vectors too.

        Raises:
            UnknownSpaceError: If a memory names a space that is not there; its batch is not
                stored, the batches before it are.
            FamilyRecallError: In the same way, if ``person_id`` may not store a memory.
        """
        outcomes: list[Remembered] = []
        iterator = iter(memories)
        while batch := list(itertools.islice(iterator, batch_size)):
            try:
                with self.store.writing() as writing:
                    outcomes += self.remember_within(
                        writing, batch, now_s=now_s, static=static, person_id=person_id
                    )
            except FamilyRecallError as error:
                if outcomes:
                    error.also(f"{len(outcomes):,} memories before it were stored")
                raise
            if encoder is not None:
                self.embed(encoder, writing.changed)
            if progress is not None:
                progress(len(outcomes))
        self.store.merge_words(len(outcomes))
        return outcomes

    def remember_within(
        self,
        writing: WriteTransaction,
        memories: Sequence[Memory],
        *,
        now_s: float,
        static: Encoder | None,
        person_id: str | None = None,
    ) -> list[Remembered]:
        """Store memories inside an open transaction, with their static vectors.

        Raises:
            FamilyRecallError: If ``person_id`` may not store one.
        """
        writer = self.writer(writing)
        admitted = writer.admitted(memories, person_id, now_s)
        outcomes = [writer.write(memory, now_s) for memory in admitted]
        if static is not None:
            embed_at_once(writing, static)
        return outcomes

    def writer(self, writing: WriteTransaction) -> MemoryWriter:
        """Return what writes memories inside an open transaction."""
        return MemoryWriter(writing, self.config, self.store.region, self.yield_to_recalls)

    def relate(self, writing: WriteTransaction, relation: Relation, now_s: float) -> None:
        """Store a typed edge between two named things of a space, inside an open transaction.

        Raises:
            UnknownSpaceError: If the space is not there.
            UnknownMemoryError: If a piece of evidence is not in that space and band.
        """
        linker = self.writer(writing).linker
        relations.relate(writing, linker, RecordedRelation(relation, now_s))

    def rebuild(self, writing: WriteTransaction) -> None:
        """Derive everything from the texts again; vectors become pending."""
        writing.clear_derived()
        derive_all(writing, self.store.region)
        writer = self.writer(writing)
        for stored in writing.load(writing.every_id()):
            writer.index_again(stored)
        writing.relations.add_all_edges()


class Reembedded(Record, frozen=True):
    """The outcome: vectors made, vectors still missing, and models whose vectors were deleted."""

    model_id: str
    made: int
    pending: int
    dropped: tuple[str, ...] = ()


def reembed(
    indexer: Indexer,
    encoder: Encoder,
    *,
    drop_others: bool,
    progress: ProgressCallback | None = None,
) -> Reembedded:
    """Make a vector of ``encoder`` for every memory, those included that are stored meanwhile.

    Other threads and processes write and recall meanwhile, with the model they have. With
    ``drop_others`` the vectors of every other transformer are deleted, once none is missing.
    """
    store, model_id = indexer.store, encoder.model_id
    made = 0
    missing = _n_pending(store, model_id)
    while missing:
        total = made + missing
        made += indexer.flush(
            encoder, None if progress is None else _counting(progress, made, total)
        )
        # Where vec0 is not here, nothing is written, and going on would never end.
        before, missing = missing, _n_pending(store, model_id)
        if missing >= before:
            break
    dropped: tuple[str, ...] = ()
    if drop_others and not missing:
        with store.writing() as writing:
            dropped = writing.vectors.drop_others(model_id)
    return Reembedded(model_id, made, missing, dropped)


def _n_pending(store: Store, model_id: str) -> int:
    with store.reading() as reading:
        return reading.vectors.n_pending([model_id])[model_id]


def _counting(progress: ProgressCallback, before: int, total: int) -> Callable[[int], None]:
    return lambda done: progress(before + done, max(total, before + done))
