"""Entity provenance: update the entities that an erasure affects.

Authors, relations and, for people of the household, mentions in texts create an entity. It is
deleted once its last source is erased. If the remaining sources give it another name, *Fahim*
rather than *Fahim Khan*, it is derived from them again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from family_recall.english.text import names_in, normalise
from family_recall.remember import Indexer
from family_recall.store.file.schema import partition_of
from family_recall.store.relations import StoredRelation
from family_recall.store.transaction import WriteTransaction
from family_recall.store.versions import Criteria, Version


def entities_of_superseded(writing: WriteTransaction, versions: Iterable[Version]) -> set[int]:
    """Find the entities that superseded versions name; the mention table has current ones only."""
    entities: set[int] = set()
    by_alias: dict[int, dict[str, int]] = {}
    for version in versions:
        if not version.past:
            continue
        partition = partition_of(version.id)
        if partition not in by_alias:
            by_alias[partition] = writing.entities.by_alias(partition)
        known = by_alias[partition]
        aliases = [*names_in(version.text, known), normalise(version.author or "")]
        entities |= {known[alias] for alias in aliases if alias in known}
    return entities


def update_entities(indexer: Indexer, writing: WriteTransaction, entities: Collection[int]) -> None:
    """Delete or rename entities that lost a source."""
    for entity in sorted(entities, reverse=True):
        stored = writing.entities.name_of(entity)
        if stored is None:
            continue
        name, person = stored
        sharing = writing.entities.sharing_aliases(entity)
        if len(sharing) > 1:
            # The order in which entities were found decided which of them got a shared name.
            _derive_in_partition(indexer, writing, sharing)
        elif person is not None:
            if not writing.entities.is_referenced(entity) and not _in_superseded(writing, entity):
                writing.entities.delete(entity)
        else:
            names = _names_by_age(writing, entity)
            if [name] != names[:1] or len({*map(normalise, names)}) > 1:
                _derive_in_partition(indexer, writing, sharing)


def derive_again(indexer: Indexer, writing: WriteTransaction, entities: Collection[int]) -> None:
    """Derive entities again, with all that share a name with one of them."""
    by_partition: dict[int, set[int]] = {}
    for entity in entities:
        if writing.entities.name_of(entity) is not None:
            sharing = writing.entities.sharing_aliases(entity)
            by_partition.setdefault(partition_of(entity), set()).update(sharing)
    for in_partition in by_partition.values():
        _derive_in_partition(indexer, writing, in_partition)


def restore_relations(
    indexer: Indexer, writing: WriteTransaction, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Restore relations that were erased with their evidence."""
    for row in rows:
        partition = partition_of(row["subject"])
        names = [row["subject_name"], row["object_name"]]
        subject, object_ = json.loads(row["stated"]) if row["stated"] else names
        linker = indexer.writer(writing).linker
        space_id = writing.household.space_of(partition)
        first, second = (linker.entity(partition, space_id, name) for name in (subject, object_))
        writing.relations.restore({**row, "subject": first, "object": second})


def _names_by_age(writing: WriteTransaction, entity: int) -> list[str]:
    """List the names of an entity as written, the earliest first."""
    aliases = writing.entities.aliases_of(entity)
    names = list(writing.entities.author_names(entity))
    for relation in writing.relations.rows([entity]):
        ends = zip(relation.given_names, (relation.subject, relation.object), strict=True)
        names += [(relation.recorded_s, name) for name, end in ends if end.id == entity]
    names += [
        (version.recorded_s, version.author)
        for version in writing.versions.superseded(partition_of(entity))
        if version.author and normalise(version.author) in aliases
    ]
    return [name for _, name in sorted(names, key=lambda pair: pair[0])]


def _in_superseded(writing: WriteTransaction, entity: int) -> bool:
    aliases = writing.entities.aliases_of(entity)
    superseded = writing.versions.superseded(partition_of(entity))
    return any(_names_any(version, aliases) for version in superseded)


def _names_any(version: Version, aliases: frozenset[str]) -> bool:
    by_author = bool(version.author) and normalise(version.author or "") in aliases
    return by_author or bool(names_in(version.text, aliases))


def _derive_in_partition(
    indexer: Indexer, writing: WriteTransaction, entities: Collection[int]
) -> None:
    """Delete entities of one partition, and derive them from their sources in recorded order.

    Superseded versions are sources too, though no mentions link to them.
    """
    partition = partition_of(next(iter(entities)))
    space_id = writing.household.space_of(partition)
    aliases = frozenset(
        alias for entity in entities for alias in writing.entities.aliases_of(entity)
    )
    superseded = [
        version
        for version in writing.versions.superseded(partition)
        if _names_any(version, aliases)
    ]
    relations = writing.relations.rows(entities)
    memories = {memory for entity in entities for memory in writing.entities.delete(entity)}
    current = writing.versions.find(None, Criteria(ids=memories))
    sources: list[tuple[float, int, Version | StoredRelation]] = [
        *((version.recorded_s, version.id, version) for version in (*current, *superseded)),
        *((relation.recorded_s, relation.no, relation) for relation in relations),
    ]
    moved: list[tuple[int, int]] = []
    for _, _, source in sorted(sources, key=lambda row: row[:2]):
        linker = indexer.writer(writing).linker
        if isinstance(source, StoredRelation):
            named = zip(source.given_names, (source.subject, source.object), strict=True)
            subject, object_ = (
                linker.entity(partition, space_id, name) if end.id in entities else end.id
                for name, end in named
            )
            ends = subject, object_
            writing.relations.move(source.no, *ends)
            moved.append(ends)
        else:
            # The entity derived above was linked to this later memory already.
            writing.entities.remove_mentions(source.id, aliases)
            linker.link(source.id, space_id, source.author, source.text, mention=not source.past)
        writing.edge_buffer.flush()
    for ends in moved:
        writing.relations.rebuild_edges(*ends)
