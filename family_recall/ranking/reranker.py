"""Reranker: the best candidates in, the same with the cross-encoder's say added out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from family_recall.dataflow import QueryContext, Ranking
from family_recall.encoders.base import PairScorer
from family_recall.errors import ModelError
from family_recall.ranking.features import INDEX
from family_recall.ranking.ranker import scored

TEMPERATURE = 2.0
"""What logits are divided by: one step of a sure model should not outweigh all other reasons."""


def probability(logit: float) -> float:
    """The logistic function of the tempered logit, in (0, 1) but for rounding."""
    return float(1.0 / (1.0 + np.exp(-np.clip(logit / TEMPERATURE, -40.0, 40.0))))


def rerank(
    ranking: Ranking,
    context: QueryContext,
    scorer: PairScorer,
    affordable: Callable[[int], bool],
    *,
    learn: Callable[[int, float], None],
    stopped: Callable[[], bool],
) -> tuple[Ranking, int]:
    """Read the best candidates one by one beside the question, best first, while time lasts.

    The cross-encoder's probability is one more feature of the linear score, so candidates it
    has read and candidates it has not still compare, and it may stop after any of them.

    Args:
        ranking: Candidates in order.
        context: The question.
        scorer: The cross-encoder.
        affordable: Asked before each pair, with the tokens it has.
        learn: Told of each pair that was read its tokens, and the milliseconds they took.
        stopped: Whether an alarm has gone off: what a run then raises is no failure.

    Returns:
        The new ranking, and how many candidates were read.

    Raises:
        ModelError: If the model cannot run.
    """
    chosen = ranking.order[: context.config.rerank_pool]
    passages = context.snapshot.passages(ranking.rows.ids[chosen], context.scope)
    features = ranking.features.copy()
    question, done = context.request.query_text, 0
    for row in chosen.tolist():
        passage = passages.get(int(ranking.rows.ids[row]))
        if passage is None:
            continue
        n_tokens = scorer.count_tokens(question, passage)
        if not affordable(n_tokens):
            break
        start_ms = context.deadline.elapsed_ms()
        try:
            logit = scorer.score(question, passage)
        except ModelError:
            if not stopped():
                raise
            learn(n_tokens, context.deadline.elapsed_ms() - start_ms)
            break
        features[row, INDEX["cross_encoder"]] = probability(logit)
        learn(n_tokens, context.deadline.elapsed_ms() - start_ms)
        done += 1
    score, order = scored(ranking.rows, features, ranking.weights)
    if ranking.folded:
        order = order[np.isin(order, ranking.order)]
    return dataclasses.replace(ranking, features=features, score=score, order=order), done


def first_was_read(ranking: Ranking) -> bool:
    """Whether the cross-encoder has read the candidate that now comes first."""
    return bool(ranking.features[ranking.order[:1], INDEX["cross_encoder"]].any())
