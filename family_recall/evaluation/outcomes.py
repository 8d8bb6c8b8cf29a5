"""Outcomes: a question and its answer in, what measures look at out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from family_recall.evaluation import measures
from family_recall.evaluation.intervals import Interval, bootstrap_means

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from family_recall.evaluation.datasets import Query
    from family_recall.types import Answer, Result

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
    """What one question got: the ranking, the gold it is judged by, and how sure the answer was.

    ``scores`` and ``sources`` go with the ``ranking``; ``n_words`` counts the question's words;
    ``shares`` is what part of the first result's score each feature makes, by absolute amount,
    adding up to 1; ``evidence`` the other memories that a result's rationale names, by doc_id;
    ``hurried`` whether a stage was left out, whole or in part, for lack of time; ``n_pairs`` how
    many pairs the cross-encoder read.
    """

    query_id: str
    category: str
    gold: tuple[str, ...]
    ranking: tuple[str, ...]
    status: str
    confidence: float
    used_time_ms: float
    scores: tuple[float, ...] = ()
    sources: tuple[str, ...] = ()
    strategy: str = "HYBRID"
    mode: str = "hybrid"
    n_words: int = 0
    shares: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hurried: bool = False
    n_pairs: int = 0

    @classmethod
    def of(cls, query: Query, answer: Answer, gold: tuple[str, ...] | None = None) -> Outcome:
        """Read an answer; judged by the question's own gold, unless another is given."""
        return cls(
            query_id=query.id,
            category=query.category,
            gold=query.gold if gold is None else gold,
            ranking=tuple(result.doc_id for result in answer.results),
            status=answer.status,
            confidence=answer.confidence,
            used_time_ms=answer.used_time_ms,
            scores=tuple(result.score for result in answer.results),
            sources=tuple(result.source for result in answer.results),
            strategy=answer.strategy,
            mode=answer.mode,
            n_words=len(query.text.split()),
            shares=_shares(answer.results[0]) if answer.results else {},
            evidence={r.doc_id: named for r in answer.results if (named := _named_beside(r))},
            hurried=any(skip.hurried for skip in answer.trace.skips),
            n_pairs=sum(span.n_in for span in answer.trace.spans if span.stage == "rerank"),
        )

    @property
    def first_is_right(self) -> bool:
        """Whether the first result is gold, which is what a confidence promises."""
        return bool(self.ranking) and self.ranking[0] in self.gold

    def to_json(self) -> dict[str, Any]:
        """Give all that was said of the question; :meth:`from_json` reads the same again."""
        return {
            "id": self.query_id,
            "category": self.category,
            "gold": list(self.gold),
            "ranking": list(self.ranking),
            "scores": list(self.scores),
            "sources": list(self.sources),
            "status": self.status,
            "confidence": self.confidence,
            "used_time_ms": self.used_time_ms,
            "strategy": self.strategy,
            "mode": self.mode,
            "n_words": self.n_words,
            "hurried": self.hurried,
            "n_pairs": self.n_pairs,
            "shares": dict(self.shares),
            "evidence": {doc_id: list(named) for doc_id, named in self.evidence.items()},
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Outcome:
        """Read what :meth:`to_json` wrote; raises ``KeyError`` or ``TypeError`` for else."""
        found = dict(record)
        for name in ("gold", "ranking", "scores", "sources"):
            found[name] = tuple(found[name])
        evidence = found.get("evidence", {})
        found["evidence"] = {doc_id: tuple(named) for doc_id, named in evidence.items()}
        return cls(query_id=found.pop("id"), **found)


def measured(outcomes: Sequence[Outcome], seed: int) -> dict[str, int | Interval]:
    """Give ``n`` and each measure's mean with its 95 % interval; every outcome needs gold."""
    if not outcomes:
        return {"n": 0}
    intervals = bootstrap_means(values(outcomes, tuple(MEASURES)), seed=seed)
    return {"n": len(outcomes), **dict(zip(MEASURES, intervals, strict=True))}


def values(outcomes: Sequence[Outcome], names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Give each outcome's measures, shape (n outcomes, n names), in [0, 1]."""
    return np.array(
        [[MEASURES[name](o.ranking, o.gold) for name in names] for o in outcomes], np.float64
    ).reshape(len(outcomes), len(names))


def plain(row: Mapping[str, int | Interval]) -> dict[str, Any]:
    """Give a row of measures as JSON has it."""
    return {k: v.to_json() if isinstance(v, Interval) else v for k, v in row.items()}


def _shares(result: Result) -> dict[str, float]:
    amounts = {part.feature: abs(part.amount) for part in result.contributions}
    total = sum(amounts.values())
    return {name: amount / total for name, amount in amounts.items()} if total else {}


def _named_beside(result: Result) -> tuple[str, ...]:
    if result.rationale is None:
        return ()
    return tuple(doc_id for doc_id in result.rationale.evidence if doc_id != result.doc_id)
