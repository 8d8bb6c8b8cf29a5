"""Makes the vectors of memories: of the body, its passages, and each of its views."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder, Encoding, batch_size_of, batches
from family_recall.errors import InvalidMemoryError, ModelError, StoreFullError
from family_recall.store.passages import as_read
from family_recall.store.store import Store
from family_recall.store.transaction import WriteTransaction
from family_recall.store.vectors import NewVector, Role, ToEmbed
from family_recall.threads import Workers
from family_recall.types.aliases import CountCallback

log = logging.getLogger("family_recall")

# Of an encoder that reads many texts in one run: runs between two transactions, so that texts of
# like length are found; and threads, of which one tokenises while the other's run goes on.
_RUNS_AT_ONCE, _THREADS_OF_BATCHES = 8, 2
_Map = Callable[
    [Callable[[list[int]], list[Encoding]], Iterable[list[int]]], Iterable[list[Encoding]]
]


@dataclass(frozen=True, slots=True)
class Embedding:
    """Encodes memories outside any transaction, and writes the vectors a batch at a time.

    ``yield_to_recalls`` is called between two memories.
    """

    store: Store
    config: RecallConfig
    yield_to_recalls: Callable[[], None] = lambda: None

    def embed(self, encoder: Encoder, ids: Sequence[int]) -> None:
        """Make the vectors of some memories that were just stored, by row id.

        Raises:
            StoreFullError: If there is no room for them; the memories stay.
        """
        with self.store.reading() as reading:
            pending = reading.vectors.to_embed(ids)
        try:
            self._embed_with_threads(encoder, pending, "embedder")
        except StoreFullError:
            raise StoreFullError(
                f"{self.store.path}: the disk is full; the memories are stored, their vectors are "
                "pending; free some space and call flush()"
            ) from None

    def flush(
        self, encoder: Encoder, progress: CountCallback | None = None, *, role: Role = "embedder"
    ) -> int:
        """Make the vectors of every memory that has none; returns how many memories."""
        done = after = 0
        while True:
            with self.store.reading() as reading:
                waiting = reading.vectors.pending_after(
                    after, encoder.model_id, self._at_once(encoder)
                )
            if not waiting:
                return done
            self._embed_with_threads(encoder, waiting, role)
            after = waiting[-1].id
            done += len(waiting)
            if progress is not None:
                progress(done)

    def _embed_with_threads(self, encoder: Encoder, waiting: Sequence[ToEmbed], role: Role) -> None:
        threads = min(self.config.embed_threads or os.cpu_count() or 1, len(waiting))
        if batch_size_of(encoder) > 1:
            threads = min(threads, _THREADS_OF_BATCHES)
        if threads <= 1:
            self._embed(encoder, waiting, role, map)
            return
        with Workers(threads, "family_recall-embedding") as pool:
            self._embed(encoder, waiting, role, pool.map)

    def _embed(
        self, encoder: Encoder, waiting: Sequence[ToEmbed], role: Role, mapped: _Map
    ) -> None:
        at_once = self._at_once(encoder)
        for start in range(0, len(waiting), at_once):
            batch = waiting[start : start + at_once]
            rows = _encoded(encoder, batch, self.yield_to_recalls, mapped)
            with self.store.writing() as writing:
                _write(writing, encoder, rows, role)

    def _at_once(self, encoder: Encoder) -> int:
        batch_size = batch_size_of(encoder)
        runs = _RUNS_AT_ONCE * batch_size if batch_size > 1 else 0
        return max(self.config.embed_batch, runs)


def embed_at_once(writing: WriteTransaction, static: Encoder) -> None:
    """Make the static vectors of a transaction's new memories; if that fails, they are pending."""
    try:
        rows = _encoded(static, writing.vectors.to_embed(writing.changed))
        _write(writing, static, rows, "static")
    except (ModelError, InvalidMemoryError) as error:
        log.warning("static vectors are pending: %s", type(error).__name__)
        log.debug("static vectors are pending", exc_info=error)


def _write(
    writing: WriteTransaction, encoder: Encoder, rows: Sequence[NewVector], role: Role
) -> None:
    model = writing.vectors.register(encoder.model_id, encoder.dim, encoder.token_dim, role)
    writing.vectors.add(model, rows)


def embedded_text(row: ToEmbed) -> str:
    """Return the text a model reads as a memory's body: its author's name, then its text.

    Without the memory before it: pooled into one vector, that lost more than it gained. Title and
    summary are encoded apart, and a question is compared with the closest.
    """
    return as_read(row.author_name, row.text)


def _encoded(
    encoder: Encoder,
    rows: Sequence[ToEmbed],
    between: Callable[[], None] = lambda: None,
    mapped: _Map = map,
) -> list[NewVector]:
    """Encode memories; ``between`` is called before each run of the encoder."""
    texts: list[str] = []
    for row in rows:
        passages = [as_read(row.author_name, passage) for passage in row.passages]
        texts += [embedded_text(row), *row.views.values(), *passages]
    chosen = list(batches([len(text) for text in texts], batch_size_of(encoder)))

    def encode(batch: list[int]) -> list[Encoding]:
        between()
        return encoder.encode_memories([texts[place] for place in batch])

    encodings: dict[int, Encoding] = {}
    for batch, results in zip(chosen, mapped(encode, chosen), strict=True):
        encodings |= zip(batch, results, strict=True)
    in_order = (encodings[place] for place in range(len(texts)))
    return [_vectors_of(row, in_order) for row in rows]


def _vectors_of(row: ToEmbed, encodings: Iterator[Encoding]) -> NewVector:
    """Return the vectors of a memory, by the next encodings: those of its texts."""
    body = next(encodings)
    views = {name: next(encodings) for name in row.views}
    passages = [next(encodings) for _ in row.passages]
    return NewVector(
        row.id,
        body.pooled,
        np.concatenate([body.tokens, *(view.tokens for view in views.values())]),
        {name: view.pooled for name, view in views.items()},
        [(passage.pooled, passage.tokens) for passage in passages],
    )
