"""Pass the trace of each recall to a program's hook."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from family_recall.errors import ClosedError
from family_recall.threads import Workers
from family_recall.types import Trace

MAX_WAITING = 1000
"""Most traces that wait for a slow hook; later ones are dropped."""

log = logging.getLogger("family_recall")


class TraceHook:
    """Calls a hook with each trace, on a thread, so that answers never wait for it.

    Exceptions of the hook are logged.
    """

    def __init__(self, hook: Callable[[Trace], None], *, max_waiting: int = MAX_WAITING) -> None:
        self._hook = hook
        self._max_waiting = max_waiting
        self._thread = Workers(1, "family_recall-trace")

    def send(self, trace: Trace) -> None:
        """Queue a trace and return at once."""
        if self._thread.n_waiting() >= self._max_waiting:
            log.warning("on_trace is too slow: a trace was dropped")
            return
        with contextlib.suppress(ClosedError):  # meanwhile
            self._thread.begin(self._call, trace)

    def close(self) -> None:
        """Wait until the queue is empty. Closing twice does nothing."""
        self._thread.shutdown()

    def _call(self, trace: Trace) -> None:
        try:
            self._hook(trace)
        except Exception:  # a hook may raise anything
            log.exception("on_trace failed")
