"""Relative times: *yesterday evening*, *last week*, *this summer*, *the past two weeks*."""

from __future__ import annotations

import datetime as dt

from . import intervals as iv
from .counted import count_at
from .dates import month_alone
from .intervals import DAY, Interval
from .names import holiday_phrase, season_phrase, weekday_phrase
from .reading import (
    Phrase,
    Sentence,
    choose,
    doubt,
    phrase_at,
    register,
)
from .words import CHOICES, ORDINALS, OWNERS, PARTS, UNITS

_OVER = frozenset("in over during within for from of".split())
_FROM_THE_END = frozenset(("next", *ORDINALS))
_PRONOUNS = frozenset("what who where when how it that there here let he she".split())


def _relative_day(s: Sentence, i: int) -> Phrase | None:
    word = s.word(i)
    if s.at(i).capitalised and i > 0 and s.word(i - 1)[-1:].isalpha():
        return None  # a title, like the song
    if word == "tonight":
        return Phrase(i, i + 1, "part", iv.part_of_day(s.now, PARTS["night"]))
    there = s.now + {"today": 0, "yesterday": -1, "tomorrow": 1}[word] * DAY
    if s.word(i + 1) == "week" and s.ends_at(i + 2):
        later = (-7 if word == "yesterday" else 7) * DAY
        return Phrase(i, i + 2, "day", iv.day(there + later), None, 0.8)
    hours = PARTS.get(s.word(i + 1))
    if hours:
        return Phrase(i, i + 2, "part", iv.part_of_day(there, hours))
    return Phrase(i, i + 1, "day", iv.day(there))


def _determined(s: Sentence, i: int) -> Phrase | None:
    """Read *last*, *this*, *next*, *past* or *coming* and what it determines."""
    before = s.at(i - 1)
    at_home = s.word(i - 2) in {"at", "to", "from"}  # "at Grandma's last year"
    owned = before.possessive and before.word not in _PRONOUNS and not at_home
    title = s.at(i).capitalised and before.word[-1:].isalpha()  # "the film Last Christmas"
    if before.word in OWNERS or owned or title:
        return None
    if before.word in ORDINALS or (before.word == "to" and s.word(i - 2) in _FROM_THE_END):
        return _unless_named(s, i)
    choice, j = CHOICES[s.word(i)], i + 1
    past = s.word(i) == "past"
    if choice == "this" and s.word(j) in {"past", "coming"}:
        choice, past, j = CHOICES[s.word(j)], s.word(j) == "past", j + 1
    if choice == "this" and s.word(j) == "time":
        return _this_time(s, i)
    if choice == "this" and s.word(j) == "day":
        return _this_day(s, i)
    word = s.word(j)
    if word == "fortnight" and choice != "this":
        fixed = iv.rolling(s.now, "week", 2 if choice == "last" else -2)
        return Phrase(i, j + 1, "days", fixed)
    if word == "half" and choice == "last":
        return _half_hour(s, i, j)
    counted = count_at(s, j)
    coming = s.word(j - 1) == "coming"
    if counted and coming and s.word(i - 1) != "the" and i == j - 1:
        return None  # "is she coming a week on Saturday"
    if counted and choice != "this":
        return rolling_phrase(s, i, counted, choice)
    if word == "weekend":
        phrase = Phrase(i, j + 1, "weekend", repeat=iv.weekly(5, 2))
        return _coming(s, phrase) if coming else choose(s, phrase, choice)
    if word in UNITS and not word.endswith("s"):
        if word in {"minute", "day"}:
            return None
        rolls = past or (s.word(i - 1) == "the" and s.word(i) == "last" and word != "quarter")
        if rolls and not past and s.word(i - 2) not in _OVER and not s.ends_at(j + 1):
            return None  # "the last year Dad worked"
        if word == "hour" or (rolls and choice == "last"):
            return rolling_phrase(s, i, (1, 1, j), choice) if choice == "last" else None
        fixed = iv.unit(s.now, word, {"last": -1, "this": 0, "next": 1}[choice])
        return Phrase(i, j + 1, word, fixed)
    if word in PARTS:
        if choice == "next":
            return None
        shift = -1 if choice == "last" else 0
        certainty = 0.6 if s.now.hour < 5 and word == "night" else 0.95
        return Phrase(
            i, j + 1, "part", iv.part_of_day(s.now + shift * DAY, PARTS[word]), None, certainty
        )
    for read in (weekday_phrase, month_alone, season_phrase, holiday_phrase):
        inner = read(s, j)
        if inner and inner.repeat and not (read is month_alone and not _is_noun(s, i, inner)):
            inner = inner._replace(first=i, bare=False)
            soon = coming and inner.grain == "weekday"
            return _coming(s, inner) if soon else choose(s, inner, choice)
    return None


