"""The cross-encoder reads the best candidates, and of a long one its best passage."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from family_recall.deadline import has_stopped
from family_recall.encoders.base import PairScorer, batch_size_of, scores_of
from family_recall.errors import ModelError
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.bm25 import inverse_document_frequency
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import rescored
from family_recall.recall.runner import Runner, question_tokens
from family_recall.store.passages import Span, as_read, in_talk, passages, sentences
from family_recall.store.vector_search import PassageVectors
from family_recall.store.words import place_words
from family_recall.types import FloatArray, IdArray, SkipReason

TEMPERATURE = 2.0
"""Divides the logits, so that a confident model does not outweigh all other features."""

_USUALLY_READ = 2  # texts that are loaded at first, or a batch; the others if it comes to them
_READ = INDEX["cross_encoder"]
_MAY_BE_LONG = 1_000  # characters of a text without vectors whose length is looked at
_WORDS, _COSINE = 0.5, 0.5  # beside MaxSim's 1; each in [0, 1]


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
        if is_wanted and (fault := run.models.fault("cross_encoder")) is not None:
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


def logit_of(read: float) -> float:
    """Return the logit of which :func:`probability` made a probability."""
    return TEMPERATURE * float(np.log(read / (1.0 - read)))


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
        texts: dict[int, str] = {}
        logits: dict[int, float] = {}
        features, leader = ranking.features.copy(), -np.inf
        for place, row in enumerate(best):
            if float(score[row]) + weight <= leader:
                ended = "no reading can change the first"
                break
            if place in {0, loaded_first}:
                more = best[:loaded_first] if place == 0 else best[place:]
                texts |= readings(context, ranking, more)
            if row not in texts:
                continue
            if row not in logits:
                ahead = [at for at in best[place:] if at in texts][:batch_size]
                passages = {at: texts[at] for at in ahead}
                logits |= _read(run, "rerank", scorer, context.searched_text, passages)
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


def read_in_time(
    run: Runner, stage: str, scorer: PairScorer, question: str, texts: Mapping[int, str]
) -> dict[int, float]:
    """Return the logit of each text, by row, read in runs until the time is up.

    If there is no time for all of a run, its first half is read, or the first half of that. A run
    is priced by its number of tokens, padding included, and learned at once.
    """
    logits: dict[int, float] = {}
    rows, batch_size = list(texts), batch_size_of(scorer)
    for start in range(0, len(rows), batch_size):
        batch = {row: texts[row] for row in rows[start : start + batch_size]}
        read = _read(run, stage, scorer, question, batch)
        logits |= read
        if len(read) < len(batch):
            break
    return logits


def _read(
    run: Runner, stage: str, scorer: PairScorer, question: str, texts: Mapping[int, str]
) -> dict[int, float]:
    rows = list(texts)
    lengths = [scorer.count_tokens(question, passage) for passage in texts.values()]
    while rows and run.refusal(stage, len(rows) * max(lengths[: len(rows)])) is not None:
        del rows[len(rows) // 2 :]
    if not rows:
        return {}
    start_ms = run.deadline.elapsed_ms()
    logits: dict[int, float] = {}
    try:
        scores = scores_of(scorer, question, [texts[row] for row in rows])
        logits.update(zip(rows, scores, strict=True))
    except ModelError:
        if not has_stopped():
            raise
    n_tokens = len(rows) * max(lengths[: len(rows)])
    run.costs.observe(stage, n_tokens, run.deadline.elapsed_ms() - start_ms)
    return logits


@dataclass(frozen=True, slots=True)
class BestPassage:
    """The passage of a text that is closest to a question, and its closest sentence."""

    passage: Span
    sentence: Span


def best_passages(
    context: QueryContext, texts: Mapping[int, str], is_over: Callable[[], bool]
) -> dict[int, BestPassage]:
    """Find the best passage of those memories, of the given ones, that have passages.

    By the vectors of the passages and the question's words in them; by the words alone if there
    are no vectors. Ties go to the earlier passage. However long a text is, it takes 5 ms at most.

    Args:
        context: The question.
        texts: By row id, memories in scope.
        is_over: Whether the time is up, asked before each long text but the first. That one has
            then no best passage.
    """
    ids = np.array([*texts], np.int64)
    vectors = _vectors(context, ids)
    best: dict[int, BestPassage] = {}
    for memory, text in texts.items():
        if memory in vectors or len(text) > _MAY_BE_LONG:
            if best and is_over():
                continue
            spans = passages(text)
            if spans:
                best[memory] = _best_of(context, text, spans, vectors.get(memory))
    return best


def readings(context: QueryContext, ranking: Ranking, rows: Sequence[int]) -> dict[int, str]:
    """Return what the cross-encoder reads of some rows: the best passage of a long one.

    A short turn is read after the one before it.
    """
    ids, before = ranking.rows.ids[rows], ranking.rows.contexts[rows]
    wanted = np.unique(np.concatenate([ids, before[before > 0]]))
    loaded = context.snapshot.authors_and_texts(wanted, context.scope)
    texts = {memory: loaded[memory][1] for memory in ids.tolist() if memory in loaded}
    best = best_passages(context, texts, has_stopped)
    read = {}
    for row, memory, turn in zip(rows, ids.tolist(), before.tolist(), strict=True):
        if memory in texts:
            text = texts[memory]
            start, end = best[memory].passage if memory in best else (0, len(text))
            own = as_read(loaded[memory][0], text[start:end])
            read[row] = in_talk(own, as_read(*loaded[turn]) if turn in loaded else None)
    return read


def _vectors(context: QueryContext, ids: IdArray) -> dict[int, PassageVectors]:
    if context.question is None or context.model_id is None:
        return {}
    try:
        return context.snapshot.passage_vectors(context.model_id, ids, context.scope)
    except Exception:  # noqa: BLE001 -- the search for vectors has said what is wrong with them
        return {}


def _best_of(
    context: QueryContext, text: str, spans: Sequence[Span], vectors: PassageVectors | None
) -> BestPassage:
    words = _words(context, text[: spans[-1][1]])
    scores = _WORDS * _coverage(words, spans)
    tokens: Sequence[FloatArray] = ()
    if context.question is not None and vectors is not None and len(vectors.pooled) == len(spans):
        scores += _COSINE * vectors.pooled.dot(context.question.pooled)
        tokens = vectors.tokens
        if tokens:
            scores += np.array([_closeness(context, [each])[0] for each in tokens])
    number = int(np.argmax(scores))
    start, end = spans[number]
    parts = [(start + first, start + last) for first, last in sentences(text[start:end])]
    scores = _WORDS * _coverage(words, parts)
    if tokens:
        scores += _closeness(context, _by_sentence(text, parts, tokens[number]))
    return BestPassage(spans[number], parts[int(np.argmax(scores))])


def _words(context: QueryContext, text: str) -> dict[str, tuple[float, list[int]]]:
    """Return the question's words that stand in a text: weight, and where, ascending, by stem."""
    idf = inverse_document_frequency(context.plan.statistics)
    weights = {
        stem: float(weight) for (_, stem), weight in zip(context.plan.terms, idf, strict=True)
    }
    words: dict[str, tuple[float, list[int]]] = {}
    for start, _, stem in place_words(text):
        if stem in weights:
            words.setdefault(stem, (weights[stem], []))[1].append(start)
    return words


