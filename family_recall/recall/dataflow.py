"""The records that flow through a recall: plan, context, runs, pool and ranking."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from family_recall.config import RecallConfig
from family_recall.deadline import Deadline
from family_recall.encoders.base import Encoding
from family_recall.english import Question
from family_recall.recall.question.entities import Mention
from family_recall.store.graph import Entity
from family_recall.store.memory_queries import Rows
from family_recall.store.scope_sql import among
from family_recall.store.transaction import Snapshot
from family_recall.store.word_search import WordStatistics
from family_recall.types import (
    BoolArray,
    Breadth,
    FloatArray,
    IdArray,
    Mode,
    RecallRequest,
    RelationResult,
    Scope,
    Strategy,
)
from family_recall.types.understanding import Identifier

Kind = Literal["full", "static", "words"]
"""Whose vectors a ranking rests on: the transformer's, the static embedder's, or nobody's."""

_NO_IDS, _NO_SCORES = np.zeros(0, np.int64), np.zeros(0, np.float32)
_NOTHING: Mapping[Any, float] = MappingProxyType({})
_SINGLE_THREADED = 250_000  # multiplications; OpenBLAS uses one thread up to 262,144
NO_QUESTION = Question("")
NO_STATISTICS = WordStatistics(0, 0, np.zeros(0, np.int64))


class RelatedWord(msgspec.Struct, frozen=True):
    """A word of like meaning as a term of the question.

    ``term`` numbers the term, ``stem`` is the other word's; ``n_memories`` of the scope hold it.
    """

    term: int
    stem: str
    n_memories: int


class QueryPlan(NamedTuple):
    """A question, understood.

    Attributes:
        asked: The question, read by its words alone.
        terms: (word, stem) pairs to search for.
        entities: What it names in scope.
        names: How it names them.
        owners: Those whom it asks of, *Dad* in *Dad's blood group*; unknown ones without entities.
        searched: The question with the names of the relatives it speaks of; empty: as asked.
        relations: What it asks for of who is what to whom, and what ties those it names.
        relation_evidence: How sure the relations that answer are, by row id of what says so.
        identifiers: What it quotes that stands for one thing.
        statistics: What the scope counts of the terms' stems.
        related_words: Words of like meaning that are in scope, each with the term it stands for,
            ascending by term.
        timespan_s: The half-open interval it speaks of, in epoch seconds, open ends infinite.
        other_timespan_s: Another interval that may be meant as well.
        timespan_certainty: How surely that was read, in [0, 1].
        timespan_words: Where it was read: (start, end) characters.
        days_s: The whole days of that time, where its words count from the day of asking: *today*.
        about_time_alone: Whether it asks for nothing besides that time.
        ahead: Whether that time is still to come.
        past_reference: Whether it refers to the past on purpose, which switches recency off.
        asks_when: Whether it asks for a time.
        event_stems: Stems of the words for the kind of event whose time it asks for.
        breadth: How much it asks for.
        about: Whom a question of breadth ``about`` means; about_family: everybody.
        strategy: How it is answered, with the router's confidence and mode.
        tier_weights: What the strategy expects of each tier.
        focus_id: The memory that the conversation is about.
        focus_mentions: What that memory mentions: the entities of each thing.
        about_focus: Whether it asks for nothing else: ``it``, ``more`` of it, or empty.
    """

    asked: Question = NO_QUESTION
    terms: tuple[tuple[str, str], ...] = ()
    entities: tuple[Entity, ...] = ()
    names: tuple[str, ...] = ()
    owners: tuple[Mention, ...] = ()
    searched: str = ""
    relations: tuple[RelationResult, ...] = ()
    relation_evidence: Mapping[int, float] = _NOTHING
    identifiers: tuple[Identifier, ...] = ()
    statistics: WordStatistics = NO_STATISTICS
    related_words: tuple[RelatedWord, ...] = ()
    timespan_s: tuple[float, float] | None = None
    other_timespan_s: tuple[float, float] | None = None
    timespan_certainty: float = 0.0
    timespan_words: tuple[tuple[int, int], ...] = ()
    days_s: tuple[float, float] | None = None
    about_time_alone: bool = False
    ahead: bool = False
    past_reference: bool = False
    asks_when: bool = False
    event_stems: tuple[str, ...] = ()
    breadth: Breadth = "one"
    about: tuple[Entity, ...] = ()
    about_family: bool = False
    strategy: Strategy = "HYBRID"
    strategy_confidence: float = 0.0
    mode: Mode = "hybrid"
    tier_weights: Mapping[str, float] = _NOTHING
    focus_id: int | None = None
    focus_mentions: tuple[tuple[int, ...], ...] = ()
    about_focus: Literal["", "it", "more"] = ""

    @property
    def name_words(self) -> frozenset[str]:
        """The words of ``names``."""
        return frozenset(word for name in self.names for word in name.split(" "))


