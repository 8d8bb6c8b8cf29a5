"""One household, one object: everything a program may ask of it."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import functools
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, overload

from family_recall.api.audit import Audit
from family_recall.api.engine import Embed, Engine, check_embed
from family_recall.api.erasure import Erasure
from family_recall.api.learning import Learned
from family_recall.api.maintenance import Maintenance
from family_recall.api.memories import Memories
from family_recall.api.people import People
from family_recall.api.relations import Relations
from family_recall.api.spaces import Spaces
from family_recall.config import RecallConfig
from family_recall.deadline import Clock
from family_recall.encoders.base import Encoder, PairScorer
from family_recall.encoders.loader import Models
from family_recall.errors import InvalidRequestError, ModelError
from family_recall.indexing import upgrade
from family_recall.learning import Feedback
from family_recall.pipeline import routing_encoder, warm_up
from family_recall.pipeline.explain import Explanation, Inspection
from family_recall.query import router
from family_recall.stores.file.encryption import Secret, key_of
from family_recall.stores.store import Store
from family_recall.types import (
    Answer,
    Corrected,
    Memory,
    RecallContext,
    RecallRequest,
    Region,
    Remembered,
    Trace,
    Understanding,
)
from family_recall.types.erasure import (
    ForgetPlan,
    Receipt,
    Selection,
)
from family_recall.types.progress import CountCallback

OPENING_RESULTS = 10  # as the hybrid retrieval design loads before a conversation
_MOST_BY_QUERY = 100  # memories a question may name to be forgotten
_UNHURRIED_MS = 60_000.0


class FamilyRecall:
    """One household's memory, in one file. Safe to share between threads.

    >>> import tempfile, os
    >>> from family_recall import Memory, Space
    >>> path = os.path.join(tempfile.mkdtemp(), "family.db")
    >>> with FamilyRecall.open(path) as home:
    ...     home.spaces.add(Space("shared:household", "shared"))
    ...     home.remember(Memory("The spare key is under the blue pot", "shared:household"))
    ...     answer = home.recall("Where is the spare key?")
    Remembered(doc_id='...', outcome='created')
    >>> answer.results[0].text
    'The spare key is under the blue pot'
    """

    people: People
    spaces: Spaces
    memories: Memories
    relations: Relations
    erasure: Erasure
    learning: Learned
    maintenance: Maintenance
    audit: Audit

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
        """Wire the services together; ``open`` is the usual way.

        Args:
            store: The file.
            models: Encoders, loaded or to be loaded.
            config: Constants; the measured ones, when left out.
            clock: Seconds for deadlines.
            wall_clock: Seconds since 1970 UTC, for ``now`` and ``recorded_at``.
            on_trace: See :meth:`open`.
        """
        self._engine = engine = Engine(
            store, models, config=config, clock=clock, wall_clock=wall_clock, on_trace=on_trace
        )
        self.people = People(engine)
        self.spaces = Spaces(engine)
        self.memories = Memories(engine)
        self.relations = Relations(engine)
        self.erasure = Erasure(engine)
        self.learning = Learned(engine)
        self.maintenance = Maintenance(engine)
        self.audit = Audit(engine)

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
        upgrade(store)
        loaded = Models(models, encoder=encoder, scorer=scorer, static=static)
        home = cls(store, loaded, config=config, on_trace=on_trace)
        home._engine.start()
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
        self._engine.async_executor.shutdown()
        self._engine.integrity.stop()
        self._engine.executor.shutdown()
        if not self._engine.closed:
            self._engine.closed = True
            self._engine.apply_retention()
        self._engine.models.close()
        if self._engine.trace_hook is not None:
            self._engine.trace_hook.close()
        self._engine.audit_log.close()
        self._engine.save_costs()
        self._engine.store.close()

    @property
    def region(self) -> Region:
        """Where the household lives, as far as words for time depend on it."""
        return self._engine.store.region

    @property
    def zone(self) -> dt.tzinfo:
        """The household's time zone."""
        return self._engine.store.zone

    def warmup(self) -> None:
        """Load models now, so that the first question need not wait for them.

        Then warm_up for a second at most: what stages cost on this device is kept in the file.
        """
        self._engine.models.wait()
        with contextlib.suppress(ModelError):  # a question will meet it, and say so
            router.encode_prototypes(routing_encoder(self._engine.models.static()))
        moment_s = self._engine.wall_clock()
        now = dt.datetime.fromtimestamp(moment_s, self._engine.store.zone)
        warm_up(self._engine.broker, now, moment_s, self._engine.config.warm_up_ms)
        self._engine.save_costs()

    def remember(self, memory: Memory, *, embed: Embed = "now") -> Remembered:
        """Store one memory; see :meth:`remember_many`."""
        return self.remember_many([memory], embed=embed)[0]

    def remember_many(
        self,
        memories: Iterable[Memory],
        *,
        embed: Embed = "now",
        batch_size: int = 256,
        progress: CountCallback | None = None,
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
        check_embed(embed)
        return self._engine.indexer.remember(
            memories,
            now_s=self._engine.wall_clock(),
            batch_size=batch_size,
            encoder=self._engine.models.wait() if embed == "now" else None,
            static=self._engine.models.static(),
            progress=progress,
        )

    async def aremember(self, memory: Memory, *, embed: Embed = "now") -> Remembered:
        """Do what :meth:`remember` does, on a thread of our own."""
        return await self._engine.awaited(functools.partial(self.remember, memory, embed=embed))

    def recall(self, query_text: str, ctx: RecallContext | None = None) -> Answer:
        """Find the memories that answer a question, within its time budget.

        Raises:
            InvalidRequestError: If the request cannot be meant.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If who asks, where, or
                the focus is not there, or not for this person.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        answer = self._engine.broker.recall(
            request, self._engine.now(request), self._engine.wall_clock()
        )
        return self._engine.record("recall", request, answer)

    async def arecall(self, query_text: str, ctx: RecallContext | None = None) -> Answer:
        """Do what :meth:`recall` does, on a thread of our own."""
        return await self._engine.awaited(functools.partial(self.recall, query_text, ctx))

    def explain(
        self, query_text: str, doc_id: str, ctx: RecallContext | None = None
    ) -> Explanation:
        """Say why a memory is in the answer to a question, or why not.

        Raises:
            UnknownMemoryError: If this request may not see such a memory, or there is none.
            StoreError: If it is damaged in the file, and so is in no answer.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        told = self._engine.broker.explain(
            request, doc_id, self._engine.now(request), self._engine.wall_clock()
        )
        self._engine.audit_log.note_given("explain", request.ctx, [(told.space_id, doc_id)])
        return told

    def inspect(self, query_text: str, ctx: RecallContext | None = None) -> Inspection:
        """Recall, and say of what came close why it is not in the answer.

        It takes no longer than :meth:`recall`, but for reading a dozen memories.

        Raises:
            As :meth:`recall`.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        told = self._engine.broker.inspect(
            request, self._engine.now(request), self._engine.wall_clock()
        )
        self._engine.record("recall", request, told.answer)
        if told.missed:
            pairs = [(one.explanation.space_id, one.doc_id) for one in told.missed]
            self._engine.audit_log.note_given("explain", request.ctx, pairs)
        return told

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
        return self._engine.broker.understand(
            request, self._engine.now(request), self._engine.wall_clock(), region
        )

    def opening(self, ctx: RecallContext | None = None) -> Answer:
        """Give what a conversation begins with, before anything is asked.

        Recent talk first, then facts and milestones; ``answer.briefing()`` writes the block for
        a language model. Source: hybrid retrieval, "recent conversations and key facts".

        Raises:
            As :meth:`recall`.
        """
        request = RecallRequest("", ctx or RecallContext(top_k=OPENING_RESULTS))
        answer = self._engine.broker.opening(
            request, self._engine.now(request), self._engine.wall_clock()
        )
        return self._engine.record("opening", request, answer)

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
        worse. Stored are numbers, feature names, row ids and a hash of the question.

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
        return self._engine.learner.record(
            asked,
            doc_id,
            outranked,
            ctx,
            accepted=accepted,
            weight=weight,
            wall_s=self._engine.wall_clock(),
        )

    def correct(
        self,
        doc_id: str,
        *,
        person_id: str,
        space_id: str | None = None,
        recorded_at: dt.datetime | None = None,
        embed: Embed = "now",
        **changes: Any,
    ) -> Corrected:
        """Correct a memory: from now on it says this, and what it said is an earlier version.

        What is not named stays as it is, fields that are hidden from this person among them.

        Args:
            doc_id: Its id.
            person_id: Who wants it. A person may correct what they said, what lies in a private
                space of their own, and all of a space they own.
            space_id: The space it is in, where several have one of that id.
            recorded_at: When the version that is meant was recorded, as :meth:`look` gives it.
                Where another was told since, nothing is changed.
            embed: As with :meth:`remember`.
            **changes: Fields of a memory by name, such as ``text``; all but ``doc_id``,
                ``space_id`` and ``guardians_of``. Only an owner changes ``author``.

        Raises:
            InvalidMemoryError: If there is no such field, or it cannot be changed to that.
            InvalidRequestError: If nobody in particular asks, or several spaces have that id.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If one is not there, or not
                for this person.
            NotTheirsError: If it is another's to correct, or a field is hidden from this person.
            ConflictError: If it was told anew since ``recorded_at``.
            StoreError: If it is damaged in the file.
        """
        check_embed(embed)
        done = self._engine.editor.correct(
            doc_id,
            changes,
            person_id,
            space_id,
            recorded_at=recorded_at,
            wall_s=self._engine.wall_clock(),
            encoder=self._engine.models.wait() if embed == "now" else None,
            static=self._engine.models.static(),
        )
        self._engine.audit_log.note_given(
            "look", RecallContext(person_id), [(done.space_id, done.doc_id)]
        )
        return done

    @overload
    def forget(
        self, what: Selection | str | Iterable[str], *, person_id: str, dry_run: Literal[True]
    ) -> ForgetPlan: ...

    @overload
    def forget(
        self,
        what: Selection | str | Iterable[str],
        *,
        person_id: str,
        dry_run: Literal[False] = False,
        token: str | None = None,
        undo_for: dt.timedelta | None = None,
    ) -> Receipt: ...

    def forget(
        self,
        what: Selection | str | Iterable[str],
        *,
        person_id: str,
        dry_run: bool = False,
        token: str | None = None,
        undo_for: dt.timedelta | None = None,
    ) -> ForgetPlan | Receipt:
        """Forget memories: afterwards no byte of them is in the file or its log.

        With them go their words, vectors, edges, mentions, identifiers, judgements, names that
        nobody else said, relations that rested on them alone, their place as another turn's
        context, and every earlier version of them. Backups and exports are files of their own,
        and are not touched.

        Args:
            what: Which memories; a text or several are ids.
            person_id: Who wants it. A person may forget what they said, what lies in a private
                space of their own, and all of a space they own; nothing that they may not see.
            dry_run: Say what would go, and change nothing.
            token: A dry run's, which confirms exactly what it showed; needed for more than one
                memory chosen by anything but ids.
            undo_for: How long to keep it aside in the file, unseen by any recall, for
                :meth:`undo_forget`; until then its bytes are there. Nothing is, when left out.

        Raises:
            InvalidRequestError: If the choice cannot be meant, or nobody in particular asks.
            UnknownPersonError: If there is no such person.
            UnknownMemoryError: If it means nothing that this person may see.
            NotTheirsError: If it is another's to forget.
            UnconfirmedError: If a token is needed, or confirms something else.
        """
        if not isinstance(what, Selection):
            what = Selection(doc_ids=(what,) if isinstance(what, str) else tuple(what))
        answered = self._answering(what, person_id)
        wall_s = self._engine.wall_clock()
        if dry_run:
            return self._engine.forgetter.plan(what, person_id, answered, wall_s=wall_s)
        self._engine.models.questions.clear()  # a question may say what is to be forgotten
        return self._engine.forgetter.forget(
            what, person_id, answered, token=token, undo_for=undo_for, wall_s=wall_s
        )

    def _answering(self, what: Selection, person_id: str) -> set[tuple[str, str]]:
        """Give what a selection's query finds for a person with enough confidence."""
        if what.query is None:
            return set()
        answer = self.recall(
            what.query,
            RecallContext(
                person_id=person_id,
                space_id=what.space_id,
                time_budget_ms=_UNHURRIED_MS,
                top_k=_MOST_BY_QUERY,
            ),
        )
        return {
            (result.space_id, result.doc_id)
            for result in answer.results
            if result.confidence >= what.min_confidence
        }

    def flush(self, *, progress: CountCallback | None = None) -> int:
        """Make the vectors that are pending; returns how many were made.

        Raises:
            ModelError: If there is no model to make them with.
        """
        static, encoder = self._engine.models.static(), self._engine.models.wait()
        if encoder is None and static is None:
            raise ModelError(f"no vectors can be made: {self._engine.models.why}")
        return self._engine.embed_pending(static, encoder, progress)
