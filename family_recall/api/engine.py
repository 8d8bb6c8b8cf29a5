"""The services of one open household: created together, closed together."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import datetime as dt
import logging
import time
from collections.abc import Callable
from typing import Literal, TypeVar

from family_recall.access.audit_log import AuditLog
from family_recall.access.browsing import MemoryBrowser
from family_recall.api.integrity_monitor import IntegrityMonitor
from family_recall.config import RecallConfig
from family_recall.deadline import Clock
from family_recall.editing import Editor
from family_recall.encoders.base import Encoder
from family_recall.encoders.loader import Models
from family_recall.erasure import Forgetter
from family_recall.errors import FamilyRecallError, InvalidRequestError, ModelError
from family_recall.indexing import Indexer
from family_recall.learning import Learner
from family_recall.pipeline import Broker, routing_encoder, warm_up
from family_recall.pipeline.costs import Costs
from family_recall.pipeline.gate import Gate
from family_recall.pipeline.trace_hook import TraceHook
from family_recall.query import router
from family_recall.stores.store import Store
from family_recall.types import Answer, Call, RecallRequest, Region, Trace
from family_recall.types.progress import CountCallback

Embed = Literal["now", "later"]
"""Whether the transformer's vectors are made at once, or by ``flush``."""

ProgressCallback = Callable[[int, int], None]
"""Called with what is done so far, and what there is in all."""

SWEEP_EVERY_S = 3600.0
"""How often, while a household is open, what is not kept any more is looked for at least."""

_T = TypeVar("_T")
_WORKERS = 4  # threads of our own: a host's thread pool is not starved by recalls

logger = logging.getLogger("family_recall")


class Engine:
    """The services behind one open household, wired together once."""

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
        """Put the parts together; ``open`` is the usual way.

        Args:
            store: The file.
            models: Encoders, loaded or to be loaded.
            config: Constants; the measured ones, when left out.
            clock: Seconds for deadlines.
            wall_clock: Seconds since 1970 UTC, for ``now`` and ``recorded_at``.
            on_trace: See :meth:`open`.
        """
        self.store = store
        self.models = models
        self.wall_clock = wall_clock
        self.config = config = config or RecallConfig()
        self.executor = concurrent.futures.ThreadPoolExecutor(
            _WORKERS, thread_name_prefix="family_recall"
        )
        self.async_executor = concurrent.futures.ThreadPoolExecutor(
            _WORKERS, thread_name_prefix="family_recall-async"
        )
        self.executor.submit(models.static)
        self.costs = Costs(config.assumed_cost_ms, store.stage_costs())
        gate = Gate(self.costs, config, clock=clock)
        self.integrity = IntegrityMonitor(store, wall_clock)
        self.broker = Broker(store, models, config, gate, self.executor, self.integrity.damage)
        self.indexer = Indexer(store, config, gate.yield_to_recalls)
        self.learner = Learner(store)
        self.forgetter = Forgetter(store, self.indexer)
        self.editor = Editor(store, self.indexer)
        self.trace_hook = TraceHook(on_trace) if on_trace else None
        self.audit_log = AuditLog(store, wall_clock)
        self.sweep_after_s = wall_clock() + SWEEP_EVERY_S
        self.closed = False
        self.browser = MemoryBrowser(store)

    def start(self) -> None:
        """Apply the retention rules, and schedule the next time they are due."""
        if self.apply_retention():
            self.executor.submit(self.plan_sweep)

    def close(self) -> None:
        """Finish what runs and close the file. Closing twice does nothing."""
        self.async_executor.shutdown()
        self.integrity.stop()
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

    @property
    def region(self) -> Region:
        """Where the household lives, as far as words for time depend on it."""
        return self.store.region

    @property
    def zone(self) -> dt.tzinfo:
        """The household's time zone."""
        return self.store.zone

    def warmup(self) -> None:
        """Load models now, so that the first question need not wait for them.

        Then warm_up for a second at most: what stages cost on this device is kept in the file.
        """
        self.models.wait()
        with contextlib.suppress(ModelError):  # a question will meet it, and say so
            router.encode_prototypes(routing_encoder(self.models.static()))
        moment_s = self.wall_clock()
        now = dt.datetime.fromtimestamp(moment_s, self.store.zone)
        warm_up(self.broker, now, moment_s, self.config.warm_up_ms)
        self.save_costs()

    def apply_retention(self) -> bool:
        """Follow the rules of retention; False where that cannot be done now."""
        try:
            self.forgetter.apply_retention(self.wall_clock())
        except FamilyRecallError as error:  # nobody is shown what waits
            logger.warning("what is not kept any more waits to be forgotten: %s", error)
            return False
        return True

    def plan_sweep(self) -> None:
        """Sweep again when something outlives its rule, and in an hour at the latest.

        What other processes tell, and rules that they set, the hour is for.
        """
        now_s = self.wall_clock()
        with contextlib.suppress(FamilyRecallError):
            self.sweep_after_s = min(now_s + SWEEP_EVERY_S, self.forgetter.next_due_s(now_s))

    def maintain_when_due(self) -> None:
        """Sweep and look beside what goes on: where something is due, and now and then."""
        now_s = self.wall_clock()
        if now_s >= self.sweep_after_s:
            self.sweep_after_s = now_s + SWEEP_EVERY_S
            self.executor.submit(self.sweep_beside)
        if self.integrity.is_due():
            self.executor.submit(self.integrity.check)

    def sweep_beside(self) -> None:
        if self.apply_retention():
            self.plan_sweep()

    def save_costs(self) -> None:
        """Keep what stages cost, if it has changed; a file that cannot be written goes without."""
        moved = self.costs.changed()
        with contextlib.suppress(FamilyRecallError):
            if moved and self.store.keep_stage_costs(moved):
                self.costs.mark_stored(moved)

    def embed_pending(
        self, static: Encoder | None, encoder: Encoder | None, progress: CountCallback | None
    ) -> int:
        done = 0
        if static is not None:
            done += self.indexer.flush(static, role="static")
        if encoder is not None:
            done += self.indexer.flush(encoder, progress)
        return done

    def record(self, call: Call, request: RecallRequest, answer: Answer) -> Answer:
        """Tell the log and the hook of an answer."""
        self.audit_log.note(call, request.ctx, answer)
        self.maintain_when_due()
        if self.trace_hook is not None:
            self.trace_hook.send(answer.trace)
        return answer

    def now(self, request: RecallRequest) -> dt.datetime:
        now, zone = request.ctx.now, self.store.zone
        if now is None:
            return dt.datetime.fromtimestamp(self.wall_clock(), zone)
        return now.astimezone(zone) if now.tzinfo else now.replace(tzinfo=zone)

    async def awaited(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self.async_executor, call)


def check_embed(embed: str) -> None:
    """Refuse what says neither when vectors are made.

    Raises:
        InvalidRequestError: If it is not ``now`` or ``later``.
    """
    if embed not in {"now", "later"}:
        raise InvalidRequestError(f"embed must be now or later, got {embed!r}")
