"""Budgets: the same questions within each, in a household that remembers none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall.apps.evaluation import Interval, evaluate
from family_recall.apps.evaluation.alternatives import ask_within
from family_recall.errors import InvalidRequestError
from tests.apps.evaluation.small import QUERIES, small_testbed


def test_each_budget_is_measured_by_itself(tmp_path: Path) -> None:
    """A microsecond reads no pair and is hurried; a minute reads every pair and is not."""
    small = small_testbed(tmp_path)
    small.fill()
    steps: list[tuple[str, int, int]] = []
    tiny, ample = ask_within(
        small, (0.001, 60_000.0), seed=0, progress=lambda *step: steps.append(step)
    )

    assert (tiny.budget_ms, ample.budget_ms) == (0.001, 60_000.0)
    assert tiny.n_pairs == 0.0
    assert tiny.n_hurried == len(QUERIES)
    assert ample.n_pairs > 1.0
    assert ample.n_hurried == 0
    assert ample.overshoot_ms["p99"] == 0.0 < tiny.overshoot_ms["p50"]
    for within in (tiny, ample):
        ndcg = within.measures["ndcg@10"]
        assert isinstance(ndcg, Interval)
        assert 0.0 < ndcg.value <= 1.0
        assert within.measures["n"] == 3
    assert steps[-1] == ("within 60000.0 ms", len(QUERIES), len(QUERIES))


def test_an_impossible_budget_is_refused_at_once(tmp_path: Path) -> None:
    """Before anything is read or stored."""
    with pytest.raises(InvalidRequestError, match="time_budget_ms"):
        evaluate(tmp_path / "not there", budgets_ms=(5.0, -1.0))


def test_an_outcome_counts_its_pairs(tmp_path: Path) -> None:
    """The pairs that the cross-encoder read."""
    small = small_testbed(tmp_path)
    small.fill()

    assert small.ask()[0].n_pairs > 0
