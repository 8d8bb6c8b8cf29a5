"""Clauses: tokens in, every time the sentence names out, with what its preposition makes of it."""

from __future__ import annotations

from typing import NamedTuple

from family_recall.query.timespan import intervals as iv
from family_recall.query.timespan.intervals import DAY, Interval, OpenInterval
from family_recall.query.timespan.meaning import AROUND, OPENING, SIMPLE, is_time
from family_recall.query.timespan.reading import (
    Phrase,
    Sentence,
    argument_at,
    choose,
    main_day_of,
    phrase_at,
)
from family_recall.query.timespan.words import (
    DASHES,
    RANGES,
    UNITS,
    count_of,
)


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


_HABIT = frozenset("every each per most many all any".split())
_AUXILIARIES = frozenset(
    "did didn't was were is are do does don't will would has have had can could should am".split()
)
_ASKING = frozenset("know knows knew remember tell ask say find out idea me sure recall".split())
_QUOTES = frozenset("\"“”'‘’«»")
_PLANNING = frozenset(
    "plan plans planned planning book booked schedule scheduled arrange arranged decide decided "
    "need needs buy order ordered".split()
)
_DAY_GRAINS = frozenset(("day", "weekday", "month", "year", "part", "nth", "holiday", "season"))
_PADDING_DAYS = {
    "day": 3, "part": 1, "weekday": 1, "nth": 2, "weekend": 2, "week": 7, "holiday": 7,
    "anchor": 7, "month": 15, "days": 3, "season": 30, "year": 365, "decade": 1096,
}  # fmt: skip


def clauses_of(s: Sentence) -> list[Clause]:
    """Find every time named, first one first; none overlap."""
    found: list[Clause] = []
    i, n = 0, len(s.tokens)
    while i < n:
        if s.word(i) in _HABIT:
            habit = phrase_at(s, i + 1)
            i = habit.last if habit else i + 1
            continue
        clause = _continued(s, i, found[-1]) if found else None
        clause = clause or _clause_at(s, i)
        if clause is None:
            i += 1
            continue
        quoted = s.word(clause.first - 1) in _QUOTES and s.word(clause.last) in _QUOTES
        if not quoted and clause.phrase.grain != "nothing":
            found.append(clause)
        i = max(clause.last, i + 1)
    return found


def _continued(s: Sentence, i: int, before: Clause) -> Clause | None:
    """Read *and February* behind *in January* as *in February*."""
    if before.last != i or s.word(i) not in {"and", "or"}:
        return None
    phrase = argument_at(s, i + 1)
    if phrase is None or phrase.grain != before.phrase.grain:
        return None
    clause = _simple(s, i + 1, phrase, before.preposition)
    return None if clause is None or clause.phrase.grain == "nothing" else clause


def _clause_at(s: Sentence, i: int) -> Clause | None:
    word = s.word(i)
    if word == "between":
        return _between(s, i)
    if word in {"when", "while"}:
        return _when(s, i)
    if word == "prior" and s.word(i + 1) == "to":
        return _open(s, i, i + 2, "before")
    if word == "up" and s.word(i + 1) == "to":
        return _open(s, i, i + 2, "until")
    if word in OPENING:
        return _open(s, i, i + 1, word)
    if word in AROUND:
        return _around(s, i)
    if word == "in":
        later = _in_future(s, i)
        if later:
            return later
    if word in SIMPLE:
        phrase = argument_at(s, i + 1)
        if phrase is None:
            return None
        return _from_to(s, i, phrase) or _simple(s, i, phrase, word)
    phrase = argument_at(s, i, anchored=False)
    return (_from_to(s, i, phrase) or _simple(s, i, phrase, "")) if phrase else None


def _closed(i: int, preposition: str, phrase: Phrase) -> Clause:
    fixed = OpenInterval(*phrase.fixed) if phrase.fixed else None
    return Clause(i, phrase.last, preposition, phrase, fixed, phrase.certainty)


