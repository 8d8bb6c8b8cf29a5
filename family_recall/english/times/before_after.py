"""Times beside others: *the week before Easter*, *the year before last*, *the night of 5 May*."""

from __future__ import annotations

import datetime as dt

from family_recall.english.lexicon import MONTHS, PARTS, SEASONS, UNITS, WEEKDAYS
from family_recall.english.tokens import is_ordinal

from . import calendar as iv
from .calendar import DAY, HOLIDAY_WORDS, MICROSECOND, Interval, Repeat, daily, yearly
from .dates import year_at
from .phrases import Phrase, Sentence, choose, no_time, unclear
from .readers import anchor_phrase_at, event_day_at, is_somebody, main_day_at, phrase_at, register
from .recurring import named_repeat

_UNREAD = frozenset("last next other second few couple same following previous".split())
_SIDES = frozenset(("before", "after"))
_OF = dict.fromkeys((*PARTS, "weekend", "eve"), ("of",)) | {
    "week": ("of", "commencing", "beginning", "starting")
}
"""Words that belong to a day named behind them, and what joins them to it."""


def _unit_beside(s: Sentence, i: int) -> Phrase | None:
    """Read *the day before yesterday*, *the week before last*, *the night of 5 May*."""
    word, following = s.word(i), s.word(i + 1)
    if s.word(i - 1) == "the" and word in UNITS:
        year = year_at(s, i + 1) if word == "year" else None
        if year:
            return Phrase(i, year[1], "year", iv.months_from(year[0], 1, 12))
        anchored = None if following in _SIDES else _unit_of_anchor(s, i, i + 1)
        if anchored:
            return anchored
    if following in _SIDES and not is_somebody(s, i):
        return _before_or_after(s, i)
    if following == "of" and word in {"month", "year"}:
        return _unit_of_anchor(s, i, i + 2)
    if following in _OF.get(word, ()):
        return _of(s, i)
    if word in PARTS:
        return Phrase(i, i + 1, "daily", repeat=daily(PARTS[word]), bare=True)
    if word == "weekend":
        return Phrase(i, i + 1, "weekend", repeat=iv.weekends, bare=True)
    return None


def _unit_of_anchor(s: Sentence, i: int, j: int) -> Phrase | None:
    """Read *the month we moved* and *the year of the wedding*."""
    anchor = anchor_phrase_at(s, j, reach=1) if s.anchors else None
    unit = iv.unit(anchor.fixed.start, s.word(i), 0) if anchor and anchor.fixed else None
    return anchor._replace(first=i, fixed=unit) if anchor and unit else None


def _before_or_after(s: Sentence, i: int) -> Phrase | None:
    """Read *the day before yesterday*, *the Sunday after Easter*, *the year before last*."""
    word, side = s.word(i), s.word(i + 1)
    if s.word(i + 2) == ("last" if side == "before" else "next") and phrase_at(s, i + 2) is None:
        return _before_last(s, i) if side == "before" else _after_next(s, i)
    if s.word(i + 2) == word:
        return no_time(i, i + 3)  # "night after night"
    anchor = event_day_at(s, i + 2) or main_day_at(s, i + 2)
    if anchor is None or anchor.fixed is None:
        definite = s.word(i - 1) == "the" and s.word(i - 2) != "in"
        return unclear(i, i + 2) if definite or word in UNITS or word == "weekend" else None
    # A summer's day: this summer or the one beside it.
    in_season = word in SEASONS and _is_in_season(s, word, anchor.fixed)
    if in_season or is_ordinal(s.word(i - 1)) or s.word(i - 1) in _UNREAD:
        return unclear(i, anchor.last)
    start, end = anchor.fixed
    if start != iv.midnight(start) and word == "day":
        shift = -DAY if side == "before" else DAY
        part = Interval(start + shift, end + shift)
        return Phrase(i, anchor.last, "part", part, None, anchor.certainty)
    beside = place_beside(s, word, side, start, end)
    return Phrase(i, anchor.last, "day", beside, None, anchor.certainty) if beside else None


