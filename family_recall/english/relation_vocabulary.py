"""Words for relations: which mean the same, and which say nothing about what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from .text import STOP_WORDS

Stems = Callable[[str], list[tuple[str, str]]]
"""Splits a text into (word, stem) pairs."""

Part = Literal["doer", "receiver", "owner"]
"""A named thing's part in a relation: *Ann* teaches *Bo*, and *Bo* owns *Bo's teacher*."""

_CONCEPTS = {
    "live": "live lives lived living reside resides address home house based",
    "work": "work works worked working job employed employer employs employee workplace",
    "study": "school study studies studied studying attend attends attended pupil student college"
    " university uni nursery kindergarten preschool",
    "teach": "teach teaches taught teaching teacher teachers tutor tutors",
    "doctor": "doctor doctors dr gp physician paediatrician pediatrician",
    "mind": "babysit babysits babysitter sitter nanny childminder minder minds",
    "manage": "boss manager manages supervisor supervises",
    "born": "born birthplace",
    "go": "go goes went going",
}
_CONCEPT_OF = {word: concept for concept, words in _CONCEPTS.items() for word in words.split(" ")}

SINGLE_VALUED = frozenset({"live", "born"})
"""Concepts of which only the newest of one person's relations holds."""

_PLACES = frozenset({"live", "work", "study", "born", "go"})
_PLACE_PREPOSITIONS = frozenset("in at near on from around outside opposite behind by".split())
LIGHT = frozenset({"go", "plan", "have", "take", "make", "do", "come", "get", "want", "keep"})
"""Concepts that by themselves say little."""

_ATTRIBUTES = frozenset(
    """
    address home house job employer workplace school college university uni nursery kindergarten
    preschool birthplace
    """.split()
)
"""Nouns that belong to the one who lives, works or studies there."""
_TURNED_ROUND = frozenset({"employer of", "employs", "home of", "school of", "birthplace of"})
_SYMMETRIC = frozenset("with colleague classmate roommate flatmate teammate knows related".split())

SPEECH = frozenset(
    """
    ask asked discuss discussed mention mentioned need needs recall remember remembers said say
    saying says talk talked tell think thinks told want wanted wants wish
    """.split()
)
"""Words of a question about what was said or thought, which no relation answers."""

FUNCTION_WORDS = STOP_WORDS - SPEECH - frozenset({"own", "not", "no", "nor", "same", "myself"})
FILLERS = frozenset(
    """
    actually again area city company country currently day days exactly family firm guy hello hey
    lady long man nowadays ok okay people person place please remind right street still these today
    town woman
    """.split()
)
"""Words of a question that narrow nothing."""
NAME_WORDS = frozenset({"name", "names", "named", "called", "surname"})
NEGATIONS = frozenset({"not", "no", "nor", "never", "without"})
PAST_WORDS = frozenset(
    {"before", "previously", "previous", "formerly", "former", "used", "earlier", "ex", "late"}
)
"""Words that speak of a relation which has ended."""


def concept(word: str, stems: Stems) -> str:
    """Return what a word means among relations: a concept, or its stem.

    A doer has the stem of the doing, *gardener* that of *gardens*.
    """
    known = _CONCEPT_OF.get(word)
    if known is not None:
        return known
    stem = next((stem for _, stem in stems(word)), word)
    return stem[:-2] if len(stem) > 5 and stem.endswith(("er", "or")) else stem


def beginnings(words: Iterable[str]) -> frozenset[str]:
    """Return the concepts of some words, and the first letters of those that have none.

    Where two sets have nothing in common, no stem is: a stem keeps the first letters of a word.
    """
    return frozenset(_CONCEPT_OF.get(word, word[:3]) for word in words)


@dataclass(frozen=True, slots=True)
class RelationWords:
    """The words of a stored relation, read once.

    ``core`` are the concepts that a question must name at least half of; ``all`` has the light
    ones (*go*, *have*) as well. ``has_ended`` where it says so, as *former neighbour of* does.
    """

    phrase: str
    core: frozenset[str]
    all: frozenset[str]
    has_ended: bool = False

    @property
    def is_symmetric(self) -> bool:
        """Whether it holds both ways: *plans vacation with*."""
        return not _SYMMETRIC.isdisjoint(self.phrase.split(" "))

    @property
    def has_company(self) -> bool:
        """Whether it says with whom."""
        return "with" in self.phrase.split(" ")

    @property
    def is_place(self) -> bool:
        """Whether it tells where."""
        prepositions = _PLACE_PREPOSITIONS.intersection(self.phrase.split(" "))
        return bool(prepositions) or not _PLACES.isdisjoint(self.core | self.all)

    def is_subject(self, part: Part, word: str) -> bool:
        """Whether the one with this part in a question stands first in the relation.

        ``word`` is the question's word for the relation.

        >>> RelationWords("teacher of", frozenset({"teach"}), frozenset({"teach"})).is_subject(
        ...     "owner", "teacher")
        False
        """
        first, last = self.phrase.split(" ")[0], self.phrase.split(" ")[-1]
        turned = self.phrase in _TURNED_ROUND or last == "by"
        if last == "of":
            return (part == "doer") != turned
        if first == "has" or (" " not in self.phrase and _is_noun(first)):
            return part == "owner"
        if part == "owner":
            return (word in _ATTRIBUTES) != turned
        return (part == "doer") != turned


def relation_words(phrase: str, stems: Stems) -> RelationWords:
    """Read a stored relation, normalised."""
    said = phrase.split(" ")
    words = [word for word in said if word not in FUNCTION_WORDS | PAST_WORDS]
    concepts = {concept(word, stems) for word in words}
    concepts = concepts or {concept(word, stems) for word in said}
    core = frozenset(concepts - LIGHT or concepts)
    if concepts == {"go"} and phrase.endswith((" to", " at")):
        core |= {"study"}  # Somebody *goes to* a school.
        concepts.add("study")
    return RelationWords(phrase, core, frozenset(concepts), not PAST_WORDS.isdisjoint(said))


def _is_noun(word: str) -> bool:
    """Whether a relation of one word is a noun: *doctor*, not *teaches* or *loved*."""
    return not word.endswith(("s", "ed")) or word.endswith("ss")
