"""The future without a date: *what's coming up*, *upcoming*, *our next trip*."""

from __future__ import annotations

from collections.abc import Callable

from family_recall.english.lexicon import UNITS

from . import calendar as iv
from .calendar import OpenInterval
from .phrases import Sentence

_NOT_AFTER_NEXT = frozenset(
    "to door of time day kin neighbour neighbours neighbor neighbors step steps size one ones "
    "level chapter episode and or but then please in on at with".split()
)
_ASKING = frozenset("when whens what whats which".split())
_WHAT_OR_ANY = frozenset("what which any anything all there whats".split())
_WHAT = frozenset("what anything something".split())


def ahead_in(s: Sentence, taken: frozenset[int]) -> tuple[int, int, float] | None:
    """Find words for what is still to come, outside the tokens already read.

    Returns:
        The tokens ``[first, last)`` that say so, and how surely; None where there are none.
    """
    if _READERS.keys().isdisjoint(s.words):
        return None
    for i, token in enumerate(s.tokens):
        read = None if i in taken else _READERS.get(token.word)
        certainty = read(s, i) if read else 0.0
        if certainty:
            return i, i + 1 + (token.word == "coming"), certainty
    return None


def _coming(s: Sentence, i: int) -> float:
    return 0.85 if s.word(i + 1) == "up" else 0.0


def _ahead(s: Sentence, i: int) -> float:
    """Read *what's ahead* and *upcoming birthdays*, but not *ahead of* or *the go ahead*."""
    other = s.word(i + 1) in {"of", "with"} or s.word(i - 1) in {"go", "went", "going", "gone"}
    # "For my upcoming trip" tells of the trip, and asks about something else.
    asked = i == 0 or not _WHAT_OR_ANY.isdisjoint(s.words_before(i, 3))
    return 0.8 if asked and not other else 0.0


def _listed(s: Sentence, i: int) -> float:
    """Read *on the calendar* and *in my diary*."""
    return 0.8 if s.word(i - 2) in {"on", "in"} and s.tense(i, i + 1) != "past" else 0.0


def _planned(s: Sentence, i: int) -> float:
    """Read *what do we have planned*."""
    at_end = not s.word(i + 1).isalpha()
    return 0.8 if at_end and not _WHAT.isdisjoint(s.words_before(i, 5)) else 0.0


def _next(s: Sentence, i: int) -> float:
    """Read *when's my next appointment*, *when do we see Grandma next* and *what's next*."""
    following = s.word(i + 1)
    if _ASKING.isdisjoint(s.words_before(i, 10)) or s.tense(i, i + 1) == "past":
        return 0.0
    return 0.0 if following in _NOT_AFTER_NEXT or following in UNITS else 0.6


_READERS: dict[str, Callable[[Sentence, int], float]] = {
    "coming": _coming,
    **dict.fromkeys(("ahead", "upcoming"), _ahead),
    **dict.fromkeys(("calendar", "agenda", "diary", "schedule", "planner"), _listed),
    **dict.fromkeys(("planned", "booked", "scheduled", "arranged"), _planned),
    "next": _next,
}


def from_today(s: Sentence, within: OpenInterval | None) -> OpenInterval | None:
    """Return what is left, from today on, of a time named beside it; all to come for none."""
    today = iv.midnight(s.now)
    if within is None:
        return OpenInterval(today, None)
    start = today if within.start is None else max(within.start, today)
    if within.end is not None and within.end <= start:
        return None
    return OpenInterval(start, within.end)
