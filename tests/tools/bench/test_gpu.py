"""tools/bench/gpu.py: the graphics processor against the CPU, where there is one."""

from __future__ import annotations

import json

import pytest

from tools.bench.gpu import main


def test_without_cuda_both_columns_are_the_cpus_and_agree_exactly(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Import, rerank and recall are measured twice; int8 graphs run on the CPU anywhere."""
    options = ["--memories", "24", "--pairs", "4", "--questions", "2", "--json", "-"]
    assert main(options) == 0
    report = json.loads(capsys.readouterr().out)

    assert set(report["providers"].values()) == {"CPUExecutionProvider"}
    # Equal vectors: what is left of 1 - cosine is float32's own rounding of a length of 1.
    assert abs(report["largest_difference"]["vectors"]) < 1e-5
    assert report["largest_difference"]["pair_scores"] == 0.0
    for side in ("here", "cpu"):
        assert report[side]["import_per_s"] > 0.0
        assert report[side]["rerank_pairs_per_s"] > 0.0
        assert 0.0 < report[side]["recall_ms"]["p50"] <= report[side]["recall_ms"]["p95"]
