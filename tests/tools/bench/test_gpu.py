"""tools/bench/gpu.py: the graphics processor against the CPU, where there is one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from family_recall.encoders import session
from tools.bench import gpu

OPTIONS = ["--memories", "8", "--questions", "2"]


def test_without_cuda_the_cpu_alone_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report says why, and has import, rerank and recall of the CPU."""
    monkeypatch.setattr(session, "CUDA_DRIVERS", ())
    monkeypatch.setattr(gpu, "RUNS", 1)
    assert gpu.main([*OPTIONS, "--json", "-"]) == 0
    report = json.loads(capsys.readouterr().out)

    assert report["no_cuda"] == "no NVIDIA device"
    assert "cuda" not in report
    figures = report["cpu"]
    assert figures["import_per_s"] > 0.0
    assert figures["encode_per_s"] > 0.0
    assert list(figures["rerank_ms"]) == ["1", "10", "20", "50"]
    assert 0.0 < figures["rerank_ms"]["1"] < figures["rerank_ms"]["50"]
    assert 0.0 < figures["recall_ms"]["p50"] <= figures["recall_ms"]["p95"]
    gpu.show(report)
    assert capsys.readouterr().out.startswith("the CPU alone was measured: no NVIDIA device\n")


@pytest.mark.parametrize(("turned_by", "status"), [(0.0, 0), (0.5, 1)])
def test_processors_that_disagree_are_a_failure(
    monkeypatch: pytest.MonkeyPatch, turned_by: float, status: int
) -> None:
    """By vectors that point elsewhere: the exit status is 1, and both columns are printed."""

    def measured(*_: object) -> dict[str, object]:
        on_cuda = session.has_cuda()
        angle = turned_by if on_cuda else 0.0
        return {
            "provider": session.CUDA if on_cuda else session.CPU,
            "obstacle": None,
            "vectors": np.array([[np.cos(angle), np.sin(angle)]]),
            "scores": np.zeros(1),
            "figures": {
                "encode_per_s": 1.0,
                "import_per_s": 1.0,
                "rerank_ms": {"1": 1.0, "10": 1.0, "20": 1.0, "50": 1.0},
                "recall_ms": {"p50": 1.0, "p95": 1.0},
                "bound_ms": {"run": 1.0, "io_binding": 1.0},
            },
        }

    monkeypatch.setattr(session, "has_cuda", lambda: True)
    monkeypatch.setattr(session, "why_no_cuda", lambda: None)
    monkeypatch.setattr(gpu, "measure", measured)

    assert gpu.main(OPTIONS) == status
