"""iCalendar files: each event, or each occurrence of a repeated event around now, is a draft."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from family_recall.apps.importing.calendar_lines import NOT_UNDERSTOOD, Component, components, shown
from family_recall.apps.importing.calendar_words import (
    EVERY,
    MAX_A_DAY,
    MORE_TO_IT,
    PARTS_OF_A_DAY,
    day_in_words,
    days_in_words,
    is_timed,
    local,
    rule_in_words,
    when_in_words,
)
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
from family_recall.apps.importing.limits import Budget, OutOfTime
from family_recall.errors import DatasetError
from family_recall.types.fields import MAX_TEXT_CHARS

SHOWN_BEFORE, SHOWN_AFTER = dt.timedelta(days=30), dt.timedelta(days=92)
"""The window around now in which occurrences of a repeated event are stored."""

NEXT_WITHIN = dt.timedelta(days=366)
"""Where the window has none, the next occurrence within this time is stored."""

MAX_OCCURRENCES = 60
"""An event with more occurrences, or none, is stored once, with its rule in words."""

RULE_SECONDS, RULES_SHARE = 0.5, 0.75
"""The processor time for following the rule of one event; and for all, as a share of the file's."""

NOT_FOLLOWED = "repetitions of events whose rule cannot be followed, or not in time"

CANCELLED, NO_TITLE, NO_DATE = "cancelled events", "events without a title", "events without a date"
OLDER, UNREADABLE = "older versions of events", "events that are not understood"
UNKNOWN_ZONE = "times in an unknown zone, taken as local"
BAD_ZONE = "time zones that are not understood"

_SEVERAL = frozenset("RRULE RDATE EXDATE CATEGORIES".split())
_KEPT = _SEVERAL | set(
    "UID SUMMARY DTSTART DTEND DURATION RECURRENCE-ID STATUS SEQUENCE LOCATION DESCRIPTION "
    "URL".split()
)
_BOOKKEEPING = frozenset("DTSTAMP CREATED LAST-MODIFIED TRANSP".split())
_PLACING = {"DTSTART", "RECURRENCE-ID"}
_YEARLY = re.compile(
    r"RRULE.*:(?!.*BY(?:HOUR|MINUTE|SECOND|YEARDAY|WEEKNO)|.*INTERVAL=-?0)"
    r"(?:.*;)?FREQ=YEARLY(?:;.*)?",
    re.IGNORECASE,
)
_DAY = dt.timedelta(days=1)
_ZONES = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Event:
    """An event, its place, and what else is to be told of its time."""

    parsed: Any
    where: str
    is_cancelled: bool
    calendar_zone: str
    note: str

    @property
    def original(self) -> dt.date | None:
        """When a changed occurrence was to be."""
        return _date(self.parsed, "RECURRENCE-ID")

    @property
    def thing(self) -> tuple[dt.date | None, str]:
        """What makes it another event than one of the same UID."""
        return _date(self.parsed, "DTSTART"), _words(self.parsed, "SUMMARY")

    @property
    def is_moved(self) -> bool:
        """Whether it is not when it was to be."""
        return self.original not in {None, _date(self.parsed, "DTSTART")}

    @property
    def changes_all_later(self) -> bool:
        """Whether it is changed with all later ones."""
        params = getattr(self.parsed.get("RECURRENCE-ID"), "params", {})
        return bool(params.get("RANGE") == "THISANDFUTURE")


