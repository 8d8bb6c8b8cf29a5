"""Threads whose locks an exception of a signal handler leaves in order.

Python raises what a signal handler raises, such as Ctrl-C's KeyboardInterrupt, between any two
calls of the main thread. A lock that code in Python acquires stays locked for good if that comes
before its release: so do those of ``threading.Condition``, ``Event`` and ``Semaphore``, of futures,
and of a thread that is started. Here only C code acquires and releases locks (``with lock:``), and
whoever waits looks again twice a second.
"""

from __future__ import annotations

import _thread
import concurrent.futures
import functools
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import ParamSpec, TypeVar

from family_recall.errors import ClosedError

_T = TypeVar("_T")
_Item = TypeVar("_Item")
_P = ParamSpec("_P")
_LOOK_AGAIN_S = 0.5
_Calls = queue.SimpleQueue[Callable[[], object] | None]


class Latch:
    """A flag that is set once, by one thread, and waited for by others."""

    __slots__ = ("_lock", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Set it, and wake those who wait."""
        if not self.is_set:
            self.is_set = True
            self._lock.release()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is set, or for so long; return whether it is."""
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.is_set:
            left_s = _LOOK_AGAIN_S if until_s is None else until_s - time.monotonic()
            if left_s <= 0.0:
                break
            if self._lock.acquire(timeout=min(left_s, _LOOK_AGAIN_S)):
                self._lock.release()
        return self.is_set


class Thread:
    """A thread that runs a call once; it does not keep the program from ending.

    Keep it before :meth:`start`: what an exception interrupts, the next start or join completes.
    """

    def __init__(self, call: Callable[[], object], name: str) -> None:
        """Prepare it."""
        self._call, self._ended, self._ident = call, Latch(), 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._is_started = False
        self._first = threading.Lock()

    def start(self) -> None:
        """Start it, unless it is started.

        Raises:
            RuntimeError: If no thread can be started.
        """
        if not self._is_started:
            # Not here: threading's start() waits with locks of Python's.
            _thread.start_new_thread(self._start, ())
            self._is_started = True

    def join(self) -> None:
        """Wait until the call has ended; in the thread itself, do nothing."""
        if threading.get_ident() == self._ident:
            return
        try:
            self.start()
        except RuntimeError:  # it never ran
            return
        self._ended.wait()
        if self._thread.ident is not None:
            self._thread.join()

    def _start(self) -> None:
        if not self._first.acquire(blocking=False):
            return  # an earlier start() was interrupted after it had started this
        try:
            self._thread.start()
        except RuntimeError:  # there is room for one thread alone
            self._run()

    def _run(self) -> None:
        self._ident = threading.get_ident()
        try:
            self._call()
        finally:
            self._ended.set()


class Workers(concurrent.futures.Executor):
    """Threads that run calls in their order, and end with the executor.

    :meth:`begin` and :meth:`map` leave their locks in order; the futures of :meth:`submit`, which
    asyncio needs, do not.
    """

    def __init__(self, n: int, name: str) -> None:
        self._n, self._name = n, name
        self._calls: _Calls = queue.SimpleQueue()
        self._threads: list[Thread] = []
        self._lock = threading.Lock()
        self._closed = False
        weakref.finalize(self, self._calls.put, None).atexit = False

    def submit(
        self, call: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> concurrent.futures.Future[_T]:
        """Run a call on one of the threads.

        Raises:
            ClosedError: If the threads were told to end.
        """
        future: concurrent.futures.Future[_T] = concurrent.futures.Future()
        self._put(functools.partial(_run, future, functools.partial(call, *args, **kwargs)))
        return future

    def begin(self, call: Callable[..., _T], /, *args: object) -> Callable[[], _T]:
        """Run a call on one of the threads; return a function that waits for its result."""
        ended, results, errors = Latch(), list[_T](), list[BaseException]()

        def run() -> None:
            try:
                results.append(call(*args))
            except BaseException as error:  # noqa: BLE001  raised where it is waited for
                errors.append(error)
            finally:
                ended.set()

        def result() -> _T:
            ended.wait()
            for error in errors:
                raise error
            return results[0]

        self._put(run)
        return result

    def map(  # type: ignore[override]  # one iterable, without a timeout
        self, call: Callable[[_Item], _T], items: Iterable[_Item]
    ) -> Iterator[_T]:
        """Run a call for each item; yield the results in order. Those not begun end with it."""
        is_wanted = [True]
        waits = [self.begin(lambda item: call(item) if is_wanted else None, item) for item in items]

        def results() -> Iterator[_T]:
            try:
                for wait in waits:
                    yield wait()  # type: ignore[misc]  # none is left out meanwhile
            finally:
                is_wanted.clear()

        return results()

    def n_waiting(self) -> int:
        """Return how many calls no thread has begun."""
        return self._calls.qsize()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT  the base's
        """Take no more calls, and wait for those taken; twice does the same."""
        self._closed = True
        self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _put(self, call: Callable[[], object]) -> None:
        with self._lock:
            if self._closed:
                raise ClosedError("the household was closed; open it again")
            if len(self._threads) < self._n:
                self._threads.append(Thread(functools.partial(_work, self._calls), self._name))
            for thread in self._threads:
                thread.start()
            self._calls.put(call)


def _work(calls: _Calls) -> None:
    """Run calls until there is None, which is left for the other threads."""
    while (call := calls.get()) is not None:
        call()
        del call  # which may hold what it was given
    calls.put(None)


def _run(future: concurrent.futures.Future[_T], call: Callable[[], _T]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001  the future raises it
            future.set_exception(error)
        else:
            future.set_result(result)
