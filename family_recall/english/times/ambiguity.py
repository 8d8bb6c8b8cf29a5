"""Ambiguity: words beside a time that make another time of it, one that nobody can know.

Words that were not read decide: *shortly before* it, *and April* behind it, *than* in front of
it. No answer is then better than a wrong one.
"""

from __future__ import annotations

import itertools

from family_recall.english.lexicon import (
    COUNTS,
    ORDINALS,
    OWNERS,
    PARTS,
    SEASONS,
    UNITS,
    WEEKDAYS,
)
from family_recall.english.tokens import singular_of as singular

from .calendar import HOLIDAY_WORDS
from .phrases import Sentence
from .readers import phrase_at

GATHERINGS = frozenset(
    "party market markets season shopping fair concert play parade service lunch dinner breakfast "
    "brunch meal".split()
)
"""Events that are held for a holiday, on its day or on some other one."""

_CONTRASTS = frozenset("than not unlike except excluding besides versus vs".split())
_VAGUE_ENDINGS = frozenset("so thereabouts earlier later before after".split())
_SHARES = frozenset("as rest half remainder".split())
_LEADING = frozenset(
    "just right shortly soon long straight immediately directly well sometime weekend".split()
)
_PICKING = frozenset(("last", "next", "final", "penultimate", *ORDINALS))
_BREAKS = frozenset("holiday holidays break vacation half term".split())
_SCHOOL_BREAKS = SEASONS.keys() | set("half - school easter christmas autumn".split())
_OPENING = frozenset(("since", "until", "till", "til"))
_SUBJECTS = frozenset("i we you he she they".split())
_LEADING_TIMES = UNITS.keys() | PARTS.keys() | WEEKDAYS.keys()
_REPEATED = WEEKDAYS.keys() | PARTS.keys() | SEASONS.keys() | {"weekday", "weekend"}


def is_joined(s: Sentence, i: int) -> bool:
    """Whether *and* adds half a time to the one before: *the end of March and April*."""
    if s.word(i) not in {"and", "or"}:
        return False
    other = phrase_at(s, i + 1)
    if other is None or not other.bare or other.article:
        return False
    return other.grain == "year" or s.ends_at(other.last)


def is_compared(s: Sentence, first: int, last: int) -> bool:
    """Whether the time is one that is not meant (*than last year*) or is blurred (*or so*)."""
    return (
        s.word(first - 1) in _CONTRASTS
        or "compared" in {s.word(first - 1), s.word(first - 2)}
        or (s.word(last) == "or" and s.word(last + 1) in _VAGUE_ENDINGS)
        or s.word(last) in {"week", "weekend", "fortnight"}
        or (s.word(first) == "of" and s.word(first - 1) in _SHARES)
        or _specifies_weekend(s, first)
    )


def _specifies_weekend(s: Sentence, i: int) -> bool:
    """Whether *in May* says which *long weekend* is meant."""
    plain = s.word(i - 2) in {"the", "a", "one", "some", "which", "what", "that", "any"}
    return s.word(i) in {"in", "of"} and s.word(i - 1) in {"week", "weekend"} and not plain


def is_picked(s: Sentence, first: int) -> bool:
    """Whether words that were not read pick a part of the time: *the last bank holiday in May*.

    So do *halfway through May*, *week 20 of 2025* and *on Mondays in May*.
    """
    lead, before, earlier = (s.word(first - n) for n in (1, 2, 3))
    if lead in {"way", "halfway"} or (lead.isdigit() and before == "week"):
        return True
    if s.word(first) not in {"in", "of", "during", "last"}:
        return False
    if s.word(first) == "of" and lead in UNITS and "within" in {before, earlier}:
        return True
    if lead != singular(lead) and singular(lead) in _REPEATED:
        return True
    return lead in _BREAKS and (
        before in _SCHOOL_BREAKS or not _PICKING.isdisjoint({before, earlier})
    )


def is_some_time(s: Sentence, first: int) -> bool:
    """Whether *the last time it snowed* leaves open of which year *in March* is."""
    unread = _unread_before(s, first, 9)
    return any(a in _PICKING and b == "time" for b, a in itertools.pairwise(unread))


def depends_on_event(s: Sentence, first: int, last: int) -> bool:
    """Whether a *since* that was not read leads to the time: *since we spoke on Monday*."""
    unread = _unread_before(s, last, min(7, last - first))
    return not _OPENING.isdisjoint(unread)


def _unread_before(s: Sentence, i: int, reach: int) -> list[str]:
    """Return the words before a token, nearest first, back to a sign."""
    before = reversed(s.words_before(i, reach))
    return list(itertools.takewhile(str.isalnum, before))


def is_held(s: Sentence, first: int, last: int) -> bool:
    """Whether a name only says what *the Christmas market* or *the summer holidays* are for."""
    what = {s.word(last), s.word(last - 1)}
    if s.word(first) in SEASONS:
        return not _BREAKS.isdisjoint(what)
    return s.word(first) in HOLIDAY_WORDS and not what.isdisjoint(GATHERINGS | _BREAKS)


def is_led(s: Sentence, i: int, read_to: int, grain: str) -> bool:
    """Whether *before* belongs to words that make another time of it: *a day or two before*.

    So do *shortly before* and *at the party before*.
    """
    lead = s.word(i - 1)
    if i <= read_to:
        return False
    if lead in _LEADING or lead in COUNTS or singular(lead) in _LEADING_TIMES:
        return True
    return (
        lead.isalpha()
        and grain not in {"year", "decade", "anchor"}
        and s.word(i - 2) in OWNERS | {"the", "a", "an"}
        and s.word(i - 3) in {"at", "in", "on", "during", "over"}
    )


def is_doing(s: Sentence, i: int) -> bool:
    """Whether *up to* is what somebody does (*what were we up to*), or only *the run-up to*."""
    if s.word(i - 1) in {"run", "leading", "coming", "-", "been", "get", "got"}:
        return True
    before = s.words_before(i, 6)
    somebody = s.word(i - 1) in _SUBJECTS or s.at(i - 1).capitalised
    return "what" in before and (somebody or "were" in before or "are" in before)
