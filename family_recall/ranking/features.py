"""Features: candidates in, one declared and normalised number for each thing we look at out.

Every feature has an absolute range, never one stretched over the candidates of a question:
so a score means the same for two questions, and confidence can be calibrated on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from family_recall.config import HALF_LIFE_DAYS
from family_recall.dataflow import Pool, QueryContext, QueryPlan
from family_recall.ranking import bm25
from family_recall.ranking.decay import half_life_decay
from family_recall.stores.records import Rows, among, time_words
from family_recall.types import FloatArray, IdArray

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing the ranker looks at: its range, its value when unknown, and where it is from."""

    name: str
    low: float
    high: float
    absent: float
    meaning: str


FEATURES = (
    Feature("bm25", 0, 1, 0, "share of the BM25 score the question's words could reach"),
    Feature("cosine", 0, 1, 0, "cosine of question and memory, negative as 0"),
    Feature("maxsim", 0, 1, 0, "how close each question token's closest token comes"),
    Feature("static", 0, 1, 0, "cosine by the static embedder, where it answered instead"),
    Feature("pending", 0, 1, 0, "bm25 again, for a memory whose vectors are still to be made"),
    Feature("identifier", 0, 1, 0, "how exactly it holds what the question quotes"),
    Feature("session", 0, 1, 0, "relevance of the most relevant candidate of its talk"),
    Feature("entities", 0, 1, 0, "share of the things the question names that it mentions"),
    Feature("ppr", 0, 1, 0, "PageRank from the best candidates and what the question names"),
    Feature("graph_bias", 0, 1, 0, "confidence of its link to what the question names"),
    Feature("rrf", 0, 1, 0, "fused reciprocal rank, of what being first everywhere gives"),
    Feature("rrf_raw", 0, 0.1, 0, "fused reciprocal rank as it is"),
    Feature("rrf_decayed", 0, 0.1, 0, "fused reciprocal rank times the profile's recency"),
    Feature("recency", 0, 1, 1, "half-life decay of age by category"),
    Feature("temporal_match", 0, 1, 0, "how surely it is in the time asked about, fading around"),
    Feature("tells_when", 0, 1, 0, "1 when the question asks for a time and it tells one"),
    Feature("tier", 0, 1, 0, "relevance, where its tier is expected to answer and episodes not"),
    Feature("importance", 0, 1, 0.5, "importance as stored"),
    Feature("personalization", 0, 1, 0, "1 when the asker wrote it"),
    Feature("emotion", 0, 1, 0, "strength of feeling as stored"),
    Feature("identity", 0, 1, 0, "1 for identity and family"),
    Feature("length", 0, 1, 0, "how far a memory is from too short and too long"),
    Feature("source_prior", 0, 1, 0.5, "trust in what found it: several sources above one"),
    Feature("cross_encoder", 0, 1, 0, "probability the cross-encoder gives the pair"),
)  # fmt: skip

_ABSENT = np.array([feature.absent for feature in FEATURES], np.float32)

INDEX: Mapping[str, int] = {feature.name: at for at, feature in enumerate(FEATURES)}

TIERS = {
    "fact": "facts",
    "profile": "facts",
    "milestone": "milestones",
    "episode": "episodes",
    "observation": "episodes",
    "summary": "episodes",
    "chunk": "episodes",
}
"""The tier each kind of memory belongs to (three-tier memory design)."""

LASTING = [kind for kind, tier in TIERS.items() if tier != "episodes"]
"""Kinds that do not fade, whatever their category: facts and milestones (the same design)."""

_SOURCES = ("lexical", "vector", "graph")
_SHORT_WORDS, _LONG_WORDS = 4, 250


def absent(n: int) -> FloatArray:
    """Give every feature's value when unknown: shape (n, f)."""
    return np.tile(_ABSENT, (n, 1))


