"""Parts of times and times beside others: *early March*, *the day before Easter*."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TypeAlias

from family_recall.english import lexicon as lex
from family_recall.english.tokens import day_of, is_ordinal, singular_of

from . import calendar as cal
from .calendar import DAY, HOLIDAY_WORDS, MICROSECOND, Interval
from .dates import repeat_of
from .grammar import (
    Match,
    argument_at,
    is_somebody,
    main_day_at,
    reads,
    table_class,
    word_class,
)
from .relative import CALENDAR_UNITS, PERIODS, Length
from .sentence import Phrase, Sentence, anchor_phrase_at, choose

_Change: TypeAlias = Callable[[Interval], Interval | None]
_LONG = PERIODS - {"week"} | {"season"}
_COUNTED_PARTS = frozenset("day week weekend month".split())
_LASTING = frozenset("did does will would can".split())
_UNREAD = frozenset("last next other second few couple same following previous".split())


def _anchor_day_at(s: Sentence, i: int) -> tuple[Phrase, int] | None:
    """Read the day that another is counted from: *Easter*, *5 May*."""
    day = main_day_at(s, i)
    return (day, day.last) if day and day.fixed else None


def _period_at(s: Sentence, i: int) -> tuple[Phrase, int] | None:
    """Read what has a beginning and an end: *March*, *last year*, *the month*."""
    period = argument_at(s, i, anchored=False)
    if period is None and s.reads(i, "the", PERIODS):
        unit = s.word(i + 1)
        period = Phrase(i, i + 2, unit, cal.unit(s.now, unit, 0), certainty=0.9)
    return (period, period.last) if period else None


def _nth_at(s: Sentence, i: int) -> tuple[int, int] | None:
    """Read *first*, *5th* or *last*, which is −1."""
    word = s.word(i)
    if word in {"last", "final"}:
        again = word == "last" and (s.word(i - 1) in lex.ORDINALS or s.word(i - 1) == "to")
        return None if again else (-1, i + 1)
    nth = day_of(word) if is_ordinal(word) else None
    return (nth, i + 1) if nth else None


word_class("DAY", _anchor_day_at)
word_class("PERIOD", _period_at)
word_class("NTH", _nth_at, ["last", "final", *lex.ORDINALS], digits=True)
word_class("ANCHOR", lambda s, i: (p, p.last) if (p := anchor_phrase_at(s, i, reach=1)) else None)
table_class("COUNTED", _COUNTED_PARTS | lex.WEEKDAYS.keys() | {"half", "quarter"})
table_class(
    "THING",
    CALENDAR_UNITS.union(lex.PARTS, lex.SEASONS, lex.WEEKDAYS, HOLIDAY_WORDS, lex.MONTHS)
    | {"fortnight", "weekend", "eve"},
)


@reads("LENGTH before|after", "THING before|after")
def _beside_unknown(m: Match, what: Length | str, _: str) -> Phrase | None:
    """Step over *two days before the school fair* and *the day before the party*."""
    if isinstance(what, Length):
        known = what.unit in CALENDAR_UNITS or singular_of(what.unit) in lex.PARTS
        return m.unclear() if known else None
    if m.s.word(m.last) == what:
        return m._replace(last=m.last + 1).no_time()  # "night after night"
    definite = m.before == "the" and m.s.word(m.first - 2) != "in"
    known = definite or what in lex.UNITS or what == "weekend"
    return m.unclear() if known and not is_somebody(m.s, m.first) else None


@reads("LENGTH before|after DAY")
def _units_beside(m: Match, length: Length, side: str, day: Phrase) -> Phrase | None:
    """Read *two days before Christmas* as a day, *the two days before Christmas* as both."""
    if day.fixed is None or not length.exact:
        return None
    name, n = length.unit, length.least
    edge = day.fixed.start if side == "before" else day.fixed.end - DAY
    shift = -n if side == "before" else n
    if singular_of(length.unit) in lex.PARTS and m.before != "the":
        return m.part(edge + shift * DAY, singular_of(length.unit), min(0.9, day.certainty))
    if name not in CALENDAR_UNITS:
        return None
    if m.before == "the":
        return m.means("days", cal.adjacent(day.fixed, name, shift), min(0.9, day.certainty))
    return m.means(name, cal.unit(edge, name, shift), min(0.8, day.certainty))


@reads("PART")
def _part(m: Match, part: str) -> Phrase:
    return m.repeats("daily", cal.daily(lex.PARTS[part]))


@reads("year YEAR")
def _the_year(m: Match, year: int) -> Phrase | None:
    return m.means("year", cal.months_from(year, 1, 12)) if m.before == "the" else None


@reads("time ANCHOR", "time of ANCHOR")
def _time_of_anchor(m: Match, anchor: Phrase) -> Phrase | None:
    """Read *the time we moved*; *around* adds its margin."""
    return anchor._replace(first=m.first) if m.before == "the" else None


@reads("UNIT ANCHOR", "month|year of ANCHOR")
def _unit_of_anchor(m: Match, unit: str, anchor: Phrase) -> Phrase | None:
    """Read *the month we moved* and *the year of the wedding*."""
    named = m.before == "the" or m.s.word(m.first + 1) == "of"
    if not named or anchor.fixed is None or m.s.word(m.first + 1) in {"before", "after"}:
        return None
    return anchor._replace(first=m.first, fixed=cal.unit(anchor.fixed.start, unit, 0))


@reads("eve of", "NTH to last", "next to last", "LENGTH ago last TIME")
def _unknown(m: Match, *_: object) -> Phrase:
    """Step over *the second to last week of May*, *a week ago last Friday*."""
    return m.unclear()


@reads("morning|afternoon|evening|night|weekend of DAY")
@reads("week of|commencing|beginning|starting DAY")
def _part_of(m: Match, word: str, day: Phrase) -> Phrase | None:
    """Read *the night of 5 May*, *the week of 5 May* and *the week commencing 5 May*."""
    if word == "of" and m.before in {"a", "one"}:
        return m.unclear()  # "within a week of Christmas"
    if day.fixed is None or day.fixed.end - day.fixed.start > 4 * DAY:
        return None
    start = day.fixed.start
    if word in lex.PARTS:
        return m.means("day", cal.part_of_day(start, lex.PARTS[word]), day.certainty)
    week = cal.unit(start, "week" if word == "of" else "weekend", 0)
    if word in {"commencing", "beginning", "starting"}:
        week = Interval(start, start + 7 * DAY)
    return m.means("day", week, day.certainty)


@reads("THING before last", "THING after next")
def _before_last(m: Match, word: str) -> Phrase | None:
    """Read *the year before last* and *the Friday after next*."""
    back = m.s.word(m.last - 1) == "last"
    repeat, grain = repeat_of(m.s, word)
    if repeat is None:
        shift = -2 if back else 2
        if word in lex.PARTS:
            return m.part(m.s.now + shift * DAY, word)
        return m.means(word, cal.unit(m.s.now, word, shift)) if word in lex.UNITS else None
    if back:
        occurrence = cal.latest_over(repeat, m.s.now, 2)
        return m.means(grain, occurrence, 0.9) if occurrence else None
    following = choose(m.s, m.repeats(grain, repeat), "next")
    if grain not in {"weekday", "weekend"} or following.fixed is None:
        return m.unclear()
    return m.means(grain, cal.shifted(following.fixed, 7 * DAY), following.certainty)


@reads("THING just gone", "THING last")
def _just_gone(m: Match, word: str) -> Phrase | None:
    """Read *the Saturday just gone* and *Sunday last*; *how long did Sunday last* asks for none."""
    is_last = m.s.word(m.last - 1) == "last"
    if not m.s.ends_at(m.last) or (is_last and (word not in lex.WEEKDAYS or m.before in _LASTING)):
        return None
    repeat, grain = repeat_of(m.s, word)
    if repeat is None:
        return m.means(word, cal.unit(m.s.now, word, -1)) if word in PERIODS else None
    occurrence = cal.latest_over(repeat, m.s.now)
    return m.means(grain, occurrence, 0.9) if occurrence else None


@reads("THING before|after DAY")
def _day_beside(m: Match, word: str, side: str, day: Phrase) -> Phrase | None:
    """Read *the day before yesterday*, *the Sunday after Easter*."""
    if day.fixed is None or is_somebody(m.s, m.first):
        return None
    start = day.fixed.start
    repeat = repeat_of(m.s, word)[0] if word in lex.SEASONS else None
    season = cal.latest_begun(repeat, start) if repeat else None
    # A summer's day: this summer or the one beside it.
    in_season = season is not None and season.end > start
    if in_season or is_ordinal(m.before) or m.before in _UNREAD:
        return m.unclear()
    if start != cal.midnight(start) and word == "day":
        part = cal.shifted(day.fixed, -DAY if side == "before" else DAY)
        return m.means("part", part, day.certainty)
    beside = _beside(m.s, word, side, day.fixed)
    return m.means("day", beside, day.certainty) if beside else None


def _beside(s: Sentence, word: str, side: str, place: Interval) -> Interval | None:
    """Return the day, week, Sunday or summer next to an interval, on one side of it."""
    before = side == "before"
    start, end = place
    if word in lex.PARTS:
        return cal.part_of_day(start - DAY if before else end, lex.PARTS[word])
    if word in lex.UNITS or word == "fortnight":
        n = 2 if word == "fortnight" else 1
        return cal.adjacent(place, lex.UNITS.get(word, "week"), -n if before else n)
    repeat, _ = repeat_of(s, word)
    if repeat is None:
        return None
    if before:
        return cal.latest_over(repeat, cal.midnight(start))
    return cal.first_after(repeat, end - (DAY if word == "weekend" else MICROSECOND))


@reads("early|mid|late DASH? in|on? PERIOD", "beginning|start|middle|end of PERIOD")
def _third(m: Match, word: str, period: Phrase) -> Phrase | None:
    """Read *early March*, *mid-2023*, *the end of last year*, *late last night*."""
    which, grain = lex.THIRDS[word], period.grain
    if grain == "nothing":
        return m.no_time()
    if grain in {"week", "weekend", "daily"}:
        return m.unclear()
    if grain in {"day", "part", "weekday"}:
        return period._replace(first=m.first, certainty=min(period.certainty, 0.8))

    def change(whole: Interval) -> Interval | None:
        if grain == "holiday":  # Ramadan is a month, Christmas too short
            long = whole.end - whole.start > 27 * DAY
            return cal.third(whole, "month", which) if long else None
        return cal.third(whole, grain, which)

    return _within_period(m, period, change) if grain == "holiday" or grain in _LONG else None


def _within_period(m: Match, period: Phrase, change: _Change) -> Phrase | None:
    """Return a part of each occurrence of a period."""
    if period.fixed is None:
        if period.repeat is None:
            return None
        repeat = cal.mapped(period.repeat, change)
        return period._replace(first=m.first, grain="days", repeat=repeat, bare=False)
    part = change(period.fixed)
    current = m.s.reads(period.last - 2, "the", period.grain)
    if part and part.start > m.s.now and current and m.s.tense(m.first, m.last) == "past":
        # In June "the end of the year", in a question about the past, was last December.
        part = change(cal.unit(m.s.now, period.grain, -1))
    grain = {"year": "season", "decade": "year"}.get(period.grain, "days")
    return period._replace(first=m.first, grain=grain, fixed=part, bare=False) if part else None


@reads("NTH bank holiday of|in PERIOD")
def _bank_holiday(m: Match, nth: int, _: str, period: Phrase) -> Phrase | None:
    """Read *the last bank holiday in May*."""

    def change(month: Interval) -> Interval | None:
        days = cal.bank_holidays(m.s.country, month)
        at = nth - 1 if nth > 0 else nth
        return days[at] if -len(days) <= at < len(days) else None

    return _within_period(m, period, change) if period.grain == "month" else None


@reads("NTH of PERIOD")
def _nth_day(m: Match, nth: int, period: Phrase) -> Phrase | None:
    """Read *the first of next month*."""
    if period.grain != "month" or m.s.word(m.first) not in {*lex.ORDINALS}:
        return None
    return _within_period(m, period, lambda month: _nth_in(month, "day", nth))


@reads("NTH NUMBER UNITS of|in PERIOD")
def _first_few(
    m: Match, nth: int, number: int, units: str, _: str, period: Phrase
) -> Phrase | None:
    """Read *the first two weeks of May* and *the last three days of June*."""
    if period.grain not in _LONG or nth not in {1, -1}:
        return m.unclear()
    name, n = lex.UNITS[units], nth * number

    def change(whole: Interval) -> Interval | None:
        edge: dt.datetime = whole.start if n > 0 else whole.end
        other = cal.earlier(edge, name, -n)
        few = Interval(min(edge, other), max(edge, other))
        return few if few.end - few.start <= whole.end - whole.start else None

    return _within_period(m, period, change)


@reads("NTH THING before|after DAY")
def _nth_beside(m: Match, nth: int, name: str, side: str, day: Phrase) -> Phrase | None:
    """Read *the third day after Christmas* and *the last weekend before Easter*."""
    place = day.fixed if name in {"day", "weekend", *lex.WEEKDAYS} else None
    for _ in range(min(max(nth, 1), 60)):
        place = place and _beside(m.s, name, side, place)
    certainty = min(day.certainty, 0.8 if side == "before" else 0.9)
    return m.means("day", place, certainty) if place else None


@reads("NTH UNITS of|in", "NTH WEEKDAY of", "NTH weekend of")
def _nth_of_unknown(m: Match, *_: object) -> Phrase | None:
    """Step over *the first days of term* and *the first day of school*."""
    one = m.s.word(m.first + 1) in lex.UNITS.values()
    return m.unclear() if m.s.word(m.last - 1) == "of" or not one else None


@reads("NTH COUNTED of|in PERIOD")
def _nth_of(m: Match, nth: int, name: str, _: str, period: Phrase) -> Phrase | None:
    """Read *the first Monday in March*; *our first week in June* only the speaker knows."""
    part = _nth_of_period(m, period, name, nth) if nth <= 5 else None
    owner = m.s.at(m.first - 1)
    owned = owner.word in lex.OWNERS or (m.first > 1 and owner.possessive and owner.capitalised)
    return m.unclear() if part and owned else part


def _nth_of_period(m: Match, period: Phrase, name: str, nth: int) -> Phrase | None:
    """Read *the second half of 2023*, *the first day of Hanukkah*."""
    grain, whole_units = period.grain, {"month", "year", "decade"}
    if grain == "holiday" and name == "day" and period.main_day is not None:
        return m.unclear()  # the second day of Christmas is the 26th
    if name == "half":
        if grain not in whole_units or nth not in {1, 2}:
            return None
        return _within_period(m, period, lambda whole: cal.half(whole, grain, nth))
    possible = grain in whole_units
    if name in {"month", "quarter"}:
        possible = grain == "year" and nth <= (4 if name == "quarter" else 12)
    return _within_period(m, period, lambda whole: _nth_in(whole, name, nth)) if possible else None


def _nth_in(whole: Interval, name: str, nth: int) -> Interval | None:
    """Return the n-th day, week, weekday, month or quarter of a period; −1 is the last."""
    if name in {"month", "quarter"}:
        last = 12 if name == "month" else 4
        return cal.unit(whole.start, name, (nth if nth > 0 else last) - 1)
    if name in {"day", "week"}:
        length = DAY if name == "day" else 7 * DAY
        start = whole.start + (nth - 1) * length if nth > 0 else whole.end - length
        return Interval(start, start + length)
    repeat = cal.weekends if name == "weekend" else cal.weekly(lex.WEEKDAYS[name])
    such = repeat(*whole)
    at = nth - 1 if nth > 0 else nth
    return such[at] if at < len(such) else None
