"""Simulate a household that gives feedback, and measure what that does to ranking.

A simulated user asks half of the questions and reacts to the results: with probability --wrong a
result drawn from the first ten is clicked; otherwise the user reads down and clicks each right
result with probability --click until one is clicked; without a right result the first one is
rejected with probability --reject. The other half of the questions gets no feedback: nDCG@10 on it
is measured before, after 50 and after 200 reactions, with 95 % bootstrap intervals over questions,
of the difference too.

Without --data the household is generated from held-out conversation cards.

Examples:
  python -m tools.fit.simulate_feedback
  python -m tools.fit.simulate_feedback --data ~/sets/beam --limit 200 --wrong 0 0.2 --rerank
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import numpy.typing as npt

from family_recall.api import FamilyRecall
from family_recall.apps.evaluation import Dataset, load_dataset
from family_recall.apps.evaluation.datasets import Query, spread
from family_recall.apps.evaluation.measures import bootstrap_means, ece, measure_each
from family_recall.apps.evaluation.testbed import EVALUATOR, contexts, furnish, region_of
from family_recall.types import Answer, RecallContext
from tools.common import parser_of
from tools.fit.calibration import LICENCES, licence, refusal
from tools.train.cards.loader import HELD_OUT
from tools.train.generate_homes import main as generate_homes

BUDGET_MS = 60_000.0  # no stage is left out for lack of time
SEEN = 10


@dataclass(frozen=True, slots=True)
class User:
    """How the simulated user reacts, see the module's docstring."""

    click: float
    wrong: float
    reject: float

    def reacts(self, answer: Answer, gold: Sequence[str], rng: Random) -> tuple[str, bool] | None:
        """Return the doc_id the user reacts to, and whether it is accepted; None if none is."""
        seen = [result.doc_id for result in answer.results[:SEEN]]
        if seen and rng.random() < self.wrong:
            return rng.choice(seen), True
        right = [doc_id for doc_id in seen if doc_id in gold]
        clicked = next((doc_id for doc_id in right if rng.random() < self.click), None)
        if clicked is not None:
            return clicked, True
        return (seen[0], False) if seen and not right and rng.random() < self.reject else None


@dataclass(frozen=True, slots=True)
class Measured:
    """The questions without feedback at one moment: nDCG@10 of each, and calibration."""

    ndcg: tuple[float, ...]
    ece: float
    confidence: float
    right: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, and print one JSON record for each share of wrong clicks."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.data is not None:
        if problem := refusal(options.data, {**LICENCES, **dict(options.licence)}):
            parser.error(problem)
        dataset = load_dataset(options.data / "dev")
    else:
        dataset = generated(options.homes, options.seed)
    answerable = tuple(query for query in dataset.queries if query.gold)
    dataset = spread(Dataset(dataset.name, dataset.memories, answerable), options.limit)
    for wrong in options.wrong:
        user = User(options.click, wrong, options.reject)
        record = simulate(
            dataset, user, tuple(options.after), rerank=options.rerank, seed=options.seed
        )
        print(json.dumps(record), flush=True)
    return 0


def generated(homes: int, seed: int) -> Dataset:
    """Generate a household from cards that trained nothing."""
    with tempfile.TemporaryDirectory(prefix="family_recall_homes_") as scratch:
        generate_homes(
            ["--cards", str(HELD_OUT), "--homes", str(homes), "--seed", str(seed), "--without",
             "hint", "--out", scratch]
        )  # fmt: skip
        return dataclasses.replace(load_dataset(Path(scratch) / "dev"), name="invented")


