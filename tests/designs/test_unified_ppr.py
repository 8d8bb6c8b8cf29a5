"""The design of unified PPR: validity, PageRank by hand, and the token budget."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from family_recall import Memory, Relation
from family_recall.config import RecallConfig
from family_recall.recall.candidates import reciprocal_rank_fusion
from family_recall.recall.dataflow import Run, Subgraph
from family_recall.recall.ranking import bm25
from family_recall.recall.ranking.profiles import find_profile, profiles
from family_recall.recall.sources import graph
from family_recall.recall.sources.graph import dampen_hubs
from family_recall.recall.sources.graph_engine import personalized_pagerank
from family_recall.types import Scope
from tests.conftest import (
    HOME,
    NOW,
    found,
    move_in,
    open_home,
    recall,
    remember,
    store_of,
)
from tests.designs.examples import Scripted, by_id, fused


def test_validity_is_half_open_in_every_source(path: Path) -> None:
    """From valid_from on, and no more at valid_until: by words, by vectors and by the graph."""
    start, end = dt.datetime(2025, 1, 1, tzinfo=dt.UTC), dt.datetime(2025, 3, 1, tzinfo=dt.UTC)
    second = dt.timedelta(seconds=1)
    with open_home(path) as home:
        move_in(home)
        remember(home, "The tap drips", doc_id="tap", author="Hanna", valid_from=start,
                 valid_until=end)  # fmt: skip
        remember(home, "Otto likes tea", doc_id="tea")
        for moment, true in (
            (start - second, False), (start, True), (end - second, True), (end, False),
        ):  # fmt: skip
            answer = recall(home, "Hanna's tap", "mia", profile="ppr", as_of=moment)

            for source in ("lexical", "vector", "graph"):
                assert ("tap" in answer.trace.runs[source]) is true
            assert ("tap" in found(answer)) is true


def test_an_edge_is_valid_from_its_first_moment_to_before_its_last(path: Path) -> None:
    """Asha leads to what Otto wrote while she is his sister: from the start on, not at the end."""
    start, end = dt.datetime(2025, 1, 1, tzinfo=dt.UTC), dt.datetime(2025, 3, 1, tzinfo=dt.UTC)
    second = dt.timedelta(seconds=1)
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "We met on the train", doc_id="train", author="Otto")
        home.relations.add(
            Relation("Asha", "sister of", "Otto", HOME, valid_from=start, valid_until=end)
        )
        for moment, true in (
            (start - second, False), (start, True), (end - second, True), (end, False),
        ):  # fmt: skip
            answer = recall(home, "Asha", "mia", profile="ppr", as_of=moment)

            assert ("train" in answer.trace.runs["graph"]) is true


def test_a_fused_list_is_cut_at_its_limit() -> None:
    """Two lists of 50 that share nothing keep 20 seeds: the ten best of each, in turn."""
    runs = [
        Run("lexical", np.arange(1, 51), np.ones(50, np.float32)),
        Run("vector", np.arange(101, 151), np.ones(50, np.float32)),
    ]
    pool = reciprocal_rank_fusion(runs, rrf_k=60, limit=20)

    assert sorted(pool.ids.tolist()) == [*range(1, 11), *range(101, 111)]


def test_the_graph_starts_from_twenty_seeds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thirty memories that match, the twenty best fused are seeds."""
    started: list[int] = []

    def counted(context: Any, seeds: Any) -> Subgraph:
        started.append(len(seeds))
        return neighbourhood(context, seeds)

    neighbourhood = graph.neighbourhood
    monkeypatch.setattr(graph, "neighbourhood", counted)
    with open_home(path) as home:
        move_in(home)
        home.remember_many([Memory(f"Fence post {n}", HOME) for n in range(30)])
        recall(home, "fence", profile="ppr")

    assert started == [20]


