"""The gate: what a request may cost, what is refused, and who waits for whom."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import RecallContext, RecallRequest
from family_recall.config import RecallConfig
from family_recall.encoders.loader import Models
from family_recall.errors import InvalidRequestError
from family_recall.recall.gate import Admitted, Costs, Gate
from family_recall.recall.runner import Runner
from family_recall.types import Skip, Trace
from tests.conftest import TINY_STATIC, TinyScorer, found, move_in, open_home, recall, stories

CONFIG = RecallConfig()
FREE = dict.fromkeys(CONFIG.assumed_cost_ms, (0.0, 0.0))


def gate(processors: int = 2, **cost_ms: tuple[float, float]) -> Gate:
    """Open a gate with a clock that stands still; with costs, all other stages are free."""
    costs = Costs({**FREE, **cost_ms} if cost_ms else CONFIG.assumed_cost_ms)
    return Gate(costs, CONFIG, clock=lambda: 0.0, processors=processors)


def asked(**ctx: Any) -> RecallRequest:
    """Ask for something."""
    return RecallRequest("where is the key?", RecallContext(**ctx))


def started(opened: Gate, request: RecallRequest) -> Runner:
    """Start a recall that has no file: only what it can afford is asked."""
    snapshot: Any = None
    return Runner(opened.config, opened, opened.admit(request), Models(), snapshot)


# Refusals


def test_a_refusal_says_what_is_needed_and_left() -> None:
    """With too little time the reason names both numbers; with enough there is none."""
    opened = gate(rerank=(0.5, 3.0), answer=(0.2, 0.0))

    assert started(opened, asked(time_budget_ms=60.0)).refusal("rerank", 10) is None
    detail = "needs 30.5 ms, 20.0 ms left"
    refusal = started(opened, asked(time_budget_ms=20.2)).refusal("rerank", 10)
    assert refusal == Skip("rerank", "no_time", detail, 10)
    detail = "needs 3.5 ms, 0.0 ms left"
    refusal = started(opened, asked(time_budget_ms=0.1)).refusal("rerank", 1)
    assert refusal == Skip("rerank", "no_time", detail, 1)


def test_a_stage_leaves_time_for_what_is_worth_more() -> None:
    """10 ms pay for a graph of 4 ms, but not where late interaction needs 7 of them."""
    assert started(gate(graph=(4.0, 0.0)), asked(time_budget_ms=10.0)).can_start("graph")
    run = started(gate(graph=(4.0, 0.0), late_interaction=(7.0, 0.0)), asked(time_budget_ms=10.0))
    assert not run.can_start("graph")
    assert run.can_start("late_interaction")


def test_asking_for_a_price_changes_nothing() -> None:
    """A thousand questions whether a stage can be paid for leave its price as it is.

    A thousand recalls that go without it do not: its price falls towards what is assumed.
    """
    opened = gate(graph=(4.0, 0.0))
    for _ in range(30):
        opened.costs.observe("graph", 0, 50.0)
    price_ms = opened.costs.expected_ms("graph")
    run = started(opened, asked(time_budget_ms=10.0))
    assert all(run.refusal("graph") is not None for _ in range(1_000))
    assert opened.costs.expected_ms("graph") == price_ms
    for _ in range(1_000):
        started(opened, asked(time_budget_ms=10.0)).can_start("graph")

    assert opened.costs.expected_ms("graph") < price_ms


def test_a_recall_counts_one_refusal_for_each_stage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five recalls that can pay for nothing but words refuse the transformer five times.

    Words take so long that the recall first asks whether the transformer would hide them.
    """
    counted: list[str] = []
    monkeypatch.setattr(Costs, "count_refusal", lambda _, stage: counted.append(stage))
    slow_words = {**CONFIG.assumed_cost_ms, "lexical": (5.0, 0.0)}
    with open_home(
        path, static=TINY_STATIC, config=RecallConfig(assumed_cost_ms=slow_words)
    ) as home:
        move_in(home)
        home.remember_many(stories())
        for number in range(5):
            recall(home, f"where is key {number}?", "mia", time_budget_ms=1.0)

    assert counted.count("embed") == 5
    assert all(counted.count(stage) <= 5 for stage in counted)


# Classes


@pytest.mark.parametrize(
    ("ctx", "expected"),
    [
        ({}, "interactive"), ({"time_budget_ms": 100}, "interactive"),
        ({"time_budget_ms": 101}, "conversational"), ({"time_budget_ms": 5_000}, "conversational"),
        ({"time_budget_ms": 60_000}, "background"),
        ({"time_budget_ms": 2, "service_class": "background"}, "background"),
    ],
    ids=str,
)  # fmt: skip
def test_a_request_has_the_class_of_its_budget_or_its_own(
    ctx: dict[str, Any], expected: str
) -> None:
    """A screen waits up to 100 ms, a voice up to 5 s; a request that names a class has that one."""
    assert gate().admit(asked(**ctx)).service_class == expected


def test_a_class_there_is_not_is_refused() -> None:
    """The message names those there are."""
    with pytest.raises(InvalidRequestError, match="interactive, conversational, background"):
        RecallContext(service_class="urgent")


def test_the_conversational_leave_the_cross_encoder_to_the_interactive() -> None:
    """With more recalls than processors, a voice goes without, and is told why."""
    opened = gate(processors=1)
    voice = started(opened, asked(time_budget_ms=4_000))
    screen = started(opened, asked())
    with opened.running(voice.admitted):
        assert voice.refusal("rerank", 60) is None
        with opened.running(screen.admitted):
            shed = voice.refusal("rerank", 60)
            assert shed is not None
            assert shed.reason == "shed"
            assert shed.detail.startswith("shed: 2 recalls at once on 1 processors")
            assert screen.refusal("rerank", 60) is None
            assert voice.refusal("vector", 100) is None
        assert voice.refusal("rerank", 60) is None


