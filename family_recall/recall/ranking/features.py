"""The features of a candidate, each declared once with its range.

Ranges are absolute, never scaled to the candidates of one question: so a score means the same
for two questions, and confidence can be calibrated on it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from family_recall.english.lexicon import TIME_STEMS
from family_recall.recall.dataflow import Pool, Profile, QueryContext, QueryPlan
from family_recall.recall.ranking import bm25, temporal
from family_recall.store.memory_queries import MentionedTimes, Rows
from family_recall.store.passages import MOST_IN_PASSAGES, PassageWords
from family_recall.store.scope_sql import among
from family_recall.types import FloatArray, IdArray, kinds_of


@dataclass(frozen=True, slots=True)
class Feature:
    """One input of the ranker: its range [low, high], and its value when unknown."""

    name: str
    low: float
    high: float
    absent: float
    meaning: str


FEATURES = (
    Feature("bm25", 0, 1, 0, "share of the BM25 score the question's words could reach"),
    Feature("bm25_squared", 0, 1, 0, "bm25 squared: a few words in common say little, most a lot"),
    Feature("related_words", 0, 1, 0, "share of BM25 that words of like meaning add"),
    Feature("cosine", 0, 1, 0, "cosine of question and memory, negative as 0"),
    Feature("maxsim", 0, 1, 0, "how close each question token's closest token comes"),
    Feature("static", 0, 1, 0, "cosine by the static embedder, where it answered instead"),
    Feature("pending", 0, 1, 0, "bm25 again, for a memory that has no vector to compare yet"),
    Feature("belongs", 0, 1, 0, "mean cosine with the best of a list that the question asks for"),
    Feature("identifier", 0, 1, 0, "how exactly it holds what the question quotes"),
    Feature("session", 0, 1, 0, "relevance of the most relevant candidate of its session"),
    Feature("entities", 0, 1, 0, "share of the things the question names that it mentions"),
    Feature("near_focus", 0, 1, 0, "how near it is to what is being talked about"),
    Feature("evidence", 0, 1, 0, "how surely it says who is what to whom, as the question asks"),
    Feature("ppr", 0, 1, 0, "PageRank from the best candidates and what the question names"),
    Feature("graph_bias", 0, 1, 0, "confidence of its link to what the question names"),
    Feature("rrf", 0, 1, 0, "fused reciprocal rank, as a share of being first in every source"),
    Feature("rrf_raw", 0, 0.1, 0, "fused reciprocal rank as it is"),
    Feature("rrf_decayed", 0, 0.1, 0, "fused reciprocal rank times the profile's recency"),
    Feature("recency", 0, 1, 1, "half-life decay of age by category"),
    Feature("temporal_match", 0, 1, 0, "how surely it is in the time asked about, fading around"),
    Feature("tells_when", 0, 1, 0, "1 when the question asks for a time and it states one"),
    Feature("event_kind", 0, 1, 0, "1 for the kind of event whose time the question asks for"),
    Feature("matters", 0, 1, 0, "how much it mattered, where nothing but a time is asked"),
    Feature("tier", 0, 1, 0, "relevance, where its tier is expected to answer and episodes not"),
    Feature("tier_share", 0, 1, 0, "share that the question's strategy gives its tier"),
    Feature("in_mode", 0, 1, 0, "1 for the kinds that the question's mode searches"),
    Feature("concerns", 0, 1, 0, "how surely it is about those asked about, and how important"),
    Feature("importance", 0, 1, 0.5, "importance as stored"),
    Feature("personalization", 0, 1, 0, "1 when the asker wrote it"),
    Feature("emotion", 0, 1, 0, "strength of feeling as stored"),
    Feature("affect_compat", 0, 1, 0, "how near its feeling is to the asker's, if given"),
    Feature("identity", 0, 1, 0, "1 for identity and family"),
    Feature("length", 0, 1, 0, "how far a memory is from too short and too long"),
    Feature("source_prior", 0, 1, 0.5, "how often what a source that found it puts first is right"),
    Feature("cross_encoder", 0, 1, 0, "probability the cross-encoder gives the pair"),
    Feature("withheld", 0, 10, 0, "score that a memory which only asks loses"),
    Feature("inherited", 0, 10, 0, "score of the one it was placed above, as far as it lacked it"),
    Feature("rejected", 0, 10, 0, "score that it loses, since the asker rejected it for the like"),
)  # fmt: skip

_ABSENT, _LOW, _HIGH = np.array(
    [(feature.absent, feature.low, feature.high) for feature in FEATURES], np.float32
).T
INDEX: Mapping[str, int] = {feature.name: at for at, feature in enumerate(FEATURES)}

_RELEVANCE = ("bm25", "cosine", "maxsim", "pending", "static")
_OF_RELEVANCE = [INDEX[name] for name in _RELEVANCE]

FOR_SOME = frozenset(
    ("concerns", "evidence", "near_focus", "inherited", "rejected", "related_words", "withheld")
)
"""Features that are of no interest where they are 0: most candidates have none of them."""

_FOUND_BY = {
    "near_focus": "focus",
    "ppr": "graph",
    "evidence": "relation",
    "identifier": "identifier",
}
"""Features that are the score which a source gave."""

_FUSED = frozenset({"rrf", "rrf_raw", "rrf_decayed", "source_prior"})
"""Features by which whatever finds a memory raises it."""

RANKED_BY: Mapping[str, frozenset[str]] = {
    "embed": _FUSED | {"cosine", "maxsim", "static", "belongs"},
    "graph": _FUSED | {"ppr", "graph_bias"},
    "focus": _FUSED | {"near_focus"},
    "period": _FUSED | {"temporal_match"},
    "rerank": frozenset({"cross_encoder"}),
}
"""The features that some stages serve; one that a profile weighs none of does not run.

