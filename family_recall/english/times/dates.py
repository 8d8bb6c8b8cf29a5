"""Dates and names that recur: *5 May 2023*, *March 3-5*, *the nineties*, *Friday*, *Easter*."""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

from family_recall.english import lexicon as lex
from family_recall.english.tokens import day_of, is_ordinal

from . import calendar as cal
from .calendar import DAY, HOLIDAY_WORDS, Holiday, Interval, Repeat, holiday_at
from .grammar import Match, is_somebody, reads, table_class, word_class
from .sentence import Phrase, Sentence

_NUMERIC_DATE = re.compile(
    r"(?P<y>[0-9]{4})[-/.](?P<m>[0-9]{1,2})[-/.](?P<d>[0-9]{1,2})"
    r"|([0-9]{1,2})([-/.])([0-9]{1,2})\5([0-9]{4})"
)
_MARKERS = frozenset(
    "on since before after until till by from around of between and the to".split()
)
_WORDS_TOO = frozenset("may march mar jan".split())
"""Months that are mostly another word when written small."""

_SHORT_WEEKDAYS = frozenset(name for name in lex.WEEKDAYS if not name.endswith("day"))
_TRIPS = frozenset("trip trips holiday holidays vacation vacations cruise visit reunion".split())
_BEFORE_SHORT = frozenset("on last this next since until by".split())


class Days(NamedTuple):
    """One or several days of a month, and whether they are written as *5th* rather than *5*."""

    first: int
    last: int
    ordinal: bool

    def in_month(self, year: int, month: int) -> list[Interval]:
        """Return the days as one interval; none if the month lacks one of them."""
        try:
            start, end = dt.date(year, month, self.first), dt.date(year, month, self.last)
        except ValueError:
            return []
        return [Interval(cal.midnight(start), cal.midnight(end) + DAY)]


def _days_at(s: Sentence, i: int) -> tuple[Days, int] | None:
    """Read *5*, *3 to 5*, *5th to the 9th*, *3 and 5*, *3 or 4*."""
    first, j = day_of(s.word(i)), i + 2 + (s.word(i + 2) == "the")
    if s.word(i) in lex.COUNTS and s.word(i - 1) == "the" and s.word(i + 1) == "of":
        first = lex.COUNTS[s.word(i)]  # "the twelve of May"
    if first is None or (s.word(i) == "second" and s.word(i - 1) in lex.MONTHS):
        return None
    last, ordinal, joint = day_of(s.word(j)), is_ordinal(s.word(i)), s.word(i + 1)
    joined = joint in lex.RANGES or joint == "and" or (joint == "or" and last == first + 1)
    if joined and last and last > first:
        return Days(first, last, ordinal), j + 1
    return Days(first, first, ordinal), i + 1


def _year_at(s: Sentence, i: int) -> tuple[int, int] | None:
    """Read ``2023``, ``, 2023``, ``of 2023`` or ``'19``."""
    i += s.word(i) in {",", "of", "in"}
    word = s.word(i)
    if (
        len(word) in {7, 9}
        and word[4] == "/"
        and not {*s.words_before(i, 2)}.isdisjoint(lex.SEASONS)
    ):
        word = word[:4]  # "the winter of 2022/23"
    if word[:1] in {"'", "’"} and word[1:].isdigit() and len(word) == 3:
        year = 2000 + int(word[1:])
        return (year if year <= s.now.year + 10 else year - 100), i + 1
    if len(word) == 4 and word.isascii() and word.isdigit() and 1850 <= int(word) <= 2150:
        return int(word), i + 1
    return None


def _month_at(s: Sentence, i: int) -> tuple[int, int] | None:
    """Read *October* or *Oct.* as a number."""
    if s.word(i) not in lex.MONTHS:
        return None
    dotted = s.word(i + 1) == "." and s.word(i + 2)[:1].isdigit()
    return lex.MONTHS[s.word(i)], i + 1 + dotted


