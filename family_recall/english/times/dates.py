"""Dates: *5 May 2023*, *2024-03-01*, *March 3-5*, *the 5th*, *2023*, *the nineties*."""

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
    RANGES,
    WEEKDAYS,
)
from family_recall.english.tokens import day_of, is_ordinal

from . import calendar as iv
from .calendar import Interval, mapped, monthly, yearly
from .phrases import Phrase, Sentence, no_time, unclear
from .readers import is_somebody, register, register_numbers

_ISO = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})")
_DAY_FIRST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")
_NUMBERED_BY_YEAR = frozenset(
    "trip trips holiday holidays vacation vacations wedding photos pictures tax taxes budget "
    "calendar census marathon olympics election reunion".split()
)
_JOINS = RANGES | {"and", "or"}
_DATE_MARKERS = frozenset(
    "on since before after until till by from around of between and the to".split()
)


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


def _date(year: int, month: int, day: int) -> Interval | None:
    try:
        return iv.day(dt.date(year, month, day))
    except ValueError:
        return None


def month_alone(s: Sentence, i: int) -> Phrase | None:
    """Read the name of a month and nothing after it."""
    number = MONTHS.get(s.word(i))
    if number is None:
        return None
    return Phrase(
        i, i + 1, "month", None, yearly(lambda year: [iv.months_from(year, number)]), bare=True
    )


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
        return Phrase(i, year[1], "month", iv.months_from(year[0], number))
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

    def in_year(year: int) -> list[Interval]:
        first, last = _date(year, month, days[0]), _date(year, month, days[1])
        return [Interval(first.start, last.end)] if first and last else []

    if dated:
        intervals = in_year(dated[0])
        return Phrase(i, dated[1], "day", intervals[0]) if intervals else no_time(i, dated[1])
    if not in_year(2024):
        return no_time(i, k)
    return Phrase(i, k, "day", repeat=yearly(in_year))


def _date_weekend(s: Sentence, i: int) -> Phrase | None:
    """Read *fourth of July weekend* and *July 4th weekend*."""
    date = _month(s, i) if s.word(i) in MONTHS else None
    if date is None and day_of(s.word(i)):
        j = i + 1 + (s.word(i + 1) == "of")
        day, month = day_of(s.word(i)), MONTHS.get(s.word(j))
        date = days_of_month(i, j + 1, month, (day, day), None) if day and month else None
    if date is None or date.grain != "day" or s.word(date.last) != "weekend":
        return None
    repeat = mapped(date.repeat, iv.weekend_around) if date.repeat else None
    fixed = iv.weekend_around(date.fixed) if date.fixed else None
    return date._replace(last=date.last + 1, fixed=fixed, repeat=repeat)


def _number(s: Sentence, i: int) -> Phrase | None:
    """Read *2024-03-01*, *25/12/2023*, *5 May*, *the 5th*, *3 to 5 May* and *2023*."""
    word = s.word(i)
    if len(word) >= 8 and (match := _ISO.fullmatch(word)):
        fixed = _date(*(int(part) for part in match.groups()))
        return Phrase(i, i + 1, "day", fixed) if fixed else None
    if len(word) >= 8 and (match := _DAY_FIRST.fullmatch(word)):
        return _numeric_date(i, match)
    year = year_at(s, i)
    if year and word not in {",", "of", "in"}:
        numbered = s.word(year[1]) in _NUMBERED_BY_YEAR and s.ends_at(year[1] + 1)
        owned = numbered and s.word(i - 1) in OWNERS | {"the"}
        certainty = 0.85 if owned else 0.95
        return Phrase(
            i, year[1], "year", iv.months_from(year[0], 1, 12), None, certainty, bare=not owned
        )
    days, j = _days_at(s, i)
    if days is None:
        return None
    # "14. Oct", "14 of Oct", "14-Oct-2024"
    dotted = s.word(j) == "." and s.at(j).start == s.at(j - 1).end and s.word(j + 1) in MONTHS
    dashed = s.word(j) in DASHES and s.word(j + 2) in DASHES
    k = j + (dashed or dotted or s.word(j) == "of")
    if s.word(k) in MONTHS:
        return _days_before_month(s, i, k, days, joined=k > j)
    if is_ordinal(word) and word[0].isdigit() and s.ends_at(i + 1):
        return Phrase(i, i + 1, "nth", repeat=monthly(days[0]), bare=True, certainty=0.8)
    return None