Late interaction is not among them: how close the question's tokens come is evidence of the status
under every profile, and tells rival statements apart.
"""

_SOURCES = ("lexical", "vector", "graph")
SOURCE_PRIORS: Mapping[str, float] = {"lexical": 0.38, "graph": 0.44, "vector": 0.75}
"""How often what a source puts first answers, in ascending order: the mean over the development
halves of beam, vehicle, ikat and madial. Other sources have the feature's value when unknown."""
_SHORT_WORDS, _LONG_WORDS = 4, 250
_MAY_BE_LONG = 60  # words of a memory; one of fewer has no passages, in any script with spaces
_MOST_LONG = 24  # long memories whose words are counted by passage; each takes 0.2 ms …
_MOST_LONG_WORDS = 3 * _LONG_WORDS * _MOST_LONG  # … and 600 words do


def absent(n: int) -> FloatArray:
    """Return every feature's value when unknown: shape (n, f)."""
    values: FloatArray = _ABSENT[np.newaxis].repeat(n, axis=0)
    return values


def compute(
    pool: Pool,
    rows: Rows,
    max_sim: FloatArray | None,
    cosines: FloatArray | None,
    mentions: Sequence[tuple[int, int]],
    context: QueryContext,
    times: MentionedTimes = temporal.NO_MENTIONS,
) -> FloatArray:
    """Compute the features that the profile weighs; the others keep their value when unknown.

    Args:
        pool: The fused candidates.
        rows: Their columns, ascending by id, without those out of scope.
        max_sim: Late interaction (n,), NaN where unknown; None if it did not run.
        cosines: Cosine (n,), NaN where unknown; None if nothing was encoded. ``context.kind``
            names the embedder: the vectors of two models are two features.
        mentions: (memory, entity) pairs among the candidates and the question's entities.
        context: The question.
        times: What the candidates mention, if the question names a time.

    Returns:
        Shape (n, f) in the order of :data:`FEATURES`, each inside its declared range.
    """
    columns = _Columns(pool, rows, mentions, context, times)
    values = absent(len(rows))
    weights = context.profile.weights
    words = _share_of_words(context, rows)

    def put(name: str, column: npt.NDArray[np.floating] | None) -> None:
        if column is not None:
            at = INDEX[name]
            values[:, at] = column
            if _ABSENT[at] > _LOW[at]:
                values[np.isnan(values[:, at]), at] = _ABSENT[at]

    put("bm25", words)
    put("bm25_squared", words**2)
    put("static" if context.kind == "static" else "cosine", cosines)
    put("maxsim", max_sim)
    if cosines is not None:
        put("pending", np.where(np.isnan(cosines), words, 0.0))
    elif not (weights.get("bm25") or weights.get("bm25_squared")):
        # Nothing was encoded: what is ranked by meaning and not by words is, then.
        put("pending", words)
    for name, weight in weights.items():
        if weight and name in _FOUND_BY:
            put(name, columns.scores_of(_FOUND_BY[name]))
        elif weight and (column := getattr(_Columns, name, None)) is not None:
            put(name, column(columns))
    # Each inside its range, and what is NaN at its lowest value.
    np.fmax(values, _LOW, out=values)
    np.minimum(values, _HIGH, out=values)
    if weights.get("session") or weights.get("tier"):
        relevance = base_relevance(values, context.profile)
        put("session", best_of_session(rows, relevance))
        put("tier", above_episodes(rows, relevance, context.plan))
    return values


