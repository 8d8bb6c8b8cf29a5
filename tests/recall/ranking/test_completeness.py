"""How complete a list is said to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.recall.ranking.calibration import ListModel, completeness, list_model


def test_completeness_is_the_expected_share() -> None:
    """Four candidates, each as likely as not, two shown: 1 of 2; with a tenth unseen 1 of 2.2."""
    scores = np.zeros(4, np.float32)

    assert completeness(scores, 2, ListModel(0.0, 0.0, 0.0, 0.0)) == 0.5
    assert completeness(scores, 2, ListModel(0.0, 0.0, 0.0, 0.1)) == pytest.approx(1 / 2.2)


def test_a_lower_rank_is_less_likely_to_belong() -> None:
    """Logits 0 and −ln 2 give 1/2 and 1/3, so the first holds 0.5 of 0.8333: three fifths."""
    model = ListModel(0.0, 0.0, -1.0, 0.0)

    assert completeness(np.zeros(2, np.float32), 1, model) == pytest.approx(0.6)


@given(
    scores=st.lists(st.floats(0, 2, width=32), min_size=1, max_size=40),
    shown=st.integers(0, 50),
)
def test_more_results_are_never_less_complete(scores: list[float], shown: int) -> None:
    """And never more than all of it, by the shipped constants, since something is never found."""
    model = list_model()
    ordered = np.array(sorted(scores, reverse=True), np.float32)

    few, more = (completeness(ordered, n, model) for n in (shown, shown + 1))

    assert 0.0 <= few <= more < 1.0
    assert (few == 0.0) == (shown == 0)
