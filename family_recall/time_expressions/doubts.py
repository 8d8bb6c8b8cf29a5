"""Doubts: a time and its neighbours in, whether they make of it another time out.

What nobody read and what touches a time decides: *shortly before* it, *and April* behind it, *than*
in front of it. Silence is then the better answer.
"""

from __future__ import annotations

from .holidays import FIRST_WORDS
from .reading import Sentence, phrase_at
from .words import (
    COUNTS,
    GATHERINGS,
    ORDINALS,
    OWNERS,
    PARTS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    singular_of,
)

_CONTRASTS = frozenset("than not unlike except excluding besides versus vs".split())
_BLURS = frozenset(
    ("or", word) for word in ("so", "thereabouts", "earlier", "later", "before", "after")
)
_SHARES = frozenset("as rest half remainder".split())
_LEADS = frozenset(
    "just right shortly soon long straight immediately directly well sometime weekend".split()
)
_PICKING = frozenset(("last", "next", "final", "penultimate", *ORDINALS))
_STRETCHES = frozenset("holiday holidays break vacation half term".split())
_SCHOOLS = SEASONS.keys() | set("half - school easter christmas autumn".split())
_SUBJECTS = frozenset("i we you he she they".split())


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
    after = (s.word(last), s.word(last + 1))
    return (
        s.word(first - 1) in _CONTRASTS
        or "compared" in {s.word(first - 1), s.word(first - 2)}
        or after in _BLURS
        or after[0] in {"week", "weekend", "fortnight"}
        or _is_named_weekend(s, first)
        or (s.word(first) == "of" and s.word(first - 1) in _SHARES)
    )


def _is_named_weekend(s: Sentence, i: int) -> bool:
    """Whether *in May* tells which *long weekend* is meant."""
    plain = s.word(i - 2) in {"the", "a", "one", "some", "which", "what", "that", "any"}
    return s.word(i) in {"in", "of"} and s.word(i - 1) in {"week", "weekend"} and not plain


def is_picked(s: Sentence, first: int) -> bool:
    """Whether what nobody read picks a part of the time: *the last bank holiday in May*.

    So do *halfway through May*, *week 20 of 2025* and *on Mondays in May*.
    """
    lead, before = s.word(first - 1), s.word(first - 2)
    if lead in {"way", "halfway"} or (lead.isdigit() and before == "week"):
        return True
    if s.word(first) not in {"in", "of", "during", "last"}:
        return False
    if lead in _STRETCHES and before in _SCHOOLS:
        return True
    if s.word(first) == "of" and lead in UNITS and "within" in {before, s.word(first - 3)}:
        return True
    one = singular_of(lead)
    if lead != one and (
        one in WEEKDAYS or one in PARTS or one in SEASONS or one in {"weekday", "weekend"}
    ):
        return True
    picked = {before, s.word(first - 3)} & _PICKING
    return lead in _STRETCHES and bool(picked)


def is_some_time(s: Sentence, first: int) -> bool:
    """Whether *the last time it snowed* leaves open of which year *in March* is."""
    for i in range(first - 1, max(0, first - 9), -1):
        if not s.word(i).isalnum():
            return False
        if s.word(i) == "time" and s.word(i - 1) in _PICKING:
            return True
    return False


def is_held(s: Sentence, first: int, last: int) -> bool:
    """Whether a name only tells what *the Christmas market* or *the summer holidays* are for."""
    what = {s.word(last), s.word(last - 1)}
    if s.word(first) in SEASONS:
        return not _STRETCHES.isdisjoint(what)
    return s.word(first) in FIRST_WORDS and not what.isdisjoint(GATHERINGS | _STRETCHES)


def hangs_on_an_event(s: Sentence, first: int, last: int) -> bool:
    """Whether a *since* nobody read leads to the time: *since we spoke on Monday*."""
    for i in range(last - 1, max(first, last - 7) - 1, -1):
        if not s.word(i).isalnum():
            return False
        if s.word(i) in {"since", "until", "till", "til"}:
            return True
    return False


def is_led(s: Sentence, i: int, read_to: int, grain: str) -> bool:
    """Whether *before* belongs to words that make another time of it: *a day or two before*.

    So do *shortly before* and *at the party before*.
    """
    lead = s.word(i - 1)
    if i <= read_to:
        return False
    one = singular_of(lead)
    if lead in _LEADS or lead in UNITS or lead in COUNTS or one in PARTS or one in WEEKDAYS:
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
    before = [t.word for t in s.tokens[max(0, i - 6) : i]]
    somebody = s.word(i - 1) in _SUBJECTS or s.at(i - 1).capitalised
    return "what" in before and (somebody or "were" in before or "are" in before)