def _share_of_words(context: QueryContext, rows: Rows) -> FloatArray:
    """Return the share of the attainable BM25 that each candidate has, (n,)."""
    plan = context.plan
    stems = [stem for _, stem in plan.terms]

    def long_words(scores: FloatArray) -> PassageWords | None:
        """Count the question's words in the passages of the best long memories that hold some."""
        if context.model_id is None or rows.n_words.max(initial=0) <= _MAY_BE_LONG:
            return None
        held = rows.ids[(scores > 0.0) & (rows.n_words <= MOST_IN_PASSAGES)]
        long = context.snapshot.long_among(context.model_id, held, context.scope)
        if not len(long):
            return None
        at = np.searchsorted(rows.ids, long)
        if len(long) > _MOST_LONG or rows.n_words[at].sum() > _MOST_LONG_WORDS:
            best = np.argsort(-scores[at], kind="stable")[:_MOST_LONG]
            long = np.sort(long[best[rows.n_words[at[best]].cumsum() <= _MOST_LONG_WORDS]])
        deadline = context.deadline
        return context.snapshot.passage_words(
            long, stems, context.scope, lambda: deadline.remaining_ms() <= 0.0
        )

    weights = context.config.column_weights
    scores = bm25.okapi(rows, stems, plan.statistics, weights, long_words)
    return (scores / max(bm25.attainable(plan.statistics), 1e-9)).astype(np.float32)


class _Columns(msgspec.Struct, frozen=True):
    """The features that follow from the candidates themselves: a method of each one's name."""

    pool: Pool
    rows: Rows
    mentions: Sequence[tuple[int, int]]
    context: QueryContext
    times: MentionedTimes

    def scores_of(self, source: str) -> FloatArray | None:
        """Return the score that a source gave each candidate, NaN where it gave none."""
        run = self.pool.runs.get(source)
        return None if run is None else _aligned(run.ids, run.scores, self.rows)

    def related_words(self) -> FloatArray | None:
        plan = self.context.plan
        return bm25.related_share(self.rows, plan) if plan.related_words else None

    def rrf_raw(self) -> FloatArray:
        return _aligned(self.pool.ids, self.pool.rrf, self.rows)

    def rrf(self) -> FloatArray:
        first = np.float32(self.context.profile.rrf_k + 1)
        share: FloatArray = self.rrf_raw() * first / np.float32(len(_SOURCES))
        return share

    def rrf_decayed(self) -> FloatArray:
        return self.rrf_raw() * self.recency()

    def recency(self) -> FloatArray:
        return temporal.recency_of(self.rows, self.context)

    def temporal_match(self) -> FloatArray:
        context = self.context
        return temporal.temporal_match(self.rows, context.plan, self.times, now_s=context.now_s)

    def event_kind(self) -> FloatArray | None:
        return temporal.of_kind(self.rows, self.context.plan)

    def matters(self) -> FloatArray | None:
        return temporal.mattering(self.rows, self.context.plan)

    def tells_when(self) -> FloatArray | None:
        """Whether a memory's own words name a time, if the question asks for one."""
        if not self.context.plan.asks_when:
            return None
        words = self.rows.words
        return temporal.marked(self.rows, words.rows_with(_time_words(), words.in_body))

    def concerns(self) -> FloatArray | None:
        concerned = self.scores_of("about")
        return None if concerned is None else concerned * (0.5 + 0.5 * self.importance())

    def belongs(self) -> FloatArray | None:
        """Return the mean cosine of each body with the exemplars of a list, itself left out."""
        exemplars, model_id = self.context.exemplars, self.context.model_id
        if exemplars is None or model_id is None or not len(self.rows):
            return None
        bodies = self.context.snapshot.bodies(model_id, self.rows.ids, self.context.scope)
        is_exemplar = among(self.rows.ids, exemplars)
        itself = (is_exemplar & bodies.any(axis=1)).astype(np.float32)
        cosines = self.context.above_level(bodies.dot(bodies[is_exemplar].T))
        similarity = cosines.sum(axis=1) - itself
        mean: FloatArray = similarity / np.maximum(is_exemplar.sum() - itself, 1.0)
        return mean

    def importance(self) -> FloatArray:
        return np.array(self.rows.importance, np.float32)

    def graph_bias(self) -> FloatArray | None:
        bias = self.pool.graph.bias
        if not bias:
            return None
        ids = self.rows.ids.tolist()
        return np.array([bias[id_].value if id_ in bias else 0.0 for id_ in ids], np.float32)

    def tier_share(self) -> FloatArray:
        shares = self.context.plan.tier_weights
        return np.array(
            [shares.get(temporal.TIERS[kind], 0.0) for kind in self.rows.kinds], np.float32
        )

    def in_mode(self) -> FloatArray:
        kinds = kinds_of(self.context.mode)
        return _flags(kind in kinds for kind in self.rows.kinds)

    def emotion(self) -> FloatArray:
        valence, arousal = np.array([self.rows.valence, self.rows.arousal], np.float32)
        strength: FloatArray = np.abs(valence) * (0.5 + 0.5 * arousal)
        return strength

    def affect_compat(self) -> FloatArray | None:
        affect = self.context.request.ctx.affect
        if affect is None:
            return None
        valence, arousal = np.array([self.rows.valence, self.rows.arousal], np.float32)
        apart = np.abs(valence - np.float32(affect.valence)) / 2
        apart += np.abs(arousal - np.float32(affect.arousal))
        near: FloatArray = (1 - apart / 2).astype(np.float32)
        return near

    def source_prior(self) -> FloatArray:
        """The highest prior of the sources that found each, NaN where none has one."""
        prior = np.full(len(self.rows), np.nan, np.float32)
        for source, often in SOURCE_PRIORS.items():
            if (run := self.pool.runs.get(source)) is not None:
                prior[among(self.rows.ids, run.ids)] = often
        return prior

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

    def entities(self) -> FloatArray | None:
        names = {
            entity.id: entity.person_id or entity.name for entity in self.context.plan.entities
        }
        if not names or not self.mentions:
            return None
        mentioned: dict[int, set[str]] = {}
        for memory, entity in self.mentions:
            mentioned.setdefault(memory, set()).add(names[entity])
        n_names = len(set(names.values()))
        counts = [len(mentioned.get(memory, ())) for memory in self.rows.ids.tolist()]
        share: FloatArray = np.array(counts, np.float32) / np.float32(n_names)
        return share


