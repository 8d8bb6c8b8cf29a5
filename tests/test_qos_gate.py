"""The gate: what a stage costs is learned, and what cannot be paid for is refused."""

from __future__ import annotations

import concurrent.futures
import random
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import RecallContext, RecallRequest
from family_recall.config import RecallConfig
from family_recall.deadline import Deadline
from family_recall.errors import InvalidRequestError
from family_recall.pipeline.costs import Costs, Refusal, refusal
from family_recall.pipeline.gate import Admitted, Gate
from family_recall.pipeline.runner import Attempts
from family_recall.pipeline.trace import TraceBuilder
from family_recall.stores.logs.stage_costs import StageCost
from family_recall.types import Trace
from tests.conftest import TinyScorer, found, move_in, open_home, recall, stories

CONFIG = RecallConfig()


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
    """After two thousand runs 15 in 16 took no longer than expected."""
    drawn = random.Random(7)
    costs = Costs({"graph": (2.0, 0.0)})
    below = 0
    for n in range(4_000):
        took_ms = true_ms * drawn.lognormvariate(0.0, 0.5)
        below += n >= 2_000 and took_ms <= costs.expected_ms("graph")
        costs.observe("graph", 0, took_ms)

    assert below / 2_000 == pytest.approx(15 / 16, abs=0.03)


def test_one_bad_run_is_soon_forgiven() -> None:
    """A stage that once took a hundred times as long is not refused for ever."""
    costs = Costs({"graph": (2.0, 0.0)})
    costs.observe("graph", 0, 200.0)
    assert costs.expected_ms("graph") < 2.5
    for _ in range(20):
        costs.observe("graph", 0, 1.0)

    assert costs.expected_ms("graph") < 2.0


def test_a_price_is_what_most_of_the_recent_runs_took() -> None:
    """Of 31 runs that took 1 to 31 ms it is the 30th; what was dear before them is forgotten."""
    costs = Costs({"graph": (5.0, 0.0)})
    took_ms = list(range(1, 32))
    random.Random(2).shuffle(took_ms)
    for ms in (*[400.0] * 4, 15, *took_ms):
        costs.observe("graph", 0, ms)

    assert costs.expected_ms("graph") == pytest.approx(30.0)


def test_stages_are_seldom_all_dear_at_once() -> None:
    """Three of 1 ms that may take 1.3 take 3 + √(3 · 0.3²), not 3.9; one alone is its own price."""
    costs = Costs({"plan": (1.3, 0.0), "score": (0.0, 0.13), "finish": (0.65, 0.065)})

    together = costs.expected_in_all_ms({"plan": 0, "score": 10, "finish": 10})
    assert together == pytest.approx(3.0 + (3 * 0.3**2) ** 0.5)
    assert costs.expected_in_all_ms({"score": 10}) == pytest.approx(1.3)
    assert costs.expected_in_all_ms({}) == 0.0


def test_what_no_stage_counts_is_what_is_left_of_the_time() -> None:
    """2 ms before a stretch with a price of its own, 3 in it, 4 after it: 6, whatever ran in it."""
    now_s = [0.0]
    counted = Deadline(0.0, 100.0, clock=lambda: now_s[0])
    learned: list[tuple[str, int, float]] = []

    def observe(stage: str, n: int, ms: float) -> None:
        learned.append((stage, n, round(ms, 6)))

    admitted: Any = SimpleNamespace(deadline=counted, observe=observe)
    attempts = Attempts(CONFIG, admitted, TraceBuilder(counted), interrupt=lambda: None)
    now_s[0] = 0.002
    with attempts.charged("score") as stretch:
        stretch.n_in = 64
        with attempts.trace.span("rank"):
            now_s[0] = 0.004
        now_s[0] = 0.005
    now_s[0] = 0.009
    attempts.charge_the_rest()

    assert learned == [("score", 64, 3.0), ("between", 1, 6.0)]


def test_what_nobody_prices_costs_nothing_to_observe() -> None:
    """A stage without a price is not learned, and is no error."""
    costs = Costs({"graph": (2.0, 0.0)})
    costs.observe("plan", 0, 5.0)

    assert costs.expected_ms("graph") == 2.0


def test_a_refusal_says_what_is_needed_and_left() -> None:
    """With too little time the reason names both numbers; with enough there is none."""
    costs = Costs({"rerank": (0.5, 3.0)})

    assert refusal(costs, deadline(60.0), "rerank", 10) is None
    assert refusal(costs, deadline(20.2), "rerank", 10) == Refusal(
        "no_time", "needs 30.5 ms, 20.0 ms left"
    )
    assert refusal(costs, deadline(-5.0), "rerank", 1) == Refusal(
        "no_time", "needs 3.5 ms, 0.0 ms left"
    )


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


