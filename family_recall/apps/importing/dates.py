"""Dates in files; all dates of a file have the same order of day and month."""

from __future__ import annotations

import datetime as dt
import itertools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from family_recall.apps.importing.drafts import LeftOut, ReadSettings
from family_recall.errors import DatasetError

UNREAD_DATE = "dates that are not understood"
EARLIEST_YEAR, LATEST_YEAR = 1800, 2200
"""Other years are placeholders and slips."""

_HALVES = {
    "am": "a.m. am ص ق.ظ. 午前 上午 早上 凌晨 清晨 오전 öö de. sa ก่อนเที่ยง π.μ. пр.об. पूर्वाह्न",
    "pm": "p.m. pm م ب.ظ. 午後 下午 晚上 傍晚 오후 ös du. ch หลังเที่ยง μ.μ. сл.об. अपराह्न",
    "noon": "中午",
}
"""Words for the halves of the day, in the languages of phones; at noon twelve is twelve."""
_HALF_OF = {
    re.sub(r"[.\s]", "", word): half for half, words in _HALVES.items() for word in words.split()
}
_HALF = "|".join(
    r"\.?\s?".join(map(re.escape, word)) + r"\.?"
    for word in sorted(_HALF_OF, key=len, reverse=True)
)
_TIME = (
    rf"(?:(?P<before>{_HALF})\s?)?(?P<hour>\d{{1,2}})\s?[:.h]\s?(?P<minute>\d{{2}})"
    rf"(?:[:.]\s?(?P<second>\d{{2}}))?(?:\s?(?P<after>{_HALF})(?!\w))?(?:\s?(?:ч\.?|uhr))?"
)
_NUMERIC = re.compile(
    r"(?P<first>\d{1,4})\s?(?P<mark>[./-])\s?(?P<middle>\d{1,2})\s?(?P=mark)\s?(?P<last>\d{1,4})\.?"
    rf"(?P<time>(?:[,T]\s*|\s+)(?:(?:à|às|um|at|kl\.?|klo|o)\s)?{_TIME})?",
    re.IGNORECASE,
)
_CHINESE = str.maketrans({"年": "/", "년": "/", "月": "/", "월": "/", "日": " ", "일": " ",
                          "時": ":", "分": " ", "‐": "-", "‑": "-", "،": ","})  # fmt: skip
_IN_WORDS = ("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y")
_DAY = dt.timedelta(days=1)
_MAX_MOMENT_CHARS = 100
_FIRST_CHATS = 2009
"""No phone exported a chat before this year."""

Order = Literal["day", "month", "year"]


@dataclass(frozen=True, slots=True)
class NumericMoment:
    """A numeric date with what it is when the day, the month or the year comes first."""

    readings: Mapping[Order, dt.datetime | None]
    where: str
    shown: str
    has_century: bool

    @classmethod
    def read(cls, text: str, where: str, *, needs_time: bool = False) -> NumericMoment | None:
        """Read a date, with digits of any script; None where it is none in any order."""
        text = unicodedata.normalize("NFKC", text).translate(_CHINESE).strip()
        match = _NUMERIC.fullmatch(text)
        if match is None or (needs_time and not match["time"]):
            return None
        hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
        half = _HALF_OF.get(
            re.sub(r"[.\s]", "", (match["before"] or match["after"] or "").casefold())
        )
        if half == "am":
            hour = hour % 12 if hour <= 12 else 24
        elif half is not None and (half == "pm" or hour < 10):
            hour = hour % 12 + 12 if hour <= 12 else hour
        if hour > 23 or minute > 59 or second > 59:
            return None
        time = dt.time(hour, minute, second)
        digits = match["first"], match["middle"], match["last"]
        year, month, day = (_moment_at(*map(digits.__getitem__, at), time=time)
                            for at in ((0, 1, 2), (2, 0, 1), (2, 1, 0)))  # fmt: skip
        if len(digits[0]) > 2:
            day = month = year
        elif match["mark"] == ".":  # no locale writes 10.30.2026
            month = None
        shown = match[0][: match.start("time")] if match["time"] else match[0]
        readings: dict[Order, dt.datetime | None] = {"day": day, "month": month, "year": year}
        has_century = max(map(len, digits)) > 2
        return cls(readings, where, shown[:40], has_century) if any(readings.values()) else None


def _moment_at(year: str, month: str, day: str, *, time: dt.time) -> dt.datetime | None:
    if len(year) not in {2, 4} or max(len(month), len(day)) > 2:
        return None
    try:
        day_of = dt.date(int(year) + 2000 * (len(year) == 2), int(month), int(day))
    except ValueError:
        return None
    return dt.datetime.combine(day_of, time)


