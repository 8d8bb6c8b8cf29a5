"""How much of its score a stored question loses."""

from __future__ import annotations

import numpy as np
import pytest

from family_recall.recall.ranking.ranker import MARGIN
from family_recall.recall.ranking.replies import withheld


def lost(score: list[float], only_asks: list[bool], echoes: list[bool]) -> list[float]:
    """Return what each candidate loses."""
    flags = np.array([only_asks, echoes], np.bool_)
    return [float(each) for each in withheld(np.array(score), flags[0], flags[1])]


def test_a_question_loses_a_share() -> None:
    """15 % of 0.4 is 0.06; a statement loses nothing."""
    assert lost([0.8, 0.4], [False, True], [False, False]) == pytest.approx([0.0, 0.06])


def test_an_echo_falls_behind_the_best_statement() -> None:
    """From 0.9 to a margin below 0.5, the second echo a margin below that."""
    expected = [0.4 + MARGIN, 0.3 + 2 * MARGIN, 0.0]
    flags = [True, True, False]

    assert lost([0.9, 0.8, 0.5], flags, flags) == pytest.approx(expected)


def test_echoes_alone_keep_a_tenth() -> None:
    """With nothing else there 0.1 of the best score is left, so that no answer is sure."""
    assert lost([0.8], [True], [True]) == pytest.approx([0.72 + MARGIN])


def test_an_echo_far_below_loses_the_share_alone() -> None:
    """It is behind the best statement already."""
    assert lost([0.9, 0.2], [False, True], [False, True]) == pytest.approx([0.0, 0.03])
