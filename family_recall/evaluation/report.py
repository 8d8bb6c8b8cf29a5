"""The report of an evaluation: ranking, calibration, abstention and latency."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from family_recall.evaluation import measures
from family_recall.evaluation.ablation import Ablation
from family_recall.evaluation.baseline import BaselineComparison
from family_recall.evaluation.budgets import BudgetResult
from family_recall.evaluation.faithfulness import Faithfulness
from family_recall.evaluation.intervals import Interval
from family_recall.evaluation.outcomes import Outcome, measured, plain
from family_recall.evaluation.segments import SEGMENTS, mean_shares, segmented

STATUSES = ("ok", "weak", "no_match")


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """What an evaluation measured.

    ``overall`` and each of ``by_category`` hold ``n`` (questions with gold) and the measures,
    each with a 95 % interval; so do ``segments``, by mode, strategy, source of the first right
    result and question length. ``shares`` is what first results' scores are made of.
    ``n_hurried`` counts the answers that skipped a stage for lack of time.
    ``calibration`` compares confidence with *the first result is right* over all questions.
    ``abstention`` is None when every question has gold. ``ablation``, ``baseline``,
    ``without_gold`` and ``faithfulness`` are None, ``budgets`` empty, unless requested.
    ``outcomes`` holds every question; it stays out of the JSON unless requested.
    """

    overall: Mapping[str, int | Interval]
    by_category: Mapping[str, Mapping[str, int | Interval]]
    segments: Mapping[str, Mapping[str, Mapping[str, int | Interval]]]
    shares: Mapping[str, float]
    calibration: Mapping[str, Any]
    abstention: Mapping[str, Any] | None
    latency_ms: Mapping[str, float]
    n_queries: int
    n_hurried: int
    n_memories: int
    config: Mapping[str, Any]
    ablation: Ablation | None = None
    baseline: BaselineComparison | None = None
    without_gold: Mapping[str, Any] | None = None
    faithfulness: Faithfulness | None = None
    budgets: tuple[BudgetResult, ...] = ()
    outcomes: tuple[Outcome, ...] = field(default=(), repr=False)

    def to_json(self, *, outcomes: bool = False) -> dict[str, Any]:
        """Return every field; ``outcomes`` only when requested."""
        names = [f.name for f in dataclasses.fields(self) if outcomes or f.name != "outcomes"]
        return {name: plain(getattr(self, name)) for name in names}


def summarise(outcomes: Sequence[Outcome], *, seed: int) -> dict[str, Any]:
    """Return the measured parts of a report.

    Questions without gold count for calibration, abstention and latency only.
    """
    with_gold = [outcome for outcome in outcomes if outcome.gold]
    times_ms = [outcome.used_time_ms for outcome in outcomes]
    return {
        "overall": measured(with_gold, seed),
        "by_category": segmented(with_gold, "category", seed=seed),
        "segments": {
            name: segmented(with_gold, name, seed=seed) for name in SEGMENTS if name != "category"
        },
        "shares": mean_shares(outcomes),
        "calibration": calibration(outcomes),
        "abstention": abstention(outcomes) if len(with_gold) < len(outcomes) else None,
        "latency_ms": {f"p{q}": float(np.percentile(times_ms, q)) for q in (50, 95, 99)},
        "n_queries": len(outcomes),
        "n_hurried": sum(outcome.hurried for outcome in outcomes),
    }


def calibration(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Compare confidence with accuracy: ``ece`` and the ten ``bins``.

    ``right`` is the share of questions in a bin whose first result is gold.
    """
    confidences = [outcome.confidence for outcome in outcomes]
    right = [outcome.first_is_right for outcome in outcomes]
    return {
        "ece": measures.ece(confidences, right),
        "bins": _bins(confidences, right, "right"),
    }


def abstention(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Measure how well confidence and status separate answerable questions from the others.

    ``auroc`` and ``ece`` compare confidence with *answerable*; ``ece_first_result`` with *the
    first result is gold*, which is what a confidence promises.
    """
    confidences = [outcome.confidence for outcome in outcomes]
    answerable = [bool(outcome.gold) for outcome in outcomes]
    both = len(set(answerable)) == 2
    return {
        "auroc": measures.auroc(confidences, answerable) if both else None,
        "ece": measures.ece(confidences, answerable),
        "ece_first_result": measures.ece(confidences, [o.first_is_right for o in outcomes]),
        "status": {
            name: {
                status: sum(o.status == status and bool(o.gold) == has_gold for o in outcomes)
                for status in STATUSES
            }
            for name, has_gold in (("answerable", True), ("unanswerable", False))
        },
        "reliability": _bins(confidences, answerable, "answerable"),
    }


def _bins(confidences: Sequence[float], correct: Sequence[bool], name: str) -> list[dict[str, Any]]:
    """Return a reliability table whose accuracy is called ``name``."""
    return [
        {name if key == "accuracy" else key: value for key, value in plain(row).items()}
        for row in measures.reliability(confidences, correct)
    ]
