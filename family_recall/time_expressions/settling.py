"""Settling: every time a sentence names in, the one that is meant out."""

from __future__ import annotations

from .intervals import DAY, Interval, OpenInterval
from .prepositions import Clause
from .reading import Sentence, choose, within


def settle(s: Sentence, clauses: list[Clause]) -> Clause | None:
    """Make one time of all that are named; None when they disagree.

    What comes round again is taken from the frame named elsewhere ("on Christmas Eve … last
    year"), of two times one inside the other the smaller is meant, two joined by *and* are
    one stretch, and what is only talked about ("about Saturday") yields to when.
    """
    framed = [c for c in clauses if c.interval and c.phrase.fixed and c.interval[0] is not None]
    settled: list[Clause] = []
    for clause in clauses:
        one = clause
        if clause.interval is None:
            for frame in framed:
                closed = frame.interval
                if closed is None or closed.start is None or closed.end is None:
                    continue
                inside = within(clause.phrase, Interval(closed.start, closed.end))
                if inside:
                    one = clause._replace(interval=OpenInterval(*inside))
                    break
            else:
                phrase = choose(s, clause.phrase)
                if phrase.fixed is None:
                    return None
                certainty = min(clause.certainty, phrase.certainty)
                one = clause._replace(
                    phrase=phrase, interval=OpenInterval(*phrase.fixed), certainty=certainty
                )
        if one.phrase.grain != "daily":
            settled.append(one)
    topics = {"about", "for", "of", "to"}
    if len(settled) > 1 and any(c.preposition not in topics for c in settled):
        settled = [c for c in settled if c.preposition not in topics]
    if not settled:
        return None
    result = settled[0]
    for other in settled[1:]:
        joined = _joined(s, result, other)
        if joined is None:
            return None
        result = joined
    return result


def _joined(s: Sentence, one: Clause, other: Clause) -> Clause | None:
    a, b = one.interval, other.interval
    if a is None or b is None:
        return None
    certainty = min(one.certainty, other.certainty)
    starts = [x.start for x in (a, b) if x.start is not None]
    ends = [x.end for x in (a, b) if x.end is not None]
    low, high = max(starts, default=None), min(ends, default=None)
    both = OpenInterval(low, high)
    if low is None or high is None or low < high:
        is_open = len(starts) < 2 or len(ends) < 2
        if is_open or both in (a, b):
            return one._replace(last=other.last, interval=both, certainty=certainty)
        return None
    beside = other.first == one.last + 1 and s.word(one.last) in {"and", "or"}
    if beside and len(starts) == len(ends) == 2 and max(starts) - min(ends) < DAY:
        hull = OpenInterval(min(starts), max(ends))
        return one._replace(last=other.last, interval=hull, certainty=min(certainty, 0.7))
    return None
