"""Late interaction: MaxSim between the token vectors of a question and of memories."""

from __future__ import annotations

import numpy as np

from family_recall.store.vector_search import TokenVectors
from family_recall.types import FloatArray

_SINGLE_THREADED = 250_000  # multiplications; OpenBLAS uses one thread up to 262,144


def closest_tokens(
    question: FloatArray, weights: FloatArray, tokens: TokenVectors, n_rows: int
) -> FloatArray:
    """Return the cosine of each question token and the closest token of each memory.

    Of a long memory, that of its beginning or of the passage that matches best.

    Args:
        question: Shape (q, d), unit rows.
        weights: Shape (q,), the weight of each question token, 0 or more.
        tokens: The memories' token vectors, unit rows of the same d.
        n_rows: Number of memories.

    Returns:
        Shape (n_rows, q), in [0, 1], negative cosines as 0; NaN for a memory without token vectors.
    """
    closest = np.full((n_rows, len(question)), np.nan, np.float32)
    if not len(tokens.rows):
        return closest
    products = np.maximum.reduceat(_products(question, tokens.vectors), tokens.starts, axis=1)
    products = np.minimum(np.maximum(products, 0.0), 1.0)
    rows = tokens.rows
    if (rows[1:] <= rows[:-1]).any():  # passages: the best of each memory is written last
        worst_first = weights.dot(products).argsort(kind="stable")
        rows, products = rows[worst_first], products[:, worst_first]
    closest[rows] = products.T
    return closest


def max_sim(closest: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean, over question tokens, of the cosine of the closest token.

    ``Σ w·max(0, max cos) / Σ w``: shape (n,), in [0, 1]; NaN for a memory without token vectors,
    and all NaN if all weights are 0.

    Source: Khattab & Zaharia, ColBERT, SIGIR 2020, doi:10.1145/3397271.3401075, with weights.
    """
    total = float(weights.sum())
    if total <= 0.0:
        return np.full(len(closest), np.nan, np.float32)
    with np.errstate(invalid="ignore"):  # what has no tokens is NaN
        scores: FloatArray = np.minimum(closest.dot(weights) / np.float32(total), np.float32(1.0))
    return scores


def _products(question: FloatArray, tokens: FloatArray) -> FloatArray:
    """Return all inner products (q, t), computed in chunks on one thread.

    OpenBLAS spreads a larger product over every core. On a busy device its threads wait for each
    other: 9 ms instead of 0.2.
    """
    q, d = question.shape
    chunk = max(_SINGLE_THREADED // max(q * d, 1), 1)
    products = np.empty((q, len(tokens)), np.float32)
    for start in range(0, len(tokens), chunk):
        rows = tokens[start : start + chunk]
        np.matmul(question, rows.T, out=products[:, start : start + chunk])
    return products
