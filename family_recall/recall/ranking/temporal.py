"""How time speaks for a memory: how recent it is, and how surely it is in the time asked about."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from family_recall.config import HALF_LIFE_DAYS
from family_recall.recall.dataflow import QueryContext, QueryPlan
from family_recall.store.memory_queries import MentionedTimes, Rows
from family_recall.store.scope_sql import among
from family_recall.store.words import stem_number
from family_recall.types import BoolArray, FloatArray, IdArray

DAY_S = 86_400.0
SOON_S = 60 * DAY_S
"""Of an open future a moment so far away matches half as well as one that is near."""

TERMS_BESIDE = 8
"""Search terms from which on a question says so much else that its time says less."""

OPEN_SHARE = 0.3
"""What a time that is open at one end says, as a share of one that is not."""

LIKELY = 0.7
"""A less certain time may be a topic, such as *for Saturday*."""

TIERS = {
    "fact": "facts",
    "profile": "facts",
    "milestone": "milestones",
    "episode": "episodes",
    "observation": "episodes",
    "summary": "episodes",
    "chunk": "episodes",
}
"""The tier each kind of memory belongs to (three-tier memory design)."""

LASTING = [kind for kind, tier in TIERS.items() if tier != "episodes"]
"""Kinds that do not fade, whatever their category: facts and milestones (the same design)."""

_NO_TIMES = np.zeros(0, np.float64)
NO_MENTIONS = MentionedTimes(np.zeros(0, np.int64), _NO_TIMES, _NO_TIMES, np.zeros(0, np.float32))


def recency_of(rows: Rows, context: QueryContext) -> FloatArray:
    """Return decay by category or by the profile's half-life; 1 for a question about the past."""
    profile = context.profile
    if context.plan.past_reference:
        return np.ones(len(rows), np.float32)
    if profile.half_life_days is None:
        days = [
            None if kind in LASTING else HALF_LIFE_DAYS[category]
            for kind, category in zip(rows.kinds, rows.categories, strict=True)
        ]
        half_life = np.array([np.inf if each is None else each for each in days])
    else:
        half_life = np.full(len(rows), profile.half_life_days)
    floor = np.where(evergreen(rows, context), profile.evergreen_floor, 0.0)
    # A memory without a moment counts as new.
    age_days = np.nan_to_num((context.now_s - rows.occurred_s) / DAY_S, nan=0.0)
    return half_life_decay(age_days, half_life, floor)


def half_life_decay(
    age_days: npt.NDArray[np.float64],
    half_life_days: npt.NDArray[np.float64] | float,
    floor: npt.NDArray[np.float64] | float = 0.0,
) -> FloatArray:
    """Return ``max(floor, 2^(−age / half-life))``; an infinite half-life never fades.

    Ages below 0 (the future) count as 0.

    >>> half_life_decay(np.array([0.0, 30.0, 60.0]), 30.0).tolist()
    [1.0, 0.5, 0.25]
    """
    age = np.maximum(age_days, 0.0)
    return np.maximum(floor, np.exp2(-age / half_life_days)).astype(np.float32)


PLACE = "place"
"""The label of a memory that is about a place."""

_PLACE_KEY = re.compile(r"(?:^|_)(?:address|location|\w*place|city|town|village|country)$")
"""Keys of facts about a place: *home_address*, *birthplace*."""


def evergreen(rows: Rows, context: QueryContext) -> BoolArray:
    """Return which rows (n,) never fade wholly.

    Those of the profile's categories, such as ``identity`` and ``family``; those that state a
    relation, *Otto lives in Pune* as *Otto is married to Hanna*; and those about a place, by
    their label or the key of the fact they state.
    """
    categories = context.profile.evergreen
    flags = np.array([category in categories for category in rows.categories], np.bool_)
    if categories and len(rows):
        snapshot, scope = context.snapshot, context.scope
        flags |= among(rows.ids, snapshot.stating_relations(rows.ids, scope))
        keys = snapshot.keys_and_labels(rows.ids, scope)
        places = [
            memory
            for memory, key, labels in keys
            if PLACE in labels or _PLACE_KEY.search(key or "")
        ]
        flags |= among(rows.ids, np.array(places, np.int64))
    return flags


