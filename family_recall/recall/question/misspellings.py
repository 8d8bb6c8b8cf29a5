"""Unknown words of a question that are probably a misspelt name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterator, Sequence

from family_recall.english import lexicon
from family_recall.english.kinship import KINSHIP_ROLES
from family_recall.english.text import EVERYDAY_WORDS, normalise
from family_recall.recall.question.kinship import is_one
from family_recall.store.graph import Entity
from family_recall.store.snapshot import Snapshot
from family_recall.types import Scope

URL_WORDS = frozenset(("http", "https", "www", "mailto"))
"""Words of an address, which are nobody's name."""

_MAX_UNKNOWN = 32
_MAX_MISSPELT = 6
_MIN_MISSPELT_CHARS = 4
_MIN_ALIAS_CHARS = 3
_TWO_EDITS_CHARS = 8
"""Letters from which a word may contain two mistakes."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CORRECT = frozenset(word for noun in KINSHIP_ROLES for word in noun.split(" ")).union(
    lexicon.MONTHS, lexicon.WEEKDAYS, lexicon.SEASONS, lexicon.PARTS,
    lexicon.UNITS, lexicon.COUNTS, lexicon.ORDINALS, EVERYDAY_WORDS,
)  # fmt: skip
"""Words that are never taken for a misspelt name."""


def misspelt_names(
    parts: Sequence[str | None],
    known: Container[str],
    names: Sequence[str],
    scope: Scope,
    snapshot: Snapshot,
    counted_next: Sequence[str] = (),
) -> Iterator[tuple[str, list[Entity]]]:
    """Yield (word, entities) for each word that is nearly the name of exactly one entity.

    Candidates are words that are no known name and either capitalised or unused in scope.

    Args:
        parts: The question, with None in place of each phrase already resolved.
        known: All names the scope knows, of those in the question.
        names: The names already resolved.
        scope: What the asker may see.
        snapshot: The file.
        counted_next: Stems that are counted soon, so that one look-up counts them with others.
    """
    unknown = _unknown_words(parts, known, names)
    stems = dict(
        pair for word, capital in unknown.items() if not capital for pair in snapshot.stems(word)
    )
    used: set[str] = set()
    if stems:
        held = snapshot.held(list(stems.values()), scope, counted_next)
        used.update(itertools.compress(stems, held))
    candidates = [word for word, capital in unknown.items() if capital or word not in used]
    for word in candidates[:_MAX_MISSPELT]:
        if entities := _entities_spelt_like(word, scope, snapshot):
            yield word, entities


def _unknown_words(
    parts: Sequence[str | None], known: Container[str], names: Sequence[str]
) -> dict[str, bool]:
    """Return the unknown words, and whether each has a capital that no sentence explains."""
    resolved = {word for name in names for word in name.split(" ")}
    unknown: dict[str, bool] = {}
    for number, part in enumerate(parts):
        for match in _WORD.finditer(part or ""):
            written = match.group()
            if written in _CORRECT:  # as most are, in lower case
                continue
            word = normalise(written)
            if len(word) < _MIN_MISSPELT_CHARS or not word.isalpha():
                continue
            if word in _CORRECT or word in known or word in resolved:
                continue
            capital = written[0].isupper() and not _opens_sentence(match, number)
            unknown[word] = unknown.get(word, False) or capital
            if len(unknown) >= _MAX_UNKNOWN:
                break
    return unknown


def _opens_sentence(match: re.Match[str], number: int) -> bool:
    """Whether a word begins a sentence, or the first of the parts of a question."""
    before = match.string[: match.start()].rstrip(" \n\t\"'“‘(")
    return before[-1] in ".?!:" if before else number == 0


def _entities_spelt_like(word: str, scope: Scope, snapshot: Snapshot) -> list[Entity]:
    """Return the entities whose name is nearly this word, if they are all the same one."""
    edits = 1 if len(word) < _TWO_EDITS_CHARS else 2
    letters = set(word)
    aliases = [
        alias
        for alias in snapshot.aliases_like(word, edits, scope)
        # An edit adds at most one letter and removes at most one: this rejects most aliases.
        if len(letters.symmetric_difference(alias)) <= 2 * edits
        and len(alias) >= _MIN_ALIAS_CHARS
        and alias not in URL_WORDS
        and nearly_equal(word, alias, edits)
    ]
    entities = [entity for _, entity in snapshot.entities(aliases, scope)] if aliases else []
    return entities if is_one(entities) else []


def nearly_equal(word: str, other: str, edits: int) -> bool:
    """Whether at most this many edits turn one word into the other.

    An edit deletes, inserts or replaces a letter, or swaps two neighbours; none touches a letter
    twice (optimal string alignment). Linear in the words for a fixed number of edits.

    >>> nearly_equal("prya", "priya", 1), nearly_equal("piray", "priya", 1)
    (True, False)
    """
    n = min(len(word), len(other))
    prefix = 0
    while prefix < n and word[prefix] == other[prefix]:
        prefix += 1
    n -= prefix
    suffix = 0
    while suffix < n and word[-1 - suffix] == other[-1 - suffix]:
        suffix += 1
    word, other = word[prefix : len(word) - suffix], other[prefix : len(other) - suffix]
    if not word or not other or not edits:
        return len(word) + len(other) <= edits
    if edits == 1:
        return len(word) == len(other) == 1 or (len(word) == 2 and word == other[::-1])
    return (
        nearly_equal(word[1:], other[1:], edits - 1)
        or nearly_equal(word[1:], other, edits - 1)
        or nearly_equal(word, other[1:], edits - 1)
        or (word[:2] == other[1::-1] and nearly_equal(word[2:], other[2:], edits - 1))
    )
