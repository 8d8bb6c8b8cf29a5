"""Typed relations between two entities: stored, listed and removed."""

from __future__ import annotations

from typing import Unpack

from family_recall.access.rights import EditableView, editable_view
from family_recall.api.keywords import Part, context_of
from family_recall.errors import InvalidMemoryError, InvalidRequestError, NotTheirsError
from family_recall.forget.entity_provenance import update_entities
from family_recall.remember import relations
from family_recall.store.file.schema import partition_of
from family_recall.store.listing import Listings
from family_recall.store.relations import StoredRelation
from family_recall.types import RecallContext, Relation
from family_recall.types.request import ContextFields


class Relations(Part):
    """Typed relations between two named people or things of a space."""

    def add(self, relation: Relation, *, person_id: str | None = None) -> None:
        """Store a typed edge between two named people or things of a space.

        It replaces an earlier one between the same two, of the same kind and from the same moment.

        Args:
            relation: What to store.
            person_id: Who states it. A person may name memories that they may correct as the
                evidence and, without evidence, relate in a space they own. Nobody in particular,
                when left out: then, as with ``home.remember``, the caller decides who may.

        Raises:
            UnknownSpaceError: If the space is not there, or not for this person.
            UnknownMemoryError: If a piece of evidence is not in that space and band, or not for
                this person.
            UnknownPersonError: If there is no such person.
            NotTheirsError: If a piece of evidence is another's; if there is none, and the space is
                not theirs; or if others stated that relation already.
            InvalidMemoryError: If this person could not see it.
        """
        with self._engine.store.writing() as writing:
            if person_id is not None:
                view = self._view(writing.listings, relation, person_id)
                _check_new(view, relation)
                _own_rows(view, relation)
            self._engine.indexer.relate(writing, relation, self._engine.wall_clock())

    def all(
        self,
        ctx: RecallContext | None = None,
        *,
        limit: int = 1000,
        **fields: Unpack[ContextFields],
    ) -> list[Relation]:
        """List the relations that a person may see and that hold at ``ctx.as_of``, oldest first.

        Of ``ctx.filters`` only ``allow_shared`` counts: the others are about memories.

        Raises:
            InvalidRequestError: If ``limit`` is below 1.
            UnknownPersonError, UnknownSpaceError: If who asks, or where, is not there, or not for
                this person.
        """
        if limit < 1:
            raise InvalidRequestError(f"limit must be 1 or more, got {limit}")
        ctx = context_of(ctx, fields)
        now_s = self._engine.now(ctx).timestamp()
        with self._engine.store.snapshot() as snapshot:
            return snapshot.stated_relations(self._engine.scope(snapshot, ctx, now_s), limit)

    def remove(self, relation: Relation, *, person_id: str) -> bool:
        """Remove a relation; False where nobody had stated it.

        It is gone from answers, from the graph and from every redacted view, and so are names
        that only it made known. The memories that were its evidence stay.

        Args:
            relation: As :meth:`all` lists it, or as it was added. Its ends, kind, space, band,
                guardians and ``valid_from`` identify it; its other fields do not count.
            person_id: Who wants it removed: an owner of its space, or the author of all its
                evidence.

        Raises:
            InvalidRequestError: If no person is named.
            UnknownPersonError, UnknownSpaceError: If one is not there, or not for this person.
            NotTheirsError: If it is another's to remove.
        """
        with self._engine.store.writing() as writing:
            view = self._view(writing.listings, relation, person_id)
            rows = _own_rows(view, relation)
            if rows:
                entities = relations.unrelate(writing, relation, rows, view.scope)
                update_entities(self._engine.indexer, writing, entities)
        return bool(rows)

    def may_remove(self, relation: Relation, *, person_id: str) -> bool:
        """Whether a relation is there, and this person may remove it.

        Raises:
            InvalidRequestError, UnknownPersonError, UnknownSpaceError: As :meth:`remove`.
        """
        with self._engine.store.reading() as tables:
            view = self._view(tables.listings, relation, person_id)
            try:
                return bool(_own_rows(view, relation))
            except NotTheirsError:
                return False

    def _view(self, listings: Listings, relation: Relation, person_id: str) -> EditableView:
        wall_s, zone = self._engine.wall_clock(), self._engine.store.zone
        return editable_view(listings, person_id, relation.space_id, wall_s=wall_s, zone=zone)


def _check_new(view: EditableView, relation: Relation) -> None:
    """Refuse a relation that this person may not state."""
    space_id, child = relation.space_id, relation.guardians_of
    view.rights.check_band(space_id, relation.band)
    guardians = view.listings.household.guardians()
    if child is not None and view.rights.person_id not in guardians.get(child, ()):
        raise InvalidMemoryError(f"it is for the guardians of {child!r}, and you are none of them")
    if not relation.evidence and space_id not in view.rights.own_spaces:
        raise NotTheirsError(
            f"without evidence only an owner of {space_id!r} may relate; name a memory there "
            "that you said"
        )
    for doc_id in relation.evidence:
        if not view.may_edit(view.memory(doc_id)):
            raise NotTheirsError(
                f"{doc_id!r} is evidence only for its author, or for an owner of "
                f"{space_id!r}; nothing was related"
            )


def _own_rows(view: EditableView, relation: Relation) -> list[StoredRelation]:
    """Return the rows of a relation, all stated by this person; none where they may not see it.

    Raises:
        NotTheirsError: If others stated it.
    """
    rows = [
        row
        for row in relations.matching(view.listings, relation, view.scope)
        if partition_of(row.subject.id) in view.rights.unredacted_partitions
    ]
    if relation.space_id not in view.rights.own_spaces:
        for authors in view.listings.evidence_authors(rows):
            if not authors or not all(map(view.rights.is_author, authors)):
                raise NotTheirsError(
                    "this relation rests on what others said, or on nothing; only an owner of "
                    f"{relation.space_id!r} may state it again or remove it"
                )
    return rows
