"""Find times that a question names by an event of the household: "since we moved".

A milestone ("We moved into the house on Elm Street") means its day; a dated fact (a birthday, an
anniversary) that day of every year. Only memories the asker may see are read, and only if the
question holds a word such as *since* or *when* that is not followed by a date.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from family_recall.english.lexicon import MONTHS, SEASONS, UNITS, WEEKDAYS
from family_recall.english.times import (
    Anchor,
    Token,
    content_words,
    holiday_at,
    stem,
    tokens_of,
)
from family_recall.store.snapshot import Snapshot
from family_recall.store.timeline_queries import Milestone
from family_recall.types import Scope

MAX_MILESTONES = 200
"""Milestones loaded for one question at most."""

_YEARS_BACK = 12
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
_GROUP_OF = {stem(word): forms.split()[0] for forms in _FORMS for word in forms.split()}
_FORMS_OF = {forms.split()[0]: forms for forms in _FORMS}
_GROUPS = frozenset(_GROUP_OF.values())
_KIN = {
    word: names.split()[0]
    for names in (
        "mother mom mum mommy mummy mama ma", "father dad daddy papa pa pop",
        "grandmother grandma granny nana gran nan nani dadi", "grandfather grandpa granddad dada",
        "spouse wife husband partner", "sister sis", "brother bro",
        "daughter", "son", "aunt auntie aunty", "uncle",
    )
    for word in names.split()
}  # fmt: skip
_RELATIVES = frozenset(_KIN.values())
_OURS, _MINE = frozenset("we our us ours".split()), frozenset("i my me mine".split())
_OTHERS = frozenset("he she they his her their him them it its you your".split())
_JOINTS = frozenset("into onto away to from with".split())
_YEARLY = {"birth": "birthday", "wedding": "anniversary"}
_WORD = re.compile(r"[^\W_]+")
_ISO = re.compile(r"(?:([0-9]{4})|-)-([0-9]{1,2})-([0-9]{1,2})(?:T.*)?")


class _Clause(NamedTuple):
    """What follows *since* or *when*: its content words, and its pronouns."""

    words: tuple[Token, ...]
    pronouns: frozenset[str]


class _Event(NamedTuple):
    """The meaning of an event name such as ``house_move`` or ``birthday_priya``.

    The question must use one of ``heads``; ``yearly`` is the event's yearly return: the birthday
    of a birth.
    """

    words: frozenset[str]
    heads: frozenset[str]
    yearly: frozenset[str]


class _Match(NamedTuple):
    """The words of a question that name a milestone; empty if they do not."""

    words: tuple[str, ...] = ()
    is_yearly: bool = False


def anchors_of(
    question: str, scope: Scope, snapshot: Snapshot, zone: dt.tzinfo | None
) -> tuple[Anchor, ...]:
    """Find the times that a question names by the household's own events.

    The request's filters do not apply: "only photos since we moved" means the move, although that
    is no photo. Two milestones that match equally well on different days give no anchor, nor does
    another person's surgery for "his surgery".

    Args:
        question: Any text.
        scope: What the asker may see; nothing else is read.
        snapshot: The file.
        zone: The household's time zone.

    Returns:
        One anchor for a milestone; for a yearly event one per year, from some years before the
        scope's moment to the year after it. Their words are those of the question.
    """
    clauses = _clauses(tokens_of(question))
    if not clauses:
        return ()
    meanings = {_meaning(token.word) for clause in clauses for token in clause.words}
    may_match_by_text = any(len(clause.words) > 1 for clause in clauses)

    def is_candidate(event_type: str | None, fact_key: str | None) -> bool:
        event = _event(event_type or fact_key or "")
        if not event.words:
            return may_match_by_text
        return not meanings.isdisjoint(event.words | event.yearly)

    milestones = snapshot.milestones(scope, is_candidate, MAX_MILESTONES)
    if not milestones:
        return ()
    today = dt.datetime.fromtimestamp(scope.as_of_s, zone).date()
    anchors: list[Anchor] = []
    for clause in clauses:
        matches = [(event, _match(clause, event, scope.person_id)) for event in milestones]
        most = max(len(match.words) for _, match in matches)
        best = {
            (match.words, _days(event, match.is_yearly, zone, today))
            for event, match in matches
            if match.words and len(match.words) == most
        }
        best = {(words, days) for words, days in best if days}
        if len(best) == 1:
            words, days = best.pop()
            anchors += [Anchor(" ".join(words), day, day + dt.timedelta(days=1)) for day in days]
    return tuple(dict.fromkeys(anchors))


def _clauses(tokens: Sequence[Token]) -> list[_Clause]:
    clauses = []
    for i, token in enumerate(tokens):
        if token.word not in _TRIGGERS:
            continue
        following = tokens[i + 1 : i + 1 + _LONGEST]
        if token.word == "when" and following and following[0].word in _AUXILIARIES:
            continue
        words: list[Token] = []
        pronouns = set()
        for other in following:
            word = other.word
            if word in _STOPS or (word in _TRIGGERS and words):
                break
            if word in _OURS | _MINE | _OTHERS and not words:
                pronouns.add(word)
            elif word[:1].isalnum() and content_words(word) and word not in _JOINTS:
                words.append(other)
        if words and not _is_time(words):
            clauses.append(_Clause(tuple(words), frozenset(pronouns)))
    return clauses


@lru_cache(maxsize=1024)
def _event(name: str) -> _Event:
    name_words = _name_words(name)
    words = frozenset(map(_meaning, name_words))
    known = words & _GROUPS
    return _Event(
        words,
        heads=known or frozenset(map(_meaning, name_words[-1:])),
        yearly=frozenset(_YEARLY[meaning] for meaning in known if meaning in _YEARLY),
    )


def _is_time(words: Sequence[Token]) -> bool:
    first = words[0].word
    return (
        first in _TIMES
        or first[0].isdigit()
        or holiday_at([token.word for token in words], 0, "US") is not None
    )


def _match(clause: _Clause, milestone: Milestone, person_id: str | None) -> _Match:
    """Match the words after *since* with a milestone.

    All words up to the one that names the event must occur in the milestone. A later capitalised
    word that does not occur makes it another event: "since we moved to Denver".
    """
    event = _event(_name_of(milestone))
    heads = event.heads | event.yearly
    text = _WORD.findall(milestone.text.lower())
    milestone_meanings = {*map(_meaning, text), *event.words, *event.yearly}
    words: list[str] = []
    matched: set[str] = set()
    for token in clause.words:
        meaning = _meaning(token.word)
        if meaning in milestone_meanings:
            words.append(token.word)
            matched.add(meaning)
        elif token.capitalised or (heads and not matched & heads):
            return _Match()
        else:
            break
    names_event = matched & heads if heads else len(words) > 1
    names_subject = milestone.fact_key is None or event.words - _GROUPS <= matched
    if not names_event or not names_subject:
        return _Match()
    if not _concerns_same_people(clause, milestone, text, matched, person_id):
        return _Match()
    return _Match(tuple(words), is_yearly=bool(matched & event.yearly))


def _concerns_same_people(
    clause: _Clause,
    milestone: Milestone,
    text: Sequence[str],
    matched: Collection[str],
    person_id: str | None,
) -> bool:
    """Whether the pronouns of the question fit the people of the milestone."""
    if clause.pronouns & _OTHERS:
        return False
    ours = milestone.fact_key is not None or not (_OURS | _MINE).isdisjoint(text)
    if "spouse" in matched or clause.pronouns & _MINE:
        is_own = milestone.author in {person_id, None}
        return is_own and (ours or not _RELATIVES.isdisjoint(matched))
    if clause.pronouns & _OURS:
        return ours or (bool(text) and _meaning(text[0]) in _GROUPS)
    return True


def _name_of(milestone: Milestone) -> str:
    return milestone.event_type or milestone.fact_key or ""


def _days(
    milestone: Milestone, is_yearly: bool, zone: dt.tzinfo | None, today: dt.date
) -> tuple[dt.date, ...]:
    if milestone.fact_key is None:
        moment = milestone.occurred_at
        if moment is None:
            return ()
        day = (moment.astimezone(zone) if moment.tzinfo else moment).date()
        return _yearly(day.month, day.day, day.year, today) if is_yearly else (day,)
    date = _date_of(milestone.fact_value or "")
    if date is None:
        return ()
    year, month, number = date
    if {_meaning(word) for word in _name_words(milestone.fact_key)} & {"birthday", "anniversary"}:
        return _yearly(month, number, year, today)
    return (dt.date(year, month, number),) if year else ()


def _yearly(month: int, number: int, since: int | None, today: dt.date) -> tuple[dt.date, ...]:
    """Return a day in each year around today; 29 February becomes the 28th."""
    first = max(today.year - _YEARS_BACK, (since or 1) + 1, 2)
    years = range(first, min(today.year + 2, dt.MAXYEAR))
    return tuple(
        dt.date(year, month, number if _is_day(year, month, number) else 28) for year in years
    )


def _date_of(value: str) -> tuple[int | None, int, int] | None:
    """Parse ``2019-05-03``, ``--05-03``, ``3 May``, ``May 3, 2019``: year, month and day.

    >>> _date_of("May 3rd, 2019"), _date_of("--05-03"), _date_of("in spring")
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
    return (year, month, number) if _is_day(year or 2024, month, number) else None


def _is_day(year: int, month: int, number: int) -> bool:
    try:
        dt.date(year, month, number)
    except ValueError:
        return False
    return True


def _name_words(name: str) -> list[str]:
    """Split ``birthday_priya`` or ``house-move``; a date of birth is a birthday."""
    words = _WORD.findall(name.lower())
    if "birth" in words and "date" in words:
        return [word for word in words if word not in {"birth", "date", "of"}] + ["birthday"]
    return [word for word in words if content_words(word) and word != "date"]


def forms_of_event(word: str) -> str:
    """Return the words for the kind of event that a word names, apart by blanks; or none.

    >>> forms_of_event("married"), forms_of_event("cake")
    ('wedding wed married marry marriage', '')
    """
    return _FORMS_OF.get(_GROUP_OF.get(stem(word.lower()), ""), "")


@lru_cache(maxsize=4096)
def _meaning(word: str) -> str:
    """Map the forms of an event word, and the words for a relative, to one form."""
    lower = word.lower()
    return _KIN.get(lower) or _GROUP_OF.get(stem(lower)) or stem(lower)