def _simple(s: Sentence, i: int, phrase: Phrase, preposition: str) -> Clause | None:
    if phrase.bare and not is_time(s, i, phrase, preposition):
        # What is read and not meant is stepped over: no part of it is read again.
        return _closed(i, preposition, phrase._replace(grain="nothing"))
    if preposition == "on" and phrase.main_day is not None:
        phrase = main_day_of(s, phrase) if phrase.fixed else phrase._replace(repeat=phrase.main_day)
    certainty = phrase.certainty
    if preposition in {"for", "about", "of", "to"}:
        certainty = min(certainty, 0.6)
    if preposition == "for" and phrase.grain in {"weekday", "weekend"} and not phrase.fixed:
        planned = any(t.word in _PLANNING for t in s.tokens[max(0, i - 8) : i])
        if planned:
            phrase = choose(s, phrase, tense="future")
    return _closed(i, preposition, phrase._replace(certainty=certainty))


def _open(s: Sentence, i: int, j: int, side: str) -> Clause | None:
    phrase = argument_at(s, j)
    if phrase is None or phrase.grain == "nothing":
        return _closed(i, side, phrase) if phrase else None
    either = s.word(i - 1) == "or" and s.word(i - 2) in OPENING
    if either or (phrase.bare and not is_time(s, i, phrase, side)) or _asks_how_long(s, i, side):
        return _closed(i, side, phrase._replace(grain="nothing"))
    tense = s.tense(phrase.first, phrase.last)
    if side in {"by", "until", "till", "til"} and tense not in {"past", "none"}:
        tense = "future"
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
    return Clause(i, phrase.last, side, phrase, interval, min(certainty, phrase.certainty))


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


def _around(s: Sentence, i: int) -> Clause | None:
    phrase = argument_at(s, i + 1)
    if phrase is None:
        return None
    if phrase.bare and not is_time(s, i, phrase, "around"):
        return _closed(i, "around", phrase._replace(grain="nothing"))
    phrase = choose(s, phrase)
    if phrase.fixed is None or phrase.grain not in _PADDING_DAYS:
        return _closed(i, "around", phrase)
    margin = _PADDING_DAYS[phrase.grain] * DAY
    interval = OpenInterval(phrase.fixed.start - margin, phrase.fixed.end + margin)
    return Clause(i, phrase.last, "around", phrase, interval, min(phrase.certainty, 0.7))


def _between(s: Sentence, i: int) -> Clause | None:
    first = argument_at(s, i + 1)
    if first is None:
        return None
    if s.word(first.last) != "and":
        # "between 3 and 5 May" is one phrase already.
        return _simple(s, i, first, "between")
    second = argument_at(s, first.last + 1)
    return _range(s, i, first, second) if second else None


def _from_to(s: Sentence, i: int, first: Phrase) -> Clause | None:
    """Read *from March to May*, *Monday to Wednesday*, *from last Friday on*."""
    word = s.word(first.last)
    said_from = s.word(i) == "from"
    if said_from and word in {"on", "onwards", "onward", "forward"}:
        if word == "on" and not s.ends_at(first.last + 1):
            return None
        clause = _open(s, i, i + 1, "since")
        return clause._replace(last=first.last + 1) if clause else None
    if word not in RANGES or first.grain not in _DAY_GRAINS | {"anchor"}:
        return None
    second = argument_at(s, first.last + 1, anchored=said_from)
    if second is None or not (said_from or second.grain == first.grain):
        return None
    if not said_from and word not in DASHES and s.word(i) not in {"in", "on"}:
        return None
    return _range(s, i, first, second)


def _range(s: Sentence, i: int, first: Phrase, second: Phrase) -> Clause | None:
    """Join two times; the one that comes round again is taken beside the other."""
    if "nothing" in {first.grain, second.grain} or "time" in {first.grain, second.grain}:
        return None
    for one in (first, second):
        article = one.article and one.grain in {"month", "holiday", "weekday"}
        if one.bare and (article or s.at(one.first).possessive):
            return None
    tense = s.tense(first.first, second.last)
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
    if last == i + 3 and s.tense(i, last) != "future":
        return None
    if not s.ends_at(last):
        return None
    phrase = Phrase(i, last, name, iv.unit(s.now, name, count), certainty=0.8)
    return _closed(i, "in", phrase)


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
    return _closed(i, s.word(i), choose(s, phrase))