def _weekday_at(s: Sentence, i: int) -> tuple[Repeat, int] | None:
    """Read *Friday*, and *Fri* where it cannot be another word."""
    word = s.word(i)
    if word not in lex.WEEKDAYS:
        return None
    is_word = s.at(i).raw.lower() in {"sat", "sun", "wed"}
    closes = (
        i > 0
        and not s.statement
        and not is_word
        and s.ends_at(i + 1)
        and s.word(i - 1) not in {"from", "of"}
    )
    if word in _SHORT_WEEKDAYS and s.word(i - 1) not in _BEFORE_SHORT and not closes:
        return None
    small = is_word and not s.at(i).raw[:1].isupper()
    return None if small else (cal.weekly(lex.WEEKDAYS[word]), i + 1)


def _quarter_at(s: Sentence, i: int) -> tuple[int, int] | None:
    number = s.word(i + 1)
    adjacent = s.word(i) == "q" and s.at(i + 1).start == s.at(i).end
    return (int(number), i + 2) if adjacent and number in {"1", "2", "3", "4"} else None


def _decade_at(s: Sentence, i: int) -> tuple[int, int] | None:
    """Read *nineties*, *1990s* or *90s* as a year."""
    start, digits = lex.DECADES.get(s.word(i), 0), s.word(i).strip("'’")
    if digits[-2:] == "0s" and digits[:-1].isdigit() and len(digits) in {3, 5}:
        start = int(digits[:-1])
        start += 1900 if 30 <= start < 100 else 0
    return (start, i + 1) if 1800 <= start <= 2100 else None


def _numeric_date_at(s: Sentence, i: int) -> tuple[re.Match[str], int] | None:
    match = _NUMERIC_DATE.fullmatch(s.word(i))
    return (match, i + 1) if match else None


word_class("DAYS", _days_at, [*lex.ORDINALS, *lex.COUNTS], digits=True)
word_class("YEAR", _year_at, digits=True)
word_class("MONTH", _month_at, lex.MONTHS)
word_class("WEEKDAY", _weekday_at, lex.WEEKDAYS)
word_class("HOLIDAY", lambda s, i: holiday_at(s.words, i, s.country), HOLIDAY_WORDS)
word_class("QUARTER", _quarter_at, ["q"])
word_class("DECADE", _decade_at, lex.DECADES, digits=True)
word_class("DATE", _numeric_date_at, digits=True)
table_class("SEASON", lex.SEASONS)
table_class("PART", lex.PARTS)
table_class("COMPOUND", lex.COMPOUNDS)
table_class("DASH", lex.DASHES)


def repeat_of(s: Sentence, name: str) -> tuple[Repeat | None, str]:
    """Return what *weekend*, *Friday*, *March*, *summer* or *Easter* repeats as, and its grain."""
    if name == "weekend":
        return cal.weekends, "weekend"
    if name in lex.MONTHS:
        return cal.yearly(lambda year: [cal.months_from(year, lex.MONTHS[name])]), "month"
    if name in lex.WEEKDAYS:
        return cal.weekly(lex.WEEKDAYS[name]), "weekday"
    if name in lex.SEASONS:
        number, south = lex.SEASONS[name], s.south
        return cal.yearly(lambda year: [cal.season(year, number, south=south)]), "season"
    match = holiday_at([name], 0, s.country)
    return (cal.yearly(match[0].period), "holiday") if match else (None, "")


@reads("MONTH COMPOUND", "SEASON COMPOUND", "HOLIDAY COMPOUND")
def _thing(m: Match, *_: object) -> Phrase:
    """Read *summer camp* and *Easter holidays*, which are no such time."""
    return m.no_time()


@reads("MONTH the? DAYS", "MONTH the? DAYS YEAR")
def _month_day(m: Match, month: int, days: Days, year: int | None = None) -> Phrase | None:
    """Read *March 5*, *March 5th, 2024* and *March 3-5*."""
    between_days = day_of(m.before) and not is_ordinal(m.before)
    follows = m.s.word(m.last) in lex.RANGES | lex.WEEKDAYS.keys() | {"weekend"}
    sure = year or m.s.ends_at(m.last) or days.ordinal or follows
    if not sure or between_days or is_somebody(m.s, m.first):
        return None
    return _days_of_month(m, month, days, year)


