"""What passes between the store and everyone else: plain frozen records and arrays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from family_recall.types import FloatArray, IdArray, Memory, Scope

WORD_ENTRY = np.dtype(
    [("stem", "<u4"), ("body", "u1"), ("header", "u1"), ("context", "u1"), ("_", "u1")]
)
"""One stemmed word of one memory: its crc32, and how often it stands in each column (≤ 255)."""

WordEntries = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class Access:
    """One space a person may enter, and in which role."""

    space_id: str
    space_kind: str
    role: str
    expires_s: float | None


@dataclass(frozen=True, slots=True)
class Partition:
    """One space and one band, with the statistics its own words have."""

    no: int
    space_id: str
    band: str
    n_current: int
    n_past: int
    words_current: int
    words_past: int
    n_bounded: int
    rewrites: int


@dataclass(frozen=True, slots=True)
class Hits:
    """What one search found, best first: ``ids`` (n,) and ``scores`` (n,), higher is better."""

    ids: IdArray
    scores: FloatArray


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """Counts over everything a scope may see, and nothing else.

    ``n_memories`` and ``n_words`` in all; ``document_frequency`` (t,) of the asked stems.
    """

    n_memories: int
    n_words: int
    document_frequency: IdArray


@dataclass(frozen=True, slots=True)
class Rows:
    """The columns that ranking reads, one entry per memory, ascending by id.

    Moments are epoch seconds, NaN where unknown. ``sessions`` numbers the talks, and a memory
    of no talk is a talk of its own. ``words`` are concatenated :data:`WORD_ENTRY` records, and
    ``word_rows`` says which row each belongs to.
    """

    ids: IdArray
    doc_ids: tuple[str, ...]
    authors: tuple[str | None, ...]
    kinds: tuple[str, ...]
    categories: tuple[str, ...]
    occurred_s: npt.NDArray[np.float64]
    importance: FloatArray
    valence: FloatArray
    arousal: FloatArray
    n_words: IdArray
    sessions: IdArray
    words: WordEntries
    word_rows: IdArray

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """Token vectors of several memories, one after the other.

    ``vectors`` (t, d) unit rows; ``starts`` (m,) where each memory's begin; ``rows`` (m,)
    which of the asked memories they belong to. Memories without tokens are absent.
    """

    vectors: FloatArray
    starts: IdArray
    rows: IdArray


@dataclass(frozen=True, slots=True)
class EdgeList:
    """Edges out of some nodes: arrays of one length; entities are negative ids."""

    src: IdArray
    dst: IdArray
    weight: FloatArray
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """A named thing as one partition knows it."""

    id: int
    name: str
    person_id: str | None


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory as it lies in the file."""

    id: int
    memory: Memory
    recorded_s: float
    superseded_s: float | None


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory made ready to be written: moments in epoch seconds, its header in words."""

    memory: Memory
    doc_id: str
    occurred_s: float | None
    valid_from_s: float | None
    valid_until_s: float | None
    header: str
    content_hash: bytes


@dataclass(frozen=True, slots=True)
class ToEmbed:
    """A memory that has no vector yet, with what the model is to read."""

    id: int
    author: str | None
    text: str


@dataclass(frozen=True, slots=True)
class NewVector:
    """One memory's vectors: ``pooled`` (d,) and ``tokens`` (t, token_dim), finite, not zero."""

    memory: int
    pooled: FloatArray
    tokens: FloatArray


class Snapshot(Protocol):
    """One consistent view of the file. Every question about memories takes a scope."""

    def partitions(self, scope: Scope) -> tuple[Partition, ...]:
        """Statistics of the partitions in scope, ascending."""
        ...

    def stems(self, text: str) -> list[tuple[str, str]]:
        """Split a text as the index does: (word as written, stem) pairs in order."""
        ...

    def find_stems(self, text: str, stems: Collection[str]) -> tuple[tuple[int, int], ...]:
        """Find where a text says some stems: (start, end) in characters, in order."""
        ...

    def word_statistics(self, stems: Sequence[str], scope: Scope) -> WordStatistics:
        """Count the scope's memories, words, and memories that hold each stem."""
        ...

    def match(
        self,
        words: Sequence[str],
        common: Sequence[str],
        scope: Scope,
        k: int,
        weights: tuple[float, float, float],
    ) -> Hits:
        """Find up to k memories of each shelf that hold any of the words, by BM25.

        ``common`` words raise the score of what is found and find nothing by themselves.
        """
        ...

    def nearest(self, vector: FloatArray, model_id: str, scope: Scope, k: int) -> Hits:
        """Find the k memories whose vectors have the highest cosine."""
        ...

    def cosines(self, vector: FloatArray, model_id: str, ids: IdArray, scope: Scope) -> FloatArray:
        """Cosine of the given memories, NaN where one has no vector."""
        ...

    def similarities(self, model_id: str, ids: IdArray, scope: Scope) -> FloatArray | None:
        """Cosines (n, n) between memories; None unless every one has a vector."""
        ...

    def token_vectors(self, model_id: str, ids: IdArray, scope: Scope) -> TokenVectors:
        """Token vectors of the given memories."""
        ...

    def n_pending(self, model_id: str | None, scope: Scope) -> int:
        """Count the scope's current memories without a vector of a model, or of the newest."""
        ...

    def edges(self, nodes: IdArray, scope: Scope, cap: int) -> EdgeList:
        """Give up to ``cap`` of the strongest edges out of each node."""
        ...

    def degrees(self, nodes: IdArray, scope: Scope) -> FloatArray:
        """Number of edges at each node, counted up to 1024."""
        ...

    def entities(self, names: Sequence[str], scope: Scope) -> list[tuple[str, Entity]]:
        """Find what the given normalised names stand for."""
        ...

    def mentions(
        self, ids: IdArray, entities: Sequence[int], scope: Scope
    ) -> list[tuple[int, int]]:
        """Give the (memory, entity) pairs among some memories and entities."""
        ...

    def node_names(self, nodes: IdArray, scope: Scope) -> dict[int, str]:
        """Names of nodes: doc_ids of memories, names of entities."""
        ...

    def rows(self, ids: IdArray, scope: Scope) -> Rows:
        """Load what ranking reads; ids the scope does not cover are left out."""
        ...

    def memories(self, ids: IdArray, scope: Scope) -> list[StoredMemory]:
        """Load whole memories; ids the scope does not cover are left out."""
        ...

    def find(self, doc_id: str, scope: Scope) -> StoredMemory:
        """Find one memory by its id."""
        ...


def epoch_s(moment: dt.datetime | None, zone: dt.tzinfo) -> float | None:
    """Seconds since 1970 UTC; a naive moment is read in the household's zone."""
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
