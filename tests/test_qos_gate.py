"""The gate: what a stage costs is learned, and what cannot be paid for is refused."""

from __future__ import annotations

import random
import threading

import pytest

from family_recall.deadline import Deadline
from family_recall.qos_gate import Costs, refusal


def deadline(left_ms: float) -> Deadline:
    """Make a deadline with so much time left."""
    return Deadline(0.0, left_ms, clock=lambda: 0.0)


def test_an_unknown_device_costs_what_is_assumed() -> None:
    """Before any run a stage costs its fixed part and its part per unit."""
    costs = Costs({"rerank": (0.5, 3.0)})

    assert costs.expected_ms("rerank") == 0.5
    assert costs.expected_ms("rerank", 10) == 30.5


@pytest.mark.parametrize("true_ms", [0.5, 2.0, 20.0])
def test_costs_settle_on_a_high_quantile(true_ms: float) -> None:
    """After two thousand runs about nine in ten took no longer than expected."""
    drawn = random.Random(7)
    costs = Costs({"graph": (2.0, 0.0)})
    below = 0
    for n in range(4_000):
        took_ms = true_ms * drawn.lognormvariate(0.0, 0.5)
        below += n >= 2_000 and took_ms <= costs.expected_ms("graph")
        costs.observe("graph", 0, took_ms)

    assert below / 2_000 == pytest.approx(0.9, abs=0.03)


def test_one_bad_run_is_soon_forgiven() -> None:
    """A stage that once took a hundred times as long is not refused for ever."""
    costs = Costs({"graph": (2.0, 0.0)})
    costs.observe("graph", 0, 200.0)
    assert costs.expected_ms("graph") < 2.5
    for _ in range(20):
        costs.observe("graph", 0, 1.0)

    assert costs.expected_ms("graph") < 2.0


def test_what_nobody_prices_costs_nothing_to_observe() -> None:
    """A stage without a price is not learned, and is no error."""
    costs = Costs({"graph": (2.0, 0.0)})
    costs.observe("plan", 0, 5.0)

    assert costs.expected_ms("graph") == 2.0


def test_a_refusal_says_what_is_needed_and_left() -> None:
    """With too little time the reason names both numbers; with enough there is none."""
    costs = Costs({"rerank": (0.5, 3.0)})

    assert refusal(costs, deadline(60.0), "rerank", 10) is None
    assert refusal(costs, deadline(20.4), "rerank", 10) == "needs 30.5 ms, 20.0 ms left"
    assert refusal(costs, deadline(-5.0), "rerank", 1) == "needs 3.5 ms, 0.0 ms left"


def test_a_deadline_counts_down() -> None:
    """Elapsed and remaining add up to the budget, past its end too."""
    now = [10.0]
    counted = Deadline.after(50.0, clock=lambda: now[0])
    for at_s, elapsed_ms in ((10.0, 0.0), (10.02, 20.0), (10.08, 80.0)):
        now[0] = at_s
        assert counted.elapsed_ms() == pytest.approx(elapsed_ms)
        assert counted.remaining_ms() == pytest.approx(50.0 - elapsed_ms)


def test_costs_are_safe_between_threads() -> None:
    """Threads that learn at once leave a cost within its bounds."""
    costs = Costs({"graph": (2.0, 0.0)})

    def learn() -> None:
        for _ in range(500):
            costs.observe("graph", 0, 1e9)

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert costs.expected_ms("graph") == pytest.approx(200.0)
