"""The facade of a household: everything a program can do with it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import functools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, Unpack, overload

from family_recall.api import corrections
from family_recall.api.arguments import context_of, memory_of, selection_of, twin
from family_recall.api.audit import Audit
from family_recall.api.engine import Embed, Engine
from family_recall.api.erasure import Erasure
from family_recall.api.learning import LearnedWeights
from family_recall.api.maintenance import Maintenance
from family_recall.api.memories import Memories
from family_recall.api.people import People
from family_recall.api.relations import Relations
from family_recall.api.sources import Sources
from family_recall.api.spaces import Spaces
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder, PairScorer
from family_recall.encoders.loader import Models
from family_recall.english import routing
from family_recall.errors import InvalidMemoryError, InvalidRequestError, ModelError
from family_recall.learn import Feedback
from family_recall.recall import routing_encoder
from family_recall.recall.explanation import Explanation, Inspection
from family_recall.remember import upgrade
from family_recall.store.file.connection import BUSY_TIMEOUT_MS
from family_recall.store.file.encryption import Secret, key_of
from family_recall.store.store import Store
from family_recall.types import (
    DEFAULT_SPACE,
    Answer,
    Corrected,
    ForgetPlan,
    Memory,
    RecallContext,
    RecallRequest,
    Receipt,
    Region,
    Remembered,
    Selection,
    Space,
    Trace,
    Understanding,
)
from family_recall.types.aliases import CountCallback
from family_recall.types.checked import checked
from family_recall.types.erasure import SelectionFields
from family_recall.types.memory import MemoryFields
from family_recall.types.request import ContextFields

OPENING_RESULTS = 10  # as the hybrid retrieval design loads before a conversation
_MOST_BY_QUERY = 100  # memories that forget(query=…) may select
_T = TypeVar("_T")
_Home = TypeVar("_Home", bound="FamilyRecall")
_UNHURRIED_MS = 60_000.0


@checked
class FamilyRecall:
    """One household's memory, in one file. Safe to share between threads.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "family.db")
    >>> with FamilyRecall.open(path) as home:
    ...     home.remember("The spare key is under the blue pot", author="tom")
    ...     answer = home.recall("Where is the spare key?")
    Remembered(doc_id='...', outcome='created')
    >>> answer.best.text
    'The spare key is under the blue pot'

    ``people`` and ``spaces`` decide who may see what; until a space is added, everybody who can
    read the file sees everything. ``memories``, ``relations`` and ``sources`` give access to what
    is stored, ``erasure`` to receipts and retention rules, ``learning`` to learned weights,
    ``maintenance`` to checks and copies of the file, and ``audit`` to the log of recalls.

    Methods with a context also take its fields as keyword arguments, such as
    ``recall("…", person_id="tom", top_k=3)``: see :class:`RecallContext`.
    """

    people: People
    spaces: Spaces
    memories: Memories
    relations: Relations
    sources: Sources
    erasure: Erasure
    learning: LearnedWeights
    maintenance: Maintenance
    audit: Audit

    def __init__(self, engine: Engine) -> None:
        """Wrap an engine; use :meth:`open` instead."""
        self._engine = engine
        self.people = People(engine)
        self.spaces = Spaces(engine)
        self.memories = Memories(engine)
        self.relations = Relations(engine)
        self.sources = Sources(engine)
        self.erasure = Erasure(engine)
        self.learning = LearnedWeights(engine)
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
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
        warm: bool = False,
    ) -> Self:
        """Open a household's file, or create it.

        Args:
            path: The file.
            create: Whether a missing file is created.
            key: A passphrase, or 32 bytes, for an encrypted file.
            timezone: IANA name of the household's zone, stored in the file; UTC by default.
            country: ISO 3166 code, stored in the file, for holidays; US by default.
            hemisphere: ``north`` or ``south``, stored in the file, for seasons; north by default.
            models: Folder of models; the shipped ones, when left out.
            encoder: An embedder to use instead of the folder's.
            scorer: A cross-encoder to use instead of the folder's.
            static: A static embedder to use instead of the folder's.
            config: Constants; the defaults, when left out.
            on_trace: Called with the trace of each answer, on a separate thread; its exceptions
                are logged.
            busy_timeout_ms: How long this and later calls wait for other writers, 0 to 3,600,000.
            warm: Whether :meth:`warmup` runs in the background from now on. A question asked
                meanwhile is answered from what is loaded, and closing ends it.

        Raises:
            StoreError: If the file cannot be opened; ``NotAStoreError``, ``WrongKeyError`` and
                ``NewerStoreError`` leave it as it is.
            StoreBusyError: If another process held it for longer than ``busy_timeout_ms``.
            InvalidRequestError: If time zone, country, hemisphere or ``busy_timeout_ms`` is
                invalid.
        """
        store = Store(
            Path(path),
            create=create,
            key=key_of(key),
            timezone=timezone,
            country=country,
            hemisphere=hemisphere,
            busy_timeout_ms=busy_timeout_ms,
        )
        with contextlib.ExitStack() as unless_opened:
            unless_opened.callback(store.close)
            upgrade(store)
            loaded = Models(models, encoder=encoder, scorer=scorer, static=static)
            home = cls(Engine(store, loaded, config=config, on_trace=on_trace))
            home._engine.start()
            if warm:
                home._engine.executor.submit(home.warmup)
            unless_opened.pop_all()
        return home

    def __enter__(self) -> Self:
        """Open for a ``with`` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close at the end of a ``with`` block."""
        self.close()

    def close(self) -> None:
        """Finish running work and close the file. Closing twice does nothing."""
        self._engine.close()

    @classmethod
    async def aopen(
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
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
        warm: bool = False,
    ) -> Self:
        """Do what :meth:`open` does, on a thread of the loop's executor.

        ``async with await FamilyRecall.aopen(path) as home:`` closes it, too. Cancelled while it
        opens, the household is closed again.
        """
        call = functools.partial(
            cls.open,
            path,
            create=create,
            key=key,
            timezone=timezone,
            country=country,
            hemisphere=hemisphere,
            models=models,
            encoder=encoder,
            scorer=scorer,
            static=static,
            config=config,
            on_trace=on_trace,
            busy_timeout_ms=busy_timeout_ms,
            warm=warm,
        )
        opening = asyncio.get_running_loop().run_in_executor(None, call)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unwanted)
            raise

    async def aclose(self) -> None:
        """Do what :meth:`close` does, on a thread of the loop's executor."""
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self.close))

    async def __aenter__(self) -> Self:
        """Open for an ``async with`` block."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close at the end of an ``async with`` block."""
        await self.aclose()

    @property
    def region(self) -> Region:
        """Where the household lives, to interpret words for time."""
        return self._engine.store.region

    @property
    def zone(self) -> dt.tzinfo:
        """The household's time zone."""
        return self._engine.store.zone

    def move(
        self,
        *,
        timezone: str | None = None,
        country: str | None = None,
        hemisphere: str | None = None,
    ) -> None:
        """Change time zone, country or hemisphere from the next call on; the others stay.

        They are stored in the file; another process that has it open uses them once it opens it
        again. Stored moments do not change; times that texts mention ("on Thursday") are read again
        before this returns. The day of the week that finds a memory follows the zone in which it
        was stored, until ``maintenance.rebuild``.

        Args:
            timezone: IANA name of the household's zone.
            country: ISO 3166 code, for holidays.
            hemisphere: ``north`` or ``south``, for seasons.

        Raises:
            InvalidRequestError: If one of them is invalid; nothing is changed.
        """
        self._engine.store.move(timezone, country, hemisphere)
        upgrade(self._engine.store)

    def warmup(self) -> None:
        """Load models now, so that the first question does not wait for them.

        Then run recalls for up to a second, to measure the costs of stages on this device.

        Raises:
            ClosedError: If the household was closed.
        """
        engine = self._engine
        engine.store.check_open()
        engine.models.wait()
        with contextlib.suppress(ModelError):  # the next question reports it
            routing.encode_prototypes(routing_encoder(engine.models.static()))
        moment_s = engine.wall_clock()
        now = dt.datetime.fromtimestamp(moment_s, self.zone)
        engine.broker.warm_up(now, moment_s)
        engine.save_costs()

    def remember(
        self,
        memory: Memory | str,
        *,
        person_id: str | None = None,
        embed: Embed = "now",
        **fields: Unpack[MemoryFields],
    ) -> Remembered:
        """Store one memory; see :meth:`remember_many`.

        Args:
            memory: A memory, or a text with the memory's other fields as keyword arguments.
            person_id: As with :meth:`remember_many`.
            embed: As with :meth:`remember_many`.
            **fields: Fields of a :class:`Memory` by name. Without ``space_id`` the only space, or
                the only one of kind ``household``, is used, among those that ``person_id`` may
                enter, if set. A household without spaces gets ``shared:household``, which
                everybody sees.

        Raises:
            InvalidMemoryError: If a field is unknown or out of range, or ``space_id`` is needed.
            UnknownSpaceError: If there is no such space.
            UnknownPersonError, NotTheirsError: As :meth:`remember_many`.
        """
        is_first = False
        if isinstance(memory, str) and "space_id" not in fields:
            space_id = self._usual_space(person_id)
            is_first = space_id is None
            fields = {**fields, "space_id": space_id or DEFAULT_SPACE}
        new_memory = memory_of(memory, fields)
        if is_first:
            self.spaces.add(Space(DEFAULT_SPACE, "household"))
        return self.remember_many([new_memory], person_id=person_id, embed=embed)[0]

    def remember_many(
        self,
        memories: Iterable[Memory],
        *,
        person_id: str | None = None,
        embed: Embed = "now",
        batch_size: int = 256,
        progress: CountCallback | None = None,
    ) -> list[Remembered]:
        """Store memories, one transaction per batch. Recall finds them as soon as this returns.

        Other content under the same doc_id supersedes the earlier version; the same content
        changes nothing.

        Args:
            memories: The memories.
            person_id: Who writes; the author of memories without one. A person may write in spaces
                they may enter, in bands they see and in their own name; in spaces they own, also
                in others' names. They may replace what they may :meth:`correct`, unless fields are
                hidden from them. When left out, nothing is checked.
            embed: ``now`` also computes the transformer's vectors; ``later`` leaves that to
                :meth:`flush`, and until then words and the static embedder find them.
            batch_size: Memories per transaction, 1 or more.
            progress: Called with the number stored so far after each batch.

        Raises:
            UnknownSpaceError: If there is no such space, or this person may not enter it. Earlier
                batches are stored, here and below.
            UnknownPersonError: If there is no such person.
            InvalidMemoryError: If this person could not see a memory.
            NotTheirsError: If a memory is in another's name, or would replace another's memory.
        """
        if batch_size < 1:
            raise InvalidRequestError(f"batch_size must be 1 or more, got {batch_size}")
        return self._engine.indexer.remember(
            map(_checked_memory, memories),
            now_s=self._engine.wall_clock(),
            batch_size=batch_size,
            encoder=self._engine.models.wait() if embed == "now" else None,
            static=self._engine.models.static(),
            progress=progress,
            person_id=person_id,
        )

    aremember_many = twin(remember_many)
    aremember = twin(remember)

    def recall(
        self,
        query_text: str,
        ctx: RecallContext | None = None,
        **fields: Unpack[ContextFields],
    ) -> Answer:
        """Find the memories that answer a question, within its time budget.

        Args:
            query_text: Any text.
            ctx: Who asks, in which space, and within what limits.
            **fields: Fields of a :class:`RecallContext` by name, in place of ``ctx``.

        Raises:
            InvalidRequestError: If the request is invalid, or has both ``ctx`` and fields.
            UnknownPersonError, UnknownSpaceError: If person or space does not exist, or the person
                may not enter the space.
        """
        return self._answer(RecallRequest(query_text, context_of(ctx, fields)))

    async def arecall(
        self,
        query_text: str,
        ctx: RecallContext | None = None,
        **fields: Unpack[ContextFields],
    ) -> Answer:
        """Do what :meth:`recall` does, on one of the library's own threads.

        The time budget and ``used_time_ms`` include waiting for a thread. If cancelled while it
        waits, it never runs; once it runs, it completes.
        """
        asked_at_s = self._engine.broker.gate.clock()
        request = RecallRequest(query_text, context_of(ctx, fields))
        call = functools.partial(self._answer, request, asked_at_s)
        return await self.arun(call)

    def explain(
        self,
        query_text: str,
        doc_id: str,
        ctx: RecallContext | None = None,
        **fields: Unpack[ContextFields],
    ) -> Explanation:
        """Explain why a memory is in the answer to a question, or why not.

        Raises:
            UnknownMemoryError: If there is no such memory, or this request may not see it.
            StoreError: If the memory is damaged in the file.
        """
        request = RecallRequest(query_text, context_of(ctx, fields))
        explanation = self._engine.broker.explain(request, doc_id, *self._moment(request.ctx))
        self._engine.audit_log.note("explain", request.ctx, [(explanation.space_id, doc_id)])
        return explanation

    def inspect(
        self,
        query_text: str,
        ctx: RecallContext | None = None,
        **fields: Unpack[ContextFields],
    ) -> Inspection:
        """Recall, and explain why near misses are not in the answer.

        It takes little longer than :meth:`recall`, to read a dozen memories.

        Raises:
            As :meth:`recall`.
        """
        request = RecallRequest(query_text, context_of(ctx, fields))
        inspection = self._engine.broker.inspect(request, *self._moment(request.ctx))
        self._engine.record("recall", request.ctx, inspection.answer)
        if inspection.near_misses:
            pairs = [(miss.explanation.space_id, miss.doc_id) for miss in inspection.near_misses]
            self._engine.audit_log.note("explain", request.ctx, pairs)
        return inspection

    def understand(
        self,
        query_text: str,
        ctx: RecallContext | None = None,
        *,
        region: Region | None = None,
        **fields: Unpack[ContextFields],
    ) -> Understanding:
        """Return what a question is understood to ask, without a search.

        ``region`` replaces the household's own.

        Raises:
            As :meth:`recall`.
        """
        request = RecallRequest(query_text, context_of(ctx, fields))
        return self._engine.broker.understand(request, *self._moment(request.ctx), region)

    def opening(self, ctx: RecallContext | None = None, **fields: Unpack[ContextFields]) -> Answer:
        """Return memories to begin a conversation with, before anything is asked.

        What is still to come today and tomorrow comes first, then recent sessions, facts and
        milestones; ``answer.briefing()`` writes the block for a language model. Source: hybrid
        retrieval, "recent conversations and key facts".

        Raises:
            As :meth:`recall`.
        """
        usual = RecallContext(top_k=OPENING_RESULTS)
        request = RecallRequest("", context_of(ctx, fields, usual))
        answer = self._engine.broker.opening(request, *self._moment(request.ctx))
        return self._engine.record("opening", request.ctx, answer)

    def feedback(
        self,
        asked: Answer | str,
        doc_id: str,
        accepted: bool,
        *,
        ctx: RecallContext | None = None,
        weight: float = 1.0,
        **fields: Unpack[ContextFields],
    ) -> Feedback:
        """Record whether a memory answers a question, and learn from it.

        A rejection of weight 1 ranks the memory last for that person at once, for this question and
        paraphrases of it, until they accept it or undo it. Learning moves the ``default`` profile's
        weights and confidence for that person alone, within bounds, and only if their feedback,
        replayed, is ranked no worse. Stored are numbers, feature names and row ids; of the question
        a hash, its static vector, the numbers of its stems and the kinds of values it asks for.

        Args:
            asked: The answer that was shown, or a question, which is then asked again.
            doc_id: The memory.
            accepted: Whether it was right.
            ctx: Who gives the feedback, in which space; ``person_id`` is needed.
            weight: 1 for an explicit yes or no; between 0 and 1 for implicit feedback.
            **fields: Fields of a context, in place of ``ctx``.

        Raises:
            InvalidRequestError: If no person is named, or the weight is out of range.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If person, space or memory
                does not exist, or the person may not see it.
        """
        ctx = context_of(ctx, fields)
        if isinstance(asked, str):
            ctx = dataclasses.replace(ctx, profile="default")
            asked = self.recall(asked, ctx)
        outranked = None
        if all(result.doc_id != doc_id for result in asked.results):
            again = dataclasses.replace(ctx, profile="default", now=asked.now)
            explanation = self.explain(asked.query_text, doc_id, again)
            outranked = (explanation.rank, explanation.contributions)
        record = functools.partial(
            self._engine.learner.record,
            asked,
            doc_id,
            outranked,
            ctx,
            accepted=accepted,
            weight=weight,
            wall_s=self._engine.wall_clock(),
        )
        return self._engine.despite_damage(record)

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
        """Correct a memory; its current version becomes an earlier one.

        Other fields stay as they are, even hidden ones. A raised ``band`` applies to earlier
        versions too.

        Args:
            doc_id: Its id.
            person_id: Who corrects it. A person may correct their own memories, those in their
                private space, and all in a space they own.
            space_id: Its space, if several have that id.
            recorded_at: When the version to correct was recorded, as in ``memories.get``. If there
                is a newer version, nothing is changed.
            embed: As with :meth:`remember`.
            **changes: Fields of a memory by name, such as ``text``; all except ``doc_id``,
                ``space_id`` and ``guardians_of``. Only an owner may change ``author``.

        Raises:
            InvalidMemoryError: If a field is unknown or its new value is invalid.
            InvalidRequestError: If no person is named, or several spaces have that id.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If one does not exist, or
                the person may not see it.
            NotTheirsError: If the person may not correct it, or a field is hidden from them.
            ConflictError: If there is a newer version than that of ``recorded_at``.
            StoreError: If it is damaged in the file.
        """
        return corrections.correct(
            self._engine,
            doc_id,
            changes,
            person_id=person_id,
            space_id=space_id,
            recorded_at=recorded_at,
            embed=embed,
        )

    @overload
    def forget(
        self,
        what: Selection | str | Iterable[str] | None = None,
        *,
        person_id: str,
        dry_run: Literal[True],
        **criteria: Unpack[SelectionFields],
    ) -> ForgetPlan: ...

    @overload
    def forget(
        self,
        what: Selection | str | Iterable[str] | None = None,
        *,
        person_id: str,
        dry_run: Literal[False] = False,
        token: str | None = None,
        undo_for: dt.timedelta | None = None,
        **criteria: Unpack[SelectionFields],
    ) -> Receipt: ...

    def forget(
        self,
        what: Selection | str | Iterable[str] | None = None,
        *,
        person_id: str,
        dry_run: bool = False,
        token: str | None = None,
        undo_for: dt.timedelta | None = None,
        **criteria: Unpack[SelectionFields],
    ) -> ForgetPlan | Receipt:
        """Forget memories: afterwards no byte of them is in the file or its log.

        The receipt's ``proof`` states how that was ensured. It is None while a reader, in this or
        another process, still needs earlier pages; cleaning is then completed in the background of
        later answers, or when the household is opened or closed.

        Their words, vectors, edges, mentions, identifiers and feedback are forgotten too, as are
        names that nothing else mentions, relations without other evidence, their use as context of
        other memories, and all earlier versions. Backups and exports are not changed.

        Args:
            what: A selection, an id, or several ids.
            person_id: Who forgets. A person may forget their own memories, those in their private
                space, and all in a space they own, as far as they see them.
            dry_run: Return what would be forgotten, and change nothing.
            token: The token of a dry run, which confirms exactly its memories; needed for several
                memories not chosen by id.
            undo_for: How long they stay in the file's trash for ``erasure.undo``, hidden from
                recalls; until then their bytes are in the file. No trash, when left out.
            **criteria: Fields of a :class:`Selection` by name, such as ``about`` or ``query``.

        Raises:
            InvalidRequestError: If the selection is invalid, or no person is named.
            UnknownPersonError: If there is no such person.
            UnknownMemoryError: If it selects nothing that this person may see.
            NotTheirsError: If the person may not forget it.
            UnconfirmedError: If a token is needed, or confirms other memories.
        """
        selection = selection_of(what, criteria)
        matches = self._matches(selection, person_id)
        forgetter = self._engine.forgetter
        if dry_run:
            wall_s = self._engine.wall_clock()
            return forgetter.plan(selection, person_id, matches, wall_s=wall_s)
        return self._engine.forget(
            lambda wall_s: forgetter.forget(
                selection, person_id, matches, token=token, undo_for=undo_for, wall_s=wall_s
            )
        )

    @overload
    async def aforget(
        self,
        what: Selection | str | Iterable[str] | None = None,
        *,
        person_id: str,
        dry_run: Literal[True],
        **criteria: Unpack[SelectionFields],
    ) -> ForgetPlan: ...

    @overload
    async def aforget(
        self,
        what: Selection | str | Iterable[str] | None = None,
        *,
        person_id: str,
        dry_run: Literal[False] = False,
        token: str | None = None,
        undo_for: dt.timedelta | None = None,
        **criteria: Unpack[SelectionFields],
    ) -> Receipt: ...

    async def aforget(
        self,
        what: Selection | str | Iterable[str] | None = None,
        *,
        person_id: str,
        dry_run: bool = False,
        token: str | None = None,
        undo_for: dt.timedelta | None = None,
        **criteria: Unpack[SelectionFields],
    ) -> ForgetPlan | Receipt:
        """Do what :meth:`forget` does, on a thread as :meth:`aremember`."""
        forget: Callable[..., ForgetPlan | Receipt] = self.forget
        options = {"person_id": person_id, "dry_run": dry_run, "token": token, "undo_for": undo_for}
        return await self.arun(functools.partial(forget, what, **options, **criteria), writes=True)

    def flush(self, *, progress: CountCallback | None = None) -> int:
        """Compute pending vectors; return how many.

        Raises:
            ModelError: If there is no embedder.
        """
        models = self._engine.models
        if models.static() is None and models.wait() is None:
            raise ModelError(f"no vectors can be made: {models.why}")
        return self._engine.embed_pending(progress)

    aflush = twin(flush)

    async def arun(self, call: Callable[[], _T], *, writes: bool = False) -> _T:
        """Run any call, such as ``home.sources.all``, on one of the library's own threads.

        Args:
            call: The call.
            writes: Whether it writes; it then runs on the thread for writers.

        Raises:
            ClosedError: If the household is closed.
        """
        threads = self._engine.writers if writes else self._engine.readers
        return await asyncio.get_running_loop().run_in_executor(threads, call)

    def _moment(self, ctx: RecallContext) -> tuple[dt.datetime, float]:
        """Return when a request is made, and the real time."""
        return self._engine.now(ctx), self._engine.wall_clock()

    def _answer(self, request: RecallRequest, asked_at_s: float | None = None) -> Answer:
        """Answer a question; its budget counts from ``asked_at_s``, or from now."""
        answer = self._engine.despite_damage(
            lambda: self._engine.broker.recall(request, *self._moment(request.ctx), asked_at_s)
        )
        return self._engine.record("recall", request.ctx, answer)

    def _usual_space(self, person_id: str | None) -> str | None:
        """Return the space of a memory that names none; None in a household without spaces."""
        spaces = self.spaces.all(person_id)
        if not spaces and not self.spaces.all():
            return None
        households = [space for space in spaces if space.kind == "household"]
        usual = [space.space_id for space in (households if len(households) == 1 else spaces)]
        if not usual:
            raise InvalidMemoryError(
                "there is no space to remember this in; add one first, such as "
                'home.spaces.add(Space("shared:home", "household"))'
            )
        if len(usual) > 1:
            raise InvalidMemoryError(
                f"space_id is needed to choose among {', '.join(usual)}; without it a memory goes "
                "to the only space, or to the only one of kind household"
            )
        return usual[0]

    def _matches(self, selection: Selection, person_id: str) -> set[tuple[str, str]]:
        """Recall a selection's query; return (space_id, doc_id) of confident results."""
        if selection.query is None:
            return set()
        answer = self.recall(
            selection.query,
            person_id=person_id,
            space_id=selection.space_id,
            time_budget_ms=_UNHURRIED_MS,
            top_k=_MOST_BY_QUERY,
        )
        return {
            (result.space_id, result.doc_id)
            for result in answer.results
            if result.confidence >= selection.min_confidence
        }


def _close_unwanted(opening: asyncio.Future[_Home]) -> None:
    """Close a household whose opening was cancelled, on a thread."""
    if not opening.cancelled() and opening.exception() is None:
        opening.get_loop().run_in_executor(None, opening.result().close)


def _checked_memory(memory: object) -> Memory:
    if not isinstance(memory, Memory):
        raise InvalidMemoryError(f"memories must be of class Memory, got {memory!r:.80}")
    return memory
