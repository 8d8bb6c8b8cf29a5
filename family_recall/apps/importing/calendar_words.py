"""The times of events in words: a day or more, and the rule by which it is repeated."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

MAX_DAYS_TOLD = 12
"""Of more days that are taken out of a repeated event, or added to it, the number is told."""

MAX_A_DAY = 24
"""The most times in a day that are told, or followed."""

MORE_TO_IT = "by a rule with more to it"
"""Said of a rule that is not told wholly."""

EVERY = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
PARTS_OF_A_DAY = ("BYHOUR", "BYMINUTE", "BYSECOND")

_WITHIN_DAYS = {"HOURLY": "hour", "MINUTELY": "minute", "SECONDLY": "second"}
_DAYS = dict(
    zip("MO TU WE TH FR SA SU".split(), "Mon Tues Wednes Thurs Fri Satur Sun".split(), strict=True)
)
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}
_TOLD = frozenset(
    "FREQ INTERVAL COUNT UNTIL WKST BYMONTH BYWEEKNO BYYEARDAY BYMONTHDAY BYDAY BYSETPOS BYHOUR "
    "BYMINUTE".split()
)


def when_in_words(start: dt.date, end: dt.date | None, zone: dt.tzinfo) -> str:
    """Return the time of an event in words; the end of an all-day event is excluded.

    >>> when_in_words(dt.date(2026, 3, 10), dt.date(2026, 3, 11), dt.UTC)
    'Tuesday 10 March 2026, all day'
    >>> at = dt.datetime(2026, 3, 10, 18, 0, tzinfo=dt.UTC)
    >>> when_in_words(at, at + dt.timedelta(minutes=90), dt.UTC)
    'Tuesday 10 March 2026, 18:00 to 19:30'
    """
    first = local(start, zone)
    if not isinstance(start, dt.datetime):
        last = first
        if end is not None and not isinstance(end, dt.datetime):
            last = max(first, local(end, zone) - dt.timedelta(days=1))
        day = day_in_words(first)
        return f"{day}, all day" if last == first else f"{day} to {day_in_words(last)}"
    words = f"{day_in_words(first)}, {first:%H:%M}"
    if end is None or not isinstance(end, dt.datetime):
        return words
    last = local(end, zone)
    if (last.tzinfo is None) != (first.tzinfo is None) or last <= first:
        return words
    until = (
        f"{last:%H:%M}" if last.date() == first.date() else f"{day_in_words(last)}, {last:%H:%M}"
    )
    return f"{words} to {until}"


def rule_in_words(rules: object, zone: dt.tzinfo, start: dt.date | None = None) -> str:
    """Return rules such as FREQ=WEEKLY;BYDAY=TU in words, which say so if there is more to one.

    >>> rule_in_words({"FREQ": ["WEEKLY"], "INTERVAL": [2], "BYDAY": ["TU", "TH"]}, dt.UTC)
    'every 2 weeks on Tuesday and Thursday'
    >>> rule_in_words({"FREQ": ["YEARLY"], "BYMONTH": [11], "BYDAY": ["4TH"]}, dt.UTC)
    'every year on the fourth Thursday in November'
    """
    words = []
    for rule in rules if isinstance(rules, list) else [rules]:
        try:
            words += [_rule(rule, zone, start)] if isinstance(rule, Mapping) else []
        except (ValueError, TypeError, ArithmeticError):  # of a 13th month, or day before year 1
            words.append("by a rule that is not told here")
    return " and ".join(words)


def _rule(rule: Mapping[str, Any], zone: dt.tzinfo, start: dt.date | None) -> str:
    freq, n = str(rule.get("FREQ", [""])[0]).upper(), int(rule.get("INTERVAL", [1])[0])
    unit = (EVERY | _WITHIN_DAYS).get(freq)
    if unit is None or n < 1 or int(rule.get("COUNT", [1])[0]) < 1:
        return "by a rule that is not told here"
    if unit == "day" and n == 1 and "BYSETPOS" not in rule:
        unit = "month" if "BYMONTHDAY" in rule else "week" if "BYDAY" in rule else unit
    words = f"every {unit}" if n == 1 else f"every {n} {unit}s"
    days = _days_of(rule, unit)
    if days and is_timed(start) and local(start, zone).date() != start.date():
        days += " by its own time zone"
    words += days
    times, are_told = _times(rule, freq, start, zone)
    words += times
    until = rule.get("UNTIL")
    if until and until[0].year < dt.MAXYEAR:  # which stands for no end
        last = local(until[0], zone)
        if is_timed(start) and is_timed(until[0]) and last.time() < local(start, zone).time():
            last -= dt.timedelta(days=1)
        words += f" until {day_in_words(last)}"
    if count := rule.get("COUNT"):
        words += ", once" if count[0] == 1 else f", {count[0]} times"
    week_start = str(rule.get("WKST", ["MO"])[0]).upper()
    if week_start != "MO" and ("BYWEEKNO" in rule or (unit == "week" and n > 1)):
        words += f", with weeks from {_weekday(week_start)} on"
    return words if are_told and not set(rule) - _TOLD else f"{words}, {MORE_TO_IT}"


def _days_of(rule: Mapping[str, Any], unit: str) -> str:
    """Return the days of a week, month or year that a rule names."""
    months, weeks, year_days, month_days, places = (
        [int(value) for value in rule.get(name, ())]
        for name in ("BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYSETPOS")
    )
    # Of a week or day there is no second Monday, and whoever follows the rule takes every one.
    places_of_days = slice(None) if unit in {"month", "year"} else slice(-2, None)
    codes = [str(day).upper()[places_of_days] for day in rule.get("BYDAY", ())]
    of_year = " of the year" * (unit == "year" and not months)
    words = ""
    if weeks:
        words += f" in the {_and(map(_nth, weeks))} week of the year"
    if year_days:
        words += f" on the {_and(map(_nth, year_days))} day of the year"
    if month_days:
        of_month = " of every month" * (unit != "month" and not months)
        words += f" on the {_and(map(_nth, month_days))} day{of_month}"
    if month_days or year_days or unit in {"day", *_WITHIN_DAYS.values()}:
        words += f", if that is {_and(map(_weekday, codes), 'or')}" if codes else ""
    elif codes:
        all_of_them = unit in {"month", "year"} and not (weeks or places)
        each = "every " * (all_of_them and not any(map(_has_number, codes)))
        words += f" on {each}{_and(map(_weekday, codes))}{of_year * any(map(_has_number, codes))}"
    if places:
        words += f", only the {_and(map(_nth, places))} of these in each {unit}"
    if months:
        words += f" in {_and(f'{dt.date(2000, month, 1):%B}' for month in months)}"
    return words


def _times(
    rule: Mapping[str, Any], freq: str, start: dt.date | None, zone: dt.tzinfo
) -> tuple[str, bool]:
    """Return the times of day that a rule names, and whether they are all that it says of them."""
    named = [name for name in PARTS_OF_A_DAY if name in rule]
    if not named:
        return "", True
    if freq in _WITHIN_DAYS or "BYSECOND" in named or not is_timed(start):
        return "", False
    hours, minutes = rule.get("BYHOUR", [start.hour]), rule.get("BYMINUTE", [start.minute])
    times = sorted(itertools.product(hours, minutes))
    if len(times) > MAX_A_DAY or local(start, zone).time() != start.time():
        return "", False
    return f" at {_and(f'{hour:02}:{minute:02}' for hour, minute in times)}", True


def _has_number(code: str) -> bool:
    return len(code) > len("MO")


def _weekday(code: str) -> str:
    name = f"{_DAYS.get(code[-2:], code[-2:])}day"
    if not _has_number(code):
        return name
    n = int(code[:-2])
    return f"the {_ORDINALS.get(n) or _nth(n)} {name}"


def _nth(n: int) -> str:
    """Return a number as a place: *1st*, *22nd*, *last*, *2nd to last*."""
    if n < 0:
        return "last" if n == -1 else f"{_nth(-n)} to last"
    ends = {} if n % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}
    return f"{n}{ends.get(n % 10, 'th')}"


def _and(words: Iterable[str], last: str = "and") -> str:
    *others, end = words
    return f"{', '.join(others)} {last} {end}" if others else end


def days_in_words(moments: Sequence[dt.date], zone: dt.tzinfo) -> str:
    """Return some days in words; of many, their number."""
    if len(moments) > MAX_DAYS_TOLD:
        return f"{len(moments)} days"
    return _and(dict.fromkeys(day_in_words(local(moment, zone)) for moment in moments))


def is_timed(moment: object) -> TypeGuard[dt.datetime]:
    """Whether it is a moment and no whole day."""
    return isinstance(moment, dt.datetime)


def local(moment: dt.date, zone: dt.tzinfo) -> dt.datetime:
    """Return a moment in a zone; a day or a floating time stays naive."""
    if not isinstance(moment, dt.datetime):
        return dt.datetime.combine(moment, dt.time())
    try:
        return moment if moment.tzinfo is None else moment.astimezone(zone)
    except OverflowError:  # at the end of the year 9999
        return moment


def day_in_words(day: dt.date) -> str:
    """Return a day with its weekday and year."""
    return f"{day:%A} {day.day} {day:%B %Y}"
