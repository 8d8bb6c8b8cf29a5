"""Typed relations between two entities: stored, listed and removed."""

from __future__ import annotations

from typing import Unpack

from family_recall.access.rights import EditableView, editable_view
from family_recall.api.arguments import Part, context_of
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
        """Store a relation; it replaces one of the same ends, kind and ``valid_from``.

        Args:
            relation: The relation.
            person_id: Who states it. Its evidence must be memories that they may correct; without
                evidence they must own the space. When left out, nothing is checked.

        Raises:
            UnknownSpaceError: If the space does not exist, or they may not enter it.
            UnknownMemoryError: If evidence is not in that space and band, or not visible to them.
            UnknownPersonError: If there is no such person.
            NotTheirsError: If evidence is another's, if there is none and they do not own the
                space, or if others have stated that relation.
            InvalidMemoryError: If they could not see the relation.
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
        """List the visible relations that are valid at ``ctx.as_of``, the oldest first.

        Of ``ctx.filters`` only ``allow_shared`` is used.

        Raises:
            InvalidRequestError: If ``limit`` is below 1.
            UnknownPersonError, UnknownSpaceError: If person or space does not exist, or the person
                may not enter the space.
        """
        if limit < 1:
            raise InvalidRequestError(f"limit must be 1 or more, got {limit}")
        ctx = context_of(ctx, fields)
        now_s = self._engine.now(ctx).timestamp()
        with self._engine.store.snapshot() as snapshot:
            return snapshot.stated_relations(self._engine.scope(snapshot, ctx, now_s), limit)

    def remove(self, relation: Relation, *, person_id: str) -> bool:
        """Remove a relation; return False if nobody had stated it.

        Names that only it mentioned are removed too; its evidence stays.

        Args:
            relation: As listed or added. Its ends, kind, space, band, guardians and
                ``valid_from`` identify it; other fields are ignored.
            person_id: An owner of its space, or the author of all its evidence.

        Raises:
            InvalidRequestError: If no person is named.
            UnknownPersonError, UnknownSpaceError: If one does not exist, or the person may not
                enter the space.
            NotTheirsError: If the person may not remove it.
        """
        with self._engine.store.writing() as writing:
            view = self._view(writing.listings, relation, person_id)
            rows = _own_rows(view, relation)
            if rows:
                entities = relations.unrelate(writing, relation, rows, view.scope)
                update_entities(self._engine.indexer, writing, entities)
                writing.erasure_log.set_rewrite_due()
        self._engine.clean()
        return bool(rows)

    def may_remove(self, relation: Relation, *, person_id: str) -> bool:
        """Return whether a relation exists and this person may remove it.

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
    """Return the visible rows of a relation, all stated by this person.

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
