"""Kinship: somebody and a role in, whoever has that role to them by the visible relations out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from family_recall.query.text import normalise
from family_recall.stores.file.row_ids import partition_of
from family_recall.stores.records import Entity, Snapshot, StoredRelation
from family_recall.types import Scope

MAX_STEPS = 2
"""Relations on the longest way from somebody to their relative."""

MIN_CONFIDENCE = 0.5
"""Confidence from which a relation is believed."""

_MOST = 32


@dataclass(frozen=True, slots=True)
class Role:
    """What somebody is to somebody else.

    ``link`` leads there; ``sorts`` are those who fit (``f``, ``m``, ``dog``, …), any when empty.
    """

    link: str
    sorts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Relatives:
    """Who has a role, as every partition in scope knows them, and over how many relations."""

    entities: tuple[Entity, ...] = ()
    steps: int = 0


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a relation says: the object's ``link`` is the subject; and the sort of either."""

    link: str
    subject: str = ""
    object: str = ""


def relatives(
    whose: Sequence[Entity], role: Role, scope: Scope, snapshot: Snapshot, *, max_steps: int
) -> Relatives:
    """Find who has a role to somebody, by relations in scope, valid at its moment.

    Relations are read both ways and composed: a grandmother is the mother of a parent. Of
    several ends, those known to be of the role's sort are meant. If none is, then the only one
    not known to be of another; of several such nobody is.

    Args:
        whose: Somebody, as any of the partitions know them.
        role: What is looked for.
        scope: What may be seen.
        snapshot: The file.
        max_steps: Relations that may be composed, 1 or 2.
    """
    start = _everywhere(whose, scope, snapshot)
    for ways in _WAYS.get(role.link, (((role.link,),),)):
        ends: dict[Entity, int] = {}
        for way in ways:
            if len(way) <= max_steps:
                for end in _walk(start, way, scope, snapshot):
                    ends.setdefault(end, len(way))
        found = _everywhere([end for end in ends if end not in start][:_MOST], scope, snapshot)
        fitting = tuple(end for end in _of_sort(found, role, scope, snapshot) if end not in start)
        if fitting:
            return Relatives(fitting, max(ends.get(end, 0) for end in fitting))
    return Relatives()


def is_one(entities: Iterable[Entity]) -> bool:
    """Whether several partitions' entities are all the same person or thing."""
    return len(_individuals(entities)) == 1


def _walk(
    start: Sequence[Entity], way: Sequence[str], scope: Scope, snapshot: Snapshot
) -> list[Entity]:
    ends = list(start)
    for at, link in enumerate(way):
        if at:
            ends = _everywhere(ends[:_MOST], scope, snapshot)
        ids = {entity.id for entity in ends}
        reached: dict[Entity, None] = {}
        for relation in _believed(ends, scope, snapshot):
            reading = _READINGS.get(_phrase(relation.relation))
            if reading is None:
                continue
            if reading.link == link and relation.object.id in ids:
                reached[relation.subject] = None
            if _INVERSE[reading.link] == link and relation.subject.id in ids:
                reached[relation.object] = None
        ends = list(reached)
    return ends


def _of_sort(
    entities: Sequence[Entity], role: Role, scope: Scope, snapshot: Snapshot
) -> list[Entity]:
    if not entities or not role.sorts:
        return list(entities)
    known: dict[int, set[str]] = {entity.id: set() for entity in entities}
    for alias, entity in snapshot.entities(list(_SORT_OF_TITLE), scope):
        known.get(entity.id, set()).add(_SORT_OF_TITLE[alias])
    for relation in _believed(entities, scope, snapshot):
        phrase = _phrase(relation.relation)
        reading = _READINGS.get(phrase, _Reading(""))
        sort = _SORT_OF_NOUN.get(normalise(relation.object.name), "") if phrase in _IS_A else ""
        known.get(relation.subject.id, set()).add(sort or reading.subject)
        known.get(relation.object.id, set()).add(reading.object)
    fitting, open_ = [], []
    for one in _individuals(entities):
        sorts = set().union(*(known[entity.id] for entity in one)) - {""}
        if sorts & role.sorts:
            fitting.append(one)
        elif not sorts - {"pet"}:
            open_.append(one)
    chosen = fitting or (open_ if len(open_) == 1 else [])
    return [entity for one in chosen for entity in one]


