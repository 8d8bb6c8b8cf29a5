"""Fit the test of whether what was said after the first candidate answers rather than it.

The questions of homes that no model was trained on, and of beam, are asked in the pipeline with the
cross-encoder. Each candidate that it reads beside the first is an example: right where it answers
and the first does not, wrong where the first does and it does not. A tenth of the homes is left out
at a time. The threshold is the least at which, of the questions left out, `GAINS` times as many
gain a right first answer as lose it.

Examples:
  python -m tools.fit.later ~/sets
  python -m tools.fit.later ~/sets --output /tmp/later.json
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.common import ROOT, parser_of, say, write_json

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import dataclasses

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from family_recall.api import FamilyRecall
from family_recall.apps.evaluation import load_dataset
from family_recall.apps.evaluation.testbed import EVALUATOR, contexts, furnish, region_of
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking import later
from family_recall.recall.runner import Runner
from family_recall.types import RecallContext
from tools.train import written_homes
from tools.train.homes.loader import HELD_OUT, MANY_HANDS_CONSTANTS

HOUSEHOLDS = ROOT / "tools/fit/households"
OUTPUT = ROOT / "family_recall/recall/ranking/later.json"
BUDGET_MS = 60_000.0
PARTS = 10
GAINS = 3.0
"""First answers that come right for each that is lost."""


@dataclass(frozen=True, slots=True)
class Example:
    """A later candidate that was compared with the first, and whether it answers rather than it."""

    group: str
    question: str
    features: tuple[float, ...]
    is_right: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect, fit with homes left out, choose the threshold, and write the model."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folders = [options.data / "beam/dev"]
        for path in (HELD_OUT, MANY_HANDS_CONSTANTS):
            written_homes.main(["--homes", str(path), "--out", str(Path(scratch) / path.stem)])
            folders.append(Path(scratch) / path.stem / "dev")
        folders += sorted(HOUSEHOLDS.glob("*/dev"))
        examples = [each for folder in folders for each in examples_of(folder, options.models)]
    x = np.array([each.features for each in examples])
    y = np.array([each.is_right for each in examples])
    groups = np.array([each.group for each in examples])
    left_out = np.zeros(len(examples))
    for training, own in GroupKFold(PARTS).split(x, y, groups):
        left_out[own] = fit(x[training], y[training]).predict_proba(x[own])[:, 1]
    threshold = least_threshold(examples, left_out)
    weights = fit(x, y).coef_[0]
    record = {
        "source": "logistic regression: python -m tools.fit.later",
        "threshold": round(threshold, 4),
        "weights": {n: round(float(w), 4) for n, w in zip(later.FEATURES, weights, strict=True)},
    }
    write_json(options.output, record)
    return 0


def fit(x: npt.NDArray[np.float64], y: npt.NDArray[np.bool_]) -> LogisticRegression:
    """Fit a logistic model without an intercept: the first feature is one."""
    return LogisticRegression(C=1.0, fit_intercept=False, max_iter=3000).fit(x, y)


def least_threshold(examples: Sequence[Example], probability: npt.NDArray[np.float64]) -> float:
    """Return the least probability from which gains outweigh losses, and print what there is."""
    best: dict[tuple[str, str], tuple[float, bool]] = {}
    for each, chance in zip(examples, probability.tolist(), strict=True):
        asked = (each.group, each.question)
        best[asked] = max(best.get(asked, (0.0, False)), (chance, each.is_right))
    chosen = 1.0
    for least in np.arange(0.95, 0.25, -0.05).tolist():
        found = [is_right for chance, is_right in best.values() if chance >= least]
        gained, lost = sum(found), len(found) - sum(found)
        print(f"from {least:.2f}: {gained} first answers come right, {lost} are lost")
        if gained >= GAINS * lost:
            chosen = least
    print(f"{len(best)} questions; threshold {chosen:.2f}")
    return chosen


def examples_of(folder: Path, models: Path | None) -> Iterator[Example]:
    """Yield the pairs of a dataset's questions of which one answers and the other does not."""
    dataset = load_dataset(folder)
    say(f"{folder}: {len(dataset.queries)} questions")
    found: list[tuple[str, str, tuple[float, ...]]] = []

    with tempfile.TemporaryDirectory() as scratch:
        home = FamilyRecall.open(Path(scratch) / "home.db", models=models, **region_of(dataset))
        with home:
            furnish(home, dataset)
            home.flush()

            def compare(run: Runner, asked: QueryContext, ranking: Ranking) -> Ranking:
                scorer = run.models.scorer()
                said = later.said_later(asked, ranking)
                rows = later.of_theirs(asked, ranking, said) if said else []
                if scorer is not None and rows:
                    first = int(ranking.order[0])
                    logits = later.logits_of(run, asked, ranking, scorer, [first, *rows])
                    ids = ranking.rows.doc_ids
                    compared = later.features(asked, ranking, logits, rows)
                    found.extend((ids[first], ids[row], each) for row, each in compared.items())
                return ranking

            engine = home._engine  # noqa: SLF001 - what the stage compares is no part of an answer
            stages = [
                compare if stage is later.read_later else stage
                for stage in engine.broker.refinements
            ]
            engine.broker = dataclasses.replace(engine.broker, refinements=tuple(stages))
            base = RecallContext(person_id=EVALUATOR, time_budget_ms=BUDGET_MS)
            context_of = contexts(dataset, base)
            for query in dataset.queries:
                found.clear()
                home.recall(query.text, context_of(query))
                group = folder.parent.name if dataset.household else query.space
                for first, other, features in found:
                    if (first in query.gold) != (other in query.gold):
                        yield Example(group, query.id, features, other in query.gold)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument("data", type=Path, help="folder with beam/dev")
    parser.add_argument("--models", type=Path, help="folder of models (default: the shipped ones)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="file to write")
    return parser


if __name__ == "__main__":
    sys.exit(main())
