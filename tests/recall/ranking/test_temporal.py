"""How surely a memory is in the time asked about, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from family_recall.recall.dataflow import QueryPlan
from family_recall.recall.ranking.temporal import DAY_S, temporal_match
from family_recall.store.memory_queries import MentionedTimes, Rows
from family_recall.store.words import row_words

ASKED = QueryPlan(timespan_s=(10 * DAY_S, 11 * DAY_S), timespan_certainty=0.9)
"""The tenth day."""


def rows(*occurred_days: float) -> Rows:
    """Return memories 1, 2, … that occurred on these days; NaN for one without a moment."""
    n = len(occurred_days)
    ones = (1.0,) * n
    return Rows(
        ids=np.arange(1, n + 1),
        doc_ids=tuple(map(str, range(n))),
        authors=(None,) * n,
        kinds=("episode",) * n,
        categories=("other",) * n,
        occurred_s=np.array(occurred_days) * DAY_S,
        importance=ones,
        valence=ones,
        arousal=ones,
        n_words=np.ones(n, np.int64),
        cues=np.zeros(n, np.int64),
        sessions=np.arange(n),
        contexts=np.zeros(n, np.int64),
        words=row_words([b""] * n),
    )


def mentions(*times: tuple[int, float, float, float]) -> MentionedTimes:
    """Return mentioned times as (memory, first day, last day, certainty)."""
    ids, starts, ends, certainty = zip(*times, strict=True)
    return MentionedTimes(
        np.array(ids, np.int64),
        np.array(starts) * DAY_S,
        np.array(ends) * DAY_S,
        np.array(certainty, np.float32),
    )


def test_what_occurred_then_counts_and_fades_around() -> None:
    """Inside 0.9; one length away half of that, two lengths a quarter; without a moment nothing."""
    match = temporal_match(rows(10.5, 12.0, 8.0, math.nan), ASKED)

    assert match.tolist() == pytest.approx([0.9, 0.45, 0.225, 0.0])


def test_what_is_told_of_that_time_counts_by_the_share_that_lies_in_it() -> None:
    """A day of two is half; said long before, it counts by what it mentions alone."""
    told = mentions((1, 10, 11, 0.8), (2, 10, 12, 0.8), (2, 3, 4, 0.9))
    match = temporal_match(rows(-90.0, -90.0), ASKED, told)

    assert match.tolist() == pytest.approx([0.9 * 0.8, 0.9 * 0.5 * 0.8], abs=1e-6)


def test_of_a_time_to_come_what_was_said_just_before_is_no_part() -> None:
    """Asked on the ninth day about the tenth, what was said today is not near it."""
    ahead = ASKED._replace(ahead=True)
    match = temporal_match(rows(9.9, 10.5), ahead, now_s=9.95 * DAY_S)

    assert match.tolist() == pytest.approx([0.0, 0.9])


def test_of_all_that_is_to_come_the_nearest_counts_most() -> None:
    """Sixty days later counts half."""
    ahead = QueryPlan(timespan_s=(10 * DAY_S, math.inf), timespan_certainty=1.0, ahead=True)
    match = temporal_match(
        rows(0.0, 0.0), ahead, mentions((1, 10, 11, 1.0), (2, 70, 71, 1.0)), now_s=10 * DAY_S
    )

    assert match.tolist() == pytest.approx([1.0, 0.5])


def test_the_more_a_question_says_the_less_its_time_does() -> None:
    """With sixteen terms half as much as with eight; half as much if it may be a topic."""
    terms = tuple((f"word{n}", f"word{n}") for n in range(16))
    wordy = ASKED._replace(terms=terms)
    unsure = ASKED._replace(timespan_certainty=0.6)

    assert temporal_match(rows(10.5), wordy).tolist() == pytest.approx([0.45])
    assert temporal_match(rows(10.5), unsure).tolist() == pytest.approx([0.3])


def test_a_time_that_is_open_says_little() -> None:
    """Nearly everything was said *by June*: 0.3 of a time with two ends."""
    by_then = ASKED._replace(timespan_s=(-math.inf, 11 * DAY_S))

    assert temporal_match(rows(3.0), by_then).tolist() == pytest.approx([0.27])


def test_without_a_time_nothing_matches() -> None:
    """Whatever memories mention."""
    match = temporal_match(rows(10.5), QueryPlan(), mentions((1, 10, 11, 1.0)))

    assert match.tolist() == [0.0]


def test_of_two_times_that_may_be_meant_the_better_counts() -> None:
    """Day 10 or day 40: what occurred on day 10 and what mentions day 40 count alike."""
    either = ASKED._replace(other_timespan_s=(40 * DAY_S, 41 * DAY_S))
    told = mentions((2, 40.0, 41.0, 1.0))

    match = temporal_match(rows(10.5, 9.9, 20.0), either, told, now_s=30 * DAY_S)

    assert match[:2].tolist() == pytest.approx([0.9, 0.9])
    assert match[2] < 0.01
    assert temporal_match(rows(10.5, 9.9), ASKED, told)[1] < 0.9
