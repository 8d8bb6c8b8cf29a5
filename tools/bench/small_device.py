"""Ask a household within a bounded address space, as on a small device or in a container.

The household is filled without a bound. Then a child process opens it under ``RLIMIT_AS``, with
one thread for numpy, one arena for the allocator, stacks of 2 MiB, and what `family-recall-core`
installs: the static embedder alone, without ONNX Runtime and sqlite-vec. Exit status: 1 where that
fails, or a planted memory is not found among the first ten.

Examples:
  python -m tools.bench.small_device
  python -m tools.bench.small_device --memories 100000 --limit-mib 384 --file small.db
  python -m tools.bench.small_device --whole --limit-mib 640
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

from family_recall import FamilyRecall, RecallContext
from family_recall.apps.evaluation import synthetic
from family_recall.apps.evaluation.timing import quantiles, timed
from family_recall.encoders.static import StaticEncoder
from tools.common import ROOT, memory_mib, parser_of, say

MEMORIES, LIMIT_MIB, N_QUESTIONS = 10_000, 256, 40
BUDGET_MS = 1_000.0  # no stage is left out for lack of time
FOUND_WITHIN = 10
CHILD_LIMIT_S = 600.0
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
STACK_MIB = 2  # of each thread; 8 mostly, and there are six
NOT_IN_CORE = ("onnxruntime", "sqlite_vec")


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill, ask in a child process, and print."""
    options = _parser().parse_args(arguments)
    if options.child:
        print(json.dumps(ask(options.child, json.load(sys.stdin), whole=options.whole)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "small.db"
        if not path.exists():
            fill(path, options.memories)
        asked = synthetic.questions(options.questions, options.memories)
        figures = ask_within(options.limit_mib, path, asked, whole=options.whole)
    if isinstance(figures, str):
        print(f"FAILED within {options.limit_mib} MiB: {figures}")
        return 1
    show(figures, options.memories, options.limit_mib)
    return int(figures["planted_found"] < figures["planted"])


def fill(path: Path, n: int) -> None:
    """Store the synthetic household, with the vectors of the static embedder alone."""
    say(f"storing {n:,} memories")
    with FamilyRecall.open(path, static=StaticEncoder.load()) as home:
        synthetic.furnish(home)
        home.remember_many(synthetic.memories(n))


def ask_within(
    limit_mib: int, path: Path, asked: Sequence[synthetic.Question], *, whole: bool
) -> dict[str, Any] | str:
    """Ask questions in a process with a bounded address space; a sentence where that fails."""
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return "this system has no RLIMIT_AS"
    limits = {resource.RLIMIT_AS: limit_mib, resource.RLIMIT_STACK: STACK_MIB}

    def bound() -> None:
        for limit, mib in limits.items():
            resource.setrlimit(limit, (mib * 1024 * 1024, mib * 1024 * 1024))

    command = [sys.executable, "-m", "tools.bench.small_device", "--child", str(path.resolve())]
    try:
        done = subprocess.run(
            [*command, *["--whole"] * whole],
            input=json.dumps([(each.text, each.planted) for each in asked]),
            capture_output=True,
            check=False,
            text=True,
            timeout=CHILD_LIMIT_S,
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            preexec_fn=bound,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {CHILD_LIMIT_S:.0f} s"
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def ask(
    path: Path, asked: Sequence[tuple[str, str | None]], *, whole: bool = False
) -> dict[str, Any]:
    """Open a household in this process, ask, and return times, memory and what was found."""
    if not whole:
        hidden: dict[str, Any] = dict.fromkeys(NOT_IN_CORE)
        sys.modules.update(hidden)  # their import fails from now on
    ctx = RecallContext(person_id=synthetic.ASKER, time_budget_ms=BUDGET_MS, top_k=FOUND_WITHIN)
    opened, home = timed(lambda: FamilyRecall.open(path, create=False))
    degraded: collections.Counter[str] = collections.Counter()
    times, n_found = [], 0
    with home:
        home.warmup()  # whatever can be loaded is, so that each run says the same in ``degraded``
        for text, planted in asked:
            took, answer = timed(functools.partial(home.recall, text, ctx))
            times.append(took["ms"])
            degraded.update(answer.degraded)
            n_found += planted is not None and planted in [r.doc_id for r in answer.results]
        embedder = answer.trace.embedder
    return {
        "open_ms": opened["ms"],
        "first_ms": times[0],
        "ms": quantiles(times[1:] or times),
        "planted": sum(planted is not None for _, planted in asked),
        "planted_found": n_found,
        "embedder": embedder,
        "degraded": dict(degraded),
        "address_space_mib": memory_mib("VmPeak"),
        "resident_mib": memory_mib("VmHWM"),
    }


def show(figures: Mapping[str, Any], n: int, limit_mib: int) -> None:
    """Print the figures, one a line."""
    p50, p95, _ = figures["ms"].values()
    print(
        f"{n:,} memories within {limit_mib} MiB of address space\n"
        f"address space, most   {figures['address_space_mib']:.0f} MiB\n"
        f"resident, most        {figures['resident_mib']:.0f} MiB\n"
        f"open, first answer    {figures['open_ms']:.0f} ms, {figures['first_ms']:.0f} ms\n"
        f"recall, p50 / p95     {p50:.1f} / {p95:.1f} ms\n"
        f"planted found         {figures['planted_found']} of {figures['planted']}\n"
        f"embedder              {figures['embedder']}"
    )
    for what, times in figures["degraded"].items():
        print(f"degraded              {what} ({times} times)")


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--memories", type=int, default=MEMORIES, metavar="N",
        help="memories in the household (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--limit-mib", type=int, default=LIMIT_MIB, metavar="MIB",
        help="address space of the process that asks (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--questions", type=int, default=N_QUESTIONS, metavar="N",
        help="questions, eight about planted memories first (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--file", type=Path, metavar="FILE",
        help="ask this household of --memories N; filled and left there if it is missing",
    )  # fmt: skip
    parser.add_argument(
        "--whole", action="store_true",
        help="ask with all that is installed here, the transformer and the cross-encoder, too",
    )  # fmt: skip
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