def _believed(entities: Sequence[Entity], scope: Scope, snapshot: Snapshot) -> list[StoredRelation]:
    found = snapshot.relations([entity.id for entity in entities], scope)
    return [relation for relation in found if relation.confidence >= MIN_CONFIDENCE]


def _everywhere(entities: Sequence[Entity], scope: Scope, snapshot: Snapshot) -> list[Entity]:
    """Add what other partitions in scope know the same people and things as."""
    if len(scope.partitions) < 2:
        return list(dict.fromkeys(entities))
    keys: dict[str, None] = {}
    for entity in entities:
        name = normalise(entity.name)
        keys.update(dict.fromkeys((name, _first(name))))
        if entity.person_id is not None:
            keys[f"@{entity.person_id}"] = None
    found = snapshot.entities(list(keys), scope) if keys else []
    same = [other for alias, other in found if any(_same(one, other, alias) for one in entities)]
    return list(dict.fromkeys([*entities, *same]))


def _individuals(entities: Iterable[Entity]) -> list[list[Entity]]:
    """Put together the entities that are one person or thing, in their order."""
    groups: list[list[Entity]] = []
    for entity in entities:
        for group in groups:
            if any(_same(one, entity) or _same(entity, one) for one in group):
                group.append(entity)
                break
        else:
            groups.append([entity])
    return groups


def _same(one: Entity, other: Entity, alias: str | None = None) -> bool:
    """Whether two entities are one person or thing; the other is known as ``alias`` too.

    People by their ids. Two names of one partition are two things; in different ones a name
    alone is whoever goes by it.
    """
    if one.person_id is not None and other.person_id is not None:
        return one.person_id == other.person_id
    if partition_of(one.id) == partition_of(other.id):
        return one.id == other.id
    name, others = normalise(one.name), normalise(other.name)
    return (
        name == others
        or (one.person_id is None and name in {alias, _first(others)})
        or (other.person_id is None and others == _first(name))
    )


def _first(name: str) -> str:
    return name.split(" ", maxsplit=1)[0]


def _phrase(relation: str) -> str:
    """Bring a relation's words to one form: *is the Mother_of* is *mother of*."""
    words = normalise(relation).split(" ")
    while len(words) > 1 and words[0] in {"is", "the", "a", "an"}:
        words = words[1:]
    return " ".join(words)


_INVERSE = {
    "parent": "child",
    "spouse": "spouse",
    "sibling": "sibling",
    "grandparent": "grandchild",
    "aunt or uncle": "niece or nephew",
    "cousin": "cousin",
    "parent-in-law": "child-in-law",
    "sibling-in-law": "sibling-in-law",
    "pet": "owner",
    "friend": "friend",
    "neighbour": "neighbour",
}
_INVERSE |= {inverse: link for link, inverse in _INVERSE.items()}

_WAYS: dict[str, tuple[tuple[tuple[str, ...], ...], ...]] = {
    "sibling": ((("sibling",), ("parent", "child")),),
    "grandparent": ((("grandparent",), ("parent", "parent")),),
    "grandchild": ((("grandchild",), ("child", "child")),),
    "aunt or uncle": ((("aunt or uncle",), ("parent", "sibling")),),
    "niece or nephew": ((("niece or nephew",), ("sibling", "child")),),
    "cousin": ((("cousin",), ("aunt or uncle", "child")),),
    "parent-in-law": ((("parent-in-law",), ("spouse", "parent")),),
    "child-in-law": ((("child-in-law",), ("child", "spouse")),),
    "sibling-in-law": ((("sibling-in-law",), ("spouse", "sibling"), ("sibling", "spouse")),),
    # A family's dog is somebody's; one's own comes first.
    "pet": (
        (("pet",),),
        (("spouse", "pet"), ("parent", "pet"), ("child", "pet"), ("sibling", "pet")),
    ),
}
"""Where a link leads, way by way; the second list of ways only where the first finds nobody."""

