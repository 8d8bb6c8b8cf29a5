"""Taking over: a candidate is placed directly above another one, and its score says so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.recall.dataflow import Ranking, by_score
from family_recall.recall.ranking.features import FEATURES, INDEX, absent
from family_recall.recall.ranking.profiles import profiles
from family_recall.recall.ranking.ranker import MARGIN, contributions, takes_over, weights_of
from family_recall.store.memory_queries import Rows
from family_recall.store.words import row_words


def ranking_of(*bm25: float, without: tuple[int, ...] = ()) -> Ranking:
    """Make a ranking in ``default`` whose rows have these values of one feature, no other."""
    n = len(bm25)
    rows = Rows(
        ids=np.arange(1, n + 1),
        doc_ids=tuple(f"m{row}" for row in range(n)),
        authors=(None,) * n,
        kinds=("episode",) * n,
        categories=("general",) * n,
        occurred_s=np.full(n, np.nan),
        importance=(0.5,) * n,
        valence=(0.0,) * n,
        arousal=(0.0,) * n,
        n_words=np.ones(n, np.int64),
        cues=np.zeros(n, np.int64),
        sessions=np.arange(n),
        contexts=np.zeros(n, np.int64),
        words=row_words([b""] * n),
    )
    features = absent(n)
    features[:, INDEX["bm25_squared"]] = np.square(bm25)
    weights = weights_of(profiles()["default"])
    score = features.dot(weights)
    order = [row for row in by_score(score, rows.doc_ids).tolist() if row not in without]
    return Ranking(rows, features, weights, score, np.array(order, np.int64))


def inherited(ranking: Ranking, row: int) -> float:
    """Return what a row inherited."""
    return float(ranking.features[row, INDEX["inherited"]])


def test_a_row_inherits_the_score_it_lacks() -> None:
    """By the weight of words squared: from .1 to just above .9 it lacks it × (.81 − .01)."""
    weight = profiles()["default"].weights["bm25_squared"]
    ranking = takes_over(ranking_of(0.9, 0.5, 0.1), [(2, 0)])

    assert ranking.order.tolist() == [2, 0, 1]
    assert inherited(ranking, 2) == pytest.approx(0.8 * weight + MARGIN, abs=1e-6)
    parts = {
        part.feature: part.amount for part in contributions(ranking.features[2], ranking.weights)
    }
    assert sum(parts.values()) == pytest.approx(0.81 * weight + MARGIN, abs=1e-6)
    assert "inherited" not in {
        part.feature for part in contributions(ranking.features[0], ranking.weights)
    }


def test_a_row_that_is_above_already_stays() -> None:
    """Nothing moves, and nothing is added: the very same ranking comes back."""
    ranking = ranking_of(0.9, 0.5, 0.1)

    assert takes_over(ranking, [(0, 2), (1, 1)]) is ranking
    assert takes_over(ranking, []) is ranking


def test_a_chain_stands_newest_first() -> None:
    """Row 1 goes above row 0, then row 2 above row 1: the last to come is first."""
    ranking = takes_over(ranking_of(0.9, 0.5, 0.1), [(1, 0), (2, 1)])

    assert ranking.order.tolist() == [2, 1, 0]


def test_two_rows_above_the_same_one_do_not_tie() -> None:
    """The later stands above the earlier, a margin apart, whatever their ids."""
    ranking = takes_over(ranking_of(0.9, 0.5, 0.1), [(2, 0), (1, 0)])

    assert ranking.order.tolist() == [1, 2, 0]
    assert ranking.score[1] - ranking.score[2] == pytest.approx(MARGIN, abs=1e-6)


def test_rows_out_of_the_order_do_not_come_back() -> None:
    """A near copy that another one represents stays out, and nothing goes above it."""
    ranking = ranking_of(0.9, 0.5, 0.4, 0.1, without=(1,))

    assert takes_over(ranking, [(1, 0), (3, 1)]) is ranking
    assert takes_over(ranking, [(3, 0)]).order.tolist() == [3, 0, 2]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_moves_scores_add_up_and_set_the_order(data: st.DataObject) -> None:
    """After any moves each score is its contributions' sum, order follows it, none is lost."""
    n = data.draw(st.integers(2, 12))
    values = data.draw(st.lists(st.floats(0, 1, width=32), min_size=n, max_size=n))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    moves = data.draw(st.lists(pairs, max_size=8))
    before = ranking_of(*values)
    ranking = takes_over(before, moves)

    assert sorted(ranking.order.tolist()) == list(range(n))
    parts = [contributions(values, ranking.weights) for values in ranking.features]
    scores = [sum(part.amount for part in of_row) for of_row in parts]
    assert scores == pytest.approx(ranking.score.tolist(), abs=1e-6)
    for upper, lower in itertools.pairwise(ranking.order.tolist()):
        assert scores[upper] >= scores[lower] - 1e-6
    place = {row: at for at, row in enumerate(ranking.order.tolist())}
    if moves and moves[-1][0] != moves[-1][1]:
        row, above = moves[-1]
        assert place[row] < place[above]
    highest = {feature.name: feature.high for feature in FEATURES}["inherited"]
    assert all(0.0 <= inherited(ranking, row) <= highest for row in range(n))
