"""The audit log, who recalled what and when: written in the background, read by owners.

A call is noted in memory, in microseconds, and written by a separate thread: the first at once,
later ones within a second. Lost entries leave a gap: a process signs in with its first entry and
signs out when it closes, and the next process writes a gap for one that ended without signing out.
Entries that are dropped because the file cannot be written leave a gap too.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import threading
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterable

from family_recall.access import policy
from family_recall.api.arguments import Part
from family_recall.errors import ClosedError, FamilyRecallError, InvalidRequestError
from family_recall.store.audit import AuditTables, NewCall
from family_recall.store.household import DAY_S
from family_recall.store.store import Store
from family_recall.threads import Thread
from family_recall.types import AuditEntry, Call, RecallContext
from family_recall.types.browsing import check_audit_days

DEFAULT_DAYS = 30
"""Days that the log goes back by default.

The log is on by default, so that people can look up to whom a speaker read out their memories. It
is short, and each owner sees only their own spaces, so that nobody can watch others with it.
"""

FLUSH_EVERY_S = 1.0
MAX_PENDING = 10_000
"""Most calls held in memory while the file cannot be written; then the oldest are dropped."""

logger = logging.getLogger("family_recall")


class AuditWriter:
    """Writes who recalled what, and when. Safe to share between threads."""

    def __init__(self, store: Store, wall_clock: Callable[[], float]) -> None:
        """Prepare to write the log of one file; the first call starts the thread."""
        self._store = store
        self._wall_clock = wall_clock
        self._pending: deque[NewCall] = deque()
        self._lost = 0
        self._lost_from_s = 0.0
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._writing = threading.Lock()
        self._thread: Thread | None = None
        self._closed = self._has_closed = False
        self._pid = os.getpid()
        self._token = uuid.uuid4().hex
        self._signed_in = False
        with store.reading() as tables:
            self._days = tables.audit.days(DEFAULT_DAYS)

    def note(self, call: Call, ctx: RecallContext, memories: Iterable[tuple[str, str]]) -> None:
        """Note a call and the (space_id, doc_id) of the memories it returned.

        Raises:
            ClosedError: If the log was closed meanwhile: no answer is returned unlogged.
        """
        if not self._days:
            return
        entry = NewCall(self._wall_clock(), call, ctx.person_id, ctx.space_id, tuple(memories))
        with self._lock:
            if self._closed:
                raise ClosedError("the household was closed; open it again")
            self._pending.append(entry)
            if len(self._pending) > MAX_PENDING:
                self._drop_oldest()
            if self._thread is None:
                atexit.register(self.close)
                self._thread = Thread(self._run, "family_recall-audit")
            self._thread.start()
            if len(self._pending) == 1:
                self._wake.notify()

    def flush(self) -> None:
        """Write the calls noted so far.

        Raises:
            StoreError: If the file cannot be written; the calls wait for the next time.
        """
        with self._writing:
            calls, lost = deque[NewCall](), 0
            try:
                with self._lock:
                    calls, self._pending = self._pending, deque()
                    lost, self._lost = self._lost, 0
                if calls or lost:
                    self._write(calls, lost)
                    calls, lost = deque(), 0
            finally:
                with self._lock:
                    self._pending.extendleft(reversed(calls))
                    self._lost += lost
                    self._drop_oldest()

    def _write(self, calls: Collection[NewCall], lost: int) -> None:
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
                tables.sign_in(self._token, os.getpid(), self._wall_clock())
        self._signed_in = bool(self._days)

    def purge(self) -> None:
        """Delete expired entries, and write gaps of processes that ended unexpectedly."""
        with self._store.writing() as writing:
            _close_gaps(writing.audit)
            writing.audit.purge(self._oldest_s(self._days))

    def keep_days(self, days: int) -> None:
        """Set how many days the log goes back; 0 deletes it and turns it off.

        Raises:
            InvalidRequestError: If ``days`` is no whole number from 0 to 99,999.
        """
        check_audit_days(days)
        self.flush()
        with self._writing, self._store.writing() as writing:
            tables = writing.audit
            tables.set_days(days)
            tables.purge(self._oldest_s(days))
            writing.erasure_log.set_rewrite_due()
            if not days:
                tables.sign_out(self._token)
                self._signed_in = False
        self._days = days

    def close(self) -> None:
        """Write the remaining calls and stop; twice, or in a forked process, does nothing."""
        if os.getpid() != self._pid:
            return
        if self._has_closed:
            return
        with self._lock:
            self._closed = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()
        try:
            self.flush()
            if self._signed_in:
                with self._store.writing() as writing:
                    writing.audit.sign_out(self._token)
        except FamilyRecallError as error:
            # Still signed in, so that the next process writes a gap.
            logger.warning("%d audit entries were not written: %s", len(self._pending), error)
        self._has_closed = True
        atexit.unregister(self.close)

    def _run(self) -> None:
        """Write, at most once a second, until closed."""
        while True:
            with self._lock:
                self._wake.wait_for(lambda: self._pending or self._closed)
                if self._closed:
                    return
            try:
                self.flush()
            except FamilyRecallError as error:
                logger.warning("audit entries wait to be written: %s", error)
            with self._lock:
                self._wake.wait_for(lambda: self._closed, FLUSH_EVERY_S)

    def _oldest_s(self, days: int) -> float:
        return self._wall_clock() - days * DAY_S if days else math.inf

    def _drop_oldest(self) -> None:
        while len(self._pending) > MAX_PENDING:
            oldest = self._pending.popleft()
            self._lost_from_s = self._lost_from_s if self._lost else oldest.at_s
            self._lost += 1


def _close_gaps(tables: AuditTables) -> None:
    """Write a gap for each process that ended without signing out."""
    for token, pid, flushed_s in tables.writers():
        if pid != os.getpid() and not _is_running(pid):
            tables.put_gap(flushed_s, 0)
            tables.sign_out(token)


def _is_running(pid: int) -> bool:
    """Return whether a process runs; False if unknown: a gap says that calls *may* be missing."""
    if os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Audit(Part):
    """Who recalled what of which space."""

    def entries(
        self, person_id: str, *, of: str | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """List who recalled which memories of an owner's spaces, the newest first; ids, no text.

        Owners see entries about the spaces they own only.

        Args:
            person_id: The owner who reads the log.
            of: Only calls of this person; everybody's, when left out.
            limit: Most entries, 1 or more.

        Raises:
            InvalidRequestError: If this person owns no space, or ``limit`` is below 1.
            UnknownPersonError: If there is no such person.
        """
        if limit < 1:
            raise InvalidRequestError(f"limit must be 1 or more, got {limit}")
        self._engine.audit_log.flush()
        self._engine.audit_log.purge()
        with self._engine.store.reading() as tables:
            access = tables.household.access(person_id)
            partitions = tables.household.every_partition()
            owned = policy.owned_by(person_id, access, partitions, self._engine.wall_clock())
            if not owned:
                raise InvalidRequestError(
                    f"only a space's owners read its log, and {person_id!r} owns none; "
                    "make them one with a grant as owner"
                )
            return tables.audit.entries(owned, self._engine.store.zone, of=of, limit=limit)

    def keep_days(self, days: int) -> None:
        """Set how many days the log goes back, 30 by default; 0 deletes it and turns it off.

        Raises:
            InvalidRequestError: If ``days`` is no whole number from 0 to 99,999.
        """
        self._engine.audit_log.keep_days(days)
        self._engine.clean()
