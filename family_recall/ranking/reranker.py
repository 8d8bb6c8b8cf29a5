"""Reranker: the best candidates in, the same with the cross-encoder's say added out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from family_recall.encoders.base import PairScorer
from family_recall.ranking.features import INDEX
from family_recall.stage import QueryContext, Ranking, by_score

TEMPERATURE = 2.0
"""What logits are divided by: one step of a sure model should not outweigh all other reasons."""


def probability(logit: float) -> float:
    """The logistic function of the tempered logit, in (0, 1) but for rounding."""
    return float(1.0 / (1.0 + np.exp(-np.clip(logit / TEMPERATURE, -40.0, 40.0))))


def rerank(
    ranking: Ranking,
    context: QueryContext,
    scorer: PairScorer,
    affordable: Callable[[float], bool],
) -> tuple[Ranking, int]:
    """Read the best candidates one by one beside the question, best first, while time lasts.

    The cross-encoder's probability is one more feature of the linear score, so candidates it
    has read and candidates it has not still compare, and it may stop after any of them.

    Args:
        ranking: Candidates in order.
        context: The question.
        scorer: The cross-encoder.
        affordable: Asked before each pair, with the milliseconds the dearest so far took.

    Returns:
        The new ranking, and how many candidates were read.
    """
    chosen = ranking.order[: context.config.rerank_pool]
    passages = context.snapshot.passages(ranking.rows.ids[chosen], context.scope)
    features = ranking.features.copy()
    done, dearest_ms = 0, 0.0
    for row in chosen.tolist():
        passage = passages.get(int(ranking.rows.ids[row]))
        if passage is None:
            continue
        if not affordable(dearest_ms):
            break
        before_ms = context.deadline.elapsed_ms()
        logit = scorer.score(context.request.query_text, passage.text, passage.before)
        features[row, INDEX["cross_encoder"]] = probability(logit)
        dearest_ms = max(dearest_ms, context.deadline.elapsed_ms() - before_ms)
        done += 1
    score = features @ ranking.weights
    order = by_score(score, ranking.rows.doc_ids)
    return dataclasses.replace(ranking, features=features, score=score, order=order), done


def first_was_read(ranking: Ranking) -> bool:
    """Whether the cross-encoder has read the candidate that now comes first."""
    return bool(ranking.features[ranking.order[:1], INDEX["cross_encoder"]].any())