def resolve(
    moments: Sequence[NumericMoment], settings: ReadSettings, *, of_chat: bool = False
) -> list[dt.datetime | None]:
    """Return the moments in the order of day and month that fits most of them, else None.

    In that order the day exists. A year of two digits is of this century: not in the future, and
    in a chat not before there were any. If both orders fit, no moment of a chat lies more than a
    day ahead, or more than a day before its predecessor. The year is first where that fits best.

    Raises:
        DatasetError: If no order fits, or both do.
    """
    latest = settings.now.astimezone(settings.zone).replace(tzinfo=None) + _DAY

    def reading(order: Order) -> list[dt.datetime | None]:
        return [at if _fits(at, moment, order, latest, of_chat=of_chat) else None
                for moment in moments for at in (moment.readings[order],)]  # fmt: skip

    orders: Sequence[Order] = ("day", "month")
    if settings.day_first is not None:
        orders = ("day",) if settings.day_first else ("month",)
    readings = [reading(order) for order in orders]
    n_misfits = min((each.count(None) for each in readings), default=0)
    readings = [each for each in readings if each.count(None) == n_misfits]
    if of_chat and n_misfits > (by_year := reading("year")).count(None):
        return by_year
    misfits = {tuple(at is None for at in each) for each in readings}
    if len(misfits) > 1 or (of_chat and n_misfits == len(moments) > 0):
        raise DatasetError(_impossible(moments, settings))
    if of_chat and _differ(readings):
        past = [each for each in readings if max(filter(None, each)) <= latest]
        readings = past or readings
    if of_chat and _differ(readings):
        ordered = [
            each
            for each in readings
            if all(b >= a - _DAY for a, b in itertools.pairwise(filter(None, each)))
        ]
        readings = ordered or readings
    if _differ(readings):
        moment = next(m for m in moments if m.readings["day"] != m.readings["month"])
        raise DatasetError(
            f"{moment.where}: {moment.shown} may be day/month or month/day, and no other date of "
            "the file tells; say --day-first or --month-first (in Python day_first=True or False)"
        )
    return readings[0]


def _fits(
    at: dt.datetime | None,
    moment: NumericMoment,
    order: Order,
    latest: dt.datetime,
    *,
    of_chat: bool,
) -> bool:
    """Whether a reading of a moment may be meant."""
    if at is None or moment.has_century:
        return at is not None
    if of_chat:
        return at.year >= _FIRST_CHATS and (order != "year" or at <= latest)
    return at.year <= latest.year + 1


def _differ(readings: Sequence[list[dt.datetime | None]]) -> bool:
    return len(readings) == 2 and readings[0] != readings[1]


def _impossible(moments: Sequence[NumericMoment], settings: ReadSettings) -> str:
    """Return an error that names the moment, or the two, that fit no order."""
    no_day, no_month = (
        next((moment for moment in moments if moment.readings[order] is None), moments[0])
        for order in ("day", "month")
    )
    if settings.day_first is not None or no_day is no_month:
        moment = no_day if settings.day_first is not False else no_month
        order = "day/month" if settings.day_first is not False else "month/day"
        asked = ", as was asked for" if settings.day_first is not None else ""
        return f"{moment.where}: {moment.shown} is no {order}{asked}"
    first, second = sorted((no_day, no_month), key=moments.index)
    return (
        f"{second.where}: {second.shown} and {first.shown} ({first.where}) cannot both be "
        "day/month, nor both month/day; correct one"
    )


def moments_of(
    texts: Sequence[tuple[str, str]], settings: ReadSettings
) -> list[dt.datetime | LeftOut]:
    """Read moments of a table or a note; ``texts`` are (text, file:line).

    Formats are ISO 8601, numbers such as 30/10/2026 18:04, and words such as 30 October 2026. A
    moment without an offset is naive, in the household's zone.
    """
    moments = [_moment(text.strip(), where) for text, where in texts]
    numeric = [moment for moment in moments if isinstance(moment, NumericMoment)]
    resolved = iter(resolve(numeric, settings) if numeric else ())
    return [
        (next(resolved) or _no_moment(text, where)) if isinstance(moment, NumericMoment) else moment
        for moment, (text, where) in zip(moments, texts, strict=True)
    ]


def is_plausible(moment: dt.datetime | dt.date) -> bool:
    """Whether a moment lies in a year of a family's life."""
    return EARLIEST_YEAR <= moment.year <= LATEST_YEAR


def _moment(text: str, where: str) -> dt.datetime | NumericMoment | LeftOut:
    whole, text = text, text if len(text) <= _MAX_MOMENT_CHARS else ""
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        pass
    if numeric := NumericMoment.read(text, where):
        return numeric
    for form in _IN_WORDS:
        try:
            return dt.datetime.strptime(text, form)  # noqa: DTZ007 -- in the household's zone
        except ValueError:
            continue
    return _no_moment(whole, where)


def _no_moment(text: str, where: str) -> LeftOut:
    problem = (
        "expected a day or moment such as 2026-10-30, 30/10/2026 18:04 or 30 October 2026, as the "
        f"others of the file, got {text[:60]!r}"
    )
    return LeftOut(where, UNREAD_DATE, problem)
