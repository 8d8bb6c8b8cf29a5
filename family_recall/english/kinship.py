"""Words for relatives and pets: the roles they name, and what a stored relation means.

A relation means the same however it is worded: *mother of*, *is the mother of*, *has a daughter*,
*late husband of*, *church friend of*, a bare *grandson*, which the subject is to the object, and
*mum's sister*, who is an aunt.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from .text import STOP_WORDS, normalise


@dataclass(frozen=True, slots=True)
class KinshipRole:
    """What a person is to another.

    ``link`` is the relation; ``sorts`` restrict who fits (``f``, ``m``, ``dog``, …; empty: any),
    and so does ``order`` (``eldest``, ``youngest``; empty: any).
    """

    link: str
    sorts: frozenset[str] = frozenset()
    order: str = ""


@dataclass(frozen=True, slots=True)
class RelationMeaning:
    """The meaning of a relation: the subject is the object's ``link``; and the sort of either.

    ``order`` is the subject's among those of the same link.
    """

    link: str
    subject: str = ""
    object: str = ""
    order: str = ""


INVERSE = {
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
    "former spouse": "former spouse",
    "colleague": "colleague",
    "classmate": "classmate",
    "housemate": "housemate",
    "godparent": "godchild",
    "teacher": "pupil",
    "coach": "trainee",
    "boss": "employee",
    "carer": "cared for",
    "doctor": "patient",
    "dentist": "dental patient",
    "landlord": "tenant",
    "in-law": "in-law",
}
INVERSE |= {inverse: link for link, inverse in INVERSE.items()}

KINSHIP_PATHS: dict[str, tuple[tuple[tuple[str, ...], ...], ...]] = {
    "sibling": ((("sibling",), ("parent", "child")),),
    "grandparent": ((("grandparent",), ("parent", "parent")),),
    "grandchild": ((("grandchild",), ("child", "child")),),
    "aunt or uncle": ((("aunt or uncle",), ("parent", "sibling")),),
    "niece or nephew": ((("niece or nephew",), ("sibling", "child")),),
    "cousin": ((("cousin",), ("aunt or uncle", "child")),),
    "parent-in-law": ((("parent-in-law",), ("spouse", "parent")),),
    "child-in-law": ((("child-in-law",), ("child", "spouse")),),
    "sibling-in-law": ((("sibling-in-law",), ("spouse", "sibling"), ("sibling", "spouse")),),
    # The parents of a spouse come first, then brothers and sisters.
    "in-law": (
        (("in-law",), ("parent-in-law",), ("spouse", "parent")),
        (("sibling-in-law",), ("spouse", "sibling")),
    ),
    # The asker's own pets come first, then those of the close family.
    "pet": (
        (("pet",),),
        (("spouse", "pet"), ("parent", "pet"), ("child", "pet"), ("sibling", "pet")),
    ),
}
"""Paths of relations that make up a link; the second group is tried if the first finds nobody."""

_NOUNS = (
    ("parent", "", "parent"),
    ("parent", "f", "mother mum mom mummy mommy mama mam"),
    ("parent", "m", "father dad daddy papa pa"),
    ("child", "", "child kid stepchild"),
    ("child", "f", "daughter stepdaughter"),
    ("child", "m", "son stepson"),
    ("parent", "f", "stepmother stepmum stepmom"),
    ("parent", "m", "stepfather stepdad"),
    ("spouse", "", "spouse partner fiancé"),
    ("spouse", "f", "wife girlfriend fiancée"),
    ("spouse", "m", "husband hubby boyfriend"),
    ("former spouse", "", "ex ex-partner"),
    ("former spouse", "f", "ex-wife ex-girlfriend"),
    ("former spouse", "m", "ex-husband ex-boyfriend"),
    ("sibling", "", "sibling"),
    ("sibling", "f", "sister sis stepsister"),
    ("sibling", "m", "brother bro stepbrother"),
    ("grandparent", "", "grandparent"),
    ("grandparent", "f", "grandmother grandma granny gran nan nana nanna nani dadi"),
    ("grandparent", "m", "grandfather grandpa granddad grandad dada"),
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
    ("in-law", "", "in-law"),
    ("pet", "pet", "pet"),
    ("pet", "dog", "dog puppy pup"),
    ("pet", "cat", "cat kitten"),
    ("pet", "rabbit", "rabbit bunny"),
    ("pet", "hamster", "hamster"),
    ("pet", "horse", "horse pony"),
    ("pet", "bird", "bird parrot budgie"),
    ("pet", "fish", "fish goldfish"),
    ("pet", "tortoise", "tortoise turtle"),
    ("friend", "", "friend mate buddy"),
    ("neighbour", "", "neighbour neighbor"),
    ("colleague", "", "colleague workmate coworker co-worker"),
    ("classmate", "", "classmate"),
    ("housemate", "", "housemate flatmate roommate lodger boarder"),
    ("godparent", "", "godparent"),
    ("godparent", "f", "godmother"),
    ("godparent", "m", "godfather"),
    ("godchild", "", "godchild"),
    ("godchild", "f", "goddaughter"),
    ("godchild", "m", "godson"),
    ("teacher", "", "teacher tutor"),
    ("coach", "", "coach"),
    ("boss", "", "boss manager"),
    ("carer", "", "carer caregiver caretaker babysitter nanny childminder au-pair"),
    ("doctor", "", "doctor gp"),
    ("dentist", "", "dentist"),
    ("landlord", "m", "landlord"),
    ("landlord", "f", "landlady"),
)
_PLURALS = {
    "wife": "wives", "child": "children", "grandchild": "grandchildren",
    "stepchild": "stepchildren", "godchild": "godchildren",
}  # fmt: skip
_PETS = frozenset(sort for link, sort, _ in _NOUNS if link == "pet")


def _nouns() -> Iterable[tuple[str, str, str]]:
    for link, sort, words in _NOUNS:
        for word in words.split(" "):
            yield link, sort, normalise(word)


def _plural(noun: str) -> str:
    first, space, rest = noun.partition(" ")
    ending = f"{first[:-1]}ies" if first.endswith("y") else f"{first}s"
    if first == "in":
        return f"{noun}s"
    return _PLURALS.get(first, ending) + space + rest


def _roles() -> dict[str, KinshipRole]:
    roles: dict[str, KinshipRole] = {}
    for link, sort, noun in _nouns():
        sorts = _PETS if sort == "pet" else frozenset({sort} - {""})
        roles[noun] = roles[_plural(noun)] = KinshipRole(link, sorts)
    for noun, order in ORDERS.items():
        roles[noun] = KinshipRole("child", order=order)
    return roles


def _relation_meanings() -> dict[str, RelationMeaning]:
    meanings = {
        "married to": RelationMeaning("spouse"),
        "engaged to": RelationMeaning("spouse"),
        "divorced from": RelationMeaning("former spouse"),
        "works with": RelationMeaning("colleague"),
        "lives next door to": RelationMeaning("neighbour"),
        "teaches": RelationMeaning("teacher"),
        "owns": RelationMeaning("owner"),
        "owner of": RelationMeaning("owner"),
        "owned by": RelationMeaning("pet"),
        "belongs to": RelationMeaning("pet"),
    }
    for link, sort, noun in _nouns():
        meanings[f"{noun} of"] = RelationMeaning(link, subject=sort)
        meanings[f"{_plural(noun)} of"] = RelationMeaning(link, subject=sort)
        meanings[f"has {noun}"] = meanings[f"has a {noun}"] = RelationMeaning(
            INVERSE[link], object=sort
        )
        if not sort and INVERSE[link] == link:
            meanings[noun] = RelationMeaning(link)
    for noun, order in ORDERS.items():
        meanings[f"{noun} of"] = RelationMeaning("child", order=order)
    return meanings


ORDERS = {
    "eldest": "eldest", "oldest": "eldest", "firstborn": "eldest", "youngest": "youngest",
}  # fmt: skip
"""Words for a place among brothers and sisters; alone they mean a child."""

DESCRIPTIONS = frozenset(
    """
    late big little older elder younger only twin half step foster adopted adoptive biological best
    good close dear maternal paternal favourite favorite
    """.split()
)
"""Words that may stand before a relation's noun and leave its meaning as it is."""

