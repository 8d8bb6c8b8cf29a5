"""What the words beside a time make of it: a name (*May*), another time, or one nobody can know."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from family_recall.english.lexicon import (
    CHOICES,
    COMPOUNDS,
    COUNTS,
    FOLLOWERS,
    GIVEN_NAMES,
    ORDINALS,
    OWNERS,
    PARTS,
    SEASONS,
    UNITS,
    WEEKDAYS,
)
from family_recall.english.tokens import singular_of as singular

from .calendar import HOLIDAY_WORDS
from .grammar import phrase_at
from .sentence import Phrase, Sentence

OPENING = frozenset("since before after until till til by".split())
SIMPLE = frozenset("in on at over during throughout for from of about within through to".split())
AROUND = frozenset(("around", "circa", "roughly"))

_TELLING = frozenset(
    "tell tells told telling hear heard know knew think thought chat chatted chatting discuss "
    "discussed remember remembered speak spoke story stories summary summaries news recap "
    "overview".split()
) | {verb + ending for verb in ("talk", "ask") for ending in ("", "s", "ed", "ing")}
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
_NAMING = (
    OWNERS
    | CHOICES.keys()
    | ORDINALS.keys()
    | frozenset("a an is for watch play named that same other following some one another".split())
)
"""Words that make a name of the day behind them, or pick one that was not read with them."""

_ALONE = frozenset("month year decade season holiday nth quarter".split())
_CONTRASTS = frozenset("than not unlike except excluding besides versus vs".split())
_VAGUE_ENDINGS = frozenset("so thereabouts earlier later before after".split())
_SHARES = frozenset("as rest half remainder".split())
_LEADING = frozenset(
    "just right shortly soon long straight immediately directly well sometime weekend".split()
)
_PICKING = frozenset(("last", "next", "final", "penultimate", *ORDINALS))
_BREAKS = frozenset("holiday holidays break vacation half term".split())
_SCHOOL_BREAKS = SEASONS.keys() | set("half - school easter christmas autumn".split())
_SUBJECTS = frozenset("i we you he she they".split())
_LEADING_TIMES = UNITS.keys() | PARTS.keys() | WEEKDAYS.keys()
_REPEATED = WEEKDAYS.keys() | PARTS.keys() | SEASONS.keys() | {"weekday", "weekend"}
_GATHERINGS = frozenset(
    "party market markets season shopping fair concert play parade service lunch dinner breakfast "
    "brunch meal".split()
)
"""Events that are held for a holiday, on its day or on some other one."""


def is_plain(s: Sentence, i: int) -> bool:
    """Whether *about* or *of* at a token belongs to *talk about* or *summary of*."""
    return (
        s.word(i) in {"about", "of"}
        and s.word(i - 1) != "about"
        and not _TELLING.isdisjoint(s.words_before(i, 3))
    )


def is_time(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    """Whether a bare phrase is a time, given its preposition at token ``i``."""
    if not preposition and (is_whole_question(s, phrase) or _is_told(s, phrase)):
        return True
    decide = _DECISIONS.get(phrase.grain)
    return decide is not None and decide(s, i, phrase, preposition)


def _is_told(s: Sentence, phrase: Phrase) -> bool:
    """Whether a statement mentions a day without a preposition: *dentist Thursday*, *the 14th*."""
    if not s.statement or phrase.grain not in {"weekday", "nth"}:
        return False
    first = s.at(phrase.first)
    is_name = first.possessive or first.word in {"sat", "sun", "wed"}
    return not is_name and s.ends_at(phrase.last)


def is_whole_question(s: Sentence, phrase: Phrase) -> bool:
    """Whether the question is the time and nothing else: *Easter*, *the 90s*, *March*."""
    first = s.at(phrase.first + phrase.article)
    if phrase.first or any(word[:1].isalnum() for word in s.words[phrase.last :]):
        return False
    if phrase.grain not in _ALONE or first.word in GIVEN_NAMES:
        return False
    return first.raw[:1].isupper() or not first.word.isalpha() or phrase.article


def _month(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    first, ends = s.at(phrase.first), s.ends_at(phrase.last)
    if first.possessive or phrase.article or preposition not in _MONTH_MARKERS:
        return False
    if first.word in GIVEN_NAMES:
        if preposition in OPENING:
            return ends
        if preposition == "from":
            return s.word(i - 1) in _MEDIA and ends
        return preposition not in {"for", "of"} and not _is_surname(s, phrase.last)
    if preposition == "of" and s.word(i - 1) not in UNITS and not is_plain(s, i):
        return False
    walk = first.word == "march" and not first.raw[:1].isupper()
    return not (walk and preposition in {"for", "of", "from", "through", "over"})


def _is_surname(s: Sentence, i: int) -> bool:
    return s.at(i).capitalised and s.word(i) not in FOLLOWERS


def _season(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    ends = s.ends_at(phrase.last)
    if preposition not in _MARKERS or s.word(phrase.last) in COMPOUNDS:
        return False
    if phrase.article:
        if preposition in {"in", "over", "during"}:
            return i == 0 or not _is_specified(s, phrase.last)
        return ends
    return ends and preposition in {"in", "during"}


def _is_specified(s: Sentence, i: int) -> bool:
    """Whether what follows says which summer: *the summer we moved*, *that Dad was ill*."""
    return s.word(i) in _RELATIVE or _is_surname(s, i)


def _weekday(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    first, follower, ends = s.at(phrase.first), s.at(phrase.last), s.ends_at(phrase.last)
    if phrase.article:
        return False
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
    name = before.word in _NAMING or (before.capitalised and before.word != "i")
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


_DECISIONS: dict[str, Callable[[Sentence, int, Phrase, str], bool]] = {
    "month": _month,
    "year": _year,
    "decade": lambda _s, _i, _phrase, preposition: preposition in _DECADE_MARKERS,
    "season": _season,
    "weekday": _weekday,
    "weekend": _weekend,
    "holiday": _holiday,
    "nth": lambda s, _i, phrase, preposition: (
        phrase.article and preposition in _ON | {"from", "for"} and s.ends_at(phrase.last)
    ),
    "quarter": lambda s, _i, phrase, preposition: (
        preposition in _MARKERS - {"to", "at", "about"} and s.ends_at(phrase.last)
    ),
}


def is_another(s: Sentence, first: int, last: int, read_to: int) -> bool:
    """Whether words beside the time ``[first, last)`` make another time of it.

    It is one that is not meant (*than last year*), blurred (*or so*), picked by words that were not
    read, or of an event: *since we spoke on Monday*. Tokens before ``read_to`` were read already.
    """
    contrast = s.word(first - 1) in _CONTRASTS or "compared" in s.words_before(first, 2)
    blurred = s.word(last) == "or" and s.word(last + 1) in _VAGUE_ENDINGS
    continued = s.word(last) in {"week", "weekend", "fortnight"}
    share = s.word(first) == "of" and s.word(first - 1) in _SHARES
    unread = _unread_before(s, first, min(7, first - read_to))
    of_event = not {"since", "until", "till", "til"}.isdisjoint(unread)
    return contrast or blurred or continued or share or of_event or _is_picked(s, first)


def _is_picked(s: Sentence, first: int) -> bool:
    """Whether words that were not read pick a part of the time: *the last bank holiday in May*.

    So do *halfway through May*, *week 20 of 2025*, *the long weekend in May* and *on Mondays in
    May*.
    """
    lead, before, earlier = (s.word(first - n) for n in (1, 2, 3))
    if lead in {"way", "halfway"} or (lead.isdigit() and before == "week"):
        return True
    if s.word(first) not in {"in", "of", "during", "last"}:
        return False
    if lead in {"week", "weekend"}:
        return s.word(first) in {"in", "of"} and before not in {
            "the",
            "a",
            "one",
            "some",
            "which",
            "what",
            "that",
            "any",
        }
    if lead != singular(lead) and singular(lead) in _REPEATED:
        return True
    return lead in _BREAKS and (
        before in _SCHOOL_BREAKS or not _PICKING.isdisjoint({before, earlier})
    )


def is_joined(s: Sentence, i: int) -> bool:
    """Whether *and* adds half a time to the one before: *the end of March and April*."""
    if s.word(i) not in {"and", "or"}:
        return False
    other = phrase_at(s, i + 1)
    if other is None or not other.bare or other.article:
        return False
    return other.grain == "year" or s.ends_at(other.last)


def is_some_time(s: Sentence, first: int) -> bool:
    """Whether *the last time it snowed* leaves open of which year *in March* is."""
    pairs = itertools.pairwise(_unread_before(s, first, 9))
    return any(time == "time" and picking in _PICKING for time, picking in pairs)


def _unread_before(s: Sentence, i: int, reach: int) -> list[str]:
    """Return the words before a token, nearest first, back to a sign."""
    return list(itertools.takewhile(str.isalnum, reversed(s.words_before(i, reach))))


def is_held(s: Sentence, first: int, last: int) -> bool:
    """Whether a name only says what *the Christmas market* or *the summer holidays* are for."""
    what = {s.word(last), s.word(last - 1)}
    if s.word(first) in SEASONS:
        return not _BREAKS.isdisjoint(what)
    return s.word(first) in HOLIDAY_WORDS and not what.isdisjoint(_GATHERINGS | _BREAKS)


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
