"""Dates and names that recur: *5 May 2023*, *March 3-5*, *the nineties*, *Friday*, *Easter*."""

from __future__ import annotations

import datetime as dt
import re

from family_recall.english.lexicon import (
    COMPOUNDS,
    COUNTS,
    DASHES,
    DECADES,
    MONTHS,
    ORDINALS,
    OWNERS,
    PARTS,
    RANGES,
    SEASONS,
    WEEKDAYS,
)
from family_recall.english.tokens import day_of, is_ordinal

from . import calendar as cal
from .calendar import DAY, HOLIDAY_WORDS, Interval, Repeat, holiday_at
from .readers import is_somebody, phrase_at, register
from .sentence import Phrase, Sentence, no_time, unclear

_YEAR_FIRST = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})")
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")
_NUMBERED_BY_YEAR = frozenset(
    "trip trips holiday holidays vacation vacations wedding photos pictures tax taxes budget "
    "calendar census marathon olympics election reunion".split()
)
_JOINS = RANGES | {"and", "or"}
_DATE_MARKERS = frozenset(
    "on since before after until till by from around of between and the to".split()
)
_WEEKS_LATER = {"week": 1, "fortnight": 2}
_SHORT_WEEKDAYS = frozenset(name for name in WEEKDAYS if not name.endswith("day"))


def year_at(s: Sentence, i: int) -> tuple[int, int] | None:
    """Read ``2023``, ``, 2023``, ``of 2023`` or ``'19`` as the year and the token after it."""
    if s.word(i) in {",", "of", "in"}:
        i += 1
    word = s.word(i)
    if word[:1] in {"'", "’"} and word[1:].isdigit() and len(word) == 3:
        year = 2000 + int(word[1:])
        return (year if year <= s.now.year + 10 else year - 100), i + 1
    if len(word) == 4 and word.isascii() and word.isdigit() and 1850 <= int(word) <= 2150:
        return int(word), i + 1
    return None


def _days(year: int, month: int, first: int, last: int) -> list[Interval]:
    """Return some days of a month as one interval; none if the month lacks one of them."""
    try:
        start, end = dt.date(year, month, first), dt.date(year, month, last)
    except ValueError:
        return []
    return [Interval(cal.midnight(start), cal.midnight(end) + DAY)]


def month_alone(s: Sentence, i: int) -> Phrase | None:
    """Read the name of a month and nothing after it."""
    if s.word(i) not in MONTHS:
        return None
    return Phrase(i, i + 1, "month", repeat=repeat_of(s, s.word(i))[0], bare=True)


def _month(s: Sentence, i: int) -> Phrase | None:
    """Read *March*, *March 2024*, *March 5*, *March 5th, 2024* and *March 3-5*."""
    number = MONTHS[s.word(i)]
    j = i + 1 + (s.word(i + 1) == "." and s.at(i + 1).start == s.at(i).end)
    if s.word(j) in COMPOUNDS:
        return no_time(i, j + 1)
    if is_somebody(s, i):
        return month_alone(s, i)
    year = year_at(s, j) or _short_year(s, i, j)
    if year:
        return Phrase(i, year[1], "month", cal.months_from(year[0], number))
    j += s.word(j) == "the"
    days, k = _days_at(s, j)
    between_days = day_of(s.word(i - 1)) and not is_ordinal(s.word(i - 1))
    if days is None or s.word(j) == "second" or between_days:
        return month_alone(s, i)
    dated = year_at(s, k)
    ends = dated is not None or s.ends_at(k)
    if not (ends or is_ordinal(s.word(j)) or s.word(k) in RANGES | WEEKDAYS.keys()):
        return month_alone(s, i)
    if s.word(i) in {"may", "march"} and i == 0 and not ends:
        return None
    return days_of_month(i, k, number, days, dated)


def _short_year(s: Sentence, i: int, j: int) -> tuple[int, int] | None:
    """Read *in January 25* as the year 2025: a day would be *on January 25*."""
    word = s.word(j)
    if s.word(i - 1) not in {"in", "during"} or not (len(word) == 2 and word.isdigit()):
        return None
    year = 2000 + int(word)
    near = s.now.year - 15 <= year <= s.now.year + 2
    return (year, j + 1) if near and s.ends_at(j + 1) and s.word(j + 1) not in _JOINS else None