def temporal_match(
    rows: Rows, plan: QueryPlan, mentions: MentionedTimes = NO_MENTIONS, *, now_s: float = -np.inf
) -> FloatArray:
    """Return how surely each memory is in the time asked about, (n,), in [0, 1].

    How much the time says of what is asked, times the better of two: 1 for a memory that occurred
    in it, halved per its length (a day at least) of distance; and, for a memory that mentions a
    time, the share of that time which lies in the span, times how surely it was read. What was
    said before a time to come is in it only by what it mentions. Where two times may be meant, the
    last March and the coming one, the one in which a memory is more surely counts.
    """
    if plan.timespan_s is None:
        return np.zeros(len(rows), np.float32)
    match = _match_of(rows, plan.timespan_s, mentions, now_s=now_s, ahead=plan.ahead)
    if plan.other_timespan_s is not None:
        other_ahead = plan.other_timespan_s[0] > now_s
        other = _match_of(rows, plan.other_timespan_s, mentions, now_s=now_s, ahead=other_ahead)
        match = np.maximum(match, other)
    # It says less where a question says much else, where it may be a topic and no time, and where
    # it is open at one end, as *by June* is.
    weight = plan.timespan_certainty * min(1.0, TERMS_BESIDE / max(len(plan.terms), 1))
    if plan.timespan_certainty < LIKELY:
        weight *= 0.5
    if np.isinf(plan.timespan_s).any() and not plan.ahead:
        weight *= OPEN_SHARE
    return (weight * match).astype(np.float32)


def _match_of(
    rows: Rows,
    span_s: tuple[float, float],
    mentions: MentionedTimes,
    *,
    now_s: float,
    ahead: bool,
) -> npt.NDArray[np.float64]:
    """Return how surely each memory is in an interval, by when it occurred and what it mentions."""
    start, end = span_s
    if ahead:
        occurs = rows.occurred_s >= max(start, now_s)
        match = np.where(occurs & (rows.occurred_s < end), 1.0, 0.0)
    else:
        length = max(end - start, DAY_S) if np.isfinite(end - start) else 30 * DAY_S
        away = np.maximum(np.maximum(start - rows.occurred_s, rows.occurred_s - end), 0.0)
        match = np.nan_to_num(np.exp2(-away / length), nan=0.0)
    if len(mentions.ids):
        # The share of each mentioned time that lies in the interval, times its certainty.
        inside = np.minimum(mentions.end_s, end) - np.maximum(mentions.start_s, start)
        share = np.maximum(inside, 0.0) / (mentions.end_s - mentions.start_s)
        if ahead and np.isinf(end):
            share = share * np.exp2(-np.maximum(mentions.start_s - start, 0.0) / SOON_S)
        at = np.searchsorted(rows.ids, mentions.ids)
        np.maximum.at(match, at, share * mentions.certainty)
    return match


_LIFE_STEMS = (
    "born birth birthdai babi twin wed marri marriag engag propos honeymoon divorc di death funer"
    " buri pass ash graduat promot retir job hire sack redund surgeri oper hospit ambul diagnos"
    " accid crash broke broken fractur pregnant won award prize medal exam offer adopt licenc leas"
    " mortgag settlement burglari flood fire stolen trophi scholarship championship"
).split()
"""Stems of words that tell of what a family remembers of a week, and not of its dinners."""

_TOLD = 0.6
"""How much a word for such an event counts beside a milestone, which somebody marked as one."""


@functools.cache
def _life_words() -> npt.NDArray[np.uint32]:
    return numbered(_LIFE_STEMS)


def mattering(rows: Rows, plan: QueryPlan) -> FloatArray | None:
    """Return how much each memory mattered, (n,) in [0, 1], where nothing but a time is asked.

    Half of it is the importance as stored. The other half is 1 for a milestone, and 0.6 for what
    tells of a life event in its own words. None where a question asks for something.
    """
    if not plan.about_time_alone:
        return None
    event = marked(rows, rows.words.rows_with(_life_words(), rows.words.in_body), _TOLD)
    event[[kind == "milestone" for kind in rows.kinds]] = 1.0
    importance = np.array(rows.importance, np.float32)
    mattered: FloatArray = ((importance + event) / 2.0).astype(np.float32)
    return mattered


def of_kind(rows: Rows, plan: QueryPlan) -> FloatArray | None:
    """Return 1 for each memory of the kind of event a question asks for, (n,); None if for none.

    A wedding is one where the question says *married*. The words of its text count, and those of
    its header, in which its event type stands.
    """
    if not plan.event_stems:
        return None
    return marked(rows, rows.words.rows_with(numbered(plan.event_stems), rows.words.in_own()))


def marked(rows: Rows, which: IdArray, value: float = 1.0) -> FloatArray:
    """Return a value for some of the rows, and 0 for the others: (n,)."""
    marks = np.zeros(len(rows), np.float32)
    marks[which] = value
    return marks


def numbered(stems: Iterable[str]) -> npt.NDArray[np.uint32]:
    """Return the numbers of some stems."""
    return np.array([stem_number(stem) for stem in stems], np.uint32)
