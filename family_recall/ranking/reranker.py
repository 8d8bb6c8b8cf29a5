"""Rerank the best candidates with the cross-encoder's probability as one more feature."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from family_recall.dataflow import QueryContext, Ranking
from family_recall.encoders.base import PairScorer
from family_recall.errors import ModelError
from family_recall.ranking.best_passage import readings
from family_recall.ranking.features import INDEX
from family_recall.ranking.ranker import scored
from family_recall.types import IdArray

TEMPERATURE = 2.0
"""Divides the logits, so that a confident model does not outweigh all other features."""

_USUALLY_READ = 2  # texts that are loaded at first; the others only if it comes to them


def probability(logit: float) -> float:
    """Return the logistic function of the tempered logit, in (0, 1) but for rounding."""
    return float(1.0 / (1.0 + np.exp(-np.clip(logit / TEMPERATURE, -40.0, 40.0))))


def rerank(
    ranking: Ranking,
    best: IdArray,
    context: QueryContext,
    scorer: PairScorer,
    affordable: Callable[[int], bool],
    *,
    learn: Callable[[int, float], None],
    stopped: Callable[[], bool],
) -> tuple[Ranking, int, bool]:
    """Read the best candidates with the cross-encoder, one pair at a time, while it may matter.

    The probability is one more feature of the linear score: candidates that were read and
    candidates that were not stay comparable, and reading may stop after any pair. It ends where no
    reading can make the next candidate the first: the first is read, and those that even a
    probability of 1 would not lift above it are not.

    Args:
        ranking: Candidates in order.
        best: Which of its rows to read, the best first.
        context: The question.
        scorer: The cross-encoder.
        affordable: Called before each pair with its number of tokens.
        learn: Called after each pair with its number of tokens and the milliseconds it took.
        stopped: Whether an alarm has stopped the run: an error it raises then is no failure.

    Returns:
        The new ranking, the number of pairs read, and whether reading more could have mattered.

    Raises:
        ModelError: If the model cannot run.
    """
    passages: dict[int, str] = {}
    features = ranking.features.copy()
    question, n_read, matters = context.searched_text, 0, True
    weight, leader = float(ranking.weights[INDEX["cross_encoder"]]), -np.inf
    for place, row in enumerate(best.tolist()):
        if float(ranking.score[row]) + weight <= leader:
            matters = False
            break
        if place in {0, _USUALLY_READ}:
            more = best[:_USUALLY_READ] if place == 0 else best[place:]
            passages |= readings(context, ranking.rows.ids[more])
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
        leader = max(leader, float(ranking.score[row]) + weight * probability(logit))
        learn(n_tokens, context.deadline.elapsed_ms() - start_ms)
        n_read += 1
    score, order = scored(ranking.rows, features, ranking.weights)
    if ranking.duplicates:
        order = order[np.isin(order, ranking.order)]
    ranking = dataclasses.replace(ranking, features=features, score=score, order=order)
    return ranking, n_read, matters and n_read < len(best)


def first_was_read(ranking: Ranking) -> bool:
    """Whether the cross-encoder has read the first candidate."""
    return bool(ranking.features[ranking.order[:1], INDEX["cross_encoder"]].any())
