"""Find times that a question names by an event of the household: "since we moved".

A milestone ("We moved into the house on Elm Street") means its day; a dated fact (a birthday, an
anniversary) that day of every year. Only memories the asker may see are read, and only if the
question holds a word such as *since* or *when* that is not followed by a date.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence

from family_recall.english import events
from family_recall.english.text import runs_in
from family_recall.english.times import Anchor
from family_recall.store.timeline_queries import Milestone
from family_recall.store.transaction import Snapshot
from family_recall.types import Scope

MAX_MILESTONES = 200
"""Milestones loaded for one question at most."""

_YEARS_BACK = 12


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
        event = events.event_named(event_type or fact_key or "")
        if not event.words:
            return may_match_by_text
        return not meanings.isdisjoint(event.words | event.yearly)

    milestones = snapshot.milestones(scope, is_candidate, MAX_MILESTONES)
    today = dt.datetime.fromtimestamp(scope.as_of_s, zone).date()
    anchors: list[Anchor] = []
    for clause in clauses:
        matches = [(event, *_match(clause, event, scope.person_id)) for event in milestones]
        most = max((len(words) for _, words, _ in matches), default=0)
        best = {
            (words, days)
            for event, words, is_yearly in matches
            if words and len(words) == most and (days := _days(event, is_yearly, zone, today))
        }
        if len(best) == 1:
            words, days = best.pop()
            anchors += [Anchor(" ".join(words), day, day + dt.timedelta(days=1)) for day in days]
    return tuple(dict.fromkeys(anchors))


def _match(
    clause: events.EventClause, milestone: Milestone, person_id: str | None
) -> tuple[tuple[str, ...], bool]:
    """Return the words after *since* that name a milestone, or none; and if each year's is meant.

    All words up to the one that names the event must occur in the milestone. A later capitalised
    word that does not occur makes it another event: "since we moved to Denver".
    """
    event = events.event_named(milestone.event_type or milestone.fact_key or "")
    heads = event.heads | event.yearly
    text = runs_in(milestone.text.lower())
    known = {*map(events.event_word, text), *event.words, *event.yearly}
    words: list[str] = []
    matched: set[str] = set()
    for token in clause.words:
        meaning = events.event_word(token.word)
        if meaning in known:
            words.append(token.word)
            matched.add(meaning)
        elif token.capitalised or (heads and not matched & heads):
            return (), False
        else:
            break
    names_event = matched & heads if heads else len(words) > 1
    names_subject = milestone.fact_key is None or event.words - events.KINDS_OF_EVENT <= matched
    if not (names_event and names_subject):
        return (), False
    if not _concerns_same_people(clause, milestone, text, matched, person_id):
        return (), False
    return tuple(words), bool(matched & event.yearly)


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
    if events.SPOUSE in matched or clause.pronouns & events.MINE:
        is_own = milestone.author in {person_id, None}
        return is_own and (ours or any(word.startswith(events.RELATIVE) for word in matched))
    if clause.pronouns & events.OURS:
        return ours or (bool(text) and events.event_word(text[0]) in events.KINDS_OF_EVENT)
    return True


def _days(
    milestone: Milestone, is_yearly: bool, zone: dt.tzinfo | None, today: dt.date
) -> tuple[dt.date, ...]:
    if milestone.fact_key is None:
        moment = milestone.occurred_at
        if moment is None:
            return ()
        day = (moment.astimezone(zone) if moment.tzinfo else moment).date()
        date: tuple[int | None, int, int] | None = (day.year, day.month, day.day)
    else:
        date = events.date_in(milestone.fact_value or "")
        words = events.event_named(milestone.fact_key).words
        is_yearly = not words.isdisjoint(events.YEARLY.values())
    if date is None:
        return ()
    year, month, number = date
    if not is_yearly:
        return (dt.date(year, month, number),) if year else ()
    first = max(today.year - _YEARS_BACK, (year or 1) + 1, 2)
    return tuple(
        # 29 February becomes the 28th.
        dt.date(each, month, number if events.is_day(each, month, number) else 28)
        for each in range(first, min(today.year + 2, dt.MAXYEAR))
    )
