"""Dates as people and programs write them, their order of day and month read off the whole file."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from family_recall.apps.importing.drafts import ReadSettings
from family_recall.errors import DatasetError

EARLIEST_YEAR, LATEST_YEAR = 1800, 2200
"""A family's dates lie between these; others are placeholders and slips."""

_TIME = (
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?)?"
)
NUMERIC = (
    r"(?P<first>\d{1,4})(?P<mark>[./-])\s?(?P<middle>\d{1,2})(?P=mark)\s?(?P<last>\d{2,4})\.?"
    rf"(?:[,،T]?\s*(?:(?:à|um|at)\s)?{_TIME})"
)
"""A date in numbers with a time; named groups for :meth:`NumericMoment.of`."""

_NUMERIC = re.compile(f"{NUMERIC}?", re.IGNORECASE)
_IN_WORDS = ("%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y")
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class NumericMoment:
    """A moment in numbers, of which it may be open which is the day and which the month."""

    first: int
    middle: int
    last: int
    time: dt.time
    where: str
    shown: str
    by_mark: bool | None = None

    @classmethod
    def of(cls, match: re.Match[str], where: str) -> NumericMoment | None:
        """Read a match of ``NUMERIC``; None where no order makes it a moment."""
        hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
        if match["half"]:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + 12 * (match["half"] in "pP")
        if (
            hour > 23
            or minute > 59
            or second > 59
            or {len(match["first"]), len(match["last"])} & {3}
        ):
            return None
        numbers = (int(match["first"]), int(match["middle"]), int(match["last"]))
        # No locale writes 10.30.2026.
        by_mark = True if match["mark"] == "." else None
        shown = re.split(r"[,،T]?\s", match[0])[0]
        moment = cls(*numbers, dt.time(hour, minute, second), where, shown, by_mark)
        return moment if moment.orders() else None

    def orders(self) -> frozenset[bool]:
        """Return which orders make it a day: True for the day first; both if the year is first."""
        return frozenset(order for order in (True, False) if self._date(day_first=order))

    def at(self, *, day_first: bool) -> dt.datetime | None:
        """Return the moment in an order; None where there is no such day."""
        date = self._date(day_first=day_first)
        return dt.datetime.combine(date, self.time) if date else None

    def _date(self, *, day_first: bool) -> dt.date | None:
        if self.first > 31:
            year, month, day = self.first, self.middle, self.last
        elif day_first:
            year, month, day = self.last, self.middle, self.first
        elif self.by_mark is not None:
            return None
        else:
            year, month, day = self.last, self.first, self.middle
        try:
            return dt.date(year if year > 99 else 2000 + year, month, day)
        except ValueError:
            return None


def resolve(
    moments: Sequence[NumericMoment],
    settings: ReadSettings,
    *,
    in_the_past: bool = False,
    in_order: bool = False,
) -> list[dt.datetime]:
    """Return the moments, in the one order of day and month that fits all of them.

    What fits is an order in which every day exists; if more than one does, in which none lies more
    than a day ahead (``in_the_past``); then, in which none lies more than a day before its
    predecessor (``in_order``).

    Raises:
        DatasetError: If none fits, or it cannot be told which; the message says how to.
    """
    if not moments:
        return []
    orders = {True, False} if settings.day_first is None else {settings.day_first}
    first_of: dict[bool, NumericMoment] = {}
    for moment in moments:
        fits = moment.orders()
        if len(fits) == 1:
            (order,) = fits
            first_of.setdefault(order, moment)
        if not orders & fits:
            raise DatasetError(_impossible(moment, first_of, settings))
        orders &= fits
    readings = {order: [at for m in moments if (at := m.at(day_first=order))] for order in orders}
    if len({tuple(reading) for reading in readings.values()}) > 1 and in_the_past:
        latest = settings.now.astimezone(settings.zone).replace(tzinfo=None) + _DAY
        readings = _only(readings, lambda reading: all(at <= latest for at in reading))
    if len({tuple(reading) for reading in readings.values()}) > 1 and in_order:
        readings = _only(
            readings,
            lambda reading: all(b >= a - _DAY for a, b in itertools.pairwise(reading)),
        )
    if len({tuple(reading) for reading in readings.values()}) > 1:
        moment = next(m for m in moments if m.at(day_first=True) != m.at(day_first=False))
        raise DatasetError(
            f"{moment.where}: {moment.shown} may be day/month or month/day, and no other date of "
            "the file tells; say --day-first or --month-first (in Python day_first=True or False)"
        )
    return next(iter(readings.values()))


def moments_of(texts: Sequence[tuple[str, str]], settings: ReadSettings) -> list[dt.datetime]:
    """Read moments as a table or a note has them; ``texts`` are (text, file:line).

    ISO 8601, numbers such as 30/10/2026 18:04, or words such as 30 October 2026. A moment without
    an offset stays naive: it is in the household's zone.

    Raises:
        DatasetError: If one is none of these, or day and month cannot be told apart.
    """
    read: list[dt.datetime | NumericMoment] = [
        _moment(text.strip(), where) for text, where in texts
    ]
    numeric = [moment for moment in read if isinstance(moment, NumericMoment)]
    resolved = iter(resolve(numeric, settings))
    return [next(resolved) if isinstance(moment, NumericMoment) else moment for moment in read]


def plausible(moment: dt.datetime | dt.date) -> bool:
    """Whether a moment lies in the years that a family means."""
    return EARLIEST_YEAR <= moment.year <= LATEST_YEAR


def _moment(text: str, where: str) -> dt.datetime | NumericMoment:
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
        f"2026, got {text[:60]!r}"
    )


def _only(
    readings: dict[bool, list[dt.datetime]], fits: Callable[[list[dt.datetime]], bool]
) -> dict[bool, list[dt.datetime]]:
    """Return the readings that fit; all, where none does."""
    return {order: reading for order, reading in readings.items() if fits(reading)} or readings


def _impossible(
    moment: NumericMoment, first_of: dict[bool, NumericMoment], settings: ReadSettings
) -> str:
    if settings.day_first is not None:
        order = "day/month" if settings.day_first else "month/day"
        return f"{moment.where}: {moment.shown} is no {order}, as was asked for"
    other = first_of[not next(iter(moment.orders()))]
    return (
        f"{moment.where}: {moment.shown} and {other.shown} ({other.where}) cannot both be "
        "day/month, nor both month/day; correct one"
    )
