"""Holidays: a name and a country in, the days of each year out.

Fixed feasts and "the third Monday" rules hold for every year; Easter and what hangs on it
follow the Gregorian computus (Meeus/Jones/Butcher; J. Meeus, *Astronomical Algorithms*, 1991,
ch. 8). The tables cover 2015 to 2035 and are silent outside it:

* Eid and Ramadan: the Umm al-Qura calendar of Saudi Arabia, as in the ``hijridate`` package
  2.6. Where the moon is sighted the day may be one later, so Eid al-Fitr is given three days
  and Eid al-Adha its four.
* Hanukkah, Passover, Rosh Hashanah, Yom Kippur: the fixed Hebrew calendar, as in ``pyluach``
  2.3, beginning with the civil day at whose dusk they begin. Purim, Shavuot and Sukkot lie a
  fixed number of days from these.
* Lunar New Year: the Hong Kong Observatory's calendar, as in ``lunardate`` 0.3.
* Diwali (Lakshmi Puja) and Holi (Rangwali): India's public holidays, as in ``holidays`` 0.109.

A period such as Christmas (24 to 26 December), Easter (Friday to Monday) or New Year (31
December and 1 January) is that period after *at*, *over* or *last*, and its main day after
*on*, *before*, *after* and *since*.
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .intervals import DAY, Interval, midnight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .words import Token

Days: TypeAlias = list[tuple[dt.date, int]]
"""First days and lengths; mostly one of them a year."""


class Holiday(NamedTuple):
    """What a name stands for: the period, its main day, and how sure the date is."""

    period: Callable[[int], list[Interval]]
    main_day: Callable[[int], list[Interval]]
    certainty: float = 0.95


def easter(year: int) -> dt.date:
    """Give Easter Sunday of the Gregorian calendar.

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


