"""A sentence, a phrase for a time, and which Friday, March or birthday it means."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from family_recall.english.lexicon import FOLLOWERS, PARTS, UNITS
from family_recall.english.tokens import NO_TOKEN, Token, tokens_of

from . import calendar as cal
from .calendar import DAY, MICROSECOND, Interval, Repeat
from .tense import Tense, tense_at, tense_told

EMPTY_WORDS = frozenset(
    "a an the we i you he she it they our my your his her its their us me him them was were is "
    "are been be had has have got get of to in on at for and did do does last next this that "
    "first when day".split()
)
JOINTS = frozenset("into onto away to from with".split())
_SMALL_WORDS = EMPTY_WORDS | JOINTS
_BESIDE_ANCHORS = UNITS.keys() | PARTS.keys() | set("before after eve weekend fortnight".split())
"""Words in front of an anchor that make another time of it: *the months after we moved*."""

SOON = frozenset(("weekday", "weekend", "nth"))
_NEAR = 45 * DAY
_RECENT_DAYS = {"weekday": 2, "month": 170, "season": 60}


@dataclass(frozen=True, slots=True)
class Anchor:
    """Words of a question that name a time of the household's own, such as *we moved*.

    ``end`` is the first day after it; an ``end`` at or before ``start`` means that one day.
    Several anchors with the same words are occurrences of one event: each year's birthday.
    """

    words: str
    start: dt.date
    end: dt.date

    @property
    def interval(self) -> Interval:
        """The days it covers."""
        start = cal.midnight(self.start)
        return Interval(start, max(cal.midnight(self.end), start + DAY))


class Phrase(NamedTuple):
    """A time expression on the tokens ``[first, last)``.

    It is either fixed or repeats, and is then chosen by tense or by a frame such as *last
    year*. ``main_day`` is what it means after *on*, *before*, *after* and *since*. ``bare``
    phrases mean a time only after a preposition or inside a frame. ``lead`` counts the tokens of
    the preposition in front.
    """

    first: int
    last: int
    grain: str
    fixed: Interval | None = None
    repeat: Repeat | None = None
    certainty: float = 0.95
    bare: bool = False
    article: bool = False
    main_day: Repeat | None = None
    preposition: str = ""
    lead: int = 0

    @property
    def begin(self) -> int:
        """The first token, with the preposition."""
        return self.first - self.lead


@dataclass(slots=True)
class Sentence:
    """The tokens of a question or a statement, and what they are read against."""

    tokens: Sequence[Token]
    moment: dt.datetime
    country: str
    anchors: Sequence[Anchor]
    south: bool
    statement: bool = False
    """Whether it mentions a time rather than asks about one."""
    coming: bool = False
    """Whether a Friday that has begun is over: the coming one is meant."""
    depth: int = 0
    now: dt.datetime = field(init=False)
    words: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        """Derive the wall clock and the words."""
        # The sum no longer says which of two equal times of the wall clock is meant.
        self.now = self.moment.replace(tzinfo=None) + dt.timedelta()
        self.words = [token.word for token in self.tokens]

    def word(self, i: int) -> str:
        """Return a word; an empty one outside the sentence."""
        return self.words[i] if 0 <= i < len(self.words) else ""

    def at(self, i: int) -> Token:
        """Return a token; an empty one outside the sentence."""
        return self.tokens[i] if 0 <= i < len(self.tokens) else NO_TOKEN

    def reads(self, i: int, *pattern: str | Container[str]) -> bool:
        """Whether the words from a token on are these, each a word or one of several."""
        for at, expected in enumerate(pattern, i):
            word = self.word(at)
            if word != expected if isinstance(expected, str) else word not in expected:
                return False
        return True

    def words_before(self, i: int, reach: int) -> Sequence[str]:
        """Return up to ``reach`` words before a token."""
        return self.words[max(0, i - reach) : i]

    def ago(self, length: dt.timedelta) -> dt.datetime:
        """Return the wall clock so long ago, whatever the clocks did since."""
        moment = self.moment.astimezone(dt.UTC) - length
        return moment.astimezone(self.moment.tzinfo).replace(tzinfo=None)

    def tense(self, first: int, last: int) -> Tense:
        """Return the tense around the tokens ``[first, last)``."""
        read = tense_told if self.statement else tense_at
        return read(self.tokens, first, last)

    def ends_at(self, i: int) -> bool:
        """Whether a phrase may end before this token, rather than be part of a name."""
        word = self.word(i)
        if not word or word in FOLLOWERS or not (word[0].isalnum() or word[0] == "_"):
            return True
        return word[0].isdigit() and not word.isalnum()  # "on the 26th 9.20"


_Chosen: TypeAlias = "tuple[Interval | None, float]"
"""An occurrence, and how surely it is meant."""


def choose(s: Sentence, phrase: Phrase, choice: str = "", tense: Tense | None = None) -> Phrase:
    """Fix a phrase that repeats; it stays as it is if there is no such occurrence.

    ``choice`` is ``last``, ``this`` or ``next``; without one the tense decides, by default that
    of the sentence.
    """
    repeat, grain = phrase.repeat, phrase.grain
    if phrase.fixed is not None or repeat is None:
        return phrase
    tense = tense or s.tense(phrase.first, phrase.last)
    if choice == "this" and grain in SOON and s.word(phrase.first - 1) == "for":
        tense = "future"
    read = {"last": _last, "next": _next, "this": _this}.get(choice, _by_tense)
    occurrence, certainty = read(s, repeat, grain, tense)
    return phrase._replace(fixed=occurrence, certainty=min(phrase.certainty, certainty))


def _last(s: Sentence, repeat: Repeat, grain: str, _tense: Tense) -> _Chosen:
    if grain == "weekday":
        # On a Wednesday night "last Wednesday afternoon" is a week old.
        occurrence = cal.latest_begun(repeat, cal.midnight(s.now) - MICROSECOND)
    else:
        occurrence = cal.latest_over(repeat, s.now)
    # Asked on a Saturday, "last Friday" may be yesterday or not; so "last May" in June.
    recent = occurrence and s.now - occurrence.end < _RECENT_DAYS.get(grain, 0) * DAY
    return occurrence, 0.8 if recent else 1.0


def _next(s: Sentence, repeat: Repeat, grain: str, _tense: Tense) -> _Chosen:
    occurrence = cal.first_after(repeat, s.now)
    next_monday = cal.unit(s.now, "week", 1).start
    if grain in {"weekday", "weekend"} and occurrence and occurrence.start < next_monday:
        return cal.first_after(repeat, next_monday - DAY / 2), 0.6
    return occurrence, 1.0


def _this(s: Sentence, repeat: Repeat, grain: str, tense: Tense) -> _Chosen:
    if grain == "month":
        return next(iter(repeat(*cal.months_from(s.now.year, 1, 12))), None), 1.0
    if grain in {"weekday", "weekend"}:
        return _by_tense(s, repeat, grain, "present" if tense == "none" else tense)
    return (cal.first_not_over if tense == "future" else cal.nearest)(repeat, s.now), 0.9


def _by_tense(s: Sentence, repeat: Repeat, grain: str, tense: Tense) -> _Chosen:
    """Return the coming or the most recent occurrence; a Friday without a tense may be either."""
    soon, now = grain in SOON, s.now
    if tense == "future" or (soon and tense == "present"):
        first = cal.first_after if s.coming else cal.first_not_over
        return first(repeat, now), 0.9 if tense == "future" else 0.7
    certainty = {"past": 0.95, "none": 0.8 if soon else 0.9}.get(tense, 0.8)
    latest = cal.latest_begun(repeat, now)
    if grain == "holiday" and tense == "present":
        # "Who has the boys at Easter?", asked in Lent.
        coming = cal.first_not_over(repeat, now)
        if coming and latest and coming.start - now < min(now - latest.end, _NEAR):
            return coming, 0.75
    return latest, certainty


def within(phrase: Phrase, frame: Interval) -> Interval | None:
    """Return the only occurrence that starts inside a frame; None if there are none or several."""
    if phrase.repeat is None or frame.end - frame.start > 4000 * DAY:
        return None
    inside = phrase.repeat(frame.start, frame.end)
    return inside[0] if len(inside) == 1 else None


def main_day_of(s: Sentence, phrase: Phrase) -> Phrase:
    """Fix a phrase, a period such as Christmas by its main day."""
    if phrase.main_day is not None and phrase.fixed is not None:
        days = phrase.main_day(phrase.fixed.start - 9 * DAY, phrase.fixed.end)
        return phrase._replace(fixed=days[0]) if days else phrase
    return choose(s, phrase._replace(repeat=phrase.main_day or phrase.repeat))


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