OTHERWISE = frozenset("ex former previous old no not never great future".split())
"""Words after which a relation is none, or another one."""

KINSHIP_ROLES = _roles()
"""Words for relatives and pets, normalised, and the role each means."""

LONGEST_ROLE = max(len(noun.split(" ")) for noun in KINSHIP_ROLES)
"""Words in the longest role."""

TITLES = frozenset(
    """
    mum mom mummy mommy mama mam dad daddy papa grandma granny gran nan nana nanna grandpa
    granddad grandad grandmother grandfather mother father auntie aunty
    """.split()
)
"""Roles that, without an owner, mean the asker's own."""

CALLED = TITLES | frozenset(
    """
    aunt uncle pa pop nani dadi dada mak ayah amma appa mami papi abuela abuelo oma opa koro popo
    gong ama
    """.split()
)
"""Words by which a family calls its elders."""

RELATION_MEANINGS = _relation_meanings()
IS_A = frozenset(("is", "a", "an"))
SORT_OF_NOUN = {noun: sort for _, sort, noun in _nouns() if sort} | {
    "woman": "f", "girl": "f", "female": "f", "man": "m", "boy": "m", "male": "m",
}  # fmt: skip
SORT_OF_TITLE = {noun: sort for noun, sort in SORT_OF_NOUN.items() if sort in {"f", "m"}} | {
    "mrs": "f", "ms": "f", "miss": "f", "mr": "m",
}  # fmt: skip
FAMILY_LINKS = frozenset(
    """
    parent child spouse sibling grandparent grandchild cousin pet owner godparent godchild in-law
    """.split()
) | {
    "aunt or uncle", "niece or nephew", "parent-in-law", "child-in-law", "sibling-in-law",
    "former spouse",
}  # fmt: skip
"""Links between family members, and between a pet and its owner."""
_POSSESSIVE = re.compile(r"['’]s?(?=\s)")
_OPENING = frozenset({"is", "was", "the", "a", "an", "my", "our", "their", "his", "her"})


