"""The cross-encoder reads the best candidates: its probability is one more feature of the score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from family_recall.deadline import has_stopped
from family_recall.encoders.base import PairScorer, batch_size_of, scores_of
from family_recall.errors import ModelError
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.best_passage import readings
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import rescored
from family_recall.recall.runner import Runner, question_tokens
from family_recall.types import SkipReason

TEMPERATURE = 2.0
"""Divides the logits, so that a confident model does not outweigh all other features."""

_USUALLY_READ = 2  # texts that are loaded at first, or a batch; the others if it comes to them
_READ = INDEX["cross_encoder"]


def rerank(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Read the best candidates with the cross-encoder, as far as time allows and it may matter."""
    n = min(len(ranking), run.config.rerank_pool)
    scorer = run.models.scorer()
    if not context.request.ctx.allow_cross_encoder:
        run.trace.skip("rerank", "disabled", "not allowed by the request", n)
        return ranking
    if not run.is_weighed("rerank", context.profile, n):
        return ranking
    if scorer is None:
        run.trace.skip("rerank", "no_model", run.models.why_no_scorer, n)
        is_wanted = "rerank" not in run.config.leave_out and not context.plan.about_time_alone
        if is_wanted and (fault := run.models.scorer_fault) is not None:
            run.trace.degraded.append(f"rerank: {fault}")
        return ranking
    if context.plan.about_time_alone:
        run.trace.skip("rerank", "not_needed", "the time asked for decides", n)
        return ranking
    shortest = question_tokens(context.searched_text)
    if n == 0 or not run.can_start("rerank", shortest, left_out=n):
        return ranking
    return _with_best_read(run, context, ranking, scorer, n)


def read_first(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Read the first candidate, where it was put there after the others were read."""
    scorer = run.models.scorer()
    if scorer is None or not ranking.features[:, _READ].any() or first_was_read(ranking):
        return ranking
    if not run.can_start("rerank", question_tokens(context.searched_text), left_out=1):
        return ranking
    return _with_best_read(run, context, ranking, scorer, 1)


def first_was_read(ranking: Ranking) -> bool:
    """Whether the cross-encoder has read the first candidate."""
    return bool(ranking.features[ranking.order[:1], _READ].any())


def probability(logit: float) -> float:
    """Return the logistic function of the tempered logit, in (0, 1) but for rounding."""
    return float(1.0 / (1.0 + np.exp(-np.clip(logit / TEMPERATURE, -40.0, 40.0))))


def _with_best_read(
    run: Runner, context: QueryContext, ranking: Ranking, scorer: PairScorer, n: int
) -> Ranking:
    """Read the best n, one after the other, until the time is up or no reading can matter.

    It ends where no reading can make the next candidate the first: the first is read, and those
    that even a probability of 1 would not lift above it are not. Where the cross-encoder reads
    several pairs in one run, the next ones are read ahead. What is read and not reached counts as
    unread, so that an answer does not depend on the processor.
    """
    best, score = ranking.order[:n].tolist(), ranking.score
    weight = float(ranking.weights[_READ])
    batch_size = batch_size_of(scorer)
    loaded_first = max(_USUALLY_READ, batch_size)
    n_read, ended = 0, ""

    def read() -> Ranking:
        nonlocal n_read, ended
        passages: dict[int, str] = {}
        logits: dict[int, float] = {}
        features, leader = ranking.features.copy(), -np.inf
        for place, row in enumerate(best):
            if float(score[row]) + weight <= leader:
                ended = "no reading can change the first"
                break
            if place in {0, loaded_first}:
                more = best[:loaded_first] if place == 0 else best[place:]
                loaded = readings(context, ranking.rows.ids[more])
                ids = ranking.rows.ids[more].tolist()
                passages |= {
                    row: loaded[id_] for row, id_ in zip(more, ids, strict=True) if id_ in loaded
                }
            if row not in passages:
                continue
            if row not in logits:
                ahead = [at for at in best[place:] if at in passages][:batch_size]
                logits |= _read(run, context, scorer, {at: passages[at] for at in ahead})
            if row not in logits:
                break
            features[row, _READ] = probability(logits[row])
            leader = max(leader, float(score[row]) + weight * probability(logits[row]))
            n_read += 1
        return rescored(ranking, features)

    reranked = run.run("rerank", n, read, ranking, is_learned=False)
    if reranked is ranking:  # it failed
        return ranking
    span = run.trace.spans[-1]
    span.n_in = span.n_out = n_read
    if n_read < n:
        reason: SkipReason = "not_needed" if ended else "no_time"
        ended = ended or "no time for more pairs"
        run.trace.skip("rerank", reason, ended, n - n_read)
    run.trace.decisions.setdefault("rerank", ended or "all that it may read were read")
    return reranked


def _read(
    run: Runner, context: QueryContext, scorer: PairScorer, passages: Mapping[int, str]
) -> dict[int, float]:
    """Return the logit of each passage, read in one run; none if there is no time for the first.

    If there is no time for all, the first half is read, or the first half of that. A run is priced
    by its number of tokens, padding included, and learned at once.
    """
    question, rows = context.searched_text, list(passages)
    lengths = [scorer.count_tokens(question, passage) for passage in passages.values()]
    while rows and run.refusal("rerank", len(rows) * max(lengths[: len(rows)])) is not None:
        del rows[len(rows) // 2 :]
    if not rows:
        return {}
    start_ms = run.deadline.elapsed_ms()
    logits: dict[int, float] = {}
    try:
        scores = scores_of(scorer, question, [passages[row] for row in rows])
        logits.update(zip(rows, scores, strict=True))
    except ModelError:
        if not has_stopped():
            raise
    n_tokens = len(rows) * max(lengths[: len(rows)])
    run.costs.observe("rerank", n_tokens, run.deadline.elapsed_ms() - start_ms)
    return logits
