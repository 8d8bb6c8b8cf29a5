"""The time a recall has left, and an alarm that stops a stage which does not end.

A stage is priced before it starts, and rarely takes longer. When it does, the alarm stops the SQL
statement or the model run that the recall is in, from another thread.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Self

_REPEAT_S = 0.002  # from one call of a block's stops to the next
_MOST_WAITING = 256  # alarms, before those of ended blocks are removed

Clock = Callable[[], float]
Stop = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which no optional stage starts."""

    started_at_s: float
    budget_ms: float
    clock: Clock = field(default=time.monotonic, repr=False)

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
        return self.budget_ms - self.elapsed_ms()

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

    __slots__ = ("_at_s", "_lock", "_outer", "_stops", "fired", "left")

    def __init__(self, at_s: float, *stops: Stop) -> None:
        """Set the moment and what is called then.

        Args:
            at_s: By ``time.monotonic``; at infinity nothing is ever stopped.
            stops: Must be safe from any thread, and to be called again, and never raise.
        """
        self._at_s = at_s
        self._stops = list(stops)
        self._lock = threading.Lock()
        self.fired = False
        self.left = False

    def __enter__(self) -> Self:
        """Start the block."""
        if math.isfinite(self._at_s):
            while not _alarm_thread(os.getpid()).add(self, self._at_s):
                _alarm_thread.cache_clear()  # that one has ended
        self._outer = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """End the block: afterwards no stop is called, and none is running."""
        _current.reset(self._outer)
        with self._lock:
            self.left = True
            self._stops.clear()

    def fire(self) -> None:
        """Stop the block, unless it has ended."""
        with self._lock:
            if not self.left:
                self.fired = True
                for stop in self._stops:
                    stop()

    @contextlib.contextmanager
    def also(self, stop: Stop) -> Iterator[None]:
        """Call one more stop; at once, where the alarm has gone off."""
        with self._lock:
            self._stops.append(stop)
            if self.fired:
                stop()
        try:
            yield
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._stops.remove(stop)


_current: ContextVar[Alarm | None] = ContextVar("family_recall_alarm", default=None)


@contextlib.contextmanager
def stopped_by(stop: Stop) -> Iterator[None]:
    """Stop the block by the alarm of the recall that this thread is in, if there is one."""
    alarm = _current.get()
    if alarm is None:
        yield
    else:
        with alarm.also(stop):
            yield


class _AlarmThread:
    """One thread for all alarms of the process; it sleeps until the next one is due."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Alarm]] = []
        self._numbers = itertools.count()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._wakes_at_s = math.inf
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="family_recall-alarm", daemon=True)
        self._thread.start()

    def add(self, alarm: Alarm, at_s: float) -> bool:
        """Wake at a moment for an alarm; False if the thread has ended."""
        with self._lock:
            if self._ended:
                return False
            self._push(alarm, at_s)
            # Waking the thread costs a recall more than the entry: only if it would sleep too long.
            if at_s < self._wakes_at_s:
                self._changed.notify()
        return True

    def end(self) -> None:
        """End the thread, unless a block that it might have to stop is still running."""
        with self._changed:
            self._ended = all(alarm.left for _, _, alarm in self._waiting)
            self._changed.notify()
            ended = self._ended
        if ended:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._ended:
                    return
                while self._waiting and self._waiting[0][2].left:
                    heapq.heappop(self._waiting)
                due = None
                if self._waiting and self._waiting[0][0] <= time.monotonic():
                    due = heapq.heappop(self._waiting)[2]
                else:
                    self._wakes_at_s = self._waiting[0][0] if self._waiting else math.inf
                    left_s = self._wakes_at_s - time.monotonic()
                    self._changed.wait(None if math.isinf(left_s) else max(left_s, 0.0))
                    self._wakes_at_s = -math.inf  # awake: it will see what is added now
            if due is not None:
                due.fire()
                with self._changed:
                    if not due.left:
                        self._push(due, time.monotonic() + _REPEAT_S)

    def _push(self, alarm: Alarm, at_s: float) -> None:
        if len(self._waiting) > _MOST_WAITING:
            self._waiting = [entry for entry in self._waiting if not entry[2].left]
            heapq.heapify(self._waiting)
        heapq.heappush(self._waiting, (at_s, next(self._numbers), alarm))


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
