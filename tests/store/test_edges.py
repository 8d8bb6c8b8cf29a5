"""Edges: the strongest out of each node, compared with sorting all of them."""

from __future__ import annotations

import datetime as dt

import apsw
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.recall.dataflow import by_score
from family_recall.store import graph
from family_recall.store.file.schema import SCHEMA
from family_recall.store.reader import ReadCaches
from family_recall.store.scope_sql import among
from family_recall.store.transaction import Snapshot
from family_recall.types import Scope

IDS = st.lists(st.integers(-20, 20), max_size=40)
LINKS = st.tuples(
    st.integers(1, 6), st.integers(1, 6), st.sampled_from([0.2, 0.5, 1.0]), st.sampled_from("abc")
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(LINKS, max_size=60), st.lists(st.integers(1, 7), unique=True), st.integers(1, 5))
def test_a_node_gives_its_strongest_edges_first(
    links: list[tuple[int, int, float, str]], nodes: list[int], cap: int
) -> None:
    """Node by node; of equal weight the higher destination, and then the earlier kind, is first."""
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    graph.add_edges(connection, links)
    both = {*links, *((b, a, weight, kind) for a, b, weight, kind in links)}
    expected = [
        edge
        for node in nodes
        for edge in sorted(
            (edge for edge in both if edge[0] == node), key=lambda e: (-e[2], -e[1], e[3])
        )[:cap]
    ]

    snapshot = Snapshot(connection, dt.UTC, ReadCaches())
    strongest = snapshot.edges(np.array(nodes, np.int64), Scope(None, (0,), 0.0), cap)

    columns = (strongest.src, strongest.dst, strongest.kinds)
    assert list(zip(*columns, strict=True)) == [(src, dst, kind) for src, dst, _, kind in expected]
    assert [*strongest.weight] == [np.float32(weight) for _, _, weight, _ in expected]


@given(IDS, IDS)
def test_ids_are_found_among_others(ids: list[int], known: list[int]) -> None:
    """As numpy's own, slower function finds them, in any order and with some given twice."""
    asked, others = np.array(ids, np.int64), np.array(known, np.int64)

    assert among(asked, others).tolist() == np.isin(asked, others).tolist()


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.25, 0.5, 0.9]), st.text(max_size=3))))
def test_the_highest_score_is_first_and_equal_ones_are_in_the_order_of_names(
    scored: list[tuple[float, str]],
) -> None:
    """As Python sorts pairs of (−score, doc_id), whether or not two scores are equal."""
    scored = [(score, name.rstrip("\0")) for score, name in scored]  # numpy drops what it pads with
    order = by_score(
        np.array([score for score, _ in scored], np.float32), tuple(name for _, name in scored)
    )
    expected = sorted(range(len(scored)), key=lambda at: (-scored[at][0], scored[at][1]))

    assert order.tolist() == expected
