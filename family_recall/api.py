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
from typing import Any, Literal, Self, TypeVar, overload

from family_recall import policy
from family_recall.audit import AuditLog
from family_recall.broker import Broker, practise, routing_encoder
from family_recall.care import archive
from family_recall.care.archive import Archive
from family_recall.care.reembedding import Reembedded, reembed
from family_recall.config import RecallConfig
from family_recall.deadline import Clock
from family_recall.encoders.base import Encoder, PairScorer
from family_recall.encoders.loader import Models
from family_recall.encoders.static import StaticEncoder
from family_recall.errors import FamilyRecallError, InvalidRequestError, ModelError
from family_recall.explain import Explanation
from family_recall.forgetting import Forgetter
from family_recall.indexer import Indexer, Progress
from family_recall.learning import Feedback, Learner, Learning
from family_recall.observing import Observer
from family_recall.qos_gate import Costs, Gate
from family_recall.query import planner, router
from family_recall.sources import graph
from family_recall.stores import files, fts
from family_recall.stores.base import epoch_s
from family_recall.stores.checks import Finding
from family_recall.stores.files import Backup, Restored
from family_recall.stores.keys import Secret, key_of
from family_recall.stores.schema import SCHEMA_VERSION
from family_recall.stores.sqlite import schema_of
from family_recall.stores.store import Store
from family_recall.types import (
    Answer,
    AuditEntry,
    Grant,
    Hidden,
    Memory,
    Person,
    RecallContext,
    RecallRequest,
    Region,
    Relation,
    Remembered,
    Space,
    Trace,
    Understanding,
)
from family_recall.types.forgetting import (
    ForgetPlan,
    Receipt,
    RetentionRule,
    Selection,
    Verification,
)

