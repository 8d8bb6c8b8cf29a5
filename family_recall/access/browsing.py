"""Looking: who looks in; memories by page, one as it is kept, or relations out, unasked."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from family_recall.access import policy
from family_recall.errors import InvalidRequestError, UnknownMemoryError
from family_recall.query.text import normalise
from family_recall.stores.read.snapshot import SqliteSnapshot
from family_recall.stores.records import StoredMemory
from family_recall.stores.store import Store
from family_recall.types import (
    EntityCount,
    Filters,
    MemoryDetail,
    MemoryPage,
    RecallContext,
    Relation,
    Scope,
    StoredVersion,
)

MAX_LISTED = 1000
_MOST_LINKS = 24


@dataclass(frozen=True, slots=True)
class MemoryBrowser:
    """Reads one store without a question. Safe to share between threads."""

    store: Store

    def listing(
        self,
        ctx: RecallContext,
        about: str | None,
        days: tuple[dt.date | None, dt.date | None],
        offset: int,
        limit: int,
        *,
        wall_s: float,
    ) -> MemoryPage:
        """Give a page of what somebody may see, the newest first; days are both included.

        Raises:
            InvalidRequestError: If offset or limit is out of range.
            UnknownPersonError, UnknownSpaceError: If one is not there, or not for this person.
        """
        if offset < 0 or not 1 <= limit <= MAX_LISTED:
            raise InvalidRequestError(
                f"offset must be 0 or more and limit from 1 to {MAX_LISTED}, got {offset}, {limit}"
            )
        with self.store.reading() as tables:
            snapshot, listings = tables.snapshot, tables.listings
            scope = self._scope(ctx, snapshot, wall_s)
            naming = None
            if about is not None:
                found = snapshot.entities([normalise(about)], scope)
                naming = [entity.id for _, entity in found]
            ids, moments = listings.listed(scope, naming, self._between(days))
            page = listings.load(ids[offset : offset + limit], scope)
        return MemoryPage(
            memories=tuple(map(self._kept, page)),
            total=len(ids),
            offset=offset,
            months=tuple(_months(moments, self.store.zone)),
        )

    def look(
        self, doc_id: str, ctx: RecallContext, space_id: str | None, *, wall_s: float
    ) -> MemoryDetail:
        """Give one memory with all that hangs on it, as far as somebody may see it.

        Raises:
            UnknownMemoryError: If there is none, or none for this person: the two read alike.
            UnknownPersonError, UnknownSpaceError: As :meth:`listing`.
        """
        everything = dataclasses.replace(ctx, filters=Filters(), mode="hybrid")
        with self.store.reading() as tables:
            snapshot, listings = tables.snapshot, tables.listings
            scope = self._scope(everything, snapshot, wall_s)
            every = [
                one
                for one in listings.versions(doc_id, scope)
                if space_id in {None, one.memory.space_id}
            ]
            if not every or every[0].superseded_s is not None:
                raise UnknownMemoryError(f"no memory {doc_id!r} that this person may see")
            stored = every[0]
            names = listings.names_of(stored.id)
            told = snapshot.relations_in(scope, MAX_LISTED, [entity for entity, _, _ in names])
            links = snapshot.edges(np.array([stored.id], np.int64), scope, _MOST_LINKS)
            kinds = dict(zip(links.dst.tolist(), links.kinds, strict=True))
            others = listings.load(links.dst[links.dst > 0], scope)
        return MemoryDetail(
            current=self._kept(stored),
            earlier=tuple(
                self._kept(one)
                for one in every[1:]
                if one.memory.space_id == stored.memory.space_id
            ),
            entities=tuple(dict.fromkeys((name, role) for _, name, role in names)),
            relations=tuple(told),
            links=tuple((kinds[one.id], self._kept(one)) for one in others),
        )

    def relations(
        self, ctx: RecallContext, limit: int, *, now_s: float, wall_s: float
    ) -> list[Relation]:
        """List the relations that somebody may see and that hold then, as told, oldest first.

        Raises:
            InvalidRequestError: If ``limit`` is below 1.
            UnknownPersonError, UnknownSpaceError: As :meth:`listing`.
        """
        if limit < 1:
            raise InvalidRequestError(f"limit must be 1 or more, got {limit}")
        with self.store.snapshot() as snapshot:
            return snapshot.relations_in(self._scope(ctx, snapshot, wall_s, now_s), limit)

    def names(self, ctx: RecallContext, limit: int, *, wall_s: float) -> list[EntityCount]:
        """Name whom and what somebody's memories are about, the most named first.

        Raises:
            As :meth:`listing`.
        """
        with self.store.reading() as tables:
            snapshot, listings = tables.snapshot, tables.listings
            found = listings.names(self._scope(ctx, snapshot, wall_s))
        return [EntityCount(name, n) for name, n in found[:limit]]

    def _scope(
        self,
        ctx: RecallContext,
        snapshot: SqliteSnapshot,
        wall_s: float,
        now_s: float | None = None,
    ) -> Scope:
        return policy.scope_in(snapshot, ctx, wall_s=wall_s, zone=self.store.zone, now_s=now_s)

    def _between(
        self, days: tuple[dt.date | None, dt.date | None]
    ) -> tuple[float | None, float | None]:
        first, last = days
        after = None if last is None else last + dt.timedelta(days=1)
        start, end = (
            None
            if day is None
            else dt.datetime.combine(day, dt.time(), self.store.zone).timestamp()
            for day in (first, after)
        )
        return start, end

    def _kept(self, stored: StoredMemory) -> StoredVersion:
        recorded, replaced = (
            None if moment_s is None else dt.datetime.fromtimestamp(moment_s, self.store.zone)
            for moment_s in (stored.recorded_s, stored.superseded_s)
        )
        assert recorded is not None  # noqa: S101 - every row has one
        return StoredVersion(stored.memory, recorded, replaced, stored.intact)


def _months(moments_s: npt.NDArray[np.float64], zone: dt.tzinfo) -> Iterator[tuple[dt.date, int]]:
    """Count moments, the newest first, by the month they lie in; empty months are left out."""
    rising = moments_s[::-1]
    end = len(rising)
    while end:
        month = dt.datetime.fromtimestamp(rising[end - 1], zone).date().replace(day=1)
        begins = dt.datetime.combine(month, dt.time(), zone).timestamp()
        start = int(np.searchsorted(rising, begins))
        yield month, end - start
        end = start
