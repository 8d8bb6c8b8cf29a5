"""Calls that are awaited: their budget, their threads, and what cancelling does."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from family_recall import Answer, FamilyRecall, RecallContext, deadline
from family_recall.api.engine import _WORKERS, _WRITERS
from family_recall.apps.llm_tools import adispatch
from family_recall.deadline import Alarm, end_alarms
from family_recall.errors import ClosedError, InvalidRequestError, StoreBusyError
from family_recall.store.file.connection import connect
from family_recall.threads import Thread
from tests.conftest import (
    HOME,
    NO_MODELS,
    TINY_STATIC,
    found,
    move_in,
    open_home,
    stories,
)

QUESTION = "When does grandma land on Friday?"


class Hand:
    """A clock that a test moves."""

    at_s = 100.0

    def __call__(self) -> float:
        """Seconds."""
        return self.at_s


@pytest.fixture
def hand() -> Hand:
    """Return the clock of deadlines."""
    return Hand()


@pytest.fixture
def lived_in(path: Path, hand: Hand) -> Iterator[FamilyRecall]:
    """Open a household with stories, by the hand-moved clock."""
    with open_home(path, static=TINY_STATIC, clock=hand) as home:
        move_in(home)
        home.remember_many(stories())
        yield home


@contextlib.asynccontextmanager
async def busy(
    run: Callable[[Callable[[], bool]], Coroutine[None, None, bool]], n: int
) -> AsyncIterator[Callable[[], None]]:
    """Keep n threads busy until the block's ``free`` is called, or the block ends."""
    started, freed = threading.Semaphore(0), threading.Event()

    def hold() -> bool:
        started.release()
        return freed.wait(60)

    held = [asyncio.ensure_future(run(hold)) for _ in range(n)]
    await asyncio.sleep(0)
    for _ in held:
        assert started.acquire(timeout=60)
    try:
        yield freed.set
    finally:
        freed.set()
        await asyncio.gather(*held)


@pytest.mark.parametrize(("waited_ms", "in_time"), [(0.0, True), (200.0, True), (900.0, False)])
def test_waiting_for_a_thread_is_part_of_the_budget(
    lived_in: FamilyRecall, hand: Hand, waited_ms: float, in_time: bool
) -> None:
    """A recall that starts late has what is left; with nothing left it answers and says so."""

    async def ask() -> Answer:
        async with busy(lived_in.arun, _WORKERS) as free:
            asked = asyncio.ensure_future(
                lived_in.arecall(QUESTION, person_id="mia", time_budget_ms=300.0)
            )
            await asyncio.sleep(0)
            hand.at_s += waited_ms / 1000.0
            free()
            return await asked

    answer = asyncio.run(ask())

    assert answer.used_time_ms == pytest.approx(waited_ms)
    assert "grandma" in found(answer)
    reasons = {skip.reason for skip in answer.trace.skips}
    assert ("no_time" in reasons) is (not in_time)


def test_a_recall_never_waits_behind_writes(lived_in: FamilyRecall) -> None:
    """While every thread that writes is busy, a recall is answered."""

    async def ask() -> Answer:
        async with busy(functools.partial(lived_in.arun, writes=True), _WRITERS):
            return await asyncio.wait_for(lived_in.arecall(QUESTION, person_id="mia"), 60)

    assert "grandma" in found(asyncio.run(ask()))


def test_a_write_that_is_cancelled_while_it_waits_stores_nothing(lived_in: FamilyRecall) -> None:
    """It gives up its place; the next one is stored as ever."""

    async def write() -> None:
        async with busy(functools.partial(lived_in.arun, writes=True), _WRITERS):
            given_up = asyncio.ensure_future(lived_in.aremember("Tea at four", space_id=HOME))
            await asyncio.sleep(0)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
        await lived_in.aremember("Cake at five", space_id=HOME)

    before = lived_in.maintenance.stats()["memories"]
    asyncio.run(write())
    assert lived_in.maintenance.stats()["memories"] == before + 1


