"""Find relatives: who has a role to a person, by the relations the asker may see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from family_recall.query.kinship_terms import (
    INVERSE,
    IS_A,
    KINSHIP_PATHS,
    RELATION_MEANINGS,
    SORT_OF_NOUN,
    SORT_OF_TITLE,
    KinshipRole,
    RelationMeaning,
)
from family_recall.query.text import normalise
from family_recall.stores.file.row_ids import partition_of
from family_recall.stores.read.snapshot import Snapshot
from family_recall.stores.records import Entity, StoredRelation
from family_recall.types import Scope

MAX_STEPS = 2
"""Relations on the longest path from a person to their relative."""

MIN_RELATION_CONFIDENCE = 0.5
"""Relations below this confidence are ignored."""

_MAX_ENTITIES = 32


@dataclass(frozen=True, slots=True)
class Relatives:
    """The entities that have a role, in every partition in scope, and the length of the path."""

    entities: tuple[Entity, ...] = ()
    steps: int = 0


def relatives(
    whose: Sequence[Entity], role: KinshipRole, scope: Scope, snapshot: Snapshot, *, max_steps: int
) -> Relatives:
    """Find the entities that have a role to a person, by the relations in scope.

    Relations are read in both directions and composed: a grandmother is the mother of a parent.
    Of several candidates, those known to be of the role's sort are returned; if there are none,
    the only candidate of unknown sort, and nobody if there are several.

    Args:
        whose: The entities of the person, in any partition.
        role: The role to find.
        scope: What the asker may see.
        snapshot: The file.
        max_steps: Relations that may be composed, 1 or 2.
    """
    start = _in_all_partitions(whose, scope, snapshot)
    for paths in KINSHIP_PATHS.get(role.link, (((role.link,),),)):
        ends: dict[Entity, int] = {}
        for path in paths:
            if len(path) <= max_steps:
                for end in _walk(start, path, scope, snapshot):
                    ends.setdefault(end, len(path))
        others = [end for end in ends if end not in start][:_MAX_ENTITIES]
        candidates = _in_all_partitions(others, scope, snapshot)
        fitting = tuple(
            end for end in _of_sort(candidates, role, scope, snapshot) if end not in start
        )
        if fitting:
            return Relatives(fitting, max(ends.get(end, 0) for end in fitting))
    return Relatives()


def is_one(entities: Iterable[Entity]) -> bool:
    """Whether several partitions' entities are all the same person or thing."""
    return len(_individuals(entities)) == 1


def _walk(
    start: Sequence[Entity], path: Sequence[str], scope: Scope, snapshot: Snapshot
) -> list[Entity]:
    ends = list(start)
    for step, link in enumerate(path):
        if step:
            ends = _in_all_partitions(ends[:_MAX_ENTITIES], scope, snapshot)
        ids = {entity.id for entity in ends}
        reached: dict[Entity, None] = {}
        for relation in _credible_relations(ends, scope, snapshot):
            meaning = RELATION_MEANINGS.get(_phrase(relation.relation))
            if meaning is None:
                continue
            if meaning.link == link and relation.object.id in ids:
                reached[relation.subject] = None
            if INVERSE[meaning.link] == link and relation.subject.id in ids:
                reached[relation.object] = None
        ends = list(reached)
    return ends


def _of_sort(
    entities: Sequence[Entity], role: KinshipRole, scope: Scope, snapshot: Snapshot
) -> list[Entity]:
    if not entities or not role.sorts:
        return list(entities)
    known: dict[int, set[str]] = {entity.id: set() for entity in entities}
    for alias, entity in snapshot.entities(list(SORT_OF_TITLE), scope):
        known.get(entity.id, set()).add(SORT_OF_TITLE[alias])
    for relation in _credible_relations(entities, scope, snapshot):
        phrase = _phrase(relation.relation)
        meaning = RELATION_MEANINGS.get(phrase, RelationMeaning(""))
        sort = SORT_OF_NOUN.get(normalise(relation.object.name), "") if phrase in IS_A else ""
        known.get(relation.subject.id, set()).add(sort or meaning.subject)
        known.get(relation.object.id, set()).add(meaning.object)
    fitting, unknown = [], []
    for group in _individuals(entities):
        sorts = set().union(*(known[entity.id] for entity in group)) - {""}
        if sorts & role.sorts:
            fitting.append(group)
        elif not sorts - {"pet"}:
            unknown.append(group)
    chosen = fitting or (unknown if len(unknown) == 1 else [])
    return [entity for group in chosen for entity in group]


def _credible_relations(
    entities: Sequence[Entity], scope: Scope, snapshot: Snapshot
) -> list[StoredRelation]:
    relations = snapshot.relations([entity.id for entity in entities], scope)
    return [relation for relation in relations if relation.confidence >= MIN_RELATION_CONFIDENCE]


def _in_all_partitions(
    entities: Sequence[Entity], scope: Scope, snapshot: Snapshot
) -> list[Entity]:
    """Add the entities by which other partitions in scope know the same people and things."""
    if len(scope.partitions) < 2:
        return list(dict.fromkeys(entities))
    keys: dict[str, None] = {}
    for entity in entities:
        name = normalise(entity.name)
        keys.update(dict.fromkeys((name, _first(name))))
        if entity.person_id is not None:
            keys[f"@{entity.person_id}"] = None
    matches = snapshot.entities(list(keys), scope) if keys else []
    same = [
        other
        for alias, other in matches
        if any(_is_same(entity, other, alias) for entity in entities)
    ]
    return list(dict.fromkeys([*entities, *same]))


def _individuals(entities: Iterable[Entity]) -> list[list[Entity]]:
    """Group the entities that are the same person or thing, in their order."""
    groups: list[list[Entity]] = []
    for entity in entities:
        for group in groups:
            if any(_is_same(member, entity) or _is_same(entity, member) for member in group):
                group.append(entity)
                break
        else:
            groups.append([entity])
    return groups


def _is_same(entity: Entity, other: Entity, alias: str | None = None) -> bool:
    """Whether two entities are the same person or thing; ``alias`` is another name of ``other``.

    People are compared by id. Within a partition, two names are two things; across partitions
    the same name, or a first name without a person id, is the same person.
    """
    if entity.person_id is not None and other.person_id is not None:
        return entity.person_id == other.person_id
    if partition_of(entity.id) == partition_of(other.id):
        return entity.id == other.id
    name, other_name = normalise(entity.name), normalise(other.name)
    return (
        name == other_name
        or (entity.person_id is None and name in {alias, _first(other_name)})
        or (other.person_id is None and other_name == _first(name))
    )


def _first(name: str) -> str:
    return name.split(" ", maxsplit=1)[0]


def _phrase(relation: str) -> str:
    """Normalise a relation: *is the Mother_of* is *mother of*."""
    words = normalise(relation).split(" ")
    while len(words) > 1 and words[0] in {"is", "the", "a", "an"}:
        words = words[1:]
    return " ".join(words)