@reads("DAYS of? MONTH", "DAYS of? MONTH YEAR", "DAYS . MONTH", "DAYS . MONTH YEAR")
@reads("DAYS DASH? MONTH DASH? YEAR")
def _day_month(m: Match, days: Days, month: int, year: int | None = None) -> Phrase | None:
    """Read *5 May*, *the 3rd to the 5th of May*, *14-Oct-2024*; *5 may* is something else."""
    s, last = m.s, m.last - 1
    year_too = len(s.word(m.last)) == 2 and s.word(m.last).isdigit() and s.ends_at(m.last + 1)
    if year is None and year_too:
        return m._replace(last=m.last + 1).unclear()  # "14 Oct 24" may be a year
    sure = year or days.ordinal or days.last > days.first or m.before in _MARKERS
    joined = s.word(last - 1) in {"of", "."}
    if s.word(m.first) in lex.ORDINALS and not joined and m.before not in _MARKERS - {"the"}:
        return None  # "the first April in ages"
    if not (sure or joined):
        small = s.word(last) in _WORDS_TOO and not (s.ends_at(m.last) and m.before != "at")
        if small or s.at(last).possessive:
            return None
    return _days_of_month(m, month, days, year)


def _days_of_month(m: Match, month: int, days: Days, year: int | None) -> Phrase:
    if year:
        intervals = days.in_month(year, month)
        return m.means("day", intervals[0]) if intervals else m.no_time()
    if not days.in_month(2024, month):
        return m.no_time()
    repeat = cal.yearly(lambda year: days.in_month(year, month))
    if m.s.word(m.last) == "weekend":  # "fourth of July weekend"
        m, repeat = m._replace(last=m.last + 1), cal.mapped(repeat, cal.weekend_around)
    return m.repeats("day", repeat, bare=False)


@reads("DATE")
def _date(m: Match, date: re.Match[str]) -> Phrase:
    """Read *2024-03-01*, *25/12/2023*; no time when either number could be the month."""
    if date["y"]:
        year, month, day = int(date["y"]), int(date["m"]), int(date["d"])
    else:
        day, month, year = int(date[4]), int(date[6]), int(date[7])
        if month > 12 and date[5] != ".":
            day, month = month, day
        elif date[5] != "." and day <= 12 and day != month:
            return m.no_time()
    days = Days(day, day, ordinal=False).in_month(year, month)
    return m.means("day", days[0]) if days else m.no_time()


@reads("DAYS")
def _nth(m: Match, days: Days) -> Phrase | None:
    """Read *the 5th* and *the 5th to the 9th*; *the fifth* is mostly no day."""
    if not days.ordinal or m.s.word(m.first) in lex.ORDINALS or not m.s.ends_at(m.last):
        return None
    more = (days.last - days.first) * DAY
    repeat = cal.mapped(cal.monthly(days.first), lambda day: Interval(day.start, day.end + more))
    return m.repeats("nth", repeat, 0.8)


@reads("YEAR")
def _year(m: Match, year: int) -> Phrase:
    """Read *2023* and *our 2023 trip*."""
    owned = m.before in lex.OWNERS or m.before == "the" or m.s.at(m.first - 1).possessive
    of_trip = owned and m.s.word(m.last) in _TRIPS
    certainty = 0.8 if of_trip else 0.95
    return m.means("year", cal.months_from(year, 1, 12), certainty)._replace(bare=not of_trip)


@reads("DECADE")
def _decade(m: Match, year: int) -> Phrase | None:
    """Read *the nineties*, *the 1990s*, *the 90s*; *her nineties* is an age."""
    if m.before in lex.OWNERS or m.s.at(m.first - 1).possessive:
        return None
    return m.means("decade", cal.months_from(year, 1, 120))._replace(bare=True)


