"""iCalendar files: each event, or each occurrence of a repeated event around now, is a draft."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from family_recall.apps.importing.dates import is_plausible
from family_recall.apps.importing.drafts import (
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    digest,
    distinct,
    library,
    visible,
)
from family_recall.apps.importing.limits import RAISE, Budget, Limits, OutOfTime
from family_recall.errors import DatasetError
from family_recall.types.fields import MAX_TEXT_CHARS

if TYPE_CHECKING:
    import icalendar

SHOWN_BEFORE, SHOWN_AFTER = dt.timedelta(days=30), dt.timedelta(days=92)
"""The window around now in which occurrences of a repeated event are stored."""

NEXT_WITHIN = dt.timedelta(days=366)
"""Where the window has none, the next occurrence within this time is stored."""

MAX_OCCURRENCES = 60
"""An event with more occurrences, or none, is stored once, with its rule in words."""

RULE_SECONDS, RULES_SHARE = 0.5, 0.75
"""The processor time for following the rule of one event; and for all, as a share of the file's."""

NOT_FOLLOWED = "repetitions of events whose rule cannot be followed, or not in time"
MAX_A_DAY = 24
"""The most times in a day that a rule may have to be followed."""

CANCELLED, NO_TITLE, NO_DATE = "cancelled events", "events without a title", "events without a date"
_EVERY = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_DAYS = dict(
    zip("MO TU WE TH FR SA SU".split(), "Mon Tues Wednes Thurs Fri Satur Sun".split(), strict=True)
)
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", -1: "last"}
_PUT_INTO_WORDS = {"FREQ", "INTERVAL", "BYDAY", "UNTIL", "COUNT", "WKST", "BYMONTH", "BYMONTHDAY"}
_PARTS_OF_A_DAY = ("BYHOUR", "BYMINUTE", "BYSECOND")
_UID_CHARS = 60
_STRUCTURE = re.compile(r"(UID|BEGIN|END|RRULE)[ \t]*(?:;[^:]*)?:(.*)", re.IGNORECASE)
_YEARLY = re.compile(
    r"(?!.*BY(?:HOUR|MINUTE|SECOND|YEARDAY|WEEKNO)|.*INTERVAL=-?0)(?:.*;)?FREQ=YEARLY(?:;.*)?",
    re.IGNORECASE,
)
_MUST_READ = {"DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", None}