def _days_at(s: Sentence, i: int) -> tuple[tuple[int, int] | None, int]:
    """Read *5* or *3 to 5* as first and last day of a month, with the token after them."""
    first, last = day_of(s.word(i)), day_of(s.word(i + 2))
    if first is None:
        return None, i
    either = s.word(i + 1) == "or" and last == first + 1
    if (s.word(i + 1) in RANGES | {"and"} or either) and last and last > first:
        return (first, last), i + 3
    return (first, first), i + 1


def days_of_month(
    i: int, k: int, month: int, days: tuple[int, int], dated: tuple[int, int] | None
) -> Phrase | None:
    """Return one or several days of a month, of a given year or of every year."""
    if dated:
        intervals = _days(dated[0], month, *days)
        return Phrase(i, dated[1], "day", intervals[0]) if intervals else no_time(i, dated[1])
    if not _days(2024, month, *days):
        return no_time(i, k)
    return Phrase(i, k, "day", repeat=cal.yearly(lambda year: _days(year, month, *days)))


def _date_weekend(s: Sentence, i: int) -> Phrase | None:
    """Read *fourth of July weekend* and *July 4th weekend*."""
    date = _month(s, i) if s.word(i) in MONTHS else None
    j = i + 1 + (s.word(i + 1) == "of")
    day, month = day_of(s.word(i)), MONTHS.get(s.word(j))
    if day and month:
        date = days_of_month(i, j + 1, month, (day, day), None)
    if date is None or date.grain != "day" or s.word(date.last) != "weekend":
        return None
    repeat = cal.mapped(date.repeat, cal.weekend_around) if date.repeat else None
    fixed = cal.weekend_around(date.fixed) if date.fixed else None
    return date._replace(last=date.last + 1, fixed=fixed, repeat=repeat)


def _number(s: Sentence, i: int) -> Phrase | None:
    """Read *2024-03-01*, *25/12/2023*, *5 May*, *the 5th*, *3 to 5 May* and *2023*."""
    word = s.word(i)
    if match := _YEAR_FIRST.fullmatch(word):
        year_number, month, day = map(int, match.groups())
        dates = _days(year_number, month, day, day)
        return Phrase(i, i + 1, "day", dates[0]) if dates else None
    if match := _YEAR_LAST.fullmatch(word):
        return _numeric_date(i, match)
    year = year_at(s, i)
    if year:
        numbered = s.word(year[1]) in _NUMBERED_BY_YEAR and s.ends_at(year[1] + 1)
        owned = numbered and s.word(i - 1) in OWNERS | {"the"}
        fixed, certainty = cal.months_from(year[0], 1, 12), 0.85 if owned else 0.95
        return Phrase(i, year[1], "year", fixed, None, certainty, bare=not owned)
    days, j = _days_at(s, i)
    if days is None:
        return None
    # "14. Oct", "14 of Oct", "14-Oct-2024"
    dotted = s.word(j) == "." and s.at(j).start == s.at(j - 1).end and s.word(j + 1) in MONTHS
    dashed = s.word(j) in DASHES and s.word(j + 2) in DASHES
    k = j + (dashed or dotted or s.word(j) == "of")
    if s.word(k) in MONTHS:
        return _days_before_month(s, i, k, days, joined=k > j)
    if is_ordinal(word) and s.ends_at(i + 1):
        return Phrase(i, i + 1, "nth", repeat=cal.monthly(days[0]), bare=True, certainty=0.8)
    return None


def _days_before_month(
    s: Sentence, i: int, k: int, days: tuple[int, int], *, joined: bool
) -> Phrase | None:
    """Read *5 May*, the month at token ``k``; *5 may* is two words of something else."""
    dated = year_at(s, k + 1 + (joined and s.word(k + 1) in DASHES))
    if len(s.word(k + 1)) == 2 and s.word(k + 1).isdigit() and s.ends_at(k + 2):
        return unclear(i, k + 2)  # "14 Oct 24" may be a year
    sure = s.word(i - 1) in _DATE_MARKERS
    if dated or is_ordinal(s.word(i)) or joined or days[1] > days[0]:
        sure = True
    elif s.word(k) in {"may", "march", "mar", "jan"}:
        sure = sure or (s.ends_at(k + 1) and s.word(i - 1) != "at")
    else:
        sure = sure or not s.at(k).possessive
    return days_of_month(i, k + 1, MONTHS[s.word(k)], days, dated) if sure else None