def _days_before_month(
    s: Sentence, i: int, k: int, days: tuple[int, int], *, joined: bool
) -> Phrase | None:
    """Read *5 May*, the month at token ``k``; *5 may* is two words of something else."""
    dated = year_at(s, k + 1 + (joined and s.word(k + 1) in DASHES))
    if len(s.word(k + 1)) == 2 and s.word(k + 1).isdigit() and s.ends_at(k + 2):
        return unclear(i, k + 2)  # "14 Oct 24" may be a year
    marked = s.word(i - 1) in _DATE_MARKERS
    if dated or is_ordinal(s.word(i)) or joined or days[1] > days[0]:
        sure = True
    elif s.word(k) in {"may", "march", "mar", "jan"}:
        sure = marked or (s.ends_at(k + 1) and s.word(i - 1) != "at")
    else:
        sure = marked or not s.at(k).possessive
    return days_of_month(i, k + 1, MONTHS[s.word(k)], days, dated) if sure else None


def _counted_day(s: Sentence, i: int) -> Phrase | None:
    """Read *the twelve of May*, as some say it."""
    day = COUNTS[s.word(i)]
    if s.word(i - 1) != "the" or not s.reads(i + 1, "of", MONTHS) or day > 31:
        return None
    return days_of_month(i, i + 3, MONTHS[s.word(i + 2)], (day, day), year_at(s, i + 3))


def _numeric_date(i: int, match: re.Match[str]) -> Phrase:
    """Read two numbers and a year; no time when either number could be the month."""
    one, sign, two, year = int(match[1]), match[2], int(match[3]), int(match[4])
    fixed = None
    if sign == "." or one > 12 or one == two:
        fixed = _date(year, two, one)
    elif two > 12:
        fixed = _date(year, one, two)
    return Phrase(i, i + 1, "day", fixed) if fixed else no_time(i, i + 1)


def _decade(s: Sentence, i: int) -> Phrase | None:
    """Read *the nineties*, *the 1990s*, *the 90s*; *her nineties* is an age."""
    word = s.word(i)
    if s.word(i - 1) in OWNERS or s.at(i - 1).possessive:
        return None
    start = DECADES.get(word, 0)
    digits = word.strip("'’")
    if not start and digits[-2:] == "0s" and digits[:-1].isdigit() and len(digits) in {3, 5}:
        start = int(digits[:-1])
        start += 1900 if 30 <= start < 100 else 0
    if not 1800 <= start <= 2100:
        return None
    return Phrase(i, i + 1, "decade", iv.months_from(start, 1, 120), bare=True)


def _quarter(s: Sentence, i: int) -> Phrase | None:
    """Read *Q3*, *Q3 2024* and *Q3 of last year*."""
    number = s.word(i + 1)
    if number not in {"1", "2", "3", "4"} or s.at(i + 1).start != s.at(i).end:
        return None
    first_month = 3 * int(number) - 2

    def in_year(year: int) -> list[Interval]:
        return [iv.unit(iv.months_from(year, first_month).start, "quarter", 0)]

    dated = year_at(s, i + 2)
    if dated:
        return Phrase(i, dated[1], "quarter", in_year(dated[0])[0])
    return Phrase(i, i + 2, "quarter", repeat=yearly(in_year), bare=True)


register(_quarter, "q")
register(_month, *MONTHS)
register(_date_weekend, *MONTHS, *ORDINALS)
register(_decade, *DECADES)
register(_counted_day, *COUNTS)
register_numbers(_number, _decade, _date_weekend)
