"""Makes the vectors of memories: of the body, its passages, and each of its views."""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder, Encoding, batch_size_of, batches
from family_recall.errors import InvalidMemoryError, ModelError
from family_recall.store.passages import as_read
from family_recall.store.store import Store
from family_recall.store.transaction import WriteTransaction
from family_recall.store.vector_tables import NewPassages, NewVector, Role
from family_recall.store.vector_writing import ToEmbed
from family_recall.types.progress import CountCallback

log = logging.getLogger("family_recall")

# Of an encoder that reads many texts in one run: runs between two transactions, so that texts of
# like length are found; and threads, of which one tokenises while the other's run goes on.
_RUNS_AT_ONCE, _THREADS_OF_BATCHES = 8, 2
_Map = Callable[
    [Callable[[list[int]], list[Encoding]], Iterable[list[int]]], Iterable[list[Encoding]]
]


@dataclass(frozen=True, slots=True)
class Embedding:
    """Encodes memories outside any transaction, and writes the vectors a batch at a time."""

    store: Store
    config: RecallConfig
    yield_to_recalls: Callable[[], None]

    def flush(self, encoder: Encoder, progress: CountCallback | None, role: Role) -> int:
        """Make the vectors of every memory that has none; returns how many memories."""
        done = after = 0
        while waiting := self._pending_after(after, encoder):
            self.embed(encoder, waiting, role)
            after = waiting[-1].id
            done += len(waiting)
            if progress is not None:
                progress(done)
        return done

    def _pending_after(self, memory: int, encoder: Encoder) -> list[ToEmbed]:
        with self.store.reading() as reading:
            return reading.pending_vectors.after(memory, encoder.model_id, self._at_once(encoder))

    def _at_once(self, encoder: Encoder) -> int:
        """Return how many memories are encoded between two transactions."""
        batch_size = batch_size_of(encoder)
        runs = _RUNS_AT_ONCE * batch_size if batch_size > 1 else 0
        return max(self.config.embed_batch, runs)

    def embed(self, encoder: Encoder, waiting: Sequence[ToEmbed], role: Role = "embedder") -> None:
        """Make the vectors of some memories."""
        threads = min(self.config.embed_threads or os.cpu_count() or 1, len(waiting))
        if batch_size_of(encoder) > 1:
            threads = min(threads, _THREADS_OF_BATCHES)
        at_once = self._at_once(encoder)
        with _mapping(threads) as mapped:
            for start in range(0, len(waiting), at_once):
                batch = waiting[start : start + at_once]
                rows = _encoded(encoder, batch, self.yield_to_recalls, mapped)
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
def _mapping(threads: int) -> Iterator[_Map]:
    """Yield what maps a function over batches in order, on so many threads."""
    if threads <= 1:
        yield map
    else:
        with concurrent.futures.ThreadPoolExecutor(threads, "family_recall-embedding") as pool:
            yield pool.map


def _encoded(
    encoder: Encoder,
    rows: Sequence[ToEmbed],
    between: Callable[[], None] = lambda: None,
    mapped: _Map = map,
) -> list[NewVector]:
    """Encode memories; ``between`` is called before each run of the encoder."""
    texts = [text for row in rows for text in _texts_of(row)]
    chosen = list(batches([len(text) for text in texts], batch_size_of(encoder)))

    def encode(batch: list[int]) -> list[Encoding]:
        between()
        return encoder.encode_memories([texts[place] for place in batch])

    encodings: dict[int, Encoding] = {}
    for batch, results in zip(chosen, mapped(encode, chosen), strict=True):
        encodings |= zip(batch, results, strict=True)
    in_order = (encodings[place] for place in range(len(texts)))
    return [_vectors_of(row, in_order) for row in rows]


def _texts_of(row: ToEmbed) -> list[str]:
    """Return the texts of a memory that are encoded: its body, its views and its passages."""
    passages = [as_read(row.author_name, passage) for passage in row.passages]
    return [embedded_text(row), *row.views.values(), *passages]


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
        _passages_of(passages) if passages else None,
    )


def _passages_of(encodings: Sequence[Encoding]) -> NewPassages:
    return NewPassages(
        tuple(encoding.pooled for encoding in encodings),
        tuple(encoding.tokens for encoding in encodings),
    )
