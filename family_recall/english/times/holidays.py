"""Holidays: the days of each year that a name means in a country.

``holidays.json`` holds the names and their dates; ``tools/fit/holiday_table.py`` prints it from
the ``holidays`` library. A rule answers for every year: ``12-24`` is that day, ``thu>=11-22`` the
first Thursday from that day on, ``easter-47`` a day counted from Easter Sunday. Lunar holidays are
listed for the years it states and mean nothing outside them:

* Eid and Ramadan follow the Umm al-Qura calendar of Saudi Arabia. Where the moon is sighted the
  day may be one later, so Eid al-Fitr has three days and Eid al-Adha its four.
* Jewish holidays begin with the civil day at whose dusk they begin.

A period such as Christmas (24 to 26 December) is that period after *at*, *over* or *last*, and its
main day after *on*, *before*, *after* and *since*.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from family_recall.english.tokens import Token

from . import intervals as iv
from .intervals import DAY, Interval

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class Holiday:
    """What a name means in a country: an entry of the table, and how sure its dates are."""

    entry: Mapping[str, Any]
    certainty: float = 0.95

    @property
    def is_period(self) -> bool:
        """Whether it is more than its main day, as Christmas is."""
        return "main_day" in self.entry

    def period(self, year: int) -> list[Interval]:
        """Return its days in a year; none if the country does not observe it."""
        if "listed" in self.entry:
            listed: list[Interval] = self.entry["listed"].get(year, [])
            return listed
        day = self._first_day(year)
        if day is None:
            return []
        start = iv.midnight(day) + self.entry.get("shift", 0) * DAY
        return [Interval(start, start + self.entry.get("days", 1) * DAY)]

    def main_day(self, year: int) -> list[Interval]:
        """Return its main day in a year."""
        if not self.is_period:
            return self.period(year)
        day = _day_by_rule(self.entry["main_day"], year)
        return [iv.day(day)] if day else []

    def _first_day(self, year: int) -> dt.date | None:
        moved = self.entry.get("exceptions", {}).get(str(year))
        if moved:
            return dt.date.fromisoformat(f"{year}-{moved}")
        rule, until = self.entry["rule"], self.entry.get("until")
        day = _day_by_rule(until["rule"] if until and year <= until["year"] else rule, year)
        taken = "week_later" in self.entry and day == _day_by_rule(self.entry["week_later"], year)
        return day + 7 * DAY if day and taken else day


def holiday_at(tokens: Sequence[Token], first: int, country: str) -> tuple[Holiday, int] | None:
    """Find the longest holiday name that begins at a token.

    Returns:
        The holiday and the token after its name; None if there is none there. One that the
        country does not observe has no days.
    """
    return holiday_named([token.word for token in tokens], first, country)


def holiday_named(words: Sequence[str], first: int, country: str) -> tuple[Holiday, int] | None:
    """Do what :func:`holiday_at` does with the words of tokens."""
    longest = None
    for name, by_country in _NAMES_BY_FIRST_WORD.get(words[first], {}).items():
        last = first
        for word in name:
            while last < len(words) and last > first and words[last] in {"-", ".", "'"}:
                last += 1
            if last >= len(words) or words[last] != word:
                break
            last += 1
        else:
            if longest is None or last > longest[1]:
                longest = by_country.get(country.upper()) or by_country.get("", _NEVER), last
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


@lru_cache(maxsize=4096)
def _day_by_rule(rule: str, year: int) -> dt.date | None:
    """Return the day that ``12-24``, ``thu>=11-22`` or ``easter-47`` is in a year."""
    if rule.startswith("easter"):
        return easter(year) + int(rule.removeprefix("easter") or 0) * DAY
    weekday, _, day = rule.rpartition(">=")
    try:
        first = dt.date.fromisoformat(f"{year:04}-{day}")
    except ValueError:
        return None  # 29 February
    return first + (_WEEKDAYS.index(weekday) - first.weekday()) % 7 * DAY if weekday else first


def _listed(dates: str) -> dict[int, list[Interval]]:
    """Read first days by year, each with a number of days: ``2026-03-20/3``."""
    by_year: dict[int, list[Interval]] = {}
    for listed in dates.split():
        day, _, n_days = listed.partition("/")
        start = iv.midnight(dt.date.fromisoformat(day))
        by_year.setdefault(start.year, []).append(Interval(start, start + int(n_days or 1) * DAY))
    return by_year


def _load() -> dict[str, dict[tuple[str, ...], dict[str, Holiday]]]:
    """Read the holidays by first word, name and country; ``""`` is every other country."""
    table = json.loads(Path(__file__).with_name("holidays.json").read_text("utf-8"))
    holidays: dict[str, dict[tuple[str, ...], dict[str, Holiday]]] = {}
    for entry in table["holidays"]:
        if "dates" in entry:
            holiday = Holiday({"listed": _listed(entry["dates"])}, entry["certainty"])
        else:
            holiday = Holiday(entry)
        for words in map(str.split, entry["names"]):
            by_country = holidays.setdefault(words[0], {}).setdefault(tuple(words), {})
            by_country |= dict.fromkeys(entry.get("countries", [""]), holiday)
    return holidays


_NAMES_BY_FIRST_WORD = _load()
_NEVER = Holiday({"listed": {}})
FIRST_WORDS = frozenset(_NAMES_BY_FIRST_WORD)
