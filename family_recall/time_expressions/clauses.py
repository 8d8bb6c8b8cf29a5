"""Clauses: tokens in, every time the sentence names out, with what its preposition makes of it."""

from __future__ import annotations

from . import intervals as iv
from .doubts import (
    hangs_on_an_event,
    is_compared,
    is_doing,
    is_held,
    is_joined,
    is_led,
    is_picked,
    is_some_time,
)
from .intervals import DAY, Interval, OpenInterval
from .meaning import AROUND, OPENING, SIMPLE
from .prepositions import Clause, around, closed, opened, simple
from .reading import (
    Phrase,
    Sentence,
    argument_at,
    choose,
    phrase_at,
)
from .words import (
    DASHES,
    RANGES,
    UNITS,
    count_of,
)

_HABIT = frozenset("every each per most many all any".split())
_AUXILIARIES = frozenset(
    "did didn't was were is are do does don't will would has have had can could should am".split()
)
_ASKING = frozenset("know knows knew remember tell ask say find out idea me sure recall".split())
_QUOTES = frozenset("\"“”'‘’«»")
_DAY_GRAINS = frozenset(
    "day weekday month year part nth holiday season quarter weekend week".split()
)
_CALLING = frozenset("came come coming comes stop stopped drop dropped swing swung went".split())
"""*Came by the day after* and *dropped by Monday* are visits, not deadlines."""

_WHOLE = frozenset("all any most many".split())


def clauses_of(s: Sentence) -> list[Clause]:
    """Find every time named, first one first; none overlap, and one that is unclear undoes all."""
    found: list[Clause] = []
    held = False
    i, n = 0, len(s.tokens)
    while i < n:
        if s.word(i) in _HABIT:
            habit = phrase_at(s, i + 1)
            if s.word(i) in _WHOLE and habit and habit.fixed:
                i += 1
                continue
            i = habit.last if habit else i + 1
            continue
        clause = _continued(s, i, found[-1]) if found else None
        if clause and clause.interval and found[-1].interval is None:
            earlier = _just_before(found[-1], clause)
            if earlier is None:
                return []
            found[-1] = earlier
        clause = clause or _clause_at(s, i, found[-1].last if found else 0)
        if clause is None:
            i += 1
            continue
        unclear = clause.phrase.grain == "doubt" or is_compared(s, clause.first, clause.last)
        unclear = unclear or is_picked(s, clause.first)
        if clause.interval is None and clause.phrase.grain != "nothing":
            unclear = unclear or is_some_time(s, clause.first)
        if clause.phrase.grain == "nothing" and is_held(s, clause.phrase.first, clause.last):
            held = True
        if unclear or hangs_on_an_event(s, found[-1].last if found else 0, clause.first):
            return []
        if is_joined(s, clause.last) and _continued(s, clause.last, clause) is None:
            return []
        quoted = s.word(clause.first - 1) in _QUOTES and s.word(clause.last) in _QUOTES
        if not quoted and clause.phrase.grain != "nothing":
            found.append(clause)
        i = max(clause.last, i + 1)
    return [] if held and all(one.phrase.grain == "year" for one in found) else found


def _continued(s: Sentence, i: int, before: Clause) -> Clause | None:
    """Read *and February* behind *in January* as *in February*."""
    if before.last != i or s.word(i) not in {"and", "or"}:
        return None
    phrase = argument_at(s, i + 1)
    if phrase is None or phrase.grain != before.phrase.grain:
        return None
    clause = simple(s, i + 1, phrase, before.preposition)
    return None if clause is None or clause.phrase.grain == "nothing" else clause


def _just_before(one: Clause, other: Clause) -> Clause | None:
    """Fix *March* in *March and April 2023*: the one that the other follows at once."""
    if one.phrase.repeat is None or other.phrase.fixed is None:
        return None
    there = iv.latest_over(one.phrase.repeat, other.phrase.fixed.start)
    if there is None or there.end != other.phrase.fixed.start:
        return None
    phrase = one.phrase._replace(fixed=there)
    return one._replace(phrase=phrase, interval=OpenInterval(*there))


def _clause_at(s: Sentence, i: int, read_to: int) -> Clause | None:
    word = s.word(i)
    if word == "between":
        return _between(s, i)
    if word in {"when", "while"}:
        return _when(s, i)
    if word == "prior" and s.word(i + 1) == "to":
        return opened(s, i, i + 2, "before")
    if word == "up" and s.word(i + 1) == "to":
        if [s.word(i + 2), s.word(i + 3)] == ["and", "including"]:
            return opened(s, i, i + 4, "until")
        return None if is_doing(s, i) else opened(s, i, i + 2, "until")
    if word == "by" and s.word(i - 1) in _CALLING:
        return None
    if word in OPENING:
        clause = opened(s, i, i + 1, word)
        if clause and word in {"before", "after"} and is_led(s, i, read_to, clause.phrase.grain):
            return clause._replace(phrase=clause.phrase._replace(grain="doubt"))
        return clause
    if word in AROUND:
        return around(s, i)
    if word == "in":
        later = _in_future(s, i)
        if later:
            return later
    if word in SIMPLE and not (word == "to" and s.word(i - 1) == "up"):
        phrase = argument_at(s, i + 1)
        if phrase is None:
            return None
        return _from_to(s, i, phrase) or simple(s, i, phrase, word)
    phrase = argument_at(s, i, anchored=False)
    return (_from_to(s, i, phrase) or simple(s, i, phrase, "")) if phrase else None


