"""Graph source: PageRank against igraph, and hubs that do not win by being known."""

from __future__ import annotations

from pathlib import Path

import igraph
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import Relation
from family_recall.dataflow import Subgraph
from family_recall.sources.graph import dampen_hubs, personalized_pagerank
from tests.conftest import HOME, found, move_in, open_home, recall, remember


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(2, 12).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.dictionaries(
                st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(
                    lambda ends: ends[0] < ends[1]
                ),
                st.floats(0.05, 2.0),
                max_size=30,
            ),
            st.lists(st.floats(0.01, 1.0), min_size=1, max_size=n),
        )
    ),
    st.sampled_from([0.0, 0.15, 0.5, 0.85]),
)
def test_pagerank_agrees_with_igraph(
    drawn: tuple[int, dict[tuple[int, int], float], list[float]], damping: float
) -> None:
    """Ranks are those of igraph's solver, with nodes that nothing leads to too, and sum to 1."""
    n, edges, seeds = drawn
    reset = np.array(seeds, np.float32)
    graph = Subgraph(
        nodes=np.arange(1, n + 1),
        hops=np.zeros(n, np.int64),
        ends=tuple(edges),
        weights=tuple(edges.values()),
        kinds=("next",) * len(edges),
    )
    rank = personalized_pagerank(graph, reset, damping=damping)
    network = igraph.Graph(n=n, edges=graph.ends, directed=False)
    expected = network.personalized_pagerank(
        directed=False,
        damping=damping,
        reset=[*seeds, *[0.0] * (n - len(seeds))],
        weights=list(graph.weights) or None,
        implementation="prpack",
    )

    assert float(rank.sum()) == pytest.approx(1.0, abs=1e-6)
    assert rank == pytest.approx(np.array(expected), abs=2e-6)


def test_a_hub_weighs_less_by_the_root_of_its_degree() -> None:
    """A seed of degree 4 counts half, one of degree 0 or 1 in full."""
    damped = dampen_hubs(np.ones(3, np.float32), np.array([4.0, 0.0, 1.0], np.float32))

    assert damped.tolist() == [0.5, 1.0, 1.0]


def test_the_graph_brings_in_what_no_word_finds(path: Path) -> None:
    """A name in the question leads through a relation to what the other one said."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "I fixed the tap in the kitchen", author="Hanna", doc_id="tap")
        remember(home, "The bus was late", author="Otto", doc_id="bus")
        home.relations.add(Relation("Leela", "married to", "Hanna", HOME))
        answer = recall(home, "what about Leela?", "mia", profile="ppr")

        assert found(answer) == ["tap"]
        assert answer.results[0].source == "graph"
        rationale = answer.results[0].rationale
        assert rationale is not None
        assert rationale.path == ("Leela", "married to", "Hanna", "author", "tap")


def test_the_neighbours_of_what_was_found_come_along(path: Path) -> None:
    """What was said next in the same talk is handed over, and weighed by how near it is."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        for at, text in enumerate(["Shall we paint the fence?", "Certainly", "Which colour?"]):
            remember(home, text, doc_id=f"turn-{at}", session_id="s",
                     occurred_at=f"2025-05-01T10:0{at}")  # fmt: skip
        remember(home, "Unrelated, on another day", doc_id="other")
        answer = recall(home, "shall paint", "mia", profile="ppr")

        assert "turn-1" in found(answer)
        assert "other" not in found(answer)


def test_a_focus_prefers_its_neighbourhood(path: Path) -> None:
    """Of two equal memories the one beside what is being talked about comes first."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        for talk in ("a", "b"):
            remember(home, f"Opening of talk {talk}", doc_id=f"open-{talk}", session_id=talk,
                     occurred_at="2025-05-01T10:00")  # fmt: skip
            remember(home, "The fence is green", doc_id=f"fence-{talk}", session_id=talk,
                     occurred_at="2025-05-01T10:01")  # fmt: skip
        for talk in ("a", "b"):
            answer = recall(home, "fence", "mia", focus_event_id=f"open-{talk}", profile="ppr")
            fences = [doc_id for doc_id in found(answer) if doc_id.startswith("fence")]

            assert fences[0] == f"fence-{talk}"
