"""Makes the vectors of memories: of the body, its passages, and each of its views."""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder, Encoding
from family_recall.errors import InvalidMemoryError, ModelError
from family_recall.stores.records import NewPassages, NewVector, Role, ToEmbed
from family_recall.stores.store import Store
from family_recall.stores.text.passages import as_read
from family_recall.stores.write.transaction import WriteTransaction
from family_recall.types.progress import CountCallback

log = logging.getLogger("family_recall")


@dataclass(frozen=True, slots=True)
class Embedding:
    """Encodes memories outside any transaction, and writes the vectors a batch at a time."""

    store: Store
    config: RecallConfig
    yield_to_recalls: Callable[[], None]

    def flush(self, encoder: Encoder, progress: CountCallback | None, role: Role) -> int:
        """Make the vectors of every memory that has none; returns how many memories."""
        done = after = 0
        while waiting := self._pending_after(after, encoder.model_id):
            self.embed(encoder, waiting, role)
            after = waiting[-1].id
            done += len(waiting)
            if progress is not None:
                progress(done)
        return done

    def _pending_after(self, memory: int, model_id: str) -> list[ToEmbed]:
        with self.store.reading() as reading:
            return reading.pending_vectors.after(memory, model_id, self.config.embed_batch)

    def embed(self, encoder: Encoder, waiting: Sequence[ToEmbed], role: Role = "embedder") -> None:
        """Make the vectors of some memories."""
        threads = min(self.config.embed_threads or os.cpu_count() or 1, len(waiting))

        def vectors(row: ToEmbed) -> list[NewVector]:
            return _encoded(encoder, [row], self.yield_to_recalls)

        with _mapping(threads) as mapped:
            for start in range(0, len(waiting), self.config.embed_batch):
                batch = waiting[start : start + self.config.embed_batch]
                rows = list(itertools.chain.from_iterable(mapped(vectors, batch)))
                with self.store.writing() as writing:
                    writing.vectors.add(
                        encoder.model_id, encoder.dim, encoder.token_dim, rows, role=role
                    )


def embed_at_once(writing: WriteTransaction, static: Encoder) -> None:
    """Make the static vectors of a transaction's new memories; if that fails, they are pending."""
    try:
        rows = _encoded(static, writing.to_embed())
        writing.vectors.add(static.model_id, static.dim, static.token_dim, rows, role="static")
    except (ModelError, InvalidMemoryError) as error:
        log.warning("static vectors are pending: %s", type(error).__name__)
        log.debug("static vectors are pending", exc_info=error)


def embedded_text(row: ToEmbed) -> str:
    """Return the text a model reads as a memory's body: its author's name, then its text.

    Without the memory before it: pooled into one vector, that lost more than it gained. Title and
    summary are encoded apart, and a question is compared with the closest.
    """
    return as_read(row.author_name, row.text)


@contextlib.contextmanager
def _mapping(threads: int) -> Iterator[Callable[..., Iterator[list[NewVector]]]]:
    """Yield what maps a function over rows in order, on so many threads."""
    if threads <= 1:
        yield map
    else:
        with concurrent.futures.ThreadPoolExecutor(threads, "family_recall-embedding") as pool:
            yield pool.map


def _encoded(
    encoder: Encoder, rows: Sequence[ToEmbed], between: Callable[[], None] = lambda: None
) -> list[NewVector]:
    """Encode memories; ``between`` is called before each of them, and before each passage."""
    return [_vectors_of(encoder, row, between) for row in rows]


def _vectors_of(encoder: Encoder, row: ToEmbed, between: Callable[[], None]) -> NewVector:
    between()
    body, *views = encoder.encode_memories([embedded_text(row), *row.views.values()])
    return NewVector(
        row.id,
        body.pooled,
        np.concatenate([body.tokens, *(view.tokens for view in views)]),
        {name: view.pooled for name, view in zip(row.views, views, strict=True)},
        _passages_of(encoder, row, between) if row.passages else None,
    )


def _passages_of(encoder: Encoder, row: ToEmbed, between: Callable[[], None]) -> NewPassages:
    encodings: list[Encoding] = []
    for passage in row.passages:
        between()
        encodings += encoder.encode_memories([as_read(row.author_name, passage)])
    return NewPassages(
        tuple(encoding.pooled for encoding in encodings),
        tuple(encoding.tokens for encoding in encodings),
    )
