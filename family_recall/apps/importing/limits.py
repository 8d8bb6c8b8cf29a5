"""The limits of reading a file of another program, in one record, and the one of its time."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from family_recall.errors import DatasetError

_T = TypeVar("_T")
_POLL_S = 0.05
_GRACE_S = 2.0  # for a thread to stop; a call into C that takes longer is left behind

_FOLDS = 10

RAISE = "raise the limits (--limits 10, in Python limits=10)"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file may cost to read. A home's own files stay far below; crafted ones do not.

    Args:
        megabytes: Of a text file, or a chat in an archive.
        message_megabytes: Of a message of a mailbox, which is read so far: the text comes first.
        lines: Of a text; folded ones count once, and may be ten times as many.
        items: Memories and omissions of a file.
        megachars: Millions of characters of all its memories.
        front_matter_chars: Of one note's front matter.
        depth: Of nested components.
        seconds: Of processor time for any file …
        seconds_per_megabyte: … and for each megabyte of it.
    """

    megabytes: float = 16
    message_megabytes: float = 8
    lines: float = 100_000
    items: float = 200_000
    megachars: float = 64
    front_matter_chars: float = 50_000
    depth: float = 10
    seconds: float = 4
    seconds_per_megabyte: float = 30

    def times(self, factor: float) -> Limits:
        """Return these limits, each multiplied by a factor."""
        return Limits(**{name: n * factor for name, n in dataclasses.asdict(self).items()})

    @property
    def bytes(self) -> int:
        """``megabytes`` in bytes."""
        return int(self.megabytes * 2**20)

    def seconds_for(self, n_bytes: int) -> float:
        """Return how long a file of a size may take."""
        return self.seconds + self.seconds_per_megabyte * n_bytes / 2**20

    def check_lines(self, text: str, name: str, *, folds: bool = False) -> None:
        """Raise for a text of more lines than are read; those of some formats are folded."""
        n = text.count("\n")
        if folds:
            n = max(n - text.count("\n ") - text.count("\n\t"), n // _FOLDS)
        if n > self.lines:
            raise DatasetError(
                f"{name}:{int(self.lines) + 1}: expected at most {self.lines:,.0f} lines, got "
                f"{n:,}; split the file, or {RAISE}"
            )


LIMITS = Limits()
"""The default ones."""


def too_slow(where: str) -> DatasetError:
    """Return the error for a file whose reading was stopped at a place."""
    return DatasetError(f"{where}: takes too long to read from here on; split the file, or {RAISE}")


class OutOfTime(BaseException):
    """A call took more time than it may."""


class Budget:
    """Processor time for calls, each of which is stopped when it, or all of them, took too much."""

    def __init__(self, seconds: float) -> None:
        self.left_s = seconds

    def run(self, call: Callable[[], _T], at_most_s: float = math.inf) -> _T:
        """Return what a call returns.

        It runs on a thread of its own, in which the exception is raised between two instructions:
        no library has to cooperate. An interrupt of the caller stops it, too.

        Raises:
            OutOfTime: If it was stopped.
        """
        at_most_s = min(at_most_s, self.left_s)
        if at_most_s <= 0.0:
            raise OutOfTime
        task = _Task(call)
        try:
            task.start()
            while not task.is_done.wait(_POLL_S) and task.used_s() <= at_most_s:
                pass
        finally:
            self.left_s -= task.stop()
        if task.error is not None:
            raise task.error
        if not task.has_result:
            raise OutOfTime
        return cast("_T", task.result)


class _Task(threading.Thread):
    """A call on a thread, which stays until it is released, so that nothing else has its number."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(name="family_recall-import", daemon=True)
        self._call = call
        self._started_at_s = time.monotonic()
        self.is_done, self._released = threading.Event(), threading.Event()
        self.has_result = False
        self.result: object = None
        self.error: BaseException | None = None

    def run(self) -> None:
        with contextlib.suppress(OutOfTime):
            try:
                self.result = self._call()
                self.has_result = True
            except OutOfTime:
                pass
            except BaseException as error:  # noqa: BLE001 -- raised where the call was made
                self.error = error
        while not self._released.is_set():
            with contextlib.suppress(OutOfTime):  # another one, on the way out
                self.is_done.set()
                self._released.wait()

    def used_s(self) -> float:
        """Return the processor time used, or the time where the system does not tell."""
        if self.ident is None or not self.is_alive():
            return 0.0
        try:
            return time.clock_gettime(time.pthread_getcpuclockid(self.ident))
        except (AttributeError, OSError):
            return time.monotonic() - self._started_at_s

    def stop(self) -> float:
        """Stop the call if it still runs, and let the thread end; return the time it used."""
        until_s = time.monotonic() + _GRACE_S
        while not self.is_done.is_set() and self.is_alive() and time.monotonic() < until_s:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self.ident or 0), ctypes.py_object(OutOfTime)
            )
            self.is_done.wait(_POLL_S)
        used_s = self.used_s()
        self._released.set()
        return used_s