def test_degrees_count_both_directions(path: Path) -> None:
    """One relation in, one out, two mentions: degree 4, so a seed there counts half."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        home.relations.add(Relation("Asha", "sister of", "Otto", HOME))
        home.relations.add(Relation("Hanna", "married to", "Otto", HOME))
        for thing in ("tap", "bus"):
            remember(home, f"Otto mends the {thing}")
        with store_of(home).snapshot() as snapshot:
            scope = Scope("mia", tuple(p.no for p in snapshot.every_partition()), NOW.timestamp())
            ((_, otto),) = snapshot.entities(["otto"], scope)
            degrees = snapshot.degrees(np.array([otto.id]), scope)

    assert degrees.tolist() == [4.0]
    assert dampen_hubs(np.ones(1, np.float32), degrees).tolist() == [0.5]


def test_half_of_the_walk_goes_on() -> None:
    """A seed and its one neighbour, damping 0.5: r = ½ + ½·n and n = ½·r, so ⅔ and ⅓."""
    damping = RecallConfig().ppr_damping
    rank = personalized_pagerank(((0, 1),), (1.0,), np.array([1.0, 0.0]), damping=damping)

    assert RecallConfig().ppr_damping == 0.5
    assert rank == pytest.approx([2 / 3, 1 / 3], abs=1e-5)


def test_the_three_terms_of_unified_ppr_by_hand(path: Path) -> None:
    """One memory alone, cosine 0.8: its BM25 is idf of at most 2.2·idf, its PageRank a start's.

    It has the question's one word once, so it is a whole start, and 1 / (1 + ¼) = 0.8:
    0.40·0.8 + 0.15·(1 / 2.2) + 0.45·0.8 = 0.748.
    """
    with open_home(path, encoder=Scripted({"Boiler": 0.8})) as home:
        move_in(home)
        remember(home, "Boiler")
        result = recall(home, "boiler", "mia", profile="ppr").results[0]

    assert profiles()["ppr"].weights == {"cosine": 0.40, "bm25": 0.15, "ppr": 0.45}
    assert (bm25.K1, bm25.B) == (1.2, 0.75)
    assert result.features["bm25"] == pytest.approx(1 / 2.2, abs=1e-5)
    assert result.score == pytest.approx(0.748, abs=3e-3)


def test_a_neighbour_of_a_seed_has_half_of_its_rank(path: Path) -> None:
    """Of two turns of a talk words find one; the other's PageRank is ⅓ to its ⅔."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Certainly", doc_id="next", session_id="s", occurred_at="2025-05-01T10:01")
        remember(home, "Paint?", doc_id="seed", session_id="s", occurred_at="2025-05-01T10:02")
        results = by_id(recall(home, "paint", profile="ppr"))

    mass = {name: 0.25 / (1 / each.features["ppr"] - 1) for name, each in results.items()}
    assert mass["next"] / mass["seed"] == pytest.approx(0.5, abs=1e-4)


def test_an_answer_fills_a_token_budget(path: Path) -> None:
    """Lines are added while the whole block fits the tokens its reader has."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        for n in range(5):
            remember(home, f"Fence post {n} leans")
        answer = recall(home, "fence", "mia")
    whole = answer.briefing()
    frame = len(whole.split()) - 5 * 5  # each line has a dash and four words
    two = answer.briefing(count_tokens=lambda text: len(text.split()), max_tokens=frame + 12)

    assert whole.count("leans") == 5
    assert two.count("leans") == 2
    assert len(two.split()) == frame + 2 * 5


def test_chunks_are_ranked_by_fused_ranks_alone(path: Path) -> None:
    """The code search variant: words and vectors by RRF, no graph, and the trace says why."""
    with open_home(path) as home:
        move_in(home)
        for n, name in enumerate(("sort", "merge", "split")):
            remember(home, f"def {name}(rows): return rows", doc_id=name, kind="chunk",
                     session_id="file", occurred_at=f"2025-05-01T10:0{n}")  # fmt: skip
        remember(home, "We talked about merge", doc_id="talk")
        answer = recall(home, "merge rows", "mia", profile="ppr", mode="knowledge")
        usual = recall(home, "merge rows", "mia", profile="ppr")

    assert find_profile("ppr", "knowledge").weights == {"rrf_raw": 1.0}
    assert [s.detail for s in answer.trace.skips if s.stage == "graph"] == [
        "the profile does without it"
    ]
    assert not answer.trace.runs["graph"]
    assert found(answer)[0] == "merge"
    assert "talk" not in found(answer)
    for result in answer.results:
        assert result.score == pytest.approx(fused(answer, result.doc_id), abs=1e-6)
    assert "ppr" in usual.results[0].features
