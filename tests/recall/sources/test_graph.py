"""Graph source: where a walk starts, how far it goes, and what a path of it says."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import Answer, Memory, Relation
from family_recall.recall.dataflow import QueryContext, Subgraph
from family_recall.recall.sources import graph
from family_recall.recall.sources.graph import dampen_hubs, neighbourhood, with_mentioned
from family_recall.recall.sources.graph_engine import personalized_pagerank
from family_recall.types import IdArray
from tests.conftest import HOME, found, move_in, open_home, recall, remember


def test_a_hub_weighs_less_by_the_root_of_its_degree() -> None:
    """A seed of degree 4 counts half, one of degree 0 or 1 in full."""
    damped = dampen_hubs(np.ones(3, np.float32), np.array([4.0, 0.0, 1.0], np.float32))

    assert damped.tolist() == [0.5, 1.0, 1.0]


def test_a_walk_starts_less_at_a_hub(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are named; Otto is mentioned three times and has a relation, Hanna has that alone."""
    nodes: list[int] = []
    starts: list[float] = []

    def read(context: QueryContext, seeds: IdArray) -> Subgraph:
        subgraph = neighbourhood(context, seeds)
        nodes.extend(subgraph.nodes.tolist())
        return subgraph

    def walked(ends: Any, weights: Any, reset: Any, *, damping: float) -> Any:
        starts.extend(reset.tolist())
        return personalized_pagerank(ends, weights, reset, damping=damping)

    monkeypatch.setattr(graph, "neighbourhood", read)
    monkeypatch.setattr(graph, "personalized_pagerank", walked)
    with open_home(path, encoder=None) as home:
        move_in(home)
        home.relations.add(Relation("Otto", "knows", "Hanna", HOME))
        for thing in ("tap", "bus", "fence"):
            remember(home, f"Otto mends the {thing}")
        recall(home, "Otto? Hanna?", "mia", profile="ppr")
    people = [start for node, start in zip(nodes, starts, strict=True) if node < 0 and start > 0]

    assert sorted(people) == pytest.approx([0.5, 1.0])


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


def graph_of(answer: Answer) -> dict[str, float]:
    """Return the PageRank feature of each result, by doc_id."""
    return {result.doc_id: result.features["ppr"] for result in answer.results}


def test_a_question_about_nothing_at_home_starts_no_walk(path: Path) -> None:
    """Its best candidate shares two of ten words: the graph finds nothing, and adds nothing.

    Of a question that the same memory answers, its PageRank is high.
    """
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "The boiling kettle stands in the shed", doc_id="kettle", author="Hanna")
        far = recall(home, "what boiling point does ethanol from Peru have in kelvin at sea level "
                     "by the standard tables", "mia", profile="ppr")  # fmt: skip
        near = recall(home, "boiling kettle", "mia", profile="ppr")

    assert graph_of(far) == {"kettle": 0.0}
    assert far.trace.runs["graph"] == ()
    assert graph_of(near)["kettle"] > 0.3


def test_pagerank_is_the_higher_the_more_relevant_the_seed(path: Path) -> None:
    """It is not divided by the highest: of two questions the better answered has the higher."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Boiler valve", doc_id="boiler")
        home.remember_many([Memory(f"Fence post {n}", HOME) for n in range(30)])
        best = [
            graph_of(recall(home, question, "mia", profile="ppr"))["boiler"]
            for question in ("boiler valve", "boiler zebra")
        ]

    assert 0.81 > best[0] > best[1] > 0.0


def test_the_walk_starts_from_what_the_best_candidate_mentions(path: Path) -> None:
    """A memory that shares with it only whom it mentions, far away in time, comes along.

    The path says so: from the candidate, by whom it mentions, to that memory.
    """
    with open_home(path, encoder=None) as home:
        move_in(home)
        home.relations.add(Relation("Asha", "sister of", "Otto", HOME))
        remember(home, "Otto plays the trombone", doc_id="plays", occurred_at="2025-01-01")
        remember(home, "Flowers for Otto", doc_id="flowers", occurred_at="2023-01-01")
        remember(home, "The bus was late", doc_id="bus", occurred_at="2023-01-01")
        answer = recall(home, "trombone", "mia", profile="ppr")

    assert found(answer) == ["plays", "flowers"]
    rationale = answer.results[1].rationale
    assert rationale is not None
    assert rationale.path == ("plays", "mention", "Otto", "mention", "flowers")
    assert graph_of(answer)["flowers"] > 0.2  # 0.14 if only the candidate were a start


def test_mentioned_things_are_starts_of_their_own() -> None:
    """Each is one as strong as the best memory that mentions it; others and neighbours are not."""
    graph = Subgraph(
        nodes=np.array([1, 2, -3, -4, 5]),
        ends=((0, 2), (1, 2), (0, 3), (1, 4)),
        weights=(0.5, 0.5, 0.2, 1.0),
        kinds=("mention", "mention", "author", "next"),
    )
    strength = with_mentioned(graph, np.array([0.4, 0.9, 0.0, 0.0, 0.0], np.float32))

    assert strength.tolist() == pytest.approx([0.4, 0.9, 0.9, 0.0, 0.0])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1]),
        st.floats(0.0, 2.0),
        max_size=20,
    )
)
def test_a_walk_is_the_shortest_of_all(edges: dict[tuple[int, int], float]) -> None:
    """To each node that can be reached, as short as the best of all orders of all nodes."""
    steps: graph.Steps = {}
    for (src, dst), length in edges.items():
        steps.setdefault(src, []).append((dst, length, "knows"))
    walks = graph.walks_to(steps, {0: 1.0}, range(1, 5))

    for target in range(1, 5):
        between = {1, 2, 3, 4} - {target}
        shortest = min(
            sum(edges.get(pair, math.inf) for pair in itertools.pairwise((0, *some, target)))
            for size in range(4)
            for some in itertools.permutations(between, size)
        )
        assert (target in walks) == math.isfinite(shortest)
        if target in walks:
            nodes = [node for node, _ in walks[target]]
            length = sum(edges[pair] for pair in itertools.pairwise(nodes))
            assert (nodes[0], nodes[-1]) == (0, target)
            assert length == pytest.approx(shortest, abs=1e-9)
