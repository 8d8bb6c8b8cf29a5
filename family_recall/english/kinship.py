"""Words for relatives and pets: what a stored relation means, and whom a phrase is about.

A relation means the same however it is worded: *mother of*, *is the mother of*, *has a daughter*,
*late husband of*, *church friend of*, a bare *grandson*, which the subject is to the object, and
*mum's sister*, who is an aunt. A phrase, *my wife's brother*, has an owner and what is whose.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from .text import STOP_WORDS, Words, normalise


@dataclass(frozen=True, slots=True)
class Kin:
    """What one is to another: the other's ``link``; empty fields fit anybody.

    ``sort`` is what the one is (``f``, ``m``, ``dog``, …), ``object_sort`` what the other is, and
    ``order`` the one's place among those of the same link (``eldest``, ``youngest``).
    """

    link: str
    sort: str = ""
    object_sort: str = ""
    order: str = ""


class Role(NamedTuple):
    """A role as a text names it: *brother* in *little brother*, from its first to its last word."""

    noun: str
    kin: Kin
    first: int
    last: int


class KinPhrase(NamedTuple):
    """Words that name people by what they are to somebody: *my wife's brother*.

    ``roles`` go from the owner outwards; the owner's words are ``first`` to ``last``, where the
    owner is said. The owner is a known name, or empty: who speaks; None is a name nobody knows.
    With ``is_named`` the name follows, as in *my brother Vikram*.
    """

    owner: str | None
    first: int
    last: int
    roles: tuple[Role, ...]
    is_named: bool = False

    def span(self, n_roles: int) -> tuple[int, int]:
        """Return the first and the last word of the owner with the first few roles."""
        roles = self.roles[:n_roles]
        first = min([self.first, *(role.first for role in roles)])
        return first, max([self.last, *(role.last for role in roles)])


_FAMILY = """
parent / child: parent | f mother mum mom mummy mommy mama mam stepmother stepmum stepmom
  | m father dad daddy papa pa stepfather stepdad
child / parent: child kid stepchild | f daughter stepdaughter | m son stepson
spouse / spouse: spouse partner fiancé | f wife girlfriend fiancée | m husband hubby boyfriend
former spouse / former spouse: ex ex-partner | f ex-wife ex-girlfriend | m ex-husband ex-boyfriend
sibling / sibling: sibling | f sister sis stepsister | m brother bro stepbrother
grandparent / grandchild: grandparent | f grandmother grandma granny gran nan nana nanna nani dadi
  | m grandfather grandpa granddad grandad dada
grandchild / grandparent: grandchild | f granddaughter | m grandson
aunt or uncle / niece or nephew: | f aunt auntie aunty | m uncle
niece or nephew / aunt or uncle: | f niece | m nephew
cousin / cousin: cousin
parent-in-law / child-in-law: parent-in-law | f mother-in-law | m father-in-law
child-in-law / parent-in-law: | f daughter-in-law | m son-in-law
sibling-in-law / sibling-in-law: | f sister-in-law | m brother-in-law
in-law / in-law: in-law
godparent / godchild: godparent | f godmother | m godfather
godchild / godparent: godchild | f goddaughter | m godson
pet / owner: | pet pet | dog dog puppy pup | cat cat kitten | rabbit rabbit bunny | hamster hamster
  | horse horse pony | bird bird parrot budgie | fish fish goldfish | tortoise tortoise turtle
"""
"""Ties between family members, and between a pet and its owner.

A link, its inverse, and the nouns for it: those that fit anybody, then those of each sort.
"""
_OTHERS = """
friend / friend: friend mate buddy
neighbour / neighbour: neighbour neighbor
colleague / colleague: colleague workmate coworker co-worker
classmate / classmate: classmate
housemate / housemate: housemate flatmate roommate lodger boarder
teacher / pupil: teacher tutor
coach / trainee: coach
boss / employee: boss manager
carer / cared for: carer caregiver caretaker babysitter nanny childminder au-pair
doctor / patient: doctor gp
dentist / dental patient: dentist
landlord / tenant: | m landlord | f landlady
"""
"""Other ties."""


def _ties(table: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the link, its inverse, the sort and the noun of each noun of a table."""
    for line in table.strip().replace("\n  |", " |").splitlines():
        links, nouns = line.split(":")
        link, inverse = links.split(" / ")
        anybody, *sorts = nouns.split("|")
        for noun in anybody.split():
            yield link, inverse, "", normalise(noun)
        for sort, *own in map(str.split, sorts):
            for noun in own:
                yield link, inverse, sort, normalise(noun)


_TIES = (*_ties(_FAMILY), *_ties(_OTHERS))
INVERSE = {link: inverse for link, inverse, _, _ in _TIES}
INVERSE |= {inverse: link for link, inverse in INVERSE.items()}
FAMILY_LINKS = frozenset(link for tie in _ties(_FAMILY) for link in tie[:2])
"""Links between family members, and between a pet and its owner."""

