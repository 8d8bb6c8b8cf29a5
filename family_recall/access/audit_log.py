"""Audit: answered calls in; later, to the owner of a space, who recalled what of it and when.

A call is noted in memory, which costs microseconds, and written by a thread of its own: the first
one at once, those that follow within a second. What could not be written is not lost in silence.
A process signs in with its first entry and signs out when it closes; where the next one finds
that another never signed out and runs no more, it writes a gap. So it does for entries that had
to be dropped because the file could not be written for long.
"""

from __future__ import annotations

import atexit
import datetime as dt
import logging
import math
import os
import threading
import uuid
from collections import deque
from collections.abc import Callable, Mapping

from family_recall.access import policy
from family_recall.errors import FamilyRecallError, InvalidRequestError
from family_recall.stores.logs.audit import DAY_S, AuditRow, AuditTables, NewCall
from family_recall.stores.store import Store
from family_recall.types import Answer, AuditEntry, Call, RecallContext

DEFAULT_DAYS = 30
"""How long the log goes back, unless the household says otherwise.

On by default: in a home where a speaker answers whoever speaks, those whose memories they are can
look up what was given to whom. Short, and told to a space's owner about that space alone, so that
it is no way to watch each other.
"""

FLUSH_EVERY_S = 1.0
MAX_PENDING = 10_000
"""Calls held in memory while the file cannot be written; beyond that the oldest are dropped."""

_PAGE = 500
log = logging.getLogger("family_recall")


