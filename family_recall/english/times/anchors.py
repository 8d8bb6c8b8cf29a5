"""The household's own words for times: *since we moved*, *on Priya's birthday*."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

from family_recall.english.lexicon import PARTS, UNITS
from family_recall.english.tokens import tokens_of

from .calendar import Interval
from .sentence import Phrase, Sentence, choose

EMPTY_WORDS = frozenset(
    "a an the we i you he she it they our my your his her its their us me him them was were is "
    "are been be had has have got get of to in on at for and did do does last next this that "
    "first when day".split()
)
JOINTS = frozenset("into onto away to from with".split())
_SMALL_WORDS = EMPTY_WORDS | JOINTS
_BESIDE_ANCHORS = UNITS.keys() | PARTS.keys() | set("before after eve weekend fortnight".split())
"""Words in front of an anchor that make another time of it: *the months after we moved*."""


def anchor_phrase_at(s: Sentence, i: int, reach: int = 3) -> Phrase | None:
    """Read the anchor with the most words, which follow a token with only small words between.

    The first is at most ``reach`` tokens away. Two anchors of different words that reach equally
    far match nothing.
    """
    ends = {anchor: _end_of(s, i, anchor.words, reach) for anchor in s.anchors}
    end = max(ends.values(), default=0)
    anchors = [anchor for anchor in s.anchors if end and ends[anchor] == end]
    if len({_words_of(anchor.words) for anchor in anchors}) != 1:
        return None
    known = sorted({anchor.interval for anchor in anchors})

    def repeat(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        return [interval for interval in known if low <= interval.start < high]

    fixed = known[0] if len(known) == 1 else None
    phrase = Phrase(i, end, "anchor", fixed, repeat, 0.9)
    return choose(s, phrase, "last") if "last" in s.words[i:end] else phrase


def _end_of(s: Sentence, i: int, anchor: str, reach: int) -> int:
    """Return the token after the words of an anchor; 0 if they do not follow a token."""
    at = i
    for n, word in enumerate(_words_of(anchor)):
        while s.word(at) in _SMALL_WORDS:
            at += 1
        if s.word(at) != word or (n == 0 and at > i + reach):
            return 0
        at += 1
    return 0 if at == i or not _BESIDE_ANCHORS.isdisjoint(s.words[i : at - 1]) else at


@lru_cache(maxsize=256)
def _words_of(anchor: str) -> tuple[str, ...]:
    return tuple(token.word for token in tokens_of(anchor) if token.word not in _SMALL_WORDS)


def stem(word: str) -> str:
    """Return a word without the ending of *moved*, *moves* and *moving*."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
