"""Best passage: where in a long memory the answer to a question stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from family_recall.recall.dataflow import QueryContext
from family_recall.recall.ranking.bm25 import inverse_document_frequency
from family_recall.store.passages import Span, as_read, passages, sentences
from family_recall.store.vector_search import PassageVectors
from family_recall.store.words import find_stems
from family_recall.types import FloatArray, IdArray

_MAY_BE_LONG = 1_000  # characters of a text without vectors whose length is looked at
_WORDS, _COSINE = 0.5, 0.5  # beside MaxSim's 1; each in [0, 1]


@dataclass(frozen=True, slots=True)
class BestPassage:
    """The passage of a text that is closest to a question, and its closest sentence."""

    passage: Span
    sentence: Span


def best_passages(context: QueryContext, texts: Mapping[int, str]) -> dict[int, BestPassage]:
    """Find the best passage of those memories, of the given ones, that have passages.

    By the vectors of the passages and the question's words in them; by the words alone if there
    are no vectors. Ties go to the earlier passage.

    Args:
        context: The question.
        texts: By row id, memories in scope.
    """
    ids = np.array([*texts], np.int64)
    vectors = _vectors(context, ids)
    best = {}
    for memory, text in texts.items():
        if memory in vectors or len(text) > _MAY_BE_LONG:
            spans = passages(text)
            if spans:
                best[memory] = _best(context, text, spans, vectors.get(memory))
    return best


def readings(context: QueryContext, ids: IdArray) -> dict[int, str]:
    """Return what the cross-encoder reads of some memories: the best passage of a long one."""
    loaded = context.snapshot.authors_and_texts(ids, context.scope)
    best = best_passages(context, {memory: text for memory, (_, text) in loaded.items()})
    read = {}
    for memory, (author, text) in loaded.items():
        start, end = best[memory].passage if memory in best else (0, len(text))
        read[memory] = as_read(author, text[start:end])
    return read


def _vectors(context: QueryContext, ids: IdArray) -> dict[int, PassageVectors]:
    if context.question is None or context.model_id is None:
        return {}
    try:
        return context.snapshot.passage_vectors(context.model_id, ids, context.scope)
    except Exception:  # noqa: BLE001 -- the search for vectors has said what is wrong with them
        return {}


def _best(
    context: QueryContext, text: str, spans: Sequence[Span], vectors: PassageVectors | None
) -> BestPassage:
    words = _words(context, text)
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
    """Return the question's words that stand in a text: weight, and where, by stem."""
    idf = inverse_document_frequency(context.plan.statistics)
    weights = {
        stem: float(weight) for (_, stem), weight in zip(context.plan.terms, idf, strict=True)
    }
    words: dict[str, tuple[float, list[int]]] = {}
    for start, end in find_stems(text, frozenset(weights)):
        for _, stem in context.snapshot.stems(text[start:end]):
            if stem in weights:
                words.setdefault(stem, (weights[stem], []))[1].append(start)
    return words


def _coverage(words: Mapping[str, tuple[float, list[int]]], spans: Sequence[Span]) -> FloatArray:
    """Return, for each span, the share of the found words that stand in it, by their weights."""
    covered = np.zeros(len(spans), np.float32)
    total = sum(weight for weight, _ in words.values())
    for weight, places in words.values():
        for number, (start, end) in enumerate(spans):
            if any(start <= place < end for place in places):
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
