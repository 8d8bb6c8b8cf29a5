"""Anchors: moments a household names in its own words, such as "since we moved"."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from .intervals import DAY, Interval, midnight
from .words import CHOICES, COUNTS, FOLLOWERS, PARTS, UNITS, Token

_EMPTY_WORDS = frozenset(
    "a an the we i you he she it they our my your his her its their us me him them was were is "
    "are been be had has have got get of to in on at for and did do does last next this that "
    "first when day".split()
)
_BESIDE = UNITS.keys() | PARTS.keys() | set("before after eve weekend fortnight".split())
"""Words in front of an anchor that make another time of it: *the months after we moved*."""
_STOPS = frozenset("?!.;:,")
_LONGEST = 10
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_AFTER_A_NAME = FOLLOWERS | _EMPTY_WORDS | CHOICES.keys() | COUNTS.keys()


@dataclass(frozen=True, slots=True)
class Anchor:
    """Words of the household for a time.

    ``end`` is the first day after it; an ``end`` at or before ``start`` means that one day.
    Several anchors with the same words are occurrences of one thing: each year's birthday.
    """

    words: str
    start: dt.date
    end: dt.date

    @property
    def interval(self) -> Interval:
        """The days it covers."""
        start = midnight(self.start)
        return Interval(start, max(midnight(self.end), start + DAY))


@dataclass(frozen=True, slots=True)
class AnchorMatch:
    """The anchors whose words begin at a token, and the token after the last of them."""

    occurrences: tuple[Interval, ...]
    last: int
    certainty: float


def anchor_at(
    tokens: Sequence[Token], first: int, anchors: Sequence[Anchor], *, reach: int
) -> AnchorMatch | None:
    """Find the anchor with the most content words in the clause that begins at a token.

    All of an anchor's content words must be there, inflected or not and in any order. Two
    anchors that fit equally well with different words make it silent, and so does a number
    among the words: the fifth birthday is not just any birthday.
    """
    clause: dict[str, int] = {}
    last_of_clause = min(len(tokens), first + _LONGEST)
    for at in range(first, last_of_clause):
        token = tokens[at]
        if token.word in _STOPS:
            break
        if token.word not in _EMPTY_WORDS:
            clause.setdefault(stem_of(token.word), at)
    best: list[Anchor] = []
    best_words: frozenset[str] = frozenset()
    for anchor in anchors:
        words = content_of(anchor.words)
        if not words or len(words) < len(best_words) or not words <= clause.keys():
            continue
        if len(words) > len(best_words):
            best, best_words = [], words
        elif words != best_words:
            return None
        best.append(anchor)
    if not best:
        return None
    begin, end = min(clause[w] for w in best_words), max(clause[w] for w in best_words) + 1
    if begin - first > reach or _goes_on(best[0].words, tokens[end : end + 1]):
        return None
    if any(t.word in _BESIDE for t in tokens[first:begin]):
        return None
    others = [w for w, at in clause.items() if at < end and w not in best_words]
    if any(word[:1].isdigit() for word in others):
        return None
    occurrences = tuple(sorted({anchor.interval for anchor in best}))
    return AnchorMatch(occurrences, end, certainty=0.6 if others else 0.9)


def _goes_on(words: str, follows: Sequence[Token]) -> bool:
    """Whether *the wedding* is only the beginning of *the wedding rehearsal*."""
    named = words.lower().startswith("the ") or _POSSESSIVE.search(words) is not None
    return named and any(
        t.word.isalpha() and t.raw.islower() and t.word not in _AFTER_A_NAME for t in follows
    )


@lru_cache(maxsize=4096)
def content_of(words: str) -> frozenset[str]:
    """Give the stems of the words that say something."""
    found = (match.group() for match in _WORD.finditer(_POSSESSIVE.sub("", words.lower())))
    return frozenset(stem_of(word) for word in found if word not in _EMPTY_WORDS)


@lru_cache(maxsize=4096)
def stem_of(word: str) -> str:
    """Drop the ending of *moved*, *moves* and *moving*."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
