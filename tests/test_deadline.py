"""The alarm stops what does not end in time, from another thread, and nothing else."""

from __future__ import annotations

import itertools
import math
import threading
import time

from family_recall.deadline import Alarm, Deadline, stopped_by

LONG_S = 30.0
"""How long a test waits for what should come at once; it never passes."""


def test_a_block_that_outlasts_its_moment_is_stopped() -> None:
    """Its stop is called from another thread; the alarm says so."""
    stopped = threading.Event()
    callers: list[int] = []

    def stop() -> None:
        callers.append(threading.get_ident())
        stopped.set()

    with Alarm(time.monotonic() + 0.001, stop) as alarm:
        assert stopped.wait(LONG_S)

    assert alarm.fired
    assert set(callers).isdisjoint({threading.get_ident()})


def test_a_block_is_stopped_until_it_ends() -> None:
    """What is interrupted between two statements goes on to the next, and is interrupted again."""
    calls, stopped = itertools.count(1), threading.Event()

    def stop() -> None:
        if next(calls) == 3:
            stopped.set()

    with Alarm(time.monotonic() + 0.001, stop):
        assert stopped.wait(LONG_S)
    so_far = next(calls)
    later = threading.Event()
    with Alarm(time.monotonic() + 0.02, later.set):
        assert later.wait(LONG_S)

    assert next(calls) == so_far + 1  # ours: the alarm has not called again


def test_a_block_that_ends_in_time_is_left_alone() -> None:
    """An alarm set for a block that has ended stops nothing, though others go off after it."""
    calls: list[str] = []
    with Alarm(time.monotonic() + 0.02, lambda: calls.append("early")) as alarm:
        pass
    later = threading.Event()
    with Alarm(time.monotonic() + 0.03, later.set):
        assert later.wait(LONG_S)

    assert calls == []
    assert not alarm.fired


def test_the_earliest_alarm_goes_off_first() -> None:
    """One that is set later and is due earlier does not wait for the one before."""
    soon, late = threading.Event(), threading.Event()
    with Alarm(time.monotonic() + LONG_S, late.set):
        with Alarm(time.monotonic() + 0.001, soon.set):
            assert soon.wait(LONG_S / 2)
        assert not late.is_set()


def test_a_stop_that_comes_late_is_called_at_once() -> None:
    """What a block calls after its alarm has gone off is stopped before it starts."""
    rung = threading.Event()
    calls: list[str] = []
    with Alarm(time.monotonic() + 0.001, rung.set):
        assert rung.wait(LONG_S)
        with stopped_by(lambda: calls.append("inner")):
            assert set(calls) == {"inner"}


def test_without_an_alarm_nothing_is_stopped() -> None:
    """Outside a recall, and by a clock that is not the machine's, stops are never called."""
    calls: list[str] = []
    with stopped_by(lambda: calls.append("outside")):
        pass
    moment_s = Deadline(0.0, 1.0, clock=lambda: 99.0).moment_s()
    later = threading.Event()
    with (
        Alarm(moment_s, lambda: calls.append("never")) as alarm,
        Alarm(time.monotonic() + 0.005, later.set),
    ):
        assert later.wait(LONG_S)

    assert math.isinf(moment_s)
    assert calls == []
    assert not alarm.fired


def test_a_moment_leaves_what_must_follow() -> None:
    """A stage may run until its tail has to begin, but always for the least it is given."""
    now_s = time.monotonic()
    deadline = Deadline(now_s, 100.0)

    assert abs(deadline.moment_s(30.0) - (now_s + 0.07)) < 1e-6
    assert deadline.moment_s(99.9, at_least_ms=1_000.0) >= now_s + 1.0


def test_many_alarms_from_many_threads_all_go_off() -> None:
    """A thousand alarms set at once by eight threads each stop their own block."""
    fired: list[bool] = []

    def run() -> None:
        for _ in range(125):
            stopped = threading.Event()
            with Alarm(time.monotonic() + 0.0005, stopped.set) as alarm:
                stopped.wait(LONG_S)
            fired.append(alarm.fired)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert fired == [True] * 1_000
