"""The households that a server has open: bounded, opened once, closed only when idle."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from family_recall.apps.fleet.household_server import AllInUseError, OpenHouseholds


class Files:
    """Opens names, and remembers what was opened and closed."""

    def __init__(self) -> None:
        """Begin with nothing open."""
        self.log: list[str] = []
        self.now_open: set[str] = set()
        self.failing: set[str] = set()
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def open(self, name: str) -> str:
        """Open a name that is not open, when it may go on."""
        assert self.may_go_on.wait(10.0)
        assert name not in self.now_open
        if name in self.failing:
            raise OSError(name)
        self.now_open.add(name)
        self.log.append(f"open {name}")
        return name.upper()

    def close(self, name: str, opened: str) -> None:
        """Close it again."""
        assert opened == name.upper()
        if name in self.failing:
            raise OSError(name)
        self.now_open.remove(name)
        self.log.append(f"close {name}")


def run(most: int, test: Callable[[OpenHouseholds[str], Files], Awaitable[None]]) -> Files:
    """Run a test in an event loop, with so many open at most."""
    files = Files()
    asyncio.run(test(OpenHouseholds(files.open, files.close, most=most), files))  # type: ignore[arg-type]  # a coroutine
    return files


async def use(homes: OpenHouseholds[str], *names: str) -> None:
    """Use households one after another."""
    for name in names:
        async with homes.using(name) as opened:
            assert opened == name.upper()


def test_the_least_recently_used_is_closed_first() -> None:
    """With room for two, the third closes the one that was used longest ago."""

    async def test(homes: OpenHouseholds[str], _: Files) -> None:
        await use(homes, "a", "b", "a", "c", "a", "b")
        assert list(homes.ready()) == ["a", "b"]

    files = run(2, test)

    assert files.log == ["open a", "open b", "close b", "open c", "close c", "open b"]


def test_many_requests_open_a_household_once() -> None:
    """Those that come while it is opened wait for it."""

    async def test(homes: OpenHouseholds[str], _: Files) -> None:
        await asyncio.gather(*(use(homes, "a") for _ in range(20)))

    assert run(2, test).log == ["open a"]


def test_what_is_in_use_is_not_closed() -> None:
    """Where all are in use a further one is refused at once; afterwards it is opened."""

    async def test(homes: OpenHouseholds[str], _: Files) -> None:
        async with homes.using("a"), homes.using("b"):
            with pytest.raises(AllInUseError):
                await use(homes, "c")
            await use(homes, "a")
        await use(homes, "c")

    assert run(2, test).log == ["open a", "open b", "close b", "open c"]


def test_never_more_are_open_than_allowed() -> None:
    """However many ask at once, for whatever."""

    async def test(homes: OpenHouseholds[str], files: Files) -> None:
        async def ask(name: str) -> None:
            try:
                async with homes.using(name):
                    assert len(files.now_open) <= 3
                    await asyncio.sleep(0)
            except AllInUseError:
                pass

        for _ in range(20):
            await asyncio.gather(*(ask(name) for name in "abcdefg"))
        assert len(homes) == len(files.now_open) == 3
        await homes.close_all()

    assert not run(3, test).now_open


def test_what_cannot_be_opened_can_be_asked_for_again() -> None:
    """The error reaches the one who asked, and leaves no trace."""

    async def test(homes: OpenHouseholds[str], files: Files) -> None:
        files.failing.add("a")
        with pytest.raises(OSError, match="a"):
            await use(homes, "a")
        assert len(homes) == 0
        files.failing.clear()
        await use(homes, "a")

    assert run(1, test).log == ["open a"]


def test_what_cannot_be_closed_stays_open() -> None:
    """Its last copy could not be stored: it is not given up for another household."""

    async def test(homes: OpenHouseholds[str], files: Files) -> None:
        await use(homes, "a")
        files.failing.add("a")
        with pytest.raises(OSError, match="a"):
            await use(homes, "b")
        await use(homes, "a")
        files.failing.clear()
        await use(homes, "b")

    assert run(1, test).log == ["open a", "close a", "open b"]


def test_a_cancelled_request_leaves_the_household_open() -> None:
    """What it was opening is opened, and used by the next."""

    async def test(homes: OpenHouseholds[str], files: Files) -> None:
        files.may_go_on.clear()
        request = asyncio.create_task(use(homes, "a"))
        await asyncio.sleep(0)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        files.may_go_on.set()
        await use(homes, "a", "b")

    assert run(1, test).log == ["open a", "close a", "open b"]
