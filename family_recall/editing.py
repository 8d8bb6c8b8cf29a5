"""Mending: who corrects, relates or takes a relation back in; done, where it is theirs to do.

Who may forget a memory may correct it: whoever said it, and an owner of its space. They may also
relate things with it as the evidence; without evidence, an owner of the space may. What was told
of two things is taken back by an owner, and by whoever said all that it rests on.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from family_recall.access import policy
from family_recall.access.rights import Asker, asker
from family_recall.encoders.base import Encoder
from family_recall.erasure.entity_provenance import update_entities
from family_recall.errors import (
    ConflictError,
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
    StoreError,
    UnknownMemoryError,
)
from family_recall.indexing import Indexer, relations
from family_recall.stores.file.row_ids import partition_of
from family_recall.stores.graph.relation_queries import RelationRow
from family_recall.stores.read.listing import Listings
from family_recall.stores.records import Access, RecordedRelation, StoredMemory, epoch_s
from family_recall.stores.store import Store
from family_recall.types import FIXED, Corrected, Memory, RecallContext, Relation, Scope

CORRECTABLE = tuple(one.name for one in dataclasses.fields(Memory) if one.name not in FIXED)
"""Fields of a memory that a correction can change."""


@dataclass(frozen=True, slots=True)
class Editor:
    """Mends in one store, as one person at a time. Safe to share between threads."""

    store: Store
    indexer: Indexer

    def may_correct(
        self, doc_id: str, person_id: str | None, space_id: str | None, *, wall_s: float
    ) -> bool:
        """Say whether a memory that somebody may see is theirs to correct.

        Raises:
            InvalidRequestError: If nobody in particular asks, or several spaces have that id.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If one is not there, or not
                for this person.
        """
        with self.store.reading() as tables:
            standing = self._standing(tables.listings, person_id, space_id, wall_s)
            return standing.may_edit(standing.seen(doc_id))

    def correct(
        self,
        doc_id: str,
        changes: Mapping[str, Any],
        person_id: str | None,
        space_id: str | None,
        *,
        recorded_at: dt.datetime | None,
        wall_s: float,
        encoder: Encoder | None,
        static: Encoder | None,
    ) -> Corrected:
        """Tell a memory anew with some fields changed; all of it, or nothing.

        Raises:
            InvalidMemoryError: If a field cannot be changed, or not to that.
            NotTheirsError: If it is another's, or a field is hidden from this person.
            ConflictError: If it was told anew since ``recorded_at``.
            StoreError: If it is damaged in the file.
            InvalidRequestError, UnknownPersonError, UnknownSpaceError, UnknownMemoryError: As
                :meth:`may_correct`.
        """
        _check_names(changes)
        with self.store.writing() as writing:
            standing = self._standing(writing.listings, person_id, space_id, wall_s)
            seen = standing.seen(doc_id)
            before = standing.correctable(seen, changes).memory
            self._check_moment(seen, recorded_at)
            after = dataclasses.replace(before, **changes)
            standing.check_change(before, after)
            changed = {
                name: (was, now)
                for name in CORRECTABLE
                if (was := getattr(before, name)) != (now := getattr(after, name))
            }
            if changed:
                self.indexer.remember_within(writing, [after], now_s=wall_s, static=static)
        if encoder is not None:
            self.indexer.embed(encoder, writing.changed)
        return Corrected(doc_id, before.space_id, changed)

    def relate(self, relation: Relation, person_id: str, *, wall_s: float) -> None:
        """Store a typed edge between two named things of a space, as somebody.

        Raises:
            NotTheirsError: If a piece of evidence is another's; if there is none, and the space
                is not theirs; or if others told that relation already.
            InvalidMemoryError: If they could not see it themselves.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If one is not there, or not
                for this person.
        """
        with self.store.writing() as writing:
            standing = self._standing(writing.listings, person_id, relation.space_id, wall_s)
            standing.check_new(relation)
            standing.statements(relation)
            recorded = RecordedRelation(relation, wall_s)
            relations.relate(writing, self.indexer.entity_linker(writing), recorded)

    def may_unrelate(self, relation: Relation, person_id: str | None, *, wall_s: float) -> bool:
        """Say whether there is such a relation, and it is somebody's to take back.

        Raises:
            InvalidRequestError: If nobody in particular asks.
            UnknownPersonError, UnknownSpaceError: If one is not there, or not for this person.
        """
        with self.store.reading() as tables:
            standing = self._standing(tables.listings, person_id, relation.space_id, wall_s)
            try:
                return bool(standing.statements(relation))
            except NotTheirsError:
                return False

    def unrelate(self, relation: Relation, person_id: str | None, *, wall_s: float) -> bool:
        """Take back what was told of two things; False where nothing was.

        Raises:
            NotTheirsError: If it is another's.
            InvalidRequestError, UnknownPersonError, UnknownSpaceError: As :meth:`may_unrelate`.
        """
        with self.store.writing() as writing:
            standing = self._standing(writing.listings, person_id, relation.space_id, wall_s)
            told = standing.statements(relation)
            if told:
                touched = relations.unrelate(writing, relation, told, standing.scope)
                update_entities(self.indexer, writing, touched)
        return bool(told)

    def _standing(
        self, listings: Listings, person_id: str | None, space_id: str | None, wall_s: float
    ) -> _Standing:
        household = listings.household
        ctx = RecallContext(person_id=person_id, space_id=space_id)
        return _Standing(
            listings=listings,
            space_id=space_id,
            who=asker(household, person_id, wall_s=wall_s),
            scope=policy.scope_in(household, ctx, wall_s=wall_s, zone=self.store.zone),
            entered=policy.entered(household.access(person_id), wall_s),
        )

    def _check_moment(self, seen: StoredMemory, recorded_at: dt.datetime | None) -> None:
        zone = self.store.zone
        told_at = dt.datetime.fromtimestamp(seen.recorded_s, zone)
        if recorded_at is not None and epoch_s(recorded_at, zone) != told_at.timestamp():
            raise ConflictError(
                f"{seen.memory.doc_id!r} was told anew at {told_at.isoformat()}, and not at "
                f"{recorded_at.isoformat()}; look at it again, and correct what it says now"
            )


@dataclass(frozen=True, slots=True)
class _Standing:
    """What somebody sees and owns, within one view of the file and from one space, if named."""

    listings: Listings
    space_id: str | None
    who: Asker
    scope: Scope
    entered: Mapping[str, Access]

    def seen(self, doc_id: str) -> StoredMemory:
        """Give a memory as they see it now.

        Raises:
            InvalidRequestError: If several spaces have one of that id, and none is named.
            UnknownMemoryError: If there is none that they may see.
        """
        found = [
            one
            for one in self.listings.versions(doc_id, self.scope)
            if one.superseded_s is None and self.space_id in {None, one.memory.space_id}
        ]
        if not found:
            raise UnknownMemoryError(f"no memory {doc_id!r} that this person may see")
        if len(found) > 1:
            spaces = " and ".join(sorted(one.memory.space_id for one in found))
            raise InvalidRequestError(
                f"{doc_id!r} is in {spaces}; say with space_id which is meant"
            )
        return found[0]

    def may_edit(self, seen: StoredMemory) -> bool:
        """Whether what they see of a memory is theirs, whoever a view says that it is by."""
        return self.who.may_edit(seen.memory.space_id, self._whole(seen).memory.author)

    def correctable(self, seen: StoredMemory, changes: Iterable[str]) -> StoredMemory:
        """Give the memory behind what they see, where they may change those fields of it.

        Raises:
            NotTheirsError, StoreError: As :meth:`Editor.correct`.
        """
        doc_id, space_id = seen.memory.doc_id, seen.memory.space_id
        whole = self._whole(seen)
        if not self.who.may_edit(space_id, whole.memory.author):
            raise NotTheirsError(
                f"{doc_id!r} may be corrected only by whoever said it, or by an owner of "
                f"{space_id!r}; nothing was changed"
            )
        if not whole.intact:
            raise StoreError(
                f"{doc_id!r} is damaged in the file, so that nobody knows what else it said; "
                "family-recall doctor says more, and --repair takes it out"
            )
        if hidden := sorted(set(changes) & self._hidden(space_id)):
            raise NotTheirsError(
                f"{', '.join(hidden)} is hidden from you in {space_id!r} and stays as it is; "
                "somebody who sees it may change it"
            )
        return whole

    def check_change(self, before: Memory, after: Memory) -> None:
        """Refuse a change that is an owner's alone, or puts a memory out of their sight.

        Raises:
            InvalidMemoryError: If it is one.
        """
        if after.author != before.author and after.space_id not in self.who.own_spaces:
            raise InvalidMemoryError("only an owner of its space may say that another said it")
        if after.band != before.band:
            self.check_band(after.space_id, after.band)

    def check_new(self, relation: Relation) -> None:
        """Refuse a relation that they may not tell.

        Raises:
            NotTheirsError, InvalidMemoryError, UnknownMemoryError: As :meth:`Editor.relate`.
        """
        space_id, child = relation.space_id, relation.guardians_of
        self.check_band(space_id, relation.band)
        guardians = self.listings.household.guardians()
        if child is not None and self.who.person_id not in guardians.get(child, ()):
            raise InvalidMemoryError(
                f"it is for the guardians of {child!r}, and you are none of them"
            )
        if not relation.evidence and space_id not in self.who.own_spaces:
            raise NotTheirsError(
                f"without evidence only an owner of {space_id!r} may relate; name a memory there "
                "that you said"
            )
        for doc_id in relation.evidence:
            if not self.may_edit(self.seen(doc_id)):
                raise NotTheirsError(
                    f"{doc_id!r} is evidence only for whoever said it, or for an owner of "
                    f"{space_id!r}; nothing was related"
                )

    def check_band(self, space_id: str, band: str) -> None:
        """Refuse a band of a space that they do not see.

        Raises:
            InvalidMemoryError: If they do not.
        """
        role = self.entered[space_id].role
        if not policy.opens(role, band):
            raise InvalidMemoryError(
                f"band {band!r} is not open to you in {space_id!r}, where you are {role}; "
                f"choose among {', '.join(policy.CLEARANCE[role])}"
            )

    def statements(self, relation: Relation) -> list[RelationRow]:
        """Find what was told as a relation, all of it theirs; none where they may not see it.

        Raises:
            NotTheirsError: If others told it.
        """
        told = [
            one
            for one in relations.matching(self.listings, relation, self.scope)
            if partition_of(one.subject) in self.who.told
        ]
        owned = relation.space_id in self.who.own_spaces
        for one in told:
            if not owned and not (
                one.evidence_authors and all(map(self.who.said, one.evidence_authors))
            ):
                raise NotTheirsError(
                    "what was told of these two rests on what others said, or on nothing; only an "
                    f"owner of {relation.space_id!r} may tell it anew or take it back"
                )
        return told

    def _whole(self, seen: StoredMemory) -> StoredMemory:
        """Give the memory itself behind a view."""
        return self.listings.whole(seen.memory.space_id, str(seen.memory.doc_id))

    def _hidden(self, space_id: str) -> set[str]:
        role = self.entered[space_id].role
        return {
            name
            for one in self.listings.household.hidden()
            if (one.space_id, one.role) == (space_id, role)
            for name in one.fields
        }


def _check_names(changes: Iterable[str]) -> None:
    for name in changes:
        if name in FIXED:
            raise InvalidMemoryError(
                f"{name} stays as it is; to move a memory, remember it there and forget it here"
            )
        if name not in CORRECTABLE:
            raise InvalidMemoryError(
                f"unknown field {name!r}; what can be corrected is {', '.join(CORRECTABLE)}"
            )
