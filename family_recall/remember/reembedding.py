"""Vectors of another model, made while the old ones serve.

An interrupted run keeps the vectors it made, and the next one makes only the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from family_recall.encoders.base import Encoder
from family_recall.remember.indexer import Indexer
from family_recall.store.store import Store
from family_recall.types.progress import ProgressCallback
from family_recall.types.records import Record


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
            dropped = writing.vectors.drop_other_models(model_id)
    return Reembedded(model_id, made, missing, dropped)


def _n_pending(store: Store, model_id: str) -> int:
    with store.reading() as reading:
        return reading.pending_vectors.count(model_id)


def _counting(progress: ProgressCallback, before: int, total: int) -> Callable[[int], None]:
    return lambda done: progress(before + done, max(total, before + done))
