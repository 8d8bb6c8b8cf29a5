"""The times that a statement mentions: *the dentist is on Thursday the 19th at eleven*.

A question is about one time, and a statement may tell several, one sentence after the other. Where
its verb does not look back a statement looks ahead: *dentist Thursday* is the coming one.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Literal, NamedTuple

from family_recall.english.tokens import MAX_SCANNED_CHARS, tokens_of

from .clauses import clauses_of
from .phrases import Sentence, choose
from .prepositions import Clause
from .timespan import find_meant, in_zone, may_begin

MAX_SENTENCES = 60
MAX_MENTIONS = 16
"""Times that are kept of one statement at most, the first ones."""

LONGEST = dt.timedelta(days=366)
"""A longer stretch, such as *the nineties*, is no time at which something is to be found."""

_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+|\n+")


class Mention(NamedTuple):
    """A stretch of time that a statement mentions, half-open, and how surely in [0, 1]."""

    start: dt.datetime
    end: dt.datetime
    certainty: float


def times_mentioned(
    text: str,
    *,
    said_at: dt.datetime,
    country: str = "US",
    hemisphere: Literal["north", "south"] = "north",
) -> tuple[Mention, ...]:
    """Find the times that a statement mentions, each once, in the order they are named.

    The day on which it was said is left out: it is known from that moment. So are times with an
    open end, and longer ones than a year.

    Args:
        text: Any text; its first few thousand characters are read.
        said_at: When it was said, in the household's zone.
        country: ISO 3166 code.
        hemisphere: Which half of the year is summer.

    Raises:
        ValueError: If ``said_at`` has no zone.
    """
    if said_at.tzinfo is None:
        raise ValueError(f"said_at must carry the household's zone, got {said_at.isoformat()}")
    mentions: dict[tuple[dt.datetime, dt.datetime], float] = {}
    for sentence in _SENTENCE_END.split(text[:MAX_SCANNED_CHARS])[:MAX_SENTENCES]:
        tokens = tokens_of(sentence)
        if not any(map(may_begin, tokens)):
            continue
        statement = Sentence(tokens, said_at, country, (), hemisphere == "south", statement=True)
        for mention in _mentions_in(statement):
            if not _is_that_day(mention, said_at):
                key = mention.start, mention.end
                mentions[key] = max(mention.certainty, mentions.get(key, 0.0))
    found = [Mention(start, end, certainty) for (start, end), certainty in mentions.items()]
    return tuple(found[:MAX_MENTIONS])


def _mentions_in(s: Sentence) -> list[Mention]:
    """Return the one time that a sentence means, or each that it names."""
    try:
        clauses = clauses_of(s)
        meant = find_meant(s, clauses)
        if meant is not None:
            intervals = [(*meant.interval, meant.certainty)]
        else:
            intervals = [interval for clause in clauses if (interval := _of_clause(s, clause))]
        zoned = [
            (in_zone(start, s.moment), in_zone(end, s.moment), certainty)
            for start, end, certainty in intervals
        ]
    except (ValueError, OverflowError):
        return []
    return [
        Mention(start, end, certainty)
        for start, end, certainty in zoned
        if start and end and dt.timedelta() < end - start <= LONGEST
    ]


def _of_clause(
    s: Sentence, clause: Clause
) -> tuple[dt.datetime | None, dt.datetime | None, float] | None:
    """Return the time of one clause by itself; None for *in the morning*."""
    if clause.phrase.grain == "daily":
        return None
    if clause.interval is not None:
        return (*clause.interval, clause.certainty)
    phrase = choose(s, clause.phrase)
    if phrase.fixed is None:
        return None
    return (*phrase.fixed, min(clause.certainty, phrase.certainty))


def _is_that_day(mention: Mention, said_at: dt.datetime) -> bool:
    midnight = said_at.replace(hour=0, minute=0, second=0, microsecond=0)
    return mention.start >= midnight and mention.end <= midnight + dt.timedelta(days=1, hours=5)
