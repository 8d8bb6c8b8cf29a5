"""Ranking: the numbers of the designs, and second implementations to agree with."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.config import HALF_LIFE_DAYS, RecallConfig
from family_recall.recall.candidates import closest_tokens, max_sim, reciprocal_rank_fusion
from family_recall.recall.dataflow import Run, inner_products
from family_recall.recall.ranking.bm25 import attainable, okapi
from family_recall.recall.ranking.distinct import maximal_marginal_relevance, normalised
from family_recall.recall.ranking.features import FEATURES, INDEX
from family_recall.recall.ranking.profiles import profiles
from family_recall.recall.ranking.temporal import half_life_decay
from family_recall.store.vector_search import TokenVectors
from family_recall.types import FloatArray, Scope
from tests.conftest import NOW, found, move_in, open_home, recall, remember, store_of

A, B, C = 11, 22, 33


def run(source: str, *ids: int) -> Run:
    """Make a run, best first."""
    return Run(source, np.array(ids, np.int64), np.arange(len(ids), 0, -1).astype(np.float32))


def fused(*runs: Run) -> dict[int, float]:
    """Fuse with k = 60; gives scores by id."""
    pool = reciprocal_rank_fusion(runs, rrf_k=60)
    return dict(zip(pool.ids.tolist(), pool.rrf.tolist(), strict=True))


# Fusion


def test_agreement_beats_a_single_first_place() -> None:
    """A memory every source finds outranks one that a single source puts first.

    Ranks 1, 2 and 2 with k = 60: 1/61 + 1/62 + 1/62 = 0.0487 (the design cuts it to 0.0486),
    against 1/61 = 0.0164.
    """
    scores = fused(run("lexical", A, C), run("vector", B, A), run("graph", C, A))

    assert scores[A] == pytest.approx(1 / 61 + 1 / 62 + 1 / 62, abs=1e-8)
    assert scores[A] == pytest.approx(0.0487, abs=5e-5)
    assert scores[B] == pytest.approx(0.0164, abs=5e-5)


def test_the_worked_example_of_the_hybrid_design() -> None:
    """Rank 2 by words and 1 by vectors is 0.0325; rank 3 by vectors alone is 0.0159."""
    scores = fused(run("lexical", B, A), run("vector", A, B, C))

    assert scores[A] == pytest.approx(0.0325, abs=5e-5)
    assert scores[C] == pytest.approx(0.0159, abs=5e-5)
    assert scores[A] * half_life_decay(np.array([3.0]), 30.0)[0] == pytest.approx(0.0303, abs=5e-5)
    assert scores[C] * half_life_decay(np.array([45.0]), 30.0)[0] == pytest.approx(0.0056, abs=5e-5)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(1, 12), unique=True, max_size=8), min_size=1, max_size=3))
def test_fusion_is_the_sum_of_reciprocal_ranks(lists: list[list[int]]) -> None:
    """Σ 1 / (k + rank), as a loop over dictionaries has it; ties go to the lower id."""
    expected: Counter[int] = Counter()
    for ids in lists:
        for at, memory in enumerate(ids):
            expected[memory] += 1 / (60 + at + 1)  # type: ignore[assignment]  # a sum of floats
    pool = reciprocal_rank_fusion([run(str(at), *ids) for at, ids in enumerate(lists)], rrf_k=60)

    assert pool.rrf.tolist() == pytest.approx([expected[m] for m in pool.ids.tolist()], abs=1e-8)
    order = sorted(expected, key=lambda m: (-round(expected[m], 12), m))
    assert pool.ids.tolist() == order


# Decay


@pytest.mark.parametrize(
    ("age_days", "plain", "evergreen"),
    [(0, 1.0, 1.0), (30, 0.5, 0.5), (60, 0.25, 0.3), (120, 0.063, 0.3), (3, 0.933, 0.933),
     (45, 0.354, 0.354)],
)  # fmt: skip
def test_the_decay_table_of_the_hybrid_design(
    age_days: float, plain: float, evergreen: float
) -> None:
    """A 30-day half-life, and what is evergreen never falls below 0.3."""
    age = np.array([float(age_days)])

    assert half_life_decay(age, 30.0)[0] == pytest.approx(plain, abs=6e-4)
    assert half_life_decay(age, 30.0, 0.3)[0] == pytest.approx(evergreen, abs=6e-4)


def test_some_things_never_fade() -> None:
    """Identity, family, health and milestones have no half-life; the future has no age."""
    assert {name for name, days in HALF_LIFE_DAYS.items() if days is None} == {
        "identity", "family", "health", "milestone",
    }  # fmt: skip
    assert half_life_decay(np.array([1e6, -5.0]), np.array([np.inf, 30.0])).tolist() == [1.0, 1.0]


def test_fourteen_days_of_tau() -> None:
    """The family_os profile fades by e^(−age/τ) with τ = 14 days."""
    half_life = profiles()["family_os"].half_life_days
    assert half_life is not None
    ages = np.array([0.0, 7.0, 14.0, 28.0])

    assert half_life_decay(ages, half_life) == pytest.approx(np.exp(-ages / 14.0), abs=1e-6)


def test_past_reference_disables_recency(path: Path) -> None:
    """A question about a distant past, in the design's words, leaves old memories their score."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "We talked about a dog", occurred_at=NOW - dt.timedelta(days=900))

        def recency(question: str) -> float:
            answer = recall(home, question, profile="three_tier")
            return answer.results[0].features["recency"]

        past = ("last year", "years ago", "back when we lived in Pune", "last Christmas")
        assert [recency(f"What did I say about a dog {words}?") for words in past] == [1.0] * 4
        assert recency("What did I say about a dog?") < 0.01


