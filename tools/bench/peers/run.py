"""Compare with other libraries on the same texts, vectors and questions.

Makes an environment for every peer under --folder (2.5 GB in all, from PyPI, once), fills and asks
each in processes of its own, one after the other, and writes a page and the figures. A peer that
cannot be installed, fails or takes longer than --limit-s to fill is reported as such. Wall times
depend on what else the machine does; CPU times, which are also what a battery feels, much less.

Examples:
  python -m tools.bench.peers.run --sizes 10000 --peers family_recall,sqlite_vec
  python -m tools.bench.peers.run --folder ~/peers --markdown peers.md --json peers.json
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from family_recall.evaluation import synthetic
from family_recall.evaluation.machine import describe
from tools.bench.data import FakeEncoder
from tools.bench.peers.peer import INGESTED
from tools.common import ROOT, parser_of, say, write_json

SIZES = (10_000, 100_000)
N_QUESTIONS = 108
LIMIT_S = 600.0
ASK_LIMIT_S = 900.0
INSTALL_LIMIT_S = 1_800.0


@dataclass(frozen=True)
class Entry:
    """One line of the comparison: its adapter, and whether it searches words and vectors."""

    name: str
    title: str
    hybrid: bool
    environment: str | None = None

    @property
    def module(self) -> str:
        """The adapter to run."""
        return f"tools.bench.peers.peer_{self.name.removesuffix('_alone')}"


PEERS = (
    Entry("family_recall", "family_recall, everything", hybrid=True),
    Entry("family_recall_alone", "family_recall, words and vectors alone", hybrid=True),
    Entry("sqlite_vec", "sqlite-vec + FTS5 + RRF by hand", True, "sqlite_vec"),
    Entry("lancedb", "LanceDB hybrid", True, "lancedb"),
    Entry("txtai", "txtai hybrid", True, "txtai"),
    Entry("qdrant", "Qdrant, local mode", True, "qdrant"),
    Entry("chroma", "Chroma, vectors only", False, "chroma"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; 1 when one of ours failed, else 0."""
    options = _parser().parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    entries = [entry for entry in PEERS if entry.name in options.peers]
    pythons = {entry.name: python_of(entry, options.folder) for entry in entries}
    report: dict[str, Any] = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "command": " ".join(["python -m tools.bench.peers.run", *(arguments or sys.argv[1:])]),
        "machine": describe(),
        "load_1_min": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "sizes": [],
    }
    for size in options.sizes:
        data = options.folder / f"data_{size}"
        make_data(data, size, options.questions)
        figures: dict[str, Any] = {}
        for entry in entries:
            say(f"{size:,} memories: {entry.title}")
            python = pythons[entry.name]
            figures[entry.name] = (
                {"failed": python}
                if isinstance(python, str)
                else measure(entry, python, data, options.folder / "store", size, options.limit_s)
            )
        report["sizes"].append({"memories": size, "peers": figures})
    page = markdown(report)
    print(page)
    if options.markdown:
        options.markdown.write_text(page, "utf-8")
    if options.json:
        write_json(options.json, report)
    ours = [
        figures
        for size in report["sizes"]
        for name, figures in size["peers"].items()
        if name.startswith("family_recall")
    ]
    return int(any("failed" in figures for figures in ours))


def python_of(entry: Entry, folder: Path) -> Path | str:
    """Return the Python that has a peer, installed first; or why there is none."""
    if entry.environment is None:
        return Path(sys.executable)
    environment = folder / "environments" / entry.environment
    python = environment / "bin" / "python"
    ready = environment / "ready"
    wanted = (Path(__file__).parent / f"{entry.environment}.txt").read_text("utf-8")
    if ready.exists() and ready.read_text("utf-8") == wanted:
        return python
    say(f"installing {entry.environment}")
    venv.create(environment, with_pip=True, clear=True)
    lines = [word for line in wanted.splitlines() for word in line.split()]
    done = _run([str(python), "-m", "pip", "install", "-q", *lines], INSTALL_LIMIT_S)
    if isinstance(done, str):
        return f"cannot be installed: {done}"
    ready.write_text(wanted, "utf-8")
    return python


def make_data(folder: Path, n: int, n_questions: int) -> None:
    """Write texts, questions and their vectors, unless they are there."""
    if (folder / "questions.npy").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    encoder = FakeEncoder()
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (n, encoder.dim))
    numbers: dict[str, int] = {}
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as lines:
        for at, memory in enumerate(synthetic.memories(n)):
            lines.write(json.dumps({"text": memory.text}) + "\n")
            vectors[at] = encoder.encode_question(memory.text).pooled
            if memory.doc_id and memory.doc_id.startswith("planted"):
                numbers[memory.doc_id] = at
            if at % INGESTED == 0:
                say(f"  made {at:,} of {n:,}")
    vectors.flush()
    questions = synthetic.questions(n_questions, n)
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as lines:
        for each in questions:
            planted = numbers[each.planted] if each.planted else None
            lines.write(json.dumps({"text": each.text, "planted": planted}) + "\n")
    rows = np.array([encoder.encode_question(each.text).pooled for each in questions])
    np.save(folder / "questions.npy", rows)


