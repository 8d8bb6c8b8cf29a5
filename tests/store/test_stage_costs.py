"""Costs in the file: kept by kind of device, never waited for, and nobody's business else."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from family_recall.store import stage_costs
from family_recall.store.stage_costs import StageCost
from family_recall.store.store import Store
from tests.conftest import TinyEncoder, move_in, open_home, recall, stories

LEARNED = {"embed": StageCost(1.5, 0.125, 40), "graph": StageCost(0.75, 0.0, 99)}


def test_what_was_kept_is_known_when_the_file_is_opened_again(path: Path) -> None:
    """Costs come back as they were written, and are replaced by what is written later."""
    store = Store(path, create=True)
    assert store.stage_costs() == {}
    assert store.keep_stage_costs(LEARNED)
    assert store.keep_stage_costs({"graph": StageCost(2.0, 0.0, 120)})
    store.close()
    again = Store(path, create=False)

    assert again.stage_costs() == {**LEARNED, "graph": StageCost(2.0, 0.0, 120)}
    again.close()


def test_another_kind_of_device_learns_for_itself(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was copied to a slower device does not believe the faster one."""
    store = Store(path, create=True)
    store.keep_stage_costs(LEARNED)
    monkeypatch.setattr(stage_costs, "device", lambda: "telephone-8")

    assert store.stage_costs() == {}
    store.close()


def test_keeping_costs_waits_for_nobody(path: Path) -> None:
    """While another process writes, costs are not kept; the reader that tried goes on reading."""
    store = Store(path, create=True)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    assert not store.keep_stage_costs(LEARNED)
    other.execute("ROLLBACK")
    other.close()

    assert store.stage_costs() == {}
    assert store.keep_stage_costs(LEARNED)
    store.close()


def test_what_recalls_cost_is_kept_when_the_file_is_closed(path: Path) -> None:
    """After enough recalls the file knows this device; after one, there is nothing to write."""
    with open_home(path, encoder=TinyEncoder()) as home:
        move_in(home)
        home.remember_many(stories())
        recall(home, "grandma", "priya")
    store = Store(path, create=False)
    assert store.stage_costs() == {}
    store.close()
    with open_home(path, encoder=TinyEncoder()) as home:
        for n in range(30):
            recall(home, f"grandma {n}", "priya")
    store = Store(path, create=False)
    kept = store.stage_costs()
    store.close()

    assert {"embed", "lexical", "vector", "score", "answer"} <= set(kept)
    assert all(one.runs >= 20 for one in kept.values())
