"""Words for the events of a household: *since we moved*, ``birthday_priya``, *when mum died*."""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from typing import NamedTuple

from .kinship import KINSHIP_ROLES
from .lexicon import MONTHS, SEASONS, UNITS, WEEKDAYS
from .text import runs_in
from .times import EMPTY_WORDS, JOINTS, holiday_at, stem
from .tokens import Token, tokens_of

_LONGEST = 10
_TRIGGERS = frozenset(
    "since after before when while until till by around on during at between day week night "
    "month year morning evening weekend for of over and".split()
)
_STOPS = frozenset("?!.;:,")
_TIMES = frozenset(
    {*MONTHS, *WEEKDAYS, *UNITS, *SEASONS}
    | set("yesterday today tomorrow tonight noon midnight weekend".split())
)  # fmt: skip
_AUXILIARIES = frozenset(
    "did didn't was were is are do does will would has have had can could should".split()
)
_FORMS = (
    "move moved moving relocation relocated",
    "birth born",
    "birthday birthdays birthdate dob",
    "wedding wed married marry marriage",
    "anniversary anniversaries",
    "engagement engaged proposal proposed",
    "divorce divorced separation separated",
    "death died dies dying passed passing",
    "funeral burial buried",
    "graduation graduated graduate graduating commencement",
    "surgery operation operated",
    "retirement retired retiring retire",
    "diagnosis diagnosed",
    "accident crash crashed",
    "adoption adopted adopting",
    "purchase bought",
    "sale sold",
    "promotion promoted",
    "trip journey",
    "baptism baptised baptized christening christened",
    "hospital hospitalization hospitalisation hospitalized hospitalised",
    "renovation renovated remodel remodeled remodelled",
    "start started starting began beginning",
    "arrival arrived",
)
_KIND_OF = {stem(word): forms.split()[0] for forms in _FORMS for word in forms.split()}
_FORMS_OF = {forms.split()[0]: forms for forms in _FORMS}
KINDS_OF_EVENT = frozenset(_KIND_OF.values())
YEARLY = {"birth": "birthday", "wedding": "anniversary"}
"""What returns every year of what happens once."""
OURS, MINE = frozenset("we our us ours".split()), frozenset("i my me mine".split())
OTHERS = frozenset("he she they his her their him them it its you your".split())
RELATIVE, SPOUSE = "relative:", "relative:spouse"
"""How the form of a word for a relative begins, and that of a word for a husband or wife."""

_ISO = re.compile(r"(?:([0-9]{4})|-)-([0-9]{1,2})-([0-9]{1,2})(?:T.*)?")


class EventClause(NamedTuple):
    """What follows *since* or *when*: its content words, and its pronouns."""

    words: tuple[Token, ...]
    pronouns: frozenset[str]


def event_clauses(question: str) -> list[EventClause]:
    """Return what follows *since*, *when* and the like, where that is no time or date."""
    tokens = tokens_of(question)
    clauses = []
    for at, token in enumerate(tokens):
        following = tokens[at + 1 : at + 1 + _LONGEST]
        if token.word not in _TRIGGERS or (
            token.word == "when" and following and following[0].word in _AUXILIARIES
        ):
            continue
        words: list[Token] = []
        pronouns = set()
        for other in following:
            word = other.word
            if word in _STOPS or (word in _TRIGGERS and words):
                break
            if word in OURS | MINE | OTHERS and not words:
                pronouns.add(word)
            elif word[:1].isalnum() and word not in EMPTY_WORDS | JOINTS:
                words.append(other)
        plain = [each.word for each in words]
        if plain and not (
            plain[0] in _TIMES or plain[0][0].isdigit() or holiday_at(plain, 0, "US") is not None
        ):
            clauses.append(EventClause(tuple(words), frozenset(pronouns)))
    return clauses


def forms_of_event(word: str) -> str:
    """Return the words for the kind of event that a word names, apart by blanks; or none.

    >>> forms_of_event("married"), forms_of_event("cake")
    ('wedding wed married marry marriage', '')
    """
    return _FORMS_OF.get(_KIND_OF.get(stem(word.lower()), ""), "")


@lru_cache(maxsize=4096)
def event_word(word: str) -> str:
    """Return one form for the words for a kind of event, or for a relative; else the stem."""
    lower = word.lower()
    role = KINSHIP_ROLES.get(lower)
    if role is not None:
        sort = "" if role.link == "spouse" else role.sort
        return f"{RELATIVE}{role.link} {sort}".rstrip()
    return _KIND_OF.get(stem(lower)) or stem(lower)


class Event(NamedTuple):
    """The meaning of an event name such as ``house_move`` or ``birthday_priya``.

    A question must use one of ``heads``; ``yearly`` is the event's yearly return: the birthday of
    a birth.
    """

    words: frozenset[str]
    heads: frozenset[str]
    yearly: frozenset[str]


@lru_cache(maxsize=1024)
def event_named(name: str) -> Event:
    """Read an event name; a date of birth is a birthday."""
    words = runs_in(name.lower())
    if "birth" in words and "date" in words:
        words = [word for word in words if word not in {"birth", "date", "of"}] + ["birthday"]
    else:
        words = [word for word in words if word not in EMPTY_WORDS | {"date"}]
    meanings = [event_word(word) for word in words]
    known = KINDS_OF_EVENT.intersection(meanings)
    return Event(
        frozenset(meanings),
        heads=known or frozenset(meanings[-1:]),
        yearly=frozenset(YEARLY[meaning] for meaning in known if meaning in YEARLY),
    )


def date_in(value: str) -> tuple[int | None, int, int] | None:
    """Read ``2019-05-03``, ``--05-03``, ``3 May``, ``May 3, 2019``: year, month and day.

    >>> date_in("May 3rd, 2019"), date_in("--05-03"), date_in("in spring")
    ((2019, 5, 3), (None, 5, 3), None)
    """
    iso = _ISO.fullmatch(value.strip())
    if iso:
        year = int(iso[1]) if iso[1] else None
        month, number = int(iso[2]), int(iso[3])
    else:
        words = re.findall(r"[0-9]+|[^\W\d_]+", value.lower())
        months = [MONTHS[word] for word in words if word in MONTHS]
        numbers = [int(word) for word in words if word.isdigit() and len(word) <= 4]
        days = [n for n in numbers if n <= 31]
        years = [n for n in numbers if 1800 < n < 2200]
        if len(months) != 1 or len(days) != 1:
            return None
        year, month, number = (years[0] if years else None), months[0], days[0]
    return (year, month, number) if is_day(year or 2024, month, number) else None


def is_day(year: int, month: int, number: int) -> bool:
    """Whether there is such a day."""
    try:
        dt.date(year, month, number)
    except ValueError:
        return False
    return True
