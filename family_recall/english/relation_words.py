"""What a stored relation means in a family, however it is worded.

*mother of*, *is the mother of*, *has a daughter*, *late husband of*, *church friend of*, a bare
*grandson*, which the subject is to the object, and *mum's sister*, who is an aunt.
"""

from __future__ import annotations

import functools
import re

from family_recall.english.kinship_terms import (
    DESCRIPTIONS,
    KINSHIP_PATHS,
    KINSHIP_ROLES,
    ORDERS,
    OTHERWISE,
    RELATION_MEANINGS,
    RelationMeaning,
)
from family_recall.english.text import STOP_WORDS, normalise

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
