"""Count the instructions of a recall or of storing a text, by library, under Valgrind.

Unlike a time, a count hardly depends on what else the machine does. A process opens a synthetic
household under `valgrind --tool=callgrind` and asks each question once, so that everything is
loaded and the questions' vectors are kept; another asks them all again, and what it runs more is
the recall, without embedding. A stage is what it takes less without it. With --store a process
generates the memories, and another stores them too, their vectors pending. The shipped models are
not counted: Valgrind lacks some of the instructions that ONNX Runtime picks for them.

Examples:
  python -m tools.bench.count_instructions
  python -m tools.bench.count_instructions --sizes 1000,100000 --questions 40 --stages
  python -m tools.bench.count_instructions --json instructions.json
  python -m tools.bench.count_instructions --store --sizes 2000
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

from family_recall import FamilyRecall, RecallContext
from family_recall.apps.evaluation import synthetic
from family_recall.config import RecallConfig
from family_recall.types.stages import optional_stages
from tools.bench.data import FakeEncoder
from tools.common import parser_of, write_json

STAGES = tuple(stage for stage in optional_stages() if stage != "rerank")
BUDGET_MS = 600_000.0  # Valgrind is fifty times as slow: nothing is left out for lack of time
LIBRARIES = {
    "site-packages/apsw": "SQLite",
    "site-packages/numpy": "numpy",
    "libpython": "Python",
    "/bin/python": "Python",
    "lib-dynload": "Python",
    "/libc.so": "C library",
    "/libm.so": "C library",
}


def main() -> int:
    """Count and print; 2 where there is no Valgrind."""
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", type=_sizes, default=(1_000, 10_000), metavar="N,N")
    parser.add_argument("--questions", type=int, default=40, metavar="N")
    parser.add_argument("--stages", action="store_true", help="each stage's share, too")
    parser.add_argument("--store", action="store_true", help="count storing a text instead")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--fill", type=Path, metavar="DB", help=argparse.SUPPRESS)
    parser.add_argument("--memories", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--ask", type=Path, metavar="DB", help=argparse.SUPPRESS)
    parser.add_argument("--leave-out", default="", help=argparse.SUPPRESS)
    parser.add_argument("--times", type=int, default=0, help=argparse.SUPPRESS)
    args: argparse.Namespace = parser.parse_args()
    if args.ask:
        ask(args.ask, args.questions, args.times, frozenset(args.leave_out.split()))
        return 0
    if args.fill:
        fill(args.fill, args.memories, args.times)
        return 0
    if shutil.which("valgrind") is None:
        print(
            "valgrind is not there; install it (apt install valgrind) and repeat", file=sys.stderr
        )
        return 2
    figures = []
    for size in args.sizes:
        if args.store:
            figure = measure_storing(size)
            print(f"{size:,} memories: {figure['text'] / 1e6:.2f} million instructions a text")
        else:
            figure = measure(size, args.questions, STAGES if args.stages else ())
            print(f"{size:,} memories: {figure['recall'] / 1e6:.1f} million instructions a recall")
        figures.append(figure)
        for about in ("by_library", "by_stage"):
            for name, n in figure.get(about, {}).items():
                print(f"  {name:18}{n / 1e6:8.2f}")
    if args.json:
        write_json(args.json, figures)
    return 0


def measure(n: int, n_questions: int, stages: Iterable[str]) -> dict[str, Any]:
    """Count a recall's instructions: total, by library, and what each stage adds."""
    with tempfile.TemporaryDirectory(prefix="family_recall_count_") as folder:
        path = Path(folder) / "family.db"
        with FamilyRecall.open(path, timezone="UTC", encoder=FakeEncoder()) as home:
            synthetic.furnish(home)
            home.audit.keep_days(0)  # written once a second, whatever is asked
            home.remember_many(synthetic.memories(n))
        idle = counted(path, n_questions, times=0)
        whole = counted(path, n_questions, times=1)
        without = {
            stage: counted(path, n_questions, times=1, leave_out=stage).total() for stage in stages
        }
    whole.subtract(idle)
    return {
        "memories": n,
        "questions": n_questions,
        "recall": whole.total() // n_questions,
        "by_library": {name: count // n_questions for name, count in whole.most_common()},
        "by_stage": {
            stage: (whole.total() + idle.total() - count) // n_questions
            for stage, count in without.items()
        },
    }


def measure_storing(n: int) -> dict[str, Any]:
    """Count the instructions of storing a text: total, and by library."""
    with tempfile.TemporaryDirectory(prefix="family_recall_count_") as folder:
        idle, whole = (
            _counted(Path(folder), "--fill", f"{folder}/{times}.db", "--memories", n, times=times)
            for times in (0, 1)
        )
    whole.subtract(idle)
    return {
        "memories": n,
        "text": whole.total() // n,
        "by_library": {name: count // n for name, count in whole.most_common()},
    }


def counted(path: Path, n_questions: int, *, times: int, leave_out: str = "") -> Counter[str]:
    """Run a process that asks a household, and count its instructions by library."""
    asked = ("--ask", path, "--questions", n_questions, "--leave-out", leave_out)
    return _counted(path.parent, *asked, times=times)


def _counted(folder: Path, *arguments: object, times: int) -> Counter[str]:
    """Run this module with some arguments, and count its instructions by library."""
    profile = folder / "profile"
    command = [
        *("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "-q", sys.executable),
        *("-m", "tools.bench.count_instructions", *map(str, arguments), "--times", str(times)),
    ]
    # One hash seed: dictionaries that lie alike are searched alike. One thread of OpenBLAS: others
    # would count their waiting.
    alike = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(command, check=True, env={**os.environ, **alike})
    with profile.open(encoding="utf-8", errors="replace") as lines:
        return instructions_of(lines)


def ask(path: Path, n_questions: int, times: int, leave_out: frozenset[str]) -> None:
    """Ask every question once, and then so many times again."""
    with FamilyRecall.open(
        path,
        create=False,
        encoder=FakeEncoder(),
        config=RecallConfig(leave_out=leave_out),
    ) as home:
        ctx = RecallContext(synthetic.ASKER, time_budget_ms=BUDGET_MS)
        questions = synthetic.questions(n_questions, home.maintenance.stats()["memories"])
        for question in questions * (1 + times):
            home.recall(question.text, ctx)


def fill(path: Path, n: int, times: int) -> None:
    """Generate n memories, and store them in a new household unless ``times`` is 0."""
    with FamilyRecall.open(path, timezone="UTC", encoder=FakeEncoder()) as home:
        synthetic.furnish(home)
        memories = list(synthetic.memories(n))
        home.remember_many(memories if times else memories[:1], embed="later")


def instructions_of(profile: Iterable[str]) -> Counter[str]:
    """Count the instructions in a Callgrind profile, by the library that ran them.

    Source: valgrind.org/docs/manual/cl-format.html.

    >>> lines = "ob=(1) /lib/libc.so.6|3 5|cob=(2) /bin/python|calls=2 9|3 70|ob=(2)|+1 7"
    >>> instructions_of(lines.split("|"))
    Counter({'Python': 7, 'C library': 5})
    """
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    library, called = "other", False
    for line in profile:
        if named := re.match(r"c?ob=(\(\d+\)) ?(.*)", line):
            number, path = named.groups()
            name = names.setdefault(number, _library(path))
            library = library if line.startswith("cob") else name
        elif line.startswith("calls="):
            called = True  # the next line is what the callee ran, which is counted there
        elif re.match(r"[\d+*-]", line):
            if not called:
                counts[library] += int(line.split()[1])
            called = False
    return counts


def _library(path: str) -> str:
    return next((name for part, name in LIBRARIES.items() if part in path), "other")


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