# Diversity


def naive_mmr(relevance: FloatArray, similarity: FloatArray, lam: float, k: int) -> list[int]:
    """Pick greedily, straight from the formula."""
    picks: list[int] = []
    while len(picks) < min(k, len(relevance)):
        values = {
            i: lam * float(relevance[i])
            - ((1 - lam) * max(float(similarity[i][j]) for j in picks) if picks else 0.0)
            for i in range(len(relevance))
            if i not in picks
        }
        picks.append(max(values, key=lambda i: (values[i], -i)))
    return picks


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.sampled_from([0.0, 0.35, 0.7, 1.0]), st.integers(1, 15),
       st.integers(0, 999))  # fmt: skip
def test_mmr_agrees_with_the_formula(n: int, lam: float, k: int, seed: int) -> None:
    """The picks are those of a naive greedy loop, each once, at most n."""
    drawn = np.random.default_rng(seed)
    relevance = drawn.random(n)
    rows = drawn.standard_normal((n, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    similarity = rows @ rows.T
    picks = maximal_marginal_relevance(relevance, similarity.__getitem__, mmr_lambda=lam, top_k=k)  # type: ignore[arg-type]  # more exact

    assert picks == naive_mmr(relevance, similarity, lam, k)  # type: ignore[arg-type]  # more exact
    assert lam < 1.0 or picks == np.argsort(-relevance, kind="stable")[:k].tolist()


def test_two_notes_about_one_flight_make_room_for_the_cake() -> None:
    """Rows 0 and 1 say the same: with λ = 0.7 the cake of row 2 comes between them."""
    relevance = np.array([0.90, 0.89, 0.60], np.float32)
    similarity = np.array([[1.0, 0.95, 0.1], [0.95, 1.0, 0.1], [0.1, 0.1, 1.0]], np.float32)

    assert naive_mmr(relevance, similarity, 0.7, 3) == [0, 2, 1]
    assert maximal_marginal_relevance(
        relevance, similarity.__getitem__, mmr_lambda=0.7, top_k=3
    ) == [0, 2, 1]
    with pytest.raises(ValueError, match="mmr_lambda"):
        maximal_marginal_relevance(relevance, similarity.__getitem__, mmr_lambda=1.5, top_k=3)


def test_diversity_keeps_near_duplicates_apart(path: Path) -> None:
    """In an answer, too, the same thing said twice makes room for another thing."""
    with open_home(path) as home:
        move_in(home)
        for at, day in enumerate(("Monday", "Tuesday", "Friday")):
            remember(home, f"The flight to Goa on {day} is at noon", doc_id=f"flight-{at}")
        remember(home, "Otto mends our kitchen tap", doc_id="tap")

        by_score = recall(home, "flight to Goa", "mia", mmr_lambda=1.0, top_k=4)
        diverse = recall(home, "flight to Goa", "mia", mmr_lambda=0.3, top_k=2)
        close, apart = found(by_score)[:2], found(diverse)
        assert close[0] == apart[0]
        assert {name.split("-")[0] for name in close} == {"flight"}
        assert apart[1] == "tap"
        # Its reasons say what moved it, and from where; a result that stays says nothing of it.
        rank = found(by_score).index("tap") + 1
        assert diverse.results[1].rank_by_score == rank
        assert diverse.results[1].reasons[-2] == f"mmr: rank {rank} by score"
        assert [diverse.results[0].rank_by_score, by_score.results[3].rank_by_score] == [None, None]
        assert "mmr" not in " ".join((*diverse.results[0].reasons, *by_score.results[3].reasons))


def test_scores_are_stretched_before_they_meet_a_similarity() -> None:
    """The best is 1 and the last 0, however small the scores; equal scores are all 1."""
    assert normalised(np.array([0.03, 0.02, 0.01], np.float32)) == pytest.approx([1, 0.5, 0])
    assert normalised(np.array([0.2, 0.2], np.float32)).tolist() == [1.0, 1.0]
    assert normalised(np.zeros(0, np.float32)).tolist() == []


# Words


TEXTS = (
    "the fence is green", "paint the fence and the gate green", "green", "gate gate gate open",
    "mia likes the garden gate and the green fence of the garden", "nothing to see here",
    "fence fence", "open the gate on saturday with the green key",
)  # fmt: skip


def naive_bm25(question: list[str]) -> list[float]:
    """BM25 of whole words, straight from the paper, with Lucene's 1 in the idf."""
    bags = [Counter(re.findall(r"\w+", text)) for text in TEXTS]
    average = sum(sum(bag.values()) for bag in bags) / len(bags)
    scores = []
    for bag in bags:
        score, length = 0.0, sum(bag.values())
        for word in question:
            n = sum(word in other for other in bags)
            idf = math.log(1 + (len(bags) - n + 0.5) / (n + 0.5))
            score += idf * bag[word] * 2.2 / (bag[word] + 1.2 * (0.25 + 0.75 * length / average))
        scores.append(score)
    return scores


@pytest.mark.parametrize("question", ["fence", "green gate", "garden fence key", "zebra gate"])
def test_bm25_agrees_with_the_paper(path: Path, question: str) -> None:
    """Scores are those of a naive implementation, and order the memories as FTS5 does."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        for at, text in enumerate(TEXTS):
            remember(home, text, doc_id=f"t{at}")
        run_ids = recall(home, question, "mia").trace.runs["lexical"]
        with store_of(home).snapshot() as snapshot:
            scope = Scope("mia", tuple(p.no for p in snapshot.every_partition()), NOW.timestamp())
            ids = [snapshot.find(f"t{at}", scope).id for at in range(len(TEXTS))]
            rows = snapshot.rows(np.sort(np.array(ids)), scope)
            stems = [stem for _, stem in snapshot.stems(question)]
            statistics = snapshot.word_statistics(stems, scope)
    scores = okapi(rows, stems, statistics, RecallConfig().column_weights)
    expected = naive_bm25(question.split())
    by_id = dict(zip(rows.doc_ids, scores.tolist(), strict=True))

    assert [by_id[f"t{at}"] for at in range(len(TEXTS))] == pytest.approx(expected, abs=1e-5)
    assert max(scores) <= attainable(statistics)
    assert set(run_ids) == {doc_id for doc_id, score in by_id.items() if score > 0}
    ordered = [by_id[doc_id] for doc_id in run_ids]
    assert " " in question or ordered == sorted(ordered, reverse=True)


# Late interaction and features


def test_max_sim_is_the_weighted_mean_of_closest_tokens() -> None:
    """Each question token takes its closest token; below 0 counts as 0; no token is unknown."""
    question = np.eye(2, dtype=np.float32)
    vectors = np.array([[0.6, 0.8], [1.0, 0.0], [-1.0, 0.0]], np.float32)
    tokens = TokenVectors(vectors, np.array([0, 2]), np.array([0, 2]))
    weights = np.array([3.0, 1.0], np.float32)
    closest = closest_tokens(question, weights, tokens, 3)
    scores = max_sim(closest, weights)

    # Row 0: (3·1.0 + 1·0.8) / 4; row 2: (3·0 + 1·0) / 4; row 1 has no tokens.
    assert scores[[0, 2]] == pytest.approx([0.95, 0.0])
    assert np.isnan(scores[1])
    assert closest[0] == pytest.approx([1.0, 0.8])
    assert np.isnan(max_sim(closest, np.zeros(2, np.float32))).all()


def test_a_long_memory_counts_with_the_passage_that_matches_best() -> None:
    """Of passages that match (0.6, 0.8) and (1.0, 0.0), weighed 3 to 1, the second: 0.65 < 0.75."""
    question = np.eye(2, dtype=np.float32)
    vectors = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    tokens = TokenVectors(vectors, np.array([0, 1]), np.array([0, 0]))

    closest = closest_tokens(question, np.array([3.0, 1.0], np.float32), tokens, 1)

    assert closest.tolist() == [[1.0, 0.0]]


def test_every_feature_is_declared_once() -> None:
    """Names are unique, defaults lie in range, and profiles weigh only what is declared."""
    assert len(INDEX) == len(FEATURES)
    for feature in FEATURES:
        assert feature.low <= feature.absent <= feature.high
        assert feature.meaning
    for profile in profiles().values():
        assert set(profile.weights) <= set(INDEX)
        assert 0.0 <= profile.mmr_lambda <= 1.0
        assert profile.source


def test_the_weights_of_the_designs_are_kept() -> None:
    """three_tier keeps its six as written, which sum to 0.95; ppr and, unread, neural sum to 1."""
    three_tier, neural = profiles()["three_tier"].weights, profiles()["neural"].weights
    assert sum(three_tier.values()) - three_tier["tier_share"] == pytest.approx(0.95)
    assert sum(profiles()["ppr"].weights.values()) == pytest.approx(1.0)
    assert sum(neural.values()) - neural["cross_encoder"] == pytest.approx(1.0)
    assert {name: p.mmr_lambda for name, p in profiles().items() if p.mmr_lambda < 1.0} == {
        "default": 0.9, "family_os": 0.35, "annie": 0.7,
    }  # fmt: skip


@pytest.mark.parametrize("shape", [(50, 50, 384), (1, 3, 8), (300, 7, 1024), (4, 0, 16)])
def test_no_product_is_spread_over_cores(
    shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenBLAS keeps up to 262,144 multiplications on one thread; all parts together are right."""
    m, n, d = shape
    drawn = np.random.default_rng(3)
    left, right = (drawn.random((rows, d), np.float32) for rows in (m, n))
    sizes: list[int] = []
    matmul = np.matmul

    def counted(a: FloatArray, b: FloatArray, out: FloatArray) -> FloatArray:
        sizes.append(a.shape[0] * a.shape[1] * b.shape[1])
        product: FloatArray = matmul(a, b, out=out)
        return product

    monkeypatch.setattr(np, "matmul", counted)
    products = inner_products(left, right)
    monkeypatch.undo()

    assert products == pytest.approx(left @ right.T, rel=1e-5)
    assert all(size <= max(262_144, m * d) for size in sizes)
