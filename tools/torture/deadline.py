"""Ask at random budgets while the machine is busy, and see how often an answer comes late.

Each recall draws a budget between --shortest and --longest, results wanted between 12 and
--most-results (their logarithms evenly) and a question of a synthetic household, see
tools/bench/data.py. Among its memories are --long texts of 10 to --most-chars characters (their
logarithm evenly): of everyday words, of lines, of words that occur once, of one word without an end
and of marks alone. What a recall took past its budget is its overshoot, 0 where it was in time;
`cpu overshoot` is the same of its thread's own processor time, which no other process prolongs.
`idle` asks alone; `load` asks while another thread of this process imports memories, and another
process keeps every processor busy half of the time; `together` asks --at-once questions at once by
`arecall`, and each answer that is over 10 ms late has to say so in `degraded`.
Every answer is checked: ranks from 1, no memory twice, each score the sum of its reasons, and the
scores falling (or, in a timeline, the moments rising). Any exception is counted. The exit status
is 1 if an answer was wrong or an exception came, or with --limit-ms if p99 was above it.

Examples:
  python -m tools.torture.deadline
  python -m tools.torture.deadline --recalls 2000 --memories 2000 --only load --json torture.json
  python -m tools.torture.deadline --recalls 2000 --long 300 --only idle --limit-ms 10
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import numpy as np
from rich.console import Console
from rich.table import Table

from family_recall import Answer, Memory, RecallContext
from family_recall.api import FamilyRecall
from family_recall.apps.evaluation import synthetic
from tools.common import ROOT, parser_of, write_json

PHASES = ("idle", "load", "together")
N_RECALLS = 20_000
N_MEMORIES = 2_000
N_LONG = 100
FEWEST_CHARS, MOST_CHARS = 10, 1_000_000
FEWEST_RESULTS, MOST_RESULTS = 12, 1_000
AT_ONCE = 50
LATE_MS = 10.0  # from which an answer has to say that it is late
SHORTEST_MS, LONGEST_MS = 2.0, 300.0
BURN_S = 0.05  # a burner works this long, and rests as long
BATCH = 16  # memories the importing thread stores at a time
TOLERANCE = 1e-4  # of a score, against the sum of its reasons
_QUANTILES = (50, 95, 99)
_EXAMPLES = 5  # of faults that are printed


def main(arguments: Sequence[str] | None = None) -> int:
    """Torture and print; 1 when an answer is wrong, raises, or is too late for ``--limit-ms``."""
    options = _parser().parse_args(arguments)
    if options.burn:
        return burn()
    with tempfile.TemporaryDirectory(prefix="family_recall_torture_") as scratch:
        path = Path(scratch) / "torture.db"
        models = None if options.models is None else Path(options.models)
        with FamilyRecall.open(path, timezone="UTC", models=models) as home:
            synthetic.furnish(home)
            home.remember_many(synthetic.memories(options.memories))
            home.remember_many(long_memories(options.long, options.most_chars, seed=options.seed))
            home.warmup()
            report = {
                "memories": options.memories,
                "long": options.long,
                "seed": options.seed,
                "model": home.maintenance.stats()["model"],
                "processors": os.cpu_count(),
                "load_1_min": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
                "phases": {},
            }
            for phase in [options.only] if options.only else PHASES:
                with busy(home, options.memories) if phase == "load" else contextlib.nullcontext():
                    figures = torture(home, options, at_once=phase == "together")
                report["phases"][phase] = figures
    if options.json == "-":
        print(json.dumps(report, indent=2))
    else:
        show(report, Console(width=None if sys.stdout.isatty() else 110))
        if options.json:
            write_json(Path(options.json), report)
    return int(any(_failed(figures, options.limit_ms) for figures in report["phases"].values()))


def long_memories(n: int, most_chars: int, *, seed: int = 0) -> Iterator[Memory]:
    """Yield texts of 10 to ``most_chars`` characters, by turns of five kinds."""
    draw, words = random.Random(seed), synthetic.vocabulary()
    spaces = [space.space_id for space, _ in synthetic.SPACES]
    lowest, highest = math.log(FEWEST_CHARS), math.log(max(most_chars, FEWEST_CHARS))
    for number in range(n):
        n_chars = round(math.exp(draw.uniform(lowest, highest)))
        asked = " ".join(draw.choice(synthetic.PLANTED)[1].split()[-3:])
        fill = (
            "{word} ",
            "{word} {minute}\n",
            "{number:x} ",
            "endless",
            "{marks}",
        )[number % 5]
        parts, length = [f"{asked} "], len(asked) + 1
        while length < n_chars:
            parts.append(
                fill.format(
                    word=words[int(len(words) * draw.random() ** 3)],
                    minute=draw.randrange(60),
                    number=draw.randrange(1 << 40),
                    marks=draw.choice(("... ", "?!", "—", "/\n")),
                )
            )
            length += len(parts[-1])
        text = "".join(parts)[:n_chars].strip() or asked
        yield Memory(
            text, space_id=draw.choice(spaces), author=draw.choice(synthetic.PEOPLE).person_id
        )


@dataclasses.dataclass(frozen=True)
class Asked:
    """A question with what it may take, and what became of it."""

    question: str
    ctx: RecallContext
    took_ms: float = 0.0
    cpu_ms: float = 0.0
    waited: bool = False
    answer: Answer | None = None
    exception: str = ""

    @property
    def late_ms(self) -> float:
        """Milliseconds past the budget; negative in time."""
        return self.took_ms - self.ctx.time_budget_ms

    def fault(self) -> str | None:
        """Return what is wrong with the answer; None where nothing is."""
        if self.answer is None:
            return None
        late_ms = self.answer.used_time_ms - self.ctx.time_budget_ms
        if self.waited and late_ms > 2.0 * LATE_MS and not self.answer.degraded:
            return f"{late_ms:.0f} ms late, and does not say so"
        return fault_of(self.answer)


def torture(
    home: FamilyRecall, options: argparse.Namespace, *, at_once: bool = False
) -> dict[str, Any]:
    """Ask until the number, or the seconds, are over; return the figures of the answers."""
    draw = random.Random(options.seed)
    questions = [
        question.text for question in synthetic.questions(500, options.memories, seed=options.seed)
    ]
    until_s = time.perf_counter() + (options.seconds or math.inf)

    def ask() -> Iterator[Asked]:
        n_left = options.recalls
        while n_left and time.perf_counter() < until_s:
            n = min(options.at_once, n_left) if at_once else 1
            asked = [drawn(draw, questions, options) for _ in range(n)]
            yield from asyncio.run(_together(home, asked)) if at_once else map(_alone(home), asked)
            n_left -= n

    return figures_of(ask())


def drawn(draw: random.Random, questions: Sequence[str], options: argparse.Namespace) -> Asked:
    """Draw a question, its budget and how many results it wants."""

    def between(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(max(low, high))))

    ctx = RecallContext(
        person_id=synthetic.ASKER,
        time_budget_ms=between(options.shortest, options.longest),
        top_k=round(between(FEWEST_RESULTS, options.most_results)),
    )
    return Asked(draw.choice(questions), ctx)


def _alone(home: FamilyRecall) -> Callable[[Asked], Asked]:
    def ask(asked: Asked) -> Asked:
        start_s, start_cpu_s = time.perf_counter(), time.thread_time()
        try:
            answer = home.recall(asked.question, asked.ctx)
        except Exception as error:  # noqa: BLE001  counting them is what this is for
            return dataclasses.replace(asked, exception=f"{type(error).__name__}: {error}")
        took_ms = (time.perf_counter() - start_s) * 1000.0
        cpu_ms = (time.thread_time() - start_cpu_s) * 1000.0
        return dataclasses.replace(asked, took_ms=took_ms, cpu_ms=cpu_ms, answer=answer)

    return ask


async def _together(home: FamilyRecall, asked: Sequence[Asked]) -> list[Asked]:
    async def ask(one: Asked) -> Asked:
        start_s = time.perf_counter()
        try:
            answer = await home.arecall(one.question, one.ctx)
        except Exception as error:  # noqa: BLE001  counting them is what this is for
            return dataclasses.replace(one, exception=f"{type(error).__name__}: {error}")
        took_ms = (time.perf_counter() - start_s) * 1000.0
        return dataclasses.replace(one, took_ms=took_ms, answer=answer, waited=True)

    return await asyncio.gather(*map(ask, asked))


def figures_of(done: Iterable[Asked]) -> dict[str, Any]:
    """Return the figures of what was asked; no answer is kept, for they may be long."""
    exceptions: list[str] = []
    wrong: list[str] = []
    rows: list[tuple[float, float, float]] = []
    embedders: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    late: Counter[str] = Counter()
    n_pairs = n_results = 0
    for asked in done:
        if asked.answer is None:
            exceptions.append(asked.exception)
            continue
        if fault := asked.fault():
            wrong.append(f"{asked.question}: {fault}")
        rows.append((asked.ctx.time_budget_ms, asked.took_ms, asked.cpu_ms))
        trace = asked.answer.trace
        embedders[trace.embedder or "words alone"] += 1
        skipped.update({skip.stage for skip in trace.skips})
        n_pairs += sum(span.n_in for span in trace.spans if span.stage == "rerank")
        n_results += len(asked.answer.results)
        if asked.late_ms > 1.0:
            # Where the time went: the slowest stage of a late answer, or time in none.
            spans = {span.stage: span.ms for span in trace.spans}
            spans["between stages"] = asked.took_ms - sum(spans.values())
            late[max(spans, key=lambda stage: spans[stage])] += 1
    budgets, took, cpu = np.array(rows or [(1.0, 1.0, 1.0)]).T
    return {
        "recalls": len(rows),
        "overshoot_ms": quantiles(np.maximum(took - budgets, 0.0)),
        "overshoot_below_20_ms": quantiles(np.maximum(took - budgets, 0.0)[budgets < 20.0]),
        "cpu_overshoot_ms": quantiles(np.maximum(cpu - budgets, 0.0)),
        "late_share": round(float((took > budgets).mean()), 4),
        "budget_used": round(float(np.median(took / budgets)), 3),
        "took_ms": quantiles(took),
        "results_per_recall": round(n_results / max(len(rows), 1), 1),
        "pairs_per_recall": round(n_pairs / max(len(rows), 1), 2),
        "embedders": dict(embedders.most_common()),
        "skips": dict(skipped.most_common()),
        "late_by": dict(late.most_common()),
        "exceptions": len(exceptions),
        "wrong": len(wrong),
        "examples": (exceptions + wrong)[:_EXAMPLES],
    }


def fault_of(answer: Answer) -> str | None:
    """Return what is wrong with the order, or the sums, of an answer; None where nothing is."""
    results = answer.results
    if [result.rank for result in results] != list(range(1, len(results) + 1)):
        return "ranks are not 1, 2, 3, …"
    if len({(result.space_id, result.doc_id) for result in results}) != len(results):
        return "a memory comes twice"
    for result in results:
        total = sum(part.amount for part in result.contributions)
        if not math.isfinite(result.score) or abs(result.score - total) > TOLERANCE:
            return f"{result.doc_id} scores {result.score}, its reasons {total}"
    if answer.strategy == "TIMELINE":
        moments = [result.occurred_at for result in results if result.occurred_at]
        return None if moments == sorted(moments) else "a timeline that runs backwards"
    by_score = sorted(results, key=lambda result: result.rank_by_score or result.rank)
    scores = [result.score for result in by_score]
    falling = all(a >= b - TOLERANCE for a, b in itertools.pairwise(scores))
    return None if falling else "scores that rise"


@contextlib.contextmanager
def busy(home: FamilyRecall, n_memories: int) -> Iterator[None]:
    """Import on another thread, and burn half of every processor in other processes."""
    stop = threading.Event()

    def run() -> None:
        more = synthetic.memories(10**9, seed=n_memories + 1)
        while not stop.is_set():
            # Without ids: with those of stored memories they would replace them.
            batch = [dataclasses.replace(next(more), doc_id=None) for _ in range(BATCH)]
            home.remember_many(batch)

    importing = threading.Thread(target=run, name="importing")
    command = [sys.executable, "-m", "tools.torture.deadline", "--burn"]
    burners = [subprocess.Popen(command, cwd=ROOT) for _ in range(os.cpu_count() or 1)]
    importing.start()
    try:
        yield
    finally:
        stop.set()
        importing.join()
        for burner in burners:
            burner.kill()
            burner.wait()


def burn() -> int:
    """Keep one processor busy half of the time, until killed or the parent is gone."""
    parent = os.getppid()
    while os.getppid() == parent:
        until_s = time.perf_counter() + BURN_S
        while time.perf_counter() < until_s:
            sum(range(1000))
        time.sleep(BURN_S)
    return 0


def quantiles(values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    """Return p50, p95, p99 and the largest, in milliseconds; zeros of nothing."""
    if not len(values):
        return {**{f"p{q}": 0.0 for q in _QUANTILES}, "max": 0.0}
    figures = {f"p{q}": round(float(np.percentile(values, q)), 3) for q in _QUANTILES}
    return {**figures, "max": round(float(values.max()), 3)}


def show(report: dict[str, Any], console: Console) -> None:
    """Print the report as a table."""
    phases = report["phases"]
    console.print(
        f"{report['memories']:,} memories and {report['long']:,} long, model {report['model']}, "
        f"{report['processors']} processors, load {report['load_1_min']}, seed {report['seed']}",
        highlight=False,
    )
    table = Table("", *phases, title="ms: p50 / p95 / p99 / max")
    for name in ("overshoot_ms", "overshoot_below_20_ms", "cpu_overshoot_ms", "took_ms"):
        cells = (
            " / ".join(f"{ms:.2f}" for ms in figures[name].values()) for figures in phases.values()
        )
        table.add_row(name.replace("_", " "), *cells)
    for name in (
        "recalls", "late_share", "budget_used", "results_per_recall", "pairs_per_recall",
        "exceptions", "wrong",
    ):  # fmt: skip
        table.add_row(
            name.replace("_", " "), *(f"{figures[name]:,}" for figures in phases.values())
        )
    for name in ("embedders", "skips", "late_by"):
        table.add_row(
            name.replace("_", " "),
            *(
                "\n".join(f"{key} {n:,}" for key, n in figures[name].items())
                for figures in phases.values()
            ),
        )
    console.print(table)
    for phase, figures in phases.items():
        for example in figures["examples"]:
            console.print(f"{phase}: {example}", style="red", highlight=False)


def _failed(figures: dict[str, Any], limit_ms: float | None) -> bool:
    too_late = limit_ms is not None and figures["overshoot_ms"]["p99"] > limit_ms
    return bool(figures["exceptions"] or figures["wrong"] or too_late)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--recalls", type=int, default=N_RECALLS, metavar="N", help=f"of a phase ({N_RECALLS})")
    add("--seconds", type=float, metavar="S", help="of a phase at most (no limit)")
    add("--memories", type=int, default=N_MEMORIES, metavar="N", help=f"({N_MEMORIES})")
    add("--long", type=int, default=N_LONG, metavar="N", help=f"texts of any length ({N_LONG})")
    add("--most-chars", type=int, default=MOST_CHARS, metavar="N", help=f"({MOST_CHARS})")
    add("--most-results", type=int, default=MOST_RESULTS, metavar="N", help=f"({MOST_RESULTS})")
    add("--at-once", type=int, default=AT_ONCE, metavar="N", help=f"of `together` ({AT_ONCE})")
    add("--shortest", type=float, default=SHORTEST_MS, metavar="MS", help=f"budget ({SHORTEST_MS})")
    add("--longest", type=float, default=LONGEST_MS, metavar="MS", help=f"budget ({LONGEST_MS})")
    add("--only", choices=PHASES, help="one phase (all)")
    add("--models", metavar="DIR", help="folder of models (the shipped ones)")
    add("--limit-ms", type=float, metavar="MS", help="p99 overshoot to fail above (none)")
    add("--seed", type=int, default=0, metavar="N", help="of budgets and questions (0)")
    add("--json", metavar="FILE", help="write the report as JSON, - for standard output (not)")
    add("--burn", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
