"""tools/train/score_embedder.py: an embedder and sets in, how it ranks alone out."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest

from tests.tools.train.test_mine_negatives import data
from tools.train.score_embedder import Embedded, late_interaction, main

if TYPE_CHECKING:
    from pathlib import Path


def floats(values: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return an array of the type that models return."""
    return np.array(values, dtype=np.float32)


def test_late_interaction_by_hand() -> None:
    """Weights 3 and 1, best cosines 0.6 and 1.0."""
    question = Embedded(floats([0, 0]), floats([[1, 0], [0, 1]]), floats([3, 1]))
    stored = Embedded(floats([0, 0]), floats([[0.6, 0.8], [0.0, 1.0]]), floats([1, 1]))

    assert late_interaction(question, stored) == pytest.approx((3 * 0.6 + 1 * 1.0) / 4)


def test_a_perfect_ranking_scores_one_and_gains_nothing_on_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One question, whose gold is its nearest memory; the model against itself."""
    model = "models/embedder.int8.onnx"
    options = ["--sets", "tiny", "--json", "--model", model, "--against", model]
    main([str(data(tmp_path, "tiny")), *options])
    report = json.loads(capsys.readouterr().out)["tiny"]

    for way in ("pooled", "late"):
        assert report[way]["ndcg@10"] == [1.0, 1.0, 1.0]
        assert report[way]["ndcg@10 gain"] == [0.0, 0.0, 0.0]
        assert not math.isnan(report[way]["mrr@10"][0])