Embed = Literal["now", "later"]
WholeProgress = Callable[[int, int], None]
"""Called with what is done so far, and what there is in all."""
_T = TypeVar("_T")
OPENING_RESULTS = 10  # as the hybrid retrieval design loads before a conversation
_FORGOTTEN_AT_ONCE = 100  # memories a question may name to be forgotten
_NO_HURRY_MS = 60_000.0
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
        self._executor.submit(graph.warm_up)
        self._executor.submit(models.static)
        self._costs = Costs(config.assumed_cost_ms, store.stage_costs())
        gate = Gate(self._costs, config, clock=clock)
        self._broker = Broker(store, models, config, gate, self._executor)
        self._indexer = Indexer(store, config, gate.breathe)
        self._learner = Learner(store)
        self._forgetter = Forgetter(store, self._indexer)
        self._observer = Observer(on_trace) if on_trace else None
        self._audit = AuditLog(store, wall_clock)

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
        home.apply_retention()
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
        self._executor.shutdown()
        self._models.close()
        if self._observer is not None:
            self._observer.close()
        self._audit.close()
        self._keep_costs()
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

    def revoke(self, person_id: str, space_id: str) -> bool:
        """Take a person's way into a space away; False where they had none.

        Raises:
            UnknownPersonError, UnknownSpaceError: If one of the two is not there.
        """
        with self._store.writing() as writing:
            return writing.revoke(person_id, space_id)

    def add_guardian(self, person_id: str, child_id: str) -> None:
        """Make a person the guardian of a child: they may see what is told for guardians only.

        Raises:
            UnknownPersonError: If one of the two is not there.
        """
        with self._store.writing() as writing:
            writing.put_guardian(person_id, child_id)

    def remove_guardian(self, person_id: str, child_id: str) -> bool:
        """Make a person a child's guardian no longer; False where they were none.

        Raises:
            UnknownPersonError: If one of the two is not there.
        """
        with self._store.writing() as writing:
            return writing.remove_guardian(person_id, child_id)

    def hide(self, hidden: Hidden) -> None:
        """Keep a role from some fields of a space's memories, in place of those it was kept from.

        No fields show it everything again. That role then has a copy of its own of what it may
        see, told without those fields, which is made here for what is stored already: about the
        time of storing it anew. Vectors are pending until :meth:`flush`.

        Raises:
            UnknownSpaceError: If the space is not there.
        """
        self._indexer.hide(hidden)

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

    def guardians(self) -> dict[str, tuple[str, ...]]:
        """Name each child's guardians, by id."""
        return self._store.guardians()

    def hidden(self) -> list[Hidden]:
        """List what roles are kept from."""
        return self._store.hidden()

    # Audit

    def audit(self, person_id: str, *, of: str | None = None, limit: int = 100) -> list[AuditEntry]:
        """Tell a space's owner who recalled what of it, the newest first; ids, and no words.

        An owner is told of the spaces they own, and of nothing that was recalled elsewhere.

        Args:
            person_id: Who wants to know.
            of: Only what this person asked; everybody, when left out.
            limit: Entries wanted, 1 or more.

        Raises:
            InvalidRequestError: If this person owns no space.
            UnknownPersonError: If there is no such person.
        """
        return self._audit.read(person_id, of, limit)

    def keep_audit(self, days: int) -> None:
        """Set how many days the log of recalls goes back: 30 at first; 0 deletes it for good.

        Raises:
            InvalidRequestError: If ``days`` is below 0.
        """
        self._audit.keep(days)

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

    # Care

    def reembed(
        self,
        models: Path | None = None,
        *,
        encoder: Encoder | None = None,
        drop_others: bool = False,
        progress: WholeProgress | None = None,
    ) -> Reembedded:
        """Make another model's vectors, while the one this household was opened with serves.

        Can be interrupted at any moment and goes on where it stopped. Once it is done, open the
        household with that model.

        Args:
            models: Folder of the other model; this household's own, when left out.
            encoder: The other model itself, instead of a folder.
            drop_others: Whether the vectors of every other transformer are taken away at the end.
            progress: Called with vectors made so far and vectors in all.

        Raises:
            ModelError: If there is no model to make them with.
        """
        other = (
            self._models if models is None and encoder is None else Models(models, encoder=encoder)
        )
        try:
            found = other.wait()
            if found is None:
                raise ModelError(f"no vectors can be made: {other.why}")
            return reembed(self._indexer, found, drop_others=drop_others, progress=progress)
        finally:
            if other is not self._models:
                other.close()

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        progress: WholeProgress | None = None,
    ) -> Backup:
        """Copy the file while it is in use; the copy is checked before it takes its name.

        It is encrypted as this file is. ``progress`` is called with pages done and pages in all.

        Raises:
            InvalidRequestError: If there is such a file and ``overwrite`` is false.
            StoreError: If it cannot be written, or is not sound; nothing has the name then.
        """
        return self._store.back_up(Path(path), overwrite=overwrite, progress=progress)

    @staticmethod
    def copy_as_it_is(
        path: str | os.PathLike[str], copy: str | os.PathLike[str], *, key: Secret | None = None
    ) -> Backup:
        """Do what :meth:`backup` does without opening, and so migrating, the household.

        Raises:
            As :meth:`backup`.
        """
        return files.copy_of(Path(path), Path(copy), key_of(key))

    @staticmethod
    def restore(
        path: str | os.PathLike[str],
        backup: str | os.PathLike[str],
        *,
        key: Secret | None = None,
        progress: WholeProgress | None = None,
    ) -> Restored:
        """Put a backup in a household's place; the file that was there is kept beside it.

        Raises:
            StoreBusyError: If the household is open anywhere.
            StoreError: If the backup is missing or not sound; the household is then as it was.
        """
        return files.restore(Path(path), Path(backup), key_of(key), progress)

    @staticmethod
    def rekey(
        path: str | os.PathLike[str], *, key: Secret | None = None, new_key: Secret | None = None
    ) -> None:
        """Encrypt a household's file, change its key, or take the encryption away.

        ``key`` opens it now, and ``new_key`` from then on; None is no encryption. Backups keep
        the key they were made with. What the file held unencrypted may still lie on the disk.

        Raises:
            StoreBusyError: If the household is open anywhere.
            WrongKeyError: If ``key`` is not its key, or the extra ``crypto`` is not installed.
        """
        files.rekey(Path(path), key_of(key), key_of(new_key))

    @staticmethod
    def migrate(path: str | os.PathLike[str], *, key: Secret | None = None) -> tuple[int, int]:
        """Bring a file to this version's schema, as opening it does; gives schema before and after.

        Raises:
            As :meth:`open`.
        """
        before = schema_of(Path(path), key_of(key))
        store = Store(Path(path), create=False, key=key_of(key))
        try:
            Indexer(store, RecallConfig())
        finally:
            store.close()
        return before, SCHEMA_VERSION

    def export_to(
        self,
        path: str | os.PathLike[str],
        *,
        judgements: bool = False,
        overwrite: bool = False,
        progress: WholeProgress | None = None,
    ) -> Archive:
        """Write all that the household knows as JSON Lines, in plain text.

        People, spaces, who may enter them, memories with both their time axes and the versions
        they replaced, names and relations; what was judged where ``judgements`` is true, and
        neither vectors nor the log of recalls. :meth:`import_from` makes the same household of
        it, and that one's export is the same file.

        Raises:
            InvalidRequestError: If there is such a file and ``overwrite`` is false.
            StoreError: If it cannot be written.
        """
        return archive.export(
            self._store, Path(path), judgements=judgements, overwrite=overwrite, progress=progress
        )

    def import_from(
        self, path: str | os.PathLike[str], *, progress: WholeProgress | None = None
    ) -> Archive:
        """Read an export into this household, which must have nothing in it: all of it, or nothing.

        Vectors are pending until :meth:`flush`.

        Raises:
            InvalidRequestError: If the household has something in it.
            DatasetError: If the file is no whole export; the message names the line.
        """
        return archive.load(self._indexer, Path(path), progress)

    def check(self) -> list[Finding]:
        """Check the file, and all that is made from its texts against them; reads everything.

        ``family_recall.doctor`` does this and more, and mends what it can.
        """
        return self._store.examine()

    def pending(self) -> dict[str, int]:
        """Count the memories without a vector, for each model that has any in this file."""
        return self._store.pending()

    # Reading

    def recall(self, query_text: str, ctx: RecallContext | None = None) -> Answer:
        """Find the memories that answer a question, within its time budget.

        Raises:
            InvalidRequestError: If the request cannot be meant.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If who asks, where, or
                the focus is not there, or not for this person.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        answer = self._broker.recall(request, self._now(request), self._wall_clock())
        self._audit.note("recall", request.ctx, answer)
        self._observe(answer)
        return answer

    def explain(
        self, query_text: str, doc_id: str, ctx: RecallContext | None = None
    ) -> Explanation:
        """Say why a memory is in the answer to a question, or why not.

        Raises:
            UnknownMemoryError: If this request may not see such a memory, or there is none.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        told = self._broker.explain(request, doc_id, self._now(request), self._wall_clock())
        self._audit.note_given("explain", request.ctx, [(told.space_id, doc_id)])
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
        return self._broker.understand(request, self._now(request), self._wall_clock(), region)

    def opening(self, ctx: RecallContext | None = None) -> Answer:
        """Give what a conversation begins with, before anything is asked.

        Recent talk first, then facts and milestones; ``answer.briefing()`` writes the block for
        a language model. Source: hybrid retrieval, "recent conversations and key facts".

        Raises:
            As :meth:`recall`.
        """
        request = RecallRequest("", ctx or RecallContext(top_k=OPENING_RESULTS))
        answer = self._broker.opening(request, self._now(request), self._wall_clock())
        self._audit.note("opening", request.ctx, answer)
        self._observe(answer)
        return answer

    # Forgetting

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
        wall_s = self._wall_clock()
        if dry_run:
            return self._forgetter.plan(what, person_id, answered, wall_s=wall_s)
        self._models.questions.clear()  # a question may say what is to be forgotten
        return self._forgetter.forget(
            what, person_id, answered, token=token, undo_for=undo_for, wall_s=wall_s
        )

    def undo_forget(self, receipt_id: str, *, person_id: str, embed: Embed = "now") -> int:
        """Bring back what was forgotten with ``undo_for``; returns how many memories.

        Words, names and edges are made anew, vectors as with :meth:`remember`; judgements of them
        stay gone. Only who had it forgotten may bring it back.

        Raises:
            InvalidRequestError: If nothing is kept under that receipt for this person.
        """
        n = self._forgetter.undo(receipt_id, person_id, wall_s=self._wall_clock())
        if embed == "now":
            self._flush(self._models.static(), self._models.wait(), None)
        return n

    def receipts(self) -> list[Receipt]:
        """List what was forgotten, the newest first."""
        return self._forgetter.receipts()

    def verify_forgotten(self, receipt: Receipt) -> Verification:
        """Look for what a receipt says was forgotten: in rows, indexes, and bytes of file and log.

        Raises:
            InvalidRequestError: If this household never forgot anything.
        """
        return self._forgetter.verify(receipt)

    def set_retention(self, category: str, keep_days: float | None) -> None:
        """Set how many days memories of a category are kept; None keeps them for good.

        Counted from when it happened or was recorded, whichever is later. The rule is followed by
        :meth:`apply_retention` and when the household is opened, never inside a recall.

        Raises:
            InvalidRequestError: If there is no such category, or that is no number of days.
        """
        self._forgetter.set_rule(category, keep_days)

    def retention(self) -> list[RetentionRule]:
        """List how long categories are kept, those that have a rule."""
        return self._forgetter.rules()

    @overload
    def apply_retention(
        self, now: dt.datetime | None = None, *, dry_run: Literal[True]
    ) -> ForgetPlan: ...

    @overload
    def apply_retention(
        self, now: dt.datetime | None = None, *, dry_run: Literal[False] = False
    ) -> Receipt | None: ...

    def apply_retention(
        self, now: dt.datetime | None = None, *, dry_run: bool = False
    ) -> ForgetPlan | Receipt | None:
        """Forget what the household's rules keep no longer, and undos that have run out.

        Args:
            now: The moment that is reckoned from; the clock's, when left out.
            dry_run: Say what would go, and change nothing.

        Returns:
            The receipt, or None where nothing was due; what would go, with ``dry_run``.
        """
        now_s = epoch_s(now, self._store.zone)
        now_s = self._wall_clock() if now_s is None else now_s
        if dry_run:
            return self._forgetter.plan_retention(now_s)
        return self._forgetter.apply_retention(now_s)

    def _answering(self, what: Selection, person_id: str) -> set[tuple[str, str]]:
        """Give what a selection's query finds for a person with enough confidence."""
        if what.query is None:
            return set()
        answer = self.recall(
            what.query,
            RecallContext(
                person_id=person_id,
                space_id=what.space_id,
                time_budget_ms=_NO_HURRY_MS,
                top_k=_FORGOTTEN_AT_ONCE,
            ),
        )
        return {
            (result.space_id, result.doc_id)
            for result in answer.results
            if result.confidence >= what.min_confidence
        }

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
        """Load models and libraries now, so that the first question need not wait for them.

        Then practise for a second at most: what stages cost on this device is kept in the file.
        """
        graph.warm_up()
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

    def _observe(self, answer: Answer) -> None:
        if self._observer is not None:
            self._observer.see(answer.trace)

    def _now(self, request: RecallRequest) -> dt.datetime:
        now, zone = request.ctx.now, self._store.zone
        if now is None:
            return dt.datetime.fromtimestamp(self._wall_clock(), zone)
        return now.astimezone(zone) if now.tzinfo else now.replace(tzinfo=zone)

    async def _awaited(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._asking, call)
