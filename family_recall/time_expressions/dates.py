"""Dates: *5 May 2023*, *2024-03-01*, *March 3-5*, *the 5th*, *2023*, *the nineties*."""

from __future__ import annotations

import datetime as dt
import re

from . import intervals as iv
from .intervals import Interval
from .reading import (
    Phrase,
    Sentence,
    doubt,
    is_somebody,
    nothing,
    register,
    register_numbers,
)
from .words import (
    COMPOUNDS,
    DASHES,
    DECADES,
    MONTHS,
    OWNERS,
    RANGES,
    WEEKDAYS,
    day_of,
    is_ordinal,
)

_ISO = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})")
_DAY_FIRST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")
_NUMBERED_TRIPS = frozenset(
    "trip trips holiday holidays vacation vacations wedding photos pictures tax taxes budget "
    "calendar census marathon olympics election reunion".split()
)
_DATE_MARKERS = frozenset(
    "on since before after until till by from around of between and the to".split()
)


def year_at(s: Sentence, i: int) -> tuple[int, int] | None:
    """Read ``2023``, ``, 2023``, ``of 2023`` or ``'19``; give it and the token after it."""
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
    repeat = iv.yearly(lambda year: [iv.month(year, number)])
    return Phrase(i, i + 1, "month", repeat=repeat, bare=True)


def _month(s: Sentence, i: int) -> Phrase | None:
    """Read *March*, *March 2024*, *March 5*, *March 5th, 2024* and *March 3-5*."""
    number = MONTHS[s.word(i)]
    j = i + 1 + (s.word(i + 1) == "." and s.at(i + 1).start == s.at(i).end)
    if s.word(j) in COMPOUNDS:
        return nothing(i, j + 1)
    if is_somebody(s, i):
        return month_alone(s, i)
    year = year_at(s, j)
    if year:
        return Phrase(i, year[1], "month", iv.month(year[0], number))
    if s.word(j) == "the":
        j += 1
    first = day_of(s.word(j))
    between_days = day_of(s.word(i - 1)) and not is_ordinal(s.word(i - 1))
    if first is None or s.word(j) == "second" or between_days:
        return month_alone(s, i)
    last, k = first, j + 1
    until = day_of(s.word(j + 2))
    if s.word(j + 1) in RANGES | {"and"} and until and until > first:
        last, k = until, j + 3
    dated = year_at(s, k)
    if not (
        dated or is_ordinal(s.word(j)) or s.ends_at(k) or s.word(k) in RANGES | WEEKDAYS.keys()
    ):
        return month_alone(s, i)
    if s.word(i) in {"may", "march"} and i == 0 and not (dated or s.ends_at(k)):
        return None
    return days_of_month(i, k, number, (first, last), dated)


def days_of_month(
    i: int, k: int, month: int, days: tuple[int, int], dated: tuple[int, int] | None
) -> Phrase | None:
    """Make one or several days of a month, of a given year or of every year."""

    def in_year(year: int) -> list[Interval]:
        first, last = _date(year, month, days[0]), _date(year, month, days[1])
        return [Interval(first.start, last.end)] if first and last else []

    if dated:
        found = in_year(dated[0])
        return Phrase(i, dated[1], "day", found[0]) if found else nothing(i, dated[1])
    if not in_year(2024):
        return nothing(i, k)
    return Phrase(i, k, "day", repeat=iv.yearly(in_year))


