"""Calendar arithmetic on local wall-clock time, without a zone, and the holidays of each country.

Every interval is half-open. A ``Repeat`` lists the occurrences of a recurring time (Mondays,
Marches, Christmases) that start in ``[low, high)``, earliest first.

``holidays.json`` holds the names and dates of holidays; ``tools/fit/holiday_table.py`` prints it
from the ``holidays`` library. A rule answers for every year: ``12-24`` is that day, ``thu>=11-22``
the first Thursday from that day on, ``easter-47`` a day counted from Easter Sunday. Lunar holidays
are listed for the years it states and mean nothing outside them:

* Eid and Ramadan follow the Umm al-Qura calendar of Saudi Arabia. Where the moon is sighted the
  day may be one later, so Eid al-Fitr has three days and Eid al-Adha its four.
* Jewish holidays begin with the civil day at whose dusk they begin.
"""

from __future__ import annotations

import calendar
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from family_recall.english.lexicon import WEEKDAYS


class Interval(NamedTuple):
    """From ``start`` up to, not including, ``end``."""

    start: dt.datetime
    end: dt.datetime


Repeat: TypeAlias = Callable[[dt.datetime, dt.datetime], list[Interval]]

OPEN_START, OPEN_END = dt.datetime.min, dt.datetime.max  # noqa: DTZ901  (wall clock)
"""The ends of an interval that goes on."""

DAY = dt.timedelta(days=1)
MICROSECOND = dt.timedelta(microseconds=1)
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_SEARCHED_DAYS = (40, 400, 3700)


def midnight(moment: dt.datetime | dt.date) -> dt.datetime:
    """Return the beginning of that day."""
    return dt.datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001  (wall clock)


def day(moment: dt.datetime | dt.date) -> Interval:
    """Return the day that contains a moment."""
    start = midnight(moment)
    return Interval(start, start + DAY)


def shifted(interval: Interval, length: dt.timedelta) -> Interval:
    """Return an interval moved by a length of time."""
    return Interval(interval.start + length, interval.end + length)


def part_of_day(moment: dt.datetime | dt.date, hours: tuple[int, int]) -> Interval:
    """Return the hours of that day, counted from its midnight."""
    start = midnight(moment)
    return Interval(start + dt.timedelta(hours=hours[0]), start + dt.timedelta(hours=hours[1]))


def add_months(moment: dt.datetime, months: int) -> dt.datetime:
    """Move by months; a day that the month lacks becomes its last one."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def months_from(year: int, month: int, n: int = 1) -> Interval:
    """Return n calendar months."""
    start = midnight(dt.date(year, month, 1))
    return Interval(start, add_months(start, n))


def season(year: int, number: int, *, south: bool) -> Interval:
    """Return a meteorological season by the year it begins in; spring is 0, winter 3.

    Three whole months from March, June, September or December, half a year later in the
    southern hemisphere.
    """
    return months_from(year, ((number + 2 * south) % 4 + 1) * 3, 3)


def unit(now: dt.datetime, name: str, shift: int) -> Interval:
    """Return the day, week, weekend, month … decade that lies ``shift`` of them from this one.

    Weeks run from Monday to Sunday.
    """
    today = midnight(now)
    if name == "day":
        return day(today + shift * DAY)
    if name in {"week", "weekend"}:
        first = 5 if name == "weekend" else 0
        start = today + dt.timedelta(days=7 * shift + first - today.weekday())
        return Interval(start, start + (7 - first) * DAY)
    months, month_of_era = _MONTHS_IN[name], today.year * 12 + today.month - 1
    first_month = (month_of_era // months + shift) * months
    start = add_months(today.replace(day=1), first_month - month_of_era)
    return Interval(start, add_months(start, months))


def rolling(now: dt.datetime, name: str, n: int) -> Interval:
    """Return the last n units up to and with today, or the next -n; hours end with the moment."""
    today = midnight(now)
    other = earlier(today, name, n)
    return Interval(min(today, other), max(today, other) + DAY)


def earlier(moment: dt.datetime, name: str, n: int) -> dt.datetime:
    """Return the moment n units earlier, or -n later."""
    if name in _MONTHS_IN:
        return add_months(moment, -n * _MONTHS_IN[name])
    return moment - n * (7 if name == "week" else 1) * DAY


def adjacent(interval: Interval, name: str, n: int) -> Interval:
    """Return the n units that begin where an interval ends, or the -n that end where it begins."""
    if n < 0:
        return Interval(earlier(interval.start, name, -n), interval.start)
    return Interval(interval.end, earlier(interval.end, name, -n))


def weekend_around(day: Interval) -> Interval:
    """Join a holiday from Thursday to Tuesday with the weekend beside it."""
    weekday = day.start.weekday()
    saturday = day.start + (5 - weekday if weekday > 1 else -2 - weekday) * DAY
    return Interval(min(saturday, day.start), max(saturday + 2 * DAY, day.start + DAY))


def third(interval: Interval, grain: str, which: int) -> Interval:
    """Return the early (0), middle (1) or late (2) part.

    A month is cut before the 11th and the 21st, a year every four months, a season and a
    quarter every month, and a decade into four, three and three years.
    """
    start, end = interval
    if grain == "month":
        cuts = [start, start + 10 * DAY, start + 20 * DAY, end]
    else:
        months = _MONTHS_IN.get(grain, 3)
        cuts_at = (0, 48, 84, 120) if grain == "decade" else range(0, months + 1, months // 3)
        cuts = [add_months(start, n) for n in cuts_at]
    return Interval(cuts[which], cuts[which + 1])


def half(interval: Interval, grain: str, which: int) -> Interval:
    """Return the first (1) or second (2) half; a month is cut before the 16th."""
    middle = interval.start + 15 * DAY
    if grain != "month":
        middle = add_months(interval.start, _MONTHS_IN[grain] // 2)
    return Interval(interval.start, middle) if which == 1 else Interval(middle, interval.end)


def yearly(in_year: Callable[[int], list[Interval]]) -> Repeat:
    """Repeat what happens a known number of times a year."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        years = range(max(low.year - 1, 2), min(high.year + 1, 9990) + 1)
        return [each for year in years for each in in_year(year) if low <= each.start < high]

    return occurrences


