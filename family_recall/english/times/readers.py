"""Readers: the longest time expression that begins at a token, with the frame beside it.

Each reader registers the words its phrases begin with: ``dates``, ``relative``, ``parts``. The
household's anchors ("since we moved") are read here.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from family_recall.english.lexicon import (
    CHOICES,
    COUNTS,
    FOLLOWERS,
    GIVEN_NAMES,
    MONTHS,
    OWNERS,
    PARTS,
    UNITS,
)
from family_recall.english.tokens import Token

from . import calendar as cal
from .calendar import DAY, Interval
from .sentence import Anchor, Phrase, Sentence, choose, main_day_of, unclear, within

Reader: TypeAlias = Callable[[Sentence, int], Phrase | None]
_MAX_DEPTH = 4
_TO_WHOM = frozenset(
    "to with than did does is was will has had can could should would tell told ask asked give "
    "gave call called visit visited see saw meet met invite invited help helped".split()
)
_BEFORE_YEARS = frozenset(
    "in from since until till til before after by of during between around and or to about over "
    "throughout circa back early late mid for".split()
)
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

READERS: dict[str, tuple[Reader, ...]] = {}
_NUMBER_READERS: list[Reader] = []


def register(reader: Reader, *words: str, numbers: bool = False) -> None:
    """Have phrases that begin with one of these words, or with digits, read by a reader as well."""
    for word in words:
        READERS[word] = (*READERS.get(word, ()), reader)
    if numbers:
        _NUMBER_READERS.append(reader)


def readers_of(word: str) -> Sequence[Reader]:
    """Return the readers of phrases that begin with a word."""
    if word in READERS:
        return READERS[word]
    return _NUMBER_READERS if word[:1].isdigit() or word[:1] in {"'", "’"} else ()


def phrase_at(s: Sentence, i: int, *, anchored: bool = False) -> Phrase | None:
    """Find the longest time expression that begins at a token.

    ``anchored`` counts the household's anchors as well: only after *since*, *on*, *when*.
    """
    word = s.word(i)
    if s.depth >= _MAX_DEPTH or s.reads(i, "the", "the"):
        return None
    s.depth += 1
    try:
        if word == "the":
            inner = phrase_at(s, i + 1, anchored=anchored)
            return inner._replace(first=i, article=True) if inner else None
        phrases = [phrase for read in readers_of(word) if (phrase := read(s, i))]
        if phrases:
            return max(phrases, key=lambda phrase: phrase.last)
        return anchor_phrase_at(s, i) if anchored and s.anchors else None
    finally:
        s.depth -= 1


def argument_at(s: Sentence, i: int, *, anchored: bool = True) -> Phrase | None:
    """Find a phrase together with the frame beside it: *March last year*, *last week on Monday*."""
    phrase = phrase_at(s, i, anchored=anchored)
    if phrase is None or (phrase.bare and is_somebody(s, phrase.first)):
        return phrase
    j = phrase.last + (s.word(phrase.last) == ",")
    j += s.word(j) in {"of", "in", "on", "at", "during"}
    before = s.word(i - 1)
    if phrase.grain == "year" and before[-1:].isalpha() and before not in _BEFORE_YEARS:
        return phrase  # "who lent us 1984 in May"
    other = phrase_at(s, j)
    if other is None or (phrase.article and phrase.grain == "holiday" and phrase.bare):
        return phrase
    if other.grain == "daily" and (daily := other.repeat) and phrase.repeat and not phrase.fixed:
        if phrase.grain not in {"day", "weekday", "nth"}:
            return phrase
        # "Monday in the morning" is the mornings of Mondays.
        mornings = cal.mapped(phrase.repeat, lambda day: daily(day.start, day.start + DAY)[0])
        return phrase._replace(last=other.last, repeat=mornings)
    return _framed(phrase, other)


def _framed(phrase: Phrase, other: Phrase) -> Phrase:
    """Fix what repeats by the time beside it, if there is one of it in that time."""
    for inner, frame in ((phrase, other), (other, phrase)):
        if not inner.repeat or inner.fixed or not frame.fixed or frame.grain == "time":
            continue
        only = within(inner, frame.fixed)
        if only:
            return inner._replace(
                first=phrase.first,
                last=other.last,
                grain="part" if inner.grain == "daily" else inner.grain,
                fixed=only,
                bare=False,
                certainty=min(inner.certainty, frame.certainty),
            )
        if inner is phrase and phrase.grain == "holiday" and frame.grain == "year":
            return unclear(phrase.first, other.last)  # there were two of it, or none
    return phrase


def is_somebody(s: Sentence, i: int) -> bool:
    """Whether *May* is a person in *to May last year*."""
    if s.word(i) not in GIVEN_NAMES or s.word(i - 1) not in _TO_WHOM:
        return False
    before = s.word(i - 2)
    is_date = before in MONTHS or before == "up" or before[:1].isdigit()
    return not is_date and s.at(i).capitalised


def main_day_at(s: Sentence, i: int) -> Phrase | None:
    """Find a phrase with its frame, fixed; a period such as Christmas by its main day."""
    phrase = argument_at(s, i)
    return main_day_of(s, phrase) if phrase else None


def event_day_at(s: Sentence, i: int) -> Phrase | None:
    """Read *the rehearsal last Friday*: some event by the one day named behind it."""
    if not (s.word(i) in OWNERS | {"the", "a", "an"} or s.at(i).possessive):
        return None
    for j in range(i + 1, i + 6):
        day = phrase_at(s, j)
        if day:
            day = choose(s, day) if day.grain == "weekday" else day
            if day.grain not in {"day", "weekday"} or day.fixed is None:
                return None
            single = day.fixed.end - day.fixed.start == DAY and not day.article
            return day._replace(certainty=min(day.certainty, 0.7)) if single and j > i + 1 else None
        if not s.word(j).isalpha() or (s.word(j) in FOLLOWERS and s.word(j) != "on"):
            return None
    return None


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
