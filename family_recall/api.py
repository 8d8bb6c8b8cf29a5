"""FamilyRecall: the one object a program holds. A file in; remember and recall out."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import datetime as dt
import functools
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from family_recall import policy
from family_recall.broker import Broker, routing_encoder
from family_recall.config import RecallConfig
from family_recall.deadline import Clock
from family_recall.encoders.base import Encoder, PairScorer
from family_recall.encoders.loader import Models
from family_recall.encoders.static import StaticEncoder
from family_recall.errors import InvalidRequestError, ModelError
from family_recall.explain import Explanation
from family_recall.indexer import Indexer, Progress
from family_recall.learning import Feedback, Learner, Learning
from family_recall.qos_gate import Costs
from family_recall.query import planner, router
from family_recall.sources import graph
from family_recall.stores import fts
from family_recall.stores.base import epoch_s
from family_recall.stores.store import Store
from family_recall.types import (
    Answer,
    Grant,
    Memory,
    Person,
    RecallContext,
    RecallRequest,
    Region,
    Relation,
    Remembered,
    Space,
    Understanding,
)

Embed = Literal["now", "later"]
_T = TypeVar("_T")
OPENING_RESULTS = 10  # as the hybrid retrieval design loads before a conversation
_WORKERS = 4  # threads of our own: a host's thread pool is not starved by recalls


def understand(
    query_text: str,
    *,
    now: dt.datetime | None = None,
    region: Region | None = None,
    models: Path | None = None,
) -> Understanding:
    """Say what a question is understood to ask where there is no household to look in.

    Args:
        query_text: Any text.
        now: When it is asked, in the zone it is asked in; the clock's, in UTC, when left out.
        region: Where it is asked; the US, in the north, when left out.
        models: Folder of models; the shipped ones, when left out.

    Raises:
        ModelError: If the folder's static embedder cannot be used.
    """
    question = RecallRequest(query_text).query_text
    moment = now or dt.datetime.now(dt.UTC)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    plan = planner.read(
        question,
        fts.splitter(),
        now=moment,
        region=region or Region(),
        encode=routing_encoder(StaticEncoder.load(models)),
    )
    return planner.understanding(question, plan, moment.tzinfo or dt.UTC)


class FamilyRecall:
    """One household's memory, in one file. Safe to share between threads.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "family.db")
    >>> with FamilyRecall.open(path) as home:
    ...     home.add_space(Space("shared:household", "shared"))
    ...     home.remember(Memory("The spare key is under the blue pot", "shared:household"))
    ...     answer = home.recall("Where is the spare key?")
    Remembered(doc_id='...', outcome='created')
    >>> answer.results[0].text
    'The spare key is under the blue pot'
    """

    def __init__(
        self,
        store: Store,
        models: Models,
        *,
        config: RecallConfig | None = None,
        clock: Clock = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Put the parts together; ``open`` is the usual way.

        Args:
            store: The file.
            models: Encoders, loaded or to be loaded.
            config: Constants; the measured ones, when left out.
            clock: Seconds for deadlines.
            wall_clock: Seconds since 1970 UTC, for ``now`` and ``recorded_at``.
        """
        self._store = store
        self._models = models
        self._wall_clock = wall_clock
        config = config or RecallConfig()
        self._executor = concurrent.futures.ThreadPoolExecutor(
            _WORKERS, thread_name_prefix="family_recall"
        )
        self._asking = concurrent.futures.ThreadPoolExecutor(
            _WORKERS, thread_name_prefix="family_recall-async"
        )
        self._executor.submit(graph.warm_up)
        self._executor.submit(models.static)
        costs = Costs(config.assumed_cost_ms)
        self._broker = Broker(store, models, config, costs, self._executor, clock)
        self._indexer = Indexer(store, config)
        self._learner = Learner(store)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        timezone: str | None = None,
        country: str | None = None,
        hemisphere: str | None = None,
        models: Path | None = None,
        encoder: Encoder | None = None,
        scorer: PairScorer | None = None,
        static: Encoder | None = None,
        config: RecallConfig | None = None,
    ) -> Self:
        """Open a household's file, making it if there is none.

        Args:
            path: The file.
            create: Whether a missing file is made.
            timezone: IANA name of the household's zone, kept in the file; UTC at first.
            country: ISO 3166 code, kept in the file, for holidays; US at first.
            hemisphere: ``north`` or ``south``, kept in the file, for seasons; north at first.
            models: Folder of models; the shipped ones, when left out.
            encoder: An embedder to use instead of the folder's.
            scorer: A cross-encoder to use instead of the folder's.
            static: A static embedder to use instead of the folder's.
            config: Constants; the measured ones, when left out.

        Raises:
            StoreError: If the file cannot be opened; ``NotAStoreError`` and ``NewerStoreError``
                leave it as it is.
            InvalidRequestError: If time zone, country or hemisphere has no such name.
        """
        store = Store(
            Path(path), create=create, timezone=timezone, country=country, hemisphere=hemisphere
        )
        loaded = Models(models, encoder=encoder, scorer=scorer, static=static)
        return cls(store, loaded, config=config)

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
        self._executor.shutdown()
        self._models.close()
        self._store.close()

    # Household

    def add_person(self, person: Person) -> None:
        """Add a person, or change the name and aliases of one that is there."""
        with self._store.writing() as writing:
            writing.put_person(person)

    def add_space(self, space: Space) -> None:
        """Add a space, or change one that is there."""
        with self._store.writing() as writing:
            writing.put_space(space)

    def grant(self, grant: Grant) -> None:
        """Let a person into a space, or change their role there.

        Raises:
            InvalidRequestError: If there is no such role.
            UnknownPersonError, UnknownSpaceError: If one of the two is not there.
        """
        policy.check_role(grant.role)
        with self._store.writing() as writing:
            writing.put_grant(grant, epoch_s(grant.expires_at, self._store.zone))

    @property
    def region(self) -> Region:
        """Where the household lives, as far as words for time depend on it."""
        return self._store.region

    def people(self) -> list[Person]:
        """List the people, by id."""
        return self._store.people()

    def spaces(self) -> list[Space]:
        """List the spaces, by id."""
        return self._store.spaces()

    def grants(self) -> list[Grant]:
        """List who may enter which space."""
        return self._store.grants()

    # Writing

    def remember(self, memory: Memory, *, embed: Embed = "now") -> Remembered:
        """Store one memory; see :meth:`remember_many`."""
        return self.remember_many([memory], embed=embed)[0]

    def remember_many(
        self,
        memories: Iterable[Memory],
        *,
        embed: Embed = "now",
        batch_size: int = 256,
        progress: Progress | None = None,
    ) -> list[Remembered]:
        """Store memories, a transaction a batch. Found as soon as this returns.

        The same doc_id with other content supersedes the version before; the same content
        again changes nothing.

        Args:
            memories: What to store.
            embed: ``now`` makes the transformer's vectors too; ``later`` leaves that to
                :meth:`flush`, and until then words and the static embedder find them.
            batch_size: Memories a transaction, 1 or more.
            progress: Called with the number stored so far after each batch.

        Raises:
            UnknownSpaceError: If a memory names a space that is not there; the batches before
                its own are stored.
        """
        if batch_size < 1:
            raise InvalidRequestError(f"batch_size must be 1 or more, got {batch_size}")
        if embed not in {"now", "later"}:
            raise InvalidRequestError(f"embed must be now or later, got {embed!r}")
        return self._indexer.remember(
            memories,
            now_s=self._wall_clock(),
            batch_size=batch_size,
            encoder=self._models.wait() if embed == "now" else None,
            static=self._models.static(),
            progress=progress,
        )

    def relate(self, relation: Relation) -> None:
        """Store a typed edge between two named things of a space.

        Raises:
            UnknownSpaceError: If the space is not there.
            UnknownMemoryError: If a piece of evidence is not in that space and band.
        """
        self._indexer.relate(relation, self._wall_clock())

    def flush(self, *, progress: Progress | None = None) -> int:
        """Make the vectors that are pending; returns how many were made.

        Raises:
            ModelError: If there is no model to make them with.
        """
        static, encoder = self._models.static(), self._models.wait()
        if encoder is None and static is None:
            raise ModelError(f"no vectors can be made: {self._models.why}")
        return self._flush(static, encoder, progress)

    def rebuild(self, *, progress: Progress | None = None) -> None:
        """Make words, mentions, edges and vectors anew from the stored texts."""
        self._indexer.rebuild()
        self._flush(self._models.static(), self._models.wait(), progress)

    # Reading

    def recall(self, query_text: str, ctx: RecallContext | None = None) -> Answer:
        """Find the memories that answer a question, within its time budget.

        Raises:
            InvalidRequestError: If the request cannot be meant.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If who asks, where, or
                the focus is not there, or not for this person.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        return self._broker.recall(request, self._now(request), self._wall_clock())

    def explain(
        self, query_text: str, doc_id: str, ctx: RecallContext | None = None
    ) -> Explanation:
        """Say why a memory is in the answer to a question, or why not.

        Raises:
            UnknownMemoryError: If this request may not see such a memory, or there is none.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        return self._broker.explain(request, doc_id, self._now(request), self._wall_clock())

    def understand(
        self,
        query_text: str,
        ctx: RecallContext | None = None,
        *,
        region: Region | None = None,
    ) -> Understanding:
        """Say what a question is understood to ask, without searching for it.

        ``region`` stands in for the household's own.

        Raises:
            As :meth:`recall`.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        return self._broker.understand(request, self._now(request), self._wall_clock(), region)

    def opening(self, ctx: RecallContext | None = None) -> Answer:
        """Give what a conversation begins with, before anything is asked.

        Recent talk first, then facts and milestones; ``answer.briefing()`` writes the block for
        a language model. Source: hybrid retrieval, "recent conversations and key facts".

        Raises:
            As :meth:`recall`.
        """
        request = RecallRequest("", ctx or RecallContext(top_k=OPENING_RESULTS))
        return self._broker.opening(request, self._now(request), self._wall_clock())

    # Learning

    def feedback(
        self,
        asked: Answer | str,
        doc_id: str,
        accepted: bool,
        *,
        ctx: RecallContext | None = None,
        weight: float = 1.0,
    ) -> Feedback:
        """Say that a memory was, or was not, what a question wanted; learn from it.

        What is learned moves the ``default`` profile's weights and confidence for the judging
        person alone, within bounds, and only while their own judgements, replayed, are ranked no
        worse. Kept are numbers, feature names, row ids and a hash of the question.

        Args:
            asked: The answer that was shown, or a question, which is then asked again.
            doc_id: The judged memory.
            accepted: Whether it was right.
            ctx: Who judges, and from where; ``person_id`` is needed.
            weight: 1 for what was said outright; less, above 0, for what behaviour suggests.

        Raises:
            InvalidRequestError: If nobody in particular judges, or the weight is out of range.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If who judges, where, or
                the memory is not there, or not for this person.
        """
        ctx = ctx or RecallContext()
        if isinstance(asked, str):
            ctx = dataclasses.replace(ctx, profile="default")
            asked = self.recall(asked, ctx)
        outranked = None
        if all(result.doc_id != doc_id for result in asked.results):
            again = dataclasses.replace(ctx, profile="default", now=asked.now)
            found = self.explain(asked.query_text, doc_id, again)
            outranked = (found.rank, found.contributions)
        return self._learner.judge(
            asked,
            doc_id,
            outranked,
            ctx,
            accepted=accepted,
            weight=weight,
            wall_s=self._wall_clock(),
        )

    def learned(self, person_id: str | None = None) -> list[Learning]:
        """Tell what a person has taught, or everyone who has judged anything.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        return self._learner.learned(person_id)

    def unlearn(self, last: int = 1, *, person_id: str | None = None) -> int:
        """Take back the last judgements, one person's or anyone's, and all that came of them.

        Weights are then, to the bit, what they were before. Returns how many were taken back.

        Raises:
            InvalidRequestError: If ``last`` is below 1.
            UnknownPersonError: If there is no such person.
        """
        return self._learner.unlearn(last, person_id)

    def reset_learning(self, person_id: str | None = None) -> None:
        """Delete every judgement and all that came of them, one person's or everyone's.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        self._learner.reset(person_id)

    async def arecall(self, query_text: str, ctx: RecallContext | None = None) -> Answer:
        """Do what :meth:`recall` does, on a thread of our own."""
        return await self._awaited(functools.partial(self.recall, query_text, ctx))

    async def aremember(self, memory: Memory, *, embed: Embed = "now") -> Remembered:
        """Do what :meth:`remember` does, on a thread of our own."""
        return await self._awaited(functools.partial(self.remember, memory, embed=embed))

    def warmup(self) -> None:
        """Load models and libraries now, so that the first question need not wait for them."""
        graph.warm_up()
        self._models.wait()
        with contextlib.suppress(ModelError):  # a question will meet it, and say so
            router.warm_up(routing_encoder(self._models.static()))

    def stats(self) -> dict[str, Any]:
        """Count what is stored, for the household's owner."""
        models = {"model": self._models.embedder_id(), "static_model": self._models.static_id()}
        return {**self._store.stats(), **models}

    def _flush(
        self, static: Encoder | None, encoder: Encoder | None, progress: Progress | None
    ) -> int:
        done = 0
        if static is not None:
            done += self._indexer.flush(static, role="static")
        if encoder is not None:
            done += self._indexer.flush(encoder, progress)
        return done

    def _now(self, request: RecallRequest) -> dt.datetime:
        now, zone = request.ctx.now, self._store.zone
        if now is None:
            return dt.datetime.fromtimestamp(self._wall_clock(), zone)
        return now.astimezone(zone) if now.tzinfo else now.replace(tzinfo=zone)

    async def _awaited(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._asking, call)