def daily(hours: tuple[int, int] = (0, 24), *, weekday: int | None = None) -> Repeat:
    """Repeat some hours, counted from midnight, of every day or of every such weekday."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        first = midnight(low)
        if weekday is not None:
            first += (weekday - first.weekday()) % 7 * DAY
        step = DAY if weekday is None else 7 * DAY
        first, length = part_of_day(first, hours).start, dt.timedelta(hours=hours[1] - hours[0])
        starts = [first + n * step for n in range(-((first - high) // step))]
        return [Interval(start, start + length) for start in starts if start >= low]

    return occurrences


def weekly(weekday: int) -> Repeat:
    """Repeat a day of the week; Monday is 0."""
    return daily(weekday=weekday)


weekends: Repeat = daily((0, 48), weekday=5)


def monthly(number: int) -> Repeat:
    """Repeat a day of the month in the months that have it."""

    def in_year(year: int) -> list[Interval]:
        lengths = [calendar.monthrange(year, month)[1] for month in range(1, 13)]
        months = [month for month, length in enumerate(lengths, 1) if number <= length]
        return [day(dt.date(year, month, number)) for month in months]

    return yearly(in_year)


def mapped(repeat: Repeat, change: Callable[[Interval], Interval | None]) -> Repeat:
    """Repeat a part of each occurrence; None leaves that occurrence out."""

    def occurrences(low: dt.datetime, high: dt.datetime) -> list[Interval]:
        changed = (change(whole) for whole in repeat(low - 400 * DAY, high + 40 * DAY))
        return [part for part in changed if part is not None and low <= part.start < high]

    return occurrences


def latest_begun(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Return the most recent occurrence that has begun."""
    searches = (repeat(now - n_days * DAY, now + MICROSECOND) for n_days in _SEARCHED_DAYS)
    return next((begun[-1] for begun in searches if begun), None)


def latest_over(repeat: Repeat, now: dt.datetime, nth: int = 1) -> Interval | None:
    """Return the n-th most recent occurrence that has ended."""
    for n_days in _SEARCHED_DAYS:
        ended = [each for each in repeat(now - n_days * nth * DAY, now) if each.end <= now]
        if len(ended) >= nth:
            return ended[-nth]
    return None


