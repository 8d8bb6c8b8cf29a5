"""BM25 scores of candidates, with the statistics of everything the scope may see.

FTS5 finds each shard's best with that shard's statistics. Scoring the candidates again with the
statistics of the whole scope makes memories of two spaces comparable, and keeps everything
outside the scope from moving a score.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence

import numpy as np

from family_recall.recall.dataflow import QueryContext, QueryPlan
from family_recall.store.memory_queries import Rows
from family_recall.store.passages import PassageWords
from family_recall.store.word_search import WordStatistics
from family_recall.store.words import stem_number
from family_recall.types import BoolArray, FloatArray, IdArray

K1 = 1.2
B = 0.75


@functools.lru_cache(maxsize=16)  # a recall asks for it six times
def inverse_document_frequency(statistics: WordStatistics) -> FloatArray:
    """Return each stem's idf, ``ln(1 + (N − n + ½) / (n + ½))``: positive in the smallest store.

    FTS5 omits the 1 and clips at 1e-6, so that every word of a store of two memories weighs
    nothing; on thousands of memories the two agree.

    Source: Robertson & Zaragoza 2009, doi:10.1561/1500000019, with Lucene's 1.
    """
    idf = rarity(statistics.n_memories, statistics.document_frequency)
    idf.setflags(write=False)
    return idf


def rarity(n_memories: int, holding: IdArray) -> FloatArray:
    """Return the idf of stems that so many of all memories hold (t,)."""
    ratio = np.maximum(n_memories - holding, 0.0) + 0.5
    idf: FloatArray = np.log1p(ratio / (holding + 0.5)).astype(np.float32)
    return idf


def okapi(
    rows: Rows,
    stems: Sequence[str],
    statistics: WordStatistics,
    column_weights: tuple[float, float, float],
    long: Callable[[FloatArray], PassageWords | None] = lambda _: None,
) -> FloatArray:
    """Score memories by BM25 over weighted columns.

    ``Σ idf·f·(k1 + 1) / (f + k1·(1 − b + b·|d| / avgdl))`` with ``f`` the column-weighted
    count of a stem, k1 = 1.2, b = 0.75, and ``|d|`` counting every column in full.

    A long memory has the score it would have if its text were its best passage alone: by its
    length as a whole, a word in it counts for nothing beside the same word in a short one. ``long``
    is called with the scores (n,) by whole memories, and returns the passages to score.

    Returns:
        Shape (n,), 0 or more.
    """
    if not len(rows) or not stems:
        return np.zeros(len(rows), np.float32)
    idf = inverse_document_frequency(statistics)
    average = _average(statistics)
    own = rows.counts_of(map(stem_number, stems)).astype(np.float32)
    counts: FloatArray = column_weights[0] * own[..., 0]
    for column, weight in enumerate(column_weights[1:], start=1):
        if weight:
            counts += weight * own[..., column]
    n_words = rows.n_words.astype(np.float32)
    scores: FloatArray = _saturated(counts, n_words / average).dot(idf)
    passages = long(scores)
    if passages is not None and len(passages.memories):
        of_row = np.searchsorted(rows.ids, passages.memories)
        inside = np.maximum(counts[of_row] - column_weights[0] * passages.counts, 0.0)
        lengths = (n_words[of_row] - passages.n_words) / average
        np.maximum.at(scores, of_row, _saturated(inside, lengths).dot(idf))
    return scores


def _average(statistics: WordStatistics) -> float:
    """Return how many words the scope's memories have on average, more than 0."""
    return max(statistics.n_words / max(statistics.n_memories, 1), 1e-9)


def _saturated(counts: FloatArray, lengths: FloatArray) -> FloatArray:
    """Saturate counts (n, t) in texts of some lengths (n,), of which 1 is the average."""
    length = K1 * (1 - B + B * lengths)
    saturated_counts: FloatArray = counts * (K1 + 1)
    saturated_counts /= counts + length[:, None]
    return saturated_counts.astype(np.float32, copy=False)


def attainable(statistics: WordStatistics) -> float:
    """Return the upper bound of a memory's score: every stem, infinitely often."""
    return float(inverse_document_frequency(statistics).sum()) * (K1 + 1)


def fts5_score_of_each_word_once(statistics: WordStatistics) -> float:
    """Return what FTS5's bm25() gives a memory of mean length that holds each word once, above 0.

    Its idf is ln((N − n + ½) / (n + ½)), and 0.000001 for words of more than half the memories.
    """
    n, held = statistics.n_memories, statistics.document_frequency
    idf = np.log(np.maximum((n - held + 0.5) / (held + 0.5), 1.0))
    return float(np.maximum(idf, 1e-6).sum()) or 1e-6


def question_weights(context: QueryContext) -> dict[int, float]:
    """Return how rare each of the question's stems is, by its number."""
    rarity = inverse_document_frequency(context.plan.statistics)
    numbers = [stem_number(stem) for _, stem in context.plan.terms]
    return dict(zip(numbers, rarity.tolist(), strict=True))


def covers(rows: Rows, stems: Collection[int], of: IdArray, *, header: bool = True) -> BoolArray:
    """Return which of some rows hold which of the question's stems as their own words: (n, t).

    ``header``: whether their title, author and people count, or their text alone.
    """
    counts = rows.counts_of(stems)[of]
    held: BoolArray = counts[..., 0] > 0
    if header:
        held |= counts[..., 1] > 0
    return held


def related_share(rows: Rows, plan: QueryPlan) -> FloatArray:
    """Return the share of the attainable BM25 that words of like meaning add, (n,) in [0, 1].

    Each term counts by the best of its words of like meaning in the body, as far as that exceeds
    the term itself: ``Σ max(0, max_w min(idf_w, idf_t)·s_w − idf_t·s_t) / attainable``, ``s`` being
    BM25's saturated count. The lower idf: what is common stands for nothing rare, and a word that
    stands for another says no more than that.
    """
    related, statistics = plan.related_words, plan.statistics
    terms = [word.term for word in related]
    numbers = list(dict.fromkeys(terms))
    stems = [*[plan.terms[number][1] for number in numbers], *[word.stem for word in related]]
    in_body = rows.counts_of(map(stem_number, stems))[..., 0].astype(np.float32)
    counts = _saturated(in_body, rows.n_words.astype(np.float32) / _average(statistics))
    idf = inverse_document_frequency(statistics)
    n_memories = np.array([word.n_memories for word in related], np.int64)
    weights = np.minimum(rarity(statistics.n_memories, n_memories), idf[terms])
    of_terms, of_related = counts[:, : len(numbers)], counts[:, len(numbers) :] * weights
    best = np.maximum.reduceat(of_related, list(map(terms.index, numbers)), axis=1)
    gains = np.maximum(best - of_terms * idf[numbers], 0.0)
    added = np.zeros(len(rows), np.float32)
    for gain in gains.T:
        added += gain
    share: FloatArray = added / np.float32(max(attainable(statistics), 1e-9))
    return share
