"""Phrases: a time expression that was read, and which Friday, March or Christmas it means."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from family_recall.english.lexicon import FOLLOWERS
from family_recall.english.tokens import NO_TOKEN, Token

from . import calendar as iv
from .anchors import Anchor
from .calendar import DAY, MICROSECOND, Interval, Repeat
from .tense import Tense, tense_at, tense_told

_SOON = frozenset(("weekday", "weekend", "nth"))
_NEAR = 45 * DAY
_EITHER = frozenset("day days month season holiday".split())
_RECENT_DAYS = {"weekday": 2, "month": 170, "season": 60}


class Phrase(NamedTuple):
    """A time expression on the tokens ``[first, last)``.

    It is either fixed or repeats, and is then chosen by tense or by a frame such as *last
    year*. ``main_day`` is what it means after *on*, *before*, *after* and *since*. ``bare``
    phrases mean a time only after a preposition or inside a frame.
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


class _Words(dict[int, str]):
    def __missing__(self, _i: int) -> str:
        return ""


@dataclass(slots=True)
class Sentence:
    """A question's tokens and everything they are read against."""

    tokens: Sequence[Token]
    moment: dt.datetime
    country: str
    anchors: Sequence[Anchor]
    south: bool
    statement: bool = False
    """Whether it tells a time rather than asks about one."""
    depth: int = 0
    now: dt.datetime = field(init=False)
    words: Sequence[str] = field(init=False)
    word: Callable[[int], str] = field(init=False)
    """Returns a word; an empty one outside the question."""

    def __post_init__(self) -> None:
        """Derive the wall clock and the words."""
        # The sum no longer says which of two equal times of the wall clock is meant.
        self.now = self.moment.replace(tzinfo=None) + dt.timedelta()
        self.words = [token.word for token in self.tokens]
        self.word = _Words(enumerate(self.words)).__getitem__

    def at(self, i: int) -> Token:
        """Return a token; an empty one outside the question."""
        return self.tokens[i] if 0 <= i < len(self.words) else NO_TOKEN

    def reads(self, i: int, *pattern: str | Container[str]) -> bool:
        """Whether the words from a token on are these, each a word or one of several."""
        for at, expected in enumerate(pattern, i):
            word = self.word(at)
            if word != expected if isinstance(expected, str) else word not in expected:
                return False
        return True

    def words_before(self, i: int, reach: int) -> list[str]:
        """Return up to ``reach`` words before a token."""
        return [token.word for token in self.tokens[max(0, i - reach) : i]]

    def ago(self, length: dt.timedelta) -> dt.datetime:
        """Return the wall clock so long ago, whatever the clocks did since."""
        moment = self.moment.astimezone(dt.UTC) - length
        return moment.astimezone(self.moment.tzinfo).replace(tzinfo=None)

    def tense(self, first: int, last: int) -> Tense:
        """Return the tense around the tokens ``[first, last)``."""
        if self.statement:
            return tense_told(self.tokens, first, last)
        return tense_at(self.tokens, first, last)

    def ends_at(self, i: int) -> bool:
        """Whether a phrase may end before this token, rather than be part of a name."""
        word = self.word(i)
        if not word or word in FOLLOWERS or not (word[0].isalnum() or word[0] == "_"):
            return True
        return word[0].isdigit() and not word.isalnum()  # "on the 26th 9.20"


def no_time(first: int, last: int) -> Phrase:
    """Step over words that mean no time, so that no part of them is read."""
    return Phrase(first, last, "nothing")


def unclear(first: int, last: int) -> Phrase:
    """Step over a time that only the speaker knows: the whole question then means none."""
    return Phrase(first, last, "unclear")


def choose(s: Sentence, phrase: Phrase, choice: str = "", tense: Tense | None = None) -> Phrase:
    """Fix a phrase that repeats; it stays as it is if there is no such occurrence.

    ``choice`` is ``last``, ``this`` or ``next``; without one the tense decides, by default that
    of the sentence.
    """
    if phrase.fixed is not None or phrase.repeat is None:
        return phrase
    tense = tense or s.tense(phrase.first, phrase.last)
    if choice == "this" and phrase.grain in _SOON and s.word(phrase.first - 1) == "for":
        tense = "future"
    if choice == "last":
        occurrence, certainty = _last(phrase.repeat, phrase.grain, s.now)
    elif choice == "next":
        occurrence, certainty = _next(phrase.repeat, phrase.grain, s.now)
    elif choice == "this" and phrase.grain == "month":
        this_year = phrase.repeat(*iv.months_from(s.now.year, 1, 12))
        occurrence, certainty = (this_year[0] if this_year else None), 1.0
    elif choice == "this" and phrase.grain not in {"weekday", "weekend"}:
        nearest = iv.first_not_over if tense == "future" else iv.nearest
        occurrence, certainty = nearest(phrase.repeat, s.now), 0.9
    else:
        begun = tense == "past" or (tense == "none" and choice != "this")
        occurrence, certainty = _by_tense(phrase.repeat, phrase.grain, s.now, tense, begun=begun)
    return phrase._replace(fixed=occurrence, certainty=min(phrase.certainty, certainty))


def coming_too(s: Sentence, phrase: Phrase, fixed: Interval) -> Interval | None:
    """Return the coming occurrence, where the tense leaves open whether it or the last is meant.

    *Who is away in March*, where *who was* and *who will be* say which; ``fixed`` is the last one.
    """
    if phrase.repeat is None or phrase.grain not in _EITHER or fixed.end > s.now:
        return None
    if s.tense(phrase.first, phrase.last) != "present" or s.word(phrase.first - 1) == "from":
        return None
    return iv.first_not_over(phrase.repeat, s.now)


def _last(repeat: Repeat, grain: str, now: dt.datetime) -> tuple[Interval | None, float]:
    if grain == "weekday":
        # On a Wednesday night "last Wednesday afternoon" is a week old.
        occurrence = iv.latest_begun(repeat, iv.midnight(now) - MICROSECOND)
    else:
        occurrence = iv.latest_over(repeat, now)
    # Asked on a Saturday, "last Friday" may be yesterday or not; so "last May" in June.
    recent = occurrence and now - occurrence.end < _RECENT_DAYS.get(grain, 0) * DAY
    return occurrence, 0.8 if recent else 1.0


def _next(repeat: Repeat, grain: str, now: dt.datetime) -> tuple[Interval | None, float]:
    occurrence = iv.first_after(repeat, now)
    next_monday = iv.unit(now, "week", 1).start
    if grain in {"weekday", "weekend"} and occurrence and occurrence.start < next_monday:
        return iv.first_after(repeat, next_monday - DAY / 2), 0.6
    return occurrence, 1.0


def _by_tense(
    repeat: Repeat, grain: str, now: dt.datetime, tense: Tense, *, begun: bool
) -> tuple[Interval | None, float]:
    """Return the coming or the most recent occurrence; a Friday without a tense may be either."""
    soon = grain in _SOON
    if tense == "future" or (soon and not begun):
        return iv.first_not_over(repeat, now), 0.9 if tense == "future" else 0.7
    certainty = {"past": 0.95, "none": 0.8 if soon else 0.9}.get(tense, 0.8)
    latest = iv.latest_begun(repeat, now)
    if grain == "holiday" and tense == "present":
        # "Who has the boys at Easter?", asked in Lent.
        coming = iv.first_not_over(repeat, now)
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
