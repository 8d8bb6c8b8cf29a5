"""Reading: the single time expression that begins at a token, and which occurrence it means.

``phrase_at`` asks the readers that registered for a token's word (``dates``, ``names``,
``relative``, ``counted``, ``parts``); what *since* or *between* make of a phrase is left to
``clauses``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from . import intervals as iv
from .anchors import Anchor, anchor_at
from .intervals import DAY, Interval, Repeat
from .tense import Tense, tense_at
from .words import END, FOLLOWERS, GIVEN_NAMES, MONTHS, OWNERS, Token

_MAX_DEPTH = 4
_TO_WHOM = frozenset(
    "to with than did does is was will has had can could should would tell told ask asked give "
    "gave call called visit visited see saw meet met invite invited help helped".split()
)


class Phrase(NamedTuple):
    """A time expression on the tokens ``[first, last)``.

    It is either fixed, or comes round again and is chosen by tense, or by a frame such as
    *last year*. ``main_day`` is what it means after *on*, *before*, *after* and *since*.
    ``bare`` phrases mean a time only after a preposition or inside a frame.
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


class Sentence:
    """A question's tokens and everything they are read against."""

    __slots__ = ("anchors", "country", "depth", "moment", "now", "south", "tokens")

    def __init__(
        self,
        tokens: Sequence[Token],
        moment: dt.datetime,
        country: str,
        anchors: Sequence[Anchor],
        *,
        south: bool,
    ) -> None:
        self.tokens = tokens
        self.moment = moment
        self.now = moment.replace(tzinfo=None, fold=0)
        self.country = country
        self.anchors = anchors
        self.south = south
        self.depth = 0

    def at(self, i: int) -> Token:
        """Give a token; an empty one outside the question."""
        return self.tokens[i] if 0 <= i < len(self.tokens) else END

    def word(self, i: int) -> str:
        """Give a word; an empty one outside the question."""
        return self.tokens[i].word if 0 <= i < len(self.tokens) else ""

    def ago(self, length: dt.timedelta) -> dt.datetime:
        """Give the wall clock so long ago, whatever the clocks did since."""
        there = self.moment.astimezone(dt.UTC) - length
        return there.astimezone(self.moment.tzinfo).replace(tzinfo=None)

    def tense(self, first: int, last: int) -> Tense:
        """Read the tense around the tokens ``[first, last)``."""
        return tense_at(self.tokens, first, last)

    def ends_at(self, i: int) -> bool:
        """Whether a phrase may end before this token, rather than be part of a name."""
        word = self.word(i)
        return not word or word in FOLLOWERS or not (word[0].isalnum() or word[0] == "_")


Reader: TypeAlias = Callable[[Sentence, int], Phrase | None]
_READERS: dict[str, tuple[Reader, ...]] = {}
_NUMBER_READERS: list[Reader] = []


def register(reader: Reader, *words: str) -> None:
    """Have phrases that begin with one of these words read by a reader as well."""
    for word in words:
        _READERS[word] = (*_READERS.get(word, ()), reader)


def register_numbers(*readers: Reader) -> None:
    """Have phrases that begin with digits read by these readers as well."""
    _NUMBER_READERS.extend(readers)


def starters() -> frozenset[str]:
    """Give every word that a phrase can begin with."""
    return frozenset(_READERS)


def _readers(word: str) -> Sequence[Reader]:
    if word in _READERS:
        return _READERS[word]
    return _NUMBER_READERS if word[:1].isdigit() or word[:1] in {"'", "’"} else ()


def phrase_at(s: Sentence, i: int, *, anchored: bool = False) -> Phrase | None:
    """Find the longest time expression that begins at a token.

    Args:
        s: The question.
        i: The token.
        anchored: Whether the household's anchors count here: only after *since*, *on*, *when*.
    """
    if s.depth >= _MAX_DEPTH:
        return None
    s.depth += 1
    try:
        word = s.word(i)
        if word == "the":
            if s.word(i + 1) == "the":
                return None
            inner = phrase_at(s, i + 1, anchored=anchored)
            return inner._replace(first=i, article=True) if inner else None
        best: Phrase | None = None
        for read in _readers(word):
            found = read(s, i)
            if found and (best is None or found.last > best.last):
                best = found
        if best is None and anchored and s.anchors:
            best = anchor_phrase_at(s, i)
        return best
    finally:
        s.depth -= 1


