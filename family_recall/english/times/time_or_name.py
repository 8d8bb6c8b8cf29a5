"""Whether *May*, *Sunday* or *summer* is a time here, or a name or part of one."""

from __future__ import annotations

from collections.abc import Callable

from family_recall.english.lexicon import (
    CHOICES,
    COMPOUNDS,
    FOLLOWERS,
    GIVEN_NAMES,
    ORDINALS,
    OWNERS,
    UNITS,
)

from .phrases import Phrase, Sentence

TELLING = frozenset(
    "tell tells told telling hear heard know knew think thought chat chatted chatting discuss "
    "discussed remember remembered speak spoke story stories summary summaries news recap "
    "overview".split()
) | {verb + ending for verb in ("talk", "ask") for ending in ("", "s", "ed", "ing")}
OPENING = frozenset("since before after until till til by".split())
SIMPLE = frozenset("in on at over during throughout for from of about within through to".split())
AROUND = frozenset(("around", "circa", "roughly"))

_MARKERS = OPENING | SIMPLE | AROUND | {"between"}
_BEFORE_POSSESSIVE = OPENING | {"", "at", "in", "from", "of", "about", "during", "for", "on"}
_ON = OPENING | AROUND | {"on", "between"}
_MONTH_MARKERS = _MARKERS - {"on", "at", "about", "within", "to"}
_YEAR_MARKERS = (_MONTH_MARKERS | {"back"}) - AROUND | {"around"}
_DECADE_MARKERS = OPENING | AROUND | frozenset("in during from of throughout".split())
_MEDIA = frozenset("photo photos picture pictures pics video videos bill bills receipts".split())
_OF_BOOKS = frozenset(
    "copy copies version versions edition class think thinks thought made make say says hear heard "
    "book novel film movie album fan".split()
)
"""What *1984* is a title behind: *the copy of 1984*, *what we thought of 1984*."""

_PARTS_OF_BOOKS = frozenset(
    "page pages chapter chapters plot character characters scene scenes ending quote quotes".split()
)
_WATCHED = frozenset("watched directed saw read starred made wrote liked loved in".split())
_RELATIVE = frozenset("i we you he she they it my our his her their that when".split())
_PICKING = frozenset((*CHOICES, *ORDINALS, *"that same other following some one another".split()))
"""Words that pick one out of many, and were not read together with it."""
_ALONE = frozenset("month year decade season holiday nth quarter".split())
_NAMING = OWNERS | frozenset("a an is for watch play named".split())


def is_plain(s: Sentence, i: int) -> bool:
    """Whether *about* or *of* at a token belongs to *talk about* or *summary of*."""
    return (
        s.word(i) in {"about", "of"}
        and s.word(i - 1) != "about"
        and not TELLING.isdisjoint(s.words_before(i, 3))
    )