def compute(
    pool: Pool,
    rows: Rows,
    max_sim: FloatArray | None,
    cosines: FloatArray | None,
    mentions: Sequence[tuple[int, int]],
    context: QueryContext,
) -> FloatArray:
    """Compute the features that the profile weighs; the others stay as when unknown.

    Args:
        pool: The fused candidates.
        rows: Their columns, ascending by id; those out of scope are gone.
        max_sim: Late interaction (n,), NaN where unknown; None if it did not run.
        cosines: Cosine (n,), NaN where unknown; None if nothing was encoded. By whose vectors,
            `context.kind` says: those of two models are two features.
        mentions: (memory, entity) pairs among the candidates and what the question names.
        context: The question.

    Returns:
        Shape (n, f) in the order of :data:`FEATURES`, each inside its declared range.
    """
    candidates = _Candidates(pool, rows, mentions, context)
    values = absent(len(rows))
    weights = context.profile.weights

    def put(name: str, column: npt.NDArray[np.floating] | None) -> None:
        if column is not None:
            feature = FEATURES[INDEX[name]]
            # A third of what np.clip takes for so few; NaN stays NaN, and so what it was.
            within = np.minimum(np.maximum(column, feature.low), feature.high)
            np.copyto(values[:, INDEX[name]], within, where=~np.isnan(within))

    put("bm25", candidates.bm25())
    put("static" if context.kind == "static" else "cosine", cosines)
    put("maxsim", max_sim)
    if cosines is not None:
        put("pending", np.where(np.isnan(cosines), values[:, INDEX["bm25"]], 0.0))
    if "session" in weights or "tier" in weights:
        relevance = base_relevance(values, weights)
        put("session", best_of_session(rows, relevance))
        put("tier", relevance * above_episodes(rows, context.plan))
    for name, column in candidates.columns().items():
        if name in weights:
            put(name, column())
    return values


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The features that are read off the candidates themselves, each a method."""

    pool: Pool
    rows: Rows
    mentions: Sequence[tuple[int, int]]
    context: QueryContext

    def columns(self) -> Mapping[str, Callable[[], FloatArray]]:
        """Give what computes each feature, by name."""
        rows = self.rows
        return {
            "entities": self.entities,
            "ppr": self.ppr,
            "graph_bias": self.graph_bias,
            "rrf": lambda: self.rrf() * (self.context.profile.rrf_k + 1) / len(_SOURCES),
            "rrf_raw": self.rrf,
            "rrf_decayed": lambda: self.rrf() * recency_of(rows, self.context),
            "recency": lambda: recency_of(rows, self.context),
            "temporal_match": lambda: temporal_match(rows, self.context.plan),
            "tells_when": self.tells_when,
            "identifier": self.identifier,
            "importance": lambda: rows.importance,
            "personalization": self.personalization,
            "emotion": lambda: np.abs(rows.valence) * (0.5 + 0.5 * rows.arousal),
            "identity": self.identity,
            "length": self.length,
            "source_prior": self.source_prior,
        }

    def bm25(self) -> FloatArray:
        plan, config = self.context.plan, self.context.config
        stems = [stem for _, stem in plan.terms]
        scores = bm25.okapi(self.rows, stems, plan.statistics, config.column_weights)
        return (scores / max(bm25.attainable(plan.statistics), 1e-9)).astype(np.float32)

    def rrf(self) -> FloatArray:
        return _aligned(self.pool.ids, self.pool.rrf, self.rows)

    def ppr(self) -> FloatArray:
        graph = self.pool.runs["graph"]
        return _aligned(graph.ids, graph.scores, self.rows)

    def tells_when(self) -> FloatArray:
        """Whether a memory's own words tell a time, where the question asks for one."""
        rows = self.rows
        told = np.zeros(len(rows), np.float32)
        if self.context.plan.asks_when:
            telling = np.isin(rows.words["stem"], time_words()) & (rows.words["body"] > 0)
            told[rows.word_rows[telling]] = 1.0
        return told

    def identifier(self) -> FloatArray:
        quoted = self.pool.runs["identifier"]
        return _aligned(quoted.ids, quoted.scores, self.rows)

    def graph_bias(self) -> FloatArray:
        bias = self.pool.graph_bias
        return np.array([bias.get(memory, 0.0) for memory in self.rows.ids.tolist()], np.float32)

    def source_prior(self) -> FloatArray:
        found = np.zeros(len(self.rows), np.float32)
        for run in self.pool.runs.values():
            found += among(self.rows.ids, run.ids)
        return found / np.float32(len(_SOURCES))

    def personalization(self) -> FloatArray:
        asker = self.context.scope.person_id
        return _flags(author is not None and author == asker for author in self.rows.authors)

    def identity(self) -> FloatArray:
        return _flags(category in {"identity", "family"} for category in self.rows.categories)

    def length(self) -> FloatArray:
        words = self.rows.n_words
        short = np.minimum(words / _SHORT_WORDS, 1.0)
        long = _LONG_WORDS / np.maximum(words, _LONG_WORDS)
        fit: FloatArray = np.minimum(short, long).astype(np.float32)
        return fit

    def entities(self) -> FloatArray:
        named = {
            entity.id: entity.person_id or entity.name for entity in self.context.plan.entities
        }
        if not named or not len(self.rows):
            return np.zeros(len(self.rows), np.float32)
        found: dict[int, set[str]] = {}
        for memory, entity in self.mentions:
            found.setdefault(memory, set()).add(named[entity])
        things = len(set(named.values()))
        counts = [len(found.get(memory, ())) for memory in self.rows.ids.tolist()]
        share: FloatArray = np.array(counts, np.float32) / np.float32(things)
        return share


