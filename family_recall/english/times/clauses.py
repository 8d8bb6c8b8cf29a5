"""Clauses: every time that a sentence names, with what *since*, *around* or *in* make of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from family_recall.english.lexicon import DASHES, RANGES

from . import calendar as cal
from . import context
from .calendar import DAY, OPEN_END, OPEN_START, Interval
from .context import AROUND, OPENING, SIMPLE
from .grammar import argument_at, phrase_at, starts_with
from .relative import length_at, units_ahead
from .sentence import Phrase, Sentence, choose, main_day_of
from .tense import Tense

_HABIT = frozenset("every each per most many all any".split())
_AUXILIARIES = frozenset(
    "did didn't was were is are do does don't will would has have had can could should am".split()
)
_ASKING = frozenset("know knows knew remember tell ask say find out idea me sure recall".split())
_VISITING = frozenset("came come coming comes stop stopped drop dropped swing swung went".split())
"""*Came by the day after* and *dropped by Monday* are visits, not deadlines."""

_FILLING = frozenset("about around roughly like just only another".split())
_MEASURED = frozenset("fast quickly much many far long often".split())
_HAVE = frozenset("have has i've we've you've they've".split())
_PLANNED = frozenset("got planned booked arranged scheduled due".split())
_JOINING = frozenset(("and", "or"))
_PLANNING = frozenset(
    "plan plans planned planning book booked schedule scheduled arrange arranged decide decided "
    "need needs buy order ordered forecast".split()
)
_DUE = _PLANNING | {"must", "should", "due", "ought"}
_VAGUELY = frozenset("about around roughly approximately".split())
_DEADLINES = frozenset(("by", "until", "till", "til"))
_MARGIN_DAYS = {
    "day": 3, "part": 1, "weekday": 1, "nth": 2, "weekend": 2, "week": 7, "holiday": 7,
    "anchor": 7, "month": 15, "days": 3, "season": 30, "quarter": 30, "decade": 1096,
    "year": 365,
}  # fmt: skip
"""Days that *around* adds on either side."""


def _led(phrase: Phrase, i: int, preposition: str, **changes: Any) -> Phrase:
    """Return a phrase with its preposition, which begins at token ``i``."""
    return phrase._replace(lead=phrase.first - i, preposition=preposition, **changes)


def clauses_of(s: Sentence) -> list[Phrase]:
    """Find every time named, in order; none overlap. One that is unclear makes the list empty."""
    clauses: list[Phrase] = []
    i = 0
    while i < len(s.words):
        word = s.words[i]
        if word in _HABIT:
            i = _after_habit(s, i)
            continue
        read_to = clauses[-1].last if clauses else 0
        clause = _continued(s, i, clauses[-1]) if clauses else None
        if clause and clause.fixed and clauses[-1].fixed is None:
            earlier = _just_before(clauses[-1], clause.fixed.start)
            if earlier is None:
                return []
            clauses[-1] = earlier
        clause = clause or _clause_at(s, i, read_to)
        if clause is None:
            i += 1
            continue
        i = max(clause.last, i + 1)
        if _is_unclear(s, clause, read_to):
            if s.statement:
                continue
            return []
        if clause.grain != "nothing":
            clauses.append(clause)
    return clauses


def _after_habit(s: Sentence, i: int) -> int:
    """Return the token after *every Monday*; *all last week* is a time, after *all*."""
    habit = phrase_at(s, i + 1)
    return i + 1 if habit is None or habit.fixed else habit.last


def _is_unclear(s: Sentence, clause: Phrase, read_to: int) -> bool:
    """Whether words beside a clause make of it a time that only the speaker knows."""
    grain, first, last = clause.grain, clause.begin, clause.last
    if grain == "unclear" or context.is_another(s, first, last, read_to):
        return True
    if grain != "nothing" and clause.fixed is None and context.is_some_time(s, first):
        return True
    return context.is_joined(s, last) and _continued(s, last, clause) is None


def _continued(s: Sentence, i: int, before: Phrase) -> Phrase | None:
    """Read *and February* behind *in January* as *in February*."""
    if before.last != i or s.word(i) not in _JOINING:
        return None
    phrase = argument_at(s, i + 1)
    if phrase is None or phrase.grain != before.grain:
        return None
    clause = _simple(s, i + 1, phrase, before.preposition)
    return clause if clause.grain != "nothing" else None


def _just_before(phrase: Phrase, start: dt.datetime) -> Phrase | None:
    """Fix *March* in *March and April 2023*: the one that the other follows at once."""
    occurrence = cal.latest_over(phrase.repeat, start) if phrase.repeat else None
    adjacent = occurrence is not None and occurrence.end == start
    return phrase._replace(fixed=occurrence) if adjacent else None


def _clause_at(s: Sentence, i: int, read_to: int) -> Phrase | None:
    word = s.word(i)
    if word in OPENING:
        return _opening(s, i, read_to)
    if word in _CLAUSES:
        return _CLAUSES[word](s, i)
    if word not in SIMPLE or (word == "to" and s.word(i - 1) == "up"):
        phrase = argument_at(s, i, anchored=False) if word == "the" or starts_with(word) else None
        return (_from_to(s, i, phrase) or _simple(s, i, phrase, "")) if phrase else None
    in_future = _in_future(s, i) if word in {"in", "within"} else None
    if in_future:
        return in_future
    phrase = argument_at(s, i + 1)
    return (_from_to(s, i, phrase) or _simple(s, i, phrase, word)) if phrase else None


def _simple(s: Sentence, i: int, phrase: Phrase, preposition: str) -> Phrase:
    """Read *in March*, *on Christmas*; a name that is no time is stepped over."""
    if phrase.bare and not context.is_time(s, i, phrase, preposition):
        return _led(phrase, i, preposition, grain="nothing")
    if preposition == "on" and phrase.main_day is not None:
        phrase = main_day_of(s, phrase) if phrase.fixed else phrase._replace(repeat=phrase.main_day)
    if context.is_plain(s, i):
        return phrase._replace(preposition=preposition)
    certainty = phrase.certainty
    if not preposition and context.is_whole_question(s, phrase):
        certainty = min(certainty, 0.85)
    if preposition in {"for", "about", "of", "to"}:
        certainty = min(certainty, 0.6)
    if preposition == "for" and _is_planned_for(s, i, phrase):
        phrase = choose(s, phrase, tense="future")
    return _led(phrase, i, preposition, certainty=certainty)


def _is_planned_for(s: Sentence, i: int, phrase: Phrase) -> bool:
    """Whether *for Friday* is the coming one: *what is planned for Friday*."""
    tense = s.tense(phrase.first, phrase.last)
    soon = phrase.grain in {"weekday", "weekend"} or tense not in {"past", "none"}
    return soon and (tense == "none" or not _PLANNING.isdisjoint(s.words_before(i, 8)))


def _opening(s: Sentence, i: int, read_to: int) -> Phrase | None:
    """Read *since March*; *shortly before March* is unclear."""
    side = s.word(i)
    clause = None if side == "by" and s.word(i - 1) in _VISITING else _opened(s, i, i + 1, side)
    if clause is None or side not in {"before", "after"} or i <= read_to:
        return clause
    return clause._replace(grain="unclear") if context.is_led(s, i, clause.grain) else clause


def _opened(s: Sentence, i: int, j: int, side: str) -> Phrase | None:
    """Read *since March*, *until last week*: a time with one open end."""
    vague = s.word(j) in _VAGUELY
    phrase = argument_at(s, j + vague)
    if phrase is None or phrase.grain in {"nothing", "unclear"}:
        return phrase and _led(phrase, i, side)
    either = s.reads(i - 2, OPENING, _JOINING)
    name = phrase.bare and not context.is_time(s, i, phrase, side)
    if either or name:
        return _led(phrase, i, side, grain="nothing")
    tense = _tense_of_side(s, i, phrase, side)
    if phrase.main_day is not None and side in {"since", "before", "after"}:
        phrase = main_day_of(s, phrase)
    phrase = choose(s, phrase, tense=tense)
    if phrase.fixed is None:
        return None
    start, end = phrase.fixed
    if side in {"since", "after"}:
        interval = Interval(start if side == "since" else end, OPEN_END)
    else:
        interval = Interval(OPEN_START, start if side == "before" else end)
    certainty = 0.6 if vague else 0.85 if side in _DEADLINES else 1.0
    return _led(phrase, i, side, fixed=interval, certainty=min(certainty, phrase.certainty))


def _tense_of_side(s: Sentence, i: int, phrase: Phrase, side: str) -> Tense:
    """Return the tense for *since Friday* (past), *by Friday* (future) or *before Friday*."""
    tense = s.tense(phrase.first, phrase.last)
    if s.word(i) == "since":
        return "past"
    if side in _DEADLINES and tense != "past":
        return "future"
    due = side == "before" and tense == "present" and not _DUE.isdisjoint(s.words[:i])
    return "future" if due else tense


def _around(s: Sentence, i: int) -> Phrase | None:
    """Read *around Easter*: a time and a margin that grows with it."""
    phrase = argument_at(s, i + 1)
    if phrase is None:
        return None
    if phrase.bare and not context.is_time(s, i, phrase, "around"):
        return _led(phrase, i, "around", grain="nothing")
    phrase = choose(s, phrase)
    if phrase.fixed is None or phrase.grain not in _MARGIN_DAYS:
        return _led(phrase, i, "around")
    start, end = phrase.fixed
    margin = _MARGIN_DAYS[phrase.grain] * DAY
    interval = Interval(start - margin, end + margin)
    if phrase.grain == "year":
        interval = Interval(cal.add_months(start, -12), cal.add_months(end, 12))
    return _led(phrase, i, "around", fixed=interval, certainty=min(phrase.certainty, 0.7))


def _up_to(s: Sentence, i: int) -> Phrase | None:
    """Read *up to 2020*, *up to and including 2020* and *prior to 2020*."""
    including = s.reads(i + 2, "and", "including")
    if s.word(i + 1) != "to" or (context.is_doing(s, i) and not including):
        return None
    return _opened(s, i, i + 2 + 2 * including, "before" if s.word(i) == "prior" else "until")


def _between(s: Sentence, i: int) -> Phrase | None:
    first = argument_at(s, i + 1)
    if first is None or s.word(first.last) != "and":
        # "between 3 and 5 May" is one phrase already.
        return _simple(s, i, first, "between") if first else None
    second = argument_at(s, first.last + 1)
    return _range(s, i, first, second) if second else None


def _from_to(s: Sentence, i: int, first: Phrase) -> Phrase | None:
    """Read *from March to May*, *Monday to Wednesday*, *from last Friday on*."""
    word, before = s.word(first.last), s.word(i)
    is_from = before == "from"
    if is_from and word in {"on", "onwards", "onward", "forward"}:
        ends = word != "on" or s.ends_at(first.last + 1)
        clause = _opened(s, i, i + 1, "since") if ends else None
        return clause._replace(last=first.last + 1) if clause else None
    if word not in RANGES:
        return None
    second = argument_at(s, first.last + 1, anchored=is_from)
    if second is None or not (is_from or second.grain == first.grain):
        return None
    dated = first.grain == "month" and second.fixed is not None
    days = first.grain in {"weekday", "day"} or dated
    joins = is_from or days or word in DASHES or before in {"in", "on"}
    return _range(s, i, first, second) if joins else None


def _range(s: Sentence, i: int, first: Phrase, second: Phrase) -> Phrase | None:
    """Join two times; one that repeats is chosen by the other."""
    if _is_no_edge(s, first) or _is_no_edge(s, second):
        return None
    tense = s.tense(first.first, second.last)
    if first.grain == "nth" and second.grain == "day":
        second = choose(s, second, tense=tense)
    if first.fixed is None and second.fixed is not None and first.repeat:
        first = first._replace(fixed=cal.latest_begun(first.repeat, second.fixed.start))
    first = choose(s, first, tense=tense)
    if first.fixed is None:
        return None
    if second.fixed is None and second.repeat:
        both_weekdays = first.grain == second.grain == "weekday"
        start = (first.fixed.end if both_weekdays else first.fixed.start) - DAY / 2
        second = second._replace(fixed=cal.first_after(second.repeat, start))
    if second.fixed is None or second.fixed.end <= first.fixed.start:
        return None
    whole = Interval(first.fixed.start, second.fixed.end)
    certainty = min(first.certainty, second.certainty, 0.9 if tense == "past" else 0.7)
    whole_phrase = first._replace(last=second.last, fixed=whole, grain="days", certainty=certainty)
    return _led(whole_phrase, i, "between")


def _is_no_edge(s: Sentence, phrase: Phrase) -> bool:
    """Whether a phrase cannot be one end of a range: *two o'clock*, *the March*, *March's*."""
    article = phrase.article and phrase.grain in {"month", "holiday", "weekday"}
    name = phrase.bare and (article or s.at(phrase.first).possessive)
    return name or phrase.grain in {"nothing", "unclear", "time"}


def _in_future(s: Sentence, i: int) -> Phrase | None:
    """Read *in two weeks*, *in three days' time* and *within a week* as what is to come.

    Unless the verb looks back, or the question is how much is done in that time.
    """
    read = length_at(s, i + 1 + (s.word(i + 1) in _FILLING))
    units = units_ahead(s.now, read[0]) if read else None
    if read is None or units is None or read[0].unit == "decade":
        return None
    length, last = read
    last += s.reads(last, {"'", "’"}, "time")
    in_time = s.word(last) == "time"
    last += in_time
    if not (in_time or s.ends_at(last)):
        return None
    tense = s.tense(i, last)
    alone = i == 0 and not s.word(last)
    sure = in_time or alone or tense == "future"
    if not sure and (tense == "past" or _is_how_long(s, i)):
        return None
    if not in_time and any(s.reads(at, "how", _MEASURED) for at in range(i)):
        return None  # "how fast can I learn it in ten days"
    if s.word(i) == "within":
        units = cal.Interval(cal.midnight(s.now), cal.rolling(s.now, length.unit, -length.most).end)
    return _led(Phrase(i, last, length.unit, units, certainty=0.8 if sure else 0.7), i, "in")


def _is_how_long(s: Sentence, i: int) -> bool:
    """Whether *in two weeks* at a token is how long it takes: *how much can she read in a week*.

    *What has she read in a week*, too, while *what have we got in a week* is to come.
    """
    before = s.words[:i]
    done = not _HAVE.isdisjoint(before[:2]) and _PLANNED.isdisjoint(before)
    return "how" in before or "can" in before or done


def _when(s: Sentence, i: int) -> Phrase | None:
    """Read *when Arjun was born* by the household's anchors; "when did we move?" holds no time."""
    asks = s.word(i) == "when" and (
        s.at(i).possessive
        or s.word(i + 1) in _AUXILIARIES
        or not _ASKING.isdisjoint(s.words_before(i, 2))
    )
    phrase = None if asks else phrase_at(s, i + 1, anchored=True)
    anchored = phrase is not None and phrase.grain == "anchor"
    return _led(choose(s, phrase), i, s.word(i)) if phrase and anchored else None


_CLAUSES: dict[str, Callable[[Sentence, int], Phrase | None]] = {
    "between": _between,
    "when": _when,
    "while": _when,
    "prior": _up_to,
    "up": _up_to,
    **dict.fromkeys(AROUND, _around),
}