@dataclass(frozen=True, slots=True, eq=False)  # two are the same if they are one object
class Profile:
    """Named weights over the declared features, with the constants that go with them.

    ``weights`` by feature name; a feature not named weighs nothing. ``mmr_lambda`` in [0, 1].
    ``half_life_days`` overrides the table by category; ``evergreen_floor`` is the lowest recency
    of the categories in ``evergreen``. ``calibrated_as`` names the profile whose calibration its
    scores use, where it has none of its own.
    """

    name: str
    weights: Mapping[str, float]
    mmr_lambda: float
    rrf_k: int = 60
    half_life_days: float | None = None
    evergreen: frozenset[str] = frozenset()
    evergreen_floor: float = 0.0
    source: str = ""
    walks_graph: bool = True
    calibrated_as: str = ""


class QueryContext(msgspec.Struct, frozen=True):
    """Everything a stage may read.

    ``question`` is None until, or unless, it is encoded; ``kind`` says by which embedder, and
    ``level`` which cosine that one gives two texts that have nothing in common.
    ``pool_factor`` is how many times larger pools are than configured; ``exemplars`` the row ids of
    the memories that a list is gathered around.
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
    level: float = 0.0
    pool_factor: int = 1
    exemplars: IdArray | None = None

    @property
    def mode(self) -> str:
        """The mode that it is answered in."""
        return mode_of(self.request, self.plan)

    @property
    def searched_text(self) -> str:
        """The question as models read it: with the names of the relatives it speaks of."""
        return self.plan.searched or self.request.query_text

    @property
    def asks_for_list(self) -> bool:
        """Whether all of a kind is asked for, and ranked by scores of known meaning."""
        is_measured = self.profile.name == "default" and self.kind == "full"
        return self.plan.breadth == "all" and is_measured

    def above_level(self, cosines: FloatArray) -> FloatArray:
        """Return cosines, or NaN, as what the embedder has beyond its level: 0 there, 1 at most."""
        if not self.level:
            return cosines
        above: FloatArray = (cosines - np.float32(self.level)) / np.float32(1.0 - self.level)
        return above

    def pool_size(self, configured: int) -> int:
        """Return the size of a pool: the configured one, or twice the results wanted."""
        return max(configured * self.pool_factor, 2 * self.request.ctx.top_k)


def mode_of(request: RecallRequest, plan: QueryPlan) -> str:
    """Return the mode that a request names or, where it leaves that open, the question's own."""
    asked = request.ctx.mode
    return plan.mode if asked == "hybrid" else asked


class Run(msgspec.Struct, frozen=True):
    """What one source found for one question, best first; scores of one run only compare."""

    source: str
    ids: IdArray
    scores: FloatArray

    @classmethod
    @functools.cache
    def empty(cls, source: str) -> Run:
        """Return the run of a source that found nothing."""
        return cls(source, _NO_IDS, _NO_SCORES)

    def __len__(self) -> int:
        """Count the hits."""
        return len(self.ids)

    def within(self, other: Run) -> Run:
        """Return the hits that another run has as well."""
        return self.where(among(self.ids, other.ids))

    def where(self, kept: BoolArray) -> Run:
        """Return the hits whose flag is set, of flags (n,), in their order."""
        return Run(self.source, self.ids[kept], self.scores[kept])


class PathStep(NamedTuple):
    """One step of a path through the graph: the node it came from, and the kind of edge."""

    node: int
    kind: str


class Boost(NamedTuple):
    """How much the graph raises a memory, in [0, 1], and the path from an entity to it."""

    value: float
    path: tuple[PathStep, ...]


class Subgraph(msgspec.Struct, frozen=True):
    """Some nodes (n,), and the edges among them; ``ends`` number the nodes."""

    nodes: IdArray
    ends: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]
    kinds: tuple[str, ...]


