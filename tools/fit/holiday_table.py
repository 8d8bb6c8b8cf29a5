"""Print the holiday table of the time grammar from the ``holidays`` library.

Each line of ``HOLIDAYS`` holds the names of a holiday, the countries that keep it (``*``: all),
where its dates come from, and options. The dates come from

* a country of the library, ``US: Memorial Day`` or ``GB-ENG: …``, with a shift in days. From the
  dates of ``YEARS`` the shortest rule that produces them is derived, and the years in which the
  day was moved become exceptions. The rule then answers for every year;
* a lunar calendar of the library, ``hebrew: passover``: its dates are listed, as are those of a
  country with ``listed=yes``;
* a rule of our own, for days that the library does not know: ``12-24`` is that day,
  ``sun>=05-08`` the first Sunday from that day on, ``easter-47`` a day counted from Easter.

Examples:
  python -m tools.fit.holiday_table > family_recall/english/times/holidays.json
"""

from __future__ import annotations

import argparse
import collections
import datetime as dt
import functools
import json
import re
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from typing import Any, TypeAlias

import holidays
from dateutil.easter import easter as _easter  # type: ignore[import-untyped]  # no stubs
from holidays.calendars.chinese import _ChineseLunisolar
from holidays.calendars.hebrew import _HebrewLunisolar
from holidays.calendars.hindu import _HinduLunisolar
from holidays.calendars.islamic import _IslamicLunar

Entry: TypeAlias = dict[str, Any]
YEARS = range(1990, 2051)
"""Fewer where a calendar of the library ends earlier, as the Hindu one does in 2035."""

HOLIDAYS = """
christmas, xmas | * | 12-24 | days=3 main_day=12-25
christmas eve | * | US: Christmas Eve
christmas day | * | US: Christmas Day
boxing day | * | CA: Boxing Day
new year, new years | * | 01-01 | shift=-1 days=2 main_day=01-01
new year eve, new years eve, hogmanay | * | US: New Year's Eve
new year day, new years day | * | US: New Year's Day
epiphany, three kings day | * | IT: Epiphany
groundhog day | * | US: Groundhog Day
super bowl sunday | * | sun>=02-08 | until=2021:sun>=02-01
leap day | * | 02-29
women day, international women day | * | 03-08
pi day | * | 03-14
april fools, april fool, april fools day, april fool day | * | 04-01
earth day | * | 04-22
may day | * | FR: Labor Day
cinco de mayo | * | 05-05
flag day | US | 06-14
all saints day | * | FR: All Saints' Day
all souls day, day of the dead | * | BR: All Souls' Day
remembrance day | * | CA: Remembrance Day
armistice day | * | FR: Armistice Day
burns night | * | 01-25
st david day | * | 03-01
st george day | * | 04-23
st andrew day | * | GB-SCT: Saint Andrew's Day
st nicholas day | * | 12-06
kwanzaa | * | 12-26 | days=7
valentine, valentine day, valentines day | * | US: Valentine's Day
st patrick day, saint patrick day | * | US: Saint Patrick's Day
halloween | * | US: Halloween
guy fawkes night, bonfire night | * | 11-05
veterans day | * | US: Veterans Day
juneteenth | * | US: Juneteenth National Independence Day
canada day | * | CA: Canada Day
bastille day | * | FR: National Day
australia day | * | AU: Australia Day
anzac day | * | AU: ANZAC Day
mlk day, martin luther king day, martin luther king jr day | * | US: Martin Luther King Jr. Day
president day, presidents day | * | US: Washington's Birthday
victoria day | CA | CA: Victoria Day
waitangi day | * | NZ: Waitangi Day
matariki | * | NZ: Matariki | listed=yes
labour day | NZ | mon>=10-22
labour weekend | NZ | mon>=10-22 | shift=-2 days=3
kings birthday, king birthday, queens birthday, queen birthday | NZ | mon>=06-01
national day | SG | 08-09
gandhi jayanti | IN | 10-02
memorial day | * | US: Memorial Day
labor day | * | US: Labor Day
labour day | CA | CA: Labor Day
labour day | GB IN DE FR ES IT | DE: Labor Day
columbus day, indigenous peoples day | * | US: Columbus Day
election day | US | US: Election Day
thanksgiving, thanksgiving day | CA | CA: Thanksgiving Day
thanksgiving, thanksgiving day | * | US: Thanksgiving Day
black friday | * | US: Thanksgiving Day +1
cyber monday | * | US: Thanksgiving Day +4
giving tuesday | * | US: Thanksgiving Day +5
early may bank holiday, may day bank holiday | GB | GB: May Day
spring bank holiday | GB | GB: Spring Bank Holiday
summer bank holiday, august bank holiday | GB | GB-ENG: Late Summer Bank Holiday
independence day | US | US: Independence Day
independence day | IN | IN: Independence Day
independence day | PK | PK: Independence Day
independence day | MX | MX: Independence Day
republic day | IN | IN: Republic Day
republic day | IT | IT: Republic Day
mother day, mothers day | US CA AU NZ IN DE AT CH IT NL BE DK FI ZA BR JP SG | US: Mother's Day
mother day, mothers day, mothering sunday | GB IE | easter-21
mother day, mothers day | ES PT HU | sun>=05-01
mother day, mothers day | SE | sun>=05-25
mother day, mothers day | FR | sun>=05-25 | week_later=easter+49
mother day, mothers day | MX | 05-10
mother day, mothers day | PL | 05-26
mother day, mothers day | NO | sun>=02-08
mother day, mothers day | AR | sun>=10-15
father day, fathers day | US CA GB IE IN FR NL ZA MX JP SG AR | US: Father's Day
father day, fathers day | SE NO FI | FI: Father's Day
father day, fathers day | BR | sun>=08-08
father day, fathers day | AU NZ | sun>=09-01
father day, fathers day | ES IT PT | 03-19
father day, fathers day | DE | DE: Ascension Day
father day, fathers day | AT BE | sun>=06-08
pancake day, shrove tuesday, mardi gras | * | easter-47
ash wednesday | * | BR: Ash Wednesday
palm sunday | * | easter-7
holy week | * | easter-7 | days=7
maundy thursday, holy thursday | * | NO: Maundy Thursday
good friday | * | GB: Good Friday
holy saturday | * | SE: Holy Saturday
easter | * | easter-2 | days=4 main_day=easter
easter weekend | * | easter-2 | days=4
easter sunday | * | NO: Easter Sunday
easter monday | * | NO: Easter Monday
ascension day | * | NO: Ascension Day
pentecost, whit sunday | * | NO: Pentecost
whit monday | * | NO: Pentecost Monday
corpus christi | * | AT: Corpus Christi
eid al fitr, eid ul fitr, hari raya, hari raya puasa, aidilfitri | * | islamic: eid_al_fitr | days=3
eid al adha, eid ul adha, bakrid, hari raya haji | * | islamic: eid_al_adha | days=4
ramadan | * | islamic: ramadan_beginning | ends=eid_al_fitr certainty=0.8
eid | * | islamic: eid_al_fitr eid_al_adha | days=3,4 certainty=0.7
hanukkah, hanukah, chanukah | * | hebrew: hanukkah -1 | days=9
passover, pesach | * | hebrew: passover -1 | days=9
purim | * | hebrew: purim -1 | days=2
shavuot | * | hebrew: shavuot -1 | days=3
sukkot | * | hebrew: sukkot -1 | days=8
rosh hashanah | * | hebrew: rosh_hashanah -1 | days=3
yom kippur | * | hebrew: yom_kippur -1 | days=2
lunar new year, chinese new year, spring festival | * | chinese: lunar_new_year
diwali, deepavali, divali | * | hindu: diwali_india
holi | * | hindu: holi
raksha bandhan, rakhi | * | hindu: raksha_bandhan
ganesh chaturthi | * | hindu: ganesh_chaturthi
dussehra, vijayadashami | * | hindu: dussehra
"""
CALENDARS: dict[str, Any] = {
    "islamic": _IslamicLunar(),
    "hebrew": _HebrewLunisolar(),
    "chinese": _ChineseLunisolar(),
    "hindu": _HinduLunisolar(),
}
CALENDAR_CERTAINTY = 0.9
"""Where the moon is sighted the day may be one later."""

