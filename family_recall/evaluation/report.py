"""Report: the outcome of each question in; ranking, abstention and latency measures out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from family_recall.evaluation import measures
from family_recall.evaluation.intervals import Interval, bootstrap_means

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

STATUSES = ("ok", "weak", "no_match")
MEASURES: Mapping[str, Callable[[Sequence[str], Sequence[str]], float]] = {
    "recall@5": lambda ranking, gold: measures.recall_at(ranking, gold, 5),
    "recall@10": lambda ranking, gold: measures.recall_at(ranking, gold, 10),
    "hit@10": lambda ranking, gold: measures.hit_at(ranking, gold, 10),
    "mrr@10": lambda ranking, gold: measures.mrr_at(ranking, gold, 10),
    "ndcg@10": lambda ranking, gold: measures.ndcg_at(ranking, gold, 10),
}
DEEPEST_K = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question got: the ranking, the gold it is judged by, and how sure the answer was."""

    query_id: str
    category: str
    gold: tuple[str, ...]
    ranking: tuple[str, ...]
    status: str
    confidence: float
    used_time_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """What an experiment measured.

    ``overall`` and each of ``by_category`` hold ``n`` (questions with gold) and the measures,
    each with a 95 % interval. ``abstention`` is None when every question has gold.
    ``outcomes`` holds every question, for paired comparisons; it stays out of the JSON.
    """

    overall: Mapping[str, int | Interval]
    by_category: Mapping[str, Mapping[str, int | Interval]]
    abstention: Mapping[str, Any] | None
    latency_ms: Mapping[str, float]
    n_queries: int
    n_memories: int
    config: Mapping[str, Any]
    outcomes: tuple[Outcome, ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """Give everything but the single outcomes."""
        return {
            "overall": _plain(self.overall),
            "by_category": {name: _plain(row) for name, row in self.by_category.items()},
            "abstention": self.abstention,
            "latency_ms": dict(self.latency_ms),
            "n_queries": self.n_queries,
            "n_memories": self.n_memories,
            "config": dict(self.config),
        }


def summarise(outcomes: Sequence[Outcome], *, seed: int) -> dict[str, Any]:
    """Turn outcomes into the measured parts of a report.

    Questions without gold count for abstention and latency only.
    """
    judged = [outcome for outcome in outcomes if outcome.gold]
    categories = sorted({outcome.category for outcome in judged})
    times = np.array([outcome.used_time_ms for outcome in outcomes], dtype=np.float64)
    return {
        "overall": _ranking_measures(judged, seed),
        "by_category": {
            name: _ranking_measures([o for o in judged if o.category == name], seed)
            for name in categories
        },
        "abstention": _abstention(outcomes) if len(judged) < len(outcomes) else None,
        "latency_ms": {f"p{q}": float(np.percentile(times, q)) for q in (50, 95, 99)},
        "n_queries": len(outcomes),
    }


def _ranking_measures(outcomes: Sequence[Outcome], seed: int) -> dict[str, int | Interval]:
    if not outcomes:
        return {"n": 0}
    values = np.array(
        [[measure(o.ranking, o.gold) for measure in MEASURES.values()] for o in outcomes]
    )
    intervals = bootstrap_means(values, seed=seed)
    return {"n": len(outcomes), **dict(zip(MEASURES, intervals, strict=True))}


def _abstention(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How well confidence and status tell answerable questions from the others.

    ``auroc`` and ``ece`` compare confidence with *answerable*; ``ece_first_result`` with *the
    first result is gold*, which is what a confidence promises.
    """
    confidences = [outcome.confidence for outcome in outcomes]
    answerable = [bool(outcome.gold) for outcome in outcomes]
    first = [bool(o.ranking) and o.ranking[0] in o.gold for o in outcomes]
    return {
        "auroc": measures.auroc(confidences, answerable) if any(answerable) else None,
        "ece": measures.ece(confidences, answerable),
        "ece_first_result": measures.ece(confidences, first),
        "status": {
            name: {s: sum(o.status == s for o in group) for s in STATUSES}
            for name, group in (
                ("answerable", [o for o in outcomes if o.gold]),
                ("unanswerable", [o for o in outcomes if not o.gold]),
            )
        },
        "reliability": [
            {
                "low": row.low,
                "high": row.high,
                "n": row.n,
                "confidence": row.confidence,
                "answerable": row.accuracy,
            }
            for row in measures.reliability(confidences, answerable)
        ],
    }


def _plain(row: Mapping[str, int | Interval]) -> dict[str, Any]:
    return {k: v.to_json() if isinstance(v, Interval) else v for k, v in row.items()}
