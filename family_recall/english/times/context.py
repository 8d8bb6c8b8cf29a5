"""What the words beside a time make of it: a name (*May*), another time, or one nobody can know."""

from __future__ import annotations

import itertools

from family_recall.english import lexicon as lex
from family_recall.english.tokens import singular_of

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
_ON = OPENING | AROUND | {"on", "between"}
_MARKERS_OF = {
    "month": _MARKERS - {"on", "at", "about", "within", "to"},
    "year": _MARKERS - {"on", "at", "about", "within", "to", "circa", "roughly"} | {"back"},
    "decade": OPENING | AROUND | frozenset("in during from of throughout".split()),
    "season": _MARKERS,
    "weekend": _MARKERS,
    "holiday": _MARKERS - {"about", "of", "to"},
    "nth": _ON | {"from", "for"},
    "quarter": _MARKERS - {"to", "at", "about"},
}
"""Prepositions that make a time of a name."""

_MEDIA = frozenset("photo photos picture pictures pics video videos bill bills receipts".split())
_OF_BOOKS = frozenset("copy version edition class think thought make made say book film".split())
"""What *1984* is a title behind: *the copy of 1984*, *what we thought of 1984*."""

_GOING = frozenset("comes goes starts happens arrives leaves works".split())
_RELATIVE = frozenset("i we you he she they it my our his her their that when".split())
_NAMING = (
    lex.OWNERS
    | lex.CHOICES.keys()
    | lex.ORDINALS.keys()
    | frozenset("a an is for watch play named that same other following some one another".split())
    | frozenset("watched directed saw read starred made wrote liked loved in".split())
)
"""Words that make a name of the day behind them, or pick one that was not read with them."""

_ALONE = frozenset("month year decade season holiday nth quarter".split())
_CONTRASTS = frozenset("than not unlike except excluding besides versus vs".split())
_LEADING = frozenset(
    "just right shortly soon long straight immediately directly well sometime weekend".split()
)
_PICKING = frozenset(("last", "next", "final", "penultimate", *lex.ORDINALS))
_BREAKS = frozenset("holiday holidays break vacation half term".split())
_LEADING_TIMES = lex.UNITS.keys() | lex.PARTS.keys() | lex.WEEKDAYS.keys()
_REPEATED = lex.WEEKDAYS.keys() | lex.PARTS.keys() | lex.SEASONS.keys() | {"weekday", "weekend"}


def is_plain(s: Sentence, i: int) -> bool:
    """Whether *about* or *of* at a token belongs to *talk about* or *summary of*."""
    telling = not _TELLING.isdisjoint(s.words_before(i, 3))
    return s.word(i) in {"about", "of"} and s.word(i - 1) != "about" and telling


