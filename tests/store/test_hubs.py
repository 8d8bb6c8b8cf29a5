"""Edges: reading a hub costs no more than reading a node of few edges."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import apsw
import numpy as np
import pytest

from family_recall.store import graph
from family_recall.store.reader import ReadCaches
from family_recall.store.transaction import Snapshot
from family_recall.types import Scope
from tests.conftest import open_home

HUB = 7
SCOPE = Scope(None, (0,), 1_000.0)


def steps(connection: apsw.Connection, work: object) -> int:
    """Count what SQLite's virtual machine does for a piece of work, in tens of steps."""
    count = 0

    def step() -> bool:
        nonlocal count
        count += 1
        return False

    connection.set_progress_handler(step, 10)
    work()  # type: ignore[operator]
    connection.set_progress_handler(None)
    return count


def star(path: Path, n: int, *, expired: bool = False) -> apsw.Connection:
    """Link n memories to one node."""
    with open_home(path):
        pass
    connection = apsw.Connection(str(path))
    with connection:
        graph.add_edges(
            connection,
            [(HUB, 100 + at, 0.2 + at % 3 * 0.3, "mention") for at in range(n)],
            valid_until_s=1.0 if expired else None,
        )
        graph.add_edges(connection, [(HUB, 50, 0.1, "next")])
    return connection


@pytest.mark.parametrize("expired", [False, True])
def test_a_hub_of_a_hundred_thousand_is_read_like_one_of_ten_thousand(
    tmp_path: Path, expired: bool
) -> None:
    """Its strongest edges and its degree take as many steps, whether edges are valid or not."""
    counts = []
    for n in (10_000, 100_000):
        connection = star(tmp_path / f"{n}.db", n, expired=expired)
        node = np.array([HUB])
        snapshot = Snapshot(connection, dt.UTC, ReadCaches())
        counts.append(
            [
                steps(connection, lambda: snapshot.edges(node, SCOPE, 16)),  # noqa: B023
                steps(connection, lambda: snapshot.degrees(node, SCOPE)),  # noqa: B023
            ]
        )
        connection.close()

    assert counts[1] == pytest.approx(counts[0], rel=0.05)


def test_the_strongest_edges_of_a_hub_are_read(tmp_path: Path) -> None:
    """Of a hundred thousand, those of the highest weight, the newest of them first."""
    connection = star(tmp_path / "family.db", 100_000)
    strongest = Snapshot(connection, dt.UTC, ReadCaches()).edges(np.array([HUB]), SCOPE, 16)
    connection.close()

    assert set(strongest.weight) == {float(np.float32(0.8))}
    assert sorted(strongest.dst, reverse=True) == [100 + at for at in range(99_998, 99_950, -3)]