def measure(
    entry: Entry, python: Path, data: Path, store: Path, n: int, limit_s: float
) -> dict[str, Any]:
    """Fill and ask one peer; ``failed`` says why there are no figures."""
    shutil.rmtree(store, ignore_errors=True)
    common = ["--data", str(data), "--folder", str(store), "--memories", str(n)]
    command = [str(python), "-m", entry.module]
    filled = _figures([*command, "fill", *common, "--limit-s", str(limit_s)], entry, limit_s * 3)
    if "failed" in filled or "stopped_at" in filled:
        shutil.rmtree(store, ignore_errors=True)
        return filled
    n_bytes = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    answered = _figures([*command, "ask", *common], entry, ASK_LIMIT_S)
    shutil.rmtree(store, ignore_errors=True)
    return {**filled, "bytes_per_memory": n_bytes / n, **answered}


def _figures(command: Sequence[str], entry: Entry, limit_s: float) -> dict[str, Any]:
    done = _run(command, limit_s, alone=entry.name.endswith("_alone"))
    if isinstance(done, str):
        return {"failed": done}
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def _run(
    command: Sequence[str], limit_s: float, *, alone: bool = False
) -> subprocess.CompletedProcess[str] | str:
    """Run a command; a sentence where it fails."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "FAMILY_RECALL_BENCH": "alone" if alone else "",
        # No telemetry while measuring.
        "ANONYMIZED_TELEMETRY": "False",
        "HF_HUB_OFFLINE": "1",
        "LANCEDB_TELEMETRY": "0",
    }
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, text=True, timeout=limit_s, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {limit_s:.0f} s"
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return lines[-1][:200]
    return done


def markdown(report: Mapping[str, Any]) -> str:
    """Write the page: a table a size, and what was ahead of what."""
    work = report["machine"]
    about = (
        f"Measured {report['date']} with `{report['command']}` on {work['processors']} processors "
        f"({work['processor']}), {work['memory']}, {work['system']}, Python {work['Python']}, "
        f"load {report['load_1_min']} at the start."
    )
    head = (
        "| | recall CPU ms, mean | recall wall ms, p50 / p95 | planted in first ten "
        "| memories/s stored (per CPU s) | bytes/memory | MiB asking | open + first ms |"
    )
    lines = [about]
    for size in report["sizes"]:
        lines += [
            "",
            f"### {size['memories']:,} memories",
            "",
            head,
            "|---|---|---|---|---|---|---|---|",
        ]
        lines += [
            _line(entry, size["peers"][entry.name])
            for entry in PEERS
            if entry.name in size["peers"]
        ]
        ahead = _ahead(size["peers"])
        lines += ["", *ahead] if ahead else []
    return "\n".join(lines) + "\n"


def _line(entry: Entry, figures: Mapping[str, Any]) -> str:
    if "failed" in figures:
        return f"| {entry.title} | failed: {figures['failed']} | | | | | | |"
    if "stopped_at" in figures:
        stopped = f"stopped: {figures['stopped_at']:,} stored in {figures['ingest_wall_s']:.0f} s"
        return f"| {entry.title} | {stopped} | | | | | | |"
    return (
        f"| {entry.title} | {figures['cpu_ms_mean']:.2f} "
        f"| {figures['wall_ms']['p50']:.1f} / {figures['wall_ms']['p95']:.1f} "
        f"| {figures['planted_found']} of {figures['planted']} "
        f"| {figures['ingest_per_s']:,.0f} ({figures['ingest_per_cpu_s']:,.0f}) "
        f"| {figures['bytes_per_memory']:,.0f} | {figures['resident_mib']:.0f} "
        f"| {figures['open_and_first_answer_ms']:,.0f} |"
    )


def _ahead(peers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Compare each of ours with the hybrid peer that needs the least processor time."""
    hybrid = {
        entry.name: peers[entry.name]["cpu_ms_mean"]
        for entry in PEERS
        if entry.hybrid and entry.environment and "cpu_ms_mean" in peers.get(entry.name, {})
    }
    if not hybrid:
        return []
    nearest = min(hybrid, key=lambda name: hybrid[name])
    return [
        f"{entry.title}: {hybrid[nearest] / peers[entry.name]['cpu_ms_mean']:.2f} times as fast, "
        f"in CPU time, as the nearest hybrid peer ({nearest}).  "
        for entry in PEERS
        if entry.environment is None and "cpu_ms_mean" in peers.get(entry.name, {})
    ]


def _sizes(text: str) -> list[int]:
    sizes = [int(size) for size in text.replace("_", "").split(",")]
    if min(sizes) < len(synthetic.PLANTED):
        raise argparse.ArgumentTypeError(
            f"sizes must be {len(synthetic.PLANTED)} or more, got {text}"
        )
    return sizes


def _names(text: str) -> list[str]:
    names, known = text.split(","), [entry.name for entry in PEERS]
    if unknown := [name for name in names if name not in known]:
        raise argparse.ArgumentTypeError(
            f"peers must be among {', '.join(known)}, got {unknown[0]!r}"
        )
    return names


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--sizes", type=_sizes, default=list(SIZES), metavar="N,…",
        help="memories (default: 10000,100000)",
    )  # fmt: skip
    parser.add_argument(
        "--peers", type=_names, default=[entry.name for entry in PEERS], metavar="NAME,…",
        help=f"who takes part (default: {','.join(entry.name for entry in PEERS)})",
    )  # fmt: skip
    parser.add_argument(
        "--questions", type=int, default=N_QUESTIONS, metavar="N",
        help="questions, eight about planted memories first (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--folder", type=Path, default=Path("bench_peers"),
        help="for environments, data and stores (default: ./bench_peers)",
    )  # fmt: skip
    parser.add_argument(
        "--limit-s", type=float, default=LIMIT_S, metavar="S",
        help="seconds a peer may take to store everything (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    return parser


if __name__ == "__main__":
    sys.exit(main())
