"""Tense: whether the words around a time phrase look back or ahead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from .words import Token

Tense: TypeAlias = Literal["past", "future", "present", "none"]

_PAST = frozenset(
    "did didn't was wasn't were weren't had hadn't went said told gave ate got bought made saw met "
    "came took wrote spoke heard found lost felt thought knew began left sent paid drove flew ran "
    "won sang slept spent read swam brought taught".split()
)
_PARTICIPLES = frozenset("done given eaten written taken known seen due".split())
_HAVING = frozenset("have has i've we've you've they've".split())
_FUTURE = frozenset("will won't shall i'll we'll you'll they'll he'll she'll it'll gonna".split())
_PRESENT = frozenset(
    "is isn't are aren't am do don't does doesn't has hasn't have haven't can could should must "
    "may might would i'm we're they're you're he's she's".split()
)
_BEING = frozenset("is are am i'm we're they're you're isn't aren't".split())
_SETTLED = frozenset("planned scheduled booked arranged lined".split())
_LISTS = frozenset("calendar agenda schedule plan plans".split())
_HELPERS = _FUTURE | frozenset("did didn't to".split())
_NOW = _BEING | frozenset("have has".split())
_CONTRACTED_IS = frozenset("what who where when how there it he she that".split())
_ED = re.compile(r"[a-z]{3,}ed")
_NOT_ED = frozenset("need feed speed seed indeed hundred shed breed weed naked wicked".split())
_NOT_ING = frozenset("morning evening during thing spring king ring wedding something".split())
_REACH = 12
_PAST_REFERENCE = re.compile(
    r"\b(?:"
    r"(?:last|previous)\s+(?:year|decade|century|spring|summer|autumn|fall|winter|christmas|xmas"
    r"|easter|thanksgiving|halloween|diwali|eid|hanukkah|new\s+year|birthday|month"
    r"|(?:jan|febr)uary|march|april|may|june|july|august|(?:sept|nov|dec)ember|october)"
    r"|(?:year|summer|winter|spring|autumn|fall|christmas|month)\s+before\s+last"
    r"|(?:years?|months?|decades?|ages|long|while)\s+(?:ago|back)"
    r"|(?:summers?|winters?|christmases|birthdays?)\s+ago"
    r"|back\s+(?:when|then|in|at)|in\s+the\s+past(?!\s+(?:\w+\s+)?(?:hour|day|week|month)s?)"
    r"|(?:in|from)\s+(?:the\s+)?(?:good\s+)?(?:old|olden|those|early)\s+days|the\s+good\s+old\s+days"
    r"|once\s+upon\s+a\s+time|growing\s+up|as\s+a\s+(?:kid|child|boy|girl|baby|teenager)"
    r"|when\s+(?:i|we|you|he|she|they)\s+(?:was|were)\s+(?:a\s+)?"
    r"(?:little|young|younger|small|kids?|child|children|[a-z]+\s+years\s+old|[0-9]+)"
    r"|(?:in|from|of)\s+the\s+(?:early\s+|late\s+|mid-?\s?)?"
    r"(?:(?:19)?[3-9]0s|[’']?[3-9]0s|(?:thir|for|fif|six|seven|eigh|nine)ties)"
    r")\b",
    re.IGNORECASE,
)
_USED_TO = re.compile(r"((?:[\w'’]{1,40}\s+){0,2})\bused?\s+to\b", re.IGNORECASE)
_ACCUSTOMED = frozenset(
    "is are am be been being was were get gets getting got become i'm he's she's we're they're "
    "you're it's can could".split()
)


def tense_at(tokens: Sequence[Token], first: int, last: int) -> Tense:
    """Read the verb nearest before the phrase ``[first, last)``, or else nearest after it.

    Bare present forms ("do we have …") are ``present``: they look either way.
    """
    for at in range(first - 1, max(-1, first - 1 - _REACH), -1):
        found = _tense_of(tokens, at)
        if found:
            ahead = tokens[at].word in {"is", "are"} and tokens[first - 1].word != "from"
            there = tokens[at + 1].word == "there" and all(t.word != "how" for t in tokens[:at])
            if found == "present" and ahead and (at == 0 or there):
                return "future"  # "is there school on 3 September"
            return found if found != "present" else _perfect(tokens, at, first)
    for at in range(last, min(len(tokens), last + _REACH)):
        found = _tense_of(tokens, at)
        if found:
            return found
    return "none"


def is_past_reference(question: str) -> bool:
    """Whether the words point at a distant past: then old memories are no worse than new ones.

    *last year*, *years ago*, *back when*, *in the old days*, *used to*; *used to* meaning
    accustomed ("is he used to it?") does not count.
    """
    question = question[:4000]
    if _PAST_REFERENCE.search(question):
        return True
    for match in _USED_TO.finditer(question):
        before = match.group(1).lower().replace("’", "'").split()
        if _ACCUSTOMED.isdisjoint(before):
            return True
    return False


def _tense_of(tokens: Sequence[Token], at: int) -> Tense | None:
    token = tokens[at]
    word = token.word
    if word in _SETTLED or word in _LISTS:
        around = tokens[max(0, at - 5) : at]
        if any(t.word in _NOW or (t.possessive and t.word in _CONTRACTED_IS) for t in around):
            return "future"
        if word in _LISTS:
            return None
    if word == "got" and any(
        t.word in _HAVING or (t.possessive and t.word in _CONTRACTED_IS)
        for t in tokens[max(0, at - 4) : at]
    ):
        return None
    if word == "due":
        around = tokens[max(0, at - 3) : at]
        is_due = (t.word in _BEING or (t.possessive and t.word in _CONTRACTED_IS) for t in around)
        return "future" if any(is_due) else None
    if at and tokens[at - 1].word in _BEING | {"be"} and word in _PAST | _PARTICIPLES:
        return None
    if word in _PAST or (_ED.fullmatch(word) and word not in _NOT_ED):
        if word not in _PAST and any(t.word in _BEING for t in tokens[max(0, at - 3) : at]):
            return "present"
        return "past"
    if word == "may" and at and token.capitalised:
        return None  # somebody, or the month
    if word in _FUTURE or word == "upcoming":
        return "future"
    if word == "going" and at + 1 < len(tokens) and tokens[at + 1].word == "to":
        was = any(t.word in {"was", "were"} for t in tokens[max(0, at - 4) : at])
        return "past" if was else "future"
    if word.endswith("ing") and len(word) > 4 and word not in _NOT_ING:
        before = tokens[max(0, at - 4) : at]
        if any(t.word in _BEING or (t.possessive and t.word in _CONTRACTED_IS) for t in before):
            return "future"
    if word in {"do", "have", "be"}:
        helpers = tokens[max(0, at - 4) : at]
        if any(t.word in _HELPERS for t in helpers):
            return None
    if word in _PRESENT or (token.possessive and word in _CONTRACTED_IS):
        return "present"
    return None


def _perfect(tokens: Sequence[Token], at: int, last: int) -> Tense:
    """*Have we been*, *has she said*: a past told with have."""
    if tokens[at].word in {"has", "have", "hasn't", "haven't"}:
        for token in tokens[at + 1 : min(last, at + 5)]:
            if token.word in {"been", "done", "gone", "had", "seen"}:
                return "past"
    return "present"
