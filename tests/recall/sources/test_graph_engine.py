"""The graph engine: igraph and numpy agree, and loading igraph's core harms nobody."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.recall.sources import graph_engine

BY_NUMPY = SimpleNamespace(personalized_pagerank=graph_engine.pagerank_by_numpy)
Edges = dict[tuple[int, int], float]


def edges_of(n: int) -> st.SearchStrategy[Edges]:
    """Return edges among n nodes, none from a node to itself, with weights above 0."""
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    allowed = ends.filter(lambda pair: pair[0] < pair[1])
    return st.dictionaries(allowed, st.floats(0.05, 2.0), max_size=30)


def run(program: str) -> str:
    """Run a program in a fresh interpreter in which every warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.integers(2, 12).flatmap(
        lambda n: st.tuples(
            edges_of(n),
            st.lists(st.sampled_from([0.0, 0.01, 0.3, 1.0]), min_size=n, max_size=n).filter(any),
        )
    ),
    st.sampled_from([0.0, 0.15, 0.5, 0.85]),
)
def test_igraph_numpy_and_a_linear_equation_agree(
    drawn: tuple[Edges, list[float]], damping: float
) -> None:
    """Ranks solve r = (1 − d)·s + d·Pᵀr, within 0.000002, and sum to 1.

    A row of P without edges is the restart distribution s.
    """
    edges, seeds = drawn
    reset = np.array(seeds)
    n, start = len(seeds), reset / reset.sum()
    links = np.zeros((n, n))
    for (a, b), weight in edges.items():
        links[a, b] = links[b, a] = weight
    out = links.sum(axis=1, keepdims=True)
    walk = np.where(out > 0, links / np.where(out > 0, out, 1), start)
    expected = np.linalg.solve(np.eye(n) - damping * walk.T, (1 - damping) * start)

    assert graph_engine.engine().startswith("igraph ")
    for engine in (graph_engine, BY_NUMPY):
        rank = engine.personalized_pagerank(
            tuple(edges), tuple(edges.values()), reset, damping=damping
        )
        assert rank == pytest.approx(expected, abs=2e-6)
        assert rank.sum() == pytest.approx(1.0, abs=1e-6)


def test_the_walk_between_two_is_as_by_hand() -> None:
    """A start and its one neighbour, damping ½: r = ½ + ½·n and n = ½·r, so ⅔ and ⅓."""
    for engine in (graph_engine, BY_NUMPY):
        rank = engine.personalized_pagerank([(0, 1)], [0.7], np.array([3.0, 0.0]), damping=0.5)
        assert rank == pytest.approx([2 / 3, 1 / 3], abs=2e-6)


def test_igraph_does_the_work_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numpy is not asked: it may be broken."""
    monkeypatch.setattr(graph_engine, "pagerank_by_numpy", None)

    ranks = graph_engine.personalized_pagerank([(0, 1)], [1.0], np.array([1.0, 0.0]), damping=0.5)
    assert len(ranks) == 2


@pytest.mark.parametrize("problem", ["missing", "broken"])
def test_without_igraph_numpy_answers(monkeypatch: pytest.MonkeyPatch, problem: str) -> None:
    """Where igraph is not installed, or its library does not load, the same comes from numpy."""

    def unusable() -> ModuleType:
        raise ImportError("no wheel for this machine") if problem == "missing" else OSError("ELF")

    def rank() -> Any:
        return graph_engine.personalized_pagerank(
            [(0, 1)], [1.0], np.array([1.0, 0.0]), damping=0.5
        )

    by_igraph = rank()
    monkeypatch.delitem(sys.modules, "igraph", raising=False)
    monkeypatch.setattr(graph_engine, "_load", graph_engine._load.__wrapped__)
    monkeypatch.setattr(graph_engine, "_load_core", unusable)

    assert graph_engine.engine() == "numpy"
    assert rank() == pytest.approx(by_igraph, abs=2e-6)


OURS = """
from family_recall.recall.sources import graph_engine
import numpy as np
def ours():
    rank = graph_engine.personalized_pagerank([(0, 1)], [1.0], np.array([1.0, 0.0]), damping=0.5)
    assert abs(rank[0] - 2 / 3) < 1e-6 and graph_engine.engine().startswith("igraph "), rank
"""
THEIRS = """
import igraph, igraph._igraph
def theirs():
    graph = igraph.Graph.Famous("Petersen")
    assert abs(sum(graph.pagerank()) - 1) < 1e-9 and graph.distances(0, 0) == [[0]]
    assert igraph.split_join_distance([0, 0, 1], [0, 1, 1]) == (1, 1)
    assert isinstance(graph, igraph._igraph.GraphBase)
"""


@pytest.mark.parametrize(
    "program",
    [
        f"{OURS}\nours()\n{THEIRS}\ntheirs(); ours()",
        f"{THEIRS}\ntheirs()\n{OURS}\nours(); theirs()",
    ],
    ids=["ours first", "theirs first"],
)
def test_an_application_may_import_igraph_too(program: str) -> None:
    """Before or after, the whole of igraph works beside ours, and both share one core."""
    shared = "assert graph_engine._core() is igraph._igraph"
    run(f"{program}\n{shared}")


def test_loading_the_core_loads_no_plotting() -> None:
    """Neither igraph's own Python nor matplotlib is loaded with it."""
    loaded = run(f"{OURS}\nours(); import sys; print(*sys.modules)").split()

    assert "family_recall.recall.sources.graph_engine" in loaded
    assert not {"igraph", "igraph.drawing", "matplotlib", "texttable"} & set(loaded)
