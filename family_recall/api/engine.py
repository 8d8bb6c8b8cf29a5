"""The services of one open household: created together, closed together."""

from __future__ import annotations

import atexit
import contextlib
import datetime as dt
import logging
import os
import time
import weakref
from collections.abc import Callable
from typing import Literal, TypeVar

from family_recall.access import policy
from family_recall.access.policy import ScopeSource
from family_recall.api.audit import AuditWriter
from family_recall.api.maintenance import IntegrityMonitor
from family_recall.api.trace_hook import TraceHook
from family_recall.config import RecallConfig
from family_recall.deadline import Clock, end_alarms
from family_recall.encoders.loader import Models
from family_recall.errors import ClosedError, FamilyRecallError, StoreError
from family_recall.forget import Forgetter, clean
from family_recall.learn import Learner
from family_recall.recall import Broker
from family_recall.recall.gate import Costs, Gate
from family_recall.remember import Indexer
from family_recall.store.store import Store
from family_recall.threads import Workers
from family_recall.types import Answer, Call, RecallContext, Receipt, Scope, Trace
from family_recall.types.aliases import CountCallback

Embed = Literal["now", "later"]
"""Whether the transformer's vectors are computed at once or by ``flush``."""

SWEEP_EVERY_S = 3600.0
"""Longest time that expired memories wait to be erased while a household is open."""

_T = TypeVar("_T")
_WORKERS = 4  # threads of our own, so that recalls do not starve the host's thread pool
_WRITERS = 1  # a file has one writer at a time

logger = logging.getLogger("family_recall")