_PATHS = """
sibling: sibling, parent + child
grandparent: grandparent, parent + parent
grandchild: grandchild, child + child
aunt or uncle: aunt or uncle, parent + sibling
niece or nephew: niece or nephew, sibling + child
cousin: cousin, aunt or uncle + child
parent-in-law: parent-in-law, spouse + parent
child-in-law: child-in-law, child + spouse
sibling-in-law: sibling-in-law, spouse + sibling, sibling + spouse
in-law: in-law, parent-in-law, spouse + parent / sibling-in-law, spouse + sibling
pet: pet / spouse + pet, parent + pet, child + pet, sibling + pet
"""
KINSHIP_PATHS = {
    link: tuple(
        tuple(tuple(path.split(" + ")) for path in group.split(", "))
        for group in groups.split(" / ")
    )
    for link, groups in (line.split(": ") for line in _PATHS.strip().splitlines())
}
"""Paths of links that make up a link; the second group is tried if the first finds nobody."""

_PLURALS = {
    "wife": "wives", "child": "children", "grandchild": "grandchildren",
    "stepchild": "stepchildren", "godchild": "godchildren",
}  # fmt: skip
PETS = frozenset(sort for link, _, sort, _ in _TIES if link == "pet")
"""Sorts of animals, ``pet`` being any."""


def _plural(noun: str) -> str:
    first, space, rest = noun.partition(" ")
    ending = f"{first[:-1]}ies" if first.endswith("y") else f"{first}s"
    if first == "in":
        return f"{noun}s"
    return _PLURALS.get(first, ending) + space + rest


ORDERS = {
    "eldest": "eldest", "oldest": "eldest", "firstborn": "eldest", "youngest": "youngest",
}  # fmt: skip
"""Words for a place among brothers and sisters; alone they mean a child."""

KINSHIP_ROLES = {
    name: Kin(link, sort) for link, _, sort, noun in _TIES for name in (noun, _plural(noun))
} | {noun: Kin("child", order=order) for noun, order in ORDERS.items()}
"""Words for relatives and pets, normalised, and what each means."""

_VERBS = {
    "married to": "spouse", "engaged to": "spouse", "divorced from": "former spouse",
    "works with": "colleague", "lives next door to": "neighbour", "teaches": "teacher",
    "owns": "owner", "owner of": "owner", "owned by": "pet", "belongs to": "pet",
}  # fmt: skip
_DESCRIPTIONS = frozenset(
    """
    late big little older elder younger only twin half step foster adopted adoptive biological best
    good close dear maternal paternal favourite favorite
    """.split()
).union(ORDERS)
"""Words that may stand before a relation's noun and leave its meaning as it is."""

_OTHERWISE = STOP_WORDS | frozenset("ex former previous old no not never great future".split())
"""Words after which a relation is none, or another one."""

_TITLES = frozenset(
    """
    mum mom mummy mommy mama mam dad daddy papa grandma granny gran nan nana nanna grandpa
    granddad grandad grandmother grandfather mother father auntie aunty
    """.split()
)
"""Roles that, without an owner, are those of who speaks."""

CALLED = _TITLES | frozenset(
    """
    aunt uncle pa pop nani dadi dada mak ayah amma appa mami papi abuela abuelo oma opa koro popo
    gong ama
    """.split()
)
"""Words by which a family calls its elders."""

IS_A = frozenset(("is", "a", "an"))
SORT_OF_WORD = {noun: sort for _, _, sort, noun in _TIES if sort} | {
    "woman": "f", "girl": "f", "female": "f", "man": "m", "boy": "m", "male": "m",
    "mrs": "f", "ms": "f", "miss": "f", "mr": "m",
}  # fmt: skip
"""Words, titles among them, that say what somebody is."""

_POSSESSIVE = re.compile(r"['’]s?(?=\s)")
_OPENING = frozenset({"is", "was", "the", "a", "an", "my", "our", "their", "his", "her"})


@functools.lru_cache(maxsize=1024)
def meaning_of(relation: str) -> Kin | None:
    """Return what a relation means, or None if it is no family tie that is known.

    >>> meaning_of("is the eldest daughter of")
    Kin(link='child', sort='f', object_sort='', order='eldest')
    >>> meaning_of("mum's sister").link
    'aunt or uncle'
    """
    *owners, last = [relation_phrase(part) for part in _POSSESSIVE.split(relation)]
    end = _read(last)
    if end is None or not owners:
        return end
    path = (*(KINSHIP_ROLES[each].link for each in owners if each in KINSHIP_ROLES), end.link)
    if len(path) <= len(owners):
        return None
    for link, groups in KINSHIP_PATHS.items():
        if any(path in group for group in groups):
            return Kin(link, end.sort, order=end.order)
    return None


def relation_phrase(relation: str) -> str:
    """Normalise a relation: *is the Mother_of* is *mother of*."""
    words = normalise(relation).split(" ")
    while len(words) > 1 and words[0] in _OPENING:
        words = words[1:]
    return " ".join(words)


def is_family_tie(relation: str) -> bool:
    """Whether a relation is between family members, or a pet and its owner."""
    meaning = meaning_of(relation)
    return meaning is not None and meaning.link in FAMILY_LINKS


