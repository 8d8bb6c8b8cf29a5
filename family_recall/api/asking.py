"""What is asked, and what may be looked through without a question."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterable
from pathlib import Path

from family_recall.api.opened import Opened
from family_recall.encoders.static import StaticEncoder
from family_recall.pipeline import routing_encoder
from family_recall.pipeline.explain import Explanation, Inspection
from family_recall.query import planner
from family_recall.stores.text import full_text
from family_recall.types import (
    Answer,
    Detail,
    Kept,
    Listing,
    Named,
    RecallContext,
    RecallRequest,
    Region,
    Relation,
    Understanding,
)

OPENING_RESULTS = 10  # as the hybrid retrieval design loads before a conversation


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
        full_text.splitter(),
        now=moment,
        region=region or Region(),
        encode=routing_encoder(StaticEncoder.load(models)),
    )
    return planner.understanding(question, plan, moment.tzinfo or dt.UTC)


class Asking(Opened):
    """The part of `FamilyRecall` that is about what is asked."""

    def recall(self, query_text: str, ctx: RecallContext | None = None) -> Answer:
        """Find the memories that answer a question, within its time budget.

        Raises:
            InvalidRequestError: If the request cannot be meant.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If who asks, where, or
                the focus is not there, or not for this person.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        answer = self._broker.recall(request, self._now(request), self._wall_clock())
        return self._given("recall", request, answer)

    async def arecall(self, query_text: str, ctx: RecallContext | None = None) -> Answer:
        """Do what :meth:`recall` does, on a thread of our own."""
        return await self._awaited(functools.partial(self.recall, query_text, ctx))

    def explain(
        self, query_text: str, doc_id: str, ctx: RecallContext | None = None
    ) -> Explanation:
        """Say why a memory is in the answer to a question, or why not.

        Raises:
            UnknownMemoryError: If this request may not see such a memory, or there is none.
            StoreError: If it is damaged in the file, and so is in no answer.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        told = self._broker.explain(request, doc_id, self._now(request), self._wall_clock())
        self._audit.note_given("explain", request.ctx, [(told.space_id, doc_id)])
        return told

    def inspect(self, query_text: str, ctx: RecallContext | None = None) -> Inspection:
        """Recall, and say of what came close why it is not in the answer.

        It takes no longer than :meth:`recall`, but for reading a dozen memories.

        Raises:
            As :meth:`recall`.
        """
        request = RecallRequest(query_text, ctx or RecallContext())
        told = self._broker.inspect(request, self._now(request), self._wall_clock())
        self._given("recall", request, told.answer)
        if told.missed:
            pairs = [(one.explanation.space_id, one.doc_id) for one in told.missed]
            self._audit.note_given("explain", request.ctx, pairs)
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
        return self._given("opening", request, answer)

    def relations(self, ctx: RecallContext | None = None, *, limit: int = 1000) -> list[Relation]:
        """List what was told to be related, of what a request may see, oldest first.

        Those that hold at ``ctx.as_of``; ``ctx.filters`` but ``allow_shared`` are of memories, and
        narrow nothing here.

        Raises:
            InvalidRequestError: If ``limit`` is below 1.
            UnknownPersonError, UnknownSpaceError: If who asks, or where, is not there, or not for
                this person.
        """
        request = RecallRequest("", ctx or RecallContext())
        now_s = self._now(request).timestamp()
        return self._looker.relations(request.ctx, limit, now_s=now_s, wall_s=self._wall_clock())

    def listing(
        self,
        ctx: RecallContext | None = None,
        *,
        about: str | None = None,
        first: dt.date | None = None,
        last: dt.date | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> Listing:
        """List what somebody may see and is believed now, the newest first, a page at a time.

        A memory counts from when it happened or, where nobody said, from when it was recorded.
        What was true for a time only is listed before and after it too.

        Args:
            ctx: Who looks, from where, and the filters; the rest of it does not count.
            about: Only what names this person or thing, or is by them.
            first: From this day on, in the household's zone.
            last: To this day, itself included.
            offset: Memories to pass over, 0 or more.
            limit: Memories wanted, 1 to 1000.

        Raises:
            InvalidRequestError: If one of these is out of range.
            UnknownPersonError, UnknownSpaceError: As :meth:`recall`.
        """
        ctx = ctx or RecallContext()
        wall_s = self._wall_clock()
        told = self._looker.listing(ctx, about, (first, last), offset, limit, wall_s=wall_s)
        self._looked(ctx, told.memories)
        return told

    def look(
        self, doc_id: str, ctx: RecallContext | None = None, *, space_id: str | None = None
    ) -> Detail:
        """Give one memory as it is kept, with its earlier versions and all that it is tied to.

        Args:
            doc_id: Its id.
            ctx: Who looks, and from where; the rest of it does not count.
            space_id: The space it is in, where several have one of that id.

        Raises:
            UnknownMemoryError: If there is none, or none that this person may see.
            UnknownPersonError, UnknownSpaceError: As :meth:`recall`.
        """
        ctx = ctx or RecallContext()
        told = self._looker.look(doc_id, ctx, space_id, wall_s=self._wall_clock())
        self._looked(ctx, (told.kept, *(kept for _, kept in told.links)))
        return told

    def names(self, ctx: RecallContext | None = None, *, limit: int = 100) -> list[Named]:
        """Name whom and what the memories that somebody may see are about, the most named first.

        Raises:
            As :meth:`listing`.
        """
        return self._looker.names(ctx or RecallContext(), limit, wall_s=self._wall_clock())

    def _looked(self, ctx: RecallContext, given: Iterable[Kept]) -> None:
        pairs = [(kept.memory.space_id, str(kept.memory.doc_id)) for kept in given]
        self._audit.note_given("look", ctx, pairs)