class Engine:
    """The services of one open household.

    ``clock`` counts seconds for deadlines, ``wall_clock`` epoch seconds for ``now`` and
    ``recorded_at``.
    """

    def __init__(
        self,
        store: Store,
        models: Models,
        *,
        config: RecallConfig | None = None,
        clock: Clock = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        on_trace: Callable[[Trace], None] | None = None,
    ) -> None:
        self.store = store
        self.models = models
        config = config or RecallConfig()
        self.wall_clock = wall_clock
        self.executor = Workers(_WORKERS, "family_recall")
        self.readers = Workers(_WORKERS, "family_recall-read")
        self.writers = Workers(_WRITERS, "family_recall-write")
        self.executor.submit(models.static)
        self.costs = Costs(config.assumed_cost_ms, store.stage_costs())
        gate = Gate(self.costs, config, clock=clock)
        self.integrity = IntegrityMonitor(store, wall_clock)
        self.broker = Broker(store, models, config, gate, self.executor, self.integrity.damage)
        self.indexer = Indexer(store, config, gate.yield_to_recalls)
        self.learner = Learner(store, models)
        self.forgetter = Forgetter(store, self.indexer)
        self.trace_hook = TraceHook(on_trace) if on_trace else None
        self.audit_log = AuditWriter(store, wall_clock)
        self.sweep_after_s = wall_clock() + SWEEP_EVERY_S
        self.closed = False
        self._pid = os.getpid()
        _open_engines.add(self)

    def start(self) -> None:
        """Apply the retention rules, and schedule the next sweep."""
        if self.apply_retention():
            self.executor.submit(self._schedule_sweep)

    def close(self) -> None:
        """Finish running work, apply the retention rules and close the file.

        A forked process only closes its store.
        """
        if os.getpid() != self._pid:
            _open_engines.discard(self)
            self.store.close()
            return
        self.readers.shutdown()
        self.writers.shutdown()
        self.integrity.stop()
        self.models.closed = True  # which ends a warming up, too
        self.executor.shutdown()
        if not self.closed:
            self.closed = True
            self.apply_retention()
        self.models.close()
        if self.trace_hook is not None:
            self.trace_hook.close()
        self.audit_log.close()
        self.save_costs()
        self.store.close()
        _open_engines.discard(self)
        if not _open_engines:
            end_alarms()

    def now(self, ctx: RecallContext) -> dt.datetime:
        """Return the moment a request is made, in the household's zone."""
        now, zone = ctx.now, self.store.zone
        if now is None:
            return dt.datetime.fromtimestamp(self.wall_clock(), zone)
        return now.astimezone(zone) if now.tzinfo else now.replace(tzinfo=zone)

    def scope(self, source: ScopeSource, ctx: RecallContext, now_s: float | None = None) -> Scope:
        """Decide what a request may see, as :func:`family_recall.access.policy.scope_of`."""
        wall_s, zone = self.wall_clock(), self.store.zone
        return policy.scope_of(source, ctx, wall_s=wall_s, zone=zone, now_s=now_s)

    def record(self, call: Call, ctx: RecallContext, answer: Answer) -> Answer:
        """Log an answer, pass its trace to the hook, and start due background work."""
        memories = [(result.space_id, result.doc_id) for result in answer.results]
        self.audit_log.note(call, ctx, memories)
        now_s = self.wall_clock()
        with contextlib.suppress(ClosedError):  # closing does that work
            if now_s >= self.sweep_after_s:
                self.sweep_after_s = now_s + SWEEP_EVERY_S
                self.executor.submit(self.sweep)
            if self.integrity.is_due():
                self.executor.submit(self.integrity.check)
        if self.trace_hook is not None:
            self.trace_hook.send(answer.trace)
        return answer

    def apply_retention(self) -> bool:
        """Apply the retention rules; False if that fails."""
        try:
            self.forget_expired(self.wall_clock())
        except FamilyRecallError as error:  # expired memories stay hidden meanwhile
            logger.warning("expired memories wait to be erased: %s", error)
            return False
        return True

    def despite_damage(self, call: Callable[[], _T]) -> _T:
        """Run a call. If damage in the file stops it, repair that, and run it again.

        As ``doctor --repair`` does: unreadable values are replaced or deleted; if that is not
        enough, all that is derived from texts is rebuilt. The log says so.
        """
        for repair in (self.store.reset_unreadable, self._rebuild):
            try:
                return call()
            except StoreError as error:
                if type(error) is not StoreError or isinstance(error.__cause__, OSError | None):
                    raise
                if repaired := repair():
                    logger.warning("%s was damaged: %s", self.store.path, "; ".join(repaired))
        return call()

    def _rebuild(self) -> list[str]:
        with self.store.writing() as writing:
            self.indexer.rebuild(writing)
        return ["words, entities, edges and vectors were rebuilt from the texts"]

    def forget_expired(self, now_s: float) -> Receipt | None:
        """Forget what the retention rules say; None if that is nothing."""
        return self.despite_damage(lambda: self.forgetter.apply_retention(now_s))

    def sweep(self) -> None:
        """Apply the retention rules, and schedule the next sweep."""
        if self.apply_retention():
            self._schedule_sweep()

    def embed_pending(self, progress: CountCallback | None = None) -> int:
        """Compute pending vectors with the installed models; return how many."""
        done = 0
        if (static := self.models.static()) is not None:
            done += self.indexer.flush(static, role="static")
        if (encoder := self.models.wait()) is not None:
            done += self.indexer.flush(encoder, progress)
        return done

    def save_costs(self) -> None:
        """Save changed stage costs, if the file can be written."""
        unsaved = self.costs.unsaved()
        with contextlib.suppress(FamilyRecallError):
            if unsaved and self.store.keep_stage_costs(unsaved):
                self.costs.mark_saved(unsaved)

    def forget(self, forget: Callable[[float], Receipt]) -> Receipt:
        """Forget now; if bytes remain to be cleaned, the next answer's background does that."""
        self.models.questions.clear()  # a question may repeat a forgotten text
        wall_s = self.wall_clock()
        receipt = self.despite_damage(lambda: forget(wall_s))
        if receipt.proof is None and receipt.undo_until is None:
            self.sweep_after_s = wall_s
        return receipt

    def clean(self) -> None:
        """Clean the bytes of what was removed without a receipt, now or with the next answer."""
        wall_s = self.wall_clock()
        try:
            with self.store.reading() as tables:
                is_due = tables.erasure_log.rewrite_due() is not None
            if is_due and clean(self.store, wall_s) is None:
                self.sweep_after_s = wall_s
        except FamilyRecallError as error:
            logger.warning("removed, but its bytes wait to be cleaned: %s", error)
            self.sweep_after_s = wall_s

    def _schedule_sweep(self) -> None:
        """Schedule a sweep for when the next memory expires, or in an hour.

        Other processes may store memories and rules meanwhile.
        """
        now_s = self.wall_clock()
        with contextlib.suppress(FamilyRecallError), self.store.reading() as tables:
            due_s = tables.erasure_log.next_due_s(now_s)
            self.sweep_after_s = min(now_s + SWEEP_EVERY_S, due_s)


_open_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Close open households at exit: a thread stopped within native code aborts the process."""
    for engine in list(_open_engines):
        with contextlib.suppress(FamilyRecallError):
            engine.close()
