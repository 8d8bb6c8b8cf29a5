"""Tense: whether the words around a time phrase look back or ahead."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from family_recall.english.lexicon import (
    DECADES,
    FROM_ITS_DAY,
    MONTHS,
    PARTS,
    SEASONS,
    WEEKDAYS,
)
from family_recall.english.text import lowered, runs_in
from family_recall.english.tokens import MAX_SCANNED_CHARS, Token

Tense: TypeAlias = Literal["past", "future", "present", "none"]

_PAST = frozenset(
    "did didn't was wasn't were weren't had hadn't went said told gave ate got bought made saw met "
    "came took wrote spoke heard found lost felt thought knew began left sent paid drove flew ran "
    "won sang slept spent read swam brought taught fell broke caught grew threw woke wore bit rang "
    "rode chose drank forgot built sold stood hid stole shook slid tore blew born".split()
)
_PARTICIPLES = frozenset("done given eaten written taken known seen due".split())
_HAVING = frozenset("have has i've we've you've they've 's".split())
_FUTURE = frozenset("will won't shall i'll we'll you'll they'll he'll she'll it'll gonna".split())
_PRESENT = frozenset(
    "is isn't are aren't am do don't does doesn't has hasn't have haven't can could "
    "may might would i'm we're they're you're he's she's".split()
)
_ADVISING = frozenset("should shouldn't must".split())
_ALLOWING = frozenset("can could may might would".split())
_PERFECT = frozenset("been done gone had seen".split())
_MOVED = frozenset("moved changed shifted pushed brought delayed".split())
_BEING = frozenset("is are am i'm we're they're you're isn't aren't".split())
_BEING_CONTRACTED = _BEING | {"'s"}
_COMING = frozenset(("coming", "happening"))
_ARRANGED = frozenset("planned scheduled booked arranged lined".split())
_BOOKING = _ARRANGED | frozenset(
    "rebooked booking deposit postponed reserved appointment rescheduled".split()
)
_MAX_LEAD = 2
_LISTS = frozenset("calendar agenda schedule plan plans".split())
_HELPERS = _FUTURE | _ADVISING | _ALLOWING | {"did", "didn't", "to"}
_WRITTEN_TOGETHER = frozenset("whats whens whos wheres hows thats".split())
_CONTRACTED_IS = frozenset("what who where when how there it he she that".split())
_ED = re.compile(
    r"(?!(?:need|feed|speed|seed|indeed|hundred|shed|breed|weed|naked|wicked)$)[a-z]{3,}ed"
)
_ING = re.compile(
    r"(?!(?:morning|evening|during|thing|spring|king|ring|wedding|something)$).{2,}ing"
)
_S_FORM = re.compile(r"[a-z]{2,}(?<!s)s")
_ASKED_FOR = frozenset(("who", "what", "which"))
_ANY = frozenset("any anything anyone anybody nothing".split())
_RELATIVE = re.compile(
    r"(?<!from )(?<!since )(?<!until )(?<!till )(?<!as of )(?<!starting )(?<!start )\b"
    r"(?:today|tonight|yesterday|tomorrow"
    rf"|(?:this|last|next)\s+(?:weekend|week|month|{'|'.join(PARTS)}))\b(?!\s+(?:on(?:wards?)?|before|after)\b)"
)
_REACH = 12
_SEASON = "|".join(SEASONS)
_PAST_REFERENCE = re.compile(
    r"\b(?:"
    r"(?:last|previous)\s+(?:year|decade|century|christmas|xmas|easter|thanksgiving|halloween|diwali"
    rf"|eid|hanukkah|new\s+year|birthday|month|{'|'.join(MONTHS)}|{_SEASON})"
    rf"|(?:year|christmas|month|{_SEASON})\s+before\s+last"
    r"|(?:years?|months?|decades?|ages|long|while)\s+(?:ago|back)"
    rf"|(?:christmases|birthdays?|(?:{_SEASON})s?)\s+ago"
    r"|back\s+(?:when|then|in|at)|in\s+the\s+past(?!\s+(?:\w+\s+)?(?:hour|day|week|month)s?)"
    r"|(?:in|from)\s+(?:the\s+)?(?:good\s+)?(?:old|olden|those|early)\s+days|the\s+good\s+old\s+days"
    r"|once\s+upon\s+a\s+time|growing\s+up|as\s+a\s+(?:kid|child|boy|girl|baby|teenager)"
    r"|when\s+(?:i|we|you|he|she|they)\s+(?:was|were)\s+(?:a\s+)?"
    r"(?:little|young|younger|small|kids?|child|children|[a-z]+\s+years\s+old|[0-9]+)"
    r"|(?:in|from|of)\s+the\s+(?:early\s+|late\s+|mid-?\s?)?"
    rf"(?:(?:19)?[3-9]0s|'?[3-9]0s|{'|'.join(DECADES)})"
    r")\b"
)
_USED_TO = re.compile(r"\bused?\s+to\b")
_ACCUSTOMED = frozenset(
    "is are am be been being was were get gets getting got become i'm he's she's we're they're "
    "you're it's can could".split()
)


def tense_at(tokens: Sequence[Token], first: int, last: int) -> Tense:
    """Read the verb nearest before the phrase ``[first, last)``, or else nearest after it.

    Bare present forms ("do we have …") are ``present``: they look either way. So is *anything on
    Thursday*, which has no verb.
    """
    for at in range(first - 1, max(-1, first - 1 - _REACH), -1):
        tense = _tense_of(tokens, at)
        if tense == "present":
            return _tense_of_present(tokens, at, first)
        if tense:
            return tense
    for at in range(last, min(len(tokens), last + _REACH)):
        tense = _tense_of(tokens, at)
        if tense:
            return tense
    return "present" if tokens and tokens[0].word in _ANY else "none"


def tense_told(tokens: Sequence[Token], first: int, last: int) -> Tense:
    """Return the tense of a time that a statement tells: ahead, where its verb does not look back.

    The verb stands before the time in the same part of the sentence (*got the job, starts
    Monday*), or behind a time that begins it (*on Sunday we went*). What is booked lies ahead.
    """
    if any(token.word in _BOOKING for token in tokens):
        return "future"
    if tokens[first - 1].word == "to" and any(
        token.word in _MOVED for token in tokens[max(0, first - _REACH) : first]
    ):
        return "future"  # "we moved the dinner to 3 December"
    commas = [i for i, token in enumerate(tokens) if token.word == ","]
    start = max((comma + 1 for comma in commas if comma < first), default=0)
    end = last
    if start == 0 and first <= _MAX_LEAD:
        # *On Sunday, we went*: what a comma directly behind the time sets apart is of its part.
        end = min((comma for comma in commas if comma > last), default=len(tokens))
    tense = tense_at(tokens[start:end], first - start, last - start)
    return "past" if tense == "past" else "future"


def is_past_reference(question: str) -> bool:
    """Whether the words point at a distant past: then old memories are no worse than new ones.

    *last year*, *years ago*, *back when*, *in the old days*, *used to*; *used to* meaning
    accustomed ("is he used to it?") does not count.
    """
    question = question[:MAX_SCANNED_CHARS].lower().replace("’", "'")
    if _PAST_REFERENCE.search(question):
        return True
    before = (question[: match.start()].split()[-2:] for match in _USED_TO.finditer(question))
    return any(_ACCUSTOMED.isdisjoint(words) for words in before)


def counts_from_its_day(text: str) -> bool:
    """Whether a text means another time when it is read on another day: *yesterday*, *on Friday*.

    >>> counts_from_its_day("Yesterday we bought the fridge")
    True
    """
    words = runs_in(lowered(text[:MAX_SCANNED_CHARS]))
    return not (FROM_ITS_DAY.isdisjoint(words) and WEEKDAYS.keys().isdisjoint(words))


def is_relative(text: str) -> bool:
    """Whether a text names a time that is over, or comes, by the day on which it is said alone.

    *From today* goes on.

    >>> [is_relative(text) for text in ("Nana baked today", "last Christmas", "from today on")]
    [True, False, False]
    """
    return _RELATIVE.search(lowered(text[:MAX_SCANNED_CHARS])) is not None


def _tense_of_present(tokens: Sequence[Token], at: int, first: int) -> Tense:
    """Return what *is*, *can* or *have* at a token mean for a phrase that begins at ``first``."""
    if tokens[at].word in {"is", "are"} and tokens[first - 1].word != "from":
        asks_for_any = tokens[at + 1].word == "there" and all(t.word != "how" for t in tokens[:at])
        if at == 0 or asks_for_any:
            return "future"  # "is there school on 3 September"
    if tokens[at].word in {"has", "have", "hasn't", "haven't"}:
        followers = {token.word for token in tokens[at + 1 : min(first, at + 5)]}
        if not followers.isdisjoint(_PERFECT):
            return "past"  # "have we been"
    if tokens[at].word in _ALLOWING and tokens[at + 1].word in {"we", "i"}:
        # "could we go", but not "could you remind me"
        return "future"
    return "present"


def _tense_of(tokens: Sequence[Token], at: int) -> Tense | None:
    """Return the tense of the verb at a token; None if it is none, or another verb decides."""
    for reach, required, tense in _rules_for(_verb_at(tokens, at)):
        if not reach or any(_verb_at(tokens, i) in required for i in range(max(0, at - reach), at)):
            return tense
    return None


def _verb_at(tokens: Sequence[Token], at: int) -> str:
    """Return a word as the rules know it: ``'s`` is *what's* and *she's*, ``May`` is no verb."""
    token = tokens[at]
    word = token.word
    if (token.possessive and word in _CONTRACTED_IS) or word in _WRITTEN_TOGETHER:
        return "'s"
    if word == "may" and at and token.capitalised:
        return "May"
    going_to = word == "going" and at + 1 < len(tokens) and tokens[at + 1].word == "to"
    return "going to" if going_to else word


