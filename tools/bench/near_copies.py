"""Measure recalls of many results among near copies, within budgets.

Every memory of the household is nearly another: families of texts that share so many words that
they stand just at the threshold of a near copy, and others that differ by a number alone. Each cell
asks for some results within a budget; `over` is the most that an answer took past it, and `cpu` the
most processor time: where that is well below a budget that was missed, the machine was busy.
Vectors are a fake encoder's. The exit status is 1 if an answer was later than --limit-ms past its
budget.

Examples:
  python -m tools.bench.near_copies
  python -m tools.bench.near_copies --recalls 50 --top-k 200 1000 --budgets 500 --limit-ms 10
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

from family_recall import FamilyRecall, Memory, RecallContext
from family_recall.apps.evaluation import synthetic
from tools.bench.data import FakeEncoder
from tools.common import parser_of, write_json

BUDGETS_MS = (100.0, 400.0, 500.0)
TOP_K = (12, 50, 200, 500, 1000)
N_MEMORIES = 4_000
FAMILY = 40  # texts of a family
QUESTION = "When did the plumber come for the kitchen tap, and what did it cost?"
_TOPIC = "the plumber came for the kitchen tap and it cost"


def main() -> int:
    """Fill a household with near copies, ask, and print a line for each cell."""
    parser = parser_of(__doc__)
    parser.add_argument("--memories", type=int, default=N_MEMORIES, metavar="N")
    parser.add_argument("--recalls", type=int, default=20, metavar="N", help="of a cell (20)")
    parser.add_argument("--top-k", type=int, nargs="+", default=TOP_K, metavar="K")
    parser.add_argument("--budgets", type=float, nargs="+", default=BUDGETS_MS, metavar="MS")
    parser.add_argument("--limit-ms", type=float, metavar="MS", help="most past a budget (none)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    args: argparse.Namespace = parser.parse_args()
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        with FamilyRecall.open(path, encoder=FakeEncoder()) as home:
            synthetic.furnish(home)
            home.remember_many(near_copies(args.memories))
            print("  budget  top_k  results      p50      max    over     cpu  left out")
            for budget_ms in args.budgets:
                for top_k in args.top_k:
                    cells.append(measure(home, budget_ms, top_k, args.recalls))
                    show(cells[-1])
    if args.json:
        write_json(args.json, cells)
    return int(args.limit_ms is not None and any(c["over_ms"] > args.limit_ms for c in cells))


def near_copies(n: int, seed: int = 0) -> Iterator[Memory]:
    """Make n memories: half of them in families at the threshold, half with another number."""
    draw = random.Random(seed)
    words = synthetic.vocabulary()
    for family in range(-(-n // FAMILY)):
        shared = draw.sample(words, 30)
        for member in range(min(FAMILY, n - family * FAMILY)):
            # Of 40 words some 35 are shared: as many as make two texts near copies, or nearly.
            own = draw.sample(words, draw.randint(1, 4)) if family % 2 else [str(member)]
            text = " ".join([_TOPIC, *shared, *own, str(family)])
            yield Memory(text, synthetic.LARGE, doc_id=f"{family}-{member}")


def measure(home: FamilyRecall, budget_ms: float, top_k: int, n: int) -> dict[str, Any]:
    """Ask n times; return how long it took and what was left out for lack of time, how often."""
    ctx = RecallContext(person_id=synthetic.ASKER, time_budget_ms=budget_ms, top_k=top_k)
    took_ms, cpu_ms, left_out, n_results = [], [], Counter[str](), 0
    for _ in range(n):
        began, worked = time.perf_counter(), time.process_time()
        answer = home.recall(QUESTION, ctx)
        took_ms.append((time.perf_counter() - began) * 1000.0)
        cpu_ms.append((time.process_time() - worked) * 1000.0)
        skips = answer.trace.skips
        left_out.update({skip.stage for skip in skips if skip.reason in {"no_time", "stopped"}})
        n_results = max(n_results, len(answer.results))
    return {
        "budget_ms": budget_ms,
        "top_k": top_k,
        "results": n_results,
        "p50_ms": statistics.median(took_ms),
        "max_ms": max(took_ms),
        "over_ms": max(0.0, max(took_ms) - budget_ms),
        "cpu_ms": max(cpu_ms),
        "left_out": dict(left_out.most_common()),
    }


def show(cell: dict[str, Any]) -> None:
    """Print a cell as a line."""
    left_out = ", ".join(f"{stage} {n}" for stage, n in cell["left_out"].items())
    print(
        f"{cell['budget_ms']:>8.0f} {cell['top_k']:>6} {cell['results']:>8} {cell['p50_ms']:>8.1f}"
        f" {cell['max_ms']:>8.1f} {cell['over_ms']:>7.1f} {cell['cpu_ms']:>7.1f}  {left_out or '-'}"
    )


if __name__ == "__main__":
    sys.exit(main())
