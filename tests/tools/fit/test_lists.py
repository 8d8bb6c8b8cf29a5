"""Fitting what the scores of a list mean."""

from __future__ import annotations

import numpy as np
import pytest

from family_recall.apps.evaluation import load_dataset
from family_recall.english.breadth import read_breadth
from tools.fit.lists import HOUSEHOLDS, Asked, fit, logistic, measure_left_out, more_lists


def test_a_logistic_model_of_a_constant_is_its_share() -> None:
    """Three of four: the logit ln 3 = 1.0986."""
    (intercept,) = logistic(np.ones((4, 1)), np.array([True, True, True, False]))

    assert intercept == pytest.approx(1.0986, abs=0.01)


def test_what_was_never_a_candidate_counts() -> None:
    """Two of three that belong were among the candidates: half as many again were not."""
    asked = Asked(np.array([0.9, 0.5, 0.1]), np.array([True, True, False]), 3)
    whole = Asked(np.array([0.8, 0.2]), np.array([True, False]), 1)

    model = fit([asked, asked])

    assert model.unseen == pytest.approx(0.5)
    assert model.per_score > 0.0
    assert measure_left_out({"a": [asked, whole], "b": [asked, whole]})["a"]["found"] == 0.8333


@pytest.mark.parametrize("name", sorted(p.name for p in HOUSEHOLDS.iterdir() if p.is_dir()))
def test_the_lists_hold_together(name: str) -> None:
    """Each refers to memories of its household; nearly all are read as asking for all."""
    folder = HOUSEHOLDS / name / "dev"
    known = {memory.id for memory in load_dataset(folder).memories}

    lists = more_lists(folder / "lists.jsonl")

    assert all(set(query.gold) <= known for query in lists)
    n_read = sum(read_breadth(query.text).breadth != "one" for query in lists)
    assert n_read >= 0.85 * len(lists)
