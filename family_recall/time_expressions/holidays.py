"""Holidays: the days of each year that a name means in a country.

``holidays.json`` holds the names and their dates; ``tools/fit/holiday_table.py`` prints it from
the ``holidays`` library. A rule answers for every year, moved days included; lunar holidays are
listed for the years it states and mean nothing outside them:

* ``12-24`` is that day, ``thu>=11-22`` the first Thursday from that day on, ``easter-47`` a day
  counted from Easter Sunday.
* Eid and Ramadan follow the Umm al-Qura calendar of Saudi Arabia. Where the moon is sighted the
  day may be one later, so Eid al-Fitr has three days and Eid al-Adha its four.
* Jewish holidays begin with the civil day at whose dusk they begin.

A period such as Christmas (24 to 26 December), Easter (Friday to Monday) or New Year (31
December and 1 January) is that period after *at*, *over* or *last*, and its main day after
*on*, *before*, *after* and *since*.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from .intervals import DAY, Interval, midnight
from .tokens import Token

DayOfYear: TypeAlias = Callable[[int], dt.date | None]
DaysOfYear: TypeAlias = Callable[[int], list[Interval]]
_ABBREVIATED_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Holiday(NamedTuple):
    """What a name means: its period and its main day in a year, and how sure the dates are."""

    period: DaysOfYear
    main_day: DaysOfYear
    certainty: float = 0.95


def holiday_at(
    tokens: Sequence[Token], first: int, country: str
) -> tuple[Holiday, int, tuple[str, ...]] | None:
    """Find the longest holiday name that begins at a token.

    Returns:
        The holiday, the token after its name, and the name; None if there is none there. One
        that the country does not observe has no days.
    """
    longest = None
    for name in _NAMES_BY_FIRST_WORD.get(tokens[first].word, ()):
        last = first
        for word in name:
            while last < len(tokens) and last > first and tokens[last].word in {"-", ".", "'"}:
                last += 1
            if last >= len(tokens) or tokens[last].word != word:
                break
            last += 1
        else:
            if longest is None or last > longest[1]:
                by_country = _HOLIDAYS[name]
                holiday = by_country.get(country.upper()) or by_country.get("", _NEVER)
                longest = holiday, last, name
    return longest


def easter(year: int) -> dt.date:
    """Return Easter Sunday of the Gregorian calendar.

    Source: Meeus/Jones/Butcher; J. Meeus, *Astronomical Algorithms*, 1991, ch. 8.

    >>> easter(2024)
    datetime.date(2024, 3, 31)
    """
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    h = (19 * a + b - d - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    i, k = divmod(c, 4)
    ell = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * ell) // 451
    month, day = divmod(h + ell - 7 * m + 114, 31)
    return dt.date(year, month, day + 1)


def _day_by_rule(rule: str) -> DayOfYear:
    """Return the function of a rule such as ``12-24``, ``thu>=11-22`` or ``easter-47``."""
    if rule.startswith("easter"):
        after_easter = int(rule.removeprefix("easter") or 0) * DAY
        return lambda year: easter(year) + after_easter
    weekday, _, day = rule.rpartition(">=")
    month, number = map(int, day.split("-"))

    def day_of_year(year: int) -> dt.date | None:
        try:
            first = dt.date(year, month, number)
        except ValueError:
            return None  # 29 February
        if not weekday:
            return first
        return first + (_ABBREVIATED_WEEKDAYS.index(weekday) - first.weekday()) % 7 * DAY

    return day_of_year


def _ruled(entry: dict[str, Any]) -> Holiday:
    """Return a holiday that a rule gives for every year."""
    day_by_rule = _day_by_rule(entry["rule"])
    exceptions: dict[str, str] = entry.get("exceptions", {})
    until: dict[str, Any] = entry.get("until", {"year": 0, "rule": entry["rule"]})
    day_by_earlier_rule = _day_by_rule(until["rule"])
    taken = _day_by_rule(entry["week_later"]) if "week_later" in entry else None

    def day_of_year(year: int) -> dt.date | None:
        if str(year) in exceptions:
            return dt.date.fromisoformat(f"{year}-{exceptions[str(year)]}")
        day = (day_by_earlier_rule if year <= until["year"] else day_by_rule)(year)
        return day + 7 * DAY if day and taken and day == taken(year) else day

    period = _in_year(day_of_year, entry.get("shift", 0), entry.get("days", 1))
    main_day = _in_year(_day_by_rule(entry["main_day"])) if "main_day" in entry else period
    return Holiday(period, main_day)


def _in_year(day_of_year: DayOfYear, shift: int = 0, n_days: int = 1) -> DaysOfYear:
    def period(year: int) -> list[Interval]:
        day = day_of_year(year)
        if day is None:
            return []
        start = midnight(day) + shift * DAY
        return [Interval(start, start + n_days * DAY)]

    return period


def _listed(dates: str, certainty: float) -> Holiday:
    """Return a holiday whose days are listed, as ``2026-03-20/3``: so many days from there."""
    by_year: dict[int, list[Interval]] = {}
    for listed in dates.split():
        day, _, n_days = listed.partition("/")
        start = midnight(dt.date.fromisoformat(day))
        by_year.setdefault(start.year, []).append(Interval(start, start + int(n_days or 1) * DAY))

    def period(year: int) -> list[Interval]:
        return by_year.get(year, [])

    return Holiday(period, period, certainty)


def _load() -> dict[tuple[str, ...], dict[str, Holiday]]:
    """Read every name's holiday by country; under ``""`` stands that of all the others."""
    table = json.loads(Path(__file__).with_name("holidays.json").read_text("utf-8"))
    holidays: dict[tuple[str, ...], dict[str, Holiday]] = {}
    for entry in table["holidays"]:
        listed = "dates" in entry
        holiday = _listed(entry["dates"], entry["certainty"]) if listed else _ruled(entry)
        for name in entry["names"]:
            by_country = holidays.setdefault(tuple(name.split()), {})
            by_country |= dict.fromkeys(entry.get("countries", [""]), holiday)
    return holidays


_HOLIDAYS = _load()
_NEVER = Holiday(lambda _year: [], lambda _year: [])
_NAMES_BY_FIRST_WORD: dict[str, list[tuple[str, ...]]] = {}
for _name in _HOLIDAYS:
    _NAMES_BY_FIRST_WORD.setdefault(_name[0], []).append(_name)

FIRST_WORDS = frozenset(_NAMES_BY_FIRST_WORD)
PERIODS = frozenset(("christmas", "xmas", "easter", "new year", "new years"))
"""Names that mean a period after *at* or *last* and a day after *on* or *before*."""
