"""Serve some households of a fleet: opened as they are asked for, and backed up to their places.

A household whose place is a path is used where it is. One whose place is a URL is used as a private
copy on this machine, which is put back when it is closed, and every so often while it is open.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from family_recall.api import FamilyRecall
from family_recall.apps.fleet.places import Entry, fetch, is_remote, put
from family_recall.apps.fleet.steps import Options, open_household
from family_recall.apps.llm_tools import adispatch
from family_recall.types import RecallContext
from family_recall.types.request import service_class_of

_T = TypeVar("_T")


class AllInUseError(Exception):
    """Every household that is open is in use, and no more may be opened."""


@dataclass(slots=True)
class _Slot(Generic[_T]):
    """A household that is open, being opened or being closed."""

    opening: asyncio.Task[_T]
    users: int = 0
    closing: asyncio.Task[None] | None = None


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
        closing = map(self._closing, list(self._slots))
        for error in filter(None, await asyncio.gather(*closing, return_exceptions=True)):
            raise error

    async def _slot(self, household_id: str) -> _Slot[_T]:
        """Return a household's slot; a new one begins to open it once there is room."""
        while True:
            slot = self._slots.get(household_id)
            if slot is not None and slot.closing is not None:
                await asyncio.wait([slot.closing])
            elif slot is None and len(self._slots) >= self._most:
                await self._make_room()
            elif slot is None:
                self.n_opened += 1
                opening = asyncio.create_task(asyncio.to_thread(self._opened, household_id))
                slot = self._slots[household_id] = _Slot(opening)
                return slot
            else:
                self._slots.move_to_end(household_id)
                return slot

    async def _make_room(self) -> None:
        """Wait for one that is being closed, or close the one that was least recently used."""
        closing = [slot.closing for slot in self._slots.values() if slot.closing is not None]
        if closing:
            await asyncio.wait(closing, return_when=asyncio.FIRST_COMPLETED)
            return
        name = next((name for name, slot in self._slots.items() if not slot.users), None)
        if name is None:
            raise AllInUseError
        await asyncio.shield(self._closing(name))

    def _closing(self, household_id: str) -> asyncio.Task[None]:
        slot = self._slots[household_id]
        if slot.closing is None:
            slot.closing = asyncio.create_task(self._shut(household_id, slot))
        return slot.closing

    async def _shut(self, household_id: str, slot: _Slot[_T]) -> None:
        """Close a household; where that fails it stays open, and the error is raised."""
        try:
            opened = await slot.opening
        except Exception:  # noqa: BLE001  it never was open, and those who asked were told
            del self._slots[household_id]
            return
        try:
            await asyncio.to_thread(self._close, household_id, opened)
            del self._slots[household_id]
        finally:
            slot.closing = None


WARM = "warm"
"""The call that opens a household and asks nothing."""


class ShedError(Exception):
    """The request was not begun: there was no time left for it, or more urgent ones run."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call of a tool in a household.

    Attributes:
        household_id: Which household.
        tool: A tool of ``family_recall.apps.llm_tools``, or ``warm``.
        arguments: Its arguments.
        ctx: Who asks, and how long the answer may take from its arrival.
        arrived_s: When it reached the fleet, in seconds since 1970 UTC.
    """

    household_id: str
    tool: str
    arguments: Mapping[str, Any]
    ctx: RecallContext
    arrived_s: float


@dataclass(slots=True)
class _Served:
    """An open household; ``asked`` since its place was last written."""

    home: FamilyRecall
    path: Path
    asked: bool = False


class HouseholdServer:
    """Opens at most so many of its households at once, and answers what is asked of them."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        options: Options,
        scratch: Path,
        *,
        open_files: int,
        at_once: int = 2,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Serve ``entries`` by id; copies of those with a URL lie in the private ``scratch``.

        ``at_once`` is how many requests run before less urgent ones are cut or refused.
        """
        self._entries = entries
        self._options = options
        self._scratch = scratch
        self._at_once = at_once
        self._wall_clock = wall_clock
        self._running = 0
        self._backing_up = asyncio.Lock()
        self.households = OpenHouseholds(self._open, self._close, most=open_files)

    async def answer(self, request: Request) -> dict[str, Any]:
        """Call a tool in a household, which is opened if it is not.

        The time to answer counts from the request's arrival. While others run, a background request
        is refused, and a conversational one answered without the cross-encoder, as the gate of a
        household does among its own.

        Raises:
            KeyError: If there is no such household.
            ShedError: If its time was over before it began, or less urgent ones are refused.
            AllInUseError: If it is not open, and all that are open are in use.
            FamilyRecallError: What the tool itself refuses.
        """
        if request.household_id not in self._entries:
            raise KeyError(request.household_id)
        self._in_time(request)
        self._running += 1
        try:
            async with self.households.using(request.household_id) as served:
                if request.tool == WARM:
                    return {"open": request.household_id}
                served.asked = True
                ctx = self._in_time(request)
                return await adispatch(served.home, ctx, request.tool, dict(request.arguments))
        finally:
            self._running -= 1

    async def back_up(self) -> int:
        """Put the copies that were asked since the last time into their places; return how many.

        One that cannot be written keeps no other from being; the first error is raised at the end.
        """
        done, errors = 0, []
        async with self._backing_up:
            for household_id, ready in self.households.ready().items():
                if not ready.asked or not is_remote(self._entries[household_id].place):
                    continue
                async with self.households.using(household_id) as served:
                    served.asked = False
                    try:
                        await asyncio.to_thread(self._put_snapshot, household_id, served)
                        done += 1
                    except Exception as error:  # noqa: BLE001  raised below
                        served.asked = True
                        errors.append(error)
        if errors:
            raise errors[0]
        return done

    def _in_time(self, request: Request) -> RecallContext:
        """Return the context with the time that is left, and what others leave to it."""
        ctx = request.ctx
        left_ms = ctx.time_budget_ms - (self._wall_clock() - request.arrived_s) * 1000.0
        if left_ms <= 0.0:
            raise ShedError(f"the {ctx.time_budget_ms:g} ms for this request were over")
        service_class = service_class_of(ctx)
        rerank = ctx.allow_cross_encoder
        if self._running > self._at_once:
            if service_class == "background":
                raise ShedError("a background request, while others are being answered")
            rerank = rerank and service_class == "interactive"
        return dataclasses.replace(
            ctx, time_budget_ms=left_ms, service_class=service_class, allow_cross_encoder=rerank
        )

    def _open(self, household_id: str) -> _Served:
        entry = self._entries[household_id]
        path = Path(entry.place)
        if is_remote(entry.place):
            # Ids may differ in case alone, or be longer than a file's name.
            path = self._scratch / f"{hashlib.sha256(household_id.encode()).hexdigest()}.db"
            fetch(entry.place, path)
        return _Served(open_household(path, entry, self._options), path)

    def _close(self, household_id: str, served: _Served) -> None:
        """Close a household; a copy is put into its place before it is deleted.

        Where that fails it is opened again, so that what was remembered is not lost.
        """
        entry = self._entries[household_id]
        served.home.close()
        if not is_remote(entry.place):
            return
        try:
            if served.asked:
                put(served.path, entry.place)
                served.asked = False
        except BaseException:
            served.home = open_household(served.path, entry, self._options)
            raise
        served.path.unlink()

    def _put_snapshot(self, household_id: str, served: _Served) -> None:
        snapshot = served.path.with_suffix(".snapshot")
        served.home.maintenance.backup(snapshot, overwrite=True)
        put(snapshot, self._entries[household_id].place)
        snapshot.unlink()
