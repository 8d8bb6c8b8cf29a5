"""on_trace: the hook gets the trace of every answer, and its errors disturb nobody."""

from __future__ import annotations

import itertools
import logging
import threading
from pathlib import Path

import pytest

from family_recall import FamilyRecall, RecallContext
from family_recall.api import trace_hook
from family_recall.api.trace_hook import TraceHook
from family_recall.errors import UnknownPersonError
from family_recall.types import Trace
from tests.conftest import move_in, stories

WAIT_S = 30.0
PATIENT = RecallContext(time_budget_ms=60_000)


class Heard(logging.Handler):
    """Collects log messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Add a message."""
        self.messages.append(record.getMessage())


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is logged about hooks, whatever other tests have made of the process's logging."""
    handler, logger = Heard(), logging.Logger("hooks")  # noqa: LOG001  one of its own
    logger.addHandler(handler)
    monkeypatch.setattr(trace_hook, "log", logger)
    return handler.messages


def home_with(path: Path, hook: object) -> FamilyRecall:
    """Open a household whose traces go to a hook."""
    home = FamilyRecall.open(path, on_trace=hook)  # type: ignore[arg-type]  # of the tests' own
    move_in(home)
    home.remember_many(stories(), embed="later")
    return home


def test_the_hook_sees_the_trace_of_every_answer(path: Path) -> None:
    """Each recall and each opening, in order, by the time the household is closed."""
    seen: list[Trace] = []

    with home_with(path, seen.append) as home:
        answers = [
            home.recall("Where is the spare key?"),
            home.opening(),
            home.recall("When does grandma land?"),
        ]

    assert seen == [answer.trace for answer in answers]


def test_each_stage_says_when_it_ran(path: Path) -> None:
    """Within the recall, in the order in which they ended, the plan before what it is made for."""
    with home_with(path, None) as home:
        answer = home.recall("spare key", RecallContext("priya", time_budget_ms=60_000))
    spans = answer.trace.spans

    assert all(0.0 <= span.start_ms <= span.end_ms for span in spans)
    # Each figure is rounded to a thousandth.
    assert max(span.end_ms for span in spans) <= answer.used_time_ms + 0.002
    ends = [span.end_ms for span in spans]
    assert all(after >= before - 0.002 for before, after in itertools.pairwise(ends))
    began = {span.stage: span.start_ms for span in spans}
    assert began["plan"] < began["lexical"] < began["load"] < began["rank"] < began["answer"]
    assert Trace.from_json(answer.trace.to_json()) == answer.trace


def test_the_answer_does_not_wait_for_the_hook(path: Path) -> None:
    """A hook that waits for the answer gets it: it runs afterwards, on a thread of its own."""
    answered, ran_on = threading.Event(), []

    def hook(_: Trace) -> None:
        assert answered.wait(WAIT_S)
        ran_on.append(threading.current_thread())

    with home_with(path, hook) as home:
        home.recall("Where is the spare key?")
        answered.set()

    assert ran_on
    assert threading.current_thread() not in ran_on


def test_errors_of_the_hook_disturb_nobody(path: Path, heard: list[str]) -> None:
    """The answer is returned, the error logged, and the next trace sent all the same."""
    seen: list[Trace] = []

    def hook(trace: Trace) -> None:
        seen.append(trace)
        raise SystemError("the hook's own trouble")

    with home_with(path, hook) as home:
        answers = [home.recall("Where is the spare key?", PATIENT) for _ in range(2)]

    assert [answer.results[0].doc_id for answer in answers] == ["key", "key"]
    assert len(seen) == 2
    assert heard == ["on_trace failed"] * 2


def test_a_question_that_is_refused_leaves_no_trace(path: Path) -> None:
    """Nothing was answered, so there is nothing to see."""
    seen: list[Trace] = []

    with home_with(path, seen.append) as home, pytest.raises(UnknownPersonError):
        home.recall("Where is the key?", RecallContext("zoe"))

    assert seen == []


def test_a_hook_that_is_too_slow_misses_traces_and_costs_no_memory(
    heard: list[str],
) -> None:
    """Of five traces, one is held, two wait, and two are dropped with a warning."""
    go_on, seen = threading.Event(), []

    def hook(trace: Trace) -> None:
        assert go_on.wait(WAIT_S)
        seen.append(trace)

    observer = TraceHook(hook, max_waiting=3)
    for n in range(5):
        observer.send(Trace(counts={"n": n}))
    go_on.set()
    observer.close()
    observer.close()
    observer.send(Trace())

    assert [trace.counts["n"] for trace in seen] == [0, 1, 2]
    assert heard == ["on_trace is too slow: a trace was dropped"] * 2
