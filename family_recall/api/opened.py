"""A household that is open: its parts, put together once, and taken apart at the end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import datetime as dt
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from family_recall.access.audit_log import AuditLog
from family_recall.access.browsing import Looker
from family_recall.api.watching import Watch
from family_recall.config import RecallConfig
from family_recall.deadline import Clock
from family_recall.editing import Mender
from family_recall.encoders.base import Encoder, PairScorer
from family_recall.encoders.loader import Models
from family_recall.erasure import Forgetter
from family_recall.errors import FamilyRecallError, InvalidRequestError, ModelError
from family_recall.indexing import Indexer, Progress
from family_recall.learning import Learner
from family_recall.pipeline import Broker, practise, routing_encoder
from family_recall.pipeline.costs import Costs
from family_recall.pipeline.gate import Gate
from family_recall.pipeline.trace_hook import Observer
from family_recall.query import router
from family_recall.stores.file.encryption import Secret, key_of
from family_recall.stores.store import Store
from family_recall.types import Answer, Call, RecallRequest, Region, Trace

Embed = Literal["now", "later"]
"""Whether the transformer's vectors are made at once, or by ``flush``."""

WholeProgress = Callable[[int, int], None]
"""Called with what is done so far, and what there is in all."""

SWEEP_EVERY_S = 3600.0
"""How often, while a household is open, what is not kept any more is looked for at least."""

_T = TypeVar("_T")
_WORKERS = 4  # threads of our own: a host's thread pool is not starved by recalls

logger = logging.getLogger("family_recall")


