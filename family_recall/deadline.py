"""The deadline of a recall, and an alarm that stops a stage running over it.

A stage is priced before it starts, and rarely takes longer. If it does, the alarm interrupts its
SQL statement or model run from another thread.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Self

import msgspec

from family_recall.threads import Thread

_REPEAT_S = 0.002  # between two calls of a block's stops

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
        """Return when ``ms_before`` milliseconds are left, but at least ``at_least_ms`` from now.

        By ``time.monotonic``; infinity with another clock, which cannot wake the alarm's thread.
        """
        if self.clock is not time.monotonic:
            return math.inf
        moment_s = self.started_at_s + (self.budget_ms - ms_before) / 1000.0
        return max(moment_s, self.clock() + at_least_ms / 1000.0) if at_least_ms else moment_s


class Alarm:
    """Stops a block that still runs at a moment, from another thread, and then sets ``fired``.

    ``with Alarm(at_s, stop):`` calls every stop at that moment, and again every few milliseconds
    until the block ends, since a call between two statements interrupts nothing. Inside the block
    :func:`stopped_by` adds stops. Safe to share between threads.
    """

    __slots__ = ("__weakref__", "_outer", "_reference", "_stops", "_thread", "at_s", "fired")

    def __init__(self, at_s: float, *stops: Stop) -> None:
        """Set the moment and the stops.

        Args:
            at_s: By ``time.monotonic``; infinity never stops the block.
            stops: Callable from any thread, repeatedly; must not raise.
        """
        self.at_s = at_s
        self.fired = False
        self._stops = list(stops)
        self._reference = weakref.ref(self)
        self._thread = _alarm_thread(os.getpid()) if at_s < math.inf else None

    def __enter__(self) -> Self:
        """Start the block."""
        if self._thread is not None:
            self._thread.add(self._reference, self.at_s)
        self._outer = _current.get()  # a token would hold this alarm for as long as it lives
        _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """End the block: afterwards no stop is called, and none is running."""
        _current.set(self._outer)
        if self._thread is not None:
            with self._thread.lock:
                self._thread.running.discard(self._reference)

    def fire(self) -> None:
        """Call every stop, and again in a moment."""
        self.fired = True
        for stop in self._stops:
            stop()
        self.at_s = time.monotonic() + _REPEAT_S

    @contextlib.contextmanager
    def also(self, stop: Stop) -> Iterator[None]:
        """Add a stop for a block; call it at once if the alarm has fired."""
        lock = contextlib.nullcontext() if self._thread is None else self._thread.lock
        with lock:
            self._stops.append(stop)
            if self.fired:
                stop()
        try:
            yield
        finally:
            with lock:
                self._stops.remove(stop)


_current: ContextVar[Alarm | None] = ContextVar("family_recall_alarm", default=None)


def stopped_by(stop: Stop) -> contextlib.AbstractContextManager[None]:
    """Let the alarm of this thread's recall stop the block, if there is one."""
    alarm = _current.get()
    return contextlib.nullcontext() if alarm is None else alarm.also(stop)


def has_stopped() -> bool:
    """Return whether the alarm of this thread's recall has fired."""
    alarm = _current.get()
    return alarm is not None and alarm.fired


class _AlarmThread:
    """One thread for all alarms of a process; it sleeps until the next one is due.

    It calls stops under the lock, so that an ending block waits for its own. An alarm whose block
    was left by an exception between two calls is gone as soon as nothing refers to it.
    """

    def __init__(self) -> None:
        self.running: set[weakref.ref[Alarm]] = set()
        self.lock = threading.Lock()
        self._changed = threading.Condition(self.lock)
        self._wakes_at_s = math.inf
        self._thread: Thread | None = None
        self._is_ending = False

    def add(self, alarm: weakref.ref[Alarm], at_s: float) -> None:
        """Add an alarm, and start or wake the thread if needed."""
        with self.lock:
            self.running.add(alarm)
            if self._thread is None:
                self._is_ending = False
                self._thread = Thread(self._run, "family_recall-alarm")
            self._thread.start()
            if at_s < self._wakes_at_s:  # waking it is expensive
                self._changed.notify_all()

    def end(self) -> None:
        """End the thread when no block is running."""
        with self.lock:
            thread, is_idle = self._thread, not any(alarm() for alarm in self.running)
            self._is_ending = True
            self._changed.notify_all()
        if thread is not None and is_idle:
            thread.join()

    def _run(self) -> None:
        with self.lock:
            while True:
                self._wakes_at_s = self._fire()
                if self._is_ending and not self.running:
                    break
                left_s = self._wakes_at_s - time.monotonic()
                if left_s > 0.0:
                    self._changed.wait(min(left_s, threading.TIMEOUT_MAX))
            self._thread = None

    def _fire(self) -> float:
        """Fire the alarms that are due, and return when the next one is."""
        now_s, next_s = time.monotonic(), math.inf
        for reference in tuple(self.running):
            alarm = reference()
            if alarm is None:
                self.running.discard(reference)
                continue
            if alarm.at_s <= now_s:
                alarm.fire()
            next_s = min(next_s, alarm.at_s)
        return next_s


@functools.cache
def _alarm_thread(process: int) -> _AlarmThread:  # noqa: ARG001  a fork leaves threads behind
    """Return the thread of this process."""
    return _AlarmThread()


def end_alarms() -> None:
    """End the thread of alarms; the next alarm starts another."""
    _alarm_thread(os.getpid()).end()
