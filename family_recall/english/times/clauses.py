"""Clauses: every time that a sentence names, each with its preposition."""

from __future__ import annotations

import functools
from collections.abc import Callable

from family_recall.english.lexicon import DASHES, RANGES, UNITS
from family_recall.english.tokens import count_of

from . import ambiguity
from . import calendar as iv
from .calendar import DAY, Interval, OpenInterval
from .phrases import Phrase, Sentence, choose
from .prepositions import Clause, around, closed, opened, simple
from .readers import argument_at, phrase_at, readers_of
from .time_or_name import AROUND, OPENING, SIMPLE

_HABIT = frozenset("every each per most many all any".split())
_AUXILIARIES = frozenset(
    "did didn't was were is are do does don't will would has have had can could should am".split()
)
_ASKING = frozenset("know knows knew remember tell ask say find out idea me sure recall".split())
_QUOTES = frozenset("\"“”'‘’«»")
_RANGE_GRAINS = frozenset(
    "day weekday month year part nth holiday season quarter weekend week anchor".split()
)
_VISITING = frozenset("came come coming comes stop stopped drop dropped swing swung went".split())
"""*Came by the day after* and *dropped by Monday* are visits, not deadlines."""

_WHOLE = frozenset("all any most many".split())
_JOINING = frozenset(("and", "or"))


def clauses_of(s: Sentence) -> list[Clause]:
    """Find every time named, in order; none overlap. One that is unclear makes the list empty."""
    clauses: list[Clause] = []
    held = False
    i = 0
    while i < len(s.tokens):
        word = s.tokens[i].word
        if word in _HABIT or not (may_open(word) or word in _JOINING):
            i = _after_habit(s, i) if word in _HABIT else i + 1
            continue
        read_to = clauses[-1].last if clauses else 0
        clause = _continued(s, i, clauses[-1]) if clauses else None
        if clause and clause.interval and clauses[-1].interval is None:
            earlier = _just_before(clauses[-1], clause)
            if earlier is None:
                return []
            clauses[-1] = earlier
        clause = clause or _clause_at(s, i, read_to)
        if clause is None:
            i += 1
            continue
        if _is_unclear(s, clause, read_to):
            if s.statement:
                i = max(clause.last, i + 1)
                continue
            return []
        if clause.phrase.grain == "nothing":
            held = held or ambiguity.is_held(s, clause.phrase.first, clause.last)
        elif not (s.word(clause.first - 1) in _QUOTES and s.word(clause.last) in _QUOTES):
            clauses.append(clause)
        i = max(clause.last, i + 1)
    return [] if held and all(clause.phrase.grain == "year" for clause in clauses) else clauses


@functools.lru_cache(maxsize=4096)
def may_open(word: str) -> bool:
    """Whether a clause, or what is said to repeat, may begin with a word."""
    opening = word in OPENING or word in _CLAUSES or word in SIMPLE or word in _HABIT
    return opening or word == "the" or bool(readers_of(word))


def _after_habit(s: Sentence, i: int) -> int:
    """Return the token after *every Monday*; *all last week* is a time, after *all*."""
    habit = phrase_at(s, i + 1)
    if habit is None or (s.word(i) in _WHOLE and habit.fixed):
        return i + 1
    return habit.last


def _is_unclear(s: Sentence, clause: Clause, read_to: int) -> bool:
    """Whether words beside a clause make of it a time that only the speaker knows."""
    nothing = clause.phrase.grain == "nothing"
    return (
        clause.phrase.grain == "unclear"
        or ambiguity.is_compared(s, clause.first, clause.last)
        or ambiguity.is_picked(s, clause.first)
        or (not clause.interval and not nothing and ambiguity.is_some_time(s, clause.first))
        or ambiguity.depends_on_event(s, read_to, clause.first)
        or (ambiguity.is_joined(s, clause.last) and _continued(s, clause.last, clause) is None)
    )


def _continued(s: Sentence, i: int, before: Clause) -> Clause | None:
    """Read *and February* behind *in January* as *in February*."""
    if before.last != i or s.word(i) not in _JOINING:
        return None
    phrase = argument_at(s, i + 1)
    if phrase is None or phrase.grain != before.phrase.grain:
        return None
    clause = simple(s, i + 1, phrase, before.preposition)
    return clause if clause.phrase.grain != "nothing" else None


def _just_before(clause: Clause, other: Clause) -> Clause | None:
    """Fix *March* in *March and April 2023*: the one that the other follows at once."""
    if clause.phrase.repeat is None or other.phrase.fixed is None:
        return None
    start = other.phrase.fixed.start
    occurrence = iv.latest_over(clause.phrase.repeat, start)
    if occurrence is None or occurrence.end != start:
        return None
    phrase = clause.phrase._replace(fixed=occurrence)
    return clause._replace(phrase=phrase, interval=OpenInterval(*occurrence))


def _clause_at(s: Sentence, i: int, read_to: int) -> Clause | None:
    word = s.word(i)
    if word in OPENING:
        return _opening(s, i, read_to)
    read = _CLAUSES.get(word)
    if read:
        return read(s, i)
    if word not in SIMPLE or (word == "to" and s.word(i - 1) == "up"):
        phrase = argument_at(s, i, anchored=False)
        return (_from_to(s, i, phrase) or simple(s, i, phrase, "")) if phrase else None
    in_future = _in_future(s, i) if word == "in" else None
    if in_future:
        return in_future
    phrase = argument_at(s, i + 1)
    return (_from_to(s, i, phrase) or simple(s, i, phrase, word)) if phrase else None


