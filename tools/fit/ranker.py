"""Fit the default profile's weights: judged questions in, a linear ranker out.

Asks the questions of each set's `dev` folder with every feature switched on, and fits weights by
the listwise softmax loss of ListNet (Cao et al. 2007, doi:10.1145/1273496.1273513): of all of a
question's candidates those that answer it should have the highest `weight · features`. Weights
are 0 or more, since no declared feature speaks against a memory, and are pulled towards the shipped
ones. The sets weigh the same. Each set is left out once, and nDCG@10 there says whether the fit is
worth more than what ships; the file is written only if it is, on the mean of the sets left out.

Examples:
  python -m tools.fit.ranker ~/sets
  python -m tools.fit.ranker ~/sets --sets beam,madial --limit 50 --output /tmp/profile.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from family_recall.apps.evaluation.testbed import EVALUATOR, contexts, furnish, region_of
from tools.common import ROOT, parser_of, write_json

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import numpy as np
import numpy.typing as npt

from family_recall.api import FamilyRecall
from family_recall.apps.evaluation import Dataset
from family_recall.apps.evaluation.measures import bootstrap_means, measure_each
from family_recall.config import RecallConfig
from family_recall.recall.ranking.profiles import profiles
from family_recall.types import RecallContext
from tools.fit.calibration import BUDGET_MS, add_sets, chosen_sets

Floats = npt.NDArray[np.float64]

OUTPUT = ROOT / "family_recall/recall/ranking/default_profile.json"
CANDIDATES = 64
FITTED = (
    "bm25", "bm25_squared", "related_words", "cosine", "maxsim", "session", "entities", "ppr",
    "graph_bias", "rrf", "temporal_match", "tells_when", "tier", "length", "cross_encoder",
)  # fmt: skip
"""Features that are fitted …"""
KEPT = ("static", "near_focus", "evidence", "event_kind", "matters")
"""… and those that are not: what they look at is in few of the sets, or in none."""

SWITCHED_ON = 1e-9  # a weight that changes no order, so that a feature is computed
STEPS, RATE = 400, 0.02
SHARPNESS = 10.0  # of the softmax: scores differ by tenths, logits should by units


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: features (n, f) of its candidates, which answer it (n,), how many do in all."""

    features: Floats
    right: npt.NDArray[np.bool_]
    n_gold: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, compare on sets left out, and write the profile if it is better there."""
    made = parser()
    options = made.parse_args(arguments)
    sets = {name: collect(dataset) for name, dataset in chosen_sets(made, options)}
    shipped = shipped_weights()
    gains = []
    for name, judged in sets.items():
        weights = fit([s for other, s in sets.items() if other != name], shipped, options.pull)
        before, after = ndcg(judged, shipped), ndcg(judged, weights)
        (gain,) = bootstrap_means((after - before)[:, None], seed=options.seed)
        gains.append(gain.value)
        print(
            f"{name} left out: nDCG@10 {before.mean():.4f} shipped, {after.mean():.4f} fitted, "
            f"gain {gain.value:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]"
        )
    fitted = fit(list(sets.values()), shipped, options.pull)
    for feature, was, now in zip(FITTED, shipped.tolist(), fitted.tolist(), strict=True):
        print(f"{feature:<16}{was:8.3f} -> {now:.3f}")
    if np.mean(gains) <= 0.0:
        print("not written: on sets left out the shipped weights are no worse")
        return 0
    write(options.output, fitted, list(sets), options)
    print(f"written: {options.output}")
    return 0


def collect(dataset: Dataset) -> list[Judged]:
    """Ask a set's questions and keep the features of their candidates."""
    known = profiles()["default"].weights
    on = {name: SWITCHED_ON for name in FITTED if not known.get(name)}
    context = RecallContext(person_id=EVALUATOR, time_budget_ms=BUDGET_MS, top_k=CANDIDATES)
    context_of = contexts(dataset, context)
    judged = []
    with (
        tempfile.TemporaryDirectory(prefix="family_recall_rank_") as scratch,
        FamilyRecall.open(
            Path(scratch) / "set.db", **region_of(dataset), config=RecallConfig(weights=on)
        ) as home,
    ):
        furnish(home, dataset)
        home.warmup()
        for query in dataset.queries:
            answer = home.recall(query.text, context_of(query))
            if query.gold and answer.results:
                rows = [[r.features.get(name, 0.0) for name in FITTED] for r in answer.results]
                right = [result.doc_id in query.gold for result in answer.results]
                judged.append(Judged(np.array(rows), np.array(right), len(query.gold)))
    return judged