def choose(s: Sentence, phrase: Phrase, choice: str = "", tense: Tense | None = None) -> Phrase:
    """Fix a phrase that comes round again; it stays as it is if there is no such occurrence."""
    repeat, now = phrase.repeat, s.now
    if phrase.fixed is not None or repeat is None:
        return phrase
    tense = tense or s.tense(phrase.first, phrase.last)
    soon = phrase.grain in {"weekday", "weekend", "nth"}
    if soon and choice == "this" and s.word(phrase.first - 1) == "for":
        tense = "future"
    certainty = phrase.certainty
    one: Interval | None
    if choice == "last":
        one = iv.latest_over(repeat, now)
        if phrase.grain == "weekday":
            # On a Wednesday night "last Wednesday afternoon" is a week old.
            one = iv.latest_begun(repeat, iv.midnight(now) - dt.timedelta(microseconds=1))
        # Said on a Saturday, "last Friday" may be yesterday or not; so "last May" in June.
        near = {"weekday": 2, "month": 170, "season": 60}.get(phrase.grain, 0)
        if one and now - one.end < near * DAY:
            certainty = min(certainty, 0.8)
    elif choice == "next":
        one = iv.first_after(repeat, now)
        if phrase.grain in {"weekday", "weekend"} and one:
            monday = iv.unit(now, "week", 1).start
            if one.start < monday:
                one, certainty = iv.first_after(repeat, monday - DAY / 2), 0.6
    elif choice == "this" and phrase.grain not in {"weekday", "weekend"}:
        if phrase.grain == "month":
            this_year = iv.years(now.year)
            found = repeat(this_year.start, this_year.end)
            one = found[0] if found else None
        else:
            one = iv.first_not_over(repeat, now) if tense == "future" else iv.nearest(repeat, now)
            certainty = min(certainty, 0.9)
    elif tense == "future":
        one, certainty = iv.first_not_over(repeat, now), min(certainty, 0.9)
    elif soon and choice == "this" and tense != "past":
        one, certainty = iv.first_not_over(repeat, now), min(certainty, 0.7)
    elif tense in {"past", "none"} or not soon:
        one = iv.latest_begun(repeat, now)
        certainty = min(certainty, {"past": 0.95, "none": 0.8 if soon else 0.9}.get(tense, 0.8))
    else:
        one, certainty = iv.first_not_over(repeat, now), min(certainty, 0.7)
    return phrase._replace(fixed=one, certainty=certainty)


def within(phrase: Phrase, frame: Interval) -> Interval | None:
    """Give the only occurrence that starts inside a frame; None if there are none or several."""
    if phrase.repeat is None or frame.end - frame.start > 4000 * DAY:
        return None
    found = phrase.repeat(frame.start, frame.end)
    return found[0] if len(found) == 1 else None


def argument_at(s: Sentence, i: int, *, anchored: bool = True) -> Phrase | None:
    """Find a phrase together with the frame beside it: *March last year*, *last week on Monday*."""
    phrase = phrase_at(s, i, anchored=anchored)
    if phrase is None:
        return None
    j = phrase.last
    if phrase.bare and is_somebody(s, phrase.first):
        return phrase
    if s.word(j) == ",":
        j += 1
    if s.word(j) in {"of", "in", "on", "at", "during"}:
        j += 1
    other = phrase_at(s, j, anchored=False)
    if other is None or (phrase.article and phrase.grain == "holiday" and phrase.bare):
        return phrase
    if other.grain == "daily" and other.repeat and phrase.repeat and not phrase.fixed:
        if phrase.grain not in {"day", "weekday", "nth"}:
            return phrase
        daily = other.repeat
        repeat = iv.mapped(phrase.repeat, lambda one: daily(one.start, one.start + DAY)[0])
        return phrase._replace(last=other.last, repeat=repeat)
    for inner, frame in ((phrase, other), (other, phrase)):
        if inner.repeat and not inner.fixed and frame.fixed and frame.grain != "time":
            one = within(inner, frame.fixed)
            if one:
                certainty = min(inner.certainty, frame.certainty)
                return inner._replace(
                    first=phrase.first, last=other.last, fixed=one, bare=False, certainty=certainty
                )
            if inner is phrase and phrase.grain == "holiday" and frame.grain == "year":
                return doubt(phrase.first, other.last)  # there were two of it, or none
    return phrase


def is_somebody(s: Sentence, i: int) -> bool:
    """Whether *May* is a person in *to May last year*."""
    named, before = s.at(i), s.word(i - 2)
    if named.word not in GIVEN_NAMES or not named.capitalised or before in MONTHS or before == "up":
        return False
    return s.word(i - 1) in _TO_WHOM and not before[:1].isdigit()


def main_day_of(s: Sentence, phrase: Phrase) -> Phrase:
    """Fix a phrase, a period such as Christmas by its main day."""
    main_day = phrase.main_day
    if main_day is not None and phrase.fixed is None:
        phrase = phrase._replace(repeat=main_day)
    elif main_day is not None and phrase.fixed is not None:
        days = main_day(phrase.fixed.start - 9 * DAY, phrase.fixed.end)
        return phrase._replace(fixed=days[0]) if days else phrase
    return choose(s, phrase)


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


def nothing(i: int, last: int) -> Phrase:
    """Consume a date that no calendar has, so that no part of it is read."""
    return Phrase(i, last, "nothing")


def doubt(i: int, last: int) -> Phrase:
    """Consume words for a time that only the speaker knows: the whole question is then silent."""
    return Phrase(i, last, "doubt")


def anchor_phrase_at(s: Sentence, i: int, reach: int = 3) -> Phrase | None:
    """Read an anchor whose first content word is at most ``reach`` tokens away."""
    found = anchor_at(s.tokens, i, s.anchors, reach=reach)
    if found is None:
        return None
    known = found.occurrences

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        return [one for one in known if low <= one.start < high]

    if len(found.occurrences) == 1:
        fixed = found.occurrences[0]
        return Phrase(i, found.last, "anchor", fixed, occurrences, found.certainty)
    phrase = Phrase(i, found.last, "anchor", None, occurrences, found.certainty)
    said_last = any(t.word == "last" for t in s.tokens[i : found.last])
    return choose(s, phrase, "last") if said_last else phrase
