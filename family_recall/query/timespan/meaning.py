"""Meaning: whether *May*, *Sunday* or *summer* stands for a time here, or for a name."""

from __future__ import annotations

from collections.abc import Callable

from family_recall.query.timespan.reading import Phrase, Sentence
from family_recall.query.timespan.words import FOLLOWERS, GIVEN_NAMES, OWNERS, UNITS

OPENING = frozenset("since before after until till til by".split())
SIMPLE = frozenset("in on at over during throughout for from of about within through to".split())
AROUND = frozenset(("around", "circa", "roughly"))

_MARKERS = OPENING | SIMPLE | AROUND | {"between"}
_ON = OPENING | AROUND | {"on", "between"}
_MONTH_MARKERS = _MARKERS - {"on", "at", "about", "within", "to"}
_YEAR_MARKERS = (_MONTH_MARKERS | {"back"}) - AROUND | {"around"}
_DECADE_MARKERS = OPENING | AROUND | frozenset("in during from of throughout".split())
_MEDIA = frozenset("photo photos picture pictures pics video videos bill bills receipts".split())
_COMPOUNDS = frozenset(
    "camp camps coat coats jacket boots tyres tires school dress dresses house job jobs olympics "
    "break cleaning roll rolls onion onions water party bike bag roast".split()
)
_NAMING = OWNERS | frozenset("a an is for watch play named".split())


def is_time(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    """Whether a bare phrase stands for a time, given its preposition at token ``i``."""
    judge = _JUDGES.get(phrase.grain)
    return judge is not None and judge(s, i, phrase, preposition)


def _month(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    first, follows = s.at(phrase.first), s.at(phrase.last)
    if first.possessive or phrase.article or preposition not in _MONTH_MARKERS:
        return False
    if first.word in GIVEN_NAMES:
        if preposition in OPENING:
            return s.ends_at(phrase.last)
        if preposition == "from":
            return s.word(i - 1) in _MEDIA and s.ends_at(phrase.last)
        named = follows.capitalised and follows.word not in FOLLOWERS
        return preposition not in {"for", "of"} and not named
    if preposition == "of" and s.word(i - 1) not in {*UNITS, "rest"}:
        return False
    march = first.word == "march" and not first.raw[:1].isupper()
    return not (march and preposition in {"for", "of", "from", "through", "over"})


def _year(s: Sentence, _i: int, phrase: Phrase, preposition: str) -> bool:
    plain = not phrase.article and not s.at(phrase.first).possessive
    return plain and preposition in _YEAR_MARKERS and s.ends_at(phrase.last)


def _decade(_s: Sentence, _i: int, _phrase: Phrase, preposition: str) -> bool:
    return preposition in _DECADE_MARKERS


def _season(s: Sentence, _i: int, phrase: Phrase, preposition: str) -> bool:
    first, ends = s.at(phrase.first + phrase.article), s.ends_at(phrase.last)
    if preposition not in _MARKERS or s.word(phrase.last) in _COMPOUNDS:
        return False
    if phrase.article:
        return ends or preposition in {"in", "over", "during"}
    if first.possessive or first.word == "fall":
        return False
    return ends and preposition in {"in", "during"}


def _weekday(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    if phrase.article:
        return False
    first, follows = s.at(phrase.first), s.at(phrase.last)
    ends = s.ends_at(phrase.last)
    if preposition in _ON:
        return ends or preposition == "on" or follows.raw[:1].islower()
    if preposition in {"from", "for"}:
        return ends and not first.possessive
    if preposition or not ends or i == 0 or first.word in {"sat", "wed"}:
        return False
    # An American "who called Monday?": only a clear past tense says that it is no name.
    before = s.at(i - 1)
    named = before.word in _NAMING or (before.capitalised and before.word != "i")
    return not named and s.tense(phrase.first, phrase.last) == "past"


def _weekend(s: Sentence, _i: int, phrase: Phrase, preposition: str) -> bool:
    return phrase.article and preposition in _MARKERS and s.word(phrase.last) not in _COMPOUNDS


def _holiday(s: Sentence, _i: int, phrase: Phrase, preposition: str) -> bool:
    if phrase.article or preposition not in _MARKERS - {"about", "of", "to"}:
        return False
    return s.ends_at(phrase.last) or preposition not in {"in", "from"}


def _nth(s: Sentence, _i: int, phrase: Phrase, preposition: str) -> bool:
    return phrase.article and preposition in _ON | {"from"} and s.ends_at(phrase.last)


_JUDGES: dict[str, Callable[[Sentence, int, Phrase, str], bool]] = {
    "month": _month,
    "year": _year,
    "decade": _decade,
    "season": _season,
    "weekday": _weekday,
    "weekend": _weekend,
    "holiday": _holiday,
    "nth": _nth,
}
