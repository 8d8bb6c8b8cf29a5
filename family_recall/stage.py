"""What flows through recall: the plan, the context, runs, the pool, the ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from family_recall.config import RecallConfig
from family_recall.deadline import Deadline
from family_recall.encoders.base import Encoding
from family_recall.stores.base import Entity, Rows, Snapshot, WordStatistics
from family_recall.types import FloatArray, IdArray, RecallRequest, Scope

Kind = Literal["full", "static", "words"]
"""Whose vectors a ranking rests on: the transformer's, the static embedder's, or nobody's."""

NO_STATISTICS = WordStatistics(0, 0, np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A question, understood.

    ``terms`` are (word, stem) pairs to search for; ``entities`` what it names in scope,
    ``names`` how it names them; ``statistics`` what the scope counts of the terms' stems;
    ``timespan_s`` the half-open interval it speaks of, in epoch seconds, open ends infinite,
    and ``timespan_certainty`` in [0, 1] how surely it was read;
    ``past_reference`` whether it reaches back on purpose, which switches recency off;
    ``focus_id`` the memory being talked about.
    """

    terms: tuple[tuple[str, str], ...] = ()
    entities: tuple[Entity, ...] = ()
    names: tuple[str, ...] = ()
    statistics: WordStatistics = NO_STATISTICS
    timespan_s: tuple[float, float] | None = None
    timespan_certainty: float = 0.0
    past_reference: bool = False
    strategy: str = "hybrid"
    focus_id: int | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """Named weights over the declared features, with the constants that go with them.

    ``weights`` by feature name; a feature not named weighs nothing. ``mmr_lambda`` in [0, 1].
    ``half_life_days`` overrides the table by category; ``evergreen_floor`` is the least a
    recency can be for categories in ``evergreen``.
    """

    name: str
    weights: Mapping[str, float]
    mmr_lambda: float
    rrf_k: int = 60
    half_life_days: float | None = None
    evergreen: frozenset[str] = frozenset()
    evergreen_floor: float = 0.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class QueryContext:
    """Everything a step may look at.

    ``question`` is None until, or unless, it is encoded; ``kind`` says by which embedder it was.
    """

    request: RecallRequest
    scope: Scope
    plan: QueryPlan
    profile: Profile
    snapshot: Snapshot
    deadline: Deadline
    config: RecallConfig
    now_s: float
    model_id: str | None = None
    question: Encoding | None = None
    question_weights: FloatArray | None = None
    kind: Kind = "words"

    def room(self, pool: int) -> int:
        """Give the size of a pool: the configured one, or twice the results that are wanted."""
        return max(pool, 2 * self.request.ctx.top_k)


@dataclass(frozen=True, slots=True)
class Run:
    """What one source found for one question, best first; scores of one run only compare."""

    source: str
    ids: IdArray
    scores: FloatArray

    def __len__(self) -> int:
        """Count the hits."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a path through the graph: the node it came from, and the kind of edge."""

    node: int
    kind: str


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Some nodes (n,), how many hops each is from a seed, and the edges among them.

    ``ends`` number the nodes: (source, destination) as read, the source nearer to the seeds.
    """

    nodes: IdArray
    hops: IdArray
    ends: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphRun:
    """A run of the graph, with the subgraph and the ranks (n,) it came from."""

    run: Run
    subgraph: Subgraph | None = None
    rank: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """Fused runs: ``ids`` (n,) best first, ``rrf`` (n,), and each source's run."""

    ids: IdArray
    rrf: FloatArray
    runs: Mapping[str, Run]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates on their way to becoming results.

    ``features`` (n, f) and ``weights`` (f,) in the order of ``features.FEATURES``;
    ``score`` (n,) is their product and nothing else; ``order`` (m,) the rows chosen so far,
    best first.
    """

    rows: Rows
    features: FloatArray
    weights: FloatArray
    score: FloatArray
    order: IdArray

    def __len__(self) -> int:
        """Count the rows chosen so far."""
        return len(self.order)


def by_score(score: FloatArray, doc_ids: tuple[str, ...]) -> IdArray:
    """Order rows by score, highest first; ties by doc_id, so that an answer can be repeated.

    >>> by_score(np.array([0.5, 0.9, 0.9], np.float32), ("c", "b", "a")).tolist()
    [2, 1, 0]
    """
    return np.lexsort((np.array(doc_ids, dtype=str), -score))