def is_time(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    """Whether a bare phrase is a time, given its preposition at token ``i``."""
    grain, ends = phrase.grain, s.ends_at(phrase.last)
    if not preposition and (is_whole_question(s, phrase) or _is_told(s, phrase)):
        return True
    if grain == "weekday":
        return not phrase.article and _is_weekday(s, i, phrase, preposition)
    last = s.word(phrase.last - 1)
    ahead = s.tense(phrase.first, phrase.last) == "future"  # "what are we doing Thanksgiving"
    if grain == "holiday" and not preposition and (ahead or last in {"day", "eve"}):
        return not phrase.article and _is_adverb(s, i, phrase)
    if preposition not in _MARKERS_OF.get(grain, ()):
        return False
    if grain == "holiday":
        name = phrase.article and last not in {"holiday", "weekend"}
        return not name and (ends or preposition not in {"in", "from"})
    if grain in {"season", "weekend"}:
        return _is_season(s, i, phrase, preposition)
    if grain in {"month", "year"}:
        named = _is_month if grain == "month" else _is_year
        return not phrase.article and named(s, i, phrase, preposition)
    return grain == "decade" or (ends and (grain == "quarter" or phrase.article))


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
    if phrase.grain not in _ALONE or first.word in lex.GIVEN_NAMES:
        return False
    return first.raw[:1].isupper() or not first.word.isalpha() or phrase.article


def _is_season(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    ends = s.ends_at(phrase.last)
    if not phrase.article:
        return phrase.grain == "season" and ends and preposition in {"in", "during"}
    if phrase.grain == "season" and preposition not in {"in", "over", "during"}:
        return ends
    which = i > 0 and (s.word(phrase.last) in _RELATIVE or _is_surname(s, phrase.last))
    return not which and s.word(phrase.last) not in lex.COMPOUNDS


def _is_year(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    """Whether *1984* is a year, and not a book: *the copy of 1984*."""
    of_book = preposition == "of" and s.word(i - 1) in _OF_BOOKS
    return s.ends_at(phrase.last) and not of_book


def _is_month(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    first = s.at(phrase.first)
    if first.possessive:
        return False
    if first.word in lex.GIVEN_NAMES:
        if preposition in OPENING:
            return s.ends_at(phrase.last)
        of_media = preposition == "from" and s.word(i - 1) in _MEDIA
        somebody = preposition in {"for", "of", "from"} or _is_surname(s, phrase.last)
        return of_media or not somebody
    return preposition != "of" or s.word(i - 1) in lex.UNITS or is_plain(s, i)


def _is_surname(s: Sentence, i: int) -> bool:
    return s.at(i).capitalised and s.word(i) not in lex.FOLLOWERS


def _is_weekday(s: Sentence, i: int, phrase: Phrase, preposition: str) -> bool:
    first, follower, ends = s.at(phrase.first), s.at(phrase.last), s.ends_at(phrase.last)
    if first.possessive and follower.word.isalpha() and follower.raw.islower() and not ends:
        # "Saturday's game", while Friday the dog has a collar and nothing that is past.
        return s.tense(phrase.first, phrase.last) in {"past", "future"}
    if preposition in _ON:
        return ends or preposition == "on" or follower.raw[:1].islower()
    if preposition in {"from", "for"}:
        return ends and not first.possessive
    return not preposition and first.word not in {"sat", "wed"} and _is_adverb(s, i, phrase)


def _is_adverb(s: Sentence, i: int, phrase: Phrase) -> bool:
    """Whether an American "who called Monday?" is a time: after a verb, and no name."""
    before = s.at(i - 1)
    if i == 0 or not s.ends_at(phrase.last):
        return False
    name = before.word in _NAMING or (before.capitalised and before.word != "i")
    direct = before.word.endswith("s") and before.word not in _GOING  # "who plays Wednesday"
    tenses = {"past", "future"} if direct else {"past", "future", "present"}
    return not name and s.tense(phrase.first, phrase.last) in tenses


def is_another(s: Sentence, first: int, last: int, read_to: int) -> bool:
    """Whether words beside the time ``[first, last)`` make another time of it.

    It is one that is not meant (*than last year*), blurred (*or so*), picked by words that were not
    read, or of an event: *since we spoke on Monday*. Tokens before ``read_to`` were read already.
    """
    contrast = s.word(first - 1) in _CONTRASTS or "compared" in s.words_before(first, 2)
    blurred = s.word(last) == "or" and s.word(last + 1) in {"so", "later", "before", "after"}
    continued = s.word(last) in {"week", "weekend"}
    share = s.word(first) == "of" and s.word(first - 1) in {"as", "rest", "half"}
    unread = _unread_before(s, first, min(7, first - read_to))
    of_event = not {"since", "until", "till", "til"}.isdisjoint(unread)
    return contrast or blurred or continued or share or of_event or _is_picked(s, first)


def _is_picked(s: Sentence, first: int) -> bool:
    """Whether words that were not read pick a part of the time: *the last holiday in May*.

    So do *halfway through May*, *week 20 of 2025*, *the long weekend in May* and *on Mondays in
    May*.
    """
    lead, before, earlier = (s.word(first - n) for n in (1, 2, 3))
    if lead in {"way", "halfway"} or (lead.isdigit() and before == "week"):
        return True
    if s.word(first) not in {"in", "of", "during", "last"}:
        return False
    if lead == "weekend":
        return before in {"long", "holiday"}
    if lead != singular_of(lead) and singular_of(lead) in _REPEATED:
        return True
    picked = before in lex.SEASONS or before == "half" or not _PICKING.isdisjoint({before, earlier})
    return lead in _BREAKS and picked


def is_joined(s: Sentence, i: int) -> bool:
    """Whether *and* adds half a time to the one before: *the end of March and April*."""
    other = phrase_at(s, i + 1) if s.word(i) in {"and", "or"} else None
    return other is not None and other.bare and not other.article and s.ends_at(other.last)


def is_some_time(s: Sentence, first: int) -> bool:
    """Whether *the last time it snowed* leaves open of which year *in March* is."""
    pairs = itertools.pairwise(_unread_before(s, first, 9))
    return any(time == "time" and picking in _PICKING for time, picking in pairs)


def _unread_before(s: Sentence, i: int, reach: int) -> list[str]:
    """Return the words before a token, nearest first, back to a sign."""
    return list(itertools.takewhile(str.isalnum, reversed(s.words_before(i, reach))))


def is_led(s: Sentence, i: int, grain: str) -> bool:
    """Whether *before* belongs to words that make another time of it: *a day or two before*.

    So do *shortly before* and *at the party before*.
    """
    lead = s.word(i - 1)
    if lead in _LEADING or lead in lex.COUNTS or singular_of(lead) in _LEADING_TIMES:
        return True
    at_event = s.word(i - 3) in {"at", "in", "on", "during", "over"}
    named = s.word(i - 2) in lex.OWNERS | {"the", "a", "an"}
    return at_event and named and lead.isalpha() and grain not in {"year", "decade", "anchor"}


def is_doing(s: Sentence, i: int) -> bool:
    """Whether *up to* is what somebody does (*what were we up to*), or only *the run-up to*."""
    if s.word(i - 1) in {"run", "leading", "coming", "-", "been", "get", "got"}:
        return True
    before = s.words_before(i, 6)
    return "what" in before and ("were" in before or "are" in before)
