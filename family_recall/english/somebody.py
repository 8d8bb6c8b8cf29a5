"""The words of a short question for somebody: a name, *my sister*, *the nurse's*, *his*."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from .kinship import CALLED, FAMILY_LINKS, KINSHIP_ROLES
from .lexicon import MONTH_NAMES, OWNERS, WEEKDAY_NAMES
from .owners import PRONOUNS
from .text import SELF, STOP_WORDS, Words

_THEM = PRONOUNS | SELF | frozenset("our ours us we".split())
_KIN = frozenset("baby boy girl lad lass one".split()).union(
    noun
    for noun, kin in KINSHIP_ROLES.items()
    if kin.link in FAMILY_LINKS and noun[:-1] not in KINSHIP_ROLES
)
_BEFORE_KIN = OWNERS | frozenset(
    "baby big elder little old older other small the young younger".split()
)
_BEFORE_ONE = OWNERS | frozenset("a an the this that".split())
_TIMES = frozenset(name.title() for name in (*MONTH_NAMES, *WEEKDAY_NAMES, "christmas", "easter"))


class Somebody(NamedTuple):
    """The first and the last word for somebody; the name without its mark; whether they own."""

    first: int
    last: int
    name: str
    owns: bool
    is_named: bool = True


def people_in(words: Words, names: Collection[str]) -> list[Somebody]:
    """Return the words of a question for somebody, in order."""
    people: list[Somebody] = []
    for at in range(len(words.plain)):
        person = somebody_at(words, at, names, is_capital=at > 0)
        if person and not (people and at <= people[-1].last):
            people.append(person)
    return people


def somebody_at(
    words: Words, first: int, names: Collection[str], *, is_capital: bool
) -> Somebody | None:
    """Return who begins at a word: a name, *my sister*, *the nurse's*, *his*; the longest."""
    plain = words.plain
    for last in range(min(len(plain), first + 4) - 1, first - 1, -1):
        name, leads = " ".join(plain[first : last + 1]), plain[first:last]
        kin = (_KIN if leads else CALLED) if _BEFORE_KIN.issuperset(leads) else ()
        is_known = (name in names and name not in STOP_WORDS) or plain[last] in kin
        is_owner = name.removesuffix("s") in names or plain[last].removesuffix("s") in kin
        is_marked = words.is_possessive(last)
        if is_known or is_owner or (is_marked and _BEFORE_ONE.issuperset(leads)):
            said = words.said(first, last)
            said = said if is_known or is_marked else said[:-1]
            is_named = is_known or is_owner
            return Somebody(first, last, said, is_marked or not is_known, is_named)
    word, written = plain[first], words.written[first]
    if word in _THEM and (word not in OWNERS or word == "his" or first + 1 < len(plain)):
        return Somebody(first, first, word, word in OWNERS, is_named=False)
    is_capital = is_capital and written[0].isupper() and not written.isupper()
    if is_capital and word not in STOP_WORDS and written not in _TIMES:
        return Somebody(first, first, written, owns=False)
    return None