def first_not_over(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Return the occurrence that is running, or else the first that comes."""
    searches = (repeat(now - 400 * DAY, now + n_days * DAY) for n_days in _SEARCHED_DAYS)
    return next((each for occurrences in searches for each in occurrences if each.end > now), None)


def first_after(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Return the first occurrence that starts after now."""
    searches = (repeat(now + MICROSECOND, now + n_days * DAY) for n_days in _SEARCHED_DAYS)
    return next((coming[0] for coming in searches if coming), None)


def nearest(repeat: Repeat, now: dt.datetime) -> Interval | None:
    """Return the occurrence that is running, or else the one with the smaller gap to now."""
    begun, coming = latest_begun(repeat, now), first_after(repeat, now)
    if begun is None or coming is None:
        return begun or coming
    return begun if begun.end > now or now - begun.end <= coming.start - now else coming


class Holiday(NamedTuple):
    """The days of each year that a name means in a country, and how sure they are.

    A period such as Christmas (24 to 26 December) is that period after *at*, *over* or *last*, and
    its main day after *on*, *before*, *after* and *since*. Both are the same for any other holiday.
    """

    period: Callable[[int], list[Interval]]
    main_day: Callable[[int], list[Interval]]
    certainty: float = 0.95

    @property
    def is_period(self) -> bool:
        """Whether it is more than its main day, as Christmas is."""
        return self.main_day is not self.period


def holiday_at(words: Sequence[str], first: int, country: str) -> tuple[Holiday, int] | None:
    """Find the longest holiday name that begins at a word.

    Returns:
        The holiday and the number of the word after its name; None if there is none there. One
        that the country does not observe has no days.
    """
    longest = None
    for name, by_country in _HOLIDAYS.get(words[first], {}).items():
        last = first
        for word in name:
            while first < last < len(words) and words[last] in {"-", ".", "'"}:
                last += 1
            if last >= len(words) or words[last] != word:
                break
            last += 1
        else:
            if longest is None or last > longest[1]:
                longest = by_country.get(country.upper()) or by_country.get("", _NEVER), last
    return longest


def bank_holidays(country: str, within: Interval) -> list[Interval]:
    """Return the days that are called *bank holiday* in a country and begin in an interval."""
    days = {
        day
        for names in _HOLIDAYS.values()
        for name, by_country in names.items()
        if name[-2:] == ("bank", "holiday") and country.upper() in by_country
        for day in by_country[country.upper()].period(within.start.year)
    }
    return sorted(day for day in days if within.start <= day.start < within.end)


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


def _day_by_rule(rule: str, year: int) -> dt.date | None:
    """Return the day that ``12-24``, ``thu>=11-22`` or ``easter-47`` is in a year."""
    if rule.startswith("easter"):
        return easter(year) + int(rule.removeprefix("easter") or 0) * DAY
    weekday, _, day = rule.rpartition(">=")
    try:
        first = dt.date.fromisoformat(f"{year:04}-{day}")
    except ValueError:
        return None  # 29 February
    return first + (WEEKDAYS[weekday] - first.weekday()) % 7 * DAY if weekday else first


def _first_day(entry: Mapping[str, Any], year: int) -> dt.date | None:
    """Return the day on which a holiday of the table begins, before its shift."""
    moved = entry.get("exceptions", {}).get(str(year))
    if moved:
        return dt.date.fromisoformat(f"{year}-{moved}")
    until = entry.get("until")
    day = _day_by_rule(until["rule"] if until and year <= until["year"] else entry["rule"], year)
    taken = "week_later" in entry and day == _day_by_rule(entry["week_later"], year)
    return day + 7 * DAY if day and taken else day


def _holiday_of(entry: Mapping[str, Any]) -> Holiday:
    """Return what an entry of the table means: days by rule, or listed as ``2026-03-20/3``."""
    listed: dict[int, list[Interval]] = {}
    for dates in entry.get("dates", "").split():
        first, _, n_days = dates.partition("/")
        start = midnight(dt.date.fromisoformat(first))
        listed.setdefault(start.year, []).append(Interval(start, start + int(n_days or 1) * DAY))

    def by_rule(year: int) -> list[Interval]:
        first = _first_day(entry, year)
        if first is None:
            return []
        start = midnight(first) + entry.get("shift", 0) * DAY
        return [Interval(start, start + entry.get("days", 1) * DAY)]

    def main_day(year: int) -> list[Interval]:
        main = _day_by_rule(entry["main_day"], year)
        return [day(main)] if main else []

    period = (lambda year: listed.get(year, [])) if listed else by_rule
    main = main_day if "main_day" in entry else period
    return Holiday(period, main, entry.get("certainty", 0.95))


def _load() -> dict[str, dict[tuple[str, ...], dict[str, Holiday]]]:
    """Read the holidays by first word, name and country; ``""`` is every other country."""
    table = json.loads(Path(__file__).with_name("holidays.json").read_text("utf-8"))
    holidays: dict[str, dict[tuple[str, ...], dict[str, Holiday]]] = {}
    for entry in table["holidays"]:
        holiday = _holiday_of(entry)
        for words in map(str.split, entry["names"]):
            by_country = holidays.setdefault(words[0], {}).setdefault(tuple(words), {})
            by_country |= dict.fromkeys(entry.get("countries", [""]), holiday)
    return holidays


_HOLIDAYS = _load()
_NEVER = _holiday_of({"rule": "02-30"})
HOLIDAY_WORDS = frozenset(_HOLIDAYS)
"""The words that names of holidays begin with."""
