"""A thread whose start is interrupted at any point is neither lost nor doubled."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from family_recall.api import FamilyRecall
from family_recall.api.audit import AuditWriter
from family_recall.deadline import Alarm, end_alarms
from family_recall.encoders.loader import Models
from family_recall.threads import Thread, Workers
from family_recall.types import RecallContext
from tests.conftest import NO_MODELS, engine_of
from tools.torture.interrupts import Interrupted, Points

Owner = tuple[Callable[[], object], Callable[[], object]]
"""A call that starts a thread where there is none, and one that ends what was started."""


def workers(_: Path) -> Owner:
    """Return an executor."""
    pool = Workers(1, "family_recall-test")

    def call() -> object:
        return pool.begin(str, 1)()

    return call, pool.shutdown


def models(folder: Path) -> Owner:
    """Return the loader of a folder without models."""
    loader = Models(folder)
    return loader.wait, loader.close


def alarm(_: Path) -> Owner:
    """Return the alarms of this process."""

    def call() -> None:
        with Alarm(time.monotonic() + 60.0):
            pass

    return lambda: contextvars.copy_context().run(call), end_alarms  # as each call of the API


def audit(folder: Path) -> Owner:
    """Return the log of a household that has none yet."""
    home = FamilyRecall.open(folder / "family.db", models=NO_MODELS)
    log = AuditWriter(engine_of(home).store, time.time)

    def close() -> None:
        log.close()
        home.close()

    return lambda: log.note("recall", RecallContext("priya"), []), close


# An interrupt may fall into what the collection of garbage calls, which swallows it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("owner", [workers, models, alarm, audit])
def test_an_interrupted_start_leaves_no_thread(
    tmp_path: Path, owner: Callable[[Path], Owner]
) -> None:
    """Whichever call is interrupted where: the next one works, and the end leaves nothing."""
    end_alarms()
    call, close = owner(tmp_path)
    with Points(None) as points:
        call()
    close()
    for at, is_called_again in itertools.product(range(points.passed), (False, True)):
        before = set(threading.enumerate())
        call, close = owner(tmp_path)
        with contextlib.suppress(Interrupted), Points(at):
            call()
        if is_called_again:
            call()
            names = [thread.name for thread in set(threading.enumerate()) - before]
            alone = [name for name in names if "-" in name]  # of a kind with one thread
            assert len(alone) == len(set(alone)), f"at {at}: {names}"
        close()
        assert set(threading.enumerate()) <= before, f"at {at}"


def test_a_thread_runs_once_however_often_its_start_was_interrupted() -> None:
    """At any point, a start or a join completes it."""
    with Points(None) as points:
        Thread(int, "test").start()
    for at in range(points.passed):
        runs: list[int] = []
        thread = Thread(lambda runs=runs: runs.append(1), "test")  # type: ignore[misc]  # its own
        for _ in range(3):
            with contextlib.suppress(Interrupted), Points(at):
                thread.start()
        thread.join()
        thread.join()
        assert runs == [1]
