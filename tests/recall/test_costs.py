"""Costs: what a stage costs is learned from its recent runs."""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.recall.gate import Costs
from family_recall.store.stage_costs import StageCost

GRAPH = {"graph": (2.0, 0.0)}


def refused(costs: Costs, budget_ms: float) -> bool:
    """Price the graph for one recall; a refusal is counted."""
    if costs.expected_ms("graph") <= budget_ms:
        return False
    costs.count_refusal("graph")
    return True


def test_an_unknown_device_costs_what_is_assumed() -> None:
    """Before any run a stage costs its fixed part and its part per unit."""
    costs = Costs({"rerank": (0.5, 3.0)})

    assert costs.expected_ms("rerank") == 0.5
    assert costs.expected_ms("rerank", 10) == 30.5


def test_units_are_what_the_time_pays_for() -> None:
    """10 ms pay for 3 units at 0.5 + 3 each; where units cost nothing, for any number or none."""
    costs = Costs({"rerank": (0.5, 3.0), **GRAPH})

    assert costs.affordable("rerank", 10.0) == 3
    assert costs.affordable("rerank", 0.1) == 0
    assert costs.affordable("graph", 1.9) == 0
    assert costs.affordable("graph", 2.0) > 1_000


@pytest.mark.parametrize("true_ms", [0.5, 2.0, 20.0])
def test_costs_settle_on_a_high_quantile(true_ms: float) -> None:
    """After two thousand runs 15 in 16 took no longer than expected."""
    drawn = random.Random(7)
    costs = Costs(GRAPH)
    below = 0
    for n in range(4_000):
        took_ms = true_ms * drawn.lognormvariate(0.0, 0.5)
        below += n >= 2_000 and took_ms <= costs.expected_ms("graph")
        costs.observe("graph", 0, took_ms)

    assert below / 2_000 == pytest.approx(15 / 16, abs=0.03)


def test_one_bad_run_is_soon_forgiven() -> None:
    """A stage that once took a hundred times as long is not refused for ever."""
    costs = Costs(GRAPH)
    costs.observe("graph", 0, 200.0)
    assert costs.expected_ms("graph") < 2.5
    for _ in range(20):
        costs.observe("graph", 0, 1.0)

    assert costs.expected_ms("graph") < 2.0


def test_a_price_is_what_most_of_the_recent_runs_took() -> None:
    """Of 31 runs that took 1 to 31 ms it is the 30th; slow runs before them are forgotten."""
    costs = Costs({"graph": (5.0, 0.0)})
    took_ms = list(range(1, 32))
    random.Random(2).shuffle(took_ms)
    for ms in (*[400.0] * 4, 15, *took_ms):
        costs.observe("graph", 0, ms)

    assert costs.expected_ms("graph") == pytest.approx(30.0)


def test_a_stage_without_a_price_costs_nothing_to_observe() -> None:
    """It is not learned, and is no error."""
    costs = Costs(GRAPH)
    costs.observe("fusion", 0, 5.0)

    assert costs.expected_ms("graph") == 2.0


def test_costs_are_safe_between_threads() -> None:
    """Threads that learn at once leave a cost within its bounds."""
    costs = Costs(GRAPH)

    def learn() -> None:
        for _ in range(500):
            costs.observe("graph", 0, 1e9)

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert costs.expected_ms("graph") == pytest.approx(200.0)


def test_costs_rise_quickly_and_fall_slowly() -> None:
    """A laptop that goes to its battery is noticed in five runs; from the mains it takes longer."""
    costs = Costs(GRAPH)
    for _ in range(100):
        costs.observe("graph", 0, 2.0)
    up = down = 0
    while costs.expected_ms("graph") < 6.0:
        costs.observe("graph", 0, 6.0)
        up += 1
    while costs.expected_ms("graph") > 2.0:
        costs.observe("graph", 0, 2.0 * 0.99)
        down += 1

    assert up <= 5
    assert down > 5 * up


def test_a_stage_refused_for_what_it_once_cost_is_tried_again() -> None:
    """Some slow runs do not shut a stage out for ever: refusals bring its price down again."""
    costs = Costs(GRAPH)
    for _ in range(200):
        costs.observe("graph", 0, 1.9)
    for _ in range(6):
        costs.observe("graph", 0, 40.0)
    assert refused(costs, 8.0)
    n_refused = 0
    while refused(costs, 8.0):
        n_refused += 1
        assert n_refused < 300


def test_what_is_slow_again_and_again_is_tried_ever_more_rarely() -> None:
    """Of 2,000 recalls that cannot pay, fewer than one in a hundred try; until it is cheap."""
    costs = Costs(GRAPH)
    tried = []
    for number in range(2_000):
        if not refused(costs, 8.0):
            costs.observe("graph", 0, 40.0)
            tried.append(number)
    assert 5 <= len(tried) < 20
    for _ in range(1_000):
        if not refused(costs, 8.0):
            costs.observe("graph", 0, 1.0)

    assert not refused(costs, 8.0)


def test_a_price_from_a_busy_day_is_doubted_in_time() -> None:
    """Refused for a stored price alone, a stage is tried again; down to what is assumed."""
    costs = Costs(GRAPH, {"graph": StageCost(100.0, 0.0, 50)})
    n_refused = 0
    while refused(costs, 8.0):
        n_refused += 1
        assert n_refused < 300
    for _ in range(300):
        costs.count_refusal("graph")

    assert n_refused > 10
    assert costs.expected_ms("graph") == pytest.approx(2.0)


def test_a_device_starts_from_the_costs_in_the_file() -> None:
    """They replace the assumed ones, within a hundredfold; after 20 more runs they are written."""
    stored = {"graph": StageCost(5.0, 0.0, 50), "embed": StageCost(1e9, 0.0, 50)}
    costs = Costs({**GRAPH, "embed": (3.0, 0.0)}, stored)

    assert costs.expected_ms("graph") == 5.0
    assert costs.expected_ms("embed") == 300.0
    assert costs.unsaved() == {}
    for _ in range(20):
        costs.observe("graph", 0, 9.0)
    unsaved = costs.unsaved()
    assert unsaved["graph"].runs == 70
    costs.mark_saved(unsaved)
    assert costs.unsaved() == {}


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 500), st.floats(0.0, 1e6)), max_size=60))
def test_a_cost_stays_within_its_bounds(runs: list[tuple[int, float]]) -> None:
    """Whatever is observed, both parts stay between a hundredth and a hundredfold."""
    costs = Costs({"rerank": (0.5, 0.05)})
    for n, ms in runs:
        costs.observe("rerank", n, ms)
        costs.count_refusal("rerank")

    assert 0.0049 <= costs.expected_ms("rerank") <= 50.1
    assert costs.expected_ms("rerank", 100) <= 50.1 + 501.0
