"""Relates named things of a space, on the evidence of memories, and takes relations back."""

from __future__ import annotations

from collections.abc import Sequence

from family_recall.access import policy
from family_recall.english.text import normalise
from family_recall.errors import UnknownMemoryError
from family_recall.remember.entity_linker import EntityLinker
from family_recall.store.listing import Listings
from family_recall.store.partitions import RedactedView
from family_recall.store.relations import RecordedRelation, StoredRelation
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Relation, Scope


def relate(writing: WriteTransaction, linker: EntityLinker, recorded: RecordedRelation) -> None:
    """Write a relation, also into the redacted views of its space that it is open to.

    Raises:
        UnknownSpaceError: If the space is not there.
        UnknownMemoryError: If a piece of evidence is not in that space and band.
    """
    relation = recorded.relation
    evidence = _write(writing, linker, recorded)
    missing = sorted(set(relation.evidence) - set(evidence))
    if missing:
        whose = f", for {relation.guardians_of}'s guardians" if relation.guardians_of else ""
        raise UnknownMemoryError(
            f"evidence {missing[0]!r} is no memory of {relation.space_id!r} "
            f"in band {relation.band!r}{whose}"
        )
    for view in writing.partitions.views_of(relation.space_id):
        write_view(writing, linker, recorded, view)


def write_view(
    writing: WriteTransaction, linker: EntityLinker, recorded: RecordedRelation, view: RedactedView
) -> None:
    """Write a relation into a redacted view, with the evidence that its role sees."""
    if policy.opens(view.hidden.role, recorded.relation.band):
        _write(writing, linker, recorded, view.no)


def matching(listings: Listings, relation: Relation, scope: Scope) -> list[StoredRelation]:
    """List the stored relations that another means; none if there are none.

    Its ends may be named as when it was recorded, as their entities are, or by any alias of those.
    If some match by name, only those are meant.
    """
    ends = (relation.subject, relation.object)
    candidates = [
        row
        for row in listings.relations_of_kind(relation, scope)
        if all(
            end in {given, name} or {end, normalise(end)} & listings.aliases_of(entity.id)
            for end, given, name, entity in zip(
                ends, row.given_names, row.names, (row.subject, row.object), strict=True
            )
        )
    ]
    by_name = [row for row in candidates if ends in {row.given_names, row.names}]
    return by_name or candidates


def unrelate(
    writing: WriteTransaction, relation: Relation, rows: Sequence[StoredRelation], scope: Scope
) -> set[int]:
    """Delete relations, also from redacted views; returns the entities they were between.

    What becomes of those entities is the caller's to decide.
    """
    deleted = list(rows)
    for view in writing.partitions.views_of(relation.space_id):
        deleted += [
            copy
            for copy in writing.listings.relations_of_kind(relation, scope, view.no)
            if any(_is_copy(copy, original) for original in rows)
        ]
    for row in deleted:
        writing.relations.remove(row)
    return {entity.id for row in deleted for entity in (row.subject, row.object)}


def _is_copy(copy: StoredRelation, original: StoredRelation) -> bool:
    """Return whether a view's relation is a copy of another; a view may know other names."""
    return copy.recorded_s == original.recorded_s and all(
        {*names} & {*original_names}
        for names, original_names in zip(
            zip(copy.given_names, copy.names, strict=True),
            zip(original.given_names, original.names, strict=True),
            strict=True,
        )
    )


def _write(
    writing: WriteTransaction, linker: EntityLinker, recorded: RecordedRelation, view: int = 0
) -> dict[str, int]:
    """Write a relation with its current evidence; returns the row id of each by doc_id."""
    relation = recorded.relation
    place = (relation.band, relation.guardians_of)
    evidence = {
        doc_id: stored.id
        for doc_id in relation.evidence
        if (stored := writing.current(relation.space_id, doc_id, view)) is not None
        and (stored.memory.band, stored.memory.guardians_of) == place
    }
    partition = writing.partitions.find_or_create(relation.space_id, *place, view)
    subject, object_ = (
        linker.entity(partition, relation.space_id, name)
        for name in (relation.subject, relation.object)
    )
    writing.relations.put(subject, recorded, object_, list(evidence.values()), writing.zone)
    return evidence