def test_no_thread_is_left_after_the_last_household_is_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of calls, of alarms and of models end, and start again with the next household."""
    before = set(threading.enumerate())
    started: list[str] = []

    def start(call: Callable[[], object], name: str) -> Thread:
        started.append(name)  # on a busy machine it runs later
        return Thread(call, name)

    monkeypatch.setattr(deadline, "Thread", start)
    for create in (True, False):
        with FamilyRecall.open(path, create=create, models=NO_MODELS) as home:
            if create:
                move_in(home)
            asyncio.run(home.aremember("Tea at four", space_id=HOME))
            assert found(asyncio.run(home.arecall("tea", person_id="mia")))
            assert started == ["family_recall-alarm"]
            started.clear()
        assert set(threading.enumerate()) - before == set()


def test_an_alarm_is_kept_for_a_block_that_runs_while_households_close() -> None:
    """Closing the last one ends no thread that has a block to stop."""
    stopped = threading.Event()
    with Alarm(time.monotonic() + 0.02, stopped.set):
        end_alarms()
        assert stopped.wait(60)
    end_alarms()
    with Alarm(time.monotonic() + 0.02, (again := threading.Event()).set):
        assert again.wait(60)


@pytest.mark.parametrize(
    "name", ["open", "close", "recall", "remember", "remember_many", "forget", "flush"]
)
def test_what_is_awaited_is_called_alike(name: str) -> None:
    """The same parameters, defaults and kinds, so that neither drifts from the other."""
    plain, awaited = getattr(FamilyRecall, name), getattr(FamilyRecall, f"a{name}")

    is_awaited = inspect.iscoroutinefunction
    assert is_awaited(inspect.unwrap(awaited, stop=is_awaited))
    assert inspect.signature(awaited).parameters == inspect.signature(plain).parameters


def test_a_household_is_used_without_waiting_on_the_loop(path: Path) -> None:
    """Opened, filled, asked, forgotten in and closed, from one loop."""

    async def live() -> None:
        async with await FamilyRecall.aopen(path, models=NO_MODELS, static=TINY_STATIC) as home:
            await home.arun(lambda: move_in(home), writes=True)
            stored = await home.aremember_many(stories())
            assert await home.aflush() == 0
            answer = await home.arecall(QUESTION, person_id="mia")
            called = await adispatch(
                home, RecallContext(person_id="mia"), "recall", {"question": QUESTION}
            )
            assert called["memories"][0]["text"] == answer.results[0].text
            author = answer.results[0].author
            plan = await home.aforget(found(answer)[0], person_id="priya", dry_run=True)
            assert author is not None
            assert plan.doc_ids == (found(answer)[0],)
            gone = await home.aforget(found(answer)[0], person_id="priya", token=plan.token)
            assert gone.proof is not None
            assert len(stored) == len(list(stories()))
        with pytest.raises(ClosedError):
            await home.arecall(QUESTION, person_id="mia")
        with pytest.raises(ClosedError):
            await home.aremember("Tea at four", space_id=HOME)

    asyncio.run(live())


def test_opening_that_is_cancelled_leaves_nothing_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is opened for nobody is closed."""
    begun, may_open, closed = threading.Event(), threading.Event(), threading.Event()
    opened, close = FamilyRecall.open, FamilyRecall.close

    def slowly(*arguments: Any, **settings: Any) -> FamilyRecall:
        begun.set()
        assert may_open.wait(60)
        return opened(*arguments, **settings)

    def close_and_tell(home: FamilyRecall) -> None:
        close(home)
        closed.set()

    async def give_up() -> None:
        opening = asyncio.ensure_future(FamilyRecall.aopen(path, models=NO_MODELS))
        await asyncio.to_thread(begun.wait, 60)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        may_open.set()
        assert await asyncio.to_thread(closed.wait, 60)

    monkeypatch.setattr(FamilyRecall, "open", slowly)
    monkeypatch.setattr(FamilyRecall, "close", close_and_tell)
    asyncio.run(give_up())


@pytest.mark.parametrize("wait_ms", [0, 30])
def test_a_file_that_another_holds_is_waited_for_as_long_as_is_asked(
    path: Path, wait_ms: int
) -> None:
    """Opening and writing both; what was asked before stays stored."""
    with open_home(path) as home:
        move_in(home)
    held = connect(path, None)
    held.execute("BEGIN EXCLUSIVE")
    with FamilyRecall.open(path, models=NO_MODELS, busy_timeout_ms=wait_ms) as home:
        with pytest.raises(StoreBusyError, match="busy timeout"):
            home.remember("Tea at four", space_id=HOME)
        held.execute("ROLLBACK")
        home.remember("Tea at four", space_id=HOME)
    held.close()


@pytest.mark.parametrize("wrong", [-1, 0.5, True, "1", 3_600_001, None])
def test_no_time_is_no_busy_timeout(path: Path, wrong: Any) -> None:
    """A whole number of milliseconds, up to an hour; no file is made."""
    with pytest.raises(InvalidRequestError, match="busy_timeout_ms must be a whole number"):
        FamilyRecall.open(path, busy_timeout_ms=wrong)
    assert not path.exists()
