"""Time left: a budget and a clock in, milliseconds out; and an alarm, for what will not end.

A stage is priced before it starts, and it seldom takes longer. The alarm is for when it does: from
another thread it stops the SQL statement or the model run that a recall is in.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

_AGAIN_S = 0.002  # from one call of a block's stops to the next
_MOST_WAITING = 256  # alarms, gone off or not, before those of ended blocks are cleared away

Clock = Callable[[], float]
Stop = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which no optional stage starts."""

    started_at_s: float
    budget_ms: float
    clock: Clock = field(default=time.monotonic, repr=False)

    @classmethod
    def after(cls, budget_ms: float, clock: Clock = time.monotonic) -> Deadline:
        """Give a budget of milliseconds that starts now."""
        return cls(started_at_s=clock(), budget_ms=budget_ms, clock=clock)

    def elapsed_ms(self) -> float:
        """Milliseconds since the start."""
        return (self.clock() - self.started_at_s) * 1000.0

    def remaining_ms(self) -> float:
        """Milliseconds left; negative once the budget is spent."""
        return self.budget_ms - self.elapsed_ms()

    def moment_s(self, ms_before: float = 0.0, *, at_least_ms: float = 0.0) -> float:
        """Give when so many milliseconds are left, by ``time.monotonic``, or ``at_least_ms`` on.

        Infinity by any other clock: a thread cannot be woken by a clock of a test.
        """
        if self.clock is not time.monotonic:
            return math.inf
        moment_s = self.started_at_s + (self.budget_ms - ms_before) / 1000.0
        return max(moment_s, self.clock() + at_least_ms / 1000.0) if at_least_ms else moment_s


class Alarm:
    """What stops one recall's stages: each sets a moment, and what is to be called then.

    Safe between threads; two stages of one recall may run at once, each with a guard of its own.
    """

    def __init__(self) -> None:
        """Set nothing yet."""
        self._lock = threading.Lock()
        self._guards: set[Guard] = set()

    @contextlib.contextmanager
    def guard(self, at_s: float, *stops: Stop) -> Iterator[Guard]:
        """Call every stop, from another thread, should the block still run at a moment.

        And again every few milliseconds until it ends: between two statements there is nothing
        to interrupt. Inside the block :func:`stopped_by` adds stops of what it comes to call.

        Args:
            at_s: By ``time.monotonic``; infinity sets no alarm.
            stops: Must be safe from any thread, and to be called again, and never raise.
        """
        guard = Guard(at_s, stops)
        if math.isfinite(at_s):
            _bell().ring(guard)
        token = _current.set(guard)
        try:
            yield guard
        finally:
            _current.reset(token)
            guard.leave()


class Guard:
    """One block that an alarm may stop. ``fired`` says whether it has."""

    __slots__ = ("_lock", "_stops", "at_s", "fired", "left")

    def __init__(self, at_s: float, stops: tuple[Stop, ...]) -> None:
        """Set when it is stopped, and how."""
        self.at_s = at_s
        self.fired = False
        self.left = False
        self._stops = list(stops)
        self._lock = threading.Lock()

    def fire(self) -> None:
        """Stop the block, unless it has ended."""
        with self._lock:
            if not self.left:
                self.fired = True
                for stop in self._stops:
                    stop()

    def leave(self) -> None:
        """End the block: nothing is stopped any more, and what is being stopped has been."""
        with self._lock:
            self.left = True
            self._stops.clear()

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


_current: ContextVar[Guard | None] = ContextVar("family_recall_guard", default=None)


@contextlib.contextmanager
def stopped_by(stop: Stop) -> Iterator[None]:
    """Let the alarm of the recall this thread is in, if there is one, stop the block."""
    guard = _current.get()
    if guard is None:
        yield
    else:
        with guard.also(stop):
            yield


class _Bell:
    """One thread for all alarms of the process; it sleeps until the next, or for good."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Guard]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._wakes_at_s = math.inf
        thread = threading.Thread(target=self._run, name="family_recall-alarm", daemon=True)
        thread.start()

    def ring(self, guard: Guard) -> None:
        with self._changed:
            self._set(guard, guard.at_s)
            # A thread that wakes costs its recall more than the entry: only if it would sleep in.
            if guard.at_s < self._wakes_at_s:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._waiting and self._waiting[0][2].left:
                    heapq.heappop(self._waiting)
                due = None
                if self._waiting and self._waiting[0][0] <= time.monotonic():
                    due = heapq.heappop(self._waiting)[2]
                else:
                    self._wakes_at_s = self._waiting[0][0] if self._waiting else math.inf
                    left_s = self._wakes_at_s - time.monotonic()
                    self._changed.wait(None if math.isinf(left_s) else max(left_s, 0.0))
                    self._wakes_at_s = -math.inf  # awake: whatever is set now will be seen
            if due is not None:
                due.fire()
                with self._changed:
                    if not due.left:
                        self._set(due, time.monotonic() + _AGAIN_S)

    def _set(self, guard: Guard, at_s: float) -> None:
        if len(self._waiting) > _MOST_WAITING:
            self._waiting = [entry for entry in self._waiting if not entry[2].left]
            heapq.heapify(self._waiting)
        heapq.heappush(self._waiting, (at_s, next(self._numbers), guard))


_bells: dict[int, _Bell] = {}
_bells_lock = threading.Lock()


def _bell() -> _Bell:
    pid = os.getpid()  # a fork leaves all threads but one behind
    with _bells_lock:
        if pid not in _bells:
            _bells[pid] = _Bell()
        return _bells[pid]