def read_calendar(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read an iCalendar file (RFC 5545).

    An event's key is its UID; an occurrence's has its moment, too. Cancelled events are left out.
    Texts name day and hour in the household's zone, which floating times are in. Past occurrences
    before the window stay.
    """
    lines = _lines_of_uids(text, name, settings.limits)
    by_uid = defaultdict[str, list["icalendar.Component"]](list)
    zones: list[Any] = []
    for calendar in _calendars(text, name):
        cancels = str(calendar.get("METHOD", "")).upper() == "CANCEL"
        zones += calendar.walk("VTIMEZONE")
        for event in calendar.walk("VEVENT"):
            if cancels:
                event["STATUS"] = "CANCELLED"
            content = digest(_words(event, "SUMMARY"), str(event.get("DTSTART")))
            by_uid[_words(event, "UID") or content].append(event)

    def keeps(key: str) -> bool:
        uid, _, moment = key.rpartition("@")
        return uid in by_uid and moment < (settings.now - SHOWN_BEFORE).date().isoformat()

    budget = Budget(settings.limits.seconds_for(len(text)) * RULES_SHARE)

    def items() -> Iterator[Draft | LeftOut]:
        for uid, events in by_uid.items():
            where = f"{name}:{lines.get(uid[:_UID_CHARS], 1)}"
            if any("RRULE" in event or "RDATE" in event for event in events):
                yield from _repeated(uid, events, zones, where, settings, budget)
            else:
                yield from _single(uid, events, where, settings.zone)

    return Reading.of(items(), settings, keeps)


def _lines_of_uids(text: str, name: str, limits: Limits) -> dict[str, int]:
    """Return the line number by the beginning of a UID; raise for what must not be parsed.

    A zone whose rule has more than some changes a year takes as long as these are many.
    """
    limits.check_lines(text, name, folds=True)
    lines: dict[str, int] = {}
    depth = 0
    is_zone = False
    for line_no, line in enumerate(text.split("\n"), 1):
        match = _STRUCTURE.match(line)
        if match is None:
            continue
        kind, value = match[1].upper(), match[2].strip()
        if kind == "UID":
            lines.setdefault(value[:_UID_CHARS], line_no)
        elif kind == "RRULE" and is_zone and not _YEARLY.fullmatch(value):
            raise DatasetError(
                f"{name}:{line_no}: expected a time zone that changes once a year, got "
                f"{value[:60]!r}; correct the line"
            )
        elif kind in {"BEGIN", "END"}:
            depth += 1 if kind == "BEGIN" else -1
            if value.upper() == "VTIMEZONE":
                is_zone = kind == "BEGIN"
        if depth > limits.depth:
            raise DatasetError(
                f"{name}:{line_no}: expected at most {limits.depth:,.0f} components in each other, "
                f"got more; correct the file, or {RAISE}"
            )
    return lines


def _calendars(text: str, name: str) -> Sequence[icalendar.Component]:
    parser = library("icalendar")
    try:
        calendars: Sequence[icalendar.Component] = parser.Calendar.from_ical(text, multiple=True)
    except Exception as error:  # noqa: BLE001 -- a parser of foreign files raises many kinds
        raise DatasetError(_broken(text, name, str(error))) from None
    n_begun = len(re.findall(r"^BEGIN:VCALENDAR[ \t]*$", text, re.MULTILINE | re.IGNORECASE))
    if not calendars or len(calendars) != n_begun or any(c.name != "VCALENDAR" for c in calendars):
        n_lines = text.rstrip("\n").count("\n") + 1
        raise DatasetError(
            f"{name}:{n_lines}: expected BEGIN:VCALENDAR … END:VCALENDAR, got the end of the file; "
            "export it again"
        )
    for calendar in calendars:
        for event in calendar.walk("VEVENT"):
            for field, message in event.errors:
                if field in _MUST_READ:
                    raise DatasetError(_broken(text, name, message, field or ""))
    return calendars


def _single(
    uid: str, events: Sequence[icalendar.Component], where: str, zone: dt.tzinfo
) -> Iterator[Draft | LeftOut]:
    """Yield the newest version of an event, and moved occurrences without their series."""
    newest = {_key(uid, event): event for event in sorted(events, key=_sequence)}
    for key, event in newest.items():
        yield _draft(key, event, where, zone)


def _repeated(
    uid: str,
    events: Sequence[icalendar.Component],
    zones: Sequence[Any],
    where: str,
    settings: ReadSettings,
    budget: Budget,
) -> Iterator[Draft | LeftOut]:
    """Yield the occurrences around now, or the series once, and all moved occurrences."""
    parser, repeats = library("icalendar"), library("recurring_ical_events")
    series = parser.Calendar()
    for part in (*zones, *events):
        series.add_component(part)
    first = next(event for event in events if "RRULE" in event or "RDATE" in event)
    now, zone = settings.now, settings.zone
    rule = rule_in_words(first.get("RRULE"), zone)
    occurrences: list[icalendar.Component] = []

    def follow() -> list[icalendar.Component]:
        query = repeats.of(series)
        return (
            query.between(now - SHOWN_BEFORE, now + SHOWN_AFTER)
            or sorted(query.between(now, now + NEXT_WITHIN), key=lambda event: _key(uid, event))[:1]
        )

    try:
        # A rule of hours or seconds has millions; following it would take as long.
        if not any(map(_within_days, events)):
            occurrences = budget.run(follow, RULE_SECONDS)
    except (OutOfTime, Exception):  # noqa: BLE001 -- see _calendars
        yield LeftOut(where, NOT_FOLLOWED)
    drafts: dict[str, Draft | LeftOut] = {}
    for event in events:
        if "RECURRENCE-ID" in event:
            drafts[_key(uid, event)] = _draft(_key(uid, event), event, where, zone)
    if 0 < len(occurrences) <= MAX_OCCURRENCES:
        for event in occurrences:
            key = _key(uid, event, _date(event, "DTSTART"))
            drafts.setdefault(key, _draft(key, event, where, zone, rule))
    else:
        drafts[uid] = _draft(uid, first, where, zone, rule or "repeatedly")
    yield from (drafts[key] for key in sorted(drafts))


def _within_days(event: icalendar.Component) -> bool:
    """Whether an event is repeated at intervals of less than a day, or of none."""
    rules = event.get("RRULE", [])
    return any(
        any(str(freq).upper() not in _EVERY for freq in rule.get("FREQ", ()))
        or any(interval < 1 for interval in rule.get("INTERVAL", ()))
        or math.prod(len(rule.get(name, [0])) for name in _PARTS_OF_A_DAY) > MAX_A_DAY
        for rule in (rules if isinstance(rules, list) else [rules])
    )


def _draft(key: str, event: Any, where: str, zone: dt.tzinfo, rule: str = "") -> Draft | LeftOut:
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return LeftOut(where, CANCELLED)
    title = _words(event, "SUMMARY")
    if not title:
        return LeftOut(where, NO_TITLE)
    start = _date(event, "DTSTART")
    if start is None or not is_plausible(start):
        return LeftOut(where, NO_DATE)
    end = _end_of(event, start)
    when = when_in_words(start, end, zone)
    place, description = _words(event, "LOCATION"), _words(event, "DESCRIPTION")
    sentences = [f"{title}: {when}{f', {rule}' if rule else ''}", place and f"At {place}"]
    text = ". ".join(sentence.rstrip(".") for sentence in sentences if sentence) + "."
    fields: dict[str, object] = {
        "occurred_at": _local(start, zone),
        "category": "event",
        "labels": distinct(event.categories),
        "url": _words(event, "URL") or None,
    }
    # Not copied into each occurrence where it is too long to be stored.
    text = f"{text}\n{description[: MAX_TEXT_CHARS + 1]}".strip()
    return Draft(key, where, text, fields=fields)


def when_in_words(start: dt.date, end: dt.date | None, zone: dt.tzinfo) -> str:
    """Return the time of an event in words; the end of an all-day event is excluded.

    >>> when_in_words(dt.date(2026, 3, 10), dt.date(2026, 3, 11), dt.UTC)
    'Tuesday 10 March 2026, all day'
    >>> at = dt.datetime(2026, 3, 10, 18, 0, tzinfo=dt.UTC)
    >>> when_in_words(at, at + dt.timedelta(minutes=90), dt.UTC)
    'Tuesday 10 March 2026, 18:00 to 19:30'
    """
    first = _local(start, zone)
    if not isinstance(start, dt.datetime):
        last = first
        if end is not None and not isinstance(end, dt.datetime):
            last = max(first, _local(end, zone) - dt.timedelta(days=1))
        return f"{_day(first)}, all day" if last == first else f"{_day(first)} to {_day(last)}"
    words = f"{_day(first)}, {first:%H:%M}"
    if end is None or not isinstance(end, dt.datetime):
        return words
    last = _local(end, zone)
    if (last.tzinfo is None) != (first.tzinfo is None) or last <= first:
        return words
    until = f"{last:%H:%M}" if last.date() == first.date() else f"{_day(last)}, {last:%H:%M}"
    return f"{words} to {until}"


def rule_in_words(rule: object, zone: dt.tzinfo) -> str:
    """Return a rule such as FREQ=WEEKLY;BYDAY=TU in words; empty for a complex one.

    >>> rule_in_words({"FREQ": ["WEEKLY"], "INTERVAL": [2], "BYDAY": ["TU", "TH"]}, dt.UTC)
    'every 2 weeks on Tuesday and Thursday'
    >>> rule_in_words({"FREQ": ["MONTHLY"], "BYDAY": ["-1FR"], "COUNT": [5]}, dt.UTC)
    'every month on the last Friday, 5 times'
    """
    if not isinstance(rule, Mapping) or set(rule) - _PUT_INTO_WORDS:
        return ""
    every = _EVERY.get(str(rule["FREQ"][0]).upper()) if rule.get("FREQ") else None
    if every is None:
        return ""
    interval = int(rule.get("INTERVAL", [1])[0])
    if interval < 1:
        return ""
    words = f"every {every}" if interval == 1 else f"every {interval} {every}s"
    days = [_weekday(str(day)) for day in rule.get("BYDAY", ())]
    if days and all(days):
        *others, last = days
        words += f" on {', '.join(others)} and {last}" if others else f" on {last}"
    if until := rule.get("UNTIL"):
        words += f" until {_day(_local(until[0], zone))}"
    if count := rule.get("COUNT"):
        words += f", {count[0]} times"
    return words


def _weekday(code: str) -> str:
    match = re.fullmatch(r"([+-]?\d+)?([A-Z]{2})", code.upper())
    if not match or match[2] not in _DAYS:
        return ""
    day = f"{_DAYS[match[2]]}day"
    return f"the {_ORDINALS.get(int(match[1]), match[1])} {day}" if match[1] else day


def _date(event: icalendar.Component, name: str) -> dt.date | None:
    value = event.get(name)
    moment = getattr(value[0] if isinstance(value, list) else value, "dt", None)
    return moment if isinstance(moment, dt.date) else None


def _end_of(event: icalendar.Component, start: dt.date) -> dt.date | None:
    duration = getattr(event.get("DURATION"), "dt", None)
    if "DTEND" not in event and isinstance(duration, dt.timedelta):
        return start + duration if isinstance(start, dt.datetime) else None
    return _date(event, "DTEND")


def _local(moment: dt.date, zone: dt.tzinfo) -> dt.datetime:
    """Return a moment in a zone; a day or a floating time stays naive."""
    if not isinstance(moment, dt.datetime):
        return dt.datetime.combine(moment, dt.time())
    return moment if moment.tzinfo is None else moment.astimezone(zone)


def _day(day: dt.date) -> str:
    return f"{day:%A} {day.day} {day:%B %Y}"


def _key(uid: str, event: icalendar.Component, start: dt.date | None = None) -> str:
    """Return the key of an event; an occurrence's has its original start."""
    moment = _date(event, "RECURRENCE-ID") or start
    if moment is None:
        return uid
    if isinstance(moment, dt.datetime) and moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC)
    return f"{uid}@{moment.isoformat()}"


def _words(event: icalendar.Component, name: str) -> str:
    value = event.get(name, "")
    value = value[0] if isinstance(value, list) else value
    return visible(str(value)).strip()


def _sequence(event: icalendar.Component) -> int:
    value = event.get("SEQUENCE", 0)
    return value if isinstance(value, int) else 0


def _line_of(text: str, fragment: str) -> int:
    """Return the line number of a fragment, which may be folded; else 1."""
    at = text.find(fragment)
    if at < 0:
        at = text.find(fragment[:40])
    return text.count("\n", 0, max(at, 0)) + 1


def _broken(text: str, name: str, message: str, field: str = "") -> str:
    quoted = re.search(r"(['\"])(.+)\1", message[:1000])
    line_no = _line_of(text, quoted[2] if quoted else field)
    problem = f"{field} {message[:120]}".lstrip()
    return f"{name}:{line_no}: expected iCalendar, got {problem}; correct the line"
