"""tools/bench/peers: this library beside what one would pick instead."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tools.bench.peers import run
from tools.bench.peers.peer import fused


def test_ours_are_measured_and_find_what_was_planted(tmp_path: Path) -> None:
    """Whole and alone, the page and the figures name machine and command; all eight are found."""
    page, figures = tmp_path / "peers.md", tmp_path / "peers.json"
    options = ["--sizes", "200", "--questions", "10", "--folder", str(tmp_path / "peers")]
    options += ["--peers", "family_recall,family_recall_alone"]
    assert run.main([*options, "--markdown", str(page), "--json", str(figures)]) == 0
    report = json.loads(figures.read_text("utf-8"))
    (size,) = report["sizes"]

    assert set(size["peers"]) == {"family_recall", "family_recall_alone"}
    for measured in size["peers"].values():
        assert (measured["planted_found"], measured["planted"]) == (8, 8)
        assert 0.0 < measured["wall_ms"]["p50"] <= measured["wall_ms"]["p95"]
        assert measured["bytes_per_memory"] > 0
    assert "200 memories" in page.read_text("utf-8")
    assert "--sizes 200" in report["command"]


def test_a_peer_that_fails_is_a_line_of_the_page() -> None:
    """What cannot be installed, breaks or is stopped is told, and the others are compared."""
    measured = {
        "cpu_ms_mean": 4.0, "wall_ms": {"p50": 5.0, "p95": 6.0}, "planted_found": 8, "planted": 8,
        "ingest_per_s": 10.0, "ingest_per_cpu_s": 20.0, "bytes_per_memory": 100.0,
        "resident_mib": 50.0, "open_and_first_answer_ms": 7.0,
    }  # fmt: skip
    peers = {
        "family_recall": measured,
        "sqlite_vec": {**measured, "cpu_ms_mean": 12.0},
        "txtai": {"failed": "cannot be installed: no wheel"},
        "qdrant": {"version": "1", "stopped_at": 4096, "ingest_wall_s": 240.0},
        "chroma": {**measured, "cpu_ms_mean": 1.0},
    }
    machine = {"processors": 2, "processor": "x", "memory": "1 GiB", "system": "y", "Python": "3"}
    report = {
        "date": "2026-01-01", "command": "python …", "machine": machine, "load_1_min": 0.1,
        "sizes": [{"memories": 1000, "peers": peers}],
    }  # fmt: skip
    page = run.markdown(report)

    assert "| txtai hybrid | failed: cannot be installed: no wheel |" in page
    assert "stopped: 4,096 stored in 240 s" in page
    # Chroma looks at vectors alone, so it is not who is to be beaten.
    assert "family_recall, everything: 3.00 times as fast" in page


def test_a_command_that_fails_says_its_last_line() -> None:
    """And one that takes too long, that it did."""
    assert str(run._run([sys.executable, "-c", "raise ValueError('no wheel')"], 60.0)).endswith(
        "no wheel"
    )
    assert "longer" in str(run._run([sys.executable, "-c", "import time; time.sleep(9)"], 0.2))


def test_agreement_beats_a_single_first_place() -> None:
    """Ranks 2 and 2 with k = 60 are 2/62 = 0.0323, against 1/61 = 0.0164."""
    assert fused([1, 2], [3, 2]) == [2, 1, 3]