def test_fixed_and_per_unit_are_told_apart() -> None:
    """Where the number of units varies, both parts of a cost are found, not only their sum."""
    drawn = random.Random(3)
    costs = Costs({"rerank": (2.0, 0.02)})
    for _ in range(6_000):
        n = drawn.randrange(5, 200)
        costs.observe("rerank", n, (0.5 + 0.08 * n) * drawn.uniform(0.9, 1.1))

    for n in (10, 60, 190):
        assert costs.expected_ms("rerank", n) == pytest.approx(0.5 + 0.08 * n, rel=0.3)


def test_costs_rise_quickly_and_fall_slowly() -> None:
    """A laptop that goes to its battery is noticed in five runs; from the mains it takes longer."""
    costs = Costs({"graph": (2.0, 0.0)})
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
    """Some dear runs do not shut a stage out for ever: refusals bring its price down again."""
    costs = Costs({"graph": (2.0, 0.0)})
    for _ in range(200):
        costs.observe("graph", 0, 1.9)
    for _ in range(6):
        costs.observe("graph", 0, 40.0)
    assert refusal(costs, deadline(8.0), "graph") is not None
    refused = 0
    while refusal(costs, deadline(8.0), "graph") is not None:
        refused += 1
        assert refused < 300


def test_what_proves_dear_again_and_again_is_tried_ever_more_seldom() -> None:
    """Of 2,000 recalls that cannot pay, fewer than one in a hundred try; until it is cheap."""
    costs = Costs({"graph": (2.0, 0.0)})
    tried = []
    for at in range(2_000):
        if refusal(costs, deadline(8.0), "graph") is None:
            costs.observe("graph", 0, 40.0)
            tried.append(at)
    assert 5 <= len(tried) < 20
    for _ in range(1_000):
        if refusal(costs, deadline(8.0), "graph") is None:
            costs.observe("graph", 0, 1.0)

    assert refusal(costs, deadline(8.0), "graph") is None


def test_what_a_busy_day_has_left_in_the_file_is_doubted_in_time() -> None:
    """Refused for a kept price alone, a stage is tried again; down to what is assumed."""
    costs = Costs({"graph": (2.0, 0.0)}, {"graph": StageCost(100.0, 0.0, 50)})
    refused = 0
    while refusal(costs, deadline(8.0), "graph") is not None:
        refused += 1
        assert refused < 300
    for _ in range(300):
        costs.refused("graph")

    assert refused > 10
    assert costs.expected_ms("graph") == pytest.approx(2.0)


def test_what_the_file_knows_is_where_a_device_begins() -> None:
    """Stored costs replace the assumed ones, within a hundredfold; only news is written again."""
    kept = {"graph": StageCost(5.0, 0.0, 50), "embed": StageCost(1e9, 0.0, 50)}
    costs = Costs({"graph": (2.0, 0.0), "embed": (3.0, 0.0)}, kept)

    assert costs.expected_ms("graph") == 5.0
    assert costs.expected_ms("embed") == 300.0
    assert "graph" not in costs.moved()
    for _ in range(20):
        costs.observe("graph", 0, 9.0)
    moved = costs.moved()
    assert moved["graph"].runs == 70
    costs.written(moved)
    assert costs.moved() == {}


def test_a_few_runs_seed_a_cost() -> None:
    """Two lengths give the line through both; what is well known already stays."""
    costs = Costs({"embed": (9.0, 1.0)}, {})
    costs.seed("embed", [(10, 2.0), (10, 2.1), (40, 5.0), (40, 5.2)])

    assert 2.0 <= costs.expected_ms("embed", 10) <= 3.0
    assert 5.0 <= costs.expected_ms("embed", 40) <= 7.0
    for _ in range(20):
        costs.observe("embed", 10, 2.0)
    known = costs.expected_ms("embed", 10)
    costs.seed("embed", [(10, 50.0), (40, 90.0)])
    assert costs.expected_ms("embed", 10) == known


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 500), st.floats(0.0, 1e6)), max_size=60))
def test_a_cost_stays_within_its_bounds(runs: list[tuple[int, float]]) -> None:
    """Whatever is observed, both parts stay between a hundredth and a hundredfold."""
    costs = Costs({"rerank": (0.5, 0.05)})
    for n, ms in runs:
        costs.observe("rerank", n, ms)
        costs.refused("rerank")

    assert 0.0049 <= costs.expected_ms("rerank") <= 50.1
    assert costs.expected_ms("rerank", 100) <= 50.1 + 501.0


# Classes


def gate(processors: int = 2) -> Gate:
    """Open a gate with a clock that stands still."""
    return Gate(Costs(CONFIG.assumed_cost_ms), CONFIG, clock=lambda: 0.0, processors=processors)


