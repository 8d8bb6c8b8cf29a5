"""Timing: which questions are asked, and that the figures are those of the recalls."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from family_recall import Memory, RecallContext, Space
from family_recall.apps.evaluation import timing
from family_recall.errors import InvalidRequestError
from tests.conftest import HOME, open_home, remember

ANN = RecallContext(time_budget_ms=60_000.0)


def test_quantiles_are_numpys() -> None:
    """Linear between neighbours: of 0 to 100 the 95th percentile is 95."""
    assert timing.quantiles(range(101)) == {"p50": 50.0, "p95": 95.0, "p99": 99.0}
    assert timing.quantiles([2.0]) == {"p50": 2.0, "p95": 2.0, "p99": 2.0}


def test_a_call_is_timed_and_gives_what_it_gives() -> None:
    """Two units, neither below 0."""
    took, result = timing.timed(lambda: sum(range(10_000)))

    assert result == 49_995_000
    assert took["ms"] > 0.0
    assert took["cpu_ms"] >= 0.0


def test_questions_are_made_of_what_the_asker_may_see(tmp_path: Path) -> None:
    """Their words stand in a memory in sight; the same seed makes the same, and none twice."""
    with open_home(tmp_path / "f.db") as home:
        home.spaces.add(Space(HOME, "shared"))
        home.spaces.add(Space("private:zoe", "private"))
        remember(home, "The spare key hangs behind the blue ladder")
        home.remember(Memory("Zoe's diary lies under zqxj mattress", "private:zoe"))

        made = timing.questions_from(home, ANN, 20)
        again = timing.questions_from(home, ANN, 20)
        other = timing.questions_from(home, ANN, 20, seed=1)

    known = {"spare", "key", "hangs", "behind", "blue", "ladder"}
    assert made == again != other
    assert len(set(made)) == len(made) > 5
    for question in made:
        words = question.removeprefix("What about ").removesuffix("?").split()
        assert 2 <= len(words) <= 5
        assert set(words) <= known


def test_nothing_to_ask_is_an_error(tmp_path: Path) -> None:
    """An empty household, and no question."""
    path = tmp_path / "f.db"
    with open_home(path) as home:
        home.spaces.add(Space(HOME, "shared"))
        with pytest.raises(InvalidRequestError, match="expected memories that a stranger may see"):
            timing.questions_from(home, ANN, 5)
    with pytest.raises(InvalidRequestError, match="expected a question or more to time"):
        timing.time_household(path, ANN, [])


def test_what_is_left_out_for_time_is_counted(tmp_path: Path) -> None:
    """With no time at all every recall leaves stages out, and is past its budget."""
    path = tmp_path / "f.db"
    with open_home(path) as home:
        home.spaces.add(Space(HOME, "shared"))
        remember(home, "The spare key hangs behind the blue ladder")

    hurried = dataclasses.replace(ANN, time_budget_ms=0.001)
    timing_found = timing.time_household(
        path, hurried, ["Where is the key?", "Which ladder is blue?"]
    )

    assert timing_found.questions == 2
    assert timing_found.left_out
    assert {skipped["n"] for skipped in timing_found.left_out.values()} <= {1, 2}
    assert timing_found.over_ms["p50"] == pytest.approx(
        timing_found.total["ms"]["p50"] - 0.001, abs=0.002
    )
    assert timing_found.memories == timing_found.visible == 1