def nth_weekday(year: int, month: int, weekday: int, nth: int) -> dt.date:
    """Give the n-th such weekday of a month; -1 is the last."""
    if nth > 0:
        first = dt.date(year, month, 1)
        return first + ((weekday - first.weekday()) % 7 + 7 * (nth - 1)) * DAY
    last = dt.date(year + month // 12, month % 12 + 1, 1) - DAY
    return last - ((last.weekday() - weekday) % 7) * DAY


def holiday_at(
    tokens: Sequence[Token], first: int, country: str
) -> tuple[Holiday, int, tuple[str, ...]] | None:
    """Find the longest holiday name that begins at a token.

    Returns:
        The holiday, the token after its name, and the name; None if there is none there. One
        that the country does not keep has no days.
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
                longest = _holiday(name, country) or _NEVER, last, name
    return longest


def _holiday(name: tuple[str, ...], country: str) -> Holiday | None:
    rule = _RULES[" ".join(name)]
    if isinstance(rule, dict):
        return rule.get(country.upper(), rule.get(""))
    return rule


def _intervals(days: Callable[[int], Days]) -> Callable[[int], list[Interval]]:
    def in_year(year: int) -> list[Interval]:
        return [Interval(midnight(d), midnight(d) + n * DAY) for d, n in days(year)]

    return in_year


def _rule(
    period: Callable[[int], Days],
    main_day: Callable[[int], Days] | None = None,
    certainty: float = 0.95,
) -> Holiday:
    return Holiday(_intervals(period), _intervals(main_day or period), certainty)


def _fixed(month: int, day: int, n_days: int = 1, *, main: int | None = None) -> Holiday:
    def period(year: int) -> Days:
        return [(dt.date(year, month, day), n_days)]

    def main_day(year: int) -> Days:
        return [(dt.date(year, month, main or day), 1)]

    return _rule(period, main_day if main else None)


def _weekday(month: int, weekday: int, nth: int, shift: int = 0) -> Holiday:
    return _rule(lambda year: [(nth_weekday(year, month, weekday, nth) + shift * DAY, 1)])


def _from_easter(shift: int, n_days: int = 1) -> Holiday:
    return _rule(lambda year: [(easter(year) + shift * DAY, n_days)])


def _last_monday_before(day: dt.date) -> dt.date:
    return day - ((day.weekday() - 1) % 7 + 1) * DAY


def _table(days: str, n_days: int = 1, certainty: float = 0.9) -> Holiday:
    listed: dict[int, Days] = {}
    for text in days.split():
        found = dt.date.fromisoformat(text)
        listed.setdefault(found.year, []).append((found, n_days))
    return _rule(lambda year: listed.get(year, []), certainty=certainty)


def _moved(feast: Holiday, shift: int, n_days: int) -> Holiday:
    def period(year: int) -> list[Interval]:
        starts = (one.start + shift * DAY for one in feast.period(year))
        return [Interval(start, start + n_days * DAY) for start in starts]

    return Holiday(period, period, feast.certainty)


def _until(first: Holiday, then: Holiday) -> Holiday:
    """Cut each period of one where the other begins."""

    def period(year: int) -> list[Interval]:
        begins = [one.start for y in (year, year + 1) for one in then.period(y)]
        return [
            Interval(start, min((b for b in begins if start < b < end), default=end))
            for start, end in first.period(year)
        ]

    return Holiday(period, period, first.certainty)


def _mothers_day_fr(year: int) -> Days:
    last = nth_weekday(year, 5, 6, -1)
    return [(last + 7 * DAY if last == easter(year) + 49 * DAY else last, 1)]


def _either(*holidays: Holiday) -> Holiday:
    def period(year: int) -> list[Interval]:
        return sorted(one for holiday in holidays for one in holiday.period(year))

    return Holiday(period, period, certainty=0.7)


_EID_AL_FITR = _table(
    "2015-07-17 2016-07-06 2017-06-25 2018-06-15 2019-06-04 2020-05-24 2021-05-13 2022-05-02 "
    "2023-04-21 2024-04-10 2025-03-30 2026-03-20 2027-03-09 2028-02-26 2029-02-14 2030-02-04 "
    "2031-01-24 2032-01-14 2033-01-02 2033-12-23 2034-12-12 2035-12-01",
    n_days=3,
)
_EID_AL_ADHA = _table(
    "2015-09-23 2016-09-11 2017-09-01 2018-08-21 2019-08-11 2020-07-31 2021-07-20 2022-07-09 "
    "2023-06-28 2024-06-16 2025-06-06 2026-05-27 2027-05-16 2028-05-05 2029-04-24 2030-04-13 "
    "2031-04-02 2032-03-22 2033-03-11 2034-03-01 2035-02-18",
    n_days=4,
)
_RAMADAN_30 = _table(
    "2015-06-18 2016-06-06 2017-05-27 2018-05-16 2019-05-06 2020-04-24 2021-04-13 2022-04-02 "
    "2023-03-23 2024-03-11 2025-03-01 2026-02-18 2027-02-08 2028-01-28 2029-01-16 2030-01-05 "
    "2030-12-26 2031-12-15 2032-12-04 2033-11-23 2034-11-12 2035-11-01",
    n_days=30,
    certainty=0.8,
)
_RAMADAN = _until(_RAMADAN_30, _EID_AL_FITR)
_HANUKKAH = _table(
    "2015-12-06 2016-12-24 2017-12-12 2018-12-02 2019-12-22 2020-12-10 2021-11-28 2022-12-18 "
    "2023-12-07 2024-12-25 2025-12-14 2026-12-04 2027-12-24 2028-12-12 2029-12-01 2030-12-20 "
    "2031-12-09 2032-11-27 2033-12-16 2034-12-06 2035-12-25",
    n_days=9,
)
_PASSOVER = _table(
    "2015-04-03 2016-04-22 2017-04-10 2018-03-30 2019-04-19 2020-04-08 2021-03-27 2022-04-15 "
    "2023-04-05 2024-04-22 2025-04-12 2026-04-01 2027-04-21 2028-04-10 2029-03-30 2030-04-17 "
    "2031-04-07 2032-03-26 2033-04-13 2034-04-03 2035-04-23",
    n_days=9,
)
_ROSH_HASHANAH = _table(
    "2015-09-13 2016-10-02 2017-09-20 2018-09-09 2019-09-29 2020-09-18 2021-09-06 2022-09-25 "
    "2023-09-15 2024-10-02 2025-09-22 2026-09-11 2027-10-01 2028-09-20 2029-09-09 2030-09-27 "
    "2031-09-17 2032-09-05 2033-09-23 2034-09-13 2035-10-03",
    n_days=3,
)
_YOM_KIPPUR = _table(
    "2015-09-22 2016-10-11 2017-09-29 2018-09-18 2019-10-08 2020-09-27 2021-09-15 2022-10-04 "
    "2023-09-24 2024-10-11 2025-10-01 2026-09-20 2027-10-10 2028-09-29 2029-09-18 2030-10-06 "
    "2031-09-26 2032-09-14 2033-10-02 2034-09-22 2035-10-12",
    n_days=2,
)
_LUNAR_NEW_YEAR = _table(
    "2015-02-19 2016-02-08 2017-01-28 2018-02-16 2019-02-05 2020-01-25 2021-02-12 2022-02-01 "
    "2023-01-22 2024-02-10 2025-01-29 2026-02-17 2027-02-06 2028-01-26 2029-02-13 2030-02-03 "
    "2031-01-23 2032-02-11 2033-01-31 2034-02-19 2035-02-08"
)
_DIWALI = _table(
    "2015-11-11 2016-10-30 2017-10-19 2018-11-07 2019-10-27 2020-11-14 2021-11-04 2022-10-24 "
    "2023-11-12 2024-10-31 2025-10-20 2026-11-08 2027-10-29 2028-10-17 2029-11-05 2030-10-26 "
    "2031-11-14 2032-11-02 2033-10-22 2034-11-10 2035-10-30"
)
_HOLI = _table(
    "2015-03-06 2016-03-24 2017-03-13 2018-03-02 2019-03-21 2020-03-10 2021-03-29 2022-03-18 "
    "2023-03-08 2024-03-25 2025-03-14 2026-03-04 2027-03-22 2028-03-11 2029-03-01 2030-03-20 "
    "2031-03-09 2032-03-27 2033-03-16 2034-03-05 2035-03-24"
)
_NEVER = _rule(lambda _year: [])
_CHRISTMAS = _fixed(12, 24, 3, main=25)
_NEW_YEAR = _rule(
    lambda year: [(dt.date(year - 1, 12, 31), 2)],
    lambda year: [(dt.date(year, 1, 1), 1)],
)
_EASTER = _rule(
    lambda year: [(easter(year) - 2 * DAY, 4)],
    lambda year: [(easter(year), 1)],
)
_US_THANKSGIVING = _weekday(11, 3, 4)
_MLK_DAY = _weekday(1, 0, 3)
_SECOND_SUNDAY_OF_MAY = _weekday(5, 6, 2)
_THIRD_SUNDAY_OF_JUNE = _weekday(6, 6, 3)

_Rule: TypeAlias = Holiday | dict[str, Holiday]


def _by_country(*groups: tuple[str, Holiday]) -> dict[str, Holiday]:
    return {country: rule for countries, rule in groups for country in countries.split() or [""]}


_MOTHERS_DAY = _by_country(
    ("GB IE", _from_easter(-21)),
    ("US CA AU NZ IN DE AT CH IT NL BE DK FI ZA BR JP SG", _SECOND_SUNDAY_OF_MAY),
    ("ES PT HU", _weekday(5, 6, 1)),
    ("SE", _weekday(5, 6, -1)),
    ("MX", _fixed(5, 10)),
    ("FR", _rule(_mothers_day_fr)),
    ("PL", _fixed(5, 26)),
    ("NO", _weekday(2, 6, 2)),
    ("AR", _weekday(10, 6, 3)),
)
_FATHERS_DAY = _by_country(
    ("US CA GB IE IN FR NL ZA MX JP SG AR", _THIRD_SUNDAY_OF_JUNE),
    ("BR", _weekday(8, 6, 2)),
    ("SE NO FI", _weekday(11, 6, 2)),
    ("AU NZ", _weekday(9, 6, 1)),
    ("ES IT PT", _fixed(3, 19)),
    ("DE", _from_easter(39)),
    ("AT BE", _weekday(6, 6, 2)),
)

_RULES: dict[str, _Rule] = {
    "christmas": _CHRISTMAS,
    "xmas": _CHRISTMAS,
    "christmas eve": _fixed(12, 24),
    "christmas day": _fixed(12, 25),
    "boxing day": _fixed(12, 26),
    "new year": _NEW_YEAR,
    "new years": _NEW_YEAR,
    "new year eve": _fixed(12, 31),
    "new years eve": _fixed(12, 31),
    "hogmanay": _fixed(12, 31),
    "new year day": _fixed(1, 1),
    "new years day": _fixed(1, 1),
    "epiphany": _fixed(1, 6),
    "three kings day": _fixed(1, 6),
    "groundhog day": _fixed(2, 2),
    "super bowl sunday": _rule(lambda year: [(nth_weekday(year, 2, 6, 1 + (year > 2021)), 1)]),
    "leap day": _rule(lambda year: [(dt.date(year, 2, 29), 1)] if calendar.isleap(year) else []),
    "women day": _fixed(3, 8),
    "international women day": _fixed(3, 8),
    "pi day": _fixed(3, 14),
    "april fools": _fixed(4, 1),
    "april fool": _fixed(4, 1),
    "april fools day": _fixed(4, 1),
    "april fool day": _fixed(4, 1),
    "earth day": _fixed(4, 22),
    "may day": _fixed(5, 1),
    "cinco de mayo": _fixed(5, 5),
    "flag day": _by_country(("US", _fixed(6, 14))),
    "all saints day": _fixed(11, 1),
    "all souls day": _fixed(11, 2),
    "day of the dead": _fixed(11, 2),
    "remembrance day": _fixed(11, 11),
    "armistice day": _fixed(11, 11),
    "burns night": _fixed(1, 25),
    "st david day": _fixed(3, 1),
    "st george day": _fixed(4, 23),
    "st andrew day": _fixed(11, 30),
    "st nicholas day": _fixed(12, 6),
    "kwanzaa": _fixed(12, 26, 7),
    "valentine": _fixed(2, 14),
    "valentine day": _fixed(2, 14),
    "valentines day": _fixed(2, 14),
    "st patrick day": _fixed(3, 17),
    "saint patrick day": _fixed(3, 17),
    "halloween": _fixed(10, 31),
    "guy fawkes night": _fixed(11, 5),
    "bonfire night": _fixed(11, 5),
    "veterans day": _fixed(11, 11),
    "juneteenth": _fixed(6, 19),
    "canada day": _fixed(7, 1),
    "bastille day": _fixed(7, 14),
    "australia day": _fixed(1, 26),
    "anzac day": _fixed(4, 25),
    "mlk day": _MLK_DAY,
    "martin luther king day": _MLK_DAY,
    "martin luther king jr day": _MLK_DAY,
    "president day": _weekday(2, 0, 3),
    "presidents day": _weekday(2, 0, 3),
    "victoria day": _by_country(
        ("CA", _rule(lambda year: [(_last_monday_before(dt.date(year, 5, 25)), 1)]))
    ),
    "memorial day": _weekday(5, 0, -1),
    "labor day": _weekday(9, 0, 1),
    "labour day": _by_country(("CA", _weekday(9, 0, 1)), ("GB IN DE FR ES IT", _fixed(5, 1))),
    "columbus day": _weekday(10, 0, 2),
    "indigenous peoples day": _weekday(10, 0, 2),
    "election day": _by_country(
        ("US", _rule(lambda year: [(nth_weekday(year, 11, 0, 1) + DAY, 1)]))
    ),
    "thanksgiving": _by_country(("CA", _weekday(10, 0, 2)), ("", _US_THANKSGIVING)),
    "thanksgiving day": _by_country(("CA", _weekday(10, 0, 2)), ("", _US_THANKSGIVING)),
    "black friday": _weekday(11, 3, 4, shift=1),
    "cyber monday": _weekday(11, 3, 4, shift=4),
    "giving tuesday": _weekday(11, 3, 4, shift=5),
    "early may bank holiday": _by_country(("GB", _weekday(5, 0, 1))),
    "may day bank holiday": _by_country(("GB", _weekday(5, 0, 1))),
    "spring bank holiday": _by_country(("GB", _weekday(5, 0, -1))),
    "summer bank holiday": _by_country(("GB", _weekday(8, 0, -1))),
    "august bank holiday": _by_country(("GB", _weekday(8, 0, -1))),
    "independence day": _by_country(
        ("US", _fixed(7, 4)), ("IN", _fixed(8, 15)), ("PK", _fixed(8, 14)), ("MX", _fixed(9, 16))
    ),
    "republic day": _by_country(("IN", _fixed(1, 26)), ("IT", _fixed(6, 2))),
    "mother day": _MOTHERS_DAY,
    "mothers day": _MOTHERS_DAY,
    "mothering sunday": _by_country(("GB IE", _from_easter(-21))),
    "father day": _FATHERS_DAY,
    "fathers day": _FATHERS_DAY,
    "pancake day": _from_easter(-47),
    "shrove tuesday": _from_easter(-47),
    "mardi gras": _from_easter(-47),
    "ash wednesday": _from_easter(-46),
    "palm sunday": _from_easter(-7),
    "holy week": _from_easter(-7, 7),
    "maundy thursday": _from_easter(-3),
    "holy thursday": _from_easter(-3),
    "good friday": _from_easter(-2),
    "holy saturday": _from_easter(-1),
    "easter": _EASTER,
    "easter sunday": _from_easter(0),
    "easter monday": _from_easter(1),
    "easter weekend": _from_easter(-2, 4),
    "ascension day": _from_easter(39),
    "pentecost": _from_easter(49),
    "whit sunday": _from_easter(49),
    "whit monday": _from_easter(50),
    "corpus christi": _from_easter(60),
    "eid": _either(_EID_AL_FITR, _EID_AL_ADHA),
    "eid al fitr": _EID_AL_FITR,
    "eid ul fitr": _EID_AL_FITR,
    "eid al adha": _EID_AL_ADHA,
    "eid ul adha": _EID_AL_ADHA,
    "bakrid": _EID_AL_ADHA,
    "ramadan": _RAMADAN,
    "hanukkah": _HANUKKAH,
    "hanukah": _HANUKKAH,
    "chanukah": _HANUKKAH,
    "passover": _PASSOVER,
    "pesach": _PASSOVER,
    "purim": _moved(_PASSOVER, -30, 2),
    "shavuot": _moved(_PASSOVER, 50, 3),
    "sukkot": _moved(_YOM_KIPPUR, 5, 8),
    "rosh hashanah": _ROSH_HASHANAH,
    "yom kippur": _YOM_KIPPUR,
    "lunar new year": _LUNAR_NEW_YEAR,
    "chinese new year": _LUNAR_NEW_YEAR,
    "spring festival": _LUNAR_NEW_YEAR,
    "diwali": _DIWALI,
    "deepavali": _DIWALI,
    "divali": _DIWALI,
    "holi": _HOLI,
}

_NAMES_BY_FIRST_WORD: dict[str, list[tuple[str, ...]]] = {}
for _name in _RULES:
    _words = tuple(_name.split())
    _NAMES_BY_FIRST_WORD.setdefault(_words[0], []).append(_words)

FIRST_WORDS = frozenset(_NAMES_BY_FIRST_WORD)
PERIODS = frozenset(("christmas", "xmas", "easter", "new year", "new years"))
"""Names that mean a period after *at* or *last* and a day after *on* or *before*."""
