"""Comparisons: which of two is better, and when that is undecided."""

from __future__ import annotations

import pytest

from family_recall.apps.evaluation.comparison import compare, sentence
from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.errors import DatasetError


def outcomes(*rankings: str, gold: str = "a", category: str = "plain") -> list[Outcome]:
    """Return an outcome for each ranking, its memories called by single letters."""
    return [
        Outcome(f"q{at}", category, tuple(gold), tuple(ranking), "ok", 0.5, 1.0)
        for at, ranking in enumerate(rankings)
    ]


def test_the_interval_is_that_of_the_differences() -> None:
    """Of 400 questions half gain 1/2 of MRR (rank 2 → 1) and half nothing.

    Mean 0.25, standard deviation 0.25: 0.25 ± 1.96 · 0.25 / √400 = 0.2255 to 0.2745. By
    themselves the two are far wider: their own spread has no part in it.
    """
    before = outcomes(*["ba", "xyz"] * 200)
    after = outcomes(*["ab", "xyz"] * 200)

    compared = compare(before, after, seed=0)

    difference = compared.overall.difference["mrr@10"]
    assert difference.value == 0.25
    assert difference.low == pytest.approx(0.2255, abs=0.004)
    assert difference.high == pytest.approx(0.2745, abs=0.004)
    assert compared.overall.first["mrr@10"] == 0.25
    assert compared.overall.second["mrr@10"] == 0.5
    assert (compared.overall.n, compared.n_changed, compared.n_left_out) == (400, 200, 0)
    assert compared.overall.verdict["mrr@10"] == "better"


def test_turning_the_two_round_turns_the_difference_round() -> None:
    """What is better one way is worse by as much the other way."""
    before, after = outcomes(*["ba", "xyz"] * 50), outcomes(*["ab", "xyz"] * 50)

    there, back = compare(before, after, seed=3).overall, compare(after, before, seed=3).overall

    assert back.difference["ndcg@10"].value == -there.difference["ndcg@10"].value
    assert (there.verdict["ndcg@10"], back.verdict["ndcg@10"]) == ("better", "worse")


def test_the_same_is_undecided() -> None:
    """A difference of nothing, and a gain that one other question undoes, are no verdict."""
    same = compare(outcomes("ab", "ba"), outcomes("ab", "ba"), seed=0)
    mixed = compare(outcomes("ab", "ba", "xa"), outcomes("ba", "ab", "xa"), seed=0)

    assert same.n_changed == 0
    assert same.overall.verdict["ndcg@10"] == mixed.overall.verdict["ndcg@10"] == "undecided"
    assert sentence(mixed.overall, "old", "new", "mrr@10").startswith(
        "it is undecided whether new is better than old: mrr@10 +0.000, 95 % interval -0."
    )


def test_a_plain_sentence_says_which_is_better() -> None:
    """It names both, the measure, the interval and the number of questions."""
    row = compare(outcomes(*["ba"] * 9), outcomes(*["ab"] * 9), seed=0).overall

    assert sentence(row, "old", "new", "mrr@10") == (
        "new is better than old: mrr@10 +0.500, 95 % interval +0.500 to +0.500, 9 questions"
    )
    assert sentence(row, "old", "new", "recall@10").startswith("it is undecided whether")


def test_categories_are_compared_by_themselves() -> None:
    """One kind of question gains what another loses; each has a row."""
    hard = outcomes("ba", "ba", category="hard")
    easy = [Outcome("p", "plain", ("a",), ("a", "b"), "ok", 0.5, 1.0)]
    harder = outcomes("ab", "ab", category="hard")
    worse = [Outcome("p", "plain", ("a",), ("b", "a"), "ok", 0.5, 1.0)]

    compared = compare([*hard, *easy], [*harder, *worse], seed=0)

    assert list(compared.by_category) == ["hard", "plain"]
    assert compared.by_category["hard"].difference["mrr@10"].value == 0.5
    assert compared.by_category["plain"].difference["mrr@10"].value == -0.5


def test_only_questions_that_both_were_asked_count() -> None:
    """Of two and three questions one is in common with gold; one has none, one is alone."""
    both = outcomes("ab", "ab")
    second = [both[0], Outcome("q1", "plain", (), ("a",), "ok", 0.5, 1.0)]

    compared = compare(both, second, seed=0)

    assert (compared.overall.n, compared.n_left_out) == (1, 1)


def test_what_cannot_be_compared_is_refused() -> None:
    """Nothing in common, or other gold for the same question."""
    with pytest.raises(DatasetError, match="no question with gold in common"):
        compare(outcomes("ab"), [], seed=0)
    with pytest.raises(DatasetError, match="'q0' has different gold"):
        compare(outcomes("ab"), outcomes("ab", gold="b"), seed=0)