@lru_cache(maxsize=4096)
def _rules_for(verb: str) -> list[tuple[int, Container[str], Tense | None]]:
    return [rule[1:] for rule in _RULES if rule[0](verb)]


_RULES: tuple[tuple[Callable[[str], object], int, Container[str], Tense | None], ...] = (
    # "what is planned", "what's on the calendar"
    ((_ARRANGED | _LISTS).__contains__, 5, _BEING_CONTRACTED | {"have", "has"}, "future"),
    (_LISTS.__contains__, 0, (), None),
    ("got".__eq__, 4, _HAVING, None),  # "what have we got"
    ("due".__eq__, 3, _BEING_CONTRACTED, "future"),
    ("due".__eq__, 0, (), None),
    # "it is written": the tense is that of *is*
    ((_PAST | _PARTICIPLES).__contains__, 1, _BEING | {"be"}, None),
    (_ED.fullmatch, 2, ("getting", "get", "be"), None),  # "is getting married"
    (_ED.fullmatch, 3, _BEING, "present"),
    (_ED.fullmatch, 0, (), "past"),
    (_PAST.__contains__, 0, (), "past"),
    ((_FUTURE | _ADVISING | {"upcoming"}).__contains__, 0, (), "future"),
    ("going to".__eq__, 4, ("was", "were"), "past"),
    ("going to".__eq__, 0, (), "future"),
    (_COMING.__contains__, 4, ("was", "were", "been"), "past"),
    (_COMING.__contains__, 0, (), "future"),  # "anybody coming on the 29th"
    (_ING.fullmatch, 4, _BEING_CONTRACTED, "future"),
    (frozenset(("do", "have", "be")).__contains__, 4, _HELPERS, None),
    ((_PRESENT | {"'s"}).__contains__, 0, (), "present"),
    (_S_FORM.fullmatch, 1, _ASKED_FOR, "present"),  # "who comes"
)
"""Verbs, which words must be how near before them, and their tense; the first rule decides."""
