"""Measure what a guarantee costs: storing, replacing and asking, with it and without it.

One household is filled twice for each guarantee, alternately: once as the library is, once without.
Figures are processor time of all threads; `ratio` is with over without, the median over the
rounds, and of each question the quickest of its repeats counts. Embedding is left to a fake
encoder, so that storing is what is measured.

Examples:
  python -m tools.bench.overheads
  python -m tools.bench.overheads secure_delete --memories 2000 --rounds 5 --json overheads.json
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import apsw

from family_recall import FamilyRecall, Memory, RecallContext
from family_recall.apps.evaluation import synthetic
from family_recall.store import word_index
from family_recall.store.file import connection as opening
from family_recall.store.file.schema import words_table
from tools.bench.data import FakeEncoder
from tools.common import parser_of, write_json

STEPS = ("remember_many", "remember", "replace", "recall")


@dataclass(frozen=True)
class Overhead:
    """A guarantee: how to do without it, and how to open a household with it."""

    name: str
    without: Callable[[], contextlib.AbstractContextManager[object]]
    opening: Mapping[str, Any] = field(default_factory=dict)


@contextlib.contextmanager
def insecure_deletion() -> Iterator[None]:
    """Delete without overwriting, in SQLite's pages and in FTS5's."""
    create_securely = word_index.create

    def create(connection: apsw.Connection, shard: int) -> None:
        create_securely(connection, shard)
        name = words_table(shard)
        connection.execute(f"INSERT INTO {name}({name}, rank) VALUES('secure-delete', 0)")

    with (
        mock.patch.dict(opening.PRAGMAS, secure_delete="OFF"),
        mock.patch.object(word_index, "create", create),
    ):
        yield


OVERHEADS = (
    Overhead("secure_delete", insecure_deletion),
    Overhead("encryption", contextlib.nullcontext, opening={"key": bytes(range(32))}),
)
"""What can be measured; a new guarantee is added with how to do without it."""


def one_round(path: Path, opening: Mapping[str, Any], n: int, n_asked: int) -> dict[str, float]:
    """Fill and ask one household; return processor milliseconds a memory, or a question."""
    took: dict[str, float] = {}
    memories = list(synthetic.memories(n + n // 10))
    batch, singly = memories[:n], memories[n:]
    again = [dataclasses.replace(memory, doc_id=f"again-{at}") for at, memory in enumerate(singly)]
    newer = [dataclasses.replace(memory, text=f"{memory.text} after all") for memory in again]
    ctx = RecallContext(synthetic.ASKER, time_budget_ms=60_000)
    with FamilyRecall.open(path, encoder=FakeEncoder(), **opening) as home:
        synthetic.furnish(home)
        home.warmup()
        took["remember_many"] = cpu_ms(lambda: home.remember_many(batch)) / len(batch)
        took["remember"] = cpu_ms(lambda: each(home, again)) / len(again)
        took["replace"] = cpu_ms(lambda: each(home, newer)) / len(newer)
        questions = synthetic.questions(n_asked, n)
        quickest = [
            min(cpu_ms(functools.partial(home.recall, question.text, ctx)) for _ in range(3))
            for question in questions
        ]
        took["recall"] = statistics.median(quickest)
    return took


def each(home: FamilyRecall, memories: list[Memory]) -> None:
    """Store memories one by one."""
    for memory in memories:
        home.remember(memory)


def cpu_ms(call: Callable[[], object]) -> float:
    """Return the processor time a call takes."""
    began = time.process_time_ns()
    call()
    return (time.process_time_ns() - began) / 1e6


def measure(overhead: Overhead, n: int, n_asked: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return for each step the milliseconds with and without, and their ratio."""
    rounds_ms: list[tuple[dict[str, float], dict[str, float]]] = []
    for number in range(rounds):
        pair: dict[bool, dict[str, float]] = {}
        # In changing order: the second one has warmer caches.
        for with_it in (True, False) if number % 2 else (False, True):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "family.db"
                with contextlib.nullcontext() if with_it else overhead.without():
                    opening = overhead.opening if with_it else {}
                    pair[with_it] = one_round(path, opening, n, n_asked)
        rounds_ms.append((pair[True], pair[False]))
    return {
        step: {
            "with_ms": round(statistics.median(with_it[step] for with_it, _ in rounds_ms), 4),
            "without_ms": round(statistics.median(other[step] for _, other in rounds_ms), 4),
            "ratio": round(
                statistics.median(with_it[step] / other[step] for with_it, other in rounds_ms), 3
            ),
        }
        for step in STEPS
    }


def main() -> int:
    """Measure and print."""
    parser = parser_of(__doc__)
    names = [overhead.name for overhead in OVERHEADS]
    parser.add_argument("only", nargs="*", help=f"any of {', '.join(names)} (default: all)")
    parser.add_argument("--memories", type=int, default=1_000, metavar="N")
    parser.add_argument("--questions", type=int, default=20, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    args: argparse.Namespace = parser.parse_args()
    if unknown := sorted(set(args.only) - set(names)):
        parser.error(f"{unknown[0]!r} is none of {', '.join(names)}")
    figures = {}
    for overhead in OVERHEADS:
        if args.only and overhead.name not in args.only:
            continue
        figures[overhead.name] = measure(overhead, args.memories, args.questions, args.rounds)
        print(f"{overhead.name}, {args.memories:,} memories, {args.rounds} rounds")
        for step, row in figures[overhead.name].items():
            print(
                f"  {step:14} {row['with_ms']:8.3f} ms with {row['without_ms']:8.3f} without"
                f"  × {row['ratio']:.3f}"
            )
    if args.json:
        write_json(args.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
