"""Makes the vectors of memories: of the body, and of each of its views."""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder, Encoding
from family_recall.errors import InvalidMemoryError, ModelError
from family_recall.stores.records import NewVector, ToEmbed, View
from family_recall.stores.store import Store
from family_recall.stores.vectors.tables import Role
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
            self.yield_to_recalls()
            return _encoded(encoder, [row])

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
    """Return the text a model reads as a memory's body: its author, then its text.

    Without the memory before it: pooled into one vector, that lost more than it gained. Title and
    summary are encoded apart, and a question is compared with the closest.
    """
    return f"{row.author}: {row.text}" if row.author else row.text


@contextlib.contextmanager
def _mapping(threads: int) -> Iterator[Callable[..., Iterator[list[NewVector]]]]:
    """Yield what maps a function over rows in order, on so many threads."""
    if threads <= 1:
        yield map
    else:
        with concurrent.futures.ThreadPoolExecutor(threads, "family_recall-embedding") as pool:
            yield pool.map


def _encoded(encoder: Encoder, rows: Sequence[ToEmbed]) -> list[NewVector]:
    texts = [text for row in rows for text in (embedded_text(row), *row.views.values())]
    encodings = iter(encoder.encode_memories(texts))
    return [
        _vectors_of(row.id, next(encodings), {view: next(encodings) for view in row.views})
        for row in rows
    ]


def _vectors_of(memory: int, body: Encoding, views: Mapping[View, Encoding]) -> NewVector:
    tokens = np.concatenate([body.tokens, *(encoding.tokens for encoding in views.values())])
    pooled = {view: encoding.pooled for view, encoding in views.items()}
    return NewVector(memory, body.pooled, tokens, pooled)
