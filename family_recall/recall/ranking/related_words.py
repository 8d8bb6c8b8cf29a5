"""What words of like meaning add to a memory's BM25, where it lacks the question's own."""

from __future__ import annotations

import numpy as np

from family_recall.recall.dataflow import QueryPlan
from family_recall.recall.ranking import bm25
from family_recall.store.memory_queries import Rows
from family_recall.types import FloatArray

_BODY_ALONE = (1.0, 0.0, 0.0)


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
    saturated = bm25.saturated(rows, stems, statistics, _BODY_ALONE)
    idf = bm25.inverse_document_frequency(statistics)
    n_memories = np.array([word.n_memories for word in related], np.int64)
    weights = np.minimum(bm25.rarity(statistics.n_memories, n_memories), idf[terms])
    of_terms, of_related = saturated[:, : len(numbers)], saturated[:, len(numbers) :] * weights
    best = np.maximum.reduceat(of_related, list(map(terms.index, numbers)), axis=1)
    gains = np.maximum(best - of_terms * idf[numbers], 0.0)
    added = np.zeros(len(rows), np.float32)
    for gain in gains.T:
        added += gain
    share: FloatArray = added / np.float32(max(bm25.attainable(statistics), 1e-9))
    return share
