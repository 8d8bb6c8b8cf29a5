"""Rerank the best candidates with the cross-encoder's probability as one more feature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from msgspec.structs import replace

from family_recall.encoders.base import PairScorer, batch_size_of, scores_of
from family_recall.errors import ModelError
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.best_passage import readings
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import scored
from family_recall.types import IdArray

TEMPERATURE = 2.0
"""Divides the logits, so that a confident model does not outweigh all other features."""

_USUALLY_READ = 2  # texts that are loaded at first, or a batch; the others if it comes to them


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
    """Read the best candidates with the cross-encoder, while it may matter.

    The probability is one more feature of the linear score: candidates that were read and
    candidates that were not stay comparable, and reading may stop after any pair. It ends where no
    reading can make the next candidate the first: the first is read, and those that even a
    probability of 1 would not lift above it are not.

    Where the cross-encoder reads several pairs in one run, the next ones are read ahead. What is
    read and not reached counts as unread, so that an answer does not depend on the processor.

    Args:
        ranking: Candidates in order.
        best: Which of its rows to read, the best first.
        context: The question.
        scorer: The cross-encoder.
        affordable: Called before each run with its number of tokens, padding included.
        learn: Called after each run with its number of tokens and the milliseconds it took.
        stopped: Whether an alarm has stopped the run: an error it raises then is no failure.

    Returns:
        The new ranking, the number of pairs read, and whether reading more could have mattered.

    Raises:
        ModelError: If the model cannot run.
    """
    passages: dict[int, str] = {}
    logits: dict[int, float] = {}
    batch_size = batch_size_of(scorer)
    loaded_first = max(_USUALLY_READ, batch_size)
    features = ranking.features.copy()
    n_read, matters = 0, True
    weight, leader = float(ranking.weights[INDEX["cross_encoder"]]), -np.inf
    read = partial(_read, context, scorer, affordable, learn, stopped)
    for place, row in enumerate(best.tolist()):
        if float(ranking.score[row]) + weight <= leader:
            matters = False
            break
        if place in {0, loaded_first}:
            more = best[:loaded_first] if place == 0 else best[place:]
            passages |= _passages(ranking, more, context)
        if row not in passages:
            continue
        if row not in logits:
            ahead = [at for at in best[place:].tolist() if at in passages][:batch_size]
            logits |= read({at: passages[at] for at in ahead})
        if row not in logits:
            break
        features[row, INDEX["cross_encoder"]] = probability(logits[row])
        leader = max(leader, float(ranking.score[row]) + weight * probability(logits[row]))
        n_read += 1
    score, order = scored(ranking.rows, features, ranking.weights)
    if ranking.duplicates:
        order = order[np.isin(order, ranking.order)]
    ranking = replace(ranking, features=features, score=score, order=order)
    return ranking, n_read, matters and n_read < len(best)


def _passages(ranking: Ranking, rows: IdArray, context: QueryContext) -> dict[int, str]:
    """Return what is read of each row, but of those whose text cannot be used."""
    ids = ranking.rows.ids[rows]
    loaded = readings(context, ids)
    memories = zip(rows.tolist(), ids.tolist(), strict=True)
    return {row: loaded[memory] for row, memory in memories if memory in loaded}


def _read(
    context: QueryContext,
    scorer: PairScorer,
    affordable: Callable[[int], bool],
    learn: Callable[[int, float], None],
    stopped: Callable[[], bool],
    passages: Mapping[int, str],
) -> dict[int, float]:
    """Return the logit of each passage, read in one run; none if there is no time for the first.

    If there is no time for all, the first half is read, or the first half of that.
    """
    question, rows = context.searched_text, list(passages)
    lengths = [scorer.count_tokens(question, passage) for passage in passages.values()]
    while rows and not affordable(len(rows) * max(lengths[: len(rows)])):
        del rows[len(rows) // 2 :]
    if not rows:
        return {}
    start_ms = context.deadline.elapsed_ms()
    logits: dict[int, float] = {}
    try:
        scores = scores_of(scorer, question, [passages[row] for row in rows])
        logits.update(zip(rows, scores, strict=True))
    except ModelError:
        if not stopped():
            raise
    learn(len(rows) * max(lengths[: len(rows)]), context.deadline.elapsed_ms() - start_ms)
    return logits


def first_was_read(ranking: Ranking) -> bool:
    """Whether the cross-encoder has read the first candidate."""
    return bool(ranking.features[ranking.order[:1], INDEX["cross_encoder"]].any())
