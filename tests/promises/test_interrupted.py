"""An interrupted call leaves nothing open: the next one works, while the exception is still held.

The tool ``tools/torture/interrupts.py`` does the same at random points, by the thousand.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from family_recall import Grant, Memory
from family_recall.api import FamilyRecall, files
from family_recall.encoders.base import Encoding
from family_recall.errors import ClosedError
from family_recall.store.file import copies
from family_recall.store.file.connections import Connections
from family_recall.threads import Latch, Workers
from tests.conftest import (
    HOME,
    NO_MODELS,
    TINY_STATIC,
    TinyEncoder,
    engine_of,
    found,
    move_in,
    recall,
    remember,
    stories,
)
from tools.torture import interrupts
from tools.torture.interrupts_work import WORK, open_connections

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the tool forks")


class Stop(BaseException):
    """What a signal handler may raise."""


@forks
def test_a_call_after_an_interrupted_one_works() -> None:
    """Whatever is interrupted, at any point, by a signal or by an exception between two calls."""
    tally = interrupts.torture(60, 3, sorted(WORK))

    assert tally.failures == []
    assert tally.interrupts.total() >= 60


@forks
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_every_part_of_a_write_may_be_interrupted(path: Path, share: float) -> None:
    """At two hundred points in a row of one call: nothing is stored, or all of it."""
    with FamilyRecall.open(path, encoder=TinyEncoder(), static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
        with interrupts.Points(None) as points:
            remember(home, "The bins go out on Monday")
        first = int(points.passed * share)
        for at in range(first, first + 200):
            try:
                with interrupts.Points(at):
                    remember(home, f"The bins go out on day {at}", doc_id=f"day-{at}")
            except interrupts.Interrupted:
                assert in_another_thread(lambda: remember(home, "The bins are blue")) is not None
        assert [finding for finding in home.maintenance.check() if finding.problem] == []


def raises(*_: object) -> None:
    """Stop whatever calls it."""
    raise Stop


class StopsEncoder(TinyEncoder):
    """Raises in the middle of a call."""

    stops = True

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Raise, or encode."""
        if self.stops:
            raise Stop
        return super().encode_memories(texts)


