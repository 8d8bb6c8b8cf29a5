"""Measures: a ranking and its judged answers in, numbers in [0, 1] out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

N_BINS = 10


def recall_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Share of the gold found in the first k: ``|gold ∩ ranking[:k]| / |gold|``.

    Source: Manning, Raghavan & Schütze, *Introduction to Information Retrieval*, 2008, §8.3.

    >>> recall_at(["flight", "cake", "visa"], {"visa", "hotel"}, k=3)
    0.5
    """
    wanted = _judged(gold, k)
    return len(wanted.intersection(ranking[:k])) / len(wanted)


def hit_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """1.0 when at least one of the gold is in the first k, else 0.0 (also: success@k)."""
    return float(not _judged(gold, k).isdisjoint(ranking[:k]))


def mrr_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Reciprocal rank of the first gold within the first k: ``1 / rank``, else 0.0.

    Its mean over questions is MRR@k. Source: Voorhees, TREC-8 Question Answering Track, 1999.
    """
    wanted = _judged(gold, k)
    return next((1.0 / rank for rank, doc in enumerate(ranking[:k], 1) if doc in wanted), 0.0)


def ndcg_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Discounted gain of the first k over the best possible, with binary gains.

    ``DCG@k = Σ gain(rank) / log2(rank + 1)`` for ranks 1 to k; the best possible ranking has
    ``min(k, |gold|)`` gold memories in front.

    Source: Järvelin & Kekäläinen, ACM TOIS 20(4), 2002, doi:10.1145/582415.582418.

    Found at ranks 1 and 3 of two: (1 + 1/2) / (1 + 1/log2(3)) = 1.5 / 1.6309.

    >>> round(ndcg_at(["visa", "cake", "hotel"], {"visa", "hotel"}, k=10), 4)
    0.9197
    """
    wanted = _judged(gold, k)
    gains = [1.0 / math.log2(r + 1) for r, doc in enumerate(ranking[:k], 1) if doc in wanted]
    ideal = [1.0 / math.log2(r + 1) for r in range(1, min(k, len(wanted)) + 1)]
    return sum(gains) / sum(ideal)


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Chance that a positive scores above a negative, ties counting one half.

    With midranks R: ``(Σ R(positive) − P(P + 1)/2) / (P·N)`` for P positives, N negatives.

    Raises:
        ValueError: If there is no positive or no negative, where it is undefined.

    Source: Hanley & McNeil, Radiology 143, 1982, doi:10.1148/radiology.143.1.7063747.
    """
    truth = np.asarray(positive, dtype=np.bool_)
    n_positive, n_negative = int(truth.sum()), int((~truth).sum())
    if n_positive == 0 or n_negative == 0:
        raise ValueError(f"AUROC needs both kinds, got {n_positive} positive of {truth.size}")
    _, place, count = np.unique(
        np.asarray(scores, dtype=np.float64), return_inverse=True, return_counts=True
    )
    midranks = (np.cumsum(count) - (count - 1) / 2.0)[place]
    above = midranks[truth].sum() - n_positive * (n_positive + 1) / 2.0
    return float(above / (n_positive * n_negative))


@dataclass(frozen=True, slots=True)
class Bin:
    """One row of a reliability table: confidences in (low, high], the first with its 0.

    ``confidence`` and ``accuracy`` are means over the ``n`` questions in it; None when empty.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


def reliability(
    confidences: Sequence[float], correct: Sequence[bool], *, n_bins: int = N_BINS
) -> tuple[Bin, ...]:
    """Split [0, 1] into bins of equal width and compare promise with truth in each.

    Raises:
        ValueError: If a confidence is outside [0, 1].

    Source: DeGroot & Fienberg, The Statistician 32, 1983, doi:10.2307/2987588.
    """
    promised = np.asarray(confidences, dtype=np.float64)
    truth = np.asarray(correct, dtype=np.float64)
    if not bool(np.all((promised >= 0.0) & (promised <= 1.0))):
        raise ValueError("confidence must be in [0, 1]")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    bins = np.searchsorted(edges[1:-1], promised)
    return tuple(
        Bin(float(edges[b]), float(edges[b + 1]), int((bins == b).sum()), *_means(
            promised[bins == b], truth[bins == b]
        ))
        for b in range(n_bins)
    )  # fmt: skip


def ece(confidences: Sequence[float], correct: Sequence[bool], *, n_bins: int = N_BINS) -> float:
    """Expected calibration error: ``Σ_b n_b/n · |accuracy_b − confidence_b|``; 0.0 for none.

    Source: Guo et al., ICML 2017, arXiv:1706.04599, equation 3.

    Two questions at 0.9, one of them answered: |0.5 − 0.9| = 0.4.

    >>> round(ece([0.9, 0.9], [True, False]), 6)
    0.4
    """
    table = reliability(confidences, correct, n_bins=n_bins)
    n = sum(row.n for row in table)
    gaps = (
        row.n * abs(row.accuracy - row.confidence)
        for row in table
        if row.accuracy is not None and row.confidence is not None
    )
    return sum(gaps) / n if n else 0.0


def _judged(gold: Collection[str], k: int) -> set[str]:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if not gold:
        raise ValueError("a question with no gold has no ranking measure; leave it out")
    return set(gold)


def _means(
    promised: npt.NDArray[np.float64], truth: npt.NDArray[np.float64]
) -> tuple[float | None, float | None]:
    if promised.size == 0:
        return None, None
    return float(promised.mean()), float(truth.mean())