def _opening(s: Sentence, i: int, read_to: int) -> Clause | None:
    """Read *since March*; *shortly before March* is unclear."""
    side = s.word(i)
    if side == "by" and s.word(i - 1) in _VISITING:
        return None
    clause = opened(s, i, i + 1, side)
    if clause and side in {"before", "after"}:
        led = ambiguity.is_led(s, i, read_to, clause.phrase.grain)
        return clause._replace(phrase=clause.phrase._replace(grain="unclear")) if led else clause
    return clause


def _up_to(s: Sentence, i: int) -> Clause | None:
    """Read *up to 2020*, *up to and including 2020* and *prior to 2020*."""
    if s.word(i + 1) != "to":
        return None
    if s.word(i) == "prior":
        return opened(s, i, i + 2, "before")
    if s.reads(i + 2, "and", "including"):
        return opened(s, i, i + 4, "until")
    return None if ambiguity.is_doing(s, i) else opened(s, i, i + 2, "until")


def _between(s: Sentence, i: int) -> Clause | None:
    first = argument_at(s, i + 1)
    if first is None or s.word(first.last) != "and":
        # "between 3 and 5 May" is one phrase already.
        return simple(s, i, first, "between") if first else None
    second = argument_at(s, first.last + 1)
    return _range(s, i, first, second) if second else None


def _from_to(s: Sentence, i: int, first: Phrase) -> Clause | None:
    """Read *from March to May*, *Monday to Wednesday*, *from last Friday on*."""
    word, before = s.word(first.last), s.word(i)
    is_from = before == "from"
    if is_from and word in {"on", "onwards", "onward", "forward"}:
        ends = word != "on" or s.ends_at(first.last + 1)
        clause = opened(s, i, i + 1, "since") if ends else None
        return clause._replace(last=first.last + 1) if clause else None
    if word not in RANGES or first.grain not in _RANGE_GRAINS:
        return None
    second = argument_at(s, first.last + 1, anchored=is_from)
    if second is None or not (is_from or second.grain == first.grain):
        return None
    dated = first.grain == "month" and second.fixed is not None
    days = (first.grain in {"weekday", "day"} or dated) and before not in SIMPLE
    joins = is_from or days or word in DASHES or before in {"in", "on"}
    return _range(s, i, first, second) if joins else None


def _range(s: Sentence, i: int, first: Phrase, second: Phrase) -> Clause | None:
    """Join two times; one that repeats is chosen by the other."""
    if _is_no_edge(s, first) or _is_no_edge(s, second):
        return None
    tense = s.tense(first.first, second.last)
    if first.grain == "nth" and second.grain == "day":
        second = choose(s, second, tense=tense)
    if first.fixed is None and second.fixed is not None and first.repeat:
        first = first._replace(fixed=iv.latest_begun(first.repeat, second.fixed.start))
    first = choose(s, first, tense=tense)
    if first.fixed is None:
        return None
    if second.fixed is None and second.repeat:
        both_weekdays = first.grain == second.grain == "weekday"
        start = (first.fixed.end if both_weekdays else first.fixed.start) - DAY / 2
        second = second._replace(fixed=iv.first_after(second.repeat, start))
    if second.fixed is None or second.fixed.end <= first.fixed.start:
        return None
    whole = Interval(first.fixed.start, second.fixed.end)
    certainty = min(first.certainty, second.certainty, 0.9 if tense == "past" else 0.7)
    phrase = first._replace(last=second.last, fixed=whole, grain="days")
    return Clause(i, second.last, "between", phrase, OpenInterval(*whole), certainty)


def _is_no_edge(s: Sentence, phrase: Phrase) -> bool:
    """Whether a phrase cannot be one end of a range: *two o'clock*, *the March*, *March's*."""
    article = phrase.article and phrase.grain in {"month", "holiday", "weekday"}
    name = phrase.bare and (article or s.at(phrase.first).possessive)
    return name or phrase.grain in {"nothing", "unclear", "time"}


def _in_future(s: Sentence, i: int) -> Clause | None:
    """Read *in two weeks* where the tense looks ahead; else it is how long something takes."""
    count = 1 if s.word(i + 1) in {"a", "an"} else count_of(s.word(i + 1))
    name = UNITS.get(s.word(i + 2))
    if count is None or name is None or name in {"minute", "hour", "decade"}:
        return None
    last = i + 3 + (s.word(i + 3) == "time")
    alone = i == 0 and not s.word(last)
    ahead = last > i + 3 or alone or s.tense(i, last) == "future"
    phrase = Phrase(i, last, name, iv.unit(s.now, name, count), certainty=0.8)
    return closed(i, "in", phrase) if ahead and s.ends_at(last) else None


def _when(s: Sentence, i: int) -> Clause | None:
    """Read *when Arjun was born* by the household's anchors; "when did we move?" holds no time."""
    asks = s.word(i) == "when" and (
        s.at(i).possessive
        or s.word(i + 1) in _AUXILIARIES
        or not _ASKING.isdisjoint(s.words_before(i, 2))
    )
    phrase = None if asks or not s.anchors else phrase_at(s, i + 1, anchored=True)
    anchored = phrase is not None and phrase.grain == "anchor"
    return closed(i, s.word(i), choose(s, phrase)) if phrase and anchored else None


_CLAUSES: dict[str, Callable[[Sentence, int], Clause | None]] = {
    "between": _between,
    "when": _when,
    "while": _when,
    "prior": _up_to,
    "up": _up_to,
    **dict.fromkeys(AROUND, around),
}
