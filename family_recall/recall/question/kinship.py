"""Find relatives: who has a role to a person, by the relations the asker may see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from family_recall.english.kinship import (
    INVERSE,
    IS_A,
    KINSHIP_PATHS,
    ORDERS,
    SORT_OF_NOUN,
    SORT_OF_TITLE,
    KinshipRole,
    RelationMeaning,
    meaning_of,
    relation_phrase,
)
from family_recall.english.text import normalise
from family_recall.store.file.schema import partition_of
from family_recall.store.graph import Entity
from family_recall.store.relations import StoredRelation
from family_recall.store.snapshot import Snapshot
from family_recall.types import Scope

MIN_RELATION_CONFIDENCE = 0.5
"""Relations below this confidence are ignored."""

_MAX_ENTITIES = 32
_MAX_POSSIBLE = 3
"""People who may be meant by a role; of more than these none is searched for."""


@dataclass(frozen=True, slots=True)
class Relatives:
    """The entities that have a role, in every partition in scope, and what says so.

    ``relations`` are those on the path, from the person outwards.
    If nobody certainly has the role, ``possible`` are the few who may: of a niece and nephew of
    whom nothing more is known, both.
    """

    entities: tuple[Entity, ...] = ()
    relations: tuple[StoredRelation, ...] = ()
    possible: tuple[Entity, ...] = ()


def relatives(
    whose: Sequence[Entity], role: KinshipRole, scope: Scope, snapshot: Snapshot
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
    """
    start = in_all_partitions(whose, scope, snapshot)
    possible: tuple[Entity, ...] = ()
    for paths in KINSHIP_PATHS.get(role.link, (((role.link,),),)):
        ends: dict[Entity, tuple[StoredRelation, ...]] = {}
        for path in paths:
            for end, walked in _walk(start, path, scope, snapshot).items():
                ends.setdefault(end, walked)
        others = [end for end in ends if end not in start][:_MAX_ENTITIES]
        candidates = in_all_partitions(others, scope, snapshot)
        certain, unknown = (
            tuple(end for end in some if end not in start)
            for some in _of_sort(candidates, role, scope, snapshot)
        )
        if certain:
            walked_to = [ends.get(end, ()) for end in certain]
            # From the person outwards: all first steps, then all second ones.
            steps = [step for level in zip_longest(*walked_to) for step in level if step]
            return Relatives(certain, tuple(dict.fromkeys(steps)))
        possible = possible or unknown
    return Relatives(possible=possible if len(_individuals(possible)) <= _MAX_POSSIBLE else ())


def is_one(entities: Iterable[Entity]) -> bool:
    """Whether several partitions' entities are all the same person or thing."""
    return len(_individuals(entities)) == 1


def names_of(entities: Iterable[Entity]) -> list[str]:
    """Return what each of some people and things is called.

    The several entities of one are called by the shortest of their names.
    """
    names = ([entity.name for entity in group] for group in _individuals(entities))
    return list(dict.fromkeys(min(group, key=lambda name: (len(name), name)) for group in names))


def _walk(
    start: Sequence[Entity], path: Sequence[str], scope: Scope, snapshot: Snapshot
) -> dict[Entity, tuple[StoredRelation, ...]]:
    """Follow a path of links; returns where it ends, with the relations that led there."""
    ends: dict[Entity, tuple[StoredRelation, ...]] = dict.fromkeys(start, ())
    for step, link in enumerate(path):
        if step:
            first = list(ends)[:_MAX_ENTITIES]
            ends = {
                end: next((ends[one] for one in first if is_same(one, end)), ())
                for end in in_all_partitions(first, scope, snapshot)
            }
        ids = {entity.id: walked for entity, walked in ends.items()}
        reached: dict[Entity, tuple[StoredRelation, ...]] = {}
        for relation in credible_relations(list(ends), scope, snapshot):
            meaning = meaning_of(relation.relation)
            if meaning is None:
                continue
            subject, object_ = relation.subject, relation.object
            if meaning.link == link and object_.id in ids:
                reached.setdefault(subject, (*ids[object_.id], relation))
            if INVERSE[meaning.link] == link and subject.id in ids:
                reached.setdefault(object_, (*ids[subject.id], relation))
        ends = reached
    return ends


def _of_sort(
    entities: Sequence[Entity], role: KinshipRole, scope: Scope, snapshot: Snapshot
) -> tuple[list[Entity], list[Entity]]:
    """Split off those known to be what a role asks for, and those who may be."""
    if not entities or not (role.sorts or role.order):
        return list(entities), []
    known: dict[int, set[str]] = {entity.id: set() for entity in entities}
    for alias, entity in snapshot.entities(list(SORT_OF_TITLE), scope):
        known.get(entity.id, set()).add(SORT_OF_TITLE[alias])
    for relation in credible_relations(entities, scope, snapshot):
        meaning = meaning_of(relation.relation) or RelationMeaning("")
        is_a = relation_phrase(relation.relation) in IS_A
        sort = SORT_OF_NOUN.get(normalise(relation.object.name), "") if is_a else ""
        known.get(relation.subject.id, set()).update((sort or meaning.subject, meaning.order))
        known.get(relation.object.id, set()).add(meaning.object)
    fitting, unknown = [], []
    for group in _individuals(entities):
        about = set().union(*(known[entity.id] for entity in group)) - {""}
        orders = about & set(ORDERS.values())
        sorts = about - orders
        if role.order and orders and role.order not in orders:
            continue
        fits = not role.sorts or bool(sorts & role.sorts)
        if fits and (not role.order or orders):
            fitting.append(group)
        elif fits or not sorts - {"pet"}:
            unknown.append(group)
    if not fitting and len(unknown) == 1:
        fitting, unknown = unknown, []
    return [e for group in fitting for e in group], [e for group in unknown for e in group]


def credible_relations(
    entities: Sequence[Entity], scope: Scope, snapshot: Snapshot, *, ended: bool = False
) -> list[StoredRelation]:
    """List the relations of some entities that hold, or have ended, and are at least half sure."""
    relations = snapshot.relations([entity.id for entity in entities], scope, ended=ended)
    return [relation for relation in relations if relation.confidence >= MIN_RELATION_CONFIDENCE]


def in_all_partitions(entities: Sequence[Entity], scope: Scope, snapshot: Snapshot) -> list[Entity]:
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
        if any(is_same(entity, other, alias) for entity in entities)
    ]
    return list(dict.fromkeys([*entities, *same]))


def _individuals(entities: Iterable[Entity]) -> list[list[Entity]]:
    """Group the entities that are the same person or thing, in their order."""
    groups: list[list[Entity]] = []
    for entity in entities:
        for group in groups:
            if any(is_same(member, entity) or is_same(entity, member) for member in group):
                group.append(entity)
                break
        else:
            groups.append([entity])
    return groups


def is_same(entity: Entity, other: Entity, alias: str | None = None) -> bool:
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