def asked(**ctx: Any) -> RecallRequest:
    """Ask for something."""
    return RecallRequest("where is the key?", RecallContext(**ctx))


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
    """A screen waits up to 100 ms, a voice up to 5 s; whoever names a class has that one."""
    with gate().admitted(asked(**ctx)) as admitted:
        assert admitted.service_class == expected


def test_a_class_there_is_not_is_refused() -> None:
    """The message names those there are."""
    with pytest.raises(InvalidRequestError, match="interactive, conversational, background"):
        RecallContext(service_class="urgent")


def test_several_at_once_make_each_stage_dearer() -> None:
    """Six recalls on two processors: a stage is priced three times as dear; alone, as it is."""
    opened = gate(processors=2)
    with opened.admitted(asked()) as first:
        alone = first.expected_ms("embed", 10)
        others = [opened.admitted(asked()) for _ in range(5)]
        for other in others:
            other.__enter__()
        assert first.expected_ms("embed", 10) == pytest.approx(3.0 * alone)
        for other in others:
            other.__exit__(None, None, None)
        assert first.expected_ms("embed", 10) == alone


def test_background_does_not_crowd_the_interactive() -> None:
    """What gives way is not counted against what it gives way to."""
    opened = gate(processors=1)
    with (
        opened.admitted(asked(service_class="background")),
        opened.admitted(asked(service_class="background")) as second,
        opened.admitted(asked()) as urgent,
    ):
        assert opened.contention(urgent.service_class) == 1.0
        assert opened.contention(second.service_class) == 3.0


def test_the_conversational_leave_the_cross_encoder_to_the_interactive() -> None:
    """With more recalls than processors, a voice goes without, and is told why."""
    opened = gate(processors=1)
    with opened.admitted(asked(time_budget_ms=4_000)) as voice:
        assert voice.refusal("rerank", 60) is None
        with opened.admitted(asked()) as screen:
            assert "shed: 2 recalls at once on 1 processors" in str(voice.refusal("rerank", 60))
            assert screen.refusal("rerank", 60) is None
            assert voice.refusal("vector", 100) is None
        assert voice.refusal("rerank", 60) is None


def waiting(opened: Gate, **ctx: Any) -> tuple[threading.Thread, list[float]]:
    """Let a background recall give way on a thread; gives how long it waited."""
    waited: list[float] = []

    def run() -> None:
        with opened.admitted(asked(service_class="background", **ctx)) as admitted:
            admitted.yield_to_urgent()
            waited.append(admitted.waited_ms)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, waited


def test_background_waits_until_the_others_are_done() -> None:
    """It goes on as soon as nothing more urgent runs; another background recall is not that."""
    opened = Gate(Costs(CONFIG.assumed_cost_ms), CONFIG, processors=1)
    with opened.admitted(asked(service_class="background")):
        thread, waited = waiting(opened, time_budget_ms=60_000)
        thread.join()
        assert waited[0] < 5_000
    with opened.admitted(asked()):
        thread, waited = waiting(opened, time_budget_ms=60_000)
        time.sleep(0.02)
        assert not waited
    thread.join()

    assert 0.0 < waited[0] < 30_000


def test_background_waits_for_half_of_its_time_at_most() -> None:
    """A recall that never ends holds nobody up for ever."""
    opened = Gate(Costs(CONFIG.assumed_cost_ms), CONFIG, processors=1)
    with opened.admitted(asked()):
        thread, waited = waiting(opened, time_budget_ms=40)
        thread.join()

    assert waited[0] > 0.0


def test_a_writer_breathes_only_while_somebody_asks() -> None:
    """Between two memories it waits for a recall to end, or a moment; alone, not at all."""
    opened = gate()
    opened.yield_to_recalls()
    assert opened._running.total() == 0
    with opened.admitted(asked()), concurrent.futures.ThreadPoolExecutor(1) as writer:

        def write() -> float:
            opened.yield_to_recalls()
            time.sleep(0.002)
            start_s = time.monotonic()
            opened.yield_to_recalls()
            return time.monotonic() - start_s

        assert writer.submit(write).result() >= 0.002


# Clamps and the plan


def test_a_thousand_results_are_cut_to_what_the_budget_pays_for() -> None:
    """Telling a result costs time too: the trace names what was asked, what was given, and why."""
    with gate().admitted(asked(top_k=1000, time_budget_ms=20)) as admitted:
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
    with gate().admitted(request) as admitted:
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
        with gate().admitted(asked(time_budget_ms=budget_ms)) as admitted:
            planned = dict(affordable(admitted))
        assert {stage for stage in before if stage != "embed_static"} <= set(planned)
        assert planned.get("rerank", 0) >= before.get("rerank", 0)
        before = planned
    assert before["rerank"] == CONFIG.rerank_pool


def affordable(admitted: Admitted) -> tuple[tuple[str, int], ...]:
    """Give what was planned."""
    return admitted.admission().affordable
