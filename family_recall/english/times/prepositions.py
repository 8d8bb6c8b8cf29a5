"""What a preposition makes of a time: *since March*, *around Easter*, *in May*, *up to 2020*."""

from __future__ import annotations

from typing import NamedTuple

from family_recall.english.lexicon import UNITS

from . import calendar as iv
from .calendar import DAY, OpenInterval
from .phrases import Phrase, Sentence, choose, main_day_of
from .readers import argument_at
from .tense import Tense
from .time_or_name import OPENING, is_plain, is_time, is_whole_question

_PLANNING = frozenset(
    "plan plans planned planning book booked schedule scheduled arrange arranged decide decided "
    "need needs buy order ordered forecast".split()
)
_DUE = _PLANNING | {"must", "should", "due", "ought"}
_VAGUELY = frozenset("about around roughly approximately".split())
_DEADLINES = frozenset(("by", "until", "till", "til"))
_UNTIL = _DEADLINES | {"before"}

_PADDING_DAYS = {
    "day": 3, "part": 1, "weekday": 1, "nth": 2, "weekend": 2, "week": 7, "holiday": 7,
    "anchor": 7, "month": 15, "days": 3, "season": 30, "quarter": 30, "decade": 1096,
    "year": 365,
}  # fmt: skip


class Clause(NamedTuple):
    """A time with its preposition, on the tokens ``[first, last)``.

    ``phrase`` still repeats when ``interval`` is None.
    """

    first: int
    last: int
    preposition: str
    phrase: Phrase
    interval: OpenInterval | None
    certainty: float


def closed(i: int, preposition: str, phrase: Phrase) -> Clause:
    """Return the clause of a time that the preposition does not change."""
    interval = OpenInterval(*phrase.fixed) if phrase.fixed else None
    return Clause(i, phrase.last, preposition, phrase, interval, phrase.certainty)


def _not_meant(i: int, preposition: str, phrase: Phrase) -> Clause:
    """Return a clause that is stepped over: no part of it is read again."""
    return closed(i, preposition, phrase._replace(grain="nothing"))


def simple(s: Sentence, i: int, phrase: Phrase, preposition: str) -> Clause:
    """Read *in March*, *on Christmas*; a name that is no time is stepped over."""
    if phrase.bare and not is_time(s, i, phrase, preposition):
        return _not_meant(i, preposition, phrase)
    if preposition == "on" and phrase.main_day is not None:
        phrase = main_day_of(s, phrase) if phrase.fixed else phrase._replace(repeat=phrase.main_day)
    if is_plain(s, i):
        return closed(phrase.first, preposition, phrase)
    certainty = phrase.certainty
    if not preposition and is_whole_question(s, phrase):
        certainty = min(certainty, 0.85)
    if preposition in {"for", "about", "of", "to"}:
        certainty = min(certainty, 0.6)
    if preposition == "for" and not phrase.fixed and _is_planned_for(s, i, phrase):
        phrase = choose(s, phrase, tense="future")
    return closed(i, preposition, phrase._replace(certainty=certainty))


def _is_planned_for(s: Sentence, i: int, phrase: Phrase) -> bool:
    """Whether *for Friday* is the coming one: *what is planned for Friday*."""
    tense = s.tense(phrase.first, phrase.last)
    if tense != "none" and _PLANNING.isdisjoint(s.words_before(i, 8)):
        return False
    return phrase.grain in {"weekday", "weekend"} or tense not in {"past", "none"}


def opened(s: Sentence, i: int, j: int, side: str) -> Clause | None:
    """Read *since March*, *until last week*: a time with one open end."""
    vague = s.word(j) in _VAGUELY
    phrase = argument_at(s, j + vague)
    if phrase is None:
        return None
    if phrase.grain in {"nothing", "unclear"}:
        return closed(i, side, phrase)
    either = s.reads(i - 2, OPENING, {"or", "and"})
    if either or (phrase.bare and not is_time(s, i, phrase, side)) or _asks_how_long(s, i, side):
        return _not_meant(i, side, phrase)
    tense = _tense_of_side(s, i, phrase, side)
    if phrase.main_day is not None and side in {"since", "before", "after"}:
        phrase = main_day_of(s, phrase)
    phrase = choose(s, phrase, tense=tense)
    if phrase.fixed is None:
        return None
    start, end = phrase.fixed
    if side == "since":
        interval = OpenInterval(start, None)
    elif side == "after":
        interval = OpenInterval(end, None)
    else:
        interval = OpenInterval(None, start if side == "before" else end)
    certainty = 0.6 if vague else 0.85 if side in _DEADLINES else 1.0
    return Clause(i, phrase.last, side, phrase, interval, min(certainty, phrase.certainty))


def _tense_of_side(s: Sentence, i: int, phrase: Phrase, side: str) -> Tense:
    """Return the tense for *since Friday* (past), *by Friday* (future) or *before Friday*."""
    tense = s.tense(phrase.first, phrase.last)
    if s.word(i) == "since":
        return "past"
    if side in _DEADLINES and tense != "past":
        return "future"
    due = side == "before" and tense == "present" and any(t.word in _DUE for t in s.tokens[:i])
    return "future" if due else tense


def around(s: Sentence, i: int) -> Clause | None:
    """Read *around Easter*: a time and a margin that grows with it."""
    phrase = argument_at(s, i + 1)
    if phrase is None:
        return None
    if phrase.bare and not is_time(s, i, phrase, "around"):
        return _not_meant(i, "around", phrase)
    phrase = choose(s, phrase)
    if phrase.fixed is None or phrase.grain not in _PADDING_DAYS:
        return closed(i, "around", phrase)
    start, end = phrase.fixed
    if phrase.grain == "year":
        interval = OpenInterval(iv.add_months(start, -12), iv.add_months(end, 12))
    else:
        margin = _PADDING_DAYS[phrase.grain] * DAY
        interval = OpenInterval(start - margin, end + margin)
    return Clause(i, phrase.last, "around", phrase, interval, min(phrase.certainty, 0.7))


def _asks_how_long(s: Sentence, i: int, side: str) -> bool:
    """Whether the question is for a length: *how many days until Christmas*."""
    before = s.words_before(i, 8)
    if "how" not in before:
        return False
    asked = before[before.index("how") + 1 :]
    if asked[:1] == ["long"]:
        return side != "after" and "did" not in asked
    many_units = asked[:1] == ["many"] and asked[1:2] and asked[1] in {*UNITS, "sleeps", "nights"}
    return bool(many_units) and side in _UNTIL - {"by"}
