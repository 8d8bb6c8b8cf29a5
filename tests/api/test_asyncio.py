"""Calls that are awaited: their budget, their threads, and what cancelling does."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from family_recall import Answer, FamilyRecall
from family_recall.api.engine import _WORKERS, _WRITERS
from tests.conftest import HOME, TINY_STATIC, engine_of, found, move_in, open_home, stories

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
        async with busy(engine_of(lived_in).reading, _WORKERS) as free:
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
        async with busy(engine_of(lived_in).writing, _WRITERS):
            return await asyncio.wait_for(lived_in.arecall(QUESTION, person_id="mia"), 60)

    assert "grandma" in found(asyncio.run(ask()))


def test_a_write_that_is_cancelled_while_it_waits_stores_nothing(lived_in: FamilyRecall) -> None:
    """It gives up its place; the next one is stored as ever."""

    async def write() -> None:
        async with busy(engine_of(lived_in).writing, _WRITERS):
            given_up = asyncio.ensure_future(lived_in.aremember("Tea at four", space_id=HOME))
            await asyncio.sleep(0)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
        await lived_in.aremember("Cake at five", space_id=HOME)

    before = lived_in.maintenance.stats()["memories"]
    asyncio.run(write())
    assert lived_in.maintenance.stats()["memories"] == before + 1


def test_no_thread_for_calls_is_left_after_closing(path: Path) -> None:
    """Threads that read and write end with the household."""
    before = set(threading.enumerate())
    with open_home(path) as home:
        move_in(home)
        asyncio.run(home.aremember("Tea at four", space_id=HOME))
        asyncio.run(home.arecall("tea", person_id="mia"))
        assert set(threading.enumerate()) > before
    left = set(threading.enumerate()) - before
    assert not {thread.name for thread in left if thread.name != "family_recall-alarm"}
