"""Intervals: how far a mean would move with other questions."""

from __future__ import annotations

import numpy as np
import pytest

from family_recall.apps.evaluation.measures import bootstrap_means


def test_the_interval_is_that_of_the_central_limit_theorem() -> None:
    """400 coin tosses, half of them heads: 0.5 ± 1.96 · 0.5 / √400 = 0.451 to 0.549."""
    tosses = np.tile([[0.0], [1.0]], (200, 1))

    (interval,) = bootstrap_means(tosses, seed=0, n_resamples=4000)

    assert interval.value == 0.5
    assert interval.low == pytest.approx(0.451, abs=0.004)
    assert interval.high == pytest.approx(0.549, abs=0.004)


def test_the_same_seed_gives_the_same_interval() -> None:
    """Repeating an experiment repeats its intervals; another seed moves them a little."""
    values = np.random.default_rng(7).random((50, 2))

    assert bootstrap_means(values, seed=1) == bootstrap_means(values, seed=1)
    assert bootstrap_means(values, seed=1) != bootstrap_means(values, seed=2)


def test_columns_keep_apart() -> None:
    """A measure that never varies has no width, whatever its neighbour does."""
    values = np.column_stack([np.ones(30), np.arange(30) / 30.0])

    steady, moving = bootstrap_means(values, seed=0)

    assert (steady.low, steady.value, steady.high) == (1.0, 1.0, 1.0)
    assert moving.low < moving.value < moving.high


def test_no_question_has_no_interval() -> None:
    """An empty experiment is refused rather than reported as zero."""
    with pytest.raises(ValueError, match="at least one question"):
        bootstrap_means(np.empty((0, 3)), seed=0)