_NOUNS = (
    ("parent", "", "parent"),
    ("parent", "f", "mother mum mom mummy mommy mama mam"),
    ("parent", "m", "father dad daddy papa pa"),
    ("child", "", "child kid"),
    ("child", "f", "daughter"),
    ("child", "m", "son"),
    ("spouse", "", "spouse partner"),
    ("spouse", "f", "wife"),
    ("spouse", "m", "husband hubby"),
    ("sibling", "", "sibling"),
    ("sibling", "f", "sister"),
    ("sibling", "m", "brother"),
    ("grandparent", "", "grandparent"),
    ("grandparent", "f", "grandmother grandma granny gran nan nana nanna"),
    ("grandparent", "m", "grandfather grandpa granddad grandad"),
    ("grandchild", "", "grandchild"),
    ("grandchild", "f", "granddaughter"),
    ("grandchild", "m", "grandson"),
    ("aunt or uncle", "f", "aunt auntie aunty"),
    ("aunt or uncle", "m", "uncle"),
    ("niece or nephew", "f", "niece"),
    ("niece or nephew", "m", "nephew"),
    ("cousin", "", "cousin"),
    ("parent-in-law", "", "parent-in-law"),
    ("parent-in-law", "f", "mother-in-law"),
    ("parent-in-law", "m", "father-in-law"),
    ("child-in-law", "f", "daughter-in-law"),
    ("child-in-law", "m", "son-in-law"),
    ("sibling-in-law", "f", "sister-in-law"),
    ("sibling-in-law", "m", "brother-in-law"),
    ("pet", "pet", "pet"),
    ("pet", "dog", "dog puppy pup"),
    ("pet", "cat", "cat kitten"),
    ("pet", "rabbit", "rabbit bunny"),
    ("pet", "hamster", "hamster"),
    ("pet", "horse", "horse pony"),
    ("pet", "bird", "bird parrot budgie"),
    ("pet", "fish", "fish goldfish"),
    ("pet", "tortoise", "tortoise turtle"),
    ("friend", "", "friend"),
    ("neighbour", "", "neighbour neighbor"),
)
_PLURALS = {"wife": "wives", "child": "children", "grandchild": "grandchildren"}
_PETS = frozenset(sort for link, sort, _ in _NOUNS if link == "pet")


def _nouns() -> Iterable[tuple[str, str, str]]:
    for link, sort, words in _NOUNS:
        for word in words.split(" "):
            yield link, sort, normalise(word)


def _plural(noun: str) -> str:
    first, space, rest = noun.partition(" ")
    ending = f"{first[:-1]}ies" if first.endswith("y") else f"{first}s"
    return _PLURALS.get(first, ending) + space + rest


def _roles() -> dict[str, Role]:
    found: dict[str, Role] = {}
    for link, sort, noun in _nouns():
        sorts = _PETS if sort == "pet" else frozenset({sort} - {""})
        found[noun] = found[_plural(noun)] = Role(link, sorts)
    return found


def _readings() -> dict[str, _Reading]:
    found = {
        "married to": _Reading("spouse"),
        "owns": _Reading("owner"),
        "owner of": _Reading("owner"),
        "owned by": _Reading("pet"),
        "belongs to": _Reading("pet"),
    }
    for link, sort, noun in _nouns():
        found[f"{noun} of"] = _Reading(link, subject=sort)
        found[f"has {noun}"] = found[f"has a {noun}"] = _Reading(_INVERSE[link], object=sort)
        if not sort and _INVERSE[link] == link:
            found[noun] = _Reading(link)
    return found


ROLES = _roles()
"""What people call each other, in the form names are compared in, and what it means."""

LONGEST_ROLE = max(len(noun.split(" ")) for noun in ROLES)
"""Words in the longest of them."""

TITLES = frozenset(
    """
    mum mom mummy mommy mama mam dad daddy papa grandma granny gran nan nana nanna grandpa
    granddad grandad grandmother grandfather mother father auntie aunty
    """.split()
)
"""What people call their own without saying whose."""

_READINGS = _readings()
_IS_A = frozenset(("is", "a", "an"))
_SORT_OF_NOUN = {noun: sort for _, sort, noun in _nouns() if sort} | {
    "woman": "f", "girl": "f", "female": "f", "man": "m", "boy": "m", "male": "m",
}  # fmt: skip
_SORT_OF_TITLE = {noun: sort for noun, sort in _SORT_OF_NOUN.items() if sort in {"f", "m"}} | {
    "mrs": "f", "ms": "f", "miss": "f", "mr": "m",
}  # fmt: skip
