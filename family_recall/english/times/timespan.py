"""The stretch of local time that a question is about, and the times that a statement mentions."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from family_recall.english.lexicon import UNITS
from family_recall.english.tokens import MAX_SCANNED_CHARS, Token, tokens_of

from . import adjacent, dates, relative  # noqa: F401  (they register what they read)
from . import calendar as cal
from .calendar import DAY, OPEN_END, OPEN_START, Interval
from .clauses import clauses_of
from .clock import Hours, hours_in, narrowed, other_half
from .grammar import STARTS
from .sentence import SOON, Anchor, Phrase, Sentence, choose, within

MAX_FUTURE_CERTAINTY = 0.85
"""Memories about next Friday were written before it: such a span may not exclude any."""

LESS_LIKELY = 0.6
"""How surely a statement means the other half of the day, as a share of the likelier one."""

EITHER = 0.5
"""How surely *who is away in March* asks about the last one, rather than the coming one."""

OPEN = 0.7
"""The same of a weekday without a verb."""

MAX_SENTENCES = 60
MAX_MENTIONS = 16
"""Times that are kept of one statement at most, the first ones."""

LONGEST_MENTION = dt.timedelta(days=366)
"""A longer stretch, such as *the nineties*, is no time at which something is to be found."""

_EITHER = frozenset("day days month season holiday".split())
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+|\n+")
_TOPICS = frozenset(("about", "for", "of", "to"))
_NOT_AFTER_NEXT = UNITS.keys() | frozenset(
    "to door of time kin neighbour neighbours neighbor neighbors step steps size one ones level "
    "chapter episode and or but then please in on at with".split()
)
_WHAT = frozenset("what anything something".split())
_WHAT_OR_ANY = frozenset("what which any anything all there whats".split())
_ASKING = frozenset("when whens what whats which".split())


@dataclass(frozen=True, slots=True)
class Timespan:
    """The stretch of time that a question is about.

    Args:
        start: Where it begins, in the household's zone; None is open.
        end: Where it has ended (half-open); None is open.
        certainty: In [0, 1]; from 0.9 on it may be used as a filter.
        matched: The characters of the question that name it, as (start, end).
        other: Another stretch that may be meant: the coming one of that name, where the tense
            leaves it open (*who is away in March?*), or the other half of the day (*at 7:30*).
    """

    start: dt.datetime | None
    end: dt.datetime | None
    certainty: float
    matched: tuple[tuple[int, int], ...]
    other: tuple[dt.datetime, dt.datetime] | None = None


class Mention(NamedTuple):
    """A stretch of time that a statement mentions, half-open, and how surely in [0, 1]."""

    start: dt.datetime
    end: dt.datetime
    certainty: float


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
    if not anchors and not any(map(_may_begin, tokens)):
        return None
    sentence = Sentence(tokens, now, country, anchors, hemisphere == "south")
    try:
        meant = _meant(sentence, clauses_of(sentence))
        if meant is None:
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
        past = begun and sentence.tense(*meant.tokens[0]) in {"past", "none"}
        certainty = certainty if past else min(certainty, MAX_FUTURE_CERTAINTY)
    matched = tuple((tokens[first].start, tokens[last - 1].end) for first, last in meant.tokens)
    other = None
    if meant.other is not None:
        coming, over = (_in_zone(edge, now) for edge in meant.other)
        other = (coming, over) if coming is not None and over is not None else None
    return Timespan(start, end, certainty, matched, other)


def times_mentioned(
    text: str,
    *,
    said_at: dt.datetime,
    country: str = "US",
    hemisphere: Literal["north", "south"] = "north",
    coming: bool = False,
) -> tuple[Mention, ...]:
    """Find the times that a statement mentions, each once, in the order they are named.

    A question is about one time, and a statement may mention several. Where its verb does not
    look back a statement looks ahead: *dentist Thursday* is the coming one. The day on which it
    was said is left out: it is known from that moment. So are times with an open end, and longer
    ones than a year.

    Args:
        text: Any text; its first few thousand characters are read.
        said_at: When it was said, in the household's zone.
        country: ISO 3166 code.
        hemisphere: Which half of the year is summer.
        coming: Whether the text names a moment that lies ahead: the day itself is kept, and a
            Friday or *Friday at six* that has begun is the next one.

    Raises:
        ValueError: If ``said_at`` has no zone.
    """
    if said_at.tzinfo is None:
        raise ValueError(f"said_at must carry the household's zone, got {said_at.isoformat()}")
    midnight = said_at.replace(hour=0, minute=0, second=0, microsecond=0)
    mentions: dict[tuple[dt.datetime, dt.datetime], float] = {}
    for sentence in _SENTENCE_END.split(text[:MAX_SCANNED_CHARS])[:MAX_SENTENCES]:
        tokens = tokens_of(sentence)
        if not any(map(_may_begin, tokens)):
            continue
        statement = Sentence(tokens, said_at, country, (), hemisphere == "south", statement=True)
        found = _mentions_in(statement)
        if coming and all(start <= said_at for start, _, _ in found):
            found = _mentions_in(replace(statement, coming=True))
        for start, end, certainty in found:
            that_day = start >= midnight and end <= midnight + dt.timedelta(days=1, hours=5)
            that_day = that_day and not coming
            if dt.timedelta() < end - start <= LONGEST_MENTION and not that_day:
                mentions[start, end] = max(certainty, mentions.get((start, end), 0.0))
    return tuple(Mention(*edges, certainty) for edges, certainty in mentions.items())[:MAX_MENTIONS]


def _mentions_in(s: Sentence) -> list[Mention]:
    """Return the one time that a sentence means, or each that it names."""
    try:
        clauses = clauses_of(s)
        meant = _meant(s, clauses)
        intervals = [(meant.interval, meant.certainty)] if meant else []
        if meant and meant.other:
            intervals.append((meant.other, LESS_LIKELY * meant.certainty))
        for clause in [] if meant else clauses:
            phrase = choose(s, clause)
            if phrase.fixed and phrase.grain != "daily":  # "in the morning" is every morning
                intervals.append((phrase.fixed, phrase.certainty))
        zoned = [
            (_in_zone(start, s.moment), _in_zone(end, s.moment), certainty)
            for (start, end), certainty in intervals
        ]
    except (ValueError, OverflowError):
        return []
    return [Mention(start, end, certainty) for start, end, certainty in zoned if start and end]


class _Meant(NamedTuple):
    """The time that a sentence is about, and the tokens ``[first, last)`` that say so.

    Without tokens it names none. ``other`` may be meant as well.
    """

    interval: Interval = Interval(OPEN_START, OPEN_END)
    certainty: float = 1.0
    tokens: tuple[tuple[int, int], ...] = ()
    other: Interval | None = None

    def narrowed(
        self,
        interval: Interval,
        certainty: float,
        first: int,
        last: int,
        other: Interval | None = None,
    ) -> _Meant:
        """Return a part of it that more tokens name."""
        tokens = tuple(sorted((*self.tokens, (first, last))))
        return _Meant(interval, min(certainty, self.certainty), tokens, other)


def _may_begin(token: Token) -> bool:
    """Whether a time may begin with a word: most sentences hold none."""
    return token.word in _BEGINNINGS or token.word[0] in "0123456789'’"


def _meant(s: Sentence, clauses: list[Phrase]) -> _Meant | None:
    """Return the days that a sentence names, narrowed by the hours or by what is still to come.

    ``clauses`` are all its clauses.
    """
    days = _Meant()
    combined = _combined(s, clauses) if clauses else None
    if combined is not None and combined.fixed is not None:
        inside = [clause for clause in clauses if combined.begin <= clause.begin < combined.last]
        tokens = tuple((clause.begin, clause.last) for clause in inside)
        days = _Meant(combined.fixed, combined.certainty, tokens)
        if len(inside) == 1 and not s.statement:
            days = _with_other(s, inside[0], days)
    elif clauses:
        return None
    taken = frozenset(i for first, last in days.tokens for i in range(first, last))
    hours = hours_in(s, taken)
    if hours is not None and (days.tokens or _stands_alone(s, hours)):
        interval = days.interval if days.tokens else None
        part = narrowed(s, hours, interval)
        if part:
            other = other_half(hours, interval)
            days = days.narrowed(*part, hours.first, hours.last, other)
    else:
        days = _with_ahead(s, taken, days)
    return days if days.tokens else None


def _with_other(s: Sentence, clause: Phrase, days: _Meant) -> _Meant:
    """Add the coming stretch of a name, where the tense leaves open which is meant.

    *Who is away in March*, where *who was* and *who will be* say which; *swimming on Thursday*.
    """
    repeat, tense = clause.repeat, s.tense(clause.first, clause.last)
    either = clause.grain in _EITHER and clause.preposition != "from" and tense == "present"
    no_verb = clause.grain in SOON and clause.preposition in {"", "on", "at"} and tense == "none"
    if clause.fixed or repeat is None or not (either or no_verb) or days.interval.end > s.now:
        return days
    coming = cal.first_not_over(repeat, s.now)
    if coming is None:
        return days
    certainty = min(days.certainty, EITHER if either else OPEN)
    return days._replace(certainty=certainty, other=coming)


def _stands_alone(s: Sentence, hours: Hours) -> bool:
    """Whether hours without a day are a time, as in *what happened after 9*."""
    at_end = not any(word[0].isalnum() for word in s.words[hours.last :])
    if hours.side not in {"after", "between"} or not at_end:
        return False
    looks_back = s.tense(hours.first, hours.last) in {"past", "none"}
    return looks_back and not _names_a_time(s, hours.first, hours.last)


def _names_a_time(s: Sentence, first: int, last: int) -> bool:
    """Whether words outside some tokens belong to times, although none was understood."""
    return not _STARTERS.isdisjoint((*s.words[:first], *s.words[last:]))


def _with_ahead(s: Sentence, taken: frozenset[int], days: _Meant) -> _Meant:
    """Return what is left, from today on, of the days, where the sentence asks what is to come."""
    asking = ((i, _ahead(s, i)) for i in range(len(s.words)) if i not in taken)
    first, certainty = next((each for each in asking if each[1]), (0, 0.0))
    last = first + 1 + (s.word(first) == "coming")
    left = Interval(max(days.interval.start, cal.midnight(s.now)), days.interval.end)
    unclear = not days.tokens and _names_a_time(s, first, last)
    if not certainty or unclear or left.end <= left.start:
        return days
    return days.narrowed(left, 1.0 if days.tokens else certainty, first, last)


def _ahead(s: Sentence, i: int) -> float:
    """Return how surely the word at a token asks for what is still to come."""
    word, after, before = s.words[i], s.word(i + 1), s.words_before(i, 5)
    if word == "coming":
        return 0.85 if after == "up" else 0.0
    if word in {"ahead", "upcoming"}:
        other = after in {"of", "with"} or s.word(i - 1) in {"go", "went", "going", "gone"}
        # "For my upcoming trip" tells of the trip, and asks about something else.
        asked = i == 0 or not _WHAT_OR_ANY.isdisjoint(before[-3:])
        return 0.8 if asked and not other else 0.0
    if word in {"calendar", "agenda", "diary", "schedule", "planner"}:
        return 0.8 if s.word(i - 2) in {"on", "in"} and s.tense(i, i + 1) != "past" else 0.0
    if word in {"planned", "booked", "scheduled", "arranged"}:
        return 0.8 if not after.isalpha() and not _WHAT.isdisjoint(before) else 0.0
    if word == "next":  # "when's my next appointment", "what's next"
        asked = not _ASKING.isdisjoint(s.words_before(i, 10)) and s.tense(i, i + 1) != "past"
        return 0.6 if asked and after not in _NOT_AFTER_NEXT else 0.0
    return 0.0


_STARTERS = STARTS.keys() - {"a", "an", "time", "0"}
_BEGINNINGS = _STARTERS | set(
    "noon midday midnight ago coming ahead upcoming calendar agenda diary schedule planner planned "
    "booked scheduled arranged next".split()
)


def _combined(s: Sentence, clauses: list[Phrase]) -> Phrase | None:
    """Return the one time that is meant by all that are named; None when they disagree.

    A time that repeats is taken from the frame named elsewhere ("on Christmas Eve … last
    year"). Of two times one inside the other the smaller is meant, and two joined by *and* are
    one stretch. A topic ("about Saturday") yields to the time of the event.
    """
    frames = [
        clause.fixed
        for clause in clauses
        if clause.fixed and clause.fixed.start > OPEN_START and clause.fixed.end < OPEN_END
    ]
    fixed = [
        clause if clause.fixed else _fixed(s, clause, frames)
        for clause in clauses
        if clause.grain != "daily"
    ]
    if any(clause.fixed is None for clause in fixed):
        return None
    fixed = [clause for clause in fixed if clause.preposition not in _TOPICS] or fixed
    combined = fixed[0] if fixed else None
    for clause in fixed[1:]:
        combined = _intersection(s, combined, clause) if combined else None
    return combined


def _fixed(s: Sentence, clause: Phrase, frames: list[Interval]) -> Phrase:
    """Fix a time that repeats, by the frames or else by the tense."""
    inside = next((inside for frame in frames if (inside := within(clause, frame))), None)
    return clause._replace(fixed=inside) if inside else choose(s, clause)


def _intersection(s: Sentence, clause: Phrase, other: Phrase) -> Phrase | None:
    """Return the smaller of two times, or both as one stretch if *and* joins them."""
    a, b = clause.fixed, other.fixed
    if a is None or b is None:
        return None
    certainty = min(clause.certainty, other.certainty)
    starts, ends = sorted((a.start, b.start)), sorted((a.end, b.end))
    is_open = starts[0] == OPEN_START or ends[1] == OPEN_END
    both = Interval(starts[1], ends[0])
    if both.start < both.end:
        if is_open or both in (a, b):
            return clause._replace(last=other.last, fixed=both, certainty=certainty)
        return None
    joined = other.begin == clause.last + 1 and s.word(clause.last) in {"and", "or"}
    if joined and not is_open and both.start - both.end < DAY:
        hull = Interval(starts[0], ends[1])
        return clause._replace(last=other.last, fixed=hull, certainty=min(certainty, 0.7))
    return None


def _in_zone(edge: dt.datetime, now: dt.datetime) -> dt.datetime | None:
    """Put a wall-clock time into the zone; one the clocks skip becomes the first after it.

    An open end is None.
    """
    if edge in {OPEN_START, OPEN_END}:
        return None
    return edge.replace(tzinfo=now.tzinfo).astimezone(dt.UTC).astimezone(now.tzinfo)