def _coverage(words: Mapping[str, tuple[float, list[int]]], spans: Sequence[Span]) -> FloatArray:
    """Return, for each span, the share of the found words that stand in it, by their weights."""
    covered = np.zeros(len(spans), np.float32)
    total = sum(weight for weight, _ in words.values())
    for weight, places in words.values():
        for number, (start, end) in enumerate(spans):
            if bisect.bisect_left(places, start) < bisect.bisect_left(places, end):
                covered[number] += weight / total
    return covered


def _closeness(context: QueryContext, tokens: Sequence[FloatArray]) -> FloatArray:
    """Return MaxSim between the question's tokens and those of each part, in [0, 1]."""
    closeness = np.zeros(len(tokens), np.float32)
    weights = context.question_weights
    if context.question is None or weights is None or not weights.sum() > 0.0:
        return closeness
    for number, of_part in enumerate(tokens):
        if len(of_part):
            closest = context.question.tokens.dot(of_part.T).max(axis=1)
            closeness[number] = weights.dot(np.maximum(closest, 0.0)) / weights.sum()
    return closeness


def _by_sentence(text: str, parts: Sequence[Span], tokens: FloatArray) -> list[FloatArray]:
    """Divide a passage's tokens among its sentences, by how many letters and digits each has.

    Where a token stands in the text is not stored; this is off by a token or two.
    """
    sizes = [sum(map(str.isalnum, text[start:end])) for start, end in parts]
    ends = np.rint(np.cumsum(sizes) / max(sum(sizes), 1) * len(tokens)).astype(np.int64)
    return np.split(tokens, ends[:-1])