def shipped_weights() -> Floats:
    """Return the default profile's weights in the order of `FITTED`."""
    known = profiles()["default"].weights
    return np.array([known.get(name, 0.0) for name in FITTED])


def fit(sets: Sequence[Sequence[Judged]], start: Floats, pull: float) -> Floats:
    """Fit weights (f,), 0 or more, by projected Adam steps; scaled to sum to what `start` does.

    Args:
        sets: Judged questions, a list a set; each set weighs the same.
        start: Weights to start from and be pulled to, with strength `pull`.
        pull: Of the squared distance, in nats a unit.
    """
    scale = 1.0 / max(float(start.sum()), 1e-9)
    weights = start.copy()
    first, second = np.zeros(len(start)), np.zeros(len(start))
    for step in range(1, STEPS + 1):
        slope = 2.0 * pull * (weights - start)
        for judged in sets:
            slope += np.mean([_slope(question, weights) for question in judged], axis=0) / len(sets)
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope**2
        move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        weights = np.maximum(weights - RATE * (1.0 - step / (STEPS + 1)) * move, 0.0)
    return weights / (float(weights.sum()) * scale)


def _slope(question: Judged, weights: Floats) -> Floats:
    """Return the gradient of one question's listwise loss; 0 where no candidate answers it."""
    if not question.right.any():
        return np.zeros(len(weights))
    logits = SHARPNESS * (question.features @ weights)
    share = np.exp(logits - logits.max())
    share /= share.sum()
    target = question.right / question.right.sum()
    gradient: Floats = SHARPNESS * ((share - target) @ question.features)
    return gradient


def ndcg(judged: Sequence[Judged], weights: Floats) -> Floats:
    """Return nDCG@10 of each question (q,) under some weights."""
    rankings, golds = [], []
    for question in judged:
        order = np.argsort(-(question.features @ weights), kind="stable")
        ranked = [str(row) for row in order.tolist()]
        unseen = [f"unseen {n}" for n in range(question.n_gold - int(question.right.sum()))]
        rankings.append(ranked)
        golds.append([str(row) for row in np.flatnonzero(question.right).tolist()] + unseen)
    return measure_each(rankings, golds, ["ndcg@10"])[:, 0]


def write(output: Path, fitted: Floats, names: Sequence[str], options: argparse.Namespace) -> None:
    """Write the profile with the fitted weights; weights that are not fitted stay."""
    record = json.loads(OUTPUT.read_text("utf-8"))
    limit = "" if options.limit is None else f" --limit {options.limit}"
    command = f"python -m tools.fit.ranker DATA_DIR --sets {','.join(names)}{limit}"
    record["source"] = (
        f"listwise softmax on the development halves of {', '.join(names)}: {command}"
    )
    for name, weight in zip(FITTED, fitted.tolist(), strict=True):
        if round(weight, 3) > 0.0:
            record["weights"][name] = round(weight, 3)
        else:
            record["weights"].pop(name, None)
    write_json(output, record)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    add_sets(made)
    made.add_argument(
        "--pull", type=float, default=1.0, help="towards the shipped weights (default: %(default)s)"
    )
    made.add_argument("--output", type=Path, default=OUTPUT, help="what to write")
    made.add_argument("--seed", type=int, default=0, help="of the bootstrap (default: %(default)s)")
    return made


if __name__ == "__main__":
    sys.exit(main())
