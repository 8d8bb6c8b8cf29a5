"""Relating: typed edges between named things, and the memories they rest on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from family_recall.access import policy
from family_recall.errors import UnknownMemoryError
from family_recall.indexing.entity_linker import EntityLinker
from family_recall.query.text import normalise
from family_recall.stores.graph.relations import Statement
from family_recall.stores.read.listing import Listings
from family_recall.stores.records import ToldRelation, epoch_s
from family_recall.stores.write.partitions import RedactedView
from family_recall.stores.write.transaction import WriteTransaction
from family_recall.types import Relation, Scope


def relate(
    writing: WriteTransaction, cast: EntityLinker, told: ToldRelation, zone: dt.tzinfo
) -> None:
    """Write a relation, and behind each veil of its space what that role sees of it.

    Raises:
        UnknownSpaceError: If the space is not there.
        UnknownMemoryError: If a piece of evidence is not in that space and band.
    """
    relation = told.relation
    evidence = _evidence(writing, relation)
    missing = sorted(set(relation.evidence) - set(evidence))
    if missing:
        whose = f", for {relation.guardians_of}'s guardians" if relation.guardians_of else ""
        raise UnknownMemoryError(
            f"evidence {missing[0]!r} is no memory of {relation.space_id!r} "
            f"in band {relation.band!r}{whose}"
        )
    _put(writing, cast, told, zone, evidence.values())
    for veil in writing.partitions.views_of(relation.space_id):
        show(writing, cast, told, zone, veil)


def show(
    writing: WriteTransaction,
    cast: EntityLinker,
    told: ToldRelation,
    zone: dt.tzinfo,
    veil: RedactedView,
) -> None:
    """Write a relation's view behind a veil, with the evidence that role sees."""
    if policy.opens(veil.hidden.role, told.relation.band):
        seen = _evidence(writing, told.relation, veil.no)
        _put(writing, cast, told, zone, seen.values(), veil.no)


def statements(
    listings: Listings, relation: Relation, scope: Scope, veil: int = 0
) -> list[Statement]:
    """Find what was told as a relation; none where nothing was.

    Its ends may be called what they were told as, what they are listed as, or any name that means
    them here; where some are called just so, those alone are meant.
    """
    ends = (relation.subject, relation.object)
    alike = [
        one
        for one in listings.statements(relation, scope, veil)
        if all(
            name in {stated, named} or {name, normalise(name)} & aliases
            for name, stated, named, aliases in zip(
                ends, one.stated, one.names, one.aliases, strict=True
            )
        )
    ]
    exactly = [one for one in alike if ends in {one.stated, one.names}]
    return exactly or alike


def unrelate(
    writing: WriteTransaction, relation: Relation, told: Sequence[Statement], scope: Scope
) -> set[int]:
    """Take back what was told as a relation, and its views; gives the entities it was about.

    Names that nothing else gives a reason for are the caller's.
    """
    gone = list(told)
    for veil in writing.partitions.views_of(relation.space_id):
        gone += [
            view
            for view in writing.listings.statements(relation, scope, veil.no)
            if any(_is_view_of(view, one) for one in told)
        ]
    for one in gone:
        writing.names.remove_relation(one.no, one.subject, one.object)
    return {entity for one in gone for entity in (one.subject, one.object)}


def _is_view_of(view: Statement, told: Statement) -> bool:
    """Whether a role was told a relation then; a view knows fewer of a thing's names, or others."""
    return view.recorded_s == told.recorded_s and all(
        set(seen) & set(meant)
        for seen, meant in zip(
            zip(view.stated, view.names, strict=True),
            zip(told.stated, told.names, strict=True),
            strict=True,
        )
    )


def _put(
    writing: WriteTransaction,
    cast: EntityLinker,
    told: ToldRelation,
    zone: dt.tzinfo,
    evidence: Iterable[int],
    veil: int = 0,
) -> None:
    relation = told.relation
    partition = writing.partitions.find_or_create(
        relation.space_id, relation.band, relation.guardians_of, veil
    )
    names = (relation.subject, relation.object)
    subject, object_ = cast.ends(partition, relation.space_id, names)
    moments = (
        epoch_s(relation.valid_from, zone), epoch_s(relation.valid_until, zone), told.recorded_s,
    )  # fmt: skip
    writing.names.put_relation(subject, relation, object_, moments, list(evidence))


def _evidence(writing: WriteTransaction, relation: Relation, veil: int = 0) -> dict[str, int]:
    """Find the current memories a relation rests on, row ids by doc_id; others are left out."""
    key = (relation.band, relation.guardians_of)
    found = {
        doc_id: writing.current(relation.space_id, doc_id, veil) for doc_id in relation.evidence
    }
    return {
        doc_id: stored.id
        for doc_id, stored in found.items()
        if stored is not None and (stored.memory.band, stored.memory.guardians_of) == key
    }
