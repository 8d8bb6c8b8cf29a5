"""tools/bench/peers: this library beside what one would pick instead."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from family_recall.apps.evaluation import synthetic
from tools.bench.peers import run
from tools.bench.peers.entries import PEERS, Entry
from tools.bench.peers.page import markdown
from tools.bench.peers.peer import Data, fused
from tools.bench.peers.rounds import Bench, order_of, run_command, summary


def test_ours_are_measured_and_find_what_was_planted(tmp_path: Path) -> None:
    """Whole and alone, the page and the figures name machine and command; all eight are found."""
    page, figures = tmp_path / "peers.md", tmp_path / "peers.json"
    options = ["--sizes", "200", "--questions", "10", "--folder", str(tmp_path / "peers")]
    options += ["--peers", "family_recall,family_recall_alone", "--rounds", "2"]
    assert run.main([*options, "--markdown", str(page), "--json", str(figures)]) == 0
    report = json.loads(figures.read_text("utf-8"))
    (size,) = report["sizes"]

    assert set(size["peers"]) == {"family_recall", "family_recall_alone"}
    for measured in size["peers"].values():
        assert (measured["planted_found"], measured["planted"]) == (8, 8)
        assert 0.0 < measured["wall_ms"]["p50"] <= measured["wall_ms"]["p95"]
        assert measured["bytes_per_memory"] > 0
        assert len(measured["rounds"]) == 2
        assert measured["cpu_ms_least"] <= measured["cpu_ms_mean"] <= measured["cpu_ms_most"]
    assert not (tmp_path / "peers" / "stores").exists()
    assert "200 memories" in page.read_text("utf-8")
    assert "--sizes 200" in report["command"]


ANSWERED = {
    "cpu_ms_mean": 4.0, "cpu_ms": {"p50": 3.0, "p95": 9.0}, "wall_ms": {"p50": 5.0, "p95": 6.0},
    "planted_found": 8, "planted": 8, "resident_mib": 50.0, "open_and_first_answer_ms": 7.0,
}  # fmt: skip


def test_what_rounds_say_is_their_medians_and_the_spread() -> None:
    """Of five rounds, one of them slow, the slow one shows in the spread alone.

    What was found is what the worst round found: it should be the same in each.
    """
    walls = [{"p50": p50, "p95": 10.0 * p50} for p50 in (5.0, 9.0, 4.0, 6.0, 4.5)]
    rounds = [
        {**ANSWERED, "cpu_ms_mean": cpu_ms, "wall_ms": wall, "resident_mib": mib}
        for cpu_ms, wall, mib in zip(
            (4.0, 30.0, 3.0, 5.0, 3.5), walls, (50.0, 51.0, 49.0, 50.0, 90.0), strict=True
        )
    ]
    rounds[3]["planted_found"] = 7
    figures = summary(rounds)

    assert figures["cpu_ms_mean"] == 4.0
    assert (figures["cpu_ms_least"], figures["cpu_ms_most"]) == (3.0, 30.0)
    assert figures["wall_ms"] == {"p50": 5.0, "p95": 50.0}
    assert (figures["resident_mib"], figures["open_and_first_answer_ms"]) == (50.0, 7.0)
    assert (figures["planted_found"], figures["planted"]) == (7, 8)
    assert figures["rounds"] == rounds


def test_peers_take_turns_to_be_first() -> None:
    """In as many rounds as there are peers, each is once at every place, and once in each round."""
    names = ["family_recall", "sqlite_vec", "txtai"]
    orders = [order_of(names, at) for at in range(3)]

    assert orders[0] == names
    for at in range(3):
        assert sorted(orders[at]) == names
        assert sorted(order[at] for order in orders) == names
    assert order_of(names, 3) == names


def test_a_peer_that_fails_in_one_round_has_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not asked again, the others are; one that was not filled is not asked at all."""
    ours, theirs, stopped = (entry for entry in PEERS[1:4])
    asked: list[str] = []

    def run_peer(_: Bench, step: str, entry: Entry, *__: object) -> dict[str, Any]:
        if step == "fill":
            return {"version": "1", **({"stopped_at": 4096} if entry is stopped else {})}
        asked.append(entry.name)
        return {"failed": "broke"} if entry is theirs and len(asked) > 3 else dict(ANSWERED)

    monkeypatch.setattr(Bench, "run", run_peer)
    bench = Bench(tmp_path, tmp_path / "stores", 1000, None, 1.0)
    pythons = {entry.name: Path(sys.executable) for entry in PEERS}
    figures = bench.measure([ours, theirs, stopped], pythons, 4)

    # Who is first changes with each round, but one peer is never asked.
    assert asked == [
        ours.name, theirs.name, theirs.name, ours.name, ours.name, theirs.name, ours.name,
    ]  # fmt: skip
    assert figures[theirs.name] == {"failed": "broke"}
    assert figures[stopped.name]["stopped_at"] == 4096
    assert figures[ours.name]["cpu_ms_mean"] == 4.0