def is_time(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    """Whether a bare phrase is a time, given its preposition at token ``i``."""
    if not preposition and (is_whole_question(s, phrase) or _is_told(s, phrase)):
        return True
    decide = _DECISIONS.get(phrase.grain)
    return decide is not None and decide(s, i, phrase, preposition)


def _is_told(s: Sentence, phrase: Phrase) -> bool:
    """Whether a statement tells a day without a preposition: *dentist Thursday*, *the 14th*."""
    if not s.statement or phrase.grain not in {"weekday", "nth"}:
        return False
    first = s.at(phrase.first)
    return (
        first.word not in {"sat", "sun", "wed"} and not first.possessive and s.ends_at(phrase.last)
    )


def is_whole_question(s: Sentence, phrase: Phrase) -> bool:
    """Whether the question is the time and nothing else: *Easter*, *the 90s*, *March*."""
    first = s.at(phrase.first + phrase.article)
    if phrase.first or any(t.word[:1].isalnum() for t in s.tokens[phrase.last :]):
        return False
    if phrase.grain not in _ALONE or first.word in GIVEN_NAMES:
        return False
    return first.raw[:1].isupper() or not first.word.isalpha() or phrase.article


def _month(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    first = s.at(phrase.first)
    if first.possessive or phrase.article or preposition not in _MONTH_MARKERS:
        return False
    if first.word in GIVEN_NAMES:
        return _month_like_a_name(s, i, phrase, preposition)
    if preposition == "of" and s.word(i - 1) not in UNITS and not is_plain(s, i):
        return False
    walk = first.word == "march" and not first.raw[:1].isupper()
    return not (walk and preposition in {"for", "of", "from", "through", "over"})


def _month_like_a_name(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    if preposition in OPENING:
        return s.ends_at(phrase.last)
    if preposition == "from":
        return s.word(i - 1) in _MEDIA and s.ends_at(phrase.last)
    return preposition not in {"for", "of"} and not _is_surname(s, phrase.last)


def _is_surname(s: Sentence, i: int) -> bool:
    return s.at(i).capitalised and s.word(i) not in FOLLOWERS


def _season(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    first, ends = s.at(phrase.first + phrase.article), s.ends_at(phrase.last)
    if preposition not in _MARKERS or s.word(phrase.last) in COMPOUNDS:
        return False
    if phrase.article:
        if preposition in {"in", "over", "during"}:
            return i == 0 or not _is_specified(s, phrase.last)
        return ends
    if first.possessive or first.word == "fall":
        return False
    return ends and preposition in {"in", "during"}


def _is_specified(s: Sentence, i: int) -> bool:
    """Whether what follows says which summer: *the summer we moved*, *that Dad was ill*."""
    return s.word(i) in _RELATIVE or _is_surname(s, i)


def _weekday(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    if phrase.article:
        return False
    first, follower = s.at(phrase.first), s.at(phrase.last)
    ends = s.ends_at(phrase.last)
    if first.possessive and follower.word.isalpha() and follower.raw.islower() and not ends:
        # "Saturday's game", while Friday the dog has a collar and nothing that is past.
        tense = s.tense(phrase.first, phrase.last)
        return preposition in _BEFORE_POSSESSIVE and tense in {"past", "future"}
    if preposition in _ON:
        return ends or preposition == "on" or follower.raw[:1].islower()
    if preposition in {"from", "for"}:
        return ends and not first.possessive
    return not preposition and first.word not in {"sat", "wed"} and _is_adverb(s, i, phrase)


def _is_adverb(s: Sentence, i: int, phrase: Phrase) -> bool:
    """Whether an American "who called Monday?" is a time: if clearly past, and no name."""
    before = s.at(i - 1)
    if i == 0 or not s.ends_at(phrase.last) or before.word in _WATCHED:
        return False
    name = before.word in _NAMING | _PICKING or (before.capitalised and before.word != "i")
    return not name and s.tense(phrase.first, phrase.last) == "past"


def _weekend(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    specified = i > 0 and _is_specified(s, phrase.last)
    plain = preposition in _MARKERS and s.word(phrase.last) not in COMPOUNDS
    return phrase.article and plain and not specified


def _holiday(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    last = s.word(phrase.last - 1)
    if not preposition and not phrase.article and last in {"day", "eve"}:
        return _is_adverb(s, i, phrase)
    name = phrase.article and last not in {"holiday", "weekend"}
    if name or preposition not in _MARKERS - {"about", "of", "to"}:
        return False
    return s.ends_at(phrase.last) or preposition not in {"in", "from"}


def _year(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    """Whether *1984* is a year, and not a book: *the copy of 1984*, *a page in 1984*."""
    if phrase.article or s.at(phrase.first).possessive or not s.ends_at(phrase.last):
        return False
    if preposition == "of" and s.word(i - 1) in _OF_BOOKS:
        return False
    if preposition in {"in", "from", "of"} and not _PARTS_OF_BOOKS.isdisjoint(s.words_before(i, 4)):
        return False
    return preposition in _YEAR_MARKERS


def _nth(s: Sentence, _i: int, phrase: Phrase, preposition: str) -> bool:
    if preposition == "for" and s.tense(phrase.first, phrase.last) in {"past", "none"}:
        return False
    return phrase.article and preposition in _ON | {"from", "for"} and s.ends_at(phrase.last)


_DECISIONS: dict[str, Callable[[Sentence, int, Phrase, str], bool]] = {
    "month": _month,
    "year": _year,
    "decade": lambda _s, _i, _phrase, preposition: preposition in _DECADE_MARKERS,
    "season": _season,
    "weekday": _weekday,
    "weekend": _weekend,
    "holiday": _holiday,
    "nth": _nth,
    "quarter": lambda s, _i, phrase, preposition: (
        preposition in _MARKERS - {"to", "at", "about"} and s.ends_at(phrase.last)
    ),
}
