"""The stretch of local time that a question is about."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import before_after, counted, dates, parts_of_periods, recurring, relative
from .anchors import Anchor
from .clauses import clauses_of
from .combination import combine
from .phrases import Sentence
from .readers import starters
from .tokens import tokens_of

MAX_FUTURE_CERTAINTY = 0.85
"""Memories about next Friday were written before it: such a span may not exclude any."""

READERS = (before_after, counted, dates, parts_of_periods, recurring, relative)
"""Importing them registers what they read."""

_STARTERS = starters() - {"a", "an"}
_FIGURES = frozenset("0123456789'’")


@dataclass(frozen=True, slots=True)
class Timespan:
    """The stretch of time that a question is about.

    Args:
        start: Where it begins, in the household's zone; None is open.
        end: Where it has ended (half-open); None is open.
        certainty: In [0, 1]; from 0.9 on it may be used as a filter.
        matched: The characters of the question that name it, as (start, end).
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

    >>> zone = dt.timezone(dt.timedelta(hours=2))
    >>> now = dt.datetime(2026, 6, 17, 14, 30, tzinfo=zone)
    >>> find_timespan("What did we do last weekend?", now=now).start.isoformat()
    '2026-06-13T00:00:00+02:00'
    """
    if now.tzinfo is None:
        raise ValueError(f"now must carry the household's zone, got {now.isoformat()}")
    tokens = tokens_of(question)
    if not anchors and not any(t.word in _STARTERS or t.word[0] in _FIGURES for t in tokens):
        return None
    sentence = Sentence(tokens, now, country, anchors, south=hemisphere == "south")
    try:
        clauses = clauses_of(sentence)
        meant = combine(sentence, clauses)
        if meant is None or meant.interval is None:
            return None
        start, end = (_in_zone(edge, now) for edge in meant.interval)
    except (ValueError, OverflowError):
        # A date past the calendar's end: "five thousand years ago".
        return None
    if start and end and start.timestamp() >= end.timestamp():
        return None
    certainty = meant.certainty
    if end is None or end > now:
        begun = start is None or start <= now
        past = begun and sentence.tense(meant.first, meant.last) in {"past", "none"}
        certainty = certainty if past else min(certainty, MAX_FUTURE_CERTAINTY)
    matched = tuple(
        (tokens[clause.first].start, tokens[clause.last - 1].end)
        for clause in clauses
        if meant.first <= clause.first < meant.last
    )
    return Timespan(start, end, certainty, matched)


def _in_zone(edge: dt.datetime | None, now: dt.datetime) -> dt.datetime | None:
    """Put a wall-clock time into the zone; one the clocks skip becomes the first after it."""
    if edge is None:
        return None
    return edge.replace(tzinfo=now.tzinfo).astimezone(dt.UTC).astimezone(now.tzinfo)
