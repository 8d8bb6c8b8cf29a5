"""Find relatives: who has a role to a person, by the relations the asker may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from family_recall.english.kinship import (
    INVERSE,
    IS_A,
    KINSHIP_PATHS,
    ORDERS,
    PETS,
    SORT_OF_WORD,
    Kin,
    meaning_of,
    relation_phrase,
)
from family_recall.english.text import normalise
from family_recall.store.file.schema import partition_of
from family_recall.store.graph import Entity
from family_recall.store.relations import StoredRelation
from family_recall.store.transaction import Snapshot
from family_recall.types import Scope

MIN_RELATION_CONFIDENCE = 0.5
"""Relations below this confidence are ignored."""

_MAX_ENTITIES = 32
_MAX_POSSIBLE = 3
"""People who may be meant by a role; of more than these none is searched for."""
_MAX_ROLES = 8
"""Roles of one question that are looked up."""

Paths: TypeAlias = dict[Entity, tuple[StoredRelation, ...]]
"""Entities, each with the relations that lead there."""


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


class Kinship:
    """The relatives of people as one scope knows them."""

    def __init__(self, scope: Scope, snapshot: Snapshot) -> None:
        self._scope = scope
        self._snapshot = snapshot
        self._known: dict[tuple[Sequence[Entity], Kin], Relatives] = {}

    def of(self, whose: Sequence[Entity], kin: Kin) -> Relatives:
        """Find the entities that are a person's kin, by the relations in scope.

        Relations are read in both directions and composed: a grandmother is the mother of a
        parent. Of several candidates, those known to be of the sort are returned; if there are
        none, the only candidate of unknown sort, and nobody if there are several. ``whose`` are
        the entities of the person, in any partition.
        """
        key = (tuple(whose), kin)
        if key not in self._known:
            if not whose or len(self._known) >= _MAX_ROLES:
                return Relatives()
            self._known[key] = self._find(whose, kin)
        return self._known[key]

    def _find(self, whose: Sequence[Entity], kin: Kin) -> Relatives:
        start = in_all_partitions(whose, self._scope, self._snapshot)
        possible: tuple[Entity, ...] = ()
        for paths in KINSHIP_PATHS.get(kin.link, (((kin.link,),),)):
            ends: Paths = {}
            for path in paths:
                for end, walked in self._walk(start, path).items():
                    ends.setdefault(end, walked)
            certain, unknown = self._of_sort([end for end in ends if end not in start], kin)
            if certain:
                # From the person outwards: all first steps, then all second ones.
                levels = zip_longest(*(ends[end] for end in certain))
                steps = dict.fromkeys(step for level in levels for step in level if step)
                return Relatives(tuple(certain), tuple(steps))
            possible = possible or tuple(unknown)
        return Relatives(possible=possible if len(_individuals(possible)) <= _MAX_POSSIBLE else ())

    def _walk(self, start: Sequence[Entity], path: Sequence[str]) -> Paths:
        """Follow a path of links; returns where it ends."""
        ends: Paths = dict.fromkeys(start, ())
        for link in path:
            ids = {entity.id: walked for entity, walked in ends.items()}
            reached: Paths = {}
            for relation in credible_relations(list(ends), self._scope, self._snapshot):
                meaning = meaning_of(relation.relation)
                if meaning is None:
                    continue
                subject, object_ = relation.subject, relation.object
                if meaning.link == link and object_.id in ids:
                    reached.setdefault(subject, (*ids[object_.id], relation))
                if INVERSE[meaning.link] == link and subject.id in ids:
                    reached.setdefault(object_, (*ids[subject.id], relation))
            ends = in_every_partition(reached, self._scope, self._snapshot)
        return ends

    def _of_sort(self, entities: Sequence[Entity], kin: Kin) -> tuple[list[Entity], list[Entity]]:
        """Split off those known to be of a sort and order, and those who may be."""
        if not entities or not (kin.sort or kin.order):
            return list(entities), []
        known: dict[int, set[str]] = {entity.id: set() for entity in entities}
        for alias, entity in self._snapshot.entities(list(SORT_OF_WORD), self._scope):
            known.get(entity.id, set()).add(SORT_OF_WORD[alias])
        for relation in credible_relations(entities, self._scope, self._snapshot):
            meaning = meaning_of(relation.relation) or Kin("")
            is_a = relation_phrase(relation.relation) in IS_A
            sort = SORT_OF_WORD.get(normalise(relation.object.name), "") if is_a else ""
            known.get(relation.subject.id, set()).update((sort or meaning.sort, meaning.order))
            known.get(relation.object.id, set()).add(meaning.object_sort)
        fitting, unknown = [], []
        for group in _individuals(entities):
            about = set().union(*(known[entity.id] for entity in group)) - {""}
            orders = about.intersection(ORDERS.values())
            sorts = about - orders
            if kin.order and orders and kin.order not in orders:
                continue
            fits = kin.sort in {"", *sorts} or (kin.sort == "pet" and bool(sorts & PETS))
            if fits and (not kin.order or orders):
                fitting.append(group)
            elif fits or not sorts - {"pet"}:
                unknown.append(group)
        if not fitting and len(unknown) == 1:
            fitting, unknown = unknown, []
        return [e for group in fitting for e in group], [e for group in unknown for e in group]


def credible_relations(
    entities: Sequence[Entity] | None,
    scope: Scope,
    snapshot: Snapshot,
    *,
    ended: bool = False,
) -> list[StoredRelation]:
    """List the relations of some entities, or all, that are at least half sure.

    Those that hold, or those that have ended.
    """
    ids = None if entities is None else [entity.id for entity in entities]
    relations = snapshot.relations(ids, scope, ended=ended)
    return [relation for relation in relations if relation.confidence >= MIN_RELATION_CONFIDENCE]


def in_every_partition(
    reached: Mapping[Entity, tuple[StoredRelation, ...]], scope: Scope, snapshot: Snapshot
) -> Paths:
    """Add the entities by which other partitions know what was reached, by the same way."""
    first = list(reached)[:_MAX_ENTITIES]
    return {
        entity: reached[entity]
        if entity in reached
        else next((reached[each] for each in first if is_same(each, entity)), ())
        for entity in in_all_partitions(first, scope, snapshot)
    }


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


def is_one(entities: Iterable[Entity]) -> bool:
    """Whether several partitions' entities are all the same person or thing."""
    return len(_individuals(entities)) == 1


def names_of(entities: Iterable[Entity]) -> list[str]:
    """Return what each of some people and things is called.

    The several entities of one are called by the shortest of their names.
    """
    names = ([entity.name for entity in group] for group in _individuals(entities))
    return list(dict.fromkeys(min(group, key=lambda name: (len(name), name)) for group in names))


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