def _of(s: Sentence, i: int) -> Phrase | None:
    """Read *the eve of 5 May*, *the week commencing 5 May*, *the night of 5 May*."""
    word, day = s.word(i), main_day_at(s, i + 2)
    if word == "eve" and (day is None or day.fixed is None):
        return unclear(i, i + 2)
    if day and s.word(i - 1) in {"a", "one"} and word != "eve" and s.word(i + 1) == "of":
        return unclear(i, day.last)  # "within a week of Christmas"
    if day is None or day.fixed is None:
        return None
    (start, end), certainty = day.fixed, day.certainty
    if word == "eve":
        eve = Interval(start - DAY, start)
        return Phrase(i, day.last, "day", eve, None, min(0.9, certainty))
    if s.word(i + 1) != "of":
        week = Interval(start, start + 7 * DAY) if end - start == DAY else None
        return Phrase(i, day.last, "week", week, None, certainty) if week else None
    if end - start > 4 * DAY:
        return None
    fixed = iv.part_of_day(start, PARTS[word]) if word in PARTS else iv.unit(start, word, 0)
    return Phrase(i, day.last, "day", fixed, None, certainty)


def place_beside(
    s: Sentence, word: str, side: str, start: dt.datetime, end: dt.datetime
) -> Interval | None:
    """Return the day, week, Sunday or summer next to an interval, on one side of it."""
    before = side == "before"
    if word in PARTS:
        return iv.part_of_day(start - DAY if before else end, PARTS[word])
    if word in UNITS or word == "fortnight":
        n = 2 if word == "fortnight" else 1
        return iv.adjacent(Interval(start, end), UNITS.get(word, "week"), -n if before else n)
    repeat, _ = _repeat_of(s, word)
    if repeat is None:
        return None
    if before:
        return iv.latest_over(repeat, iv.midnight(start))
    return iv.first_after(repeat, end - (DAY if word == "weekend" else MICROSECOND))


def _repeat_of(s: Sentence, word: str) -> tuple[Repeat | None, str]:
    """Return what a word repeats as, names of months included, and its grain."""
    if word in MONTHS:
        return yearly(lambda year: [iv.months_from(year, MONTHS[word])]), "month"
    return named_repeat(s, word)


def _is_in_season(s: Sentence, word: str, interval: Interval) -> bool:
    repeat, _ = named_repeat(s, word)
    season = iv.latest_begun(repeat, interval.start) if repeat else None
    return season is not None and season.end > interval.start


def _before_last(s: Sentence, i: int) -> Phrase | None:
    """Read *the year before last* and *the Friday before last*."""
    repeat, grain = _repeat_of(s, s.word(i))
    if repeat is None:
        return _second_unit(s, i, -2)
    return Phrase(i, i + 3, grain, iv.latest_over(repeat, s.now, 2), certainty=0.9)


def _after_next(s: Sentence, i: int) -> Phrase | None:
    """Read *the week after next* and *the Friday after next*."""
    repeat, grain = _repeat_of(s, s.word(i))
    if repeat is None:
        return _second_unit(s, i, 2)
    if grain not in {"weekday", "weekend"}:
        return unclear(i, i + 3)
    following = choose(s, Phrase(i, i + 3, grain, repeat=repeat), "next")
    fixed = following.fixed and iv.shifted(following.fixed, 7 * DAY)
    return following._replace(fixed=fixed) if fixed else None


def _second_unit(s: Sentence, i: int, shift: int) -> Phrase | None:
    word = s.word(i)
    if word in PARTS:
        return Phrase(i, i + 3, "part", iv.part_of_day(s.now + shift * DAY, PARTS[word]))
    return Phrase(i, i + 3, word, iv.unit(s.now, word, shift)) if word in UNITS else None


register(_unit_beside, "day", "eve", "week", "fortnight", "weekend", "month", "quarter", "year")
register(_unit_beside, *PARTS, *SEASONS, *WEEKDAYS, *HOLIDAY_WORDS, *MONTHS)