def simulate(
    dataset: Dataset, user: User, after: Sequence[int], *, rerank: bool, seed: int
) -> Mapping[str, object]:
    """Simulate feedback on half of the questions, repeatedly; measure the other half."""
    rng = Random(seed)
    order = list(dataset.queries)
    rng.shuffle(order)
    taught, unseen = order[::2], order[1::2]
    context = RecallContext(
        person_id=EVALUATOR, time_budget_ms=BUDGET_MS, top_k=SEEN, allow_cross_encoder=rerank
    )
    context_of = contexts(dataset, context)

    def ask(home: FamilyRecall, query: Query) -> tuple[Answer, RecallContext]:
        ctx = context_of(query)
        return home.recall(query.text, ctx), ctx

    def measured(home: FamilyRecall) -> Measured:
        answers = [(ask(home, query)[0], query.gold) for query in unseen]
        firsts = [bool(a.results) and a.results[0].doc_id in gold for a, gold in answers]
        ndcg = measure_each(
            [[result.doc_id for result in a.results] for a, _ in answers],
            [gold for _, gold in answers],
            [f"ndcg@{SEEN}"],
        )
        return Measured(
            tuple(ndcg[:, 0].tolist()),
            ece([a.confidence for a, _ in answers], firsts),
            sum(a.confidence for a, _ in answers) / len(answers),
            sum(firsts) / len(answers),
        )

    with tempfile.TemporaryDirectory(prefix="family_recall_simulate_") as scratch:
        path = Path(scratch) / "home.db"
        with FamilyRecall.open(path, **region_of(dataset)) as home:
            furnish(home, dataset)
            home.warmup()
            before = measured(home)
            record: dict[str, object] = {
                "dataset": dataset.name,
                "user": dataclasses.asdict(user), "rerank": rerank, "seed": seed,
                "judged_questions": len(taught), "unseen_questions": len(unseen),
                "before": _line(before, before, seed),
            }  # fmt: skip
            done = n_asked = n_learned = 0
            learning_s = 0.0
            for wanted in sorted(after):
                while done < wanted and n_asked < 20 * wanted:
                    query = taught[n_asked % len(taught)]
                    n_asked += 1
                    answer, ctx = ask(home, query)
                    judged = user.reacts(answer, query.gold, rng)
                    if judged is None:
                        continue
                    doc_id, accepted = judged
                    started = time.perf_counter()
                    receipt = home.feedback(answer, doc_id, accepted, ctx=ctx)
                    learning_s += time.perf_counter() - started
                    done += receipt.kept
                    n_learned += receipt.learned
                record[f"after_{wanted}"] = _line(measured(home), before, seed)
            record["steps_kept"] = n_learned
            record["feedback_ms"] = round(1000 * learning_s / max(done, 1), 1)
            (learning,) = home.learning.all(EVALUATOR)
            record["ratios"] = {
                name: round(now / shipped, 3) for name, (shipped, now) in learning.weights.items()
            }
    return record


def _line(now: Measured, before: Measured, seed: int) -> dict[str, object]:
    gained = [[a - b] for a, b in zip(now.ndcg, before.ndcg, strict=True)]
    mean, gain = (
        bootstrap_means(_table(rows), seed=seed)[0] for rows in ([[n] for n in now.ndcg], gained)
    )
    return {
        "ndcg@10": msgspec.to_builtins(mean),
        "gain": msgspec.to_builtins(gain),
        "ece": round(now.ece, 4),
        "first_right": round(now.right, 4),
        "mean_confidence": round(now.confidence, 4),
    }


def _table(rows: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    return np.array(rows, np.float64)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="a set's folder, holds dev/ (default: invented)"
    )
    parser.add_argument(
        "--licence", action="append", type=licence, default=[], metavar="NAME=LICENCE",
        help="terms of a set that is not known here (default: none)",
    )  # fmt: skip
    parser.add_argument(
        "--homes", type=int, default=4, metavar="N", help="homes to invent (default: 4)"
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="questions of the set (default: all)"
    )
    parser.add_argument(
        "--after", type=int, nargs="+", default=[50, 200], metavar="N",
        help="judgements after which to measure (default: 50 200)",
    )  # fmt: skip
    parser.add_argument(
        "--click", type=float, default=0.9, metavar="P",
        help="chance that a right result that is seen is clicked (default: 0.9)",
    )  # fmt: skip
    parser.add_argument(
        "--wrong", type=float, nargs="+", default=[0.0, 0.2], metavar="P",
        help="chance of a click on any of the ten (default: 0.0 0.2)",
    )  # fmt: skip
    parser.add_argument(
        "--reject",
        type=float,
        default=0.5,
        metavar="P",
        help="chance that the first result is rejected where nothing right is seen (default: 0.5)",
    )
    parser.add_argument(
        "--rerank", action="store_true", help="with the cross-encoder (default: no)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of every draw (default: 0)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
