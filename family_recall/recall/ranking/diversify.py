"""Which candidates become results: maximal marginal relevance, and what opens a conversation."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from family_recall.recall.dataflow import Ranking
from family_recall.recall.ranking.features import LASTING
from family_recall.store.memory_queries import Rows
from family_recall.types import FloatArray


def maximal_marginal_relevance(
    relevance: FloatArray, similarity: FloatArray, *, mmr_lambda: float, top_k: int
) -> list[int]:
    """Pick memories that are relevant and unlike the ones already picked.

    Greedy: each pick maximises ``λ·relevance − (1 − λ)·(closest earlier pick)``.
    With λ = 1 this is the relevance order; with λ = 0 relevance is ignored.

    Args:
        relevance: Shape (n,), in [0, 1].
        similarity: Shape (n, n), cosine in [−1, 1].
        mmr_lambda: λ, in [0, 1].
        top_k: Picks wanted; at most n come back.

    Returns:
        Row numbers, first pick first, none twice. Ties go to the lower row.

    Raises:
        ValueError: If λ is outside [0, 1].

    Source: Carbonell & Goldstein, SIGIR 1998, doi:10.1145/290941.291025.

    Two notes about the same flight (rows 0 and 1) and one about the cake:

    >>> relevance = np.array([0.90, 0.89, 0.60])
    >>> similarity = np.array([[1.0, 0.95, 0.1], [0.95, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> maximal_marginal_relevance(relevance, similarity, mmr_lambda=0.7, top_k=3)
    [0, 2, 1]
    """
    if not 0.0 <= mmr_lambda <= 1.0:
        raise ValueError(f"mmr_lambda must be in [0, 1], got {mmr_lambda}")
    gain = (mmr_lambda * relevance).astype(np.float64)
    gain_after = gain - (1.0 - mmr_lambda) * similarity.astype(np.float64)
    picks: list[int] = []
    for _ in range(min(top_k, len(gain))):
        pick = int(gain.argmax())
        gain = np.minimum(gain, gain_after[pick]) if picks else gain_after[pick]
        gain[pick] = -np.inf
        picks.append(pick)
    return picks


def word_jaccard(rows: Rows) -> FloatArray:
    """Return the Jaccard similarity of the words of each two memories: shape (n, n), [0, 1].

    Replaces cosine where vectors are missing. Only a memory's own words count.
    """
    n = len(rows)
    own = rows.words.in_own().nonzero()[0]
    stems, numbers = np.unique(rows.words.stems[own], return_inverse=True)
    present = np.zeros((n, max(len(stems), 1)), np.float32)
    present[rows.words.rows_of(own), numbers] = 1.0
    both = present @ present.T
    sizes = present.sum(axis=1)
    either = sizes[:, None] + sizes[None, :] - both
    jaccard: FloatArray = (both / np.maximum(either, 1.0)).astype(np.float32)
    return jaccard


def normalised(score: FloatArray) -> FloatArray:
    """Scale scores to [0, 1], to compare them with a similarity; all 1 if they are equal.

    >>> normalised(np.array([0.03, 0.02, 0.01], np.float32)).tolist()
    [1.0, 0.5, 0.0]
    """
    low, high = float(score.min(initial=np.inf)), float(score.max(initial=-np.inf))
    if high <= low:
        return np.ones_like(score)
    return ((score - low) / (high - low)).astype(np.float32)


def recent_first(ranking: Ranking, top_k: int) -> Ranking:
    """Choose the best conversations and key facts in equal parts; each part newest first.

    Conversations come first. Where there are too few of one part, the other has more; what has no
    moment counts as the oldest. Ties are in the order of the ranking.
    """
    lasts = np.isin(np.array(ranking.rows.kinds, dtype=str), LASTING)[ranking.order]
    said, facts = ranking.order[~lasts], ranking.order[lasts]
    n_facts = min(len(facts), max(top_k // 2, top_k - len(said)))
    n_said = min(len(said), top_k - n_facts)
    parts = [
        part[np.argsort(-np.nan_to_num(ranking.rows.occurred_s[part], nan=-np.inf), kind="stable")]
        for part in (said[:n_said], facts[:n_facts])
    ]
    order = np.concatenate([*parts, said[n_said:], facts[n_facts:]])
    return replace(ranking, order=order)
