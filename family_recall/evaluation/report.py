"""Report: the outcome of each question in; ranking, abstention and latency measures out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from family_recall.evaluation import measures
from family_recall.evaluation.outcomes import Outcome, measured, plain
from family_recall.evaluation.segments import SEGMENTS, mean_shares, segmented

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from family_recall.evaluation.ablation import Ablation
    from family_recall.evaluation.baseline import Baseline
    from family_recall.evaluation.budgets import Within
    from family_recall.evaluation.faithfulness import Faithfulness
    from family_recall.evaluation.intervals import Interval

STATUSES = ("ok", "weak", "no_match")


@dataclass(frozen=True, slots=True)
class Report:
    """What an experiment measured.

    ``overall`` and each of ``by_category`` hold ``n`` (questions with gold) and the measures,
    each with a 95 % interval; so do ``segments``, by mode, strategy, source of the first right
    result and question length. ``shares`` is what first results' scores are made of.
    ``n_hurried`` counts the answers that left a stage out for lack of time.
    ``calibration`` compares confidence with *the first result is right* over all questions.
    ``abstention`` is None when every question has gold. ``ablation``, ``baseline``,
    ``without_gold`` and ``faithfulness`` are None, ``budgets`` empty, unless asked for.
    ``outcomes`` holds every question; it stays out of the JSON unless that is asked for.
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
    baseline: Baseline | None = None
    without_gold: Mapping[str, Any] | None = None
    faithfulness: Faithfulness | None = None
    budgets: tuple[Within, ...] = ()
    outcomes: tuple[Outcome, ...] = field(default=(), repr=False)

    def to_json(self, *, outcomes: bool = False) -> dict[str, Any]:
        """Give everything; single outcomes, under ``outcomes``, only when asked to."""
        record: dict[str, Any] = {
            "overall": plain(self.overall),
            "by_category": _plain(self.by_category),
            "segments": {name: _plain(rows) for name, rows in self.segments.items()},
            "shares": dict(self.shares),
            "calibration": dict(self.calibration),
            "abstention": self.abstention,
            "latency_ms": dict(self.latency_ms),
            "n_queries": self.n_queries,
            "n_hurried": self.n_hurried,
            "n_memories": self.n_memories,
            "config": dict(self.config),
            "ablation": self.ablation and self.ablation.to_json(),
            "baseline": self.baseline and self.baseline.to_json(),
            "without_gold": self.without_gold,
            "faithfulness": self.faithfulness and self.faithfulness.to_json(),
            "budgets": [within.to_json() for within in self.budgets],
        }
        if outcomes:
            record["outcomes"] = [outcome.to_json() for outcome in self.outcomes]
        return record


def summarise(outcomes: Sequence[Outcome], *, seed: int) -> dict[str, Any]:
    """Turn outcomes into the measured parts of a report.

    Questions without gold count for calibration, abstention and latency only.
    """
    judged = [outcome for outcome in outcomes if outcome.gold]
    times = np.array([outcome.used_time_ms for outcome in outcomes], dtype=np.float64)
    return {
        "overall": measured(judged, seed),
        "by_category": segmented(judged, "category", seed=seed),
        "segments": {
            name: segmented(judged, name, seed=seed) for name in SEGMENTS if name != "category"
        },
        "shares": mean_shares(outcomes),
        "calibration": calibration(outcomes),
        "abstention": abstention(outcomes) if len(judged) < len(outcomes) else None,
        "latency_ms": {f"p{q}": float(np.percentile(times, q)) for q in (50, 95, 99)},
        "n_queries": len(outcomes),
        "n_hurried": sum(outcome.hurried for outcome in outcomes),
    }


def calibration(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Compare what confidence promises with what came true: ``ece`` and the ten ``bins``.

    ``right`` is the share of questions in a bin whose first result is gold.
    """
    confidences = [outcome.confidence for outcome in outcomes]
    right = [outcome.first_is_right for outcome in outcomes]
    return {
        "ece": measures.ece(confidences, right),
        "bins": _bins(confidences, right, "right"),
    }


def abstention(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How well confidence and status tell answerable questions from the others.

    ``auroc`` and ``ece`` compare confidence with *answerable*; ``ece_first_result`` with *the
    first result is gold*, which is what a confidence promises.
    """
    confidences = [outcome.confidence for outcome in outcomes]
    answerable = [bool(outcome.gold) for outcome in outcomes]
    first = [outcome.first_is_right for outcome in outcomes]
    both = len(set(answerable)) == 2
    return {
        "auroc": measures.auroc(confidences, answerable) if both else None,
        "ece": measures.ece(confidences, answerable),
        "ece_first_result": measures.ece(confidences, first),
        "status": {
            name: {s: sum(o.status == s for o in group) for s in STATUSES}
            for name, group in (
                ("answerable", [o for o in outcomes if o.gold]),
                ("unanswerable", [o for o in outcomes if not o.gold]),
            )
        },
        "reliability": _bins(confidences, answerable, "answerable"),
    }


def _bins(confidences: Sequence[float], true: Sequence[bool], what: str) -> list[dict[str, Any]]:
    return [
        {
            "low": row.low,
            "high": row.high,
            "n": row.n,
            "confidence": row.confidence,
            what: row.accuracy,
        }
        for row in measures.reliability(confidences, true)
    ]


def _plain(rows: Mapping[str, Mapping[str, int | Interval]]) -> dict[str, Any]:
    return {name: plain(row) for name, row in rows.items()}