def _counted_day(s: Sentence, i: int) -> Phrase | None:
    """Read *the twelve of May*, as some say it."""
    day = COUNTS[s.word(i)]
    if s.word(i - 1) != "the" or not s.reads(i + 1, "of", MONTHS):
        return None
    return days_of_month(i, i + 3, MONTHS[s.word(i + 2)], (day, day), year_at(s, i + 3))


def _numeric_date(i: int, match: re.Match[str]) -> Phrase:
    """Read two numbers and a year; no time when either number could be the month."""
    one, sign, two, year = int(match[1]), match[2], int(match[3]), int(match[4])
    fixed: list[Interval] = []
    if sign == "." or one > 12 or one == two:
        fixed = _days(year, two, one, one)
    elif two > 12:
        fixed = _days(year, one, two, two)
    return Phrase(i, i + 1, "day", fixed[0]) if fixed else no_time(i, i + 1)


def _decade(s: Sentence, i: int) -> Phrase | None:
    """Read *the nineties*, *the 1990s*, *the 90s*; *her nineties* is an age."""
    word = s.word(i)
    if s.word(i - 1) in OWNERS or s.at(i - 1).possessive:
        return None
    start = DECADES.get(word, 0)
    digits = word.strip("'’")
    if digits[-2:] == "0s" and digits[:-1].isdigit() and len(digits) in {3, 5}:
        start = int(digits[:-1])
        start += 1900 if 30 <= start < 100 else 0
    if not 1800 <= start <= 2100:
        return None
    return Phrase(i, i + 1, "decade", cal.months_from(start, 1, 120), bare=True)


def _quarter(s: Sentence, i: int) -> Phrase | None:
    """Read *Q3*, *Q3 2024* and *Q3 of last year*."""
    number = s.word(i + 1)
    if number not in {"1", "2", "3", "4"} or s.at(i + 1).start != s.at(i).end:
        return None
    first_month, dated = 3 * int(number) - 2, year_at(s, i + 2)
    if dated:
        return Phrase(i, dated[1], "quarter", cal.months_from(dated[0], first_month, 3))
    repeat = cal.yearly(lambda year: [cal.months_from(year, first_month, 3)])
    return Phrase(i, i + 2, "quarter", repeat=repeat, bare=True)


def weekday_phrase(s: Sentence, i: int) -> Phrase | None:
    """Read *Friday*, *Friday night*, *Friday last*, *Friday week*, *Sunday, 7 June*."""
    word, following = s.word(i), s.word(i + 1)
    if word not in WEEKDAYS or (word in _SHORT_WEEKDAYS and not _is_abbreviation(s, i)):
        return None
    days = cal.weekly(WEEKDAYS[word])
    ends = s.ends_at(i + 2)
    if (following == "last" and ends) or s.reads(i + 1, "just", "gone"):
        last = i + (2 if following == "last" else 3)
        return Phrase(i, last, "weekday", cal.latest_over(days, s.now))
    if following in _WEEKS_LATER and ends:
        # One or two weeks after the coming one.
        coming = cal.first_after(days, s.now)
        fixed = coming and cal.shifted(coming, _WEEKS_LATER[following] * 7 * DAY)
        return Phrase(i, i + 2, "weekday", fixed, None, 0.7)
    if following in PARTS:
        hours = PARTS[following]
        repeat = cal.mapped(days, lambda day: cal.part_of_day(day.start, hours))
        title = s.word(i + 2) in {"lights", "live", "fever"}
        return None if title else Phrase(i, i + 2, "weekday", repeat=repeat, bare=True)
    return _dated_weekday(s, i) or Phrase(i, i + 1, "weekday", repeat=days, bare=True)


def _is_abbreviation(s: Sentence, i: int) -> bool:
    """Whether *sat* or *sun* is a day here: *on Sat*."""
    if s.word(i) in {"sat", "sun", "wed"} and not s.at(i).raw[:1].isupper():
        return False
    return s.word(i - 1) in {"on", "last", "this", "next", "since", "until", "by"}


