"""Dates in files; all dates of a file have the same order of day and month."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from family_recall.apps.importing.drafts import ReadSettings
from family_recall.errors import DatasetError

EARLIEST_YEAR, LATEST_YEAR = 1800, 2200
"""Other years are placeholders and slips."""

_TIME = (
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?)?"
)
NUMERIC = (
    r"(?P<first>\d{1,4})(?P<mark>[./-])\s?(?P<middle>\d{1,2})(?P=mark)\s?(?P<last>\d{2,4})\.?"
    rf"(?:[,،T]?\s*(?:(?:à|um|at)\s)?{_TIME})"
)
"""A numeric date with a time, for :meth:`NumericMoment.of`."""

_NUMERIC = re.compile(f"{NUMERIC}?", re.IGNORECASE)
_IN_WORDS = ("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y")
_DAY = dt.timedelta(days=1)
_MAX_MOMENT_CHARS = 100


@dataclass(frozen=True, slots=True)
class NumericMoment:
    """A numeric date, read with the day first and with the month first."""

    day_first: dt.datetime | None
    month_first: dt.datetime | None
    where: str
    shown: str

    @classmethod
    def of(cls, match: re.Match[str], where: str) -> NumericMoment | None:
        """Read a match of ``NUMERIC``; None where it is no date in either order."""
        hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
        if match["half"]:
            hour = hour % 12 + 12 * (match["half"] in "pP") if 1 <= hour <= 12 else 24
        if hour > 23 or minute > 59 or second > 59 or 3 in map(len, match.group("first", "last")):
            return None
        first, middle, last = (int(match[name]) for name in ("first", "middle", "last"))
        time = dt.time(hour, minute, second)
        if first > 31:
            day_first = month_first = _moment_at(first, middle, last, time)
        else:
            day_first = _moment_at(last, middle, first, time)
            # No locale writes 10.30.2026.
            month_first = None if match["mark"] == "." else _moment_at(last, first, middle, time)
        shown = re.split(r"[,،T]?\s", match[0], maxsplit=1)[0][:40]
        return cls(day_first, month_first, where, shown) if day_first or month_first else None

    def at(self, *, day_first: bool) -> dt.datetime | None:
        """Return the moment in one order; None where there is no such day."""
        return self.day_first if day_first else self.month_first


def _moment_at(year: int, month: int, day: int, time: dt.time) -> dt.datetime | None:
    try:
        return dt.datetime.combine(dt.date(year if year > 99 else 2000 + year, month, day), time)
    except ValueError:
        return None


def resolve(
    moments: Sequence[NumericMoment],
    settings: ReadSettings,
    *,
    in_the_past: bool = False,
    in_order: bool = False,
) -> list[dt.datetime]:
    """Return the moments in the order of day and month that fits all of them.

    In that order every day exists. If both orders fit, no moment lies more than a day ahead
    (``in_the_past``), or more than a day before its predecessor (``in_order``).

    Raises:
        DatasetError: If no order fits, or both do.
    """
    orders = (True, False) if settings.day_first is None else (settings.day_first,)
    readings = [[at for m in moments if (at := m.at(day_first=order))] for order in orders]
    readings = [reading for reading in readings if len(reading) == len(moments)]
    if not readings:
        raise DatasetError(_impossible(moments, settings))
    latest = settings.now.astimezone(settings.zone).replace(tzinfo=None) + _DAY
    if in_the_past and _differ(readings):
        readings = [reading for reading in readings if max(reading) <= latest] or readings
    if in_order and _differ(readings):
        ordered = [
            reading
            for reading in readings
            if all(b >= a - _DAY for a, b in itertools.pairwise(reading))
        ]
        readings = ordered or readings
    if _differ(readings):
        moment = next(moment for moment in moments if moment.day_first != moment.month_first)
        raise DatasetError(
            f"{moment.where}: {moment.shown} may be day/month or month/day, and no other date of "
            "the file tells; say --day-first or --month-first (in Python day_first=True or False)"
        )
    return readings[0]


def _differ(readings: Sequence[list[dt.datetime]]) -> bool:
    return len(readings) == 2 and readings[0] != readings[1]


def _impossible(moments: Sequence[NumericMoment], settings: ReadSettings) -> str:
    """Return an error that names the moment, or the two, that fit no order."""
    no_day, no_month = (
        next((moment for moment in moments if moment.at(day_first=order) is None), moments[0])
        for order in (True, False)
    )
    if settings.day_first is not None:
        moment = no_day if settings.day_first else no_month
        order = "day/month" if settings.day_first else "month/day"
        return f"{moment.where}: {moment.shown} is no {order}, as was asked for"
    first, second = sorted((no_day, no_month), key=moments.index)
    return (
        f"{second.where}: {second.shown} and {first.shown} ({first.where}) cannot both be "
        "day/month, nor both month/day; correct one"
    )


def moments_of(texts: Sequence[tuple[str, str]], settings: ReadSettings) -> list[dt.datetime]:
    """Read moments of a table or a note; ``texts`` are (text, file:line).

    Formats are ISO 8601, numbers such as 30/10/2026 18:04, and words such as 30 October 2026. A
    moment without an offset is naive, in the household's zone.
    """
    moments = [_moment(text.strip(), where) for text, where in texts]
    numeric = [moment for moment in moments if isinstance(moment, NumericMoment)]
    resolved = iter(resolve(numeric, settings))
    return [next(resolved) if isinstance(moment, NumericMoment) else moment for moment in moments]


def is_plausible(moment: dt.datetime | dt.date) -> bool:
    """Whether a moment lies in a year of a family's life."""
    return EARLIEST_YEAR <= moment.year <= LATEST_YEAR


def _moment(text: str, where: str) -> dt.datetime | NumericMoment:
    whole, text = text, text if len(text) <= _MAX_MOMENT_CHARS else ""
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        pass
    match = _NUMERIC.fullmatch(text)
    numeric = match and NumericMoment.of(match, where)
    if numeric:
        return numeric
    for form in _IN_WORDS:
        try:
            return dt.datetime.strptime(text, form)  # noqa: DTZ007 -- in the household's zone
        except ValueError:
            continue
    raise DatasetError(
        f"{where}: expected a day or moment such as 2026-10-30, 30/10/2026 18:04 or 30 October "
        f"2026, got {whole[:60]!r}"
    )
