"""Measures of rankings and confidences, all in [0, 1], and bootstrap intervals of their means.

They need ir_measures and scipy, the extra ``eval``, which the rest of the library does without.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

N_BINS = 10
N_RESAMPLES = 1_000
LEVEL = 0.95
_BATCH = 50  # resamples drawn at a time, which bounds the memory
_IR_MEASURES = {"recall": "R", "hit": "Success", "mrr": "RR", "ndcg": "nDCG"}


def check_extra() -> None:
    """Check that the packages of the extra ``eval`` are installed.

    Raises:
        ImportError: If one is missing; the message holds the command that installs it.
    """
    for name in ("ir_measures", "scipy"):
        if importlib.util.find_spec(name) is None:
            raise ImportError(
                f"{name} is not installed; add it with: pip install 'family-recall[eval]'"
            )


def measure_each(
    rankings: Sequence[Sequence[str]], golds: Sequence[Collection[str]], names: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Return the measures of each question, shape (n questions, n names).

    Gold has relevance 1, everything else 0. An empty ranking scores 0 by every measure.

    Args:
        rankings: The results of each question, best first.
        golds: The memories that answer each question, at least one.
        names: ``recall``, ``hit`` (also: success), ``mrr`` or ``ndcg``, each with its cutoff:
            ``ndcg@10``.

    Raises:
        ValueError: If a question has no gold: counting it as 0 or 1 would be a choice.

    Source: https://ir-measur.es; nDCG after Järvelin & Kekäläinen, ACM TOIS 20(4), 2002.

    Gold found at ranks 1 and 3 of two: nDCG is (1 + 1/2) / (1 + 1/log2(3)) = 1.5 / 1.6309.

    >>> measure_each([["visa", "cake", "hotel"]], [{"visa", "hotel"}], ["ndcg@10"]).round(4)
    array([[0.9197]])
    """
    import ir_measures  # noqa: PLC0415 -- the extra `eval`

    if not all(golds):
        raise ValueError("a question with no gold has no ranking measure; leave it out")
    values = np.zeros((len(rankings), len(names)))
    columns = {}
    for column, name in enumerate(names):
        kind, _, cutoff = name.partition("@")
        columns[ir_measures.parse_measure(f"{_IR_MEASURES[kind]}@{cutoff}")] = column
    qrels = {str(row): dict.fromkeys(gold, 1) for row, gold in enumerate(golds)}
    run = {
        str(row): {doc_id: -float(rank) for rank, doc_id in enumerate(ranking)}
        for row, ranking in enumerate(rankings)
        if ranking
    }
    if run:
        for metric in ir_measures.iter_calc(list(columns), qrels, run):
            values[int(metric.query_id), columns[metric.measure]] = metric.value
    return values


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Return the chance that a positive scores above a negative, ties counting one half.

    Raises:
        ValueError: If there is no positive or no negative, where it is undefined.

    Source: Hanley & McNeil, Radiology 143, 1982, doi:10.1148/radiology.143.1.7063747.
    """
    from scipy import stats  # noqa: PLC0415 -- the extra `eval`

    truth = np.asarray(positive, dtype=np.bool_)
    n_positive, n_negative = int(truth.sum()), int((~truth).sum())
    if not (n_positive and n_negative):
        raise ValueError(f"AUROC needs both kinds, got {n_positive} positive of {truth.size}")
    above = stats.rankdata(scores)[truth].sum() - n_positive * (n_positive + 1) / 2.0
    return float(above / (n_positive * n_negative))


def reliability(
    confidences: Sequence[float], correct: Sequence[bool], name: str = "accuracy"
) -> list[dict[str, Any]]:
    """Split [0, 1] into ten bins of equal width and compare confidence with accuracy in each.

    A row has the bin, ``low`` < confidence ≤ ``high`` (the first with its 0), its ``n`` questions,
    and over them the mean ``confidence`` and, called ``name``, accuracy; None where it is empty.

    Raises:
        ValueError: If a confidence is outside [0, 1].

    Source: DeGroot & Fienberg, The Statistician 32, 1983, doi:10.2307/2987588.
    """
    promised = np.asarray(confidences, dtype=np.float64)
    truth = np.asarray(correct, dtype=np.float64)
    if not bool(np.all((promised >= 0.0) & (promised <= 1.0))):
        raise ValueError("confidence must be in [0, 1]")
    edges = np.linspace(0.0, 1.0, N_BINS + 1)
    bins = np.searchsorted(edges[1:-1], promised)
    table = []
    for number, (low, high) in enumerate(itertools.pairwise(edges.tolist())):
        inside = bins == number
        n = int(inside.sum())
        means = (float(promised[inside].mean()), float(truth[inside].mean())) if n else (None, None)
        table.append({"low": low, "high": high, "n": n, "confidence": means[0], name: means[1]})
    return table


def ece(confidences: Sequence[float], correct: Sequence[bool]) -> float:
    """Return the expected calibration error: ``Σ_b n_b/n · |accuracy_b − confidence_b|``.

    0.0 where there is no question. Source: Guo et al., ICML 2017, arXiv:1706.04599, equation 3.

    Two questions at 0.9, one of them answered: |0.5 − 0.9| = 0.4.

    >>> round(ece([0.9, 0.9], [True, False]), 6)
    0.4
    """
    rows = [row for row in reliability(confidences, correct) if row["n"]]
    gaps: list[float] = [row["n"] * abs(row["accuracy"] - row["confidence"]) for row in rows]
    return sum(gaps) / len(confidences) if len(confidences) else 0.0


def risk_coverage(
    confidences: Sequence[float], correct: Sequence[bool]
) -> list[tuple[float, float]]:
    """Return the share of wrong answers (risk) among the surest, for each share told (coverage).

    Points (coverage, risk) by falling confidence, one for each confidence that occurs.
    Source: El-Yaniv & Wiener, JMLR 11, 2010, section 2.

    The surest two of four are right, the third is wrong:

    >>> risk_coverage([0.9, 0.8, 0.8, 0.1], [True, True, False, False])
    [(0.25, 0.0), (0.75, 0.3333), (1.0, 0.5)]
    """
    sure = np.asarray(confidences, np.float64)
    order = np.argsort(-sure, kind="stable")
    wrong = np.cumsum(~np.asarray(correct, np.bool_)[order])
    n = np.arange(1, len(order) + 1)
    last = np.flatnonzero(np.append(np.diff(sure[order]) != 0.0, True)) if len(order) else order
    risk, coverage = wrong[last] / n[last], n[last] / max(len(order), 1)
    return list(zip(coverage.round(4).tolist(), risk.round(4).tolist(), strict=True))


class Interval(msgspec.Struct, frozen=True):
    """A mean, and the interval it would fall into if other questions had been drawn."""

    value: float
    low: float
    high: float


def bootstrap_means(
    values: npt.NDArray[np.float64], *, seed: int, n_resamples: int = N_RESAMPLES
) -> list[Interval]:
    """Return the mean of each column with its 95 % percentile-bootstrap interval.

    Questions (rows) are drawn with replacement, and the columns share the draws, so measures of
    one resample belong together. The same seed gives the same intervals.

    Args:
        values: Shape (n questions, n measures).
        seed: Seed of the draws.
        n_resamples: How many times to draw.

    Raises:
        ValueError: If there is no row.

    Source: Efron & Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 13.
    """
    if not len(values):
        raise ValueError("an interval needs at least one question")
    means = values.mean(axis=0)
    low = high = means
    if len(values) > 1:
        from scipy import stats  # noqa: PLC0415 -- the extra `eval`

        resampled = stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=n_resamples,
            confidence_level=LEVEL,
            method="percentile",
            vectorized=True,
            batch=_BATCH,
            rng=np.random.default_rng(seed),
        )
        low, high = resampled.confidence_interval
    return [
        Interval(float(mean), float(start), float(end))
        for mean, start, end in zip(means, low, high, strict=True)
    ]