def _between(s: Sentence, i: int) -> Clause | None:
    first = argument_at(s, i + 1)
    if first is None:
        return None
    if s.word(first.last) != "and":
        # "between 3 and 5 May" is one phrase already.
        return simple(s, i, first, "between")
    second = argument_at(s, first.last + 1)
    return _range(s, i, first, second) if second else None


def _from_to(s: Sentence, i: int, first: Phrase) -> Clause | None:
    """Read *from March to May*, *Monday to Wednesday*, *from last Friday on*."""
    word = s.word(first.last)
    said_from = s.word(i) == "from"
    if said_from and word in {"on", "onwards", "onward", "forward"}:
        if word == "on" and not s.ends_at(first.last + 1):
            return None
        clause = opened(s, i, i + 1, "since")
        return clause._replace(last=first.last + 1) if clause else None
    if word not in RANGES or first.grain not in _DAY_GRAINS | {"anchor"}:
        return None
    second = argument_at(s, first.last + 1, anchored=said_from)
    if second is None or not (said_from or second.grain == first.grain):
        return None
    dated = first.grain == "month" and second.fixed is not None
    days = (first.grain in {"weekday", "day"} or dated) and s.word(i) not in SIMPLE
    if not (said_from or days or word in DASHES or s.word(i) in {"in", "on"}):
        return None
    return _range(s, i, first, second)


def _range(s: Sentence, i: int, first: Phrase, second: Phrase) -> Clause | None:
    """Join two times; the one that comes round again is taken beside the other."""
    if not {"nothing", "doubt", "time"}.isdisjoint({first.grain, second.grain}):
        return None
    for one in (first, second):
        article = one.article and one.grain in {"month", "holiday", "weekday"}
        if one.bare and (article or s.at(one.first).possessive):
            return None
    tense = s.tense(first.first, second.last)
    if first.grain == "nth" and second.grain == "day":
        second = choose(s, second, tense=tense)
    if first.fixed is None and second.fixed is not None and first.repeat:
        before = iv.latest_begun(first.repeat, second.fixed.start)
        first = first._replace(fixed=before)
    first = choose(s, first, tense=tense)
    if first.fixed is None:
        return None
    if second.fixed is None and second.repeat:
        same = first.grain == second.grain == "weekday"
        start = first.fixed.end - DAY / 2 if same else first.fixed.start - DAY / 2
        second = second._replace(fixed=iv.first_after(second.repeat, start))
    if second.fixed is None or second.fixed.end <= first.fixed.start:
        return None
    interval = OpenInterval(first.fixed.start, second.fixed.end)
    certainty = min(first.certainty, second.certainty, 0.9 if tense == "past" else 0.7)
    phrase = first._replace(last=second.last, fixed=Interval(*_both(interval)), grain="days")
    return Clause(i, second.last, "between", phrase, interval, certainty)


def _both(interval: OpenInterval) -> Interval:
    assert interval.start is not None  # noqa: S101  (a range is closed)
    assert interval.end is not None  # noqa: S101
    return Interval(interval.start, interval.end)


def _in_future(s: Sentence, i: int) -> Clause | None:
    """Read *in two weeks* where the tense looks ahead; else it is how long something takes."""
    count = 1 if s.word(i + 1) in {"a", "an"} else count_of(s.word(i + 1))
    name = UNITS.get(s.word(i + 2))
    if count is None or name in {None, "minute", "hour", "decade"} or name is None:
        return None
    last = i + 3 + (s.word(i + 3) == "time")
    alone = i == 0 and not s.word(last)
    if last == i + 3 and s.tense(i, last) != "future" and not alone:
        return None
    if not s.ends_at(last):
        return None
    phrase = Phrase(i, last, name, iv.unit(s.now, name, count), certainty=0.8)
    return closed(i, "in", phrase)


def _when(s: Sentence, i: int) -> Clause | None:
    """Read *when Arjun was born* by the household's anchors; a question for a time holds none."""
    asked = s.word(i) == "when" and (
        s.at(i).possessive
        or s.word(i + 1) in _AUXILIARIES
        or any(t.word in _ASKING for t in s.tokens[max(0, i - 2) : i])
    )
    if asked or not s.anchors:
        return None
    phrase = phrase_at(s, i + 1, anchored=True)
    if phrase is None or phrase.grain != "anchor":
        return None
    return closed(i, s.word(i), choose(s, phrase))