def weight_of(name: str, weights: Mapping[str, float]) -> float:
    """Return the weight of a feature.

    ``pending`` and ``static``, if a profile does not weigh them itself, weigh as much as the
    transformer's vectors that they replace. ``inherited``, ``withheld`` and ``rejected`` are
    scores already, and weigh 1 and −1.
    """
    if name in {"inherited", "withheld", "rejected"}:
        return 1.0 if name == "inherited" else -1.0
    if name in weights or name not in {"pending", "static"}:
        return weights.get(name, 0.0)
    return weights.get("cosine", 0.0) + weights.get("maxsim", 0.0)


def is_served(stage: str, profile: Profile) -> bool:
    """Return whether a profile weighs anything that a stage of :data:`RANKED_BY` finds."""
    if stage == "graph" and not profile.walks_graph:
        return False
    return any(map(profile.weights.get, RANKED_BY[stage]))


def base_relevance(values: FloatArray, profile: Profile) -> FloatArray:
    """Return the weighted mean of words, vectors and tokens (n,), in [0, 1] but for rounding.

    Words count by ``bm25`` itself, also where a profile weighs its square.
    """
    relevance: FloatArray = values[:, _OF_RELEVANCE].dot(_shares_of_relevance(profile))
    return relevance


@functools.lru_cache(maxsize=16)
def _shares_of_relevance(profile: Profile) -> FloatArray:
    weights = profile.weights
    share = np.array([max(weight_of(name, weights), 0.0) for name in _RELEVANCE], np.float32)
    share[0] += max(weight_of("bm25_squared", weights), 0.0)
    total = float(share[:3].sum())
    if total == 0.0:
        share, total = np.array([1.0, 1.0, 1.0, 2.0, 2.0], np.float32), 3.0
    share /= np.float32(total)
    share.setflags(write=False)
    return share


def above_episodes(rows: Rows, relevance: FloatArray, plan: QueryPlan) -> FloatArray | None:
    """Return relevance by how much more is expected of a memory's tier than of episodes, (n,).

    In [0, 1]; None where the strategy expects no more of any.
    """
    share_of = plan.tier_weights.get
    episodes, sure = share_of("episodes", 0.0), plan.strategy_confidence
    above = {
        kind: sure * max(share_of(tier, 0.0) - episodes, 0.0)
        for kind, tier in temporal.TIERS.items()
    }
    if not any(map(above.get, {*rows.kinds})):
        return None
    expected = np.array([above[kind] for kind in rows.kinds], np.float32)
    tier: FloatArray = np.minimum(relevance * expected, 1.0)
    return tier


def best_of_session(rows: Rows, relevance: FloatArray) -> FloatArray:
    """Return the relevance of the most relevant candidate of the same session, (n,) in [0, 1]."""
    best = np.zeros(len(rows), np.float32)
    np.maximum.at(best, rows.sessions, relevance)
    return np.minimum(best[rows.sessions], 1.0)


@functools.cache
def _time_words() -> npt.NDArray[np.uint32]:
    return temporal.numbered(TIME_STEMS)


def _aligned(ids: IdArray, values: FloatArray, rows: Rows) -> FloatArray:
    """Return the value of each row's id, NaN for an id that has none."""
    aligned = np.full(len(rows), np.nan, np.float32)
    if len(rows):
        at = rows.ids.searchsorted(ids)
        here = rows.ids.take(at, mode="clip") == ids
        aligned[at[here]] = values[here]
    return aligned


def _flags(values: Iterable[bool]) -> FloatArray:
    return np.fromiter(values, np.bool_).astype(np.float32)