@reads("QUARTER", "QUARTER YEAR")
def _quarter(m: Match, number: int, year: int | None = None) -> Phrase:
    """Read *Q3*, *Q3 2024*."""
    first_month = 3 * number - 2
    if year:
        return m.means("quarter", cal.months_from(year, first_month, 3))
    return m.repeats("quarter", cal.yearly(lambda year: [cal.months_from(year, first_month, 3)]))


@reads("WEEKDAY PART")
def _part_of_weekday(m: Match, days: Repeat, part: str) -> Phrase:
    """Read *Friday night*."""
    hours = lex.PARTS[part]
    return m.repeats("weekday", cal.mapped(days, lambda day: cal.part_of_day(day.start, hours)))


@reads("WEEKDAY week|fortnight")
def _weekday_week(m: Match, days: Repeat, word: str) -> Phrase | None:
    """Read *Friday week*: a week after the coming one."""
    coming = cal.first_after(days, m.s.now) if m.s.ends_at(m.last) else None
    weeks = 1 if word == "week" else 2
    return m.means("weekday", cal.shifted(coming, weeks * 7 * DAY), 0.7) if coming else None


@reads("WEEKDAY ,? TIME")
def _dated_weekday(m: Match, _days: Repeat, date: Phrase) -> Phrase | None:
    """Read *Sunday, 7 June* and *Sunday the 7th*; a date on another weekday is unclear."""
    weekday, begins = lex.WEEKDAYS[m.s.word(m.first)], m.s.word(date.first + date.article)
    if begins not in lex.MONTHS and not day_of(begins):
        return None
    if date.grain == "day" and date.fixed and date.fixed.end - date.fixed.start == DAY:
        agrees = date.fixed.start.weekday() == weekday
        return date._replace(first=m.first) if agrees else m.unclear()
    nth = date.grain == "nth" and date.article
    if not date.repeat or not (nth or date.grain == "day"):
        return None
    repeat = cal.mapped(date.repeat, lambda day: day if day.start.weekday() == weekday else None)
    return date._replace(first=m.first, repeat=repeat)


@reads("MONTH", "WEEKDAY", "SEASON", "weekend")
def _name(m: Match, *_: object) -> Phrase | None:
    """Read *March*, *Friday*, *weekend*: the one that the tense or a frame tells."""
    repeat, grain = repeat_of(m.s, m.s.word(m.first))
    return m.repeats(grain, repeat) if repeat else None


@reads("SEASON YEAR")
def _season(m: Match, name: str, year: int) -> Phrase:
    """Read *summer 2023* and *the winter of 2022/23*; a winter counts by its December."""
    number, south = lex.SEASONS[name], m.s.south
    spans_years = number == (1 if south else 3)
    fixed = cal.season(year, number, south=south)
    return m.means("season", fixed, 0.7 if spans_years else 0.95)


@reads("HOLIDAY PART", "HOLIDAY weekend")
def _part_of_holiday(m: Match, holiday: Holiday, part: str = "") -> Phrase:
    """Read *Christmas morning* and *Thanksgiving weekend*."""

    def change(day: Interval) -> Interval:
        return cal.part_of_day(day.start, lex.PARTS[part]) if part else cal.weekend_around(day)

    repeat = cal.mapped(cal.yearly(holiday.main_day), change)
    return m.repeats("holiday", repeat, holiday.certainty, bare=False)


@reads("HOLIDAY", "HOLIDAY YEAR")
def _holiday(m: Match, holiday: Holiday, year: int | None = None) -> Phrase:
    """Read *Christmas* and *Christmas Eve 2022*."""
    if year is None:
        main = cal.yearly(holiday.main_day) if holiday.is_period else None
        repeat = m.repeats("holiday", cal.yearly(holiday.period), holiday.certainty)
        return repeat._replace(main_day=main)
    intervals, days = holiday.period(year), holiday.main_day(year)
    if len(intervals) != 1:
        return m.no_time()
    fixed = m.means("holiday", intervals[0], holiday.certainty)
    return fixed._replace(main_day=lambda _low, _high: days)
