"""The stretch of local time that a question is about."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from family_recall.english.tokens import Token, tokens_of

from . import before_after, counted, dates, parts_of_periods, recurring, relative  # noqa: F401  (they register what they read)
from .ahead import ahead_in, from_today
from .anchors import Anchor
from .calendar import DAY, Interval, OpenInterval
from .clauses import clauses_of
from .clock import Hours, hours_in, narrowed
from .phrases import Sentence, choose, coming_too, within
from .prepositions import Clause
from .readers import READERS

MAX_FUTURE_CERTAINTY = 0.85
"""Memories about next Friday were written before it: such a span may not exclude any."""

EITHER = 0.5
"""How surely *who is away in March* asks about the last one, rather than the coming one."""

_STARTERS = READERS.keys() - {"a", "an"}
_FIGURES = frozenset("0123456789'’")
_TOPICS = frozenset(("about", "for", "of", "to"))
_WITHOUT_DATE = frozenset(
    "noon midday midnight coming ahead upcoming calendar agenda diary schedule planner planned "
    "booked scheduled arranged".split()
)

_BEGINNINGS = _STARTERS | _WITHOUT_DATE


@dataclass(frozen=True, slots=True)
class Timespan:
    """The stretch of time that a question is about.

    Args:
        start: Where it begins, in the household's zone; None is open.
        end: Where it has ended (half-open); None is open.
        certainty: In [0, 1]; from 0.9 on it may be used as a filter.
        matched: The characters of the question that name it, as (start, end).
        other: The coming stretch of that name, where the tense leaves open whether it or the last
            one is meant: *who is away in March?*
    """

    start: dt.datetime | None
    end: dt.datetime | None
    certainty: float
    matched: tuple[tuple[int, int], ...]
    other: tuple[dt.datetime, dt.datetime] | None = None


def find_timespan(
    question: str,
    *,
    now: dt.datetime,
    country: str = "US",
    hemisphere: Literal["north", "south"] = "north",
    anchors: Sequence[Anchor] = (),
) -> Timespan | None:
    """Find the time that a question is about.

    Args:
        question: Any text; only its first few thousand characters are read.
        now: The moment of asking, in the household's zone.
        country: ISO 3166 code, for Thanksgiving, Mother's Day and the like.
        hemisphere: Which half of the year is summer.
        anchors: Times the household has words for.

    Returns:
        The span, or None if there is none or it is unclear. ``start`` comes before ``end`` on
        the clock of UTC; both are in the zone of ``now``.

    Raises:
        ValueError: If ``now`` has no zone.
    """
    if now.tzinfo is None:
        raise ValueError(f"now must carry the household's zone, got {now.isoformat()}")
    tokens = tokens_of(question)
    if not anchors and not any(map(may_begin, tokens)):
        return None
    sentence = Sentence(tokens, now, country, anchors, hemisphere == "south")
    try:
        meant = find_meant(sentence, clauses_of(sentence))
        if meant is None:
            return None
        start, end = (in_zone(edge, now) for edge in meant.interval)
    except (ValueError, OverflowError):
        # A date past the calendar's end: "five thousand years ago".
        return None
    if start and end and start.timestamp() >= end.timestamp():
        return None
    certainty = meant.certainty
    if end is None or end > now:
        begun = start is None or start <= now
        first, last = meant.tokens[0]
        past = begun and sentence.tense(first, last) in {"past", "none"}
        certainty = certainty if past else min(certainty, MAX_FUTURE_CERTAINTY)
    matched = tuple((tokens[first].start, tokens[last - 1].end) for first, last in meant.tokens)
    other = None
    if meant.other is not None:
        coming, over = (in_zone(edge, now) for edge in meant.other)
        other = (coming, over) if coming is not None and over is not None else None
    return Timespan(start, end, certainty, matched, other)


class Meant(NamedTuple):
    """The time that a sentence is about, and the tokens ``[first, last)`` that say so.

    ``other`` is the coming one of that name, where it may be meant as well.
    """

    interval: OpenInterval
    certainty: float
    tokens: tuple[tuple[int, int], ...]
    other: OpenInterval | None = None


def may_begin(token: Token) -> bool:
    """Whether a time may begin with a word."""
    return token.word in _BEGINNINGS or token.word[0] in _FIGURES


def find_meant(s: Sentence, clauses: list[Clause]) -> Meant | None:
    """Return the days that a sentence names, narrowed by the hours or by what is still to come.

    ``clauses`` are all its clauses.
    """
    combined = _combined(s, clauses) if clauses else None
    days = None
    if combined is not None and combined.interval is not None:
        inside = [clause for clause in clauses if combined.first <= clause.first < combined.last]
        tokens = tuple((clause.first, clause.last) for clause in inside)
        days = Meant(combined.interval, combined.certainty, tokens)
        if len(inside) == 1 and not s.statement:
            days = _with_other(s, inside[0], days)
    elif clauses:
        return None
    taken = frozenset(
        i for first, last in (days.tokens if days else ()) for i in range(first, last)
    )
    hours = hours_in(s, taken)
    if hours is not None and (days is not None or _stands_alone(s, hours)):
        return _with_hours(s, hours, days)
    ahead = ahead_in(s, taken)
    if ahead is None or (days is None and _names_a_time(s, ahead[0], ahead[1])):
        return days
    first, last, certainty = ahead
    interval = from_today(s, days.interval if days else None)
    if interval is None:
        return days
    if days is None:
        return Meant(interval, certainty, ((first, last),))
    return days._replace(
        interval=interval, other=None, tokens=tuple(sorted((*days.tokens, (first, last))))
    )


def _with_other(s: Sentence, clause: Clause, days: Meant) -> Meant:
    """Add the coming stretch of a name where it may be meant as well as the last one."""
    last, (start, end) = clause.phrase, days.interval
    if clause.interval is not None or start is None or end is None:
        return days
    coming = coming_too(s, last, Interval(start, end))
    if coming is None:
        return days
    return days._replace(certainty=min(days.certainty, EITHER), other=OpenInterval(*coming))


def _with_hours(s: Sentence, hours: Hours, days: Meant | None) -> Meant | None:
    """Narrow a day to some hours; a time that it does not have changes nothing."""
    try:
        interval, certainty = narrowed(s, hours, days.interval if days else None)
    except ValueError:
        return days
    own = (hours.first, hours.last)
    if days is None:
        return Meant(interval, certainty, (own,))
    return Meant(interval, min(certainty, days.certainty), tuple(sorted((*days.tokens, own))))


def _stands_alone(s: Sentence, hours: Hours) -> bool:
    """Whether hours without a day are a time, as in *what happened after 9*."""
    at_end = not any(token.word[0].isalnum() for token in s.tokens[hours.last :])
    if hours.side not in {"after", "between"} or not at_end:
        return False
    looks_back = s.tense(hours.first, hours.last) in {"past", "none"}
    return looks_back and not _names_a_time(s, hours.first, hours.last)


def _names_a_time(s: Sentence, first: int, last: int) -> bool:
    """Whether words outside some tokens belong to times, although none was understood."""
    outside = (*s.tokens[:first], *s.tokens[last:])
    return any(token.word in _STARTERS for token in outside)


def _combined(s: Sentence, clauses: list[Clause]) -> Clause | None:
    """Return the one time that is meant by all that are named; None when they disagree.

    A time that repeats is taken from the frame named elsewhere ("on Christmas Eve … last
    year"). Of two times one inside the other the smaller is meant, and two joined by *and* are
    one stretch. A topic ("about Saturday") yields to the time of the event.
    """
    frames = [
        Interval(clause.interval.start, clause.interval.end)
        for clause in clauses
        if clause.interval and clause.phrase.fixed and clause.interval.start and clause.interval.end
    ]
    fixed = []
    for clause in clauses:
        fixed_clause = clause if clause.interval else _fixed(s, clause, frames)
        if fixed_clause is None:
            return None
        if fixed_clause.phrase.grain != "daily":
            fixed.append(fixed_clause)
    if any(clause.preposition not in _TOPICS for clause in fixed):
        fixed = [clause for clause in fixed if clause.preposition not in _TOPICS]
    combined = fixed[0] if fixed else None
    for clause in fixed[1:]:
        combined = _intersection(s, combined, clause) if combined else None
    return combined


def _fixed(s: Sentence, clause: Clause, frames: list[Interval]) -> Clause | None:
    """Fix a time that repeats, by the frames or else by the tense."""
    for frame in frames:
        inside = within(clause.phrase, frame)
        if inside:
            return clause._replace(interval=OpenInterval(*inside))
    phrase = choose(s, clause.phrase)
    if phrase.fixed is None:
        return None
    certainty = min(clause.certainty, phrase.certainty)
    interval = OpenInterval(*phrase.fixed)
    return clause._replace(phrase=phrase, interval=interval, certainty=certainty)


def _intersection(s: Sentence, clause: Clause, other: Clause) -> Clause | None:
    """Return the smaller of two times, or both as one stretch if *and* joins them."""
    a, b = clause.interval, other.interval
    if a is None or b is None:
        return None
    certainty = min(clause.certainty, other.certainty)
    starts = [start for start in (a.start, b.start) if start is not None]
    ends = [end for end in (a.end, b.end) if end is not None]
    is_open = len(starts) < 2 or len(ends) < 2
    low, high = max(starts, default=None), min(ends, default=None)
    both = OpenInterval(low, high)
    if low is None or high is None or low < high:
        if is_open or both in (a, b):
            return clause._replace(last=other.last, interval=both, certainty=certainty)
        return None
    joined = other.first == clause.last + 1 and s.word(clause.last) in {"and", "or"}
    if joined and not is_open and low - high < DAY:
        hull = OpenInterval(min(starts), max(ends))
        return clause._replace(last=other.last, interval=hull, certainty=min(certainty, 0.7))
    return None


def in_zone(edge: dt.datetime | None, now: dt.datetime) -> dt.datetime | None:
    """Put a wall-clock time into the zone; one the clocks skip becomes the first after it."""
    if edge is None:
        return None
    return edge.replace(tzinfo=now.tzinfo).astimezone(dt.UTC).astimezone(now.tzinfo)
