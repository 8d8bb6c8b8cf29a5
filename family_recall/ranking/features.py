"""Features: candidates in, one declared and normalised number for each thing we look at out.

Every feature has an absolute range, never one stretched over the candidates of a question:
so a score means the same for two questions, and confidence can be calibrated on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from family_recall.config import HALF_LIFE_DAYS
from family_recall.query.text import normalise
from family_recall.ranking.decay import half_life_decay
from family_recall.sources import bm25
from family_recall.stage import Pool, QueryContext
from family_recall.stores.base import Rows
from family_recall.types import FloatArray

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
    Feature("session", 0, 1, 0, "relevance of the most relevant candidate of its talk"),
    Feature("entities", 0, 1, 0, "share of the things the question names that it mentions"),
    Feature("ppr", 0, 1, 0, "PageRank from the best candidates and what the question names"),
    Feature("rrf", 0, 1, 0, "fused reciprocal rank, of what being first everywhere gives"),
    Feature("rrf_raw", 0, 0.1, 0, "fused reciprocal rank as it is"),
    Feature("rrf_decayed", 0, 0.1, 0, "fused reciprocal rank times the profile's recency"),
    Feature("recency", 0, 1, 1, "half-life decay of age by category"),
    Feature("temporal_match", 0, 1, 0, "1 inside the time the question speaks of, fading around"),
    Feature("importance", 0, 1, 0.5, "importance as stored"),
    Feature("personalization", 0, 1, 0, "1 when the asker wrote it"),
    Feature("emotion", 0, 1, 0, "strength of feeling as stored"),
    Feature("identity", 0, 1, 0, "1 for identity and family"),
    Feature("length", 0, 1, 0, "how far a memory is from too short and too long"),
    Feature("source_prior", 0, 1, 0.5, "trust in what found it: several sources above one"),
    Feature("cross_encoder", 0, 1, 0, "probability the cross-encoder gives the pair"),
)  # fmt: skip

INDEX: Mapping[str, int] = {feature.name: at for at, feature in enumerate(FEATURES)}

_SOURCES = ("lexical", "vector", "graph")
_SHORT_WORDS, _LONG_WORDS = 4, 250


def absent(n: int) -> FloatArray:
    """Give every feature's value when unknown: shape (n, f)."""
    return np.tile(np.array([feature.absent for feature in FEATURES], np.float32), (n, 1))


def compute(
    pool: Pool, rows: Rows, max_sim: FloatArray | None, cosines: FloatArray | None,
    context: QueryContext,
) -> FloatArray:  # fmt: skip
    """Compute the features of hydrated candidates.

    Args:
        pool: The fused candidates.
        rows: Their columns, ascending by id; those out of scope are gone.
        max_sim: Late interaction (n,), NaN where unknown; None if it did not run.
        cosines: Cosine (n,), NaN where unknown; None if nothing was encoded.
        context: The question.

    Returns:
        Shape (n, f) in the order of :data:`FEATURES`, each inside its declared range.
    """
    values = absent(len(rows))

    def put(name: str, column: npt.NDArray[np.floating]) -> None:
        feature = FEATURES[INDEX[name]]
        known = ~np.isnan(column)
        values[known, INDEX[name]] = np.clip(column[known], feature.low, feature.high)

    stems = [stem for _, stem in context.plan.terms]
    statistics = context.snapshot.word_statistics(stems, context.scope)
    scores = bm25.okapi(rows, stems, statistics, context.config.column_weights)
    put("bm25", scores / max(bm25.attainable(statistics), 1e-9))
    if cosines is not None:
        put("cosine", np.maximum(cosines, 0.0))
    if max_sim is not None:
        put("maxsim", max_sim)
    put("session", best_of_session(rows, base_relevance(values, context.profile.weights)))

    order = np.argsort(pool.ids)
    at = order[np.searchsorted(pool.ids, rows.ids, sorter=order)]
    rrf = pool.rrf[at]
    recency = recency_of(rows, context)
    put("rrf", rrf * (context.profile.rrf_k + 1) / len(_SOURCES))
    put("rrf_raw", rrf)
    put("rrf_decayed", rrf * recency)
    put("recency", recency)
    put("source_prior", _found_by(pool, rows) / len(_SOURCES))
    graph = pool.runs.get("graph")
    if graph is not None and len(graph):
        put("ppr", _scores_of(graph.ids, graph.scores, rows))

    put("entities", _entity_share(rows, context))
    put("personalization", _flags(
        author is not None and author == context.scope.person_id for author in rows.authors
    ))  # fmt: skip
    put("temporal_match", temporal_match(rows, context.plan.timespan_s))
    put("importance", rows.importance)
    put("emotion", np.abs(rows.valence) * (0.5 + 0.5 * rows.arousal))
    put("identity", _flags(category in {"identity", "family"} for category in rows.categories))
    put("length", np.minimum(
        np.minimum(rows.n_words / _SHORT_WORDS, 1.0),
        _LONG_WORDS / np.maximum(rows.n_words, _LONG_WORDS),
    ))  # fmt: skip
    return values