def _dated_weekday(s: Sentence, i: int) -> Phrase | None:
    """Read *Sunday, 7 June* and *Sunday the 7th*; a date on another weekday is unclear."""
    j = i + 1 + (s.word(i + 1) == ",")
    j += s.word(j) == "the"
    date = phrase_at(s, j) if s.word(j) in MONTHS or day_of(s.word(j)) else None
    if date is None:
        return None
    weekday = WEEKDAYS[s.word(i)]
    if date.grain == "day" and date.fixed:
        agrees = date.fixed.start.weekday() == weekday
        return date._replace(first=i) if agrees else unclear(i, date.last)
    nth = date.grain == "nth" and s.word(j - 1) == "the"
    if not date.repeat or not (nth or date.grain == "day"):
        return None
    repeat = cal.mapped(date.repeat, lambda day: day if day.start.weekday() == weekday else None)
    return date._replace(first=i, repeat=repeat, article=nth or date.article)


def season_phrase(s: Sentence, i: int) -> Phrase | None:
    """Read *summer*, *summer 2023*, *the winter of 2022/23*; a winter counts by its December."""
    word = s.word(i)
    if word not in SEASONS:
        return None
    if s.word(i + 1) in COMPOUNDS:
        return no_time(i, i + 2)
    spans_years = SEASONS[word] == (1 if s.south else 3)
    j = i + 1 + (s.word(i + 1) in {"of", "in"})
    pair = s.word(j)
    if spans_years and len(pair) in {7, 9} and pair[4:5] == "/" and pair[:4].isdigit():
        fixed = cal.season(int(pair[:4]), SEASONS[word], south=s.south)
        return Phrase(i, j + 1, "season", fixed)
    year = year_at(s, i + 1)
    if year:
        fixed = cal.season(year[0], SEASONS[word], south=s.south)
        return Phrase(i, year[1], "season", fixed, None, 0.7 if spans_years else 0.95)
    return Phrase(i, i + 1, "season", repeat=repeat_of(s, word)[0], bare=True)


def holiday_phrase(s: Sentence, i: int) -> Phrase | None:
    """Read *Christmas*, *Christmas Eve 2022*, *Christmas morning*, *Thanksgiving weekend*."""
    match = holiday_at(s.words, i, s.country) if s.word(i) in HOLIDAY_WORDS else None
    if match is None:
        return None
    holiday, j = match
    if s.word(j) in COMPOUNDS:
        return no_time(i, j + 1)
    if s.word(j) in PARTS or s.word(j) == "weekend":
        hours = PARTS.get(s.word(j))
        repeat = cal.mapped(
            cal.yearly(holiday.main_day),
            lambda day: cal.part_of_day(day.start, hours) if hours else cal.weekend_around(day),
        )
        return Phrase(i, j + 1, "holiday", repeat=repeat, certainty=holiday.certainty)
    year = year_at(s, j)
    if year is None:
        main = cal.yearly(holiday.main_day) if holiday.is_period else None
        repeat = cal.yearly(holiday.period)
        return Phrase(i, j, "holiday", None, repeat, holiday.certainty, bare=True, main_day=main)
    intervals, days = holiday.period(year[0]), holiday.main_day(year[0])
    if len(intervals) != 1:
        return no_time(i, year[1])
    fixed = Phrase(i, year[1], "holiday", intervals[0], None, holiday.certainty)
    return fixed._replace(main_day=lambda _low, _high: days)


def repeat_of(s: Sentence, name: str) -> tuple[Repeat | None, str]:
    """Return what *weekend*, *Friday*, *March*, *summer* or *Easter* repeats as, and its grain."""
    if name == "weekend":
        return cal.weekends, "weekend"
    if name in MONTHS:
        return cal.yearly(lambda year: [cal.months_from(year, MONTHS[name])]), "month"
    if name in WEEKDAYS:
        return cal.weekly(WEEKDAYS[name]), "weekday"
    if name in SEASONS:
        number, south = SEASONS[name], s.south
        return cal.yearly(lambda year: [cal.season(year, number, south=south)]), "season"
    match = holiday_at([name], 0, s.country)
    return (cal.yearly(match[0].period), "holiday") if match else (None, "")


register(_quarter, "q")
register(_month, *MONTHS)
register(_date_weekend, *MONTHS, *ORDINALS, numbers=True)
register(_decade, *DECADES, numbers=True)
register(_counted_day, *COUNTS)
register(_number, numbers=True)
register(season_phrase, *SEASONS)
register(holiday_phrase, *HOLIDAY_WORDS)
register(weekday_phrase, *WEEKDAYS)