class AuditLog:
    """Who recalled what, when. Safe to share between threads."""

    def __init__(self, store: Store, wall_clock: Callable[[], float]) -> None:
        """Begin to keep the log of one file; nothing is written before something is noted."""
        self._store = store
        self._wall_clock = wall_clock
        self._pending: deque[NewCall] = deque()
        self._lost = 0
        self._lost_from_s = 0.0
        self._wake = threading.Condition()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._token = uuid.uuid4().hex
        self._signed_in = False
        with store.reading() as tables:
            self._days = tables.audit.days(DEFAULT_DAYS)

    def note(self, call: Call, ctx: RecallContext, answer: Answer) -> None:
        """Note an answered call."""
        self.note_given(call, ctx, [(one.space_id, one.doc_id) for one in answer.results])

    def note_given(self, call: Call, ctx: RecallContext, given: list[tuple[str, str]]) -> None:
        """Note a call and the (space_id, doc_id) of what it gave."""
        if not self._days:
            return
        entry = NewCall(self._wall_clock(), call, ctx.person_id, ctx.space_id, tuple(given))
        with self._wake:
            if self._closed:
                return
            if len(self._pending) >= MAX_PENDING:
                self._drop()
            self._pending.append(entry)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="family_recall-audit", daemon=True
                )
                self._thread.start()
                atexit.register(self.close)
            if len(self._pending) == 1:
                self._wake.notify()

    def flush(self) -> None:
        """Write what has been noted so far.

        Raises:
            StoreError: If the file cannot be written; what was noted is kept for the next time.
        """
        with self._writing:
            with self._wake:
                calls, lost = list(self._pending), self._lost
            if not calls and not lost:
                return
            now_s = self._wall_clock()
            with self._store.writing() as writing:
                tables = writing.audit
                self._days = tables.days(DEFAULT_DAYS)
                if self._days:
                    if not self._signed_in:
                        _close_gaps(tables)
                    if lost:
                        tables.put_gap(self._lost_from_s, lost)
                    tables.put(calls)
                    tables.purge(self._oldest_s(self._days))
                    tables.sign_in(self._token, os.getpid(), now_s)
            self._signed_in = bool(self._days)
            with self._wake:
                # What was dropped meanwhile, as too much, were the oldest: some of these.
                dropped = self._lost - lost
                written = min(dropped, len(calls))
                self._lost = dropped - written
                for _ in range(len(calls) - written):
                    self._pending.popleft()

    def keep(self, days: int) -> None:
        """Set how many days the log goes back; 0 deletes it and keeps none.

        Raises:
            InvalidRequestError: If ``days`` is below 0.
        """
        if days < 0:
            raise InvalidRequestError(f"days must be 0 or more, got {days}")
        self.flush()
        with self._writing, self._store.writing() as writing:
            tables = writing.audit
            tables.set_days(days)
            tables.purge(self._oldest_s(days))
            if not days:
                tables.sign_out(self._token)
                self._signed_in = False
        self._days = days

    def read(self, reader: str, person_id: str | None, limit: int) -> list[AuditEntry]:
        """Tell the owner of one or more spaces who recalled what of them, the newest first.

        Raises:
            InvalidRequestError: If the reader owns no space, or ``limit`` is below 1.
            UnknownPersonError: If there is no such reader.
        """
        if limit < 1:
            raise InvalidRequestError(f"limit must be 1 or more, got {limit}")
        self.flush()
        with self._store.writing() as writing:
            _close_gaps(writing.audit)
            writing.audit.purge(self._oldest_s(self._days))
        told: list[AuditEntry] = []
        with self._store.reading() as tables:
            access = tables.household.access(reader)
            partitions = tables.household.every_partition()
            owned = policy.owned_by(reader, access, partitions, self._wall_clock())
            if not owned:
                raise InvalidRequestError(
                    f"the log is told to a space's owners, and {reader!r} owns none; "
                    "make them one with a grant as owner"
                )
            before: int | None = None
            while len(told) < limit and (page := tables.audit.rows(_PAGE, before)):
                before = page[-1][0]
                entries = (_entry(row, owned, self._store.zone) for _, row in page)
                told += [
                    one
                    for one in entries
                    if one is not None and (person_id is None or one.person_id == person_id)
                ]
        return told[:limit]

    def close(self) -> None:
        """Write what is left and stop. Closing twice does nothing."""
        with self._wake:
            if self._closed:
                return
            self._closed = True
            self._wake.notify()
        atexit.unregister(self.close)
        if self._thread is not None:
            self._thread.join()
        try:
            self.flush()
            if self._signed_in:
                with self._store.writing() as writing:
                    writing.audit.sign_out(self._token)
        except FamilyRecallError as error:
            # Still signed in: whoever writes next finds that, and writes a gap.
            log.warning("%d audit entries were not written: %s", len(self._pending), error)

    def _run(self) -> None:
        """Write, at most once a second, until closed."""
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._pending or self._closed)
                if self._closed:
                    return
            try:
                self.flush()
            except FamilyRecallError as error:
                log.warning("audit entries wait to be written: %s", error)
            with self._wake:
                self._wake.wait_for(lambda: self._closed, FLUSH_EVERY_S)

    def _oldest_s(self, days: int) -> float:
        return self._wall_clock() - days * DAY_S if days else math.inf

    def _drop(self) -> None:
        oldest = self._pending.popleft()
        if not self._lost:
            self._lost_from_s = oldest.at_s
        self._lost += 1


def _close_gaps(tables: AuditTables) -> None:
    """Write a gap for each process that wrote, never signed out, and runs no more."""
    for token, pid, flushed_s in tables.writers():
        if pid != os.getpid() and not _is_running(pid):
            tables.put_gap(flushed_s, 0)
            tables.sign_out(token)


def _is_running(pid: int) -> bool:
    """Whether a process runs; where that cannot be asked, no: a gap only says *may*."""
    if os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _entry(row: AuditRow, owned: Mapping[int, str], zone: dt.tzinfo) -> AuditEntry | None:
    """Tell an entry as far as it is about what the reader owns; None where it is not."""
    given = tuple(
        (space_id, doc_id) for partition, space_id, doc_id in row.returned if partition in owned
    )
    asked_in = row.space_id if row.space_id in owned.values() else None
    if not given and asked_in is None and row.call != "gap":
        return None
    at = dt.datetime.fromtimestamp(row.at_s, zone)
    return AuditEntry(at, row.call, row.person_id, asked_in, given, row.lost)  # type: ignore[arg-type]  # what note() was given
