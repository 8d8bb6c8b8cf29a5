"""The outcome of a question: its answer beside the gold it is measured against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from family_recall.apps.evaluation.datasets import Query
from family_recall.apps.evaluation.measures import Interval, bootstrap_means, measure_each
from family_recall.types import Answer

MEASURES = ("recall@5", "recall@10", "hit@10", "mrr@10", "ndcg@10")
DEEPEST_K = 10


class Outcome(msgspec.Struct, frozen=True, rename={"query_id": "id"}):
    """What one question got: the ranking, the gold, and how sure the answer was.

    ``confidence`` is of the first result, ``answerable`` of anything stored;
    ``scores`` and ``sources`` go with the ``ranking``; ``n_words`` counts the question's words;
    ``shares`` is the part of the first result's score that each feature makes, by absolute
    amount, adding up to 1; ``evidence`` the other memories that a result's rationale names, by
    doc_id; ``hurried`` whether a stage was skipped, whole or in part, for lack of time;
    ``n_pairs`` how many pairs the cross-encoder read; ``stale`` the older memories that must not
    be first.
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
    shares: dict[str, float] = {}
    evidence: dict[str, tuple[str, ...]] = {}
    hurried: bool = False
    n_pairs: int = 0
    stale: tuple[str, ...] = ()
    answerable: float = 0.0

    @classmethod
    def of(cls, query: Query, answer: Answer, gold: tuple[str, ...] | None = None) -> Outcome:
        """Return the outcome of an answer; its gold is the question's own, unless given."""
        first = answer.results[0].contributions if answer.results else ()
        amounts = {part.feature: abs(part.amount) for part in first}
        total = sum(amounts.values())
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
            shares={name: amount / total for name, amount in amounts.items()} if total else {},
            evidence={
                result.doc_id: others
                for result in answer.results
                if (reason := result.rationale)
                and (others := tuple(name for name in reason.evidence if name != result.doc_id))
            },
            hurried=any(skip.hurried for skip in answer.trace.skips),
            n_pairs=sum(span.n_in for span in answer.trace.spans if span.stage == "rerank"),
            stale=query.stale,
            answerable=answer.answerable,
        )

    @property
    def first_is_right(self) -> bool:
        """Whether the first result is gold, which is what a confidence promises."""
        return bool(self.ranking) and self.ranking[0] in self.gold

    @property
    def is_found(self) -> bool:
        """Whether one of the first ten results is gold."""
        return not set(self.gold).isdisjoint(self.ranking[:DEEPEST_K])

    @property
    def first_is_stale(self) -> bool:
        """Whether the first result was true once, and is what the question must not get."""
        return bool(self.ranking) and self.ranking[0] in self.stale


def measured(outcomes: Sequence[Outcome], seed: int) -> dict[str, int | Interval]:
    """Return ``n`` and each measure's mean with its interval, over the outcomes that have gold."""
    with_gold = [outcome for outcome in outcomes if outcome.gold]
    if not with_gold:
        return {"n": 0}
    intervals = bootstrap_means(values(with_gold, MEASURES), seed=seed)
    return {"n": len(with_gold), **dict(zip(MEASURES, intervals, strict=True))}


def values(outcomes: Sequence[Outcome], names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the measures of each outcome, shape (n outcomes, n names), in [0, 1]."""
    return measure_each([o.ranking for o in outcomes], [o.gold for o in outcomes], names)


def plain(value: Any) -> Any:
    """Return a result as JSON has it."""
    return msgspec.json.decode(msgspec.json.encode(value))