MAX_EXCEPTIONS = 12
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SOURCE = re.compile(r"([A-Z]{2}(?:-[A-Z]{3})?|[a-z]+): (.+?)(?: ([+-]\d+))?")


def table() -> Entry:
    """Return the whole table, as it is printed."""
    entries = [entry(line) for line in HOLIDAYS.strip().splitlines()]
    return {
        "source": f"holidays {metadata.version('holidays')}, by tools/fit/holiday_table.py",
        "years": [YEARS[0], YEARS[-1]],
        "holidays": entries,
    }


def entry(line: str) -> Entry:
    """Return one line of ``HOLIDAYS`` with its rule or its dates."""
    names, countries, source, *rest = (field.strip() for field in line.split("|"))
    options = dict(option.split("=", 1) for option in " ".join(rest).split())
    made: Entry = {"names": names.split(", ")}
    if countries != "*":
        made["countries"] = countries.split()
    match = _SOURCE.fullmatch(source)
    if match is None:
        made["rule"] = source
    elif "listed" in options:
        days = dates_of(match[1], match[2], int(match[3] or 0))
        made |= {"dates": " ".join(map(str, days)), "certainty": 0.95}
    elif match[1] in CALENDARS:
        made |= {"dates": lunar_dates(match[1], match[2].split(), int(match[3] or 0), options)}
        made["certainty"] = CALENDAR_CERTAINTY
    else:
        made |= rule_of(dates_of(match[1], match[2], int(match[3] or 0)))
    if "until" in options:
        year, rule = options["until"].split(":")
        made["until"] = {"year": int(year), "rule": rule}
    numbers: Entry = {
        key: json.loads(options[key]) for key in ("shift", "certainty") if key in options
    }
    if match is None and "days" in options:
        numbers["days"] = int(options["days"])
    return made | numbers | {k: options[k] for k in ("main_day", "week_later") if k in options}