@functools.lru_cache(maxsize=1024)
def meaning_of(relation: str) -> RelationMeaning | None:
    """Return what a relation means, or None if it is no family tie that is known.

    >>> meaning_of("is the eldest daughter of")
    RelationMeaning(link='child', subject='f', object='', order='eldest')
    >>> meaning_of("mum's sister").link
    'aunt or uncle'
    """
    *owners, last = [normalise(part) for part in _POSSESSIVE.split(relation)]
    if owners:
        return _composed(owners, last)
    return _read(last)


def relation_phrase(relation: str) -> str:
    """Normalise a relation: *is the Mother_of* is *mother of*."""
    words = normalise(relation).split(" ")
    while len(words) > 1 and words[0] in _OPENING:
        words = words[1:]
    return " ".join(words)


def _read(phrase: str) -> RelationMeaning | None:
    """Return the meaning of a phrase; words before a known ending only describe."""
    words = relation_phrase(phrase).split(" ")
    order = next((ORDERS[word] for word in words if word in ORDERS), "")
    is_noun = words[-1] not in {"of", "to"}
    for at in range(len(words)):
        rest = " ".join(words[at:])
        # A bare noun is what the subject is to the object.
        meaning = RELATION_MEANINGS.get(rest) or RELATION_MEANINGS.get(f"{rest} of")
        if meaning is not None:
            return RelationMeaning(meaning.link, meaning.subject, meaning.object, order)
        describes = words[at] in DESCRIPTIONS or words[at] in ORDERS
        if not describes and (is_noun or words[at] in OTHERWISE or words[at] in STOP_WORDS):
            return None
    return None


def _composed(owners: list[str], last: str) -> RelationMeaning | None:
    """Return the one tie that a chain of roles amounts to: a mother's sister is an aunt."""
    steps = []
    for owner in owners:
        role = KINSHIP_ROLES.get(relation_phrase(owner))
        if role is None:
            return None
        steps.append(role.link)
    end = _read(last)
    if end is None:
        return None
    path = (*steps, end.link)
    for link, groups in KINSHIP_PATHS.items():
        if any(path in group for group in groups):
            return RelationMeaning(link, end.subject, order=end.order)
    return None


OURS = frozenset({"my", "our"})
_ADJECTIVES = frozenset(
    "little big older elder younger dear lovely baby twin own late new best".split()
) | frozenset(ORDERS)
"""Words that may stand between *my* and *sister*."""
NOT_THE_ASKERS = frozenset(
    """
    a an the this that these those his her their your whose every each some any no another
    great step foster ex former future late half
    """.split()
)
"""Words after which *grandma* is not the asker's own."""
_FIRST_ROLE_WORDS = frozenset(noun.split(" ", maxsplit=1)[0] for noun in KINSHIP_ROLES)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def may_name_kin(words: Iterable[str]) -> bool:
    """Whether a text with some words, normalised, may have phrases; few have."""
    return not _FIRST_ROLE_WORDS.isdisjoint(words)


@dataclass(frozen=True, slots=True)
class KinWord:
    """One word of a text: as written, normalised, where, and whether it is a possessive."""

    text: str
    plain: str
    start: int
    end: int
    is_possessive: bool


@dataclass(frozen=True, slots=True)
class RoleWords:
    """A role as a text names it: the noun, its first and last word, and the word before them."""

    noun: str
    first: int
    last: int
    order: str
    before: int


def role_at(words: Sequence[KinWord], at: int) -> RoleWords | None:
    """Return the role whose noun begins at a word, with the adjective before it."""
    if words[at].plain not in _FIRST_ROLE_WORDS:
        return None
    noun = longest_name(words[at : at + LONGEST_ROLE], KINSHIP_ROLES)
    if not noun:
        return None
    last = at + noun.count(" ")
    if noun in ORDERS and last + 1 < len(words) and role_at(words, last + 1) is not None:
        return None  # an adjective: *my eldest daughter*
    order, before = "", at - 1
    if before >= 0 and words[before].plain in _ADJECTIVES:
        order = ORDERS.get(words[before].plain, "")
        before -= 1
    return RoleWords(noun, at, last, order, before)


def kin_words(text: str) -> list[KinWord]:
    """Return the words of a text."""
    return [
        KinWord(
            match.group(),
            normalise(match.group()),
            *match.span(),
            is_possessive=match.group()[-2:] in {"'s", "’s"}
            or text[match.end() :][:1] in {"'", "’"},
        )
        for match in _WORD.finditer(text)
    ]


def longest_name(words: Sequence[KinWord], known: Container[str]) -> str:
    """Return the longest known name that begins at the first word, or an empty text."""
    for n in range(len(words), 0, -1):
        name = " ".join(word.plain for word in words[:n])
        if name in known:
            return name
    return ""