def base_relevance(values: FloatArray, weights: Mapping[str, float]) -> FloatArray:
    """Mean of words, vector and tokens by their weights: what a talk lends, in [0, 1]."""
    columns = [INDEX[name] for name in ("bm25", "cosine", "maxsim")]
    share = np.array([max(weights.get(FEATURES[at].name, 0.0), 0.0) for at in columns], np.float32)
    total = float(share.sum())
    if total == 0.0:
        share, total = np.ones_like(share), float(len(share))
    relevance: FloatArray = values[:, columns] @ (share / total)
    return relevance


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
        table = {name: np.inf if days is None else days for name, days in HALF_LIFE_DAYS.items()}
        half_life = np.array([table[category] for category in rows.categories])
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


def temporal_match(rows: Rows, timespan_s: tuple[float, float] | None) -> FloatArray:
    """1 inside an interval, halved for each of its lengths (a day at least) away from it."""
    if timespan_s is None:
        return np.zeros(len(rows), np.float32)
    start, end = timespan_s
    length = max(end - start, DAY_S) if np.isfinite(end - start) else 30 * DAY_S
    away = np.maximum(np.maximum(start - rows.occurred_s, rows.occurred_s - end), 0.0)
    return np.exp2(-away / length).astype(np.float32)


def _entity_share(rows: Rows, context: QueryContext) -> FloatArray:
    named = context.plan.entities
    if not named or not len(rows):
        return np.zeros(len(rows), np.float32)
    things = {entity.person_id or normalise(entity.name) for entity in named}
    mentions = context.snapshot.mentions(rows.ids, [entity.id for entity in named], context.scope)
    by_id = {entity.id: entity.person_id or normalise(entity.name) for entity in named}
    found: dict[int, set[str]] = {}
    for memory, entity in mentions:
        found.setdefault(memory, set()).add(by_id[entity])
    return np.array(
        [len(found.get(memory, ())) / len(things) for memory in rows.ids.tolist()], np.float32
    )


def _found_by(pool: Pool, rows: Rows) -> FloatArray:
    found = np.zeros(len(rows), np.float32)
    for run in pool.runs.values():
        found += np.isin(rows.ids, run.ids)
    return found


def _scores_of(ids: npt.NDArray[np.int64], scores: FloatArray, rows: Rows) -> FloatArray:
    order = np.argsort(ids)
    at = order[np.minimum(np.searchsorted(ids, rows.ids, sorter=order), len(ids) - 1)]
    return np.where(ids[at] == rows.ids, scores[at], np.nan).astype(np.float32)


def _flags(values: Iterable[bool]) -> FloatArray:
    return np.fromiter(values, np.bool_).astype(np.float32)
