"""Segments: outcomes by kind of question, and what a score is made of."""

from __future__ import annotations

from typing import Any

import pytest

from family_recall.apps.evaluation.measures import Interval
from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.apps.evaluation.report import (
    length_of,
    mean_shares,
    segmented,
    source_of_first_right,
)


def outcome(ranking: str, gold: str, **more: Any) -> Outcome:
    """Return an outcome whose memories are called by single letters."""
    known: dict[str, Any] = {"sources": tuple("lexical" for _ in ranking), **more}
    return Outcome("q", "plain", tuple(gold), tuple(ranking), "ok", 0.5, 1.0, **known)


def test_the_source_is_that_of_the_first_right_result() -> None:
    """Gold at ranks 2 and 3: what found the second counts, and nothing found is ``none``."""
    sources = ("lexical", "vector", "graph")

    assert source_of_first_right(outcome("xab", "ab", sources=sources)) == "vector"
    assert source_of_first_right(outcome("xyz", "ab", sources=sources)) == "none"


@pytest.mark.parametrize(
    ("n_words", "band"),
    [
        (0, "1-5 words"),
        (5, "1-5 words"),
        (6, "6-10 words"),
        (20, "11-20 words"),
        (21, "21+ words"),
    ],
)
def test_a_length_is_a_band_of_words(n_words: int, band: str) -> None:
    """Both ends belong to a band; longer questions have one too."""
    assert length_of(outcome("a", "a", n_words=n_words)) == band


def test_each_segment_is_measured_by_itself() -> None:
    """FACTUAL finds its gold first and last: MRR (1 + 1/3) / 2; HYBRID nothing; no gold, no row."""
    rows = segmented(
        [
            outcome("abc", "a", strategy="FACTUAL"),
            outcome("bca", "a", strategy="FACTUAL"),
            outcome("xyz", "a", strategy="HYBRID"),
            outcome("xyz", "", strategy="TIMELINE"),
        ],
        "strategy",
        seed=0,
    )

    assert list(rows) == ["FACTUAL", "HYBRID"]
    assert rows["FACTUAL"]["n"] == 2
    mrr = rows["FACTUAL"]["mrr@10"]
    assert isinstance(mrr, Interval)
    assert mrr.value == pytest.approx((1 + 1 / 3) / 2)


def test_shares_are_means_over_questions_with_a_result() -> None:
    """0.6 and 0.2 of bm25 are 0.4 in the mean; a feature that is missing once counts 0 there."""
    shares = mean_shares(
        [
            outcome("a", "a", shares={"bm25": 0.6, "cosine": 0.4}),
            outcome("a", "a", shares={"bm25": 0.2, "cosine": 0.3, "ppr": 0.5}),
            outcome("", "a"),
        ]
    )

    assert shares == pytest.approx({"bm25": 0.4, "cosine": 0.35, "ppr": 0.25})
    assert list(shares) == ["bm25", "cosine", "ppr"]
    assert sum(shares.values()) == pytest.approx(1.0)
    assert mean_shares([]) == {}