class Opened:
    """What every part of `FamilyRecall` stands on."""

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
        self._store = store
        self._models = models
        self._wall_clock = wall_clock
        self._config = config = config or RecallConfig()
        self._executor = concurrent.futures.ThreadPoolExecutor(
            _WORKERS, thread_name_prefix="family_recall"
        )
        self._asking = concurrent.futures.ThreadPoolExecutor(
            _WORKERS, thread_name_prefix="family_recall-async"
        )
        self._executor.submit(models.static)
        self._costs = Costs(config.assumed_cost_ms, store.stage_costs())
        gate = Gate(self._costs, config, clock=clock)
        self._watch = Watch(store, wall_clock)
        self._broker = Broker(store, models, config, gate, self._executor, self._watch.notice)
        self._indexer = Indexer(store, config, gate.breathe)
        self._learner = Learner(store)
        self._forgetter = Forgetter(store, self._indexer)
        self._mender = Mender(store, self._indexer)
        self._observer = Observer(on_trace) if on_trace else None
        self._audit = AuditLog(store, wall_clock)
        self._sweep_after_s = wall_clock() + SWEEP_EVERY_S
        self._closed = False
        self._looker = Looker(store)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        key: Secret | None = None,
        timezone: str | None = None,
        country: str | None = None,
        hemisphere: str | None = None,
        models: Path | None = None,
        encoder: Encoder | None = None,
        scorer: PairScorer | None = None,
        static: Encoder | None = None,
        config: RecallConfig | None = None,
        on_trace: Callable[[Trace], None] | None = None,
    ) -> Self:
        """Open a household's file, making it if there is none.

        Args:
            path: The file.
            create: Whether a missing file is made.
            key: A passphrase, or 32 bytes, of a file that is, or is to be, encrypted; needs the
                extra ``crypto``.
            timezone: IANA name of the household's zone, kept in the file; UTC at first.
            country: ISO 3166 code, kept in the file, for holidays; US at first.
            hemisphere: ``north`` or ``south``, kept in the file, for seasons; north at first.
            models: Folder of models; the shipped ones, when left out.
            encoder: An embedder to use instead of the folder's.
            scorer: A cross-encoder to use instead of the folder's.
            static: A static embedder to use instead of the folder's.
            config: Constants; the measured ones, when left out.
            on_trace: Called with the trace of each answer once it is made, on a thread of its
                own; what it raises is logged and reaches nobody.

        Raises:
            StoreError: If the file cannot be opened; ``NotAStoreError``, ``WrongKeyError`` and
                ``NewerStoreError`` leave it as it is.
            InvalidRequestError: If time zone, country or hemisphere has no such name.
        """
        store = Store(
            Path(path),
            create=create,
            key=key_of(key),
            timezone=timezone,
            country=country,
            hemisphere=hemisphere,
        )
        loaded = Models(models, encoder=encoder, scorer=scorer, static=static)
        home = cls(store, loaded, config=config, on_trace=on_trace)
        if home._sweep():
            home._executor.submit(home._plan_sweep)
        return home

    def __enter__(self) -> Self:
        """Open for a ``with`` block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close at the end of a ``with`` block."""
        self.close()

    def close(self) -> None:
        """Finish what runs and close the file. Closing twice does nothing."""
        self._asking.shutdown()
        self._watch.stop()
        self._executor.shutdown()
        if not self._closed:
            self._closed = True
            self._sweep()
        self._models.close()
        if self._observer is not None:
            self._observer.close()
        self._audit.close()
        self._keep_costs()
        self._store.close()

    @property
    def region(self) -> Region:
        """Where the household lives, as far as words for time depend on it."""
        return self._store.region

    @property
    def zone(self) -> dt.tzinfo:
        """The household's time zone."""
        return self._store.zone

    def warmup(self) -> None:
        """Load models now, so that the first question need not wait for them.

        Then practise for a second at most: what stages cost on this device is kept in the file.
        """
        self._models.wait()
        with contextlib.suppress(ModelError):  # a question will meet it, and say so
            router.warm_up(routing_encoder(self._models.static()))
        moment_s = self._wall_clock()
        now = dt.datetime.fromtimestamp(moment_s, self._store.zone)
        practise(self._broker, now, moment_s, self._config.practice_ms)
        self._keep_costs()

    def stats(self) -> dict[str, Any]:
        """Count what is stored, for the household's owner."""
        models = {"model": self._models.embedder_id(), "static_model": self._models.static_id()}
        return {**self._store.stats(), **models}

    def _sweep(self) -> bool:
        """Follow the rules of retention; False where that cannot be done now."""
        try:
            self._forgetter.apply_retention(self._wall_clock())
        except FamilyRecallError as error:  # nobody is shown what waits
            logger.warning("what is not kept any more waits to be forgotten: %s", error)
            return False
        return True

    def _plan_sweep(self) -> None:
        """Sweep again when something outlives its rule, and in an hour at the latest.

        What other processes tell, and rules that they set, the hour is for.
        """
        now_s = self._wall_clock()
        with contextlib.suppress(FamilyRecallError):
            self._sweep_after_s = min(now_s + SWEEP_EVERY_S, self._forgetter.next_due_s(now_s))

    def _tend_when_due(self) -> None:
        """Sweep and look beside what goes on: where something is due, and now and then."""
        now_s = self._wall_clock()
        if now_s >= self._sweep_after_s:
            self._sweep_after_s = now_s + SWEEP_EVERY_S
            self._executor.submit(self._sweep_beside)
        if self._watch.is_due():
            self._executor.submit(self._watch.look)

    def _sweep_beside(self) -> None:
        if self._sweep():
            self._plan_sweep()

    def _keep_costs(self) -> None:
        """Keep what stages cost, if it has changed; a file that cannot be written goes without."""
        moved = self._costs.moved()
        with contextlib.suppress(FamilyRecallError):
            if moved and self._store.keep_stage_costs(moved):
                self._costs.written(moved)

    def _flush(
        self, static: Encoder | None, encoder: Encoder | None, progress: Progress | None
    ) -> int:
        done = 0
        if static is not None:
            done += self._indexer.flush(static, role="static")
        if encoder is not None:
            done += self._indexer.flush(encoder, progress)
        return done

    def _given(self, call: Call, request: RecallRequest, answer: Answer) -> Answer:
        """Tell the log and the hook of an answer."""
        self._audit.note(call, request.ctx, answer)
        self._tend_when_due()
        if self._observer is not None:
            self._observer.see(answer.trace)
        return answer

    def _now(self, request: RecallRequest) -> dt.datetime:
        now, zone = request.ctx.now, self._store.zone
        if now is None:
            return dt.datetime.fromtimestamp(self._wall_clock(), zone)
        return now.astimezone(zone) if now.tzinfo else now.replace(tzinfo=zone)

    async def _awaited(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._asking, call)


def check_embed(embed: str) -> None:
    """Refuse what says neither when vectors are made.

    Raises:
        InvalidRequestError: If it is not ``now`` or ``later``.
    """
    if embed not in {"now", "later"}:
        raise InvalidRequestError(f"embed must be now or later, got {embed!r}")
