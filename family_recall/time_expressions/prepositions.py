"""Prepositions: *since*, *around* or *in* and a time in, what they make of it together out."""

from __future__ import annotations

from typing import NamedTuple

from . import intervals as iv
from .intervals import DAY, OpenInterval
from .meaning import OPENING, is_all, is_plain, is_time
from .reading import (
    Phrase,
    Sentence,
    argument_at,
    choose,
    main_day_of,
)
from .words import UNITS

_PLANNING = frozenset(
    "plan plans planned planning book booked schedule scheduled arrange arranged decide decided "
    "need needs buy order ordered forecast".split()
)
_DUE = _PLANNING | {"must", "should", "due", "ought"}
_VAGUELY = frozenset("about around roughly approximately".split())

_PADDING_DAYS = {
    "day": 3, "part": 1, "weekday": 1, "nth": 2, "weekend": 2, "week": 7, "holiday": 7,
    "anchor": 7, "month": 15, "days": 3, "season": 30, "quarter": 30, "decade": 1096,
    "year": 365,
}  # fmt: skip


class Clause(NamedTuple):
    """A time with its preposition, on the tokens ``[first, last)``.

    ``phrase`` still comes round again when ``interval`` is None.
    """

    first: int
    last: int
    preposition: str
    phrase: Phrase
    interval: OpenInterval | None
    certainty: float


def closed(i: int, preposition: str, phrase: Phrase) -> Clause:
    """Make a clause of what the preposition adds nothing to."""
    fixed = OpenInterval(*phrase.fixed) if phrase.fixed else None
    return Clause(i, phrase.last, preposition, phrase, fixed, phrase.certainty)


def simple(s: Sentence, i: int, phrase: Phrase, preposition: str) -> Clause | None:
    """Read *in March*, *on Christmas*; what is named but no time becomes nothing."""
    if phrase.bare and not is_time(s, i, phrase, preposition):
        # What is read and not meant is stepped over: no part of it is read again.
        return closed(i, preposition, phrase._replace(grain="nothing"))
    if preposition == "on" and phrase.main_day is not None:
        phrase = main_day_of(s, phrase) if phrase.fixed else phrase._replace(repeat=phrase.main_day)
    if is_plain(s, i):
        return closed(phrase.first, preposition, phrase)
    certainty = phrase.certainty
    if not preposition and is_all(s, phrase):
        certainty = min(certainty, 0.85)
    if preposition in {"for", "about", "of", "to"}:
        certainty = min(certainty, 0.6)
    if preposition == "for" and not phrase.fixed:
        tense = s.tense(phrase.first, phrase.last)
        planned = tense == "none" or any(t.word in _PLANNING for t in s.tokens[max(0, i - 8) : i])
        soon = phrase.grain in {"weekday", "weekend"}
        if planned and (soon or tense not in {"past", "none"}):
            phrase = choose(s, phrase, tense="future")
    return closed(i, preposition, phrase._replace(certainty=certainty))


def opened(s: Sentence, i: int, j: int, side: str) -> Clause | None:
    """Read *since March*, *until last week*: a time with one open end."""
    vague = s.word(j) in _VAGUELY
    phrase = argument_at(s, j + vague)
    if phrase is None or phrase.grain in {"nothing", "doubt"}:
        return closed(i, side, phrase) if phrase else None
    either = s.word(i - 1) in {"or", "and"} and s.word(i - 2) in OPENING
    if either or (phrase.bare and not is_time(s, i, phrase, side)) or _asks_how_long(s, i, side):
        return closed(i, side, phrase._replace(grain="nothing"))
    tense = s.tense(phrase.first, phrase.last)
    if side in {"by", "until", "till", "til"} and tense != "past":
        tense = "future"
    if side == "before" and tense == "present" and any(t.word in _DUE for t in s.tokens[:i]):
        tense = "future"
    if side == "since" and s.word(i) == "since":
        tense = "past"
    if phrase.main_day is not None and side in {"since", "before", "after"}:
        phrase = main_day_of(s, phrase)
    phrase = choose(s, phrase, tense=tense)
    if phrase.fixed is None:
        return None
    start, end = phrase.fixed
    interval = {
        "since": OpenInterval(start, None),
        "before": OpenInterval(None, start),
        "after": OpenInterval(end, None),
    }.get(side, OpenInterval(None, end))
    certainty = phrase.certainty if side in {"since", "before", "after"} else 0.85
    certainty = 0.6 if vague else certainty
    return Clause(i, phrase.last, side, phrase, interval, min(certainty, phrase.certainty))


def around(s: Sentence, i: int) -> Clause | None:
    """Read *around Easter*: a time and a margin that grows with it."""
    phrase = argument_at(s, i + 1)
    if phrase is None:
        return None
    if phrase.bare and not is_time(s, i, phrase, "around"):
        return closed(i, "around", phrase._replace(grain="nothing"))
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
    """*How many days until Christmas* asks for a length, and names no time."""
    asked = [t.word for t in s.tokens[max(0, i - 8) : i]]
    if "how" not in asked:
        return False
    rest = asked[asked.index("how") + 1 :]
    if rest[:1] == ["long"]:
        return side != "after" and "did" not in rest
    return (
        rest[:1] == ["many"]
        and len(rest) > 1
        and rest[1] in {*UNITS, "sleeps", "nights"}
        and (side in {"until", "till", "til", "before"})
    )
