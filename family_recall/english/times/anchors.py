"""The household's own words for times: *since we moved*, *on Priya's birthday*."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from family_recall.english.lexicon import CHOICES, COUNTS, FOLLOWERS, PARTS, UNITS
from family_recall.english.tokens import Token

from .calendar import Interval
from .sentence import Anchor, Phrase, Sentence, choose

_EMPTY_WORDS = frozenset(
    "a an the we i you he she it they our my your his her its their us me him them was were is "
    "are been be had has have got get of to in on at for and did do does last next this that "
    "first when day".split()
)
_BESIDE_ANCHORS = UNITS.keys() | PARTS.keys() | set("before after eve weekend fortnight".split())
"""Words in front of an anchor that make another time of it: *the months after we moved*."""

_AFTER_A_NAME = FOLLOWERS | _EMPTY_WORDS | CHOICES.keys() | COUNTS.keys()
_STOPS = frozenset("?!.;:,")
_MAX_CLAUSE_TOKENS = 10
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)


def anchor_phrase_at(s: Sentence, i: int, reach: int = 3) -> Phrase | None:
    """Read the anchor with the most content words in the clause that begins at a token.

    All of an anchor's content words must be there, inflected or not and in any order; the first
    at most ``reach`` tokens away. Two anchors that fit equally well with different words match
    nothing, and so does a number among the words: the fifth birthday is not just any birthday.
    """
    clause = _content_of_clause(s.tokens[i : i + _MAX_CLAUSE_TOKENS])
    anchors = _best_anchors(s.anchors, clause)
    if not anchors:
        return None
    name = anchors[0].words
    words = content_words(name)
    begin, end = min(clause[word] for word in words), max(clause[word] for word in words) + 1
    others = [word for word, at in clause.items() if at < end and word not in words]
    if (
        begin > reach
        or _is_continued(name, s.at(i + end))
        or not _BESIDE_ANCHORS.isdisjoint(s.words[i : i + begin])
        or any(word[:1].isdigit() for word in others)
    ):
        return None
    known = sorted({anchor.interval for anchor in anchors})

    def repeat(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        return [interval for interval in known if low <= interval.start < high]

    fixed = known[0] if len(known) == 1 else None
    phrase = Phrase(i, i + end, "anchor", fixed, repeat, 0.6 if others else 0.9)
    return choose(s, phrase, "last") if "last" in s.words[i : i + end] else phrase


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


def _is_continued(name: str, following: Token) -> bool:
    """Whether *the wedding* is only the beginning of *the wedding rehearsal*."""
    is_name = name.lower().startswith("the ") or _POSSESSIVE.search(name) is not None
    is_word = following.word.isalpha() and following.raw.islower()
    return is_name and is_word and following.word not in _AFTER_A_NAME


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without those such as *the* or *was*."""
    words = _WORD.findall(_POSSESSIVE.sub("", text.lower()))
    return frozenset(stem(word) for word in words if word not in _EMPTY_WORDS)


def stem(word: str) -> str:
    """Return a word without the ending of *moved*, *moves* and *moving*."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
