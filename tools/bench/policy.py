"""Measure what access decisions add to a recall, and what the audit log adds.

One household, the same questions in every variant, the variants in turns and in changing order;
of each question the quickest of the repeats counts, by processor time of all threads.
`ratio` is the median over the questions against `neither`, where the scope is decided once before
and reused, and there is no log. The household has many grants, guardians and redacted views of the
large space (see --roles).

Examples:
  python -m tools.bench.policy
  python -m tools.bench.policy --memories 10000 --questions 50 --repeats 9 --json policy.json
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime as dt
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

from family_recall import FamilyRecall, Grant, Hidden, Person, RecallContext
from family_recall.access import policy
from family_recall.apps.evaluation import synthetic
from family_recall.store.transaction import Snapshot
from family_recall.types import Scope
from tools.bench.data import FakeEncoder
from tools.common import parser_of, write_json

VARIANTS = ("neither", "policy", "audit", "both")


def build(path: Path, n: int, n_roles: int) -> FamilyRecall:
    """Fill a household, with guests, guardians and views beside what is in it."""
    home = FamilyRecall.open(path, encoder=FakeEncoder())
    synthetic.furnish(home)
    for role in ("guest", "child", "device")[:n_roles]:
        home.spaces.hide(Hidden(synthetic.LARGE, role, ("author", "source", "url")))
    for at in range(10 * n_roles):
        home.people.add(Person(f"guest-{at}", f"Guest {at}"))
        home.spaces.grant(Grant(f"guest-{at}", synthetic.LARGE, "guest"))
    home.people.add_guardian(synthetic.ASKER, "leela")
    marked = (
        dataclasses.replace(memory, guardians_of="leela" if at % 50 == 0 else None)
        for at, memory in enumerate(synthetic.memories(n))
    )
    home.remember_many(marked)
    return home


@contextlib.contextmanager
def decided_before(scope: Scope) -> Iterator[None]:
    """Return one scope for every request."""
    with (
        mock.patch.object(policy, "scope_of", return_value=scope),
        mock.patch.object(Snapshot, "access", return_value=()),
    ):
        yield


def scope_asked_for(home: FamilyRecall, question: str, ctx: RecallContext) -> Scope:
    """Return the scope that is decided for a request."""
    decide = policy.scope_of
    scopes: list[Scope] = []

    def noted(*args: Any, **named: Any) -> Scope:
        scopes.append(decide(*args, **named))
        return scopes[-1]

    with mock.patch.object(policy, "scope_of", noted):
        home.recall(question, ctx)
    return scopes[0]


def time_to_decide_us(home: FamilyRecall, ctx: RecallContext, repeats: int = 400) -> float:
    """Return the microseconds it takes to read the access rules and decide a scope."""
    took = []
    with home._engine.store.snapshot() as snapshot:  # noqa: SLF001 - the look-up and the decision alone
        for _ in range(repeats):
            began = time.process_time_ns()
            policy.scope_of(snapshot, ctx, wall_s=0.0, zone=dt.UTC)
            took.append((time.process_time_ns() - began) / 1e3)
    return statistics.median(took)


def measure(home: FamilyRecall, n_questions: int, n: int, repeats: int) -> dict[str, list[float]]:
    """Return each variant's processor milliseconds, question by question."""
    ctx = RecallContext(synthetic.ASKER, time_budget_ms=60_000)
    questions = synthetic.questions(n_questions, n)
    scope = scope_asked_for(home, questions[0].text, ctx)
    rng = random.Random(0)
    quickest = {name: [float("inf")] * len(questions) for name in VARIANTS}
    for _ in range(repeats):
        for name in rng.sample(VARIANTS, len(VARIANTS)):
            home.audit.keep_days(30 if name in {"audit", "both"} else 0)
            decides = name in {"policy", "both"}
            with contextlib.nullcontext() if decides else decided_before(scope):
                for at, question in enumerate(questions):
                    began = time.process_time_ns()
                    home.recall(question.text, ctx)
                    ms = (time.process_time_ns() - began) / 1e6
                    quickest[name][at] = min(quickest[name][at], ms)
    return quickest


def main() -> int:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--memories", type=int, default=10_000, metavar="N")
    parser.add_argument("--questions", type=int, default=30, metavar="N")
    parser.add_argument("--repeats", type=int, default=9, metavar="N")
    parser.add_argument("--roles", type=int, default=1, choices=range(4), help="views of a space")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    args: argparse.Namespace = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = build(Path(folder) / "family.db", args.memories, args.roles)
        with home:
            decide_us = time_to_decide_us(home, RecallContext(synthetic.ASKER))
            quickest = measure(home, args.questions, args.memories, args.repeats)
    print(f"deciding a scope takes {decide_us:.0f} µs")
    figures: dict[str, dict[str, float]] = {"decide": {"us": round(decide_us, 1)}}
    for name in VARIANTS:
        pairs = zip(quickest[name], quickest["neither"], strict=True)
        figures[name] = {
            "cpu_ms": round(statistics.median(quickest[name]), 3),
            "ratio": round(statistics.median(ms / other for ms, other in pairs), 4),
        }
        print(f"{name:8} {figures[name]['cpu_ms']:8.3f} ms  × {figures[name]['ratio']:.4f}")
    if args.json:
        write_json(args.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