def _number(s: Sentence, i: int) -> Phrase | None:
    """Read *2024-03-01*, *25/12/2023*, *5 May*, *the 5th*, *3 to 5 May* and *2023*."""
    word = s.word(i)
    if len(word) >= 8 and (found := _ISO.fullmatch(word)):
        fixed = _date(*(int(part) for part in found.groups()))
        return Phrase(i, i + 1, "day", fixed) if fixed else None
    if len(word) >= 8 and (found := _DAY_FIRST.fullmatch(word)):
        return _numeric_date(i, found)
    year = year_at(s, i)
    if year and s.word(i) not in {",", "of", "in"}:
        return _year(s, i, *year)
    first = day_of(word)
    if first is None:
        return None
    j, last = i + 1, first
    until = day_of(s.word(i + 2))
    joined = s.word(j) in RANGES | {"and"} or (s.word(j) == "or" and until == first + 1)
    if joined and until and until > first:
        last, j = until, i + 3
    dotted = s.word(j) == "." and s.at(j).start == s.at(j - 1).end
    k = j + (s.word(j) == "of" or (dotted and s.word(j + 1) in MONTHS))
    if s.word(j) in DASHES and s.word(j + 2) in DASHES:
        k = j + 1  # 14-Oct-2024
    month = MONTHS.get(s.word(k))
    if month:
        dated = year_at(s, k + 1 + (k == j + 1 and s.word(k + 1) in DASHES))
        if len(s.word(k + 1)) == 2 and s.word(k + 1).isdigit() and s.ends_at(k + 2):
            return doubt(i, k + 2)  # "14 Oct 24" may be a year
        sure = dated or is_ordinal(word) or k > j or last > first
        if not sure and s.word(k) in {"may", "march", "mar", "jan"}:
            sure = s.word(i - 1) in _DATE_MARKERS or (s.ends_at(k + 1) and s.word(i - 1) != "at")
        elif not sure:
            sure = not s.at(k).possessive or s.word(i - 1) in _DATE_MARKERS
        return days_of_month(i, k + 1, month, (first, last), dated) if sure else None
    if is_ordinal(word) and word[0].isdigit() and s.ends_at(i + 1):
        return Phrase(i, i + 1, "nth", repeat=iv.monthly(first), bare=True, certainty=0.8)
    return None


def _numeric_date(i: int, found: re.Match[str]) -> Phrase | None:
    """Read two numbers and a year; silent when either number could be the month."""
    one, sign, two, year = int(found[1]), found[2], int(found[3]), int(found[4])
    if sign == "." or one > 12 or one == two:
        fixed = _date(year, two, one)
    elif two > 12:
        fixed = _date(year, one, two)
    else:
        fixed = None
    return Phrase(i, i + 1, "day", fixed) if fixed else nothing(i, i + 1)


def _year(s: Sentence, i: int, year: int, j: int) -> Phrase:
    numbered = s.word(j) in _NUMBERED_TRIPS and s.ends_at(j + 1)
    owned = s.word(i - 1) in OWNERS | {"the"} and numbered
    return Phrase(i, j, "year", iv.years(year), None, 0.85 if owned else 0.95, bare=not owned)


def _decade(s: Sentence, i: int) -> Phrase | None:
    """Read *the nineties*, *the 1990s*, *the 90s*; *her nineties* is an age."""
    word = s.word(i)
    if s.word(i - 1) in OWNERS or s.at(i - 1).possessive:
        return None
    digits = word.strip("'’")
    if word in DECADES:
        start = DECADES[word]
    elif digits[-2:] == "0s" and digits[:-1].isdigit() and len(digits) in {3, 5}:
        start = int(digits[:-1])
        if start < 100:
            if start < 30:
                return None
            start += 1900
        elif not 1800 <= start <= 2100:
            return None
    else:
        return None
    return Phrase(i, i + 1, "decade", iv.years(start, 10), bare=True)


def _quarter(s: Sentence, i: int) -> Phrase | None:
    """Read *Q3*, *Q3 2024* and *Q3 of last year*."""
    number = s.word(i + 1)
    if number not in {"1", "2", "3", "4"} or s.at(i + 1).start != s.at(i).end:
        return None
    first = 3 * int(number) - 2
    dated = year_at(s, i + 2)
    if dated:
        start = iv.month(dated[0], first).start
        return Phrase(i, dated[1], "quarter", iv.unit(start, "quarter", 0))
    repeat = iv.yearly(lambda year: [iv.unit(iv.month(year, first).start, "quarter", 0)])
    return Phrase(i, i + 2, "quarter", repeat=repeat, bare=True)


register(_quarter, "q")
register(_month, *MONTHS)
register(_decade, *DECADES)
register_numbers(_number, _decade)