def test_the_page_is_a_table_a_size() -> None:
    """What cannot be installed, breaks or is stopped is told, and the others are compared.

    Chroma looks at vectors alone, so it is not who is to be beaten.
    """
    filled = {"ingest_per_s": 10.0, "ingest_per_cpu_s": 20.0, "bytes_per_memory": 100.0}
    measured = {**filled, **summary([{**ANSWERED, "cpu_ms_mean": ms} for ms in (4.0, 3.5, 4.25)])}
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
        "core": 1, "rounds": 3, "sizes": [{"memories": 1000, "peers": peers}],
    }  # fmt: skip

    assert markdown(report) == PAGE
    assert "not pinned to a core" in markdown({**report, "core": None})


PAGE = """\
Measured 2026-01-01 with `python …` on 2 processors (x), 1 GiB, y, Python 3, load 0.1 at the \
start. Processes are each alone on core 1; of what is asked, the medians of 3 rounds, in which the \
peers take turns.

### 1,000 memories

| | recall CPU ms, mean (least–most) | recall wall ms, p50 / p95 | planted in first ten \
| memories/s stored (per CPU s) | bytes/memory | MiB asking | open + first ms |
|---|---|---|---|---|---|---|---|
| family_recall, everything | 4.00 (3.50–4.25) | 5.0 / 6.0 | 8 of 8 | 10 (20) | 100 | 50 | 7 |
| sqlite-vec + FTS5 + RRF by hand | 12.00 (3.50–4.25) | 5.0 / 6.0 | 8 of 8 | 10 (20) | 100 | 50 \
| 7 |
| txtai hybrid | failed: cannot be installed: no wheel | | | | | | |
| Qdrant, local mode | stopped: 4,096 stored in 240 s | | | | | | |
| Chroma, vectors only | 1.00 (3.50–4.25) | 5.0 / 6.0 | 8 of 8 | 10 (20) | 100 | 50 | 7 |

- family_recall, everything: 3.00 times as fast, in CPU time, as the nearest hybrid peer \
(sqlite_vec).
"""


def test_a_process_runs_on_one_core() -> None:
    """From its first instruction; a core that may not be used is refused, with those that may."""
    cores = sorted(os.sched_getaffinity(0))
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    done = run_command([sys.executable, "-c", code], 60.0, core=cores[0])

    assert not isinstance(done, str)
    assert done.stdout == f"[{cores[0]}]\n"
    assert sorted(os.sched_getaffinity(0)) == cores
    assert run.core_to_use(None) == cores[-1]
    with pytest.raises(SystemExit, match=f"got {cores[-1] + 1}"):
        run.core_to_use(cores[-1] + 1)


def test_where_no_core_can_be_chosen_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on macOS: processes are not pinned, and asking for a core is an error."""
    monkeypatch.delattr(os, "sched_setaffinity")

    assert run.core_to_use(None) is None
    assert "not pinned" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="cannot pin"):
        run.core_to_use(0)


def test_data_are_made_a_part_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 7 are the same 20 memories as one part, and every planted one is where it says."""
    run.make_data(tmp_path / "whole", 20, 10)
    monkeypatch.setattr(run, "INGESTED", 7)
    run.make_data(tmp_path / "parts", 20, 10)
    for name in ("texts.jsonl", "questions.jsonl", "vectors.npy", "questions.npy"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()

    data = Data(tmp_path / "parts")
    ((first, texts, vectors),) = data.parts(20)
    assert (first, len(texts), vectors.shape) == (0, 20, (20, 384))
    planted = [each["planted"] for each in data.questions() if each["planted"] is not None]
    assert {texts[at] for at in planted} == {text for text, _ in synthetic.PLANTED}


def test_a_command_that_fails_says_its_last_line() -> None:
    """And one that takes too long, that it did."""
    failing = run_command([sys.executable, "-c", "raise ValueError('no wheel')"], 60.0)
    slow = run_command([sys.executable, "-c", "import time; time.sleep(9)"], 0.2)

    assert str(failing).endswith("no wheel")
    assert "longer" in str(slow)


def test_agreement_beats_a_single_first_place() -> None:
    """Ranks 2 and 2 with k = 60 are 2/62 = 0.0323, against 1/61 = 0.0164."""
    assert fused([1, 2], [3, 2]) == [2, 1, 3]
