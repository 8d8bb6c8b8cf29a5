"""Anchors: moments a household names in its own words, such as "since we moved"."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from family_recall.english.lexicon import CHOICES, COUNTS, FOLLOWERS, PARTS, UNITS
from family_recall.english.tokens import Token

from .calendar import DAY, Interval, midnight

_EMPTY_WORDS = frozenset(
    "a an the we i you he she it they our my your his her its their us me him them was were is "
    "are been be had has have got get of to in on at for and did do does last next this that "
    "first when day".split()
)
_BESIDE = UNITS.keys() | PARTS.keys() | set("before after eve weekend fortnight".split())
"""Words in front of an anchor that make another time of it: *the months after we moved*."""
_STOPS = frozenset("?!.;:,")
_MAX_CLAUSE_TOKENS = 10
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)
_AFTER_A_NAME = FOLLOWERS | _EMPTY_WORDS | CHOICES.keys() | COUNTS.keys()


@dataclass(frozen=True, slots=True)
class Anchor:
    """Words of the household for a time.

    ``end`` is the first day after it; an ``end`` at or before ``start`` means that one day.
    Several anchors with the same words are occurrences of one event: each year's birthday.
    """

    words: str
    start: dt.date
    end: dt.date

    @property
    def interval(self) -> Interval:
        """The days it covers."""
        start = midnight(self.start)
        return Interval(start, max(midnight(self.end), start + DAY))


def anchor_at(
    tokens: Sequence[Token], first: int, anchors: Sequence[Anchor], *, reach: int
) -> tuple[tuple[Interval, ...], int, float] | None:
    """Find the anchor with the most content words in the clause that begins at a token.

    All of an anchor's content words must be there, inflected or not and in any order; the first
    at most ``reach`` tokens away. Two anchors that fit equally well with different words match
    nothing, and so does a number among the words: the fifth birthday is not just any birthday.

    Returns:
        Its occurrences, the token after its words, and the certainty.
    """
    clause = _content_of_clause(tokens[first : first + _MAX_CLAUSE_TOKENS])
    best = _best_anchors(anchors, clause)
    if not best:
        return None
    words = content_words(best[0].words)
    begin, end = min(clause[w] for w in words), max(clause[w] for w in words) + 1
    others = [w for w, at in clause.items() if at < end and w not in words]
    if (
        begin > reach
        or _is_continued(best[0].words, tokens[first + end : first + end + 1])
        or any(token.word in _BESIDE for token in tokens[first : first + begin])
        or any(word[:1].isdigit() for word in others)
    ):
        return None
    occurrences = tuple(sorted({anchor.interval for anchor in best}))
    return occurrences, first + end, 0.6 if others else 0.9


def _content_of_clause(tokens: Sequence[Token]) -> dict[str, int]:
    """Return the stems of a clause's content words, with the place where each is first."""
    clause: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.word in _STOPS:
            break
        if token.word not in _EMPTY_WORDS:
            clause.setdefault(stem(token.word), at)
    return clause


def _best_anchors(anchors: Sequence[Anchor], clause: Mapping[str, int]) -> list[Anchor]:
    """Return the anchors with the most words of a clause; none if these are not the same words."""
    words_of = {anchor: content_words(anchor.words) for anchor in anchors}
    fitting = [words for words in words_of.values() if words and words <= clause.keys()]
    most = max(fitting, key=len, default=frozenset())
    if any(len(words) == len(most) and words != most for words in fitting):
        return []
    return [anchor for anchor in anchors if most and words_of[anchor] == most]


def _is_continued(words: str, following: Sequence[Token]) -> bool:
    """Whether *the wedding* is only the beginning of *the wedding rehearsal*."""
    is_name = words.lower().startswith("the ") or _POSSESSIVE.search(words) is not None
    return is_name and any(
        t.word.isalpha() and t.raw.islower() and t.word not in _AFTER_A_NAME for t in following
    )


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without those such as *the* or *was*."""
    words = (match.group() for match in _WORD.finditer(_POSSESSIVE.sub("", text.lower())))
    return frozenset(stem(word) for word in words if word not in _EMPTY_WORDS)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return a word without the ending of *moved*, *moves* and *moving*."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
