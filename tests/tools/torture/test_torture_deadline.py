"""tools/torture/deadline.py: it counts the overshoot, and finds wrong answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from family_recall import Answer, FamilyRecall
from tests.conftest import home, path, recall, wall
from tools.torture.deadline import fault_of, main, quantiles

__all__ = ["home", "path", "wall"]


LONG = ("--long", "5", "--most-chars", "20000")


def test_a_short_torture_counts_every_recall(tmp_path: Path) -> None:
    """Each phase asks the number given, of words alone, and finds nothing wrong."""
    to = tmp_path / "torture.json"
    done = main(
        ["--recalls", "20", "--memories", "60", *LONG, "--models", str(tmp_path), "--json", str(to)]
    )
    report = json.loads(to.read_text("utf-8"))

    assert done == 0
    assert set(report["phases"]) == {"idle", "load", "together"}
    for figures in report["phases"].values():
        assert figures["recalls"] == 20
        assert (figures["exceptions"], figures["wrong"]) == (0, 0)
        assert figures["embedders"] == {"words alone": 20}
        assert set(figures["overshoot_ms"]) == {"p50", "p95", "p99", "max"}


def test_a_late_answer_fails_with_a_limit(tmp_path: Path) -> None:
    """No answer comes before its question: below 0 ms, every p99 is too late."""
    ask = ["--recalls", "3", "--memories", "30", *LONG, "--models", str(tmp_path), "--only", "idle"]

    assert main([*ask, "--limit-ms", "-1"]) == 1
    assert main([*ask, "--limit-ms", "1e9"]) == 0


def test_an_exception_is_counted_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recall that raises fails the torture, and its message is shown."""

    def broken(*_: Any) -> Answer:
        raise RuntimeError("out of time")

    monkeypatch.setattr(FamilyRecall, "recall", broken)
    ask = ["--recalls", "3", "--memories", "30", *LONG, "--models", str(tmp_path), "--only", "idle"]

    assert main(ask) == 1
    assert "RuntimeError: out of time" in capsys.readouterr().out


def test_a_wrong_order_is_found(home: FamilyRecall) -> None:
    """Ranks, duplicates, sums and the order of scores are all checked."""
    answer = recall(home, "where is the key?", "mia")
    assert fault_of(answer) is None
    first, two, *rest = answer.results
    broken = {
        "ranks": (two, first, *rest),
        "twice": (first, msgspec.structs.replace(first, rank=2), *rest),
        "reasons": (msgspec.structs.replace(first, score=first.score + 1.0), two, *rest),
        "rise": (
            msgspec.structs.replace(two, rank=1, rank_by_score=None),
            msgspec.structs.replace(first, rank=2),
            *rest,
        ),
    }

    for fault, results in broken.items():
        assert fault in str(fault_of(msgspec.structs.replace(answer, results=tuple(results)))), (
            fault
        )


def test_quantiles_of_nothing_are_zeros() -> None:
    """A phase without a recall is no error."""
    assert quantiles(np.zeros(0)) == {"p50": 0, "p95": 0, "p99": 0, "max": 0}
