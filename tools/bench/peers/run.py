"""Compare with other libraries on the same texts, vectors and questions.

Makes an environment for every peer under --folder (2.5 GB in all, from PyPI, once), and fills a
store for each. Then all are asked in rounds, each peer in a process of its own and another one
first in every round; the page has the medians of the rounds. Each process is pinned to one core,
so that nobody's threads are an advantage. A peer that cannot be installed, fails or takes longer
than --limit-s to fill is reported as such. Wall times depend on what else the machine does; CPU
times, which are also what a battery feels, much less.

Examples:
  python -m tools.bench.peers.run --sizes 10000 --peers family_recall,sqlite_vec
  python -m tools.bench.peers.run --sizes 1000000 --peers family_recall,txtai --limit-s 3600
  python -m tools.bench.peers.run --folder ~/peers --markdown peers.md --json peers.json
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import json
import os
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from family_recall.apps.evaluation import synthetic
from family_recall.apps.evaluation.timing import describe
from tools.bench.data import FakeEncoder
from tools.bench.peers.entries import PEERS, Entry
from tools.bench.peers.page import markdown
from tools.bench.peers.peer import INGESTED
from tools.bench.peers.rounds import Bench, run_command
from tools.common import parser_of, say, write_json

SIZES = (10_000, 100_000)
LARGEST = 1_000_000  # memories: some 2 GB of scratch space for each peer
N_QUESTIONS = 108
N_ROUNDS = 5
LIMIT_S = 600.0
INSTALL_LIMIT_S = 1_800.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; 1 when one of ours failed, else 0."""
    options = _parser().parse_args(arguments)
    core = core_to_use(options.core)
    options.folder.mkdir(parents=True, exist_ok=True)
    entries = [entry for entry in PEERS if entry.name in options.peers]
    pythons = {entry.name: python_of(entry, options.folder) for entry in entries}
    report: dict[str, Any] = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "command": " ".join(["python -m tools.bench.peers.run", *(arguments or sys.argv[1:])]),
        "machine": describe(),
        "load_1_min": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "core": core,
        "rounds": options.rounds,
        "sizes": [],
    }
    for size in options.sizes:
        data = options.folder / f"data_{size}_{options.questions}"
        make_data(data, size, options.questions)
        bench = Bench(data, options.folder / "stores", size, core, options.limit_s)
        report["sizes"].append(
            {"memories": size, "peers": bench.measure(entries, pythons, options.rounds)}
        )
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


def core_to_use(wanted: int | None) -> int | None:
    """Return the core to pin processes to: the last, if none is wanted.

    None where a system cannot do that.

    Raises:
        SystemExit: If the wanted core is not one that this process may use.
    """
    if not hasattr(os, "sched_setaffinity"):
        if wanted is not None:
            raise SystemExit("--core: this system cannot pin a process to a core; leave it out")
        say("processes are not pinned to a core: this system cannot do that")
        return None
    cores = sorted(os.sched_getaffinity(0))
    if wanted is not None and wanted not in cores:
        listed = ", ".join(map(str, cores))
        raise SystemExit(f"--core must be one that may be used here ({listed}), got {wanted}")
    return cores[-1] if wanted is None else wanted


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
    done = run_command([str(python), "-m", "pip", "install", "-q", *lines], INSTALL_LIMIT_S)
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
    header = {"descr": "<f4", "fortran_order": False, "shape": (n, encoder.dim)}
    numbers: dict[str, int] = {}
    memories = enumerate(synthetic.memories(n))
    with (
        (folder / "texts.jsonl").open("w", encoding="utf-8") as lines,
        (folder / "vectors.npy").open("wb") as rows,
    ):
        np.lib.format.write_array_header_2_0(rows, header)
        while part := list(itertools.islice(memories, INGESTED)):
            lines.writelines(json.dumps({"text": memory.text}) + "\n" for _, memory in part)
            vectors = [encoder.encode_question(memory.text).pooled for _, memory in part]
            rows.write(np.stack(vectors).astype("<f4").tobytes())
            numbers.update(
                {
                    memory.doc_id: at
                    for at, memory in part
                    if memory.doc_id and memory.doc_id.startswith("planted")
                }
            )
            say(f"  made {part[-1][0] + 1:,} of {n:,}")
    questions = synthetic.questions(n_questions, n)
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as lines:
        for each in questions:
            planted = numbers[each.planted] if each.planted else None
            lines.write(json.dumps({"text": each.text, "planted": planted}) + "\n")
    np.save(
        folder / "questions.npy",
        np.array([encoder.encode_question(each.text).pooled for each in questions]),
    )


def _sizes(text: str) -> list[int]:
    sizes = [int(size) for size in text.replace("_", "").split(",")]
    fewest = len(synthetic.PLANTED)
    if not fewest <= min(sizes) <= max(sizes) <= LARGEST:
        raise argparse.ArgumentTypeError(f"sizes must be from {fewest} to {LARGEST:,}, got {text}")
    return sizes


def _rounds(text: str) -> int:
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"rounds must be 1 or more, got {text}")
    return int(text)


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
        help=f"memories, up to {LARGEST} (default: 10000,100000)",
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
        "--rounds", type=_rounds, default=N_ROUNDS, metavar="N",
        help="how often each peer is asked everything (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--core", type=int, metavar="N",
        help="the core that every process runs on (default: the last)",
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