def waiting(opened: Gate, admitted: Admitted) -> tuple[threading.Thread, list[float]]:
    """Start a recall on a thread; return the seconds until it runs."""
    waited: list[float] = []

    def run() -> None:
        start_s = time.monotonic()
        with opened.running(admitted):
            waited.append(time.monotonic() - start_s)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, waited


def test_background_waits_until_the_others_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on as soon as nothing more urgent runs; another background recall is not that."""
    opened = Gate(Costs(CONFIG.assumed_cost_ms), CONFIG, processors=1)
    background = opened.admit(asked(service_class="background", time_budget_ms=60_000))
    with opened.running(background):
        thread, waited = waiting(opened, background)
        thread.join()
        assert waited[0] < 5.0
    is_waiting, wait = threading.Event(), opened._changed.wait

    def watched_wait(timeout: float | None = None) -> bool:
        is_waiting.set()
        return wait(timeout)

    monkeypatch.setattr(opened._changed, "wait", watched_wait)
    with opened.running(opened.admit(asked())):
        thread, waited = waiting(opened, background)
        assert is_waiting.wait(30.0)
        assert not waited
    thread.join()

    assert 0.0 < waited[0] < 30.0


def test_background_waits_for_half_of_its_time_at_most() -> None:
    """A recall that never ends delays nobody for ever."""
    opened = Gate(Costs(CONFIG.assumed_cost_ms), CONFIG, processors=1)
    with opened.running(opened.admit(asked())):
        background = opened.admit(asked(service_class="background", time_budget_ms=40))
        thread, waited = waiting(opened, background)
        thread.join()

    assert waited[0] > 0.0


def test_a_writer_pauses_only_while_a_recall_runs() -> None:
    """Between two memories it waits for a recall to end, or briefly; alone, not at all."""
    opened = gate()
    opened.yield_to_recalls()
    assert opened._running.total() == 0
    running = opened.running(opened.admit(asked()))
    with running, concurrent.futures.ThreadPoolExecutor(1) as writer:

        def write() -> float:
            opened.yield_to_recalls()
            start_s = time.monotonic()
            while time.monotonic() < start_s + 0.002:
                pass  # work
            start_s = time.monotonic()
            opened.yield_to_recalls()
            return time.monotonic() - start_s

        assert writer.submit(write).result() >= 0.002


# Clamps and the plan


def test_a_thousand_results_are_cut_to_what_the_budget_pays_for() -> None:
    """A result costs time too: the trace names what was requested, what was granted, and why."""
    admitted = gate().admit(asked(top_k=1000, time_budget_ms=20))
    (clamp,) = admitted.clamps

    assert (clamp.name, clamp.requested) == ("top_k", 1000)
    assert clamp.granted == admitted.request.ctx.top_k
    assert CONFIG.usual_top_k < clamp.granted < 1000
    assert clamp.detail == f"20 ms pay for {clamp.granted:g} results"


@settings(max_examples=100, deadline=None, derandomize=True)
@given(top_k=st.integers(1, 10**9), budget_ms=st.floats(0.001, 1e12))
def test_whatever_is_asked_for_is_cut_and_never_refused(top_k: int, budget_ms: float) -> None:
    """No request is too large; a page of results is always given, and nothing is added."""
    request = asked(top_k=top_k, time_budget_ms=budget_ms)
    admitted = gate().admit(request)
    given = admitted.request.ctx

    assert min(top_k, CONFIG.usual_top_k) <= given.top_k <= min(top_k, 1000)
    assert given.time_budget_ms <= min(budget_ms, CONFIG.longest_budget_ms)
    assert {clamp.name for clamp in admitted.clamps} == {
        name for name in ("top_k", "time_budget_ms")
        if getattr(given, name) != getattr(request.ctx, name)
    }  # fmt: skip


def test_an_answer_says_what_the_gate_made_of_its_request(path: Path) -> None:
    """Class, clamps and what was affordable are in the trace, and survive JSON."""
    with open_home(path, scorer=TinyScorer()) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, "where is the key?", "mia", top_k=5_000)
        hurried = recall(home, "where is the key?", "mia", time_budget_ms=1.0)

    gate = answer.trace.gate
    assert gate is not None
    assert gate.service_class == "background"
    assert [clamp.name for clamp in gate.clamps] == ["top_k"]
    assert [stage for stage, _ in gate.affordable] == [
        "embed", "vector", "graph", "late_interaction", "rerank",
    ]  # fmt: skip
    assert hurried.trace.gate is not None
    assert hurried.trace.gate.affordable == ()
    assert found(hurried)[0] == "key"
    assert Trace.from_json(answer.trace.to_json()) == answer.trace


def test_a_plan_grows_with_the_budget() -> None:
    """Each larger budget affords every stage the smaller one did, and no fewer pairs."""
    before: dict[str, int] = {}
    for budget_ms in (1, 4, 8, 12, 20, 40, 80, 300):
        admission = started(gate(), asked(time_budget_ms=budget_ms)).trace.gate
        assert admission is not None
        planned = dict(admission.affordable)
        assert {stage for stage in before if stage != "embed_static"} <= set(planned)
        assert planned.get("rerank", 0) >= before.get("rerank", 0)
        before = planned
    assert before["rerank"] == CONFIG.rerank_pool
