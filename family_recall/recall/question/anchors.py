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

from family_recall.english import events
from family_recall.english.times import Anchor
from family_recall.store.snapshot import Snapshot
from family_recall.store.timeline_queries import Milestone
from family_recall.types import Scope

MAX_MILESTONES = 200
"""Milestones loaded for one question at most."""

_YEARS_BACK = 12


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
    clauses = events.event_clauses(question)
    if not clauses:
        return ()
    meanings = {events.event_word(token.word) for clause in clauses for token in clause.words}
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


@lru_cache(maxsize=1024)
def _event(name: str) -> _Event:
    name_words = events.words_of_name(name)
    words = frozenset(map(events.event_word, name_words))
    known = words & events.KINDS_OF_EVENT
    return _Event(
        words,
        heads=known or frozenset(map(events.event_word, name_words[-1:])),
        yearly=frozenset(events.YEARLY[meaning] for meaning in known if meaning in events.YEARLY),
    )


def _match(clause: events.EventClause, milestone: Milestone, person_id: str | None) -> _Match:
    """Match the words after *since* with a milestone.

    All words up to the one that names the event must occur in the milestone. A later capitalised
    word that does not occur makes it another event: "since we moved to Denver".
    """
    event = _event(_name_of(milestone))
    heads = event.heads | event.yearly
    text = re.findall(r"[^\W_]+", milestone.text.lower())
    milestone_meanings = {*map(events.event_word, text), *event.words, *event.yearly}
    words: list[str] = []
    matched: set[str] = set()
    for token in clause.words:
        meaning = events.event_word(token.word)
        if meaning in milestone_meanings:
            words.append(token.word)
            matched.add(meaning)
        elif token.capitalised or (heads and not matched & heads):
            return _Match()
        else:
            break
    names_event = matched & heads if heads else len(words) > 1
    names_subject = milestone.fact_key is None or event.words - events.KINDS_OF_EVENT <= matched
    if not names_event or not names_subject:
        return _Match()
    if not _concerns_same_people(clause, milestone, text, matched, person_id):
        return _Match()
    return _Match(tuple(words), is_yearly=bool(matched & event.yearly))


def _concerns_same_people(
    clause: events.EventClause,
    milestone: Milestone,
    text: Sequence[str],
    matched: Collection[str],
    person_id: str | None,
) -> bool:
    """Whether the pronouns of the question fit the people of the milestone."""
    if clause.pronouns & events.OTHERS:
        return False
    ours = milestone.fact_key is not None or not (events.OURS | events.MINE).isdisjoint(text)
    if any(map(events.is_spouse, matched)) or clause.pronouns & events.MINE:
        is_own = milestone.author in {person_id, None}
        return is_own and (ours or any(map(events.is_relative, matched)))
    if clause.pronouns & events.OURS:
        return ours or (bool(text) and events.event_word(text[0]) in events.KINDS_OF_EVENT)
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
    date = events.date_in(milestone.fact_value or "")
    if date is None:
        return ()
    year, month, number = date
    if {events.event_word(word) for word in events.words_of_name(milestone.fact_key)} & {
        "birthday",
        "anniversary",
    }:
        return _yearly(month, number, year, today)
    return (dt.date(year, month, number),) if year else ()


def _yearly(month: int, number: int, since: int | None, today: dt.date) -> tuple[dt.date, ...]:
    """Return a day in each year around today; 29 February becomes the 28th."""
    first = max(today.year - _YEARS_BACK, (since or 1) + 1, 2)
    years = range(first, min(today.year + 2, dt.MAXYEAR))
    return tuple(
        dt.date(year, month, number if events.is_day(year, month, number) else 28) for year in years
    )
