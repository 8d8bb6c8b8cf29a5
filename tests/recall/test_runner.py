"""The runner: how one stage is run, timed, learned, and done without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from family_recall.config import RecallConfig
from family_recall.encoders.loader import Models
from family_recall.recall.gate import Costs, Gate
from family_recall.recall.runner import Runner
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


class Written(Costs):
    """Costs that are written down."""

    def __init__(self) -> None:
        """Begin with no run."""
        super().__init__(CONFIG.assumed_cost_ms)
        self.runs: list[tuple[str, int, float]] = []

    def observe(self, stage: str, n: int, ms: float) -> None:
        """Add a run."""
        self.runs.append((stage, n, round(ms, 6)))


def started(costs: Costs, clock: Hand, config: RecallConfig = CONFIG) -> Runner:
    """Start a recall that has no file."""
    gate = Gate(costs, config, clock=clock, processors=1)
    request = RecallRequest("key?", RecallContext(time_budget_ms=1_000))
    snapshot: Any = SimpleNamespace(interrupt=lambda: None)
    return Runner(config, gate, gate.admit(request), Models(), snapshot)


def test_what_no_stage_counts_is_what_is_left_of_the_time() -> None:
    """Scoring took 3 ms in two parts, on either side of a stage with its own price; 6 are left."""
    clock, costs = Hand(), Written()
    run = started(costs, clock)
    clock.now_ms = 2.0
    with run.trace.span("features", 64) as features:
        features.n_out = 64
        clock.now_ms = 4.0
    with run.trace.span("graph", 9):
        clock.now_ms = 8.0
    with run.trace.span("rank", 64) as rank:
        rank.n_out = 64
        clock.now_ms = 9.0
    clock.now_ms = 13.0
    run.finish()

    assert costs.runs == [("score", 64, 3.0), ("between", 3, 6.0)]


def test_a_stage_is_timed_learned_and_survived() -> None:
    """One that returns and one that fails both have a span; only the second is in ``degraded``."""
    clock, costs = Hand(), Costs(CONFIG.assumed_cost_ms)

    def work() -> int:
        clock.now_ms += 5.0
        return 7

    def fail() -> int:
        clock.now_ms += 1.0
        raise OSError("gone")

    run = started(costs, clock)
    before_ms = costs.expected_ms("graph")
    assert run.run("graph", 3, work, 0) == 7
    assert run.run("vector", 3, fail, 0) == 0

    spans = [(span.stage, round(span.ms), span.n_in, span.n_out) for span in run.trace.spans]
    assert spans == [("graph", 5, 3, 3), ("vector", 1, 3, 0)]
    run.run("graph", 3, work, 0)
    assert costs.expected_ms("graph") > before_ms
    assert run.trace.degraded == ["vector: failed (OSError)"]
    assert run.trace.skips == [Skip("vector", "failed", "failed (OSError)")]


def test_a_stage_that_is_disabled_does_not_start() -> None:
    """The trace says so, before any price is computed; no refusal is counted."""
    config = RecallConfig(leave_out=frozenset({"graph"}))
    run = started(Costs(config.assumed_cost_ms), Hand(), config)

    assert not run.can_start("graph", 3)
    assert run.can_start("vector", 3)
    assert run.trace.skips == [Skip("graph", "disabled", "left out by the configuration", 3)]
