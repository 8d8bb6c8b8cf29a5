"""Memories by page, one with its links, and the names they mention."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from family_recall.api.engine import Engine
from family_recall.types import (
    EntityCount,
    MemoryDetail,
    MemoryPage,
    RecallContext,
    StoredVersion,
)


class Memories:
    """Stored memories, read without a question."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def page(
        self,
        ctx: RecallContext | None = None,
        *,
        about: str | None = None,
        first: dt.date | None = None,
        last: dt.date | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> MemoryPage:
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
        wall_s = self._engine.wall_clock()
        told = self._engine.browser.listing(ctx, about, (first, last), offset, limit, wall_s=wall_s)
        self._looked(ctx, told.memories)
        return told

    def get(
        self, doc_id: str, ctx: RecallContext | None = None, *, space_id: str | None = None
    ) -> MemoryDetail:
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
        told = self._engine.browser.look(doc_id, ctx, space_id, wall_s=self._engine.wall_clock())
        self._looked(ctx, (told.current, *(kept for _, kept in told.links)))
        return told

    def entities(self, ctx: RecallContext | None = None, *, limit: int = 100) -> list[EntityCount]:
        """Name whom and what the memories that somebody may see are about, the most named first.

        Raises:
            As :meth:`listing`.
        """
        return self._engine.browser.names(
            ctx or RecallContext(), limit, wall_s=self._engine.wall_clock()
        )

    def may_correct(self, doc_id: str, *, person_id: str, space_id: str | None = None) -> bool:
        """Say whether a memory is somebody's to correct, and to give as evidence for a relation.

        Raises:
            InvalidRequestError, UnknownPersonError, UnknownSpaceError, UnknownMemoryError: As
                :meth:`correct`.
        """
        return self._engine.editor.may_correct(
            doc_id, person_id, space_id, wall_s=self._engine.wall_clock()
        )

    def _looked(self, ctx: RecallContext, given: Iterable[StoredVersion]) -> None:
        pairs = [(kept.memory.space_id, str(kept.memory.doc_id)) for kept in given]
        self._engine.audit_log.note_given("look", ctx, pairs)
