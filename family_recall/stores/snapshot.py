"""One consistent view of the file, as everything above the store sees it.

Ranking and sources are written against this protocol, and so import no SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from family_recall.stores.records import (
    EdgeList,
    Entity,
    Hits,
    Identifier,
    Milestone,
    Occurred,
    Partition,
    Rows,
    StoredMemory,
    StoredRelation,
    TokenVectors,
    WordStatistics,
)
from family_recall.types import FloatArray, IdArray, Scope


class Snapshot(Protocol):
    """One consistent view of the file. Every query takes a scope, and sees nothing outside it.

    ``damaged`` gathers the ids of rows, of those that were read, that do not match their checksum
    or cannot be read.
    """

    damaged: set[int]

    def partitions(self, scope: Scope) -> tuple[Partition, ...]:
        """Return the statistics of the partitions in scope, ascending."""
        ...

    def stems(self, text: str) -> list[tuple[str, str]]:
        """Split a text as the index does: (word as written, stem) pairs in order."""
        ...

    def find_stems(self, text: str, stems: Collection[str]) -> tuple[tuple[int, int], ...]:
        """Return where words with some stems stand in a text: (start, end) in characters."""
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
        """Find up to k memories of each shard that hold any of the words, by BM25.

        ``common`` words raise the score of a match and match nothing by themselves. Scores come
        from the shard's own statistics: they order its matches, and are not comparable between two.
        """
        ...

    def identified(self, sought: Sequence[Identifier], scope: Scope, k: int) -> Hits:
        """Find up to k memories that hold any of the identifiers.

        Scores are 1 where one is held whole, 0.5 where what is held continues it, or is a phone
        number's end; within a score the latest to happen come first. Of each identifier the k
        recorded last are considered.
        """
        ...

    def nearest(self, vector: FloatArray, model_id: str, scope: Scope, k: int) -> Hits:
        """Find the k memories whose best views have the highest cosine with a unit vector."""
        ...

    def cosines(self, vector: FloatArray, model_id: str, ids: IdArray, scope: Scope) -> FloatArray:
        """Return the cosine of memories' best views with a unit vector, NaN without a vector."""
        ...

    def similarities(self, model_id: str, ids: IdArray, scope: Scope) -> FloatArray | None:
        """Return the cosines (n, n) between bodies; None unless every memory has a vector."""
        ...

    def token_vectors(self, model_id: str, ids: IdArray, scope: Scope) -> TokenVectors:
        """Return the token vectors of memories, of all their views."""
        ...

    def n_pending(self, model_id: str | None, scope: Scope) -> int:
        """Count the scope's current memories without a vector of a model, or of the newest."""
        ...

    def edges(self, nodes: IdArray, scope: Scope, cap: int) -> EdgeList:
        """Return up to ``cap`` of the strongest edges out of each node in scope."""
        ...

    def degrees(self, nodes: IdArray, scope: Scope) -> FloatArray:
        """Count the edges at each node, up to 1024; 0 outside the scope."""
        ...

    def entities(self, names: Sequence[str], scope: Scope) -> list[tuple[str, Entity]]:
        """Find the entities that some normalised names stand for."""
        ...

    def aliases_like(self, word: str, edits: int, scope: Scope) -> list[str]:
        """List the one-word names that so many edits to a word could give, and others.

        They begin with its first letter, or with its first two swapped, and are at most
        ``edits`` letters shorter or longer. None come back when they would be thousands.
        """
        ...

    def relations(self, entities: Sequence[int], scope: Scope) -> list[StoredRelation]:
        """List the relations of some entities that hold at the scope's moments, oldest first."""
        ...

    def mentions(
        self, ids: IdArray, entities: Sequence[int], scope: Scope
    ) -> list[tuple[int, int]]:
        """List the (memory, entity) pairs among some memories and entities."""
        ...

    def node_names(self, nodes: IdArray, scope: Scope) -> dict[int, str]:
        """Return the names of nodes: doc_ids of memories, names of entities."""
        ...

    def newest(self, scope: Scope, k: int, *, lasting: bool = False) -> Hits:
        """Return each partition's k newest memories, or facts, profiles and milestones alone.

        By the moment they were recorded, the newest of all first.
        """
        ...

    def occurred(self, scope: Scope) -> Occurred:
        """Return everything that occurred in the scope's interval; read once for each scope."""
        ...

    def rows(self, ids: IdArray, scope: Scope) -> Rows:
        """Load the columns that ranking needs, ascending by id; ids out of scope are left out."""
        ...

    def milestones(
        self, scope: Scope, wanted: Callable[[str | None, str | None], bool], limit: int
    ) -> list[Milestone]:
        """Load up to ``limit`` milestones and dated facts of wanted (event_type, fact_key).

        The scope's filters do not apply here; its partitions and moments do.
        """
        ...

    def memories(self, ids: IdArray, scope: Scope) -> list[StoredMemory]:
        """Load whole memories in the order of ``ids``; those out of scope are left out.

        So are damaged ones, which are added to ``damaged``.
        """
        ...

    def passages(self, ids: IdArray, scope: Scope) -> dict[int, str]:
        """Load memories as a model reads them, `Author: text`; none the scope does not cover."""
        ...

    def find(self, doc_id: str, scope: Scope) -> StoredMemory:
        """Find one memory by its id.

        Raises:
            UnknownMemoryError: If there is none, or none in scope: the two read alike.
        """
        ...
