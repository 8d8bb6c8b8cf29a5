"""Time spans: a family's question in, the stretch of local time it speaks of out.

A deterministic grammar of English, without a model: the same question asked at the same moment
gives the same span, in a fraction of a millisecond. When it is unsure it stays silent.

Conventions, all on the household's wall clock and half-open:

* A day runs from midnight to midnight, 23 or 25 hours when the clocks change. Weeks run from
  Monday to Sunday; *last week* is the calendar week before this one, and so for months and
  years. *Two weeks ago* is a calendar week, *3 days ago* a day. *The last 3 days*, *the past
  week* and *the last week* roll: so many days back, up to and with today; hours are exact.
* Morning 5–12, afternoon 12–18, evening 17–24, night 18–5 of the next day. A weekend is Saturday
  and Sunday. Seasons are three whole months, half a year later in the south; a winter is named
  by the December (in the south the summer) it begins in.
* A name that comes round again (*in March*, *on Friday*) is the most recent one that has begun;
  the coming one if the verb looks ahead. With a verb that looks neither way a weekday is the
  coming one, without any the most recent, and the certainty is low. *Last Friday* is the most
  recent one before today, *next Friday* the one in the next calendar week when this week still
  has one. *This summer* is the nearest. The end of the year, told of in June, was last year's.
* *Since* starts with the thing, *after* behind it, *before* ends in front of it; *until*, *by*,
  *between* and *from … to* include their end. *Around* adds a margin that grows with the thing.
* *Early*, *mid* and *late* are thirds, and so are beginning, middle and end.
* *The week before Easter* is seven days, *the two weeks before Easter* are fourteen, *two weeks
  before Easter* is the calendar week of that day.
* Quarters are those of the calendar: *Q3*, *last quarter*. *Two weeks from today* and *a week
  from Monday* are days. A long time word with one wrong letter is read (*saterday*).
* Christmas is 24 to 26 December, Easter Friday to Monday, New Year 31 December and 1 January;
  *on*, *since*, *before* and *after* mean the main day. See ``holidays`` for the rest.
* *About* and *of* blur a time, or make it a topic, except after a verb or noun of telling:
  *talk about last week* and *a summary of last week* are last week.
* An event is known by the day named behind it (*the night before the party last Friday*). A
  time beside one that is not known (*two days before the school fair*), a blurred one (*shortly
  after Easter*, *a week or so ago*) and one only compared with (*than last year*) are not read;
  nor is a part picked in words that are not (*the last bank holiday in April*), and no year by a
  feast's name alone (*last year's Christmas market*).
* A question that is nothing but a name (*Easter*, *the 90s*) is that time; *May* is somebody.
* ``03/05/2024`` is not read: the month may be either. ``01.03.2024`` is the first of March.
* Questions for a time ("when did we move?") hold none, and neither do habits ("every Monday").

A span that reaches into the future has a certainty below 0.9: what was said about next Friday
was said before it, so the span may prefer memories but not exclude any.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import counted, dates, names, neighbours, parts, relative
from .anchors import Anchor
from .clauses import clauses_of
from .reading import Sentence, starters
from .settling import settle
from .tense import is_past_reference
from .words import tokens_of

__all__ = ["Anchor", "Timespan", "find_timespan", "is_past_reference"]

MAX_FUTURE_CERTAINTY = 0.85
READERS = (counted, dates, names, neighbours, parts, relative)
"""Importing them registers what they read."""

_STARTERS = starters() - {"a", "an"}
_FIGURES = frozenset("0123456789'’")


@dataclass(frozen=True, slots=True)
class Timespan:
    """The stretch of time a question speaks of.

    Args:
        start: Where it begins, in the household's zone; None is open.
        end: Where it has ended (half-open); None is open.
        certainty: In [0, 1]; from 0.9 on it may be used as a filter.
        matched: The characters of the question that said so, as (start, end).
    """

    start: dt.datetime | None
    end: dt.datetime | None
    certainty: float
    matched: tuple[tuple[int, int], ...]


def find_timespan(
    question: str,
    *,
    now: dt.datetime,
    country: str = "US",
    hemisphere: Literal["north", "south"] = "north",
    anchors: Sequence[Anchor] = (),
) -> Timespan | None:
    """Find the time a question speaks of.

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
    if not anchors and not any(t.word in _STARTERS or t.word[0] in _FIGURES for t in tokens):
        return None
    sentence = Sentence(tokens, now, country, anchors, south=hemisphere == "south")
    try:
        clauses = clauses_of(sentence)
        found = settle(sentence, clauses) if clauses else None
        if found is None or found.interval is None:
            return None
        start, end = (_aware(edge, now) for edge in found.interval)
    except (ValueError, OverflowError):
        # A date past the calendar's end: "five thousand years ago".
        return None
    if start and end and start.timestamp() >= end.timestamp():
        return None
    certainty = found.certainty
    if end is None or end > now:
        begun = start is None or start <= now
        past = begun and sentence.tense(found.first, found.last) in {"past", "none"}
        certainty = certainty if past else min(certainty, MAX_FUTURE_CERTAINTY)
    matched = tuple(
        (tokens[clause.first].start, tokens[clause.last - 1].end)
        for clause in clauses
        if found.first <= clause.first < found.last
    )
    return Timespan(start, end, certainty, matched)


def _aware(edge: dt.datetime | None, now: dt.datetime) -> dt.datetime | None:
    """Put a wall-clock time into the zone; one the clocks skip becomes the first after it."""
    if edge is None:
        return None
    return edge.replace(tzinfo=now.tzinfo).astimezone(dt.UTC).astimezone(now.tzinfo)
