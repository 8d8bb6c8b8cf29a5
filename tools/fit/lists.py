"""Fit what the scores of a list mean: how likely a candidate belongs, and how much was found.

Asks the questions of the invented households that want all of something: those of category `list`,
and those in `lists.jsonl` beside them. Fits by maximum likelihood whether a candidate belongs, by
its score and the logarithm of its rank. Each household is left out once: `left_out` compares the
mean share found there with the mean estimate.

Examples:
  python -m tools.fit.lists
  python -m tools.fit.lists --output /tmp/list_model.json
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from family_recall.apps.evaluation.testbed import Testbed
from tools.common import ROOT, parser_of, say, write_json

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import numpy as np
import numpy.typing as npt

from family_recall.apps.evaluation import Dataset, load_dataset
from family_recall.apps.evaluation.datasets import Query
from family_recall.config import RecallConfig
from family_recall.recall.ranking.calibration import ListModel, completeness
from family_recall.types import RecallContext

Floats = npt.NDArray[np.float64]

HOUSEHOLDS = ROOT / "tools/fit/households"
OUTPUT = ROOT / "family_recall/recall/ranking/list_model.json"
TOP_K = 10
POOL = 64  # results asked for to fit on: the candidates of a usual recall
BUDGET_MS = 60_000.0  # no stage is left out for lack of time
RIDGE = 1e-3


@dataclass(frozen=True, slots=True)
class Asked:
    """One list: scores (n,) of candidates, best first, which belong (n,), how many do in all."""

    scores: Floats
    belongs: npt.NDArray[np.bool_]
    n_gold: int


Group = Sequence[Asked]


def main(argv: Sequence[str] | None = None) -> int:
    """Fit, and write the file."""
    parser = parser_of(__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FILE.json")
    options = parser.parse_args(argv)
    folders = sorted(path for path in HOUSEHOLDS.iterdir() if path.is_dir())
    models, left_out = {}, {}
    for name, rerank in (("ranked", False), ("reranked", True)):
        groups = {folder.name: ask(folder / "dev", rerank=rerank) for folder in folders}
        models[name] = as_json(fit([asked for group in groups.values() for asked in group]))
        left_out[name] = measure_left_out(groups)
        say(f"{name}: {left_out[name]}")
    write_json(
        options.output,
        {
            "source": "fitted on lists asked in the invented households of tools/fit/households",
            "command": "python -m tools.fit.lists",
            "left_out": left_out,
            "models": models,
        },
    )
    return 0


def ask(folder: Path, *, rerank: bool) -> list[Asked]:
    """Ask the lists of one household."""
    dataset = load_dataset(folder)
    queries = [query for query in dataset.queries if query.category == "list"]
    queries += more_lists(folder / "lists.jsonl")
    lists = dataclasses.replace(dataset, queries=tuple(queries))
    context = RecallContext(top_k=POOL, time_budget_ms=BUDGET_MS, allow_cross_encoder=rerank)
    with tempfile.TemporaryDirectory() as home:
        testbed = Testbed(lists, context, RecallConfig(), Path(home))
        testbed.fill()
        return _answers(testbed, lists)


def more_lists(path: Path) -> list[Query]:
    """Read questions that are asked here alone."""
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        Query(
            id=record["id"],
            text=record["text"],
            space=record["space"],
            category=record["category"],
            gold=tuple(record["gold"]),
            asker=record["asker"],
            as_of=dt.datetime.fromisoformat(record["as_of"]),
        )
        for record in records
    ]


def _answers(testbed: Testbed, lists: Dataset) -> list[Asked]:
    asked = []
    with testbed.open() as home:
        home.warmup()
        for query in lists.queries:
            context = testbed.context_of(query)
            if home.understand(query.text, context).breadth != "all":
                continue
            results = home.recall(query.text, context).results
            scores = np.array([result.score for result in results], np.float64)
            belongs = np.array([result.doc_id in query.gold for result in results], np.bool_)
            asked.append(Asked(scores, belongs, len(query.gold)))
    return asked


def fit(group: Group) -> ListModel:
    """Fit a model on some lists."""
    inputs = np.concatenate([_inputs(asked.scores) for asked in group])
    belongs = np.concatenate([asked.belongs for asked in group])
    intercept, per_score, per_log_rank = logistic(inputs, belongs)
    seen = sum(int(asked.belongs.sum()) for asked in group)
    return ListModel(
        intercept=intercept,
        per_score=per_score,
        per_log_rank=per_log_rank,
        unseen=sum(asked.n_gold for asked in group) / max(seen, 1) - 1.0,
    )


def logistic(inputs: Floats, positive: npt.NDArray[np.bool_], steps: int = 50) -> list[float]:
    """Fit a logistic model by Newton's method: inputs (n, d), which are positive (n,) → (d,)."""
    weights = np.zeros(inputs.shape[1])
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (p - positive) + RIDGE * weights
        hessian = (inputs * (p * (1.0 - p))[:, None]).T @ inputs + RIDGE * np.eye(len(weights))
        weights = weights - np.linalg.solve(hessian, gradient)
    return [float(weight) for weight in weights]


def measure_left_out(groups: Mapping[str, Group]) -> dict[str, dict[str, float]]:
    """Fit on all households but one, and compare the estimate with the truth there."""
    measured = {}
    for name, group in groups.items():
        model = fit([asked for other, group in groups.items() if other != name for asked in group])
        found = [float(asked.belongs[:TOP_K].sum()) / asked.n_gold for asked in group]
        estimated = [completeness(asked.scores.astype(np.float32), TOP_K, model) for asked in group]
        measured[name] = {
            "n": len(group),
            "found": round(float(np.mean(found)), 4),
            "estimated": round(float(np.mean(estimated)), 4),
            "correlation": round(float(np.corrcoef(found, estimated)[0, 1]), 4),
        }
    return measured


def as_json(model: ListModel) -> dict[str, Any]:
    """Return a model as ``list_model.json`` holds it."""
    names = ("intercept", "per_score", "per_log_rank", "unseen")
    return {name: round(getattr(model, name), 4) for name in names}


def _inputs(scores: Floats) -> Floats:
    log_rank = np.log(np.arange(1, len(scores) + 1))
    return np.column_stack([np.ones(len(scores)), scores, log_rank])


if __name__ == "__main__":
    sys.exit(main())
