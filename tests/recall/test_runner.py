"""The runner: how one stage is run, timed, learned, and done without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from family_recall.config import RecallConfig
from family_recall.deadline import Deadline
from family_recall.encoders.loader import Models
from family_recall.recall.costs import Costs
from family_recall.recall.gate import Gate
from family_recall.recall.runner import Runner
from family_recall.recall.trace import TraceBuilder
from family_recall.types import RecallContext, RecallRequest, Skip

CONFIG = RecallConfig()


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        """Start at 0."""
        self.now_ms = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_ms / 1000.0


def test_what_no_stage_counts_is_what_is_left_of_the_time() -> None:
    """2 ms before a stretch with a price of its own, 3 in it, 4 after it: 6, whatever ran in it."""
    clock = Hand()
    deadline = Deadline(0.0, 100.0, clock=clock)
    learned: list[tuple[str, int, float]] = []

    def observe(stage: str, n: int, ms: float) -> None:
        learned.append((stage, n, round(ms, 6)))

    admitted: Any = SimpleNamespace(deadline=deadline, observe=observe)
    run = Runner(CONFIG, admitted, TraceBuilder(deadline), Models(), interrupt=lambda: None)
    clock.now_ms = 2.0
    with run.priced_as("score") as stretch:
        stretch.n_in = 64
        with run.trace.span("rank"):
            clock.now_ms = 4.0
        clock.now_ms = 5.0
    clock.now_ms = 9.0
    run.learn_rest()

    assert learned == [("score", 64, 3.0), ("between", 1, 6.0)]


def test_a_stretch_costs_what_no_other_price_covers() -> None:
    """Of 7 ms, 4 are of a stage with its own price; the span of the stretch itself is not."""
    clock = Hand()
    deadline = Deadline(0.0, 100.0, clock=clock)
    learned: list[tuple[str, int, float]] = []

    def observe(stage: str, n: int, ms: float) -> None:
        learned.append((stage, n, round(ms, 6)))

    admitted: Any = SimpleNamespace(deadline=deadline, observe=observe)
    run = Runner(CONFIG, admitted, TraceBuilder(deadline), Models(), interrupt=lambda: None)
    with run.priced_as("answer") as stretch, run.trace.span("answer"):
        stretch.n_in = 5
        clock.now_ms = 1.0
        with run.trace.span("deduplicate"):
            clock.now_ms = 5.0
        with run.trace.span("fusion"):
            clock.now_ms = 7.0

    assert learned == [("answer", 5, 3.0)]


def test_a_stage_is_timed_learned_and_survived() -> None:
    """One that returns and one that fails both have a span; only the second is in ``degraded``."""
    clock = Hand()
    costs = Costs(CONFIG.assumed_cost_ms)
    gate = Gate(costs, CONFIG, clock=clock, processors=1)

    def work() -> int:
        clock.now_ms += 5.0
        return 7

    def fail() -> int:
        clock.now_ms += 1.0
        raise OSError("gone")

    with gate.admitted(RecallRequest("key?", RecallContext(time_budget_ms=1_000))) as admitted:
        trace = TraceBuilder(admitted.deadline)
        run = Runner(CONFIG, admitted, trace, Models(), interrupt=lambda: None)
        before_ms = costs.expected_ms("graph")
        assert run.run("graph", 3, work, 0) == 7
        assert run.run("vector", 3, fail, 0) == 0

    assert [(span.stage, round(span.ms), span.n_in, span.n_out) for span in trace.spans] == [
        ("graph", 5, 3, 3),
        ("vector", 1, 3, 0),
    ]
    assert costs.expected_ms("graph") > before_ms
    assert trace.degraded == ["vector: failed (OSError)"]
    assert trace.skips == [Skip("vector", "failed", "failed (OSError)")]


def test_a_stage_that_is_disabled_does_not_start() -> None:
    """The trace says so, before any price is computed; no refusal is counted."""
    config = RecallConfig(leave_out=frozenset({"graph"}))
    gate = Gate(Costs(config.assumed_cost_ms), config, clock=Hand())
    with gate.admitted(RecallRequest("key?", RecallContext(time_budget_ms=1_000))) as admitted:
        trace = TraceBuilder(admitted.deadline)
        run = Runner(config, admitted, trace, Models(), interrupt=lambda: None)
        assert not run.can_start("graph", 3)
        assert run.can_start("vector", 3)

    assert trace.skips == [Skip("graph", "disabled", "left out by the configuration", 3)]
