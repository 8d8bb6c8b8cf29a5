"""The households that a server has open: so many at most, the least recently used closed first."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

_T = TypeVar("_T")


class AllInUseError(Exception):
    """Every household that is open is in use, and no more may be opened."""


@dataclass(slots=True)
class _Slot(Generic[_T]):
    """A household that is open, being opened or being closed."""

    opening: asyncio.Task[_T]
    users: int = 0
    closing: asyncio.Future[None] | None = None


class OpenHouseholds(Generic[_T]):
    """Opens households as they are asked for; for one event loop.

    Nothing is opened twice at once, nothing in use is closed, and what is being closed is opened
    again only afterwards.

    Attributes:
        n_opened: How many have been opened so far.
    """

    def __init__(
        self, opened: Callable[[str], _T], close: Callable[[str, _T], None], *, most: int
    ) -> None:
        """Use two functions that may take long, called on threads; ``most`` is 1 or more."""
        self._opened = opened
        self._close = close
        self._most = most
        self._slots: OrderedDict[str, _Slot[_T]] = OrderedDict()
        self.n_opened = 0

    def __len__(self) -> int:
        """Return how many are open, being opened or being closed."""
        return len(self._slots)

    def ready(self) -> dict[str, _T]:
        """Return the households that are open, the least recently used first."""
        return {
            household_id: slot.opening.result()
            for household_id, slot in self._slots.items()
            if slot.closing is None and slot.opening.done() and not slot.opening.exception()
        }

    @contextlib.asynccontextmanager
    async def using(self, household_id: str) -> AsyncIterator[_T]:
        """Open a household if it is not, and keep it open for the block.

        Raises:
            AllInUseError: If it is not open, and all that are open are in use.
            Exception: What opening it raises, or closing the one that has to make room.
        """
        slot = await self._slot(household_id)
        slot.users += 1
        try:
            try:
                opened = await asyncio.shield(slot.opening)
            except Exception:
                if self._slots.get(household_id) is slot:
                    del self._slots[household_id]
                raise
            yield opened
        finally:
            slot.users -= 1

    async def close_all(self) -> None:
        """Close every household that is open; the first error is raised when all were tried."""
        results = await asyncio.gather(*map(self._shut, list(self._slots)), return_exceptions=True)
        for error in filter(None, results):
            raise error

    async def _slot(self, household_id: str) -> _Slot[_T]:
        while True:
            slot = self._slots.get(household_id)
            if slot is None:
                await self._make_room()
                if household_id in self._slots or len(self._slots) >= self._most:
                    continue  # another request was faster
                self.n_opened += 1
                opening = asyncio.create_task(asyncio.to_thread(self._opened, household_id))
                slot = self._slots[household_id] = _Slot(opening)
            elif slot.closing is not None:
                await asyncio.wait([slot.closing])
                continue
            self._slots.move_to_end(household_id)
            return slot

    async def _make_room(self) -> None:
        """Close what was least recently used, until one more may be opened."""
        while len(self._slots) >= self._most:
            closing = [slot.closing for slot in self._slots.values() if slot.closing is not None]
            if len(self._slots) - len(closing) < self._most:
                await asyncio.wait(closing, return_when=asyncio.FIRST_COMPLETED)
                continue
            idle = (name for name, slot in self._slots.items() if not slot.users)
            name = next((name for name in idle if self._slots[name].closing is None), None)
            if name is None:
                raise AllInUseError
            await self._shut(name)

    async def _shut(self, household_id: str) -> None:
        """Close a household; where that fails it stays open, and the error is raised."""
        slot = self._slots[household_id]
        if slot.closing is not None:
            await asyncio.wait([slot.closing])
            return
        slot.closing = asyncio.get_running_loop().create_future()
        try:
            try:
                opened = await slot.opening
            except Exception:  # noqa: BLE001  it never was open, and those who asked were told
                del self._slots[household_id]
                return
            await asyncio.to_thread(self._close, household_id, opened)
            del self._slots[household_id]
        finally:
            closing, slot.closing = slot.closing, None
            closing.set_result(None)
