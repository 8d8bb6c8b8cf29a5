"""Many recalls at once from one event loop: how long each waits, and whether it says so.

A household is filled, and answers some questions in turn, so that its stages have prices. Then so
many recalls are awaited together, with and without writes beside them. What counts is time at the
caller, from the await to the answer. An answer says that time was short where its trace has a skip
for it. Beside them a task sleeps for a millisecond again and again: how much later it wakes is how
late the loop is.

Examples:
  python -m tools.bench.async_load
  python -m tools.bench.async_load --memories 2000 --at-once 64 --budget-ms 100 --json load.json
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import numpy as np

from family_recall import Answer, FamilyRecall
from family_recall.apps.evaluation import synthetic
from tools.common import parser_of, say, write_json

GRACE_MS = 10.0  # beyond the budget


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where an answer was late and did not say so."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(_measure(Path(folder) / "family.db", options))
    print(f"{options.at_once} recalls at once, {options.budget_ms:.0f} ms each, ms")
    print(
        f"{'':16}{'p50':>8}{'longest':>9}{'short of time':>15}{'late, unsaid':>14}{'loop p99':>10}"
    )
    for name, row in rows.items():
        print(
            f"{name:16}{row['p50_ms']:8.0f}{row['longest_ms']:9.0f}{row['short_of_time']:15}"
            f"{row['late_unsaid']:14}{row['loop_p99_ms']:10.1f}"
        )
    if options.json:
        write_json(options.json, rows)
    return int(any(row["late_unsaid"] for row in rows.values()))


async def _measure(path: Path, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    async with await FamilyRecall.aopen(path) as home:
        await home.arun(lambda: synthetic.furnish(home), writes=True)
        say(f"storing {options.memories:,} memories")
        memories = list(synthetic.memories(options.memories + options.at_once))
        await home.aremember_many(memories[: options.memories])
        questions = [each.text for each in synthetic.questions(40, options.memories)]
        for question in questions:
            await home.arecall(question, person_id=synthetic.ASKER, time_budget_ms=60_000.0)
        rows: dict[str, dict[str, Any]] = {}
        for name in ("recalls alone", "beside writes"):
            say(name)
            ended = asyncio.Event()
            lateness = asyncio.ensure_future(_lateness(ended))
            writes = [
                home.aremember(memory)
                for memory in (memories[options.memories :] if name != "recalls alone" else ())
            ]
            asked = [
                _asked(home, questions[n % len(questions)], options.budget_ms)
                for n in range(options.at_once)
            ]
            answers = await asyncio.gather(*asked, *writes)
            ended.set()
            rows[name] = _row(answers[: options.at_once], await lateness, options.budget_ms)
    return rows


async def _asked(home: FamilyRecall, question: str, budget_ms: float) -> tuple[float, Answer]:
    """Return how long the caller waited, in ms, and the answer."""
    started = time.perf_counter()
    answer = await home.arecall(question, person_id=synthetic.ASKER, time_budget_ms=budget_ms)
    return (time.perf_counter() - started) * 1000.0, answer


async def _lateness(ended: asyncio.Event) -> list[float]:
    """Return how many ms too late the loop woke this task, each time."""
    late = []
    while not ended.is_set():
        started = time.perf_counter()
        await asyncio.sleep(0.001)
        late.append((time.perf_counter() - started) * 1000.0 - 1.0)
    return late


def _row(answers: Sequence[Any], late_ms: list[float], budget_ms: float) -> dict[str, Any]:
    waited = [waited_ms for waited_ms, _ in answers]
    short = [any(skip.hurried for skip in answer.trace.skips) for _, answer in answers]
    late = [ms > budget_ms + GRACE_MS for ms in waited]
    return {
        "p50_ms": float(np.median(waited)),
        "longest_ms": max(waited),
        "short_of_time": sum(short),
        "late_unsaid": sum(is_late and not says for is_late, says in zip(late, short, strict=True)),
        "loop_p99_ms": float(np.percentile(late_ms, 99)),
    }


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument("--memories", type=int, default=10_000, metavar="N")
    parser.add_argument("--at-once", type=int, default=32, metavar="N")
    parser.add_argument("--budget-ms", type=float, default=300.0, metavar="MS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