class GraphRun(msgspec.Struct, frozen=True):
    """A run of the graph, with the subgraph it came from.

    ``reset`` (s,), 0 or more: how strongly the walk starts at each seed, which are the first nodes.
    ``bias`` by node: how surely a memory is linked to what the question names.
    """

    run: Run
    subgraph: Subgraph | None = None
    reset: FloatArray | None = None
    bias: Mapping[int, Boost] = msgspec.field(default_factory=dict)


NO_GRAPH = GraphRun(Run.empty("graph"))


class Pool(msgspec.Struct, frozen=True):
    """Fused runs: ``ids`` (n,) best first, ``rrf`` (n,), the run of each source, the graph's."""

    ids: IdArray
    rrf: FloatArray
    runs: Mapping[str, Run]
    graph: GraphRun = NO_GRAPH


Telling = Literal["theirs", "open", "absent", "another's", "another day's"]
"""Whether a text tells of somebody: surely; perhaps, as by a pronoun; not at all; or of another.

Or of another *today* than is asked about."""


class Owned(NamedTuple):
    """What a candidate tells of those whom the question asks of, and whose it is instead.

    ``is_on_day``: whether it is of the days that *today* or *last week* in the question mean.
    """

    telling: Telling
    whose: str = ""
    is_on_day: bool = False

    @property
    def is_elsewhere(self) -> bool:
        """Whether it tells of somebody else, or of another day."""
        return self.telling in {"another's", "another day's"}


class Successor(msgspec.Struct, frozen=True):
    """The candidate that replaces an older one: its row, since when in epoch seconds, and why."""

    row: int
    since_s: float
    reason: str


class Ranking(msgspec.Struct, frozen=True):
    """Candidates on their way to becoming results.

    ``features`` (n, f) and ``weights`` (f,) in the order of ``features.FEATURES``;
    ``score`` (n,) is their product and nothing else; ``order`` (m,) the rows chosen so far,
    best first; ``duplicates`` by row the near copies it represents; ``superseded_by`` by row the
    newer candidate that answers the question otherwise; ``reply_to`` by row the one it replies to;
    ``rank_by_score`` by row the rank it had before diversity moved it.
    ``closest`` (n, q) is the cosine of each question token and the closest token of each row, NaN
    where unknown; None if they were not compared. ``owned`` by row whose fact it tells, of those
    that were read. ``outdated`` is how probably the first is not how it is now, by what was said
    later; 0 where nothing was.
    """

    rows: Rows
    features: FloatArray
    weights: FloatArray
    score: FloatArray
    order: IdArray
    duplicates: Mapping[int, tuple[int, ...]] = msgspec.field(default_factory=dict)
    superseded_by: Mapping[int, Successor] = msgspec.field(default_factory=dict)
    reply_to: Mapping[int, int] = msgspec.field(default_factory=dict)
    rank_by_score: Mapping[int, int] = msgspec.field(default_factory=dict)
    closest: FloatArray | None = None
    owned: Mapping[int, Owned] = msgspec.field(default_factory=dict)
    outdated: float = 0.0

    def __len__(self) -> int:
        """Count the rows chosen so far."""
        return len(self.order)


def inner_products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return all inner products of rows (m, d) and rows (n, d), in chunks on one thread: (m, n).

    OpenBLAS spreads a larger product over every core. On a busy device its threads wait for each
    other: 9 ms instead of 0.2.
    """
    m, d = left.shape
    chunk = max(_SINGLE_THREADED // max(m * d, 1), 1)
    products = np.empty((m, len(right)), np.float32)
    for start in range(0, len(right), chunk):
        rows = right[start : start + chunk]
        np.matmul(left, rows.T, out=products[:, start : start + chunk])
    return products


def by_score(score: FloatArray, doc_ids: tuple[str, ...]) -> IdArray:
    """Order rows by score, highest first; ties by doc_id, so that an answer can be repeated.

    >>> by_score(np.array([0.5, 0.9, 0.9], np.float32), ("c", "b", "a")).tolist()
    [2, 1, 0]
    """
    order = np.argsort(-score, kind="stable")
    sorted_score = score[order]
    if (sorted_score[1:] == sorted_score[:-1]).any():
        order = np.lexsort((np.array(doc_ids, dtype=str), -score))
    return order