CALLBACKS: dict[str, Callable[[FamilyRecall, Path], object]] = {
    "remember": lambda home, _: home.remember_many(stories(), batch_size=2, progress=raises),
    "flush": lambda home, _: home.flush(progress=raises),
    "rebuild": lambda home, _: home.maintenance.rebuild(progress=raises),
    "reembed": lambda home, _: home.maintenance.reembed(
        encoder=TinyEncoder("other/1"), progress=raises
    ),
    "backup": lambda home, path: home.maintenance.backup(path / "copy.db", progress=raises),
    "export": lambda home, path: home.maintenance.export_to(path / "all.jsonl", progress=raises),
    "import": lambda home, path: home.sources.import_file(
        path / "notes.csv", space_id=HOME, progress=raises
    ),
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_what_a_progress_function_raises_stops_that_call_alone(tmp_path: Path, name: str) -> None:
    """It reaches the caller, and the next call works."""
    path = tmp_path / "family.db"
    (tmp_path / "notes.csv").write_text("id,text\na,The red kite\n", encoding="utf-8")
    with FamilyRecall.open(path, encoder=TinyEncoder(), static=TINY_STATIC) as home:
        move_in(home)
        home.remember(Memory("The bins go out on Monday", HOME), embed="later")
        try:
            CALLBACKS[name](home, tmp_path)
        except Stop:
            assert in_another_thread(lambda: remember(home, "The bins are blue")) is not None
            assert found(recall(home, "When do the bins go out?"))
        else:
            pytest.fail("nothing was raised")
        assert files.leftovers(tmp_path) == []


@pytest.mark.parametrize("role", ["encoder", "static"])
def test_what_an_encoder_raises_stores_all_of_a_memory_or_nothing(path: Path, role: str) -> None:
    """With a static one, which runs within the transaction, nothing; else all but the vectors."""
    encoder = StopsEncoder()
    with FamilyRecall.open(path, models=NO_MODELS, **{role: encoder}) as home:  # type: ignore[arg-type]  # a role's
        move_in(home)
        try:
            remember(home, "The bins go out on Monday", doc_id="bins")
        except Stop:
            encoder.stops = False
            stored = found(recall(home, "When do the bins go out?"))
            assert stored == ([] if role == "static" else ["bins"])
            assert in_another_thread(lambda: remember(home, "The bins are blue")) is not None
        else:
            pytest.fail("nothing was raised")


def test_what_a_hook_raises_stops_no_later_hook(path: Path) -> None:
    """Even what would end a program is logged, or dropped with its trace."""
    seen: list[object] = []

    def hook(trace: object) -> None:
        seen.append(trace)
        raise SystemExit

    with FamilyRecall.open(path, models=NO_MODELS, on_trace=hook) as home:
        for _ in range(3):
            recall(home, "When do the bins go out?")
    assert len(seen) == 3


def test_a_cancelled_task_leaves_the_thread_for_writers_free(path: Path) -> None:
    """What runs completes, what waits never runs, and the next write is stored."""

    async def work() -> None:
        home = await FamilyRecall.aopen(path, models=NO_MODELS)
        async with home:
            await home.aremember("The bins go out on Monday")
            tasks = [
                asyncio.create_task(home.aremember(f"Note {no}", space_id="shared:household"))
                for no in range(8)
            ]
            await tasks[0]
            for task in tasks[1:]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await home.aremember("The bins are blue", space_id="shared:household")
            assert (await home.arecall("Which colour are the bins?")).results

    asyncio.run(work())


def test_a_list_that_was_not_read_to_its_end_leaves_no_earlier_snapshot(path: Path) -> None:
    """A reader that stopped in the middle of its rows sees what is stored afterwards."""
    with FamilyRecall.open(path, models=NO_MODELS) as home:
        move_in(home)
        home.spaces.grant(Grant("priya", HOME, "owner"))
        for _ in range(4):
            recall(home, "When do the bins go out?", "priya", space_id=HOME)
        engine_of(home).audit_log.flush()
        assert len(home.audit.entries("priya", limit=2)) == 2
        doc_id = remember(home, "The bins go out on Monday")
        assert found(recall(home, "When do the bins go out?")) == [doc_id]


def test_an_interrupted_close_is_completed_by_the_next(path: Path) -> None:
    """At any point of it: the file is free afterwards, for a new key too."""
    with interrupts.Points(None) as points:
        FamilyRecall.open(path, models=NO_MODELS).close()
    for at in range(0, points.passed, max(points.passed // 25, 1)):
        home = FamilyRecall.open(path, models=NO_MODELS)
        with contextlib.suppress(interrupts.Interrupted), interrupts.Points(at):
            home.close()
        home.close()
        with pytest.raises(ClosedError):
            recall(home, "When do the bins go out?")
    files.rekey(path, new_key="a new key")


def read_twice(connections: Connections) -> None:
    """Lend two readers at once, one of them new."""
    with connections.reading(), connections.reading(fresh=True):
        pass


def write(connections: Connections) -> None:
    """Write nothing."""
    with connections.writing():
        pass


def copy(connections: Connections) -> None:
    """Open and close one for a copy."""
    with copies._opened(connections.path, None):
        pass


CONNECTED = [read_twice, write, copy, Connections.compact, Connections.reset_unreadable]


@pytest.mark.parametrize("call", CONNECTED)
def test_no_connection_is_open_after_close(
    path: Path, call: Callable[[Connections], object]
) -> None:
    """Whatever was interrupted before, at any point: each is in use, waits, or is closed.

    A block that is interrupted inside contextlib ends with the exception; all others at once.
    """
    connections = Connections(path, create=True)
    with interrupts.Points(None) as points:
        call(connections)
    for at in range(points.passed):
        try:
            with interrupts.Points(at):
                call(connections)
        except interrupts.Interrupted as error:
            *_, interrupted, _ = traceback.extract_tb(error.__traceback__)
            if interrupted.filename != contextlib.__file__:
                assert_none_is_lost(connections, at)
        assert_none_is_lost(connections, at)
    call(connections)
    connections.close()
    assert open_connections(path) == []


def assert_none_is_lost(connections: Connections, at: int) -> None:
    """Assert that only the writer and readers that wait are open."""
    assert len(open_connections(connections.path)) == 1 + len(connections._idle), f"at {at}"
    assert connections._n_lent == 0, f"at {at}"


def test_a_waiting_thread_notices_a_latch_whose_lock_another_has_left_locked() -> None:
    """As an exception between its two calls leaves it."""
    latch = Latch()
    latch.set()
    latch._lock.acquire()
    assert latch.wait()


def test_workers_give_results_in_order_and_raise_where_they_are_waited_for() -> None:
    """As an executor of the standard library does."""
    with Workers(3, "test") as workers:
        assert list(workers.map(lambda n: n * n, range(20))) == [n * n for n in range(20)]
        with pytest.raises(ZeroDivisionError):
            workers.begin(lambda: 1 / 0)()
        assert workers.submit(lambda: 7).result() == 7
    with pytest.raises(ClosedError):
        workers.begin(lambda: 1)


def in_another_thread(call: Callable[[], object]) -> object:
    """Return what a call in another thread returns; None if it does not end."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    thread.join(30.0)
    return results[0] if results else None
