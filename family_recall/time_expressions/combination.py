"""Combination: the one time that a sentence means, of all the times it names."""

from __future__ import annotations

from .intervals import DAY, Interval, OpenInterval
from .occurrences import choose, within
from .phrases import Sentence
from .prepositions import Clause

_TOPICS = frozenset(("about", "for", "of", "to"))


def combine(s: Sentence, clauses: list[Clause]) -> Clause | None:
    """Combine all times that are named; None when they disagree.

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