def _half_hour(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read *the last half hour* and *the past half an hour*."""
    at = j + 1 + (s.word(j + 1) == "an")
    if s.word(at) != "hour":
        return doubt(i, at + 1) if s.word(at) in UNITS else None
    half = Interval(s.ago(dt.timedelta(minutes=30)), s.ago(dt.timedelta()))
    return Phrase(i, at + 1, "time", half)


def _unless_named(s: Sentence, i: int) -> Phrase | None:
    """Leave *the second last Friday* and *the next to last week* to those who know."""
    other = phrase_at(s, i + 1)
    return doubt(i, other.last if other else i + 2)


def _now(s: Sentence, i: int) -> Phrase | None:
    """Read *now* where something lasts from it: *between now and Christmas*."""
    if s.word(i - 1) not in {"from", "between"}:
        return None
    return Phrase(i, i + 1, "day", iv.day(s.now), None, 0.8)


def _coming(s: Sentence, phrase: Phrase) -> Phrase:
    """Fix *the coming Friday*: the first there is, were it this week's."""
    assert phrase.repeat is not None  # noqa: S101  (a weekday or a weekend)
    return phrase._replace(fixed=iv.first_after(phrase.repeat, s.now), certainty=0.85)


def _is_noun(s: Sentence, i: int, month: Phrase) -> bool:
    """*This may* is mostly a verb and *last march* a walk, unless written as a month."""
    word = s.word(month.first if month.first != i else i + 1)
    token = s.at(i + 1)
    return word not in {"may", "march", "mar", "jan"} or (
        token.raw[:1].isupper() or s.ends_at(month.last)
    )


def _this_time(s: Sentence, i: int) -> Phrase | None:
    """Read *this time last year* and *this time two years ago*: the week before and after."""
    there, last = _years_back(s, i + 2)
    if there is None:
        other = phrase_at(s, i + 2)
        return doubt(i, other.last) if other else None
    return Phrase(i, last, "days", Interval(there - 7 * DAY, there + 8 * DAY), certainty=0.7)


def _this_day(s: Sentence, i: int) -> Phrase | None:
    """Read *this day last year*, *this day three years ago* and *this day next week*."""
    there, last = _years_back(s, i + 2)
    if s.word(i + 2) in {"last", "next"} and s.word(i + 3) == "week":
        there, last = iv.midnight(s.now) + (7 if s.word(i + 2) == "next" else -7) * DAY, i + 4
    if there is None:
        other = phrase_at(s, i + 2)
        return doubt(i, other.last) if other else None
    return Phrase(i, last, "day", iv.day(there))


def _years_back(s: Sentence, i: int) -> tuple[dt.datetime | None, int]:
    """Read *last year* or *three years ago*; give today in that year and the token after."""
    if [s.word(i), s.word(i + 1)] == ["last", "year"]:
        return iv.add_months(iv.midnight(s.now), -12), i + 2
    counted = count_at(s, i)
    if counted is None or counted[0] != counted[1]:
        return None, i
    n, j = counted[0], counted[2]
    if UNITS.get(s.word(j)) != "year" or s.word(j + 1) != "ago":
        return None, i
    return iv.add_months(iv.midnight(s.now), -12 * n), j + 2


def rolling_phrase(
    s: Sentence, i: int, counted: tuple[int, int, int], choice: str
) -> Phrase | None:
    """Read the units behind *the last 3* or *the next few*, counted from the day of asking."""
    least, most, j = counted
    word = s.word(j)
    n = most if most - least > 1 else least
    if word in {"weekends", "nights"} or word not in UNITS or n == 0:
        return None
    name = UNITS[word]
    certainty = 0.95 if least == most else 0.7
    if name in {"minute", "hour"}:
        if choice == "next":
            return None
        length = dt.timedelta(**{f"{name}s": n})
        return Phrase(
            i, j + 1, "time", Interval(s.ago(length), s.ago(dt.timedelta())), None, certainty
        )
    fixed = iv.rolling(s.now, name, n if choice == "last" else -n)
    return Phrase(i, j + 1, "days", fixed, None, certainty)


def _earlier(s: Sentence, i: int) -> Phrase | None:
    """Read *earlier this week*, *later today*: the part of it up to, or from, today."""
    inner = phrase_at(s, i + 1)
    if inner is None or inner.fixed is None or inner.grain == "time":
        return None
    today = iv.day(s.now)
    start, end = inner.fixed
    if inner.grain in {"week", "month", "quarter", "year", "decade"} and start <= s.now < end:
        if s.word(i) == "earlier":
            end = today.end
        else:
            start = today.start
    return inner._replace(first=i, fixed=Interval(start, end))


register(_relative_day, "today", "yesterday", "tomorrow", "tonight")
register(_now, "now")
register(_determined, *CHOICES)
register(_earlier, "earlier", "later")
