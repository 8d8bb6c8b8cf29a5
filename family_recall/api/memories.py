"""Stored memories, read without a question."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Iterator
from typing import Unpack

import numpy as np
import numpy.typing as npt

from family_recall.access.rights import editable_view
from family_recall.api.arguments import Part, context_of
from family_recall.english.text import normalise
from family_recall.errors import InvalidRequestError, UnknownMemoryError
from family_recall.store.memories import StoredMemory
from family_recall.types import (
    EntityCount,
    Filters,
    MemoryDetail,
    MemoryPage,
    RecallContext,
    ShortIds,
    StoredVersion,
)
from family_recall.types.request import ContextFields

MAX_PAGE = 1000
_MAX_LINKS = 24


class Memories(Part):
    """Pages of memories, single memories with versions and links, and entities."""

    def page(
        self,
        ctx: RecallContext | None = None,
        *,
        about: str | None = None,
        first: dt.date | None = None,
        last: dt.date | None = None,
        offset: int = 0,
        limit: int = 50,
        **fields: Unpack[ContextFields],
    ) -> MemoryPage:
        """List the current memories a person may see, the newest first, a page at a time.

        A memory is dated by when it happened or, if unknown, was recorded. Memories that are not
        valid now are listed too.

        Args:
            ctx: Who asks, in which space, and the filters; other fields are ignored.
            about: Only memories that mention this person or thing, or are by them.
            first: From this day on, in the household's zone.
            last: To this day, itself included.
            offset: Memories to skip, 0 or more.
            limit: Most memories, 1 to 1000.
            **fields: Fields of a context, in place of ``ctx``.

        Raises:
            InvalidRequestError: If one of these is out of range.
            UnknownPersonError, UnknownSpaceError: As ``home.recall``.
        """
        if offset < 0 or not 1 <= limit <= MAX_PAGE:
            raise InvalidRequestError(
                f"offset must be 0 or more and limit from 1 to {MAX_PAGE}, got {offset}, {limit}"
            )
        ctx = context_of(ctx, fields)
        with self._engine.store.reading() as tables:
            snapshot, listings = tables.snapshot, tables.listings
            scope = self._engine.scope(snapshot, ctx)
            entity_ids = None
            if about is not None:
                entity_ids = [
                    entity.id for _, entity in snapshot.entities([normalise(about)], scope)
                ]
            ids, moments = listings.ids_by_time(scope, entity_ids, self._between(first, last))
            stored = listings.load(ids[offset : offset + limit], scope)
        page = MemoryPage(
            memories=tuple(map(self._version, stored)),
            total=len(ids),
            offset=offset,
            months=tuple(_months(moments, self._engine.store.zone)),
        )
        self._log(ctx, page.memories)
        return page

    def get(
        self,
        doc_id: str,
        ctx: RecallContext | None = None,
        *,
        person_id: str | None = None,
        space_id: str | None = None,
    ) -> MemoryDetail:
        """Return one memory as stored, with its earlier versions and links.

        Args:
            doc_id: Its id.
            ctx: Who asks, and in which space; other fields are ignored.
            person_id: Who asks, in place of ``ctx``.
            space_id: Its space, if several have that id.

        Raises:
            UnknownMemoryError: If there is none, or this person may not see it.
            UnknownPersonError, UnknownSpaceError: As ``home.recall``.
        """
        ctx = context_of(ctx, {} if person_id is None else {"person_id": person_id})
        unfiltered = dataclasses.replace(ctx, filters=Filters(), mode="hybrid")
        with self._engine.store.reading() as tables:
            snapshot, listings = tables.snapshot, tables.listings
            scope = self._engine.scope(snapshot, unfiltered)
            versions = [
                version
                for version in listings.versions_of(doc_id, scope)
                if space_id in {None, version.memory.space_id}
            ]
            if not versions or versions[0].superseded_s is not None:
                raise UnknownMemoryError(f"no memory {doc_id!r} that you can see")
            current = versions[0]
            entities = listings.mentions_of(current.id)
            relations = snapshot.stated_relations(
                scope, MAX_PAGE, [entity for entity, _, _ in entities]
            )
            edges = snapshot.edges(np.array([current.id], np.int64), scope, _MAX_LINKS)
            kinds = dict(zip(edges.dst, edges.kinds, strict=True))
            memories = np.array([dst for dst in edges.dst if dst > 0], np.int64)
            linked = listings.load(memories, scope)
        detail = MemoryDetail(
            current=self._version(current),
            earlier=tuple(
                self._version(version)
                for version in versions[1:]
                if version.memory.space_id == current.memory.space_id
            ),
            entities=tuple(dict.fromkeys((name, role) for _, name, role in entities)),
            relations=tuple(relations),
            links=tuple((kinds[memory.id], self._version(memory)) for memory in linked),
        )
        self._log(ctx, (detail.current, *(version for _, version in detail.links)))
        return detail

    def entities(
        self,
        ctx: RecallContext | None = None,
        *,
        limit: int = 100,
        **fields: Unpack[ContextFields],
    ) -> list[EntityCount]:
        """Count the memories about each person and thing, the most mentioned first.

        Raises:
            UnknownPersonError, UnknownSpaceError: As ``home.recall``.
        """
        with self._engine.store.reading() as tables:
            scope = self._engine.scope(tables.snapshot, context_of(ctx, fields))
            counts = tables.listings.entity_counts(scope)
        return [EntityCount(name, n) for name, n in counts[:limit]]

    def ids(self, person_id: str | None = None) -> ShortIds:
        """Return the ids of all visible memories, to shorten and look up.

        ``home.memories.ids("tom").short(doc_id)`` is the shortest unique beginning of an id, and
        ``find`` returns the id of such a beginning. Memories that the person may not see neither
        lengthen one nor are found.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self._engine.store.reading() as tables:
            scope = self._engine.scope(tables.snapshot, RecallContext(person_id))
            return ShortIds(tables.listings.doc_ids(scope))

    def may_correct(self, doc_id: str, *, person_id: str, space_id: str | None = None) -> bool:
        """Return whether a person may correct a memory, and name it as evidence of a relation.

        Raises:
            InvalidRequestError, UnknownPersonError, UnknownSpaceError, UnknownMemoryError: As
                ``home.correct``.
        """
        wall_s, zone = self._engine.wall_clock(), self._engine.store.zone
        with self._engine.store.reading() as tables:
            view = editable_view(tables.listings, person_id, space_id, wall_s=wall_s, zone=zone)
            return view.may_edit(view.memory(doc_id))

    def _log(self, ctx: RecallContext, versions: Iterable[StoredVersion]) -> None:
        pairs = [(version.memory.space_id, str(version.memory.doc_id)) for version in versions]
        self._engine.audit_log.note("look", ctx, pairs)

    def _between(
        self, first: dt.date | None, last: dt.date | None
    ) -> tuple[float | None, float | None]:
        def midnight_s(day: dt.date) -> float:
            return dt.datetime.combine(day, dt.time(), self._engine.store.zone).timestamp()

        return (
            None if first is None else midnight_s(first),
            # The calendar ends with its last day.
            None if last in {None, dt.date.max} else midnight_s(last + dt.timedelta(days=1)),
        )

    def _version(self, stored: StoredMemory) -> StoredVersion:
        def moment(epoch_s: float) -> dt.datetime:
            return dt.datetime.fromtimestamp(epoch_s, self._engine.store.zone)

        superseded_s = stored.superseded_s
        return StoredVersion(
            memory=stored.memory,
            recorded_at=moment(stored.recorded_s),
            replaced_at=None if superseded_s is None else moment(superseded_s),
            intact=stored.intact,
            author_name=stored.author_name,
        )


def _months(moments_s: npt.NDArray[np.float64], zone: dt.tzinfo) -> Iterator[tuple[dt.date, int]]:
    """Count moments by month, the newest first, without empty months."""
    ascending = moments_s[::-1]
    end = len(ascending)
    while end:
        month = dt.datetime.fromtimestamp(ascending[end - 1], zone).date().replace(day=1)
        begins = dt.datetime.combine(month, dt.time(), zone).timestamp()
        start = int(np.searchsorted(ascending, begins))
        yield month, end - start
        end = start
