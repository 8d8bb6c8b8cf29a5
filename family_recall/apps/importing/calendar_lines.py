"""Split an iCalendar text into its components, each with the numbers of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from family_recall.apps.importing.drafts import LeftOut, whole_characters
from family_recall.apps.importing.limits import RAISE, Limits
from family_recall.errors import DatasetError

NOT_UNDERSTOOD = "lines or properties that are not understood"
NO_END, OUTSIDE = "components without an end", "components outside a calendar"

_NOT_NESTED = frozenset("VEVENT VTODO VJOURNAL VFREEBUSY VTIMEZONE".split())
_OF_CALENDARS = frozenset("VERSION PRODID METHOD CALSCALE X-WR-TIMEZONE".split())
_NAMES = _NOT_NESTED | frozenset(
    "VALARM STANDARD DAYLIGHT PARTICIPANT VLOCATION VRESOURCE VAVAILABILITY AVAILABLE VCARD ATTACH "
    "ATTENDEE CLASS COLOR COMMENT CONFERENCE CONTACT EXRULE GEO IMAGE NAME ORGANIZER PRIORITY "
    "RELATED-TO REQUEST-STATUS RESOURCES".split()
)
_CONTENT_LINE = re.compile(r"[^\n]+(?:\n+[ \t][^\n]*)*")
_BOUND = re.compile(r"\s*(BEGIN|END)\s*(?:;[^:]*)?:(.*)", re.IGNORECASE)

Line = tuple[int, str]
"""The number of a line, and its text with what was folded."""


@dataclass(frozen=True, slots=True)
class Component:
    """A component and its own lines; those of a time zone have its parts, too.

    Attributes:
        calendar: The properties of the calendar that it is in, which may follow it.
    """

    kind: str
    line_no: int
    lines: list[Line] = field(default_factory=list)
    calendar: dict[str, str] = field(default_factory=dict)

    @property
    def all_lines(self) -> list[Line]:
        """Its lines with the first and the last."""
        begin, end = (self.line_no, f"BEGIN:{self.kind}"), (self.line_no, f"END:{self.kind}")
        return [begin, *self.lines, end]

    def line_of(self, name: str | None, problem: str) -> int:
        """Return the number of a property's line, or of one that a problem quotes; else its own."""
        for line_no, line in self.lines:
            if line.upper().startswith(name) if name else line[:40] in problem:
                return line_no
        return self.line_no


def components(text: str, name: str, limits: Limits) -> Iterator[Component | LeftOut]:
    """Yield the components of all calendars, and what belongs to none or is not read.

    One that cannot be in another one ends it.
    """
    begun: list[Component] = []
    for line_no, line in _content_lines(text):
        where, bound = f"{name}:{line_no}", _BOUND.fullmatch(line)
        if bound is None and len(begun) > 1:
            begun[-1].lines.append((line_no, line))
            continue
        if bound is None and begun:
            yield from _of_calendar(line, where, begun[0].calendar)
            continue
        kind = bound[2].strip().upper() if bound else ""
        begins = bool(bound and bound[1].upper() == "BEGIN")
        depth = _depth_of(kind, [part.kind for part in begun], begins=begins)
        if depth is None:
            problem = f"expected BEGIN:{kind[:40] or 'VCALENDAR'} before, got {line[:60]!r}"
            yield LeftOut(where, NOT_UNDERSTOOD, f"{problem}; correct the line")
            continue
        while len(begun) > depth:
            ended = begun.pop()
            if ended.line_no and (begins or len(begun) > depth):
                yield _without_end(ended, name, line[:60])
            yield from _ended(ended, begun, name)
        if not begins:
            continue
        if not begun and kind != "VCALENDAR":
            problem = f"expected BEGIN:VCALENDAR, got {line[:60]!r}; export the file again"
            yield LeftOut(where, OUTSIDE, problem)
            begun.append(Component("VCALENDAR", 0))
        begun.append(Component(kind, line_no, [], begun[0].calendar if begun else {}))
        if len(begun) > limits.depth:
            raise DatasetError(
                f"{where}: expected at most {limits.depth:,.0f} components in each other, "
                f"got more; correct the file, or {RAISE}"
            )
    unended = [part for part in reversed(begun) if part.line_no]
    yield from (_without_end(part, name, "the end of the file") for part in unended)


def _depth_of(kind: str, begun: Sequence[str], *, begins: bool) -> int | None:
    """Return how many open components are around one that begins or ends; None if it never began.

    >>> _depth_of("VEVENT", ["VCALENDAR", "VEVENT", "VALARM"], begins=True)
    1
    """
    if begins and kind == "VCALENDAR":
        return 0
    if begins:
        return min(len(begun), 1) if kind in _NOT_NESTED else len(begun)
    return len(begun) - 1 - begun[::-1].index(kind) if kind in begun else None


def _of_calendar(line: str, where: str, calendar: dict[str, str]) -> Iterator[LeftOut]:
    """Add a line of a calendar to its properties; yield one that means nothing here."""
    name, colon, value = line.partition(":")
    name = name.partition(";")[0].strip().upper()
    if not colon:
        problem = f"expected a property, got {line[:60]!r}; correct the line"
        yield LeftOut(where, NOT_UNDERSTOOD, problem)
    elif name not in _OF_CALENDARS:
        yield LeftOut(where, f"{shown(name)} properties of calendars")
    calendar[name] = value.strip()


def shown(name: str) -> str:
    """Return the name of a property or component; of what a program made up, its kind."""
    return name if name in _NAMES else "X-" if name.startswith("X-") else "unknown"


def _without_end(part: Component, name: str, found: str) -> LeftOut:
    problem = f"expected END:{part.kind}, got {found}; export the file again"
    return LeftOut(f"{name}:{part.line_no}", NO_END, problem)


def _ended(part: Component, begun: Sequence[Component], name: str) -> Iterator[Component | LeftOut]:
    """Yield a component of a calendar; put a time zone's into it, and report those of events."""
    if len(begun) == 1:
        yield part
    elif begun and begun[1].kind == "VTIMEZONE":
        begun[-1].lines.extend(part.all_lines)
    elif begun and begun[1].kind == "VEVENT":
        yield LeftOut(f"{name}:{part.line_no}", f"{shown(part.kind)} components of events")


def _content_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers; folded ones are joined."""
    line_no, at = 1, 0
    for match in _CONTENT_LINE.finditer(text):
        line_no += text.count("\n", at, match.start())
        at = match.start()
        yield line_no, whole_characters(re.sub(r"\n+[ \t]", "", match[0]))
