"""The time a recall has left, and an alarm that stops a stage which does not end.

A stage is priced before it starts, and rarely takes longer. When it does, the alarm stops the SQL
statement or the model run that the recall is in, from another thread.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Self

import msgspec

_REPEAT_S = 0.002  # from one call of a block's stops to the next

Clock = Callable[[], float]
Stop = Callable[[], object]


class Deadline(msgspec.Struct, frozen=True):
    """A moment after which no optional stage starts."""

    started_at_s: float
    budget_ms: float
    clock: Clock = time.monotonic

    @classmethod
    def after(
        cls, budget_ms: float, clock: Clock = time.monotonic, *, since_s: float | None = None
    ) -> Deadline:
        """Return a budget of milliseconds that starts now, or started at ``since_s``."""
        started_at_s = clock() if since_s is None else since_s
        return cls(started_at_s=started_at_s, budget_ms=budget_ms, clock=clock)

    def elapsed_ms(self) -> float:
        """Milliseconds since the start."""
        return (self.clock() - self.started_at_s) * 1000.0

    def remaining_ms(self) -> float:
        """Milliseconds left; negative once the budget is spent."""
        return self.budget_ms - (self.clock() - self.started_at_s) * 1000.0

    def moment_s(self, ms_before: float = 0.0, *, at_least_ms: float = 0.0) -> float:
        """Return when so many milliseconds are left, by ``time.monotonic``.

        At least ``at_least_ms`` from now. Infinity by any other clock, since the alarm's thread
        cannot be woken by a test's clock.
        """
        if self.clock is not time.monotonic:
            return math.inf
        moment_s = self.started_at_s + (self.budget_ms - ms_before) / 1000.0
        return max(moment_s, self.clock() + at_least_ms / 1000.0) if at_least_ms else moment_s


class Alarm:
    """Stops a block that still runs at a moment, from another thread; ``fired`` says if it did.

    ``with Alarm(at_s, stop):`` calls every stop at that moment, and again every few milliseconds
    until the block ends: between two statements there is nothing to interrupt. Inside the block
    :func:`stopped_by` adds stops. Safe between threads; two blocks may run at once.
    """

    __slots__ = ("_outer", "_stops", "_thread", "at_s", "fired")

    def __init__(self, at_s: float, *stops: Stop) -> None:
        """Set the moment and what is called then.

        Args:
            at_s: By ``time.monotonic``; at infinity nothing is ever stopped.
            stops: Must be safe from any thread, and to be called again, and never raise.
        """
        self.at_s = at_s
        self.fired = False
        self._stops = list(stops)
        self._thread: _AlarmThread | None = None

    def __enter__(self) -> Self:
        """Start the block."""
        if self.at_s < math.inf:
            self._thread = _alarm_thread(os.getpid())
            while not self._thread.add(self):
                _alarm_thread.cache_clear()  # that one has ended
                self._thread = _alarm_thread(os.getpid())
        self._outer = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """End the block: afterwards no stop is called, and none is running."""
        _current.reset(self._outer)
        if self._thread is not None:
            self._thread.remove(self)

    def fire(self) -> None:
        """Call every stop."""
        self.fired = True
        for stop in tuple(self._stops):
            stop()

    @contextlib.contextmanager
    def also(self, stop: Stop) -> Iterator[None]:
        """Call one more stop; at once, where the alarm has gone off."""
        self._stops.append(stop)
        if self.fired:
            stop()
        try:
            yield
        finally:
            self._stops.remove(stop)
            if self._thread is not None:
                self._thread.wait_for(self)


_current: ContextVar[Alarm | None] = ContextVar("family_recall_alarm", default=None)


def stopped_by(stop: Stop) -> contextlib.AbstractContextManager[None]:
    """Stop the block by the alarm of the recall that this thread is in, if there is one."""
    alarm = _current.get()
    return contextlib.nullcontext() if alarm is None else alarm.also(stop)


class _AlarmThread:
    """One thread for all alarms of the process; it sleeps until the next one is due.

    Blocks begin and end without a lock, for each side writes before it reads what the other wrote.
    A block is among those that run before the moment of waking is read, and the thread wakes for
    any while it looks for the earliest. A block has left before it is read whose stops are called,
    and these are not called before it is read that the block still runs.
    """

    def __init__(self) -> None:
        self._running: set[Alarm] = set()
        self._wakes_at_s = math.inf
        self._ended = False
        self._changed = threading.Condition(threading.Lock())
        self._firing: Alarm | None = None
        self._fire_lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="family_recall-alarm", daemon=True)
        self._thread.start()

    def add(self, alarm: Alarm) -> bool:
        """Wake at its moment for an alarm; False if the thread has ended."""
        self._running.add(alarm)
        ended = self._ended
        if ended:
            self._running.discard(alarm)
        # Waking the thread costs a recall more than the entry: only if it would sleep too long.
        if alarm.at_s < self._wakes_at_s:
            with self._changed:
                self._changed.notify()
        return not ended

    def remove(self, alarm: Alarm) -> None:
        """Call no stop of an alarm from now on, and wait for those that are being called."""
        self._running.discard(alarm)
        if self._firing is alarm:
            self.wait_for(alarm)

    def wait_for(self, alarm: Alarm) -> None:
        """Wait for the stops of an alarm that are being called."""
        if self._firing is alarm:
            with self._fire_lock:
                pass

    def end(self) -> None:
        """End the thread, once no block is running that it might have to stop."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        if not self._running:
            self._thread.join()

    def _run(self) -> None:
        while self._sleep():
            self._stop_due()

    def _sleep(self) -> bool:
        """Sleep until an alarm may be due; False where the thread is to end."""
        with self._changed:
            self._wakes_at_s = math.inf
            if self._ended and not self._running:
                return False
            wakes_at_s = min([alarm.at_s for alarm in self._running.copy()], default=math.inf)
            left_s = wakes_at_s - time.monotonic()
            if left_s > 0.0:
                self._wakes_at_s = wakes_at_s
                self._changed.wait(min(left_s, threading.TIMEOUT_MAX))
        return True

    def _stop_due(self) -> None:
        for alarm in self._running.copy():
            if alarm.at_s <= time.monotonic():
                self._firing = alarm
                with self._fire_lock:
                    if alarm in self._running:
                        alarm.fire()
                        alarm.at_s = time.monotonic() + _REPEAT_S
                self._firing = None


@functools.cache
def _alarm_thread(process: int) -> _AlarmThread:  # noqa: ARG001  a fork leaves threads behind
    """Return the thread of this process; without a lock, which a fork could leave held for good.

    Two threads that ask at once for the first time may get one each, which works as well.
    """
    return _AlarmThread()


def end_alarms() -> None:
    """End the thread of alarms: the last household was closed. The next alarm starts another."""
    if _alarm_thread.cache_info().currsize:
        _alarm_thread(os.getpid()).end()