def read_calendar(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read an iCalendar file (RFC 5545).

    An event's key is its UID; an occurrence's has its moment, too. Of a repeated event, a day that
    was taken out is a draft as well. What is not understood is left out, and the rest is read.
    Texts name day and hour in the household's zone, which floating times are in. Past occurrences
    before the window stay.
    """
    settings.limits.check_lines(text, name, folds=True)
    if not re.search(r"^\s*BEGIN\s*:\s*V(?:CALENDAR|EVENT)", text, re.MULTILINE | re.IGNORECASE):
        found = repr(text.strip()[:40]) if text.strip() else "the end of the file"
        raise DatasetError(
            f"{name}:1: expected BEGIN:VCALENDAR of an iCalendar file, got {found}; export it again"
        )
    left_out: list[LeftOut] = []
    by_uid, zones = _events(components(text, name, settings.limits), name, left_out)
    groups = _apart(by_uid)
    uids = {*groups, *(uid.rpartition("@")[0] for uid in groups)}

    def keeps(key: str) -> bool:
        uid, _, moment = key.rpartition("@")
        return uid in uids and moment < (settings.now - SHOWN_BEFORE).date().isoformat()

    budget = Budget(settings.limits.seconds_for(len(text)) * RULES_SHARE)

    def items() -> Iterator[Draft | LeftOut]:
        yield from left_out
        for uid, events in groups.items():
            newest: dict[str, _Event] = {}
            for event in sorted(events, key=_sequence):
                key = _key(uid, event.parsed)
                if key in newest:
                    yield LeftOut(newest[key].where, OLDER)
                newest[key] = event
            if uid in newest and {"RRULE", "RDATE"} & set(newest[uid].parsed):
                yield from _repeated(uid, newest, zones, settings, budget)
            else:
                yield from (_draft(key, event, settings.zone) for key, event in newest.items())

    return Reading.of(items(), settings, keeps)


def _events(
    parts: Iterable[Component | LeftOut], name: str, left_out: list[LeftOut]
) -> tuple[dict[str, list[_Event]], list[Any]]:
    """Return the events by UID, and the time zones; add what is not read to ``left_out``."""
    by_uid = defaultdict[str, list[_Event]](list)
    zones: list[Any] = []
    parts = list(parts)
    left_out += (part for part in parts if isinstance(part, LeftOut))
    read = [part for part in parts if isinstance(part, Component)]
    known = library("icalendar.timezone").tzp
    with _ZONES:
        known.use(known.name)  # It keeps the zones of the files that it read before.
        # An event may come before its zone.
        for part in sorted(read, key=lambda part: part.kind != "VTIMEZONE"):
            if part.kind == "VTIMEZONE":
                left_out += _read_zone(part, name, zones)
            elif part.kind == "VEVENT":
                left_out += _read_event(part, name, by_uid)
            else:
                left_out.append(LeftOut(f"{name}:{part.line_no}", f"{shown(part.kind)} components"))
    return by_uid, zones


def _apart(by_uid: Mapping[str, list[_Event]]) -> dict[str, list[_Event]]:
    """Return the events by UID; several things of one UID, each by its title and start as well.

    Some programs give all events one UID. A version of a higher SEQUENCE is no other thing.
    """
    groups = defaultdict[str, list[_Event]](list)
    for uid, events in by_uid.items():
        whole = [event for event in events if event.original is None]
        newest = max(map(_sequence, whole), default=0)
        things = {event.thing: event for event in whole if _sequence(event) == newest}
        if len(things) < 2:
            groups[uid] = events
            continue
        keys = {
            thing: _key(f"{uid} {digest(thing[1])}", {}, thing[0])
            for thing in sorted(things, key=lambda thing: "RRULE" not in things[thing].parsed)
        }
        # Changed occurrences, and older versions, are of the first that is repeated.
        first = next(iter(keys.values()))
        for event in events:
            groups[keys.get(event.thing, first) if event.original is None else first].append(event)
    return dict(groups)


def _parsed(component: Component) -> Any:
    """Parse a component alone, so that no other one is lost with it."""
    lines = "\r\n".join(line for _, line in component.all_lines)
    return library("icalendar").Component.from_ical(f"{lines}\r\n")


def _read_zone(component: Component, name: str, zones: list[Any]) -> Iterator[LeftOut]:
    """Add a time zone. One that changes more than once a year takes as long as the changes are."""
    for line_no, line in component.lines:
        if line[:5].upper() == "RRULE" and not _YEARLY.fullmatch(line):
            problem = f"expected a time zone that changes once a year, got {line[:60]!r}"
            yield LeftOut(f"{name}:{line_no}", BAD_ZONE, f"{problem}; correct the line")
            return
    try:
        zones.append(_parsed(component))
    except Exception as error:  # noqa: BLE001 -- a parser of foreign files raises many kinds
        problem = f"expected a time zone, got {error!s:.120}; export it again"
        yield LeftOut(f"{name}:{component.line_no}", BAD_ZONE, problem)


def _read_event(
    component: Component, name: str, by_uid: Mapping[str, list[_Event]]
) -> Iterator[LeftOut]:
    """Add an event to those of its UID; yield what of it is not understood, or not kept."""
    where = f"{name}:{component.line_no}"
    try:
        event = _parsed(component)
    except Exception as error:  # noqa: BLE001 -- see _read_zone
        problem = f"expected an event, got {error!s:.120}; export it again"
        yield LeftOut(where, UNREADABLE, problem)
        return
    uid = _words(event, "UID")
    for line_no, line in component.lines:
        field = re.split("[:;]", line, maxsplit=1)[0].strip().upper()
        if field in event and field not in _KEPT | _BOOKKEEPING:
            yield LeftOut(f"{name}:{line_no}", f"{shown(field)} properties of events")
    is_repeated = "RRULE" in event
    problems = list(_problems(event, component.calendar.get("CALSCALE", "")))
    for field, reason, problem in problems:
        place = f"{name}:{component.line_of(field, problem)}"
        yield LeftOut(place, reason, f"{problem}; correct it", uid)
    start = _date(event, "DTSTART")
    if UNREADABLE in {reason for _, reason, _ in problems}:
        return
    if start is None or not is_plausible(start):
        yield LeftOut(where, NO_DATE)
        return
    zone = _unknown_zone(event, "DTSTART")
    note = f"in the unknown time zone {zone}" if zone else ""
    if is_repeated and "RRULE" not in event:
        note = f"repeatedly, {note}".rstrip(", ")
    cancels = {_words(event, "STATUS").upper(), component.calendar.get("METHOD", "").upper()}
    by_uid[uid or digest(_words(event, "SUMMARY"), str(event.get("DTSTART")))].append(
        _Event(
            event,
            where,
            bool(cancels & {"CANCELLED", "CANCEL"}),
            component.calendar.get("X-WR-TIMEZONE", ""),
            note,
        )
    )


def _problems(event: Any, scale: str) -> Iterator[tuple[str | None, str, str]]:
    """Take what is not understood out of an event; yield its property, kind and problem."""
    if scale.upper() not in {"", "GREGORIAN"}:
        yield "DTSTART", UNREADABLE, f"expected CALSCALE:GREGORIAN, got {scale[:40]}"
    for field, message in event.errors:
        problem = " ".join(f"expected iCalendar, got {field or ''} {message}"[:150].split())
        if field is None or field in _KEPT:
            yield field, UNREADABLE if field in _PLACING else NOT_UNDERSTOOD, problem
    broken = library("icalendar.prop").vBroken
    for field in sorted(_KEPT & set(event)):
        good = [_as_named(v) for v in _values(event, field) if not isinstance(v, broken)]
        if field == "RRULE" and not all("FREQ" in rule for rule in good):
            yield field, NOT_UNDERSTOOD, "expected an RRULE with FREQ, got one without it"
            good = [rule for rule in good if "FREQ" in rule]
        if len(good) > 1 and field not in _SEVERAL:
            yield field, NOT_UNDERSTOOD, f"expected one {field}, got {len(good)}"
        del event[field]
        if good:
            event[field] = good if len(good) > 1 and field in _SEVERAL else good[0]
        if zone := _unknown_zone(event, field):
            yield field, UNKNOWN_ZONE, f"expected a known time zone, got TZID={zone!r}"
    if problem := _problem_of_end(event):
        yield "DTEND" if "DTEND" in event else "DURATION", NOT_UNDERSTOOD, problem
        event.pop("DTEND", None)
        event.pop("DURATION", None)


def _as_named(value: Any) -> Any:
    """Return a value, and a day with a time, as some programs write it, as the day it says."""
    moment = getattr(value, "dt", None)
    if is_timed(moment) and getattr(value, "params", {}).get("VALUE") == "DATE":
        value.dt = moment.date()
    return value


def _unknown_zone(event: Any, field: str) -> str:
    """Return the name of a property's zone if its times got none."""
    for value in _values(event, field):
        zone = visible(str(getattr(value, "params", {}).get("TZID", "")))[:60]
        if zone and any(map(_is_floating, _moments(value))):
            return zone
    return ""


def _problem_of_end(event: Any) -> str:
    """Return what is wrong with the end of an event, if anything."""
    start, end = _date(event, "DTSTART"), _date(event, "DTEND")
    if start is None:
        return ""
    if end is not None:
        problem = f"expected a DTEND after {start}, got {end}"
        if is_timed(start) != is_timed(end) or _is_floating(start) != _is_floating(end):
            return f"{problem}, another kind of time"
        return problem if end < start else ""
    try:
        is_back = (_end_of(event, start) or start) < start
    except OverflowError:
        is_back = True
    duration = getattr(event.get("DURATION"), "dt", None)
    return f"expected a DURATION of 0 to some years, got {duration}" if is_back else ""


def _repeated(
    uid: str,
    events: Mapping[str, _Event],
    zones: Sequence[Any],
    settings: ReadSettings,
    budget: Budget,
) -> Iterator[Draft | LeftOut]:
    """Yield the occurrences around now, or the series once, and what was moved or taken out."""
    series, zone = events[uid], settings.zone
    try:
        occurrences = _occurrences(uid, events, zones, settings, budget)
    except (OutOfTime, Exception):  # noqa: BLE001 -- see _read_zone
        yield LeftOut(series.where, NOT_FOLLOWED)
        occurrences = []
    changed = {key: event for key, event in events.items() if event.original is not None}
    gone = {} if series.is_cancelled else _gone(uid, series, changed, zone)
    occurrences = [each for each in occurrences if _key(uid, each) not in gone]
    rule = _rule_of(series, changed.values(), zone)
    drafts = {key: _draft(key, event, zone) for key, event in changed.items() if key not in gone}
    around = [key for key, (moment, _) in gone.items() if _is_around(moment, settings)]
    for key in around[-MAX_OCCURRENCES:]:
        moment, why = gone[key]
        when = f"{when_in_words(moment, None, zone)}, {why}; otherwise {rule}"
        drafts[key] = _told(key, series, moment, zone, when)
    if series.is_cancelled or not 0 < len(occurrences) <= MAX_OCCURRENCES:
        if gone:
            without = sorted({moment for moment, _ in gone.values()}, key=str)
            rule += f", except on {days_in_words(without, zone)}"
        drafts[uid] = _draft(uid, series, zone, rule)
        occurrences = []
    starts = {_date(event.parsed, "DTSTART") for event in changed.values()}
    for parsed in occurrences:
        event, start = dataclasses.replace(series, parsed=parsed), _date(parsed, "DTSTART")
        # Of a change from then on, the library gives all occurrences the id of the first.
        is_later = event.changes_all_later and start not in starts
        key = _key(uid, {} if is_later else parsed, start)
        if key not in drafts:
            drafts[key] = _draft(key, event, zone, rule)
    yield from (drafts[key] for key in sorted(drafts))


def _gone(
    uid: str, series: _Event, changed: Mapping[str, _Event], zone: dt.tzinfo
) -> dict[str, tuple[dt.date, str]]:
    """Return the starts at which a repeated event is not, and why, by key; a day has its own."""
    start, gone = _date(series.parsed, "DTSTART"), {}
    for day in _dates(series.parsed, "EXDATE"):
        at = start.timetz() if is_timed(start) and not is_timed(day) else None
        moment = dt.datetime.combine(day, at) if at else day
        gone[_key(uid, {}, moment)] = (moment, "is cancelled")
    for key, event in changed.items():
        original, moved_to = event.original, _date(event.parsed, "DTSTART")
        if original is None or moved_to is None or event.changes_all_later:
            continue
        if event.is_cancelled:
            gone[key] = (original, "is cancelled")
        elif local(original, zone).date() != local(moved_to, zone).date():
            when = when_in_words(moved_to, _end_of(event.parsed, moved_to), zone)
            gone[f"{key} moved"] = (original, f"is moved to {when}")
    return gone


def _rule_of(series: _Event, changed: Iterable[_Event], zone: dt.tzinfo) -> str:
    """Return how an event is repeated, in words."""
    rule = rule_in_words(series.parsed.get("RRULE"), zone, _date(series.parsed, "DTSTART"))
    words = [rule or "repeatedly"]
    if "EXRULE" in series.parsed:
        words.append(MORE_TO_IT)
    if added := _dates(series.parsed, "RDATE"):
        words.append(f"also on {days_in_words(added, zone)}")
    words += [
        f"changed from {day_in_words(local(event.original, zone))} on"
        for event in changed
        if event.changes_all_later and event.original
    ]
    return ", ".join(words)


def _occurrences(
    uid: str,
    events: Mapping[str, _Event],
    zones: Sequence[Any],
    settings: ReadSettings,
    budget: Budget,
) -> list[Any]:
    """Return the occurrences around now, or the next one; none of a rule with too many."""
    # A rule of hours or seconds has millions; following it would take as long. The library knows no
    # EXRULE, which RFC 2445 had.
    if any(_is_within_days(event.parsed) or "EXRULE" in event.parsed for event in events.values()):
        raise OutOfTime
    calendar = library("icalendar").Calendar()
    if zone_id := events[uid].calendar_zone:
        calendar["X-WR-TIMEZONE"] = zone_id
    for part in (*zones, *(event.parsed for event in events.values())):
        calendar.add_component(part)
    now, repeats = settings.now, library("recurring_ical_events")

    def follow() -> list[Any]:
        query = repeats.of(calendar)
        around = query.between(now - SHOWN_BEFORE, now + SHOWN_AFTER)
        coming = around or query.between(now, now + NEXT_WITHIN)
        return list(around) or sorted(coming, key=lambda event: _key(uid, event))[:1]

    return budget.run(follow, RULE_SECONDS)


def _is_around(moment: dt.date, settings: ReadSettings) -> bool:
    day, now = local(moment, settings.zone).date(), settings.now.date()
    return now - SHOWN_BEFORE <= day <= now + SHOWN_AFTER


def _is_within_days(event: Any) -> bool:
    """Whether an event is repeated at intervals of less than a day, or of none."""
    return any(
        any(str(freq).upper() not in EVERY for freq in rule.get("FREQ", ()))
        or any(interval < 1 for interval in rule.get("INTERVAL", ()))
        or math.prod(len(rule.get(name, [0])) for name in PARTS_OF_A_DAY) > MAX_A_DAY
        for rule in _values(event, "RRULE")
    )


def _draft(key: str, event: _Event, zone: dt.tzinfo, rule: str = "") -> Draft | LeftOut:
    """Return an event as a draft; a moved occurrence says of when."""
    parsed, start = event.parsed, _date(event.parsed, "DTSTART")
    if event.is_cancelled:
        return LeftOut(event.where, CANCELLED)
    if start is None:
        return LeftOut(event.where, NO_DATE)
    if not rule and event.is_moved and event.original:
        rule = f"instead of {when_in_words(event.original, None, zone)}"
    when = [when_in_words(start, _end_of(parsed, start), zone), rule, event.note]
    place, description = _words(parsed, "LOCATION"), _words(parsed, "DESCRIPTION")
    return _told(key, event, start, zone, ", ".join(filter(None, when)), place, description)


def _told(
    key: str,
    event: _Event,
    start: dt.date,
    zone: dt.tzinfo,
    when: str,
    place: str = "",
    description: str = "",
) -> Draft | LeftOut:
    title = _words(event.parsed, "SUMMARY")
    if not title:
        return LeftOut(event.where, NO_TITLE)
    sentences = [f"{title}: {when}", place and f"At {place}"]
    text = ". ".join(sentence.rstrip(".") for sentence in sentences if sentence) + "."
    fields: dict[str, object] = {
        "occurred_at": local(start, zone),
        "category": "event",
        "labels": distinct(event.parsed.categories),
        "url": _words(event.parsed, "URL") or None,
    }
    # Not copied into each occurrence where it is too long to be stored.
    text = f"{text}\n{description[: MAX_TEXT_CHARS + 1]}".strip()
    return Draft(key, event.where, text, fields=fields)


def _values(event: Mapping[str, Any], name: str) -> list[Any]:
    """Return the values of a property, which may be there several times."""
    value = event.get(name, [])
    return value if isinstance(value, list) else [value]


def _moments(value: Any) -> list[Any]:
    """Return the moments of one property: of EXDATE and RDATE there may be several."""
    return [item.dt for item in getattr(value, "dts", [value])]


def _dates(event: Mapping[str, Any], name: str) -> list[dt.date]:
    """Return all days and moments of a property; of a period, its start."""
    moments = [moment for value in _values(event, name) for moment in _moments(value)]
    starts = (moment[0] if isinstance(moment, tuple) else moment for moment in moments)
    return sorted((moment for moment in starts if isinstance(moment, dt.date)), key=str)


def _date(event: Mapping[str, Any], name: str) -> dt.date | None:
    return next(iter(_dates(event, name)), None)


def _end_of(event: Any, start: dt.date) -> dt.date | None:
    duration = getattr(event.get("DURATION"), "dt", None)
    if "DTEND" in event or not isinstance(duration, dt.timedelta):
        return _date(event, "DTEND")
    # Hours of a whole day fill up another one.
    return start + (duration if is_timed(start) else dt.timedelta(math.ceil(duration / _DAY)))


def _is_floating(moment: object) -> bool:
    return isinstance(moment, dt.datetime) and moment.tzinfo is None


def _key(uid: str, event: Mapping[str, Any], start: dt.date | None = None) -> str:
    """Return the key of an event; an occurrence's has its original start."""
    moment = _date(event, "RECURRENCE-ID") or start
    if moment is None:
        return uid
    if isinstance(moment, dt.datetime) and moment.tzinfo is not None:
        moment = local(moment, dt.UTC)
    return f"{uid}@{moment.isoformat()}"


def _words(event: Any, name: str) -> str:
    return visible(str(next(iter(_values(event, name)), ""))).strip()


def _sequence(event: _Event) -> int:
    value = event.parsed.get("SEQUENCE", 0)
    return value if isinstance(value, int) else 0