def weight_of(name: str, weights: Mapping[str, float]) -> float:
    """Weight of a feature.

    What is pending, and what the static embedder says where a profile does not weigh it itself,
    weighs what the transformer's vectors would have weighed.
    """
    if name in weights or name not in {"pending", "static"}:
        return weights.get(name, 0.0)
    return weights.get("cosine", 0.0) + weights.get("maxsim", 0.0)


def base_relevance(values: FloatArray, weights: Mapping[str, float]) -> FloatArray:
    """Mean of words, vector and tokens by their weights: what a talk lends, in [0, 1]."""
    names = ("bm25", "cosine", "maxsim", "pending", "static")
    columns = [INDEX[name] for name in names]
    share = np.array([max(weight_of(name, weights), 0.0) for name in names], np.float32)
    total = float(share[:3].sum())
    if total == 0.0:
        share, total = np.array([1.0, 1.0, 1.0, 2.0, 2.0], np.float32), 3.0
    relevance: FloatArray = values[:, columns].dot(share / np.float32(total))
    return relevance


def above_episodes(rows: Rows, plan: QueryPlan) -> FloatArray:
    """What the question's strategy gives a memory's tier beyond what it gives episodes, (n,)."""
    shares = plan.tier_weights
    above = {
        tier: plan.strategy_confidence * max(share - shares["episodes"], 0.0)
        for tier, share in shares.items()
    }
    return np.array([above.get(TIERS[kind], 0.0) for kind in rows.kinds], np.float32)


def best_of_session(rows: Rows, relevance: FloatArray) -> FloatArray:
    """Relevance of the most relevant candidate of the same talk; its own where there is none."""
    best = np.zeros(int(rows.sessions.max(initial=-1)) + 1, np.float32)
    np.maximum.at(best, rows.sessions, relevance)
    return best[rows.sessions]


def recency_of(rows: Rows, context: QueryContext) -> FloatArray:
    """Decay by category or by the profile's one half-life; 1 for a question about the past."""
    profile = context.profile
    if context.plan.past_reference:
        return np.ones(len(rows), np.float32)
    if profile.half_life_days is None:
        days = [
            None if kind in LASTING else HALF_LIFE_DAYS[category]
            for kind, category in zip(rows.kinds, rows.categories, strict=True)
        ]
        half_life = np.array([np.inf if each is None else each for each in days])
    else:
        half_life = np.full(len(rows), profile.half_life_days)
    floor = np.where(
        [category in profile.evergreen for category in rows.categories],
        profile.evergreen_floor,
        0.0,
    )
    # What has no moment has no age.
    age_days = np.nan_to_num((context.now_s - rows.occurred_s) / DAY_S, nan=0.0)
    return half_life_decay(age_days, half_life, floor)


def temporal_match(rows: Rows, plan: QueryPlan) -> FloatArray:
    """How surely the time was read, halved for each of its lengths (a day at least) away."""
    if plan.timespan_s is None:
        return np.zeros(len(rows), np.float32)
    start, end = plan.timespan_s
    length = max(end - start, DAY_S) if np.isfinite(end - start) else 30 * DAY_S
    away = np.maximum(np.maximum(start - rows.occurred_s, rows.occurred_s - end), 0.0)
    return (plan.timespan_certainty * np.exp2(-away / length)).astype(np.float32)


def _aligned(ids: IdArray, values: FloatArray, rows: Rows) -> FloatArray:
    """Give the value of each row's id, NaN where there is none."""
    if not len(ids):
        return np.full(len(rows), np.nan, np.float32)
    order = np.argsort(ids)
    at = order[np.minimum(np.searchsorted(ids, rows.ids, sorter=order), len(ids) - 1)]
    return np.where(ids[at] == rows.ids, values[at], np.nan).astype(np.float32)


def _flags(values: Iterable[bool]) -> FloatArray:
    return np.fromiter(values, np.bool_).astype(np.float32)