def easter(year: int) -> dt.date:
    """Return Easter Sunday, as ``dateutil`` has it."""
    day: dt.date = _easter(year)
    return day


@functools.cache
def country_of(code: str) -> holidays.HolidayBase:
    """Return what the library knows of a country or ``GB-SCT``, by English names."""
    country, _, part = code.partition("-")
    known = getattr(holidays, country)
    return holidays.country_holidays(
        country, subdiv=part or None, years=YEARS, observed=False,
        categories=known.supported_categories,
        language="en_US" if "en_US" in known.supported_languages else None,
    )  # fmt: skip


def dates_of(country: str, name: str, shift: int) -> list[dt.date]:
    """Return every day of that name in ``YEARS``, shifted by days."""
    days = sorted(day for day, names in country_of(country).items() if name in names.split("; "))
    if not days:
        sys.exit(f"the library knows no {name!r} in {country}")
    return [day + dt.timedelta(shift) for day in days]


def lunar_dates(calendar: str, names: list[str], shift: int, options: dict[str, str]) -> str:
    """Return ``2015-07-17/3 …``: first days and their number, if it is not 1."""
    lengths = [int(length) for length in options.get("days", "1").split(",")]
    ends = calendar_days(calendar, options["ends"]) if "ends" in options else []
    listed = []
    for name, length in zip(names, lengths, strict=True):
        for day in calendar_days(calendar, name):
            end = min((end for end in ends if end > day), default=day + dt.timedelta(length))
            if (end - day).days < 60:
                listed.append((day + dt.timedelta(shift), (end - day).days))
    return " ".join(f"{day}/{n}" if n > 1 else f"{day}" for day, n in sorted(listed))


def calendar_days(calendar: str, name: str) -> list[dt.date]:
    """Return the days of a calendar's holiday in ``YEARS``."""
    known = CALENDARS[calendar]
    method: Callable[[int], object] = getattr(known, f"{name}_date", None) or getattr(
        known, f"{name}_dates"
    )
    days = {day for year in range(YEARS[0] - 1, YEARS[-1] + 2) for day in flatten(method(year))}
    return sorted(day for day in days if day.year in YEARS)


def flatten(result: object) -> Iterable[dt.date]:
    """Yield the dates of a calendar's answer: a date, a pair with a flag, or a set of either."""
    if isinstance(result, dt.date):
        yield result
    elif isinstance(result, Iterable):
        for part in result:
            yield from flatten(part)


def rule_of(days: list[dt.date]) -> Entry:
    """Return the rule that produces most of these days, and the other years as exceptions."""
    fixed = (f"{day:%m-%d}" for day in days)
    from_easter = (f"easter{(day - easter(day.year)).days:+}" for day in days)
    rules = [*fixed, *from_easter, *weekday_rules(days)]
    best, _ = collections.Counter(rules).most_common(1)[0]
    moved = {str(day.year): f"{day:%m-%d}" for day in days if day_by(best, day.year) != day}
    if len(moved) > MAX_EXCEPTIONS:
        sys.exit(f"no rule for {days[:9]} …")
    return {"rule": best.replace("+0", "")} | ({"exceptions": moved} if moved else {})


def weekday_rules(days: list[dt.date]) -> list[str]:
    """Return, for each day, the rule of the weekday and the week that most of them share."""
    weekday, _ = collections.Counter(day.weekday() for day in days).most_common(1)[0]
    such = [day for day in days if day.weekday() == weekday]
    firsts = [
        (first, [day for day in such if 0 <= (day.replace(year=2001) - first).days < 7])
        for first in (dt.date(2001, 1, 1) + dt.timedelta(n) for n in range(365))
        if not any(day.month == 2 and day.day == 29 for day in such)
    ]
    if not firsts:
        return []
    first, matching = max(firsts, key=lambda pair: (len(pair[1]), -abs(pair[0].day % 7 - 1)))
    return [f"{_WEEKDAYS[weekday]}>={first:%m-%d}"] * len(matching)


def day_by(rule: str, year: int) -> dt.date:
    """Return the day of a derived rule in a year."""
    if rule.startswith("easter"):
        return easter(year) + dt.timedelta(int(rule[6:]))
    weekday, _, day = rule.rpartition(">=")
    first = dt.date.fromisoformat(f"{year}-{day}")
    if not weekday:
        return first
    return first + dt.timedelta((_WEEKDAYS.index(weekday) - first.weekday()) % 7)


def main() -> None:
    """Print the table, one holiday a line."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    made = table()
    lines = ",\n".join(json.dumps(holiday) for holiday in made.pop("holidays"))
    print(json.dumps(made)[:-1] + f', "holidays": [\n{lines}\n]}}')


if __name__ == "__main__":
    main()