def _read(phrase: str) -> Kin | None:
    """Return the meaning of a phrase without an owner; words before a known ending describe."""
    words = phrase.split(" ")
    order = next((ORDERS[word] for word in words if word in ORDERS), "")
    is_noun = words[-1] not in {"of", "to"}
    for at, word in enumerate(words):
        rest = " ".join(words[at:])
        if rest in _VERBS:
            return Kin(_VERBS[rest])
        role = KINSHIP_ROLES.get(rest.removesuffix(" of"))
        if role is not None:  # A bare noun is what the subject is to the object.
            return Kin(role.link, role.sort, order=order)
        role = KINSHIP_ROLES.get(" ".join(words[at + 1 :]).removeprefix("a "))
        if word == "has" and role is not None:
            return Kin(INVERSE[role.link], object_sort=role.sort, order=order)
        if word not in _DESCRIPTIONS and (is_noun or word in _OTHERWISE):
            return None
    return None


OURS = frozenset({"my", "our"})
_ADJECTIVES = frozenset(
    "little big older elder younger dear lovely baby twin own late new best".split()
).union(ORDERS)
"""Words that may stand between *my* and *sister*."""
_NOT_OURS = frozenset(
    """
    a an the this that these those his her their your whose every each some any no another
    great step foster ex former future late half
    """.split()
)
"""Words after which *grandma* is nobody's in particular."""
_FIRST_WORDS = frozenset(noun.split(" ", maxsplit=1)[0] for noun in KINSHIP_ROLES)
LONGEST_ROLE = max(len(noun.split(" ")) for noun in KINSHIP_ROLES)
"""Words in the longest role."""


def kin_phrases(words: Words, known: Container[str]) -> list[KinPhrase]:
    """Find the phrases of a text that name people by what they are to somebody, in order.

    *My wife*, *Priya's little brother*, *the mother of my grandsons*, *grandma*. A known name
    wins: *Aunt Leela* is nobody's aunt where she is called so.
    """
    phrases: list[KinPhrase] = []
    if _FIRST_WORDS.isdisjoint(words.plain):
        return phrases
    at = 0
    while at < len(words.plain):
        phrase = _phrase(words, known, at)
        if phrase is not None:
            phrases.append(phrase)
            at = phrase.span(len(phrase.roles))[1]
        at += 1
    return phrases


def _phrase(words: Words, known: Container[str], at: int) -> KinPhrase | None:
    """Return the phrase that begins at a word."""
    return _of_somebody(words, known, at) or _owned(words, known, at)


def _of_somebody(words: Words, known: Container[str], at: int) -> KinPhrase | None:
    """Return *the father of my grandsons* or *wife of Vikram*, if it begins at a word."""
    role = _role(words, known, at + (words.plain[at] == "the"))
    if role is None or words.plain[role.last + 1 : role.last + 2] != ["of"]:
        return None
    after = role.last + 2
    role = role._replace(first=at)
    inner = _phrase(words, known, after) if after < len(words.plain) else None
    if inner is not None:
        return inner._replace(roles=(*inner.roles, role))
    name = words.name_at(after, known)
    return KinPhrase(name, after, after + name.count(" "), (role,)) if name else None


def _owned(words: Words, known: Container[str], at: int) -> KinPhrase | None:
    """Return *my wife's brother*, *Priya's brother* or *grandma*, if it begins at a word."""
    name = words.name_at(at, known)
    owner: str | None = ""
    last, after = at, at + 1
    if words.plain[at] in OURS:
        pass
    elif name:
        owner, last = name, at + name.count(" ")
        after = last + 1
        if not words.is_possessive(last):
            return None
    elif _is_title(words, known, at):
        after = at
    elif words.is_possessive(at) and words.written[at][0].isupper():
        owner = None
    else:
        return None
    roles: list[Role] = []
    is_named = False
    while (role := _role(words, known, after)) is not None:
        roles.append(role)
        after = role.last + 1
        if not words.is_possessive(role.last):
            is_named = words.is_name_next(role.last, known)
            break
    return KinPhrase(owner, at, last, tuple(roles), is_named) if roles else None


def _is_title(words: Words, known: Container[str], at: int) -> bool:
    """Whether a word is *grandma* without a word that says whose."""
    role = _role(words, known, at)
    if role is None or role.first != at or role.noun not in _TITLES:
        return False
    before = at - 1 - (at > 0 and words.plain[at - 1] in _ADJECTIVES)
    return before < 0 or not (words.plain[before] in _NOT_OURS or words.is_possessive(before))


def _role(words: Words, known: Container[str], at: int) -> Role | None:
    """Return the role at a word, or after one adjective; none where a longer name begins."""
    adjective = words.plain[at] if at < len(words.plain) else ""
    for first in (at + 1, at) if adjective in _ADJECTIVES else (at,):
        noun = words.longest(first, KINSHIP_ROLES, LONGEST_ROLE)
        if noun and len(words.longest(first, known).split(" ")) <= len(noun.split(" ")):
            kin = KINSHIP_ROLES[noun]
            if first > at and adjective in ORDERS:
                kin = replace(kin, order=ORDERS[adjective])
            return Role(noun, kin, first, first + noun.count(" "))
    return None
